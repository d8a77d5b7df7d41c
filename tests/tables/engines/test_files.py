"""Which files a path, a folder or a pattern is; every kind of file that is not read says how."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tacit.cli import run
from tacit.errors import DataSourceError, UsageError
from tacit.tables.engines.base import (
    InPlaceEngine,
    SpillFolder,
    checked_timeout,
    closed_on_failure,
    interruptible,
    refuse_like_names,
    remove_forsaken,
)
from tacit.tables.engines.files import ConfinedPath, data_files, folders_read_once
from tacit.tables.engines.postgres import PostgresEngine
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import IntegerQuery
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
        return int(IntegerQuery(opened, OneRowEach()).run([Rows()]).of(Rows())[0])


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


WILD = ("a[1]", "a*", "a?", "a**", "[!a]", "[a-z]", "[", "a[b", "a]b", "a{1,2}", "d[1]/a1", "*/a1")


def test_a_name_is_no_pattern(tmp_path: Path) -> None:
    plain = ("a1", "a2", "ab", "b", "d1/a1", "d2/a1")
    names = [name for name in (*WILD, *plain) if os.name == "posix" or not set(name) & set("*?")]
    for place, name in enumerate(names):
        path = tmp_path / "files" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": [1] * (1 << place)}), path)
    for place, name in enumerate(names):
        assert rows_of(tmp_path / "files" / f"{name}.parquet") == 1 << place
    assert rows_of(f"{tmp_path}/files/**/*.parquet") == (1 << len(names)) - 1
    with duckdb.connect(tmp_path / "v.duckdb") as connection:
        connection.execute(f"create view v as from read_parquet('{tmp_path}/files/**/*.parquet')")
    assert rows_of(tmp_path / "v.duckdb", "v") == (1 << len(names)) - 1


def test_text_that_is_not_utf8_is_missing_in_a_file_with_any_name(tmp_path: Path) -> None:
    for name, cells in {"a[1]": [b"a", b"\xff"], "a1": [b"b"]}.items():
        column = pa.array(cells).cast(pa.string(), safe=False)
        pq.write_table(pa.table({"a": column}), tmp_path / f"{name}.parquet")
    with open_source(tmp_path) as opened:
        by = {"a": tc.col("a")}
        counts = IntegerQuery(opened, OneRowEach(), by=by, keys=["a", "b"]).run([Rows()])
        assert list(counts.of(Rows())) == [1, 1]


@pytest.mark.skipif(os.name != "posix", reason="the sign separates folders")
def test_a_name_that_duckdb_cannot_be_told_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "a\\[1].parquet")
    with pytest.raises(DataSourceError, match="backslash in its path"):
        rows_of(tmp_path)
    written(tmp_path, "b\\c.parquet")
    assert rows_of(tmp_path / "b\\c.parquet") == 1


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
        data_files(folder)
    if kind not in ("Delta", "Iceberg", "Hudi"):  # which are read by their logs
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


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", LOGS)
def test_a_view_a_relation_or_a_lazy_frame_is_refused_the_union_too(
    tmp_path: Path, kind: str
) -> None:
    folder = table_of(tmp_path / "visits", kind)
    database = tmp_path / "v.duckdb"
    with duckdb.connect(database) as connection:
        file = folder / (LOGS[kind] if kind == "DuckLake" else "data/0.parquet")
        for name, source in {
            "a": f"read_parquet('{folder}/data/*.parquet')",
            "b": f"'{file}'",
        }.items():
            connection.execute(f"create view {name} as from {source}")
            with pytest.raises(DataSourceError, match=f"table of {kind}, whose log.*in Python, "):
                open_source(connection.sql(f"from {source}"))
        connection.execute("create view c as select b.a from b")
    for table in ("a", "b", "c"):
        with pytest.raises(DataSourceError, match=f"table of {kind}, whose log.*in Python, "):
            open_source(database, table)
    for path in (file, folder / "data" / ("*.parquet" if kind != "DuckLake" else file.name)):
        with pytest.raises(DataSourceError, match=f"table of {kind}, whose log.*in Python, "):
            open_source(pl.scan_parquet(path).select("a"))


def test_commits_of_databricks_that_remove_nothing_hinder_nothing(tmp_path: Path) -> None:
    """Its writers leave replaced files in place, and a note of each commit."""
    first, second = (written(tmp_path, f"part-0-tid-{tid}-c000.snappy.parquet") for tid in (1, 2))

    def commit(tid: int, added: Path, removed: list[str]) -> None:
        (tmp_path / f"_started_{tid}").touch()
        note = json.dumps({"added": [added.name], "removed": removed})
        (tmp_path / f"_committed_{tid}").write_text(note)

    commit(1, first, [])
    commit(2, second, [])
    assert rows_of(tmp_path) == 2
    for tid in (3, 2):  # one that was not committed, and one that replaced the first
        if tid == 3:
            (tmp_path / "_started_3").touch()
            third = written(tmp_path, "part-0-tid-3-c000.snappy.parquet")
        else:
            third.unlink()
            commit(2, second, [first.name])
        for path in (tmp_path, tmp_path / "*.parquet", first):
            with pytest.raises(DataSourceError, match="table of Databricks, whose log"):
                open_source(path)
    first.unlink()  # as VACUUM does
    assert rows_of(tmp_path) == 1


def test_a_folder_is_read_once_for_many_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{n}.parquet" for n in range(5)]
    for path in paths:
        pq.write_table(ROW, path)
    refused = table_of(tmp_path / "a visit" / "visits", "Delta") / "data"
    listed: list[str] = []
    module = "tacit.tables.engines.files._has_superseded"
    monkeypatch.setattr(module, lambda folder: listed.append(folder) is not None)
    with folders_read_once():
        assert [data_files(path) for path in paths] == [[str(path)] for path in paths]
        assert listed.count(str(tmp_path)) == 1
        for _ in range(2):
            with pytest.raises(DataSourceError, match="table of Delta"):
                data_files(refused)
    listed.clear()
    data_files(paths[0])
    assert listed.count(str(tmp_path)) == 1  # outside of the block it is looked at again


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
    (folder / "2.csv.lz4").write_bytes(b"\x04\x22\x4d\x180")
    with pytest.raises(DataSourceError, match=r"2\.csv\.lz4 is packed with lz4: unpack it"):
        open_source(folder)


@pytest.mark.parametrize("end", ["~", ".bak", ".1", " (copy)", "-old.parquet", ".gz"])
def test_a_copy_in_a_folder_is_refused(end: str, tmp_path: Path) -> None:
    """Everybody counted twice."""
    written(tmp_path, "a.parquet")
    (tmp_path / f"a.parquet{end}").write_bytes((tmp_path / "a.parquet").read_bytes())
    with pytest.raises(DataSourceError, match="as a copy has, whose rows would count twice"):
        open_source(tmp_path)
    (tmp_path / f"a.parquet{end}").unlink()
    written(tmp_path, "ab.parquet")
    (tmp_path / "~$a.parquet").write_bytes(b"lock")
    assert rows_of(tmp_path) == 2


def test_a_file_counts_once_whatever_patterns_of_a_list_name_it(tmp_path: Path) -> None:
    for name in ("a.csv", "ab.csv"):
        (tmp_path / name).write_text("id\n1\n")
    names = ("a.csv", "*.csv", "a*.csv", "**/a.csv", "./a.csv", f"../{tmp_path.name}/a.csv")
    for other in names[1:]:
        with pytest.raises(DataSourceError, match="are one file, whose rows would count twice"):
            open_source([f"{tmp_path}/a.csv", f"{tmp_path}/{other}"])
    assert rows_of([f"{tmp_path}/a.csv", f"{tmp_path}/a[!.]*.csv"]) == 2


def test_a_list_is_no_file_and_no_other_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists: list[Any] = ["a.csv + b.csv", ["a.csv", "b.csv"], ["a.csv + b.csv", "b.csv"]]
    lists += [
        "x/b.csv",
        ["x/a.csv", "x/b.csv"],
        ["a.csv", "x/b.csv"],
        ["a.csv", "b.csv", "x/b.csv"],
    ]
    for name in ("a.csv", "b.csv", "a.csv + b.csv", "x/a.csv", "x/b.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("q\n1\n")
    seen = set()
    for listed in lists:
        with open_source(listed) as one:
            seen.add((one.identity, str(one.reading_from(str(tmp_path)).options.get("path"))))
    assert len(seen) == len(lists)
    with open_source("a.csv") as one, open_source(["a.csv"]) as same:
        assert one.identity == same.identity
    many = [f"{name}.tsv" for name in "abcd"]
    for name in many:
        Path(name).write_text("q\tr\n1\t2\n")
    with open_source(many) as one:
        assert [*one.schema] == ["q", "r"]
        assert not one.reading.options  # a tab is what parts the fields of such files


@pytest.mark.parametrize("whole", [True, False])
def test_parts_of_folders_are_columns_of_a_list_by_any_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for site in "12":
        written(tmp_path, f"h/site={site}/a.parquet")
    start = f"{tmp_path}/" if whole else ""
    for listed in (
        [f"{start}h/site=1/a.parquet", "h/site=2/a.parquet"],
        [f"{start}h/site=1", f"{start}h/site=2"],
        [f"{start}h/*1/a.parquet", f"{start}h/*2/*.parquet"],
    ):
        with open_source(listed) as opened:
            assert [*opened.schema] == ["a", "site"]


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


@pytest.mark.few(6)
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
        assert session.agg(n=tc.count()).release(epsilon=4).value("n") is not None
    asked = [place, "--table", "t"]
    assert run(["init", *asked]) == 0
    assert run(["release", *asked, "--one-row-each", "--count", "--epsilon", "5"]) == 0


def test_two_tables_of_one_database_by_two_paths_are_joined(database: Path) -> None:
    from tacit.tables.open_source import open_beside

    with open_source("v.duckdb", "t") as first:
        beside = open_beside(first, "./sub/../link.duckdb", {"table": "t"})
        assert beside.relation == first.relation


def test_what_is_no_database_is_said(database: Path, tmp_path: Path) -> None:
    Path("w.duckdb").write_text("a\n1\n")
    with pytest.raises(DataSourceError, match="has the name of a database, and is none"):
        open_source("w.duckdb", "t")
    for table in ("t", None):
        with pytest.raises(DataSourceError, match=r"there is no file x\.duckdb"):
            open_source("x.duckdb", table)
    Path("broken.duckdb").write_bytes(database.read_bytes()[:300])
    with pytest.raises(DataSourceError, match=r"broken\.duckdb could not be attached: it is encry"):
        open_source("broken.duckdb", "t")
    sqlite3.connect("s.db").execute("create table t (a)").connection.close()
    with open_source("s.db", "t") as source:
        assert source.columns == {"a": "undeclared"}


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
                IntegerQuery(source, OneRowEach()).run([Rows()])


@pytest.mark.parametrize("name", ["t.parquet", "*.parquet", "part"])
def test_a_link_is_not_read_that_comes_after_a_question(tmp_path: Path, name: str) -> None:
    """DuckDB opens Parquet files again for each query."""
    root, outside = tmp_path / "data", tmp_path / "outside"
    for folder in (root / "part", outside):
        folder.mkdir(parents=True)
    for folder, rows in ((root, 1), (root / "part", 1), (outside, 3)):
        pq.write_table(pa.table({"a": [1] * rows}), folder / "t.parquet")
    with open_source(ConfinedPath(str(root / name), root)) as source:
        assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()) == [1]
        if name == "part":
            (root / "part").rename(tmp_path / "moved")
            (root / "part").symlink_to(outside)
        else:
            (root / "t.parquet").unlink()
            (root / "t.parquet").symlink_to(outside / "t.parquet")
        with pytest.raises(UsageError, match="in the folder data/"):
            IntegerQuery(source, OneRowEach()).run([Rows()])


UNTYPED = "takes the types from the rows"


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
            assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()) == [2]
    with pytest.raises(DataSourceError, match=r"there is no table 'plane'.*'plain'"):
        open_source(path, "plane")
    others = ("nested", "near", "content", "part") if kind == "parquet" else ()
    for table in ("direct", "by_macro", *others):
        with pytest.raises(DataSourceError, match=f"outside of its database|{UNTYPED}"):
            open_source(path, table)
        if kind == "parquet" and table in ("direct", "nested"):  # what is not confined reads them
            open_source(root / "v.duckdb", table).close()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_setting_makes_a_confined_view_read_a_file(tmp_path: Path, kind: str) -> None:
    """A view whose file depends on whether the engine may read files."""
    root, secret = tmp_path / "data", tmp_path / f"secret.{kind}"
    root.mkdir()
    choice = "case when current_setting('enable_external_access')::bool then {} else 'own' end"
    name = choice.format(f"'{secret}'")
    with duckdb.connect(str(root / "v.duckdb")) as made:
        made.execute(f"copy (select 1 as a from range(3)) to '{secret}'")
        made.execute("create table own as select 1::bigint as a from range(2)")
        made.execute(f"create macro files() as table from query('from \"' || {name} || '\"')")
        made.execute(f"create macro more() as table from query_table({name})")
        made.execute(f"create macro most() as (select count(*) from query_table({name}))")
        made.execute("create view by_query as select cast(a as bigint) as a from files()")
        made.execute("create view by_table as select cast(a as bigint) as a from more()")
        made.execute("create view by_part as select a from own where most() > 2")
        made.execute("create view odd as select 1::uhugeint << 127 as a, [a] as b from own")
    path = ConfinedPath(str(root / "v.duckdb"), root)
    others = (("by_part", 0), ("odd", 2)) if kind == "parquet" else ()
    for table, rows in (("by_query", 2), ("by_table", 2), *others):
        with open_source(path, table) as source:
            for _ in range(2):
                assert IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()) == [rows], table


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
    assert json.loads(json.dumps(tc.Dataset.load("~/v.toml").ledger_location)) == str(
        tmp_path / "own.ledger"
    )
    assert pd.read_csv(tmp_path / "v.csv").shape == (1, 1)


# Every kind of file: read by its content, or called what it is with the way to its rows.


def file_kinds_rows_of(source: object, **csv: object) -> int:
    with open_source(source, **csv) as opened:  # type: ignore[arg-type]
        return int(IntegerQuery(opened, OneRowEach()).run([Rows()]).of(Rows())[0])


def healthy(folder: Path) -> dict[str, tuple[Path, str]]:
    """Write a healthy file of each kind, with a part of what is said of it."""
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    frame = table.to_pandas()
    text = "a\tb\n1\tx\n"
    pyarrow.feather.write_feather(table, folder / "v.feather")
    with pa.ipc.new_stream(folder / "v.arrows", table.schema) as stream:
        stream.write_table(table)
    pyarrow.orc.write_table(table, folder / "v.orc")
    frame.to_excel(folder / "v.xlsx")
    frame.to_pickle(folder / "v.pkl")
    (folder / "v.json").write_text(frame.to_json())
    (folder / "v.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(9))
    (folder / "v").write_text(text)
    frame.to_csv(folder / "v.bz2")
    frame.to_csv(folder / "v.xz")
    frame.to_csv(folder / "v.csv.zip")
    said = {
        "v.feather": "a file of Arrow: name it .arrow",
        "v.arrows": "a stream of Arrow",
        "v.orc": "a file of ORC: name it .orc",
        "v.xlsx": "a workbook: name it .xlsx",
        "v.pkl": "a pickle of Python",
        "v.json": "a file of JSON: .*read_json",
        "v.zst": "packed with zstd: unpack",
        "v.bz2": "packed with bzip2",
        "v.xz": "packed with xz",
        "v.csv.zip": "a zip archive",
        "v": "text: if a character separates",
    }
    return {name: (folder / name, words) for name, words in said.items()}


@pytest.mark.full
def test_a_healthy_file_of_another_kind_is_called_what_it_is_by_any_name(tmp_path: Path) -> None:
    """They were to be named .csv or .parquet, after which they were damaged."""
    for name, (path, words) in healthy(tmp_path).items():
        is_read = name in ("v.feather", "v.arrows", "v.orc", "v.xlsx")
        places = [] if is_read else [path]
        by_content = words.partition(":")[0] != "text" and name != "v.pkl"
        for end in (".parquet", ".csv", ".csv.gz", ".duckdb", ".db") if by_content else ():
            if is_read and end in (".duckdb", ".db"):  # where the content decides
                continue
            if (
                name not in ("v.json", "v.orc") or end == ".parquet"
            ):  # their first line may be names
                places.append(tmp_path / f"named-{name.replace('.', '-')}{end}")
                places[-1].write_bytes(path.read_bytes())
        for place in places:
            said = words.replace("a workbook", "a (workbook|zip archive)")
            if place is not path:
                said = said.partition(":")[0]
            with pytest.raises(DataSourceError, match=said) as caught:
                open_source(place)
            assert "damaged" not in str(caught.value), place
            with pytest.raises(DataSourceError, match=said):
                tc.check(place)


def test_names_that_do_not_say_are_read_by_content(tmp_path: Path) -> None:
    row = pa.table({"a": [1]})
    for name in ("v.parq", "v.pqt", "v.dat", "v", "v.parquet.gzip", "v.db"):
        pq.write_table(row, tmp_path / name)
        assert file_kinds_rows_of(tmp_path / name) == 1
        os.unlink(tmp_path / name)
    pq.write_table(row, tmp_path / "v.csv")
    with pytest.raises(DataSourceError, match=r"is a Parquet file: name it \.parquet"):
        open_source(tmp_path / "v.csv")
    (tmp_path / "w.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(DataSourceError, match=r"w\.parquet is text: .* name it \.csv"):
        open_source(tmp_path / "w.parquet")
    (tmp_path / "w.csv.gz").write_text("a,b\n1,2\n")
    with pytest.raises(DataSourceError, match=r"is not packed, and its name ends in \.gz"):
        open_source(tmp_path / "w.csv.gz")
    (tmp_path / "x.csv").write_bytes(gzip.compress(b"a\n1\n"))
    with pytest.raises(DataSourceError, match=r"packed with gzip: name it \.csv\.gz"):
        open_source(tmp_path / "x.csv")
    (tmp_path / "u.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(DataSourceError, match=r"UTF-16 does: .* encoding='utf-16'"):
        open_source(tmp_path / "u.csv")


def test_no_row_changes_what_kind_a_file_is(tmp_path: Path) -> None:
    """Where the first line is a row, it may look like anything."""
    for first in (b"PAR1,1\n", b"SQLite format 3\0,1\n", b'{"a":1},1\n'):
        (tmp_path / "v.csv").write_bytes(first + b"x,1\n")
        assert file_kinds_rows_of(tmp_path / "v.csv", header=["a", "b"]) == 2


# What the engines share.


def test_an_engine_is_closed_where_the_table_is_not_found_and_only_there() -> None:
    closed: list[int] = []
    engine: Any = SimpleNamespace(close=lambda: closed.append(1))
    with closed_on_failure(engine):
        pass
    assert not closed
    with pytest.raises(KeyboardInterrupt), closed_on_failure(engine):
        raise KeyboardInterrupt
    assert closed == [1]


def test_an_engine_in_place_keeps_nothing_and_names_no_two_queries_alike() -> None:
    one, two = (InPlaceEngine().materialise("select 1") for _ in range(2))
    assert one.startswith("(select 1) as tacit_")
    assert one != two
    with InPlaceEngine().dry_run():
        assert PostgresEngine.memory is None


def test_names_that_differ_in_capital_letters_are_refused() -> None:
    refuse_like_names(["age", "Site"])
    with pytest.raises(DataSourceError, match="'age' and 'AGE' differ only in capital letters"):
        refuse_like_names(["age", "AGE"])
    with pytest.raises(DataSourceError, match="two columns are both named 'age'"):
        refuse_like_names(["age", "x", "age"])


def test_first_lines_that_may_be_records_are_not_shown(tmp_path: Path) -> None:
    """Two files without a line of names: each first line is a person's."""
    for name, record in (("a", "Anna,x"), ("b", "anna,x")):
        (tmp_path / f"{name}.csv").write_text(f"{record}\n")
    with pytest.raises(DataSourceError, match="two columns differ only in capital letters"):
        open_source(str(tmp_path / "*.csv"))


@pytest.mark.parametrize("names", [["age", "AGE"], ["age", "age"]])
def test_a_frame_names_the_columns_that_are_alike(names: list[str]) -> None:
    shown = "|".join({f"{names[0]!r} and {names[1]!r} differ", f"both named {names[1]!r}"})
    pandas = pd.DataFrame([[1, 2]], columns=names)
    for frame in (pandas, pa.table([[1], [2]], names=names)):
        with pytest.raises(DataSourceError, match=shown):
            open_source(frame)


@pytest.mark.parametrize("timeout", [0, -1, True, "5", 1e7])
def test_what_is_no_time_is_refused(timeout: Any) -> None:
    assert checked_timeout(2.5) == 2.5
    with pytest.raises(UsageError, match="number of seconds"):
        checked_timeout(timeout)


# Folders with spilled rows: of dead processes they are removed, of living ones never.


OWNER = """
import sys
from tacit.tables.engines.base import SpillFolder
print(SpillFolder().path, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("place")
@pytest.mark.full
def test_a_living_owner_keeps_its_folder_and_a_dead_one_does_not(place):
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )  # fmt: skip
    path = place / process.stdout.readline().strip()
    (path / "rows").write_text("Zaphod")
    mine = SpillFolder()
    assert path.is_dir()  # its owner lives
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.is_dir()
    remove_forsaken()
    assert not path.exists()
    assert mine.path.is_dir()  # this process lives too
    mine.remove()
    assert list(place.iterdir()) == []


@pytest.mark.usefixtures("place")
def test_the_folder_is_private():
    folder = SpillFolder()
    assert folder.path.stat().st_mode & 0o077 == 0
    folder.remove()


@pytest.mark.usefixtures("place")
def test_what_is_not_ours_is_left_alone(place, monkeypatch):
    made = place / "tacit-spill-begun"  # without a lock: its owner is only making it
    made.mkdir()
    other = place / "else"
    other.mkdir()
    (other / "owner").touch()
    (place / "tacit-spill-link").symlink_to(other)
    remove_forsaken()
    assert made.is_dir()
    assert (other / "owner").exists()
    (made / "owner").touch()
    monkeypatch.setattr("tacit.tables.engines.base._user", lambda: os.getuid() + 1)
    remove_forsaken()
    assert made.is_dir()  # another user's
    monkeypatch.undo()


@pytest.mark.usefixtures("place")
def test_a_forked_process_leaves_the_folder_to_its_parent():
    folder = SpillFolder()
    child = os.fork()
    if child == 0:
        folder.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.is_dir()
    held = os.open(folder.path / "owner", os.O_RDWR)
    with pytest.raises(OSError, match="temporarily"):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(held)
    folder.remove()


# A query that a signal ends: its thread is gone before the signal's exception goes on.


class Connection:
    """A query that runs until it is interrupted the second time: the first word came too early."""

    def __init__(self):
        self.asked = threading.Event()
        self.words = 0

    def interrupt(self):
        self.words += 1
        if self.words == 2:
            self.asked.set()


def test_an_answer_and_an_error_come_through():
    assert interruptible(Connection(), lambda: 5) == 5

    def fails():
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        interruptible(Connection(), fails)


def test_a_signal_ends_the_query_first():
    connection, ended = Connection(), []

    def query():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        ended.append(connection.asked.wait(20))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(connection, query)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [True]


def test_the_thread_of_queries_is_kept_and_a_fork_has_its_own():
    """And nothing that was asked, answered or raised is kept by it."""

    class Kept:
        pass

    def raises():
        raise LookupError(Kept())

    asked, answered = Kept(), weakref.ref(interruptible(Connection(), Kept))
    seen = [interruptible(Connection(), lambda _=asked: threading.get_ident()) for _ in range(2)]
    assert seen[0] == seen[1] != threading.get_ident()
    asked_before = weakref.ref(asked)
    del asked
    try:
        interruptible(Connection(), raises)
    except LookupError as error:
        raised = weakref.ref(error.args[0])
    assert (asked_before(), answered(), raised()) == (None, None, None)
    if (child := os.fork()) == 0:
        os._exit(interruptible(Connection(), lambda: 7))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_outside_of_the_main_thread_nothing_is_started():
    seen = []
    asks = lambda: interruptible(Connection(), threading.current_thread)  # noqa: E731
    thread = threading.Thread(target=lambda: seen.append(asks()))
    thread.start()
    thread.join(20)
    assert seen == [thread]
