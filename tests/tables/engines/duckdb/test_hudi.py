"""Tables of Hudi: the rows are those that the timeline counts, at its instant."""

from __future__ import annotations

import datetime
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.tables.hudi_tables import Hudi
from tacit.cli import run
from tacit.errors import DataSourceError, UsageError
from tacit.tables.engines.files import ConfinedPath
from tacit.tables.open_source import open_source

IN_AVRO = pytest.mark.full  # with fastavro: pip install 'tacit-dp[lake]'
VERSIONS = [6, pytest.param(8, marks=IN_AVRO)]
AT = [f"2024010{day}120000000" for day in range(1, 8)]
BY_SITE = {
    "table__partition__fields": "site",
    "datasource__write__hive_style_partitioning": "true",
    "table__keygenerator__class": "org.apache.hudi.keygen.SimpleKeyGenerator",
}


def people(*numbers: int) -> pa.Table:
    return pa.table({"p": pa.array(numbers, pa.int64()), "site": [f"s{n % 2}" for n in numbers]})


def rows_of(source: Any, **options: Any) -> list[Any]:
    with open_source(source, **options) as opened:
        names = ", ".join(map(opened.engine.dialect.identifier, opened.schema))
        return sorted(opened.engine.rows(f"select {names} from {opened.relation} as t"), key=repr)


def numbers_of(source: Any, **options: Any) -> list[int]:
    return [row[0] for row in rows_of(source, **options)]


def by_hudi(folder: Path, instant: str | None = None) -> list[int]:
    """Return what hudi-rs reads, which shares no code with the package."""
    hudi = pytest.importorskip("hudi", reason="pip install hudi")
    options = hudi.HudiReadOptions()
    if instant is not None:
        options = options.with_as_of_timestamp(instant)
    return sorted(
        row
        for batch in hudi.HudiTable(str(folder)).read(options)
        for row in batch.column("p").to_pylist()
    )


def history(folder: Path, version: int, **properties: str) -> dict[str, list[int]]:
    """Write a table with all that a timeline knows; return its rows at each instant."""
    table = Hudi(folder, version, **properties)
    table.base_file(AT[0], "old-0", people(1))  # its commit is archived
    table.write(AT[1], "a-0", people(2, 3))
    table.write(AT[2], "b-0", people(4))
    table.write(AT[3], "a-0", people(2, 3, 5), was=AT[1])
    failed = table.base_file(AT[4], "b-0", people(4, 9), was=AT[2])
    table.commit(AT[4], [failed], None, is_completed=False)
    stat = table.base_file(AT[5], "c-0", people(6))
    table.commit(
        AT[5], [stat], people(6).schema, action="replacecommit", replaced={"": ["b-0", "old-0"]}
    )
    return {
        AT[1]: [1, 2, 3],
        AT[2]: [1, 2, 3, 4],
        AT[3]: [1, 2, 3, 4, 5],
        AT[5]: [2, 3, 5, 6],
    }


@pytest.mark.parametrize("version", [*VERSIONS, pytest.param(9, marks=IN_AVRO)])
def test_the_rows_are_those_of_the_timeline_at_each_instant(tmp_path, version):
    folder = tmp_path / "visits"
    truth = history(folder, version)
    for instant, rows in truth.items():
        assert numbers_of(folder, instant=instant) == rows
    assert numbers_of(folder) == truth[AT[5]]
    assert rows_of(folder)[0] == (2, "s0")


@pytest.mark.full
@pytest.mark.parametrize("version", [6, 8, 9])
def test_hudi_itself_reads_the_same(tmp_path, version):
    truth = history(tmp_path / "t", version)
    assert {instant: by_hudi(tmp_path / "t", instant) for instant in truth} == truth
    assert by_hudi(tmp_path / "t") == truth[AT[5]]
    table = Hudi(tmp_path / "failed", version)
    failed = table.base_file(AT[0], "a-0", people(1))
    table.commit(AT[0], [failed], None, is_completed=False)
    table.write(AT[1], "b-0", people(2))
    assert by_hudi(tmp_path / "failed") == [2]
    table = Hudi(tmp_path / "parted", version, **BY_SITE)
    table.write(AT[0], "a-0", people(1, 3), "site=s1")
    table.write(AT[1], "b-0", people(2), "site=s0")
    assert by_hudi(tmp_path / "parted") == [1, 2, 3]
    table = Hudi(tmp_path / "changed", version, table__type="MERGE_ON_READ")
    table.write(AT[0], "a-0", people(1))
    assert by_hudi(tmp_path / "changed") == [1]


@pytest.mark.parametrize("version", VERSIONS)
def test_where_the_timeline_starts(tmp_path, version):
    """Before it commits are archived: not those that are pending, nor what is after a savepoint."""
    table = Hudi(tmp_path / "pending", version)
    failed = table.base_file(AT[0], "a-0", people(1))
    table.commit(AT[0], [failed], None, is_completed=False)
    table.write(AT[1], "b-0", people(2))
    assert numbers_of(tmp_path / "pending") == [2]
    table = Hudi(tmp_path / "saved", version)
    table.write(AT[0], "a-0", people(1))
    table.base_file(AT[1], "b-0", people(2))  # its commit is archived, that of the savepoint not
    table.write(AT[2], "c-0", people(3))
    done = f"_{AT[0]}" if version == 8 else ""
    (table.timeline / f"{AT[0]}{done}.savepoint").write_bytes(b"")
    assert numbers_of(tmp_path / "saved") == [1, 2, 3]


def test_types_are_those_of_the_log_and_a_missing_column_is_missing(tmp_path):
    day, moment = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3)
    new = pa.table(
        {
            "p": pa.array([1], pa.int64()),
            "n": pa.array([2], pa.int32()),
            "x": [1.5],
            "yes": [True],
            "day": [day],
            "at": pa.array([moment], pa.timestamp("us", "UTC")),
            "here": pa.array([moment], pa.timestamp("us")),
            "sum": pa.array([Decimal("1.25")], pa.decimal128(9, 2)),
            "many": pa.array([[1]], pa.list_(pa.int64())),
        }
    )
    table = Hudi(tmp_path / "t")
    table.write(AT[0], "a-0", new.select(["p"]))
    table.write(AT[1], "b-0", new)
    first = (1, *[None] * 8)
    row = (1, 2, 1.5, True, day, moment, moment, Decimal("1.25"), None)
    assert rows_of(tmp_path / "t") == sorted([first, row], key=repr)
    with open_source(tmp_path / "t") as source:
        assert source.columns["at"] == "date"
        assert "many" not in source.columns or source.columns["many"] == "other"
    assert rows_of(tmp_path / "t", instant=AT[0]) == [(1,)]


@pytest.mark.parametrize("version", VERSIONS)
def test_partition_columns_are_in_the_files_or_in_the_folders(tmp_path, version):
    table = Hudi(tmp_path / "kept", version, **BY_SITE)
    table.write(AT[0], "a-0", people(1, 3), "site=s1")
    table.write(AT[1], "b-0", people(2), "site=s0")
    assert rows_of(tmp_path / "kept") == [(1, "s1"), (2, "s0"), (3, "s1")]
    dropped = {"datasource__write__drop__partition__columns": "true"}
    dropped |= {"datasource__write__partitionpath__urlencode": "true"}
    table = Hudi(tmp_path / "dropped", version, **BY_SITE, **dropped)
    for at, place in enumerate(["site=a%2Fb", "site=__HIVE_DEFAULT_PARTITION__"]):
        table.write(AT[at], f"{at}-0", people(at).select(["p"]), place)
    assert rows_of(tmp_path / "dropped") == [(0, "a/b"), (1, None)]
    properties = tmp_path / "dropped" / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("Simple", "TimestampBased"))
    with pytest.raises(DataSourceError, match="its folders are not their values"):
        open_source(tmp_path / "dropped")


@pytest.mark.parametrize("version", VERSIONS)
def test_files_that_are_gone_are_not_rows_that_are_gone(tmp_path, version):
    """hudi-rs 0.5.0 reads the rows that are left."""
    folder = tmp_path / "t"
    table = Hudi(folder, version)
    table.base_file(AT[0], "old-0", people(1))
    table.write(AT[1], "b-0", people(2))
    table.write(AT[2], "old-0", people(1, 3), was=AT[0])
    (folder / f"old-0_0-1-0_{AT[0]}.parquet").unlink()  # as Hudi cleans
    with pytest.raises(DataSourceError, match=r"a file of the instant .* and that file is gone"):
        open_source(folder, instant=AT[1])
    assert numbers_of(folder) == [1, 2, 3]
    (folder / f"b-0_0-1-0_{AT[1]}.parquet").unlink()
    with pytest.raises(DataSourceError, match=r"log names b-0_.* and that file is gone"):
        open_source(folder)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_commit_counts_at_whatever_hour_it_was(tmp_path, version, monkeypatch):
    """hudi-rs 0.5.0 leaves out one at an hour that the clock of the reader leaves out."""
    table = Hudi(tmp_path / "t", version, table__timeline__timezone="LOCAL")
    table.write("20240331013000000", "a-0", people(1))
    table.write("20240331023000000", "b-0", people(2))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert numbers_of(tmp_path / "t") == [1, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_changes_that_are_not_merged_are_refused(tmp_path, version):
    folder = tmp_path / "t"
    table = Hudi(folder, version, table__type="MERGE_ON_READ")
    schema = people(1).schema
    own = {6: AT[0], 8: AT[1]}[version]
    log = {"fileId": "a-0", "path": f".a-0_{own}.log.1_0-1-0", "partitionPath": ""}
    table.write(AT[0], "a-0", people(1))
    assert numbers_of(folder) == [1]
    table.log_file(own, "a-0")
    table.commit(AT[1], [{**log, "prevCommit": AT[0]}], schema, action="deltacommit")
    with pytest.raises(DataSourceError, match="have Hudi compact it"):
        open_source(folder)
    table.write(AT[2], "a-0", people(1, 2), was=AT[0])  # compacted
    assert numbers_of(folder) == [1, 2]
    if version == 8:
        assert numbers_of(folder, instant=AT[0]) == [1]
    other = {**log, "fileId": "b-0", "path": f".b-0_{AT[3]}.log.1_0-1-0"}
    table.log_file(AT[3], "b-0")  # rows of a group that has no base file yet
    table.commit(AT[3], [{**other, "prevCommit": "null"}], schema, action="deltacommit")
    with pytest.raises(DataSourceError, match="have Hudi compact it"):
        open_source(folder)


@IN_AVRO
def test_changes_that_end_after_a_compaction_began_are_not_in_it(tmp_path):
    table = Hudi(tmp_path / "t", 8, table__type="MERGE_ON_READ")
    table.write(AT[0], "a-0", people(1))
    table.write(AT[2], "a-0", people(1), was=AT[0])
    table.log_file(AT[1], "a-0")
    log = {"fileId": "a-0", "path": f".a-0_{AT[1]}.log.1_0-1-0", "partitionPath": ""}
    table.commit(AT[1], [{**log, "prevCommit": AT[0]}], people(1).schema, action="deltacommit")
    assert numbers_of(tmp_path / "t") == [1]
    (done,) = table.timeline.glob(f"{AT[1]}_*")
    done.rename(done.with_name(f"{AT[1]}_{AT[3]}.deltacommit"))
    with pytest.raises(DataSourceError, match="have Hudi compact it"):
        open_source(tmp_path / "t")


def test_other_files_of_the_folder_count_for_nothing(tmp_path):
    folder = tmp_path / "t"
    truth = history(folder, 6)[AT[5]]
    pq.write_table(people(7), folder / "visits.parquet")
    pq.write_table(people(7), folder / f"z-0_0-1-0_{AT[6]}.parquet")  # of no commit
    (folder / f".a-0_{AT[3]}.log.1_0-1-0.cdc").write_bytes(b"")  # what changed, for others
    shutil.copytree(folder, tmp_path / "copy")
    shutil.move(tmp_path / "copy", folder / "backup")
    for file in (folder / "backup").glob(".hoodie*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert numbers_of(folder) == truth
    (folder / "more").symlink_to(tmp_path)
    with pytest.raises(DataSourceError, match="a link in place of its folder more"):
        open_source(folder)


def test_what_is_read_otherwise_is_refused_by_name(tmp_path):
    def wrong(n: int, **properties: str) -> Path:
        table = Hudi(tmp_path / str(n), **properties)
        table.write(AT[0], "a-0", people(1))
        return tmp_path / str(n)

    for n, (properties, match) in enumerate(
        [
            ({"table__version": "5"}, "in version 5 of its format"),
            ({"table__version": "99"}, "in version 99 of its format"),
            ({"table__base__file__format": "ORC"}, "whose files are not Parquet"),
            ({"bootstrap__base__path": "/x"}, "made of the files of another"),
        ]
    ):
        with pytest.raises(DataSourceError, match=match):
            open_source(wrong(n, **properties))
    table = Hudi(tmp_path / "evolved")
    stat = table.base_file(AT[0], "a-0", people(1))
    table.commit(AT[0], [stat], people(1).schema, latest_schema="{}")
    with pytest.raises(DataSourceError, match="schema on read"):
        open_source(tmp_path / "evolved")
    folder = wrong(9)
    shutil.copy(folder / f"a-0_0-1-0_{AT[0]}.parquet", folder / f"a-0_0-2-0_{AT[0]}.parquet")
    with pytest.raises(DataSourceError, match=r"the log of .* cannot be read"):
        open_source(folder)
    with pytest.raises(DataSourceError, match=f"no completed commit at .*: its latest are {AT[0]}"):
        open_source(folder, instant=AT[1])
    with pytest.raises(UsageError, match="instant= is the instant of a commit"):
        open_source(folder, instant="yesterday")
    with pytest.raises(UsageError, match="version= is for tables of Delta"):
        open_source(folder, version=1)
    (folder / ".hoodie" / f"{AT[0]}.commit").write_text("{")
    with pytest.raises(DataSourceError, match=r"the log of .* cannot be read"):
        open_source(folder)


def test_a_confined_path_leads_to_no_file_elsewhere(tmp_path):
    data = tmp_path / "data"
    history(data / "t", 6)
    outside = Hudi(tmp_path / "outside")
    stat = outside.base_file(AT[0], "a-0", people(1))
    confined = ConfinedPath(str(data / "t"), data)
    assert len(rows_of(confined)) == 4
    for part in ("../../outside", str(tmp_path / "outside")):
        table = Hudi(data / f"led{len(part)}")
        table.commit(AT[0], [{**stat, "partitionPath": part}], people(1).schema)
        with pytest.raises(UsageError, match="leads out of it"):
            open_source(ConfinedPath(str(table.folder), data))
    commit = data / "t" / ".hoodie" / f"{AT[1]}.commit"
    shutil.move(commit, tmp_path / "commit")
    commit.symlink_to(tmp_path / "commit")
    with pytest.raises(UsageError, match="leads out of it"):
        open_source(confined)


def test_one_hostile_row_changes_no_other(tmp_path):
    table = Hudi(tmp_path / "t")
    bad = pa.array([b"s1", b"\xff"], pa.binary()).cast(pa.string(), safe=False)
    rows = people(1, 2).set_column(1, "site", bad)
    table.write(AT[0], "a-0", rows)
    table.write(AT[1], "b-0", people(3))
    assert rows_of(tmp_path / "t") == [(1, "s1"), (2, None), (3, "s1")]


@IN_AVRO
def test_the_instant_is_a_part_of_the_question_and_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    history(tmp_path / "visits", 8)
    keys, n = set(), []
    for options in ({}, {"instant": AT[2]}, {"instant": int(AT[3])}):
        named: Any = {"name": "visits", "ledger": tmp_path / "ledger", **options}
        with tc.Session(tmp_path / "visits", tc.one_row_each, tc.epsilon(1e6), **named) as session:
            answer = session.agg(n=tc.count()).release(epsilon=1e5)
        reading = answer.certificate.body["question"]["query"].get("reading", {})
        keys.add(reading.get("instant"))
        n.append(round(answer.value("n")))
    assert keys == {None, AT[2], AT[3]}
    assert n == [4, 4, 5]
    assert f"at its instant {AT[3]}" in str(answer.certificate)
    assert run(["init", "visits", "--instant", AT[2]]) == 0
    assert f'\ninstant = "{AT[2]}"\n' in Path("visits.toml").read_text()
    assert run(["check", "visits", "--instant", AT[3], "--json"]) == 0
    assert '"rows": 5' in capsys.readouterr().out
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = "row"\nbudget = { epsilon = 1e6 }\nledger = "d.ledger"\n'
        f'[tables.visits]\npath = "visits"\ninstant = "{AT[3]}"\n'
    )
    with tc.open(tmp_path / "d.toml") as session:
        assert session.agg(n=tc.count()).release(epsilon=1e5).value("n") == 5
