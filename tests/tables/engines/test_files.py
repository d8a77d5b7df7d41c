"""Which files a path, a folder or a pattern is; every kind of file that is not read says how."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.errors import DataSourceError, UsageError
from tacit.tables.engines.files import ConfinedPath, data_files
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Rows

ROW = pa.table({"a": [1]})
FOLDERS = ("", "_site=1", "_site=2", "_temporary", "_delta", ".snapshots", ".Trash-0", "_site=1/.x")
FILES = (
    "1.parquet",
    "2.parquet",
    "3.snappy.parquet",
    "_metadata.parquet",
    ".hidden.parquet",
    "._1.parquet",
    "_a=1.parquet",
    "README.txt",
    "notes.md",
    "_SUCCESS",
)


def rows_of(source: object, table: str | None = None) -> int:
    with open_source(source, table) as opened:
        return int(Query(opened, OneRowEach()).run([Rows()]).of(Rows())[0])


def written(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".parquet"):
        pq.write_table(ROW, path)
    else:
        path.write_text("Who wrote this, and why.\n")
    return path


def layout(folder: Path, draw: random.Random) -> set[str]:
    """Write a folder of drawn files; return those that Spark and pyarrow read."""
    parts = draw.random() < 0.5
    read = set()
    for below in FOLDERS:
        for name in FILES:
            if draw.random() < 0.5:
                path = f"{below}/{name}" if below else name
                if parts and not below and name.endswith("parquet") and name[0].isalnum():
                    continue  # Spark refuses files beside parts
                if not parts and below.startswith("_site"):
                    continue
                written(folder, path)
                kept = [p for p in path.split("/") if p[0] != "." and (p[0] != "_" or "=" in p)]
                if name.endswith(".parquet") and len(kept) == len(path.split("/")):
                    read.add(path)
    return read


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_folder_is_its_plain_files(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(4):
        folder = tmp_path / str(number)
        read = layout(folder, draw)
        if any("_a=1" in path and "/" not in path for path in read) and any(
            path.startswith("_site") for path in read
        ):
            os.unlink(folder / "_a=1.parquet")
            read.discard("_a=1.parquet")
        if not read:
            continue
        assert rows_of(folder) == len(read)
        assert rows_of(f"{folder}/**/*.parquet") == len(read)
        known = pyarrow.dataset.dataset(folder, format="parquet", exclude_invalid_files=True).files
        plain = {os.path.relpath(path, folder) for path in known if path.endswith(".parquet")}
        assert plain == {path for path in read if not path.startswith("_")}


def test_a_drawn_folder_has_the_same_rows_on_spark(tmp_path: Path, spark: Any) -> None:
    draw = random.Random(7)
    for number in range(6):
        folder = tmp_path / str(number)
        read = layout(folder, draw)
        for note in folder.rglob("*"):
            if note.name in ("README.txt", "notes.md"):  # Spark takes them for Parquet, and fails
                note.unlink()
        parts = [path for path in read if "/" in path]
        for path in read - set(parts) if parts else ():
            os.unlink(folder / path)
        frame = spark.read.parquet(str(folder))
        assert rows_of(folder) == rows_of(frame) == len(parts or read)


LOGS = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/00000-5.metadata.json",
    "Hudi": ".hoodie/hoodie.properties",
    "DuckLake": "data/ducklake-0198f0c2-8a2b-7c3d-9e4f-0123456789ab.parquet",
    "Paimon": "schema/schema-0",
    "Spark's streaming sink": "_spark_metadata/0",
}


def table_of(folder: Path, kind: str) -> Path:
    """Write what a table of a format is: its log, and three versions of its rows."""
    written(folder, LOGS[kind])
    for name in ("manifest", "snapshot") if kind == "Paimon" else ():
        (folder / name).mkdir()
    for version in range(3):
        written(folder, f"data/{version}.parquet")
    return folder


@pytest.mark.parametrize("kind", LOGS)
def test_a_table_with_a_log_is_not_the_union_of_its_files(tmp_path: Path, kind: str) -> None:
    """A removed row counted again: one person moved the count by the number of versions."""
    folder = table_of(tmp_path / "lake" / "visits", kind)
    with pytest.raises(DataSourceError, match=f"table of {kind}, whose log.*in Python, "):
        open_source(folder)
    single = LOGS[kind] if kind == "DuckLake" else "data/0.parquet"
    (tmp_path / "link").symlink_to(folder)
    for path in ("data", "data/*", "*/*.parquet", "**", single):
        for place in (folder / path, tmp_path / "link" / path):
            with pytest.raises(DataSourceError, match=f"table of {kind}"):
                data_files(place)
    (tmp_path / "one.parquet").symlink_to(folder / single)
    for place in (tmp_path / "one.parquet", tmp_path / "lake", tmp_path / "lake" / "**"):
        with pytest.raises(DataSourceError, match=f"table of {kind}"):
            data_files(place)


def test_spark_is_refused_the_union_too(tmp_path: Path, spark: Any) -> None:
    folder = table_of(tmp_path / "a visit" / "visits", "Delta")
    frame = spark.read.parquet(str(folder / "data"))
    for source in (frame, frame.where("a > 0")):
        with pytest.raises(DataSourceError, match="table of Delta"):
            open_source(source)
    assert rows_of(spark.createDataFrame([(1,)], "a int")) == 1
    sink = table_of(tmp_path / "sink", "Spark's streaming sink")
    (sink / "_spark_metadata" / "0").unlink()
    with pytest.raises(DataSourceError, match="streaming sink"):
        open_source(spark.read.parquet(str(sink / "data")))


def test_what_is_read_twice_or_in_part_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    written(folder, "1.parquet")
    (folder / "latest.parquet").symlink_to(folder / "1.parquet")
    for path in (folder, folder / "*.parquet"):
        with pytest.raises(DataSourceError, match="are one file, whose rows would count twice"):
            open_source(path)
    (folder / "latest.parquet").unlink()
    os.link(folder / "1.parquet", folder / "hard.parquet")
    with pytest.raises(DataSourceError, match="are one file"):
        open_source(folder)
    (folder / "hard.parquet").unlink()
    written(folder, "backup/1.parquet")
    with pytest.raises(DataSourceError, match=r"more of them in the folder backup.*\*\.parquet"):
        open_source(folder)
    assert rows_of(folder / "*.parquet") == 1
    assert rows_of(folder / "**" / "*.parquet") == 2
    (folder / "2.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd0")
    with pytest.raises(DataSourceError, match=r"2\.csv\.zst is packed with zstd: unpack it"):
        open_source(folder)


@pytest.mark.parametrize("pattern", ["", "**", "**/*.csv", "*/*/*.csv"])
def test_links_in_a_circle_end(tmp_path: Path, pattern: str) -> None:
    folder = tmp_path / "visits"
    folder.mkdir()
    (folder / "1.csv").write_text("a\n1\n")
    for name in ("loop", "again"):
        (folder / name).symlink_to(folder)
    with pytest.raises(DataSourceError, match="would count twice"):
        open_source(folder / pattern)


def test_a_note_is_no_data(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    folder.mkdir()
    (folder / "1.csv").write_text("a\n1\n")
    (folder / "README.txt").write_text("About this folder\nand its files\n")
    assert rows_of(folder) == 1
    with pytest.raises(DataSourceError, match=r"mixes kinds of files, 1\.csv and README\.txt"):
        open_source(folder / "*")
    (folder / "1.csv").unlink()
    with pytest.raises(DataSourceError, match=r"name files of text with a glob, as in \*\.txt"):
        open_source(folder)
    assert rows_of(folder / "*.txt") == 1


def test_hidden_names_are_read_where_they_are_typed(tmp_path: Path) -> None:
    for name in ("_tmp/1.parquet", "2.parquet", "_3.parquet"):
        written(tmp_path, name)
    assert rows_of(tmp_path / "*") == 1
    assert rows_of(tmp_path / "_*.parquet") == 1
    assert rows_of(tmp_path / "_tmp") == rows_of(tmp_path / "_tmp" / "*") == 1
    with pytest.raises(DataSourceError, match="file not found"):
        open_source(tmp_path / "*" / "*.parquet")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_listed_is_not_left_out(tmp_path: Path) -> None:
    written(tmp_path, "a/1.parquet")
    written(tmp_path, "b/1.parquet")
    (tmp_path / "b").chmod(0)
    for path in (tmp_path, tmp_path / "*" / "*", tmp_path / "**"):
        with pytest.raises(DataSourceError, match="no right to read"):
            open_source(path)
    (tmp_path / "b").chmod(0o700)


# ---- databases of DuckDB


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "v.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t as select 1 as a")
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.duckdb").symlink_to(path)
    (tmp_path / "folder").symlink_to(tmp_path / "sub")
    for name in ("v.ddb", "v.db", "v", "v.dat"):
        (tmp_path / name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return path


PLACES = (
    *("v.duckdb", "./v.duckdb", "sub/../v.duckdb", "folder/../v.duckdb", "link.duckdb"),
    *("v.ddb", "v.db", "v", "v.dat", "~/v.duckdb", "~/sub/../v.db"),
)


@pytest.mark.few(4)
@pytest.mark.parametrize("place", PLACES)
def test_a_database_is_opened_by_any_path_to_it(database: Path, place: str) -> None:
    assert rows_of(place, "t") == 1
    assert tc.check(place, "t").rows == 1
    drafted = tc.Dataset(
        "v", unit="row", tables={"t": {"path": place, "table": "t"}}, budget={"epsilon": 1}
    )
    drafted.check()
    with pytest.raises(UsageError, match="is a database: name the table"):
        open_source(place)
    with tc.Session(place, tc.one_row_each, tc.epsilon(9), table="t") as session:
        assert session.agg(n=tc.count()).release(epsilon=9).value("n") is not None


def test_two_tables_of_one_database_by_two_paths_are_joined(database: Path) -> None:
    from tacit.tables.open_source import open_beside

    with open_source("v.duckdb", "t") as first:
        beside = open_beside(first, "./sub/../link.duckdb", {"table": "t"})
        assert beside.relation == first.relation


def test_what_is_no_database_is_said(database: Path, tmp_path: Path) -> None:
    Path("w.duckdb").write_text("a\n1\n")
    with pytest.raises(DataSourceError, match="has the name of a database of DuckDB, and is none"):
        open_source("w.duckdb", "t")
    with pytest.raises(DataSourceError, match=r"there is no file x\.duckdb"):
        open_source("x.duckdb", "t")
    Path("broken.duckdb").write_bytes(database.read_bytes()[:300])
    with pytest.raises(DataSourceError, match=r"broken\.duckdb could not be attached: it is encry"):
        open_source("broken.duckdb", "t")
    sqlite3.connect("s.db").execute("create table t (a)").connection.close()
    with pytest.raises(DataSourceError, match="is a database of SQLite"):
        open_source("s.db", "t")


HOLDER = """
import duckdb, sys
c = duckdb.connect(sys.argv[1])
c.execute("create or replace table t as select 1 as a")
print("open", flush=True)
sys.stdin.read()
"""


def test_a_database_that_another_program_has_open_is_named(database: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        with pytest.raises(
            DataSourceError, match=rf"v\.duckdb is locked by another program \(process {holder.pid}"
        ):
            open_source("./v.duckdb", "t")
    finally:
        holder.communicate()


def test_a_look_at_a_database_keeps_its_locks(database: Path) -> None:
    """To close any descriptor of a file ends all locks of the process on it."""
    with duckdb.connect(str(database)) as own:
        own.execute("insert into t values (2)")
        for _ in range(2):
            with pytest.raises(UsageError, match="name the table"):
                open_source("./v.duckdb")
        other = subprocess.run(
            [sys.executable, "-c", f"import duckdb; duckdb.connect({str(database)!r})"],
            capture_output=True,
            check=False,
        )
        assert b"Could not set lock" in other.stderr


# ---- paths of others


def test_a_confined_path_leads_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "service" / "data"
    (root / "sub").mkdir(parents=True)
    for place in (root / "in.csv", root / "sub" / "in.csv", root.parent / "secret.csv"):
        place.write_text("a\n1\n")
    (tmp_path / "~").mkdir()
    for name, target in {
        "out.csv": root.parent / "secret.csv",
        "out": root.parent,
        "up": root / "..",
        "self": root / "self",
        "gone.csv": root.parent / "nothere.csv",
    }.items():
        (root / name).symlink_to(target)
    (root / "twin.csv").symlink_to(root / "in.csv")

    def files(path: str) -> list[str]:
        place = ConfinedPath(os.path.join(root.parent, path), root)
        return [os.path.relpath(file, root.parent) for file in data_files(place)]

    assert files("data/in.csv") == ["data/in.csv"]
    assert files("data/twin.csv") == ["data/twin.csv"]
    assert files("data/sub/*") == files("data/sub") == ["data/sub/in.csv"]
    outside = (
        *("data/../secret.csv", "data/**/../secret.csv", "data/**/../../service/secret.csv"),
        *("data/*.csv", "data/**", "data/**/*.csv", "data/out/*.csv", "data/out", "data/up/s*"),
        *("data/*/secret.csv", "data/out.csv", "data/gone.csv", "data/sub/../../secret.csv"),
        *("secret.csv", "*.csv", "data/[.][.]/secret.csv", "data/self/*.csv", "../../etc/passwd"),
        *("data/sub/../in.csv", "/etc/passwd", "~/x.csv"),
    )
    for path in outside:
        with pytest.raises((UsageError, DataSourceError)) as caught:
            files(path)
        told = str(caught.value)
        assert "in the folder data/" in told or "file not found" in told or "no folder" in told, (
            path
        )
    for path in outside[:14]:
        with pytest.raises(UsageError, match="in the folder data/"):
            files(path)


def test_a_link_that_takes_the_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n2\n3\n")
    for name, place in (("v.csv", root / "v.csv"), ("*.csv", root / "v.csv")):
        place.unlink(missing_ok=True)
        place.write_text("a\n1\n")
        with open_source(ConfinedPath(str(root / name), root)) as source:
            place.unlink()
            place.symlink_to(secret)
            with pytest.raises(UsageError, match="in the folder data/"):
                Query(source, OneRowEach()).run([Rows()])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_view_of_a_confined_database_reads_no_file(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "data"
    root.mkdir()
    secret, inside = tmp_path / f"secret.{kind}", root / f"inside.{kind}"
    read = f"read_{kind}('{secret}')"
    with duckdb.connect(str(root / "v.duckdb")) as made:
        for file in (secret, inside):
            made.execute(f"copy (select 1 as a from range(3)) to '{file}'")
        made.execute("create table own as select 1 as a from range(2)")
        made.execute("create view plain as from own where a > 0")
        made.execute(f"create view direct as from '{secret}'")
        made.execute("create view nested as from direct")
        made.execute(f"create view near as from '{inside}'")
        made.execute(f"create view content as select size as a from read_blob('{secret}')")
        made.execute(f"create macro files() as table from {read}")
        made.execute("create view by_macro as from files()")
        made.execute(f"create view part as select (select max(a) from {read}) as a from own")
    path = ConfinedPath(str(root / "v.duckdb"), root)
    for table in ("own", "plain"):
        with open_source(path, table) as source:
            assert Query(source, OneRowEach()).run([Rows()]).of(Rows()) == [2]
    with pytest.raises(DataSourceError, match=r"there is no table 'plane'.*'plain'"):
        open_source(path, "plane")
    for table in ("direct", "nested", "near", "content", "by_macro", "part"):
        with pytest.raises(DataSourceError, match="outside of its database"):
            open_source(path, table)
        if table in ("direct", "nested"):  # what is not confined reads them
            open_source(root / "v.duckdb", table).close()


def test_a_home_is_meant_wherever_a_path_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "v.csv").write_text("a\n1\n")
    said = {
        "name": "v",
        "unit": "row",
        "budget": {"epsilon": 1},
        "ledger": "~/own.ledger",
        "tables": {"v": {"path": "~/v.csv"}},
    }
    dataset = tc.Dataset.from_fields(said, "elsewhere")
    dataset.save("~/v.toml")
    with tc.open("~/v.toml") as session:
        assert session.columns == {"a": "undeclared"}
    assert (tmp_path / "own.ledger").exists()
    with tc.Session("~/v.csv", tc.one_row_each, tc.epsilon(1), ledger="~/w.ledger"):
        assert (tmp_path / "w.ledger").exists()
    assert tc.check("~/v.csv").rows == 1
    assert json.loads(json.dumps(tc.Dataset.load("~/v.toml").ledger_place)) == str(
        tmp_path / "own.ledger"
    )
    assert pd.read_csv(tmp_path / "v.csv").shape == (1, 1)
