"""Tables of Delta and Iceberg: the rows are those that the log counts, in its version."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.tables import lake_tables as lakes
from support.tables.column_questions import answers
from tacit.cli import run
from tacit.errors import DataSourceError, UsageError
from tacit.tables.engines.files import ConfinedPath
from tacit.tables.open_source import open_source

deltalake = pytest.importorskip("deltalake", reason="pip install 'tacit-dp[lake]'")
pytestmark = pytest.mark.full

NAN = float("nan")
DAY = datetime.date
VISITS = pa.table(
    {
        "p": pa.array([1, 1, 2, 3], pa.int64()),
        "site": ["n", "s", "n", None],
        "x": [1.5, NAN, 5.0, None],
        "at": pa.array([0, 10**15, None, -1], pa.timestamp("us", "UTC")),
        "day": [DAY(2024, 1, 1), DAY(2024, 1, 1), None, DAY(1900, 1, 1)],
    }
)
KINDS = {"p": "integer", "site": "text", "x": "float", "at": "date", "day": "date"}


def rows_of(source: Any, **options: Any) -> list[Any]:
    with open_source(source, **options) as opened:
        names = ", ".join(map(opened.engine.dialect.identifier, opened.schema))
        rows = opened.engine.rows(f"select {names} from {opened.relation} as t")
    return sorted((tuple("nan" if x != x else x for x in row) for row in rows), key=repr)


def delta(folder: Path, data: Any = VISITS, **options: Any) -> Path:
    deltalake.write_deltalake(str(folder), data, **options)
    return folder


def test_integers_are_those_of_the_same_rows_in_a_table(tmp_path):
    folder = delta(tmp_path / "visits", partition_by=["at", "day"])
    delta(folder, VISITS.slice(0, 2), mode="append")
    deltalake.DeltaTable(str(folder)).delete("p = 1 and site = 's'")
    true = pa.concat_tables([VISITS.slice(0, 1), VISITS.slice(2), VISITS.slice(0, 1)])
    with open_source(folder) as source, open_source(true) as table:
        assert source.columns == KINDS
        assert answers(source, {"day": "date"}) == answers(table, {"day": "date"})
    assert [row[:3] for row in rows_of(folder)] == [row[:3] for row in rows_of(true)]


def test_a_version_is_a_part_of_the_question_and_is_told(tmp_path):
    folder = delta(tmp_path / "visits")
    delta(folder, mode="append")
    assert [len(rows_of(folder, **v)) for v in ({}, {"version": 0}, {"version": 1})] == [8, 4, 8]
    table = deltalake.DeltaTable(str(folder), version=0)
    assert len(rows_of(table)) == 4
    keys, n = set(), []
    ledger = tmp_path / "ledger"
    for source, options in ((folder, {}), (folder, {"version": 1}), (table, {})):
        named: Any = {"name": "visits", "ledger": ledger, **options}
        with tc.Session(source, tc.one_row_each, tc.epsilon(1e6), **named) as session:
            answer = session.agg(n=tc.count()).release(epsilon=1e5)
            reading = answer.certificate.body["question"]["query"].get("reading", {})
            keys.add(reading.get("version"))
            n.append(round(answer.value("n")))
            if reading:
                assert f"in its version {reading['version']}" in str(answer.certificate)
    assert keys == {None, 0, 1}
    assert n == [8, 8, 4]
    with pytest.raises(UsageError, match="an open table has its version"):
        open_source(table, version=1)


def test_a_version_that_is_gone_is_named(tmp_path):
    folder = delta(tmp_path / "visits")
    delta(folder, mode="overwrite")
    with pytest.raises(DataSourceError, match="no version 7: its latest is 1"):
        open_source(folder, version=7)
    vacuumed = deltalake.DeltaTable(str(folder))
    vacuumed.vacuum(0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(DataSourceError, match=r"log names part-.* and that file is gone"):
        open_source(folder, version=0)
    assert len(rows_of(folder)) == 4
    log = folder / "_delta_log" / f"{1:020}.json"
    log.write_text(log.read_text()[:90])
    with pytest.raises(DataSourceError, match=r"the log of .* cannot be read"):
        open_source(folder)
    for options, match in (({"skip": 1}, "declares its own"), ({"snapshot": 1}, "of Iceberg")):
        with pytest.raises(UsageError, match=match):
            open_source(folder, **options)
    pq.write_table(VISITS, tmp_path / "v.parquet")
    with pytest.raises(UsageError, match="version= is for tables of Delta"):
        open_source(tmp_path / "v.parquet", version=0)
    with pytest.raises(UsageError, match="version must be"):
        open_source(folder, version=-1)


@pytest.mark.parametrize("parted", [[], ["site"]])
def test_rows_that_deletion_vectors_mark_are_left_out(tmp_path, parted):
    data = VISITS.set_column(1, "site", pa.array(["a b/é%20", "s", "s", "a b/é%20"]))
    options: Any = {"configuration": {"delta.enableDeletionVectors": "true"}}
    folder = delta(tmp_path / "a visit", data, partition_by=parted, **options)
    before = rows_of(folder)
    assert len(before) == 4
    for version, add in enumerate(lakes.added(folder), 1):
        lakes.delete_by_vector(folder, version, add["path"], [0])
    kept = [3] if parted else [1, 2, 3]
    left = rows_of(folder)
    assert len(left) == (2 if parted else 3)
    assert set(map(repr, left)) < set(map(repr, before))
    assert [row[0] for row in left][-1] == kept[-1]
    assert rows_of(folder, version=0) == before
    shutil.move(folder, tmp_path / "moved")  # paths of the log are relative
    assert rows_of(tmp_path / "moved") == left


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_found_by_what_the_log_calls_them(tmp_path, mode):
    names = {"p": "long", "new name": "string", "late": "timestamp", "day": "date"}
    stored = pa.schema(
        [
            pa.field("col-1" if mode == "name" else "old", pa.int32()),  # widened since
            pa.field("col-2" if mode == "name" else "older", pa.string()),
        ]
    )
    if mode == "id":
        ids = [{"PARQUET:field_id": str(number)} for number in (1, 2)]
        stored = pa.schema([f.with_metadata(m) for f, m in zip(stored, ids, strict=True)])
    data = pa.table([pa.array([1, 2], pa.int32()), pa.array(["a", None])], schema=stored)
    lakes.mapped_table(tmp_path / "t", mode, data, names)
    day = DAY(2024, 1, 2)
    assert rows_of(tmp_path / "t") == [(1, "a", None, day), (2, None, None, day)]


def test_one_hostile_row_changes_no_other(tmp_path):
    """Bytes that are no text, a far time, and statistics that leave NaN out."""
    data = VISITS.append_column("file_row_number", pa.array(["a", "b", "c", "d"]))
    folder = delta(tmp_path / "visits", data)
    before = rows_of(folder)
    path = folder / lakes.added(folder)[0]["path"]
    bad = pa.array([b"\xff", b"s", b"n", None], pa.binary()).cast(pa.string(), safe=False)
    far = pa.array([0, 10**15, None, 2**62], pa.timestamp("us", "UTC"))
    hostile = data.set_column(1, "site", bad).set_column(3, "at", far)
    pq.write_table(hostile, path)
    after = rows_of(folder)
    assert {repr(row) for row in before[1:3]} <= set(map(repr, after))
    with open_source(folder) as source:
        many = source.engine.rows(f"select count(*) from {source.relation} as t where x <= 1e300")
        assert source.engine.rows(f"select count(site) from {source.relation} as t") == [(2,)]
        assert many == [(2,)]


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_without_rows(tmp_path, rows):
    folder = delta(tmp_path / "visits", VISITS.slice(0, rows))
    deltalake.DeltaTable(str(folder)).delete()
    assert rows_of(folder) == []
    with open_source(folder) as source:
        assert source.columns == KINDS


def test_a_confined_path_leads_to_no_file_elsewhere(tmp_path):
    outside = delta(tmp_path / "outside", VISITS)
    folder = tmp_path / "data" / "visits"
    folder.mkdir(parents=True)
    add = lakes.added(outside)[0]
    first = (outside / "_delta_log" / f"{0:020}.json").read_text()
    (folder / "_delta_log").mkdir()
    absolute = f"{outside}/{add['path']}"
    for path in (f"file://{absolute}", f"FILE:{absolute}", f"../../outside/{add['path']}"):
        log = first.replace(f'"path":"{add["path"]}"', f'"path":"{path}"')
        (folder / "_delta_log" / f"{0:020}.json").write_text(log)
        with pytest.raises(UsageError, match="leads out of it"):
            open_source(ConfinedPath(str(folder), tmp_path / "data"))
    shutil.rmtree(folder)
    folder.symlink_to(outside)
    with pytest.raises(UsageError, match="leads out of it"):
        open_source(ConfinedPath(str(folder), tmp_path / "data"))


def marked(folder: Path) -> Path:
    """Write a table with a deletion vector; return the commit that adds it."""
    delta(folder, configuration={"delta.enableDeletionVectors": "true"})
    lakes.delete_by_vector(folder, 1, lakes.added(folder)[0]["path"], [0])
    return folder / "_delta_log" / f"{1:020}.json"


def test_deleted_rows_do_not_come_back_for_a_log_that_is_written_again(tmp_path):
    log = marked(tmp_path / "visits")
    with open_source(tmp_path / "visits") as source:
        log.write_text(log.read_text().replace('"deletionVector"', '"tags"'))
        assert source.engine.rows(f"select count(*) from {source.relation} as t") == [(3,)]


NAME = "4>IF<rI>Rj00000000nb"  # any 20 digits of Z85


@pytest.mark.parametrize(
    ("kind", "place", "error", "match"),
    [
        ("p", "file:///outside/v.bin", UsageError, "leads out of it"),
        ("p", "file://TABLE/../../../v.bin", UsageError, "leads out of it"),
        ("p", "FILE:///outside/v.bin", DataSourceError, "cannot be read"),
        ("p", "file:\\\\\\outside", DataSourceError, "cannot be read"),
        ("u", "../../" + NAME, DataSourceError, "cannot be read"),
        ("u", "ab" + NAME, UsageError, "leads out of it"),
        ("u", NAME, None, ""),
    ],
)
@pytest.mark.parametrize("stored", ["commit", "checkpoint"])
def test_a_confined_table_has_no_vector_elsewhere(tmp_path, stored, kind, place, error, match):
    folder = tmp_path / "data" / "visits"
    log = marked(folder)
    (folder / "ab").symlink_to(tmp_path)
    for name in (tmp_path, folder):
        (name / "deletion_vector_0.bin").write_text("")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    vector = actions[1]["add"]["deletionVector"]
    vector |= {"storageType": kind, "pathOrInlineDv": place.replace("TABLE", str(folder))}
    lakes.commit(folder, 1, actions)
    if stored == "checkpoint":
        deltalake.DeltaTable(str(folder)).create_checkpoint()
        log.unlink()
    if error is None:
        open_source(ConfinedPath(str(folder), tmp_path / "data")).close()
        return
    with pytest.raises(error, match=match):
        open_source(ConfinedPath(str(folder), tmp_path / "data"))


def test_a_confined_log_is_where_its_table_is_and_says_nothing_twice(tmp_path):
    folder = tmp_path / "data" / "visits"
    log = marked(folder)
    confined = ConfinedPath(str(folder), tmp_path / "data")
    assert len(rows_of(confined)) == 3
    text = log.read_text()
    for wrong in (
        text.replace('"deletionVector"', '"deletionVector": null, "deletionVector"'),
        text + '\n{"sidecar": {"path": "../../x.parquet", "sizeInBytes": 1}}',
    ):
        log.write_text(wrong)
        with pytest.raises(DataSourceError, match="cannot be read"):
            open_source(confined)
    log.write_text(text)
    (log.parent / "_sidecars").symlink_to(tmp_path / "data")
    with pytest.raises(DataSourceError, match="has a link in place of its folder _sidecars"):
        open_source(confined)


@pytest.mark.parametrize("kind", ["file://", "FILE://", "File:"])
def test_an_address_of_a_file_has_any_letters(tmp_path, kind):
    folder = delta(tmp_path / "visits")
    log, name = folder / "_delta_log" / f"{0:020}.json", lakes.added(folder)[0]["path"]
    log.write_text(log.read_text().replace(f'"path":"{name}"', f'"path":"{kind}{folder}/{name}"'))
    assert len(rows_of(folder)) == 4


def test_the_command_line_and_a_declaration(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = delta(tmp_path / "visits")
    delta(folder, mode="append")
    assert run(["init", str(folder), "--version", "0"]) == 0
    assert "\nversion = 0\n" in Path("visits.toml").read_text()
    assert run(["check", str(folder), "--version", "0", "--json"]) == 0
    assert '"rows": 4' in capsys.readouterr().out
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = "row"\nbudget = { epsilon = 1e6 }\nledger = "d.ledger"\n'
        '[tables.visits]\npath = "visits"\nversion = 0\n'
    )
    for version, n in ((0, 4), (None, 8)):
        if version is None:
            text = (tmp_path / "d.toml").read_text().replace("version = 0\n", "")
            (tmp_path / "d.toml").write_text(text)
        with tc.open(tmp_path / "d.toml") as session:
            assert session.agg(n=tc.count()).release(epsilon=1e5).value("n") == n


# ---- Iceberg


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory):
    """A table of three snapshots: rows, rows with renamed and new columns, without some rows."""
    pytest.importorskip("pyiceberg", reason="pip install 'tacit-dp[lake]'")
    from pyiceberg.types import LongType

    folder = tmp_path_factory.mktemp("warehouse")
    table = lakes.iceberg_catalog(folder).create_table("n.t", VISITS.schema)
    table.append(VISITS)
    with table.update_schema() as schema:
        schema.rename_column("x", "p y")
        schema.add_column("z", LongType())
    new = VISITS.slice(0, 2).rename_columns(["p", "site", "p y", "at", "day"])
    table.append(new.append_column("z", pa.array([7, None], pa.int64())))
    return table


def test_iceberg_by_the_ids_of_its_columns(iceberg, tmp_path):
    folder = iceberg.location().removeprefix("file://")
    first, second = (s.snapshot_id for s in iceberg.snapshots())
    old = [tuple("nan" if x != x else x for x in row.values()) for row in VISITS.to_pylist()]
    old = [(*row[:3], row[3] and row[3].replace(tzinfo=None), row[4]) for row in old]
    new = [(*row, None) for row in old] + [(*old[0], 7), (*old[1], None)]
    assert rows_of(folder, snapshot=first) == sorted(old, key=repr)
    for options in ({}, {"snapshot": str(second)}):
        assert rows_of(folder, **options) == sorted(new, key=repr)
    assert len(rows_of(iceberg)) == 6
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "metadata" / "version-hint.text").write_text("00001")
    assert len(rows_of(tmp_path / "copy")) == 6  # no such file: the highest number counts
    confined = ConfinedPath(str(tmp_path / "copy"), tmp_path)
    assert len(rows_of(confined)) == 6
    with open_source(folder) as source:
        assert [*source.columns] == ["p", "site", "p y", "at", "day", "z"]


def test_an_open_table_of_iceberg_has_the_name_of_its_folder(iceberg):
    folder = iceberg.location().removeprefix("file://")
    with open_source(iceberg) as table, open_source(folder) as named:
        assert (table.name, table.identity, table.origin) == ("t", named.identity, folder)
        assert table.reading.options == {"snapshot": str(iceberg.current_snapshot().snapshot_id)}


def test_iceberg_names_what_is_wrong(iceberg, tmp_path):
    folder = iceberg.location().removeprefix("file://")
    with pytest.raises(DataSourceError, match="no snapshot 5: it has expired"):
        open_source(folder, snapshot=5)
    with pytest.raises(UsageError, match="snapshot= is the id"):
        open_source(folder, snapshot="main")
    shutil.copytree(folder, tmp_path / "copy")
    metadata = tmp_path / "copy" / "metadata"
    latest = max(metadata.glob("*.metadata.json"))
    shutil.copy(latest, latest.with_name(latest.name.replace("-", "-0", 1)))
    with pytest.raises(DataSourceError, match="2 files of metadata that may be the latest"):
        open_source(tmp_path / "copy")
    assert len(rows_of(latest)) == 6
    for path in metadata.glob("*.metadata.json"):
        path.rename(f"{path}.bak")
    with pytest.raises(DataSourceError, match="no file in its folder metadata ends in"):
        open_source(tmp_path / "copy")
    Path(f"{latest}.bak").rename(latest)
    latest.write_text(latest.read_text()[:100])
    with pytest.raises(DataSourceError, match=r"the log of .* cannot be read"):
        open_source(latest)


def test_iceberg_files_without_ids_are_read_by_declared_names(iceberg, tmp_path):
    table = iceberg.catalog.create_table("n.added", pa.schema([("p", pa.int64())]))
    pq.write_table(pa.table({"p": [1, 2]}), tmp_path / "a.parquet")
    table.add_files([str(tmp_path / "a.parquet")])
    folder = table.location().removeprefix("file://")
    assert rows_of(folder) == [(1,), (2,)]
    with table.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    with pytest.raises(DataSourceError, match=r"a\.parquet gives its columns no ids"):
        open_source(folder)


@pytest.mark.parametrize("form", ["PARQUET", "PUFFIN"])
def test_iceberg_leaves_out_rows_by_position(iceberg, form):
    first = min(iceberg.scan().plan_files(), key=lambda task: -task.file.record_count).file
    if form == "PARQUET":
        sink = pa.BufferOutputStream()
        deletes = {"file_path": [first.file_path] * 2, "pos": pa.array([0, 2], pa.int64())}
        pq.write_table(pa.table(deletes), sink)
        data = sink.getvalue().to_pybytes()
    else:
        data = lakes.puffin(first.file_path, [0, 2])
    path = lakes.delete_by_file(iceberg, "POSITION_DELETES", form, data)
    try:
        rows = rows_of(path)
        assert sorted(row[0] for row in rows) == [1, 1, 1, 3]
        assert len(rows_of(path, snapshot=iceberg.current_snapshot().snapshot_id)) == 6
    finally:
        Path(path).unlink()


def test_iceberg_with_equality_deletes_is_refused(iceberg):
    path = lakes.delete_by_file(iceberg, "EQUALITY_DELETES", "PARQUET", b"")
    try:
        with pytest.raises(DataSourceError, match="with equality deletes"):
            open_source(path)
    finally:
        Path(path).unlink()


def test_duckdb_itself_is_refused_the_union(tmp_path):
    folder = delta(tmp_path / "visits")
    with pytest.raises(DataSourceError, match="table of Delta"):
        open_source(duckdb.connect().sql(f"from '{folder}/*.parquet'"))
