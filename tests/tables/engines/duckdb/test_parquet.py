"""Parquet files are opened by their footers: none too long for the memory, types by schemas."""

from __future__ import annotations

import datetime
import functools
import gc
import http.server
import os
import random
import struct
import threading
import traceback
import weakref
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from support.servers.left_out import reason
from support.tables.column_questions import answers, in_duckdb
from support.tables.column_questions import count as parquet_law_count
from support.tables.parquet_writers import FAR_MILLIS, VALUES, WRITERS, random_table
from support.threads import at_once
from tacit.errors import DataSourceError, UsageError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.engines.duckdb import parquet as duck_parquet
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.instances import IdleInstances, SharedInstance, shared
from tacit.tables.engines.duckdb.instances import idle as all_idle
from tacit.tables.engines.duckdb.parquet import (
    check_remote,
    parquet_view,
    public_part,
    reads_marked_text,
    together,
)
from tacit.tables.engines.duckdb.parquet_columns import extract_columns
from tacit.tables.open_source import Source, open_source
from tacit.tables.open_source import open_source as instance_open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Moments, Rows


def write(path, rows=1, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=rows)


def count(source, where):
    return int(IntegerQuery(source, OneRowEach(), where=where).run([Rows()]).of(Rows())[0])


def test_footers_that_do_not_fit_into_memory_are_refused_unread(tmp_path, monkeypatch):
    """8 MB of 20,000 row groups took 78 MB: ten times; in 300 MB, 10^5 groups took 549 MB."""
    rows = list(range(3000))
    write(tmp_path / "many.parquet", age=rows)
    write(tmp_path / "few.parquet", rows=1000, age=rows)
    monkeypatch.setattr(
        duck_parquet, "_alike", lambda *_: pytest.fail("the engine was to read the footer")
    )
    with pytest.raises(DataSourceError, match=r"larger ones .* or raise memory_limit"):
        open_source(tmp_path / "many.parquet", memory_limit="10MB")
    monkeypatch.undo()
    for name, limit in (("few", "10MB"), ("many", None)):
        with open_source(tmp_path / f"{name}.parquet", memory_limit=limit) as source:
            assert count(source, col("age") >= 0) == 3000
    for place in range(3):
        write(tmp_path / "folder" / f"{place}.parquet", age=rows[::3])
    monkeypatch.setattr(duck_parquet, "FOOTER_LIMIT", 1 << 17)
    open_source(tmp_path / "folder" / "0.parquet").close()
    with pytest.raises(DataSourceError, match="the other files"):
        open_source(tmp_path / "folder")


def test_types_that_differ_are_joined_by_schemas_and_conflicts_refused_where_named(tmp_path):
    day, far = datetime.date(2024, 1, 31), datetime.date(9999, 1, 1)
    one = {"n": pa.array([2**53 + 1], pa.int64()), "u": pa.array([2**64 - 1], pa.uint64())}
    two = {"n": pa.array([-1], pa.int8()), "u": pa.array([-(2**63)], pa.int64())}
    one |= {"x": pa.array([2**24 + 1], pa.int32()), "d": pa.array([Decimal("1.25")])}
    two |= {"x": pa.array([0.5], pa.float32()), "d": pa.array([10**9], pa.int64())}
    one |= {"at": pa.array([far], pa.date32()), "odd": pa.array(["a"]), "none": pa.nulls(1)}
    two |= {
        "at": pa.array([datetime.datetime(2024, 1, 31, 9)], pa.timestamp("ns")),
        "odd": pa.array([1]),
        "none": pa.array(["b"]),
        "more": pa.array([day]),
    }
    write(tmp_path / "1.parquet", **one)
    write(tmp_path / "2.parquet", **two)
    with open_source(tmp_path) as source:
        assert source.columns == {
            "n": "integer",
            "u": "integer",
            "x": "float",
            "d": "decimal",
            "at": "date",
            "odd": "other",
            "none": "text",
            "more": "date",
        }
        found = [
            count(source, test)
            for test in (
                *(col("n") == 2**53 + 1, col("n") == -1, col("u") == 2**64 - 1, col("u") < 0),
                *(col("x") == 2**24 + 1, col("x") == 0.5, col("d") == 1.25, col("d") == 10**9),
                *(col("at") == "2024-01-31", col("at") == "9999-01-01", col("none") == "b"),
                *(col("more") == "2024-01-31", col("more").is_null()),
            )
        ]
        assert found == [1] * 13
        with pytest.raises(UsageError, match="do not go together"):
            count(source, col("odd") == "a")


NAMES = ("TINYINT", "UTINYINT", "BIGINT", "UBIGINT", "FLOAT", "DECIMAL(5,2)", "DECIMAL(38,30)")
NAMES += ("DATE", "TIMESTAMP", "TIMESTAMP_NS", "VARCHAR", "BOOLEAN", '"NULL"')


def test_no_value_of_a_type_is_lost_or_fails_in_the_common_one():
    ends = {
        "TINYINT": (-128, 127),
        "UTINYINT": (0, 255),
        "BIGINT": (-(2**63), 2**63 - 1),
        "UBIGINT": (0, 2**64 - 1),
        "DECIMAL(5,2)": ("-999.99", "0.01"),
        "DECIMAL(38,30)": ("-99999999." + "9" * 30, "0." + "0" * 29 + "1"),
    }
    connection = duckdb.connect()
    for one in NAMES:
        for two in NAMES:
            common = together([one, two])
            assert common == together([two, one])
            if common in (None, "DOUBLE") or one not in ends:
                continue
            for end in ends[one]:
                value = f"cast('{end}' as {one})"
                asked = f"select {value}, try_cast({value} as {common})"
                ((before, after),) = connection.execute(asked).fetchall()
                assert before == Decimal(after), (one, two, end)


def test_parts_of_a_folder_are_undeclared_columns_whatever_they_spell(tmp_path):
    for site in ("1", "x"):
        write(tmp_path / "all" / f"site={site}" / "a.parquet", age=[31])
        with open_source(tmp_path / "all") as source:  # with one part, and with two
            assert source.columns == {"age": "integer", "site": "undeclared"}
            assert count(source, col("site") == 1) == 1
    with open_source(tmp_path / "all" / "site=1" / "a.parquet") as source:
        assert source.columns == {"age": "integer"}
    write(tmp_path / "all" / "a.parquet", age=[31])
    with open_source(tmp_path / "all") as source:
        assert source.columns == {"age": "integer"}
    write(tmp_path / "all" / "b.parquet", AGE=[31])
    with pytest.raises(DataSourceError, match="capital letters"):
        open_source(tmp_path / "all")


# No statistic, dictionary, filter or order of a file changes what a row contributes.
#
# Random tables are written as Parquet by several writers.  The integers before noise equal those of
# the same rows in a table of DuckDB, and the file of a neighbour is answered as well.


@pytest.fixture
def _one_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")


def opened(way: str, path: Path) -> Source:
    """Open a file as it is, or a view of it."""
    if way == "file":
        return open_source(path)
    if way == "folder":
        return open_source(path.parent)
    connection = duckdb.connect(f"{path}.duckdb" if way == "database" else ":memory:")
    if way == "relation":
        source = open_source(connection.read_parquet(str(path)))
        weakref.finalize(source, connection.close)  # a relation of DuckDB 1.4 does not keep it open
        return source
    connection.execute(f"create view data as select * from read_parquet('{path}')")
    if way == "connection":
        return open_source(connection, "data")
    connection.close()
    return open_source(f"{path}.duckdb", "data")


WAYS = ("file", "folder", "connection", "database", "relation")
FRAMES = ("arrow", "stream", "polars", "pandas", "relation")


def framed(way: str, table: pa.Table) -> Source:
    """Open rows that are in memory."""
    if way == "polars":
        return open_source(pl.from_arrow(table))
    if way == "pandas":
        return open_source(table.to_pandas())
    if way == "relation":
        connection = duckdb.connect()
        connection.register("given", table)
        source = open_source(connection.sql("select * from given"))
        weakref.finalize(source, connection.close)  # a relation of DuckDB 1.4 does not keep it open
        return source
    return open_source(table if way == "arrow" else table.to_reader())


@functools.cache
def drawn(seed: int, names: tuple[str, ...]) -> tuple[Any, list[tuple[Any, Any, Any]]]:
    """A random table and a neighbour with their answers, the same for all writers and ways.

    Also the state of the generator after them, from which a writer draws how it writes.
    """
    draw = random.Random(seed)
    table = random_table(draw, {name: VALUES[name] for name in names}, 16)
    found = []
    for some in (table, table.slice(1)):
        with in_duckdb(some) as source:
            kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
            found.append((some, kinds, answers(source, kinds)))
    return draw.getstate(), found


def hold(writer: str, seed: int, folder: Path, types: dict[str, Any], ways: Any = WAYS) -> None:
    """Hold a random table and a neighbour to the law."""
    draw = random.Random()
    state, tables = drawn(seed, tuple(types))
    draw.setstate(state)
    for number, (some, kinds, expected) in enumerate(tables):
        path = folder / str(number) / "table.parquet"
        path.parent.mkdir(parents=True)
        WRITERS[writer](some, path, draw)
        for way in ways:
            with opened(way, path) as source:
                written = {name: kind for name, kind in kinds.items() if name in source.columns}
                found = answers(source, written)
            wrong = [w for w in found if expected[w] != found[w]]
            assert found
            assert not wrong, (writer, seed, way, [(w, expected[w], found[w]) for w in wrong[:3]])


def chosen(names: list[str]) -> dict[str, Any]:
    return {name: VALUES[name] for name in names}


@pytest.mark.usefixtures("_one_salt")
@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("way", "writer"),
    [
        *(("file", "pyarrow"), ("folder", "polars"), ("connection", "duckdb")),
        *(("database", "pyarrow"), ("relation", "polars"), ("file", "duckdb")),
    ],
)
def test_a_row_counts_for_what_it_is_whatever_the_footer_says(tmp_path, writer, way):
    hold(writer, 1, tmp_path, chosen(["double", "float", "text"]), [way])


@pytest.mark.usefixtures("_one_salt")
@pytest.mark.few(5)
@pytest.mark.parametrize("way", FRAMES)
def test_a_row_in_memory_counts_for_what_it_is(way):
    table = random_table(random.Random(2), chosen(["double", "float"]), 16)
    with in_duckdb(table) as source:
        kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
        expected = answers(source, kinds)
    with framed(way, table) as source:
        assert answers(source, kinds) == expected


@pytest.mark.usefixtures("_one_salt")
@pytest.mark.full
@pytest.mark.xdist_group("types of Parquet")  # which share what a table answers
@pytest.mark.parametrize(
    ("writer", "way"),
    [
        *(("pyarrow", "file"), ("polars", "folder"), ("duckdb", "file")),
        *(("fastparquet", "file"), ("pyarrow", "relation")),
    ],
)
def test_every_type_is_read_alike(tmp_path, writer, way):
    hold(writer, 0, tmp_path, chosen(list(VALUES)), [way])


@pytest.mark.usefixtures("_one_salt")
@pytest.mark.parametrize("writer", ["pyarrow", "polars"])
@pytest.mark.parametrize("rows", [1, 1000])
def test_a_far_time_is_one_cell_and_no_failure(tmp_path, writer, rows):
    """Of a folder of two files, with text that is none beside it, and of its neighbour."""
    for far in (FAR_MILLIS, [0] * len(FAR_MILLIS)):
        cells = {
            kind: pa.array([0, None, *far], pa.timestamp("ms", kind)) for kind in ("UTC", None)
        }
        table = pa.table({"t": cells[None], "z": cells["UTC"], "n": range(len(far) + 2)})
        raw = pa.array([b"a", b"\xff", *[b"b"] * len(far)]).cast(pa.string(), safe=False)
        for number in range(2):
            path = tmp_path / str(far[0] > 0) / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            if writer == "polars":
                pl.from_arrow(table).write_parquet(path, row_group_size=rows)
            else:
                pq.write_table(table.append_column("s", raw), path, row_group_size=rows)
        with open_source(path.parent) as source:
            beyond = sum(cell > 0 for cell in far)
            before = sum(cell < 0 for cell in far)
            t, z, near = col("t"), col("z"), 1 + len(far) - beyond - before
            for test, expected in (
                *((t > "9999-12-31", beyond), (z > "9999-12-31", beyond), (t.is_null(), 1)),
                *(((t < "0001-01-01") & (z < "0001-01-01"), before), (t.dt.year() == 1970, near)),
                (z.dt.year() == 1970, near),
            ):
                assert parquet_law_count(source, test) == 2 * expected
            assert parquet_law_count(source, col("n") >= 1) == 2 * (1 + len(far))
            if writer == "pyarrow":
                assert parquet_law_count(source, col("s").is_null()) == 2
                assert parquet_law_count(source, col("s") == "b") == 2 * len(far)


def stored_as(kind: pa.DataType, number: int) -> pa.Array:
    """A cell of a type by the number that is stored, whatever it is a number of."""
    stored = pa.array([0, number], pa.int64() if kind.bit_width == 64 else pa.int32())
    return pa.Array.from_buffers(kind, 2, [None, stored.buffers()[1]])


CHECKED: dict[str, Callable[[bool], pa.Array]] = {
    "time": lambda bad: stored_as(pa.time64("us"), -1 if bad else 1),
    "milliseconds": lambda bad: stored_as(pa.time32("ms"), 86_400_001 if bad else 1),
    "nanoseconds": lambda bad: stored_as(pa.time64("ns"), 1 << 62 if bad else 1),
    "JSON": lambda bad: pa.array(["1", "x" if bad else "2"], pa.json_()),
    "within": lambda bad: pa.ListArray.from_arrays([0, 1, 2], CHECKED["time"](bad)),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("way", ["file", "folder", "view", "relation"])
def test_what_the_reader_checks_by_value_is_refused_by_its_type(tmp_path, name, way):
    """DuckDB 2.0 ends even a count of the missing ones for one that is none."""
    fates = []
    for bad in (True, False):
        path = tmp_path / str(bad) / "t.parquet"
        write(path, x=CHECKED[name](bad), n=[1, 2])
        connection = duckdb.connect()
        connection.execute(f"create view v as from '{path}'")
        try:
            if way == "view":
                source = open_source(connection, "v")
            elif way == "relation":
                source = open_source(connection.sql(f"from '{path}'"))
            else:
                source = open_source(path if way == "file" else path.parent)
        except DataSourceError as refused:
            fates.append(str(refused).replace(str(path), ""))
            continue
        with source:
            assert count(source, col("n") > 1) == 1
            with pytest.raises(UsageError, match="holds times of day, JSON") as late:
                count(source, col("x").is_null())
        fates.append(str(late.value))
    assert fates[0] == fates[1]


def test_columns_may_have_the_names_of_a_place(tmp_path):
    """The names by which DuckDB says where a row is, beside text that is none and far times."""
    for bad in (1, 0):
        text = pa.array([b"a", b"\xff" if bad else b"b"]).cast(pa.string(), safe=False)
        times = pa.array([0, 1 << 62 if bad else 0], pa.timestamp("ms"))
        named = {"FILE_INDEX": ["u", "v"], "file_row_number": [7, 8], "l": [["é"], None]}
        for number in range(2):
            path = tmp_path / str(bad) / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(pa.table({"s": text, "t": times, **named}), path)
        with duckdb.connect() as connection:
            connection.execute(
                f"create view v as select *, l[1] as e from '{path.parent}/*.parquet'"
            )
            for opens in (
                lambda path=path: open_source(path.parent),
                lambda connection=connection: open_source(connection, "v"),
                lambda connection=connection: open_source(connection.view("v")),
            ):
                with opens() as source:
                    found = [
                        parquet_law_count(source, test)
                        for test in (
                            col("s").is_null() & (col("t") > "9999-12-31"),
                            (col("FILE_INDEX") == "v") & (col("file_row_number") == 8),
                            col("e") == "é" if "e" in source.columns else col("s") == "a",
                        )
                    ]
                assert found == [2 * bad, 2, 2]


def test_parts_of_a_folder_with_the_names_of_a_place_are_refused_by_them(tmp_path):
    write(tmp_path / "file_index=1" / "a.parquet", s=["a"])
    with pytest.raises(DataSourceError, match="named like one of file_index"):
        open_source(tmp_path)
    write(tmp_path / "file_index=1" / "a.parquet", n=[1])
    with open_source(tmp_path) as source:
        assert count(source, col("file_index") == 1) == 1


def test_a_part_of_a_folder_hides_the_column_of_its_name(tmp_path):
    for bad in (1, 0):
        text = pa.array([b"a", b"\xff" if bad else b"b"]).cast(pa.string(), safe=False)
        write(tmp_path / "site=x" / "a.parquet", site=["b", "b"], s=text, n=[1, 2])
        with open_source(tmp_path) as source:
            assert count(source, col("s").is_null()) == bad
            assert count(source, col("site") == "x") == 2
    write(tmp_path / "site=x" / "a.parquet", site=pa.array([0], pa.timestamp("ms")), n=[1])
    with pytest.raises(DataSourceError, match="in the names of the folders as well"):
        open_source(tmp_path)


@pytest.mark.usefixtures("_one_salt")
def test_statistics_that_are_wrong_change_nothing(tmp_path):
    """A footer says that the least and the greatest number are others: nobody believes it."""
    for kind, true, lie, ways in (
        ("d", 7.25, 2.5, ("file", "database")),
        ("q", 77_000_111, 3, ("file", "connection", "relation")),
    ):
        values = pa.array([true] * 3, pa.float64() if kind == "d" else pa.int64())
        pq.write_table(pa.table({"x": values, "p": [1, 2, 2]}), tmp_path / "t.parquet")
        data = (tmp_path / "t.parquet").read_bytes()
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        told, said = struct.pack(f"<{kind}", true), struct.pack(f"<{kind}", lie)
        assert told in data[footer:]
        forged = data[:footer] + data[footer:].replace(told, said)
        (tmp_path / "forged.parquet").write_bytes(forged)
        for way in ways:
            with opened(way, tmp_path / "forged.parquet") as source:
                x = col("x")
                tests = [x > lie, x <= lie, x.is_in([true])]
                assert [parquet_law_count(source, test) for test in tests] == [3, 0, 3]
                grid = Grid.for_bounds(0, 1 << 27)
                moments = Moments(x, grid)
                for unit in (OneRowEach(), PersonUnit("p", 2), PersonUnit("x", 3)):
                    asked = {"by": {"p": col("p")}, "keys": [1, 2]}
                    whole = IntegerQuery(source, unit).run([moments]).of(moments)[0]
                    assert whole[0] == 3 * unit.one
                    assert whole[2] == 3 * unit.one * grid.offset(true)
                    edge = grid.offset(5)  # which is between the truth and the lie
                    bins = Bins(x, grid, (0, edge, grid.cells))
                    counted = IntegerQuery(source, unit).run([bins]).of(bins)
                    assert counted.tolist() == [[0, 3 * unit.one]]
                    IntegerQuery(source, unit, **asked).run([Rows(), moments])


@pytest.mark.parametrize("way", ["file", "database", "relation"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_text_is_what_it_is_whatever_the_footer_says(tmp_path, way, dictionary):
    texts = pa.array(["mmmm"] * 3)
    table = pa.table({"x": texts, "p": [1, 2, 2]})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=dictionary)
    data = (tmp_path / "t.parquet").read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert b"mmmm" in data[footer:]
    forged = data[:footer] + data[footer:].replace(b"mmmm", b"bbbb")
    (tmp_path / "forged.parquet").write_bytes(forged)
    with opened(way, tmp_path / "forged.parquet") as source:
        x = col("x")
        tests = [x == "mmmm", x == "bbbb", x.is_in(["mmmm", "c"]), x.str.starts_with("b")]
        assert [parquet_law_count(source, test) for test in tests] == [3, 0, 3, 0]
        for keys in (["bbbb", "mmmm"], ["bbbb", "mmmm", None]):
            query = IntegerQuery(source, OneRowEach(), by={"x": col("x")}, keys=keys)
            assert query.run([Rows()]).of(Rows()).tolist() == [0, 3, 0][: len(keys)]
        people = IntegerQuery(source, PersonUnit("x", 2))
        assert people.run([Rows()]).of(Rows()).tolist() == [3 * (2 * (1 << 20) // 3)]


@pytest.mark.few(2)
@pytest.mark.parametrize("most", [2.0, float("inf")])
def test_a_filter_of_a_relation_compares_each_cell(tmp_path, most):
    """NaN, which is in no footer, is above each number, whatever the other numbers are."""
    pq.write_table(pa.table({"x": [1.0, float("nan"), most]}), tmp_path / "t.parquet")
    with duckdb.connect() as connection:
        read = connection.read_parquet(str(tmp_path / "t.parquet"))
        for test, expected in (
            ("x > 3", 1 + (most > 3)),
            ("x = 'nan'", 1),
            ("x <= 50", 1 + (most <= 50)),
        ):
            with open_source(read.filter(test)) as source:
                found = IntegerQuery(source, OneRowEach()).run([Rows()]).of(Rows()).tolist()
            assert found == [expected], (most, test)


def test_what_is_no_number_is_in_no_bin_and_no_cell(tmp_path):
    """NaN, which is in no footer: that says that all numbers are within the bounds."""
    for shown in ([1.0, float("nan"), 2.0, None], [float("nan")] * 2):
        pq.write_table(pa.table({"x": pa.array(shown, pa.float64())}), tmp_path / "t.parquet")
        grid = Grid.for_bounds(0, 4, bits=2)
        bins, cells = Bins(col("x"), grid, (0, 1, 2, 4)), Cells(col("x"), grid, 1)
        with open_source(tmp_path / "t.parquet") as source:
            exact = IntegerQuery(source, OneRowEach()).run([bins, cells])
        some = len(shown) == 4
        assert exact.of(bins).tolist() == [[0, some, some]]
        assert [a.tolist() for a in exact.of(cells)[0]] == ([[0, 1], [1, 1]] if some else [[], []])


@pytest.mark.usefixtures("_one_salt")
def test_what_a_relation_says_of_its_files_is_withheld(tmp_path):
    pq.write_table(pa.table({"s": ["Zaphod"]}), tmp_path / "t.parquet")
    connection = duckdb.connect()
    relation = connection.sql(f"select cast(s as int) as n from '{tmp_path}/t.parquet'")
    with open_source(relation) as source:
        with pytest.raises(DataSourceError, match="withheld") as caught:
            parquet_law_count(source, col("n") == 1)
        assert "Zaphod" not in str(caught.value)
        assert caught.value.__context__ is None
    connection.close()


# Files at an address: read by the user's own extensions of DuckDB, or refused with the remedy.


INSTALLED = duckdb.sql(
    "select installed from duckdb_extensions() where extension_name = 'httpfs'"
).fetchall() == [(True,)]
without = pytest.mark.skipif(INSTALLED, reason="DuckDB's extension httpfs is installed here")
with_it = pytest.mark.skipif(
    not INSTALLED,
    reason=reason("DuckDB's httpfs", "python -c \"import duckdb; duckdb.sql('install httpfs')\""),
)


def test_an_unknown_kind_of_address_is_refused_before_anything_is_fetched():
    with pytest.raises(
        DataSourceError, match=r"addresses of the form htps://.*did you mean 'https'"
    ):
        tc.Session("htps://example.org/a.parquet", unit=tc.one_row_each, budget=tc.epsilon(1))


@without
@pytest.mark.parametrize("address", ["s3://bucket/*.parquet", "https://example.org/a.csv"])
def test_a_missing_extension_is_named_with_the_way_to_install_it(address):
    with pytest.raises(DataSourceError, match="install httpfs"):
        tc.Session(address, unit=tc.one_row_each, budget=tc.epsilon(1))


class Told(DuckEngine):
    """An engine that says of every extension whether it is there."""

    def __init__(self, answer):
        self.answer = answer

    def rows(self, sql):
        assert "'azure'" in sql
        return self.answer


@pytest.mark.parametrize("answer", [[], [(False,)]])
def test_azure_has_an_extension_of_its_own(answer):
    with pytest.raises(DataSourceError, match="install azure"):
        check_remote("az://box/a.parquet", Told(answer))
    check_remote("az://box/a.parquet", Told([(True,)]))


@pytest.mark.parametrize("bad", [False, True], ids=["text", "bytes"])
def test_text_at_an_address_is_read_or_refused_by_its_type(tmp_path, bad):
    """DuckDB before 2.0 would fail on bytes that are no text, and can copy no such file."""
    cells = pa.array([b"a", b"\xff" if bad else b"b", None], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, cells.buffers())
    pq.write_table(pa.table({"s": text, "n": [1, 2, 3]}), tmp_path / "t.parquet")
    address = (tmp_path / "t.parquet").as_uri()  # what DuckDB fetches without an extension
    engine = DuckEngine()
    relation, schema = duck_parquet.open_parquet(address, [address], engine)
    assert engine.rows(f"select count(*) from {relation} where n > 1") == [(2,)]
    connection = duckdb.connect()
    connection.execute(f"create view v as select * from read_parquet('{address}')")
    if reads_marked_text(engine):
        assert schema["s"].kind == "text"
        missing = f"select count(*) from {relation} where s is null"
        assert engine.rows(missing) == [(1 + bad,)]
        with open_source(connection, "v") as source:
            assert count(source, col("s").is_null()) == 1 + bad
    else:
        assert schema["s"].kind == "other"
        with pytest.raises(DataSourceError, match=r"text in a file at an address.*newer one"):
            open_source(connection, "v")
    engine.close()


def test_text_that_parts_of_a_folder_name_too_is_refused_behind_a_view_before_duckdb_2(tmp_path):
    path = tmp_path / "s=north" / "t.parquet"
    write(path, s=["a"], n=[1])
    connection = duckdb.connect()
    connection.execute(f"create view v as select * from read_parquet('{path}')")
    engine = DuckEngine()
    if reads_marked_text(engine):
        with open_source(connection, "v") as source:
            assert count(source, col("s") == "north") == 1
    else:
        with pytest.raises(DataSourceError, match="in the files and in the names of folders"):
            open_source(connection, "v")
    engine.close()


def test_secrets_in_an_address_are_in_no_name_and_no_error():
    secret = "https://ann:hush@example.org/a.parquet?signature=hush"
    assert public_part(secret) == "https://example.org/a.parquet"
    with pytest.raises(DataSourceError) as caught:
        tc.Session(secret, unit=tc.one_row_each, budget=tc.epsilon(1))
    assert "hush" not in str(caught.value)


@with_it
def test_a_remote_table_answers_like_the_local_one(tmp_path):
    (tmp_path / "small.csv").write_text('a;b\n1;x\n2;"y;z"\n')
    folder = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/small.csv"
    with tc.Session(address, unit=tc.one_row_each, budget=tc.epsilon(10_000)) as session:
        assert session.columns == {"a": "integer", "b": "text"}
        assert session.source.name == "small.csv"
        total = session.agg(total=tc.sum("a", 0, 5)).release(epsilon=10_000).value("total")
        assert round(total) == 3
    server.shutdown()
    server.server_close()


# Columns of whole numbers and text are copied out of a Parquet file as they are stored.


TIMES = [0, None, (1 << 63) - 1, -(1 << 63) + 1]


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_the_copy_has_the_numbers_and_nothing_else(tmp_path, dictionary, rows):
    table = pa.table({"n": ["a"] * 4, "t": pa.array(TIMES, pa.timestamp("ms", "UTC")), "s": TIMES})
    source, target = tmp_path / "t.parquet", tmp_path / "copy.parquet"
    pq.write_table(table, source, use_dictionary=dictionary, row_group_size=rows)
    extract_columns(str(source), ["t", "s"], str(target))
    assert pq.read_table(target).to_pydict() == {"c0": TIMES, "c1": TIMES}
    assert pq.read_metadata(target).row_group(0).column(0).statistics is None


def test_a_file_that_changed_is_refused_without_quoting_it(tmp_path):
    table = pa.table({"n": pa.array([4217], pa.int32()), "s": ["Zaphod"]})
    pq.write_table(table, tmp_path / "t.parquet")
    for number, name in enumerate(("n", "gone")):
        with pytest.raises(DataSourceError, match="damaged") as caught:
            extract_columns(str(tmp_path / "t.parquet"), [name], str(tmp_path / f"{number}"))
        assert "Zaphod" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("dictionary", [True, False])
def test_text_is_copied_as_bytes_within_lists_and_structs_too(tmp_path, dictionary):
    raw = [b"a", None, b"\xff", b"caf\xc3\xa9"]
    text = pa.array(raw, pa.binary()).cast(pa.string(), safe=False)
    lists = pa.ListArray.from_arrays([0, 1, 1, 4, 4], text)
    both = pa.StructArray.from_arrays([text, pa.array([1, 2, 3, 4])], ["s", "n"])
    table = pa.table({"n": [1, 2, 3, 4], "l": lists, "b": both, "t": text})
    source, target = tmp_path / "t.parquet", tmp_path / "copy.parquet"
    pq.write_table(table, source, use_dictionary=dictionary, row_group_size=3)
    extract_columns(str(source), ["t", "b", "l"], str(target))
    assert pq.read_table(target).to_pydict() == {
        "c0": raw,
        "c1": [{"s": cell, "n": n} for n, cell in enumerate(raw, 1)],
        "c2": [[raw[0]], [], raw[1:], []],
    }


# A view of Parquet files has the values of their columns, whatever their statistics say.


def test_no_comparison_is_decided_by_the_footer(tmp_path):
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": [float("nan"), 1.0, 2.0], "n": [1, 2, 3]}), path)
    engine = DuckEngine()
    view = parquet_view(lambda more: f"read_parquet('{path}'{more})", [path], engine)
    for test, rows in (("x <= 'Infinity'::double", 2), ("n <= 3", 3), ("n is not null", 3)):
        assert engine.rows(f"select count(*) from {view} where {test}") == [(rows,)]
    engine.close()


# The engine that runs inside: its threads, its memory, its disk, and closing it.


SECRET = "Zaphod"


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two", 10**9])
def test_a_number_of_threads_is_a_small_whole_one(tmp_path, threads):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="threads"):
        open_source(tmp_path / "people.csv", threads=threads)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists threads there")
def test_an_open_table_has_few_threads():
    """A service has hundreds open: DuckDB would start eight more for each."""
    before = len(os.listdir("/proc/self/task"))
    engines = [DuckEngine(threads=1) for _ in range(5)]
    assert [engine.rows("select 1") for engine in engines] == [[(1,)]] * 5
    assert len(os.listdir("/proc/self/task")) - before <= 2 * len(engines)
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("limit", ["-5", " -1GB", "0", "", "much", 256, True])
def test_a_memory_limit_that_would_hold_nothing_is_refused(tmp_path, limit):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="memory_limit"):
        open_source(tmp_path / "people.csv", memory_limit=limit)


def test_a_sound_file_beyond_the_memory_limit_is_not_called_damaged(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,name\n" + f"31,{SECRET}\n" * 100_000)
    with (
        open_source(path, memory_limit="1MB") as source,
        pytest.raises(DataSourceError, match="raise memory_limit") as caught,
    ):
        IntegerQuery(source, OneRowEach()).run([Rows()])
    assert SECRET not in "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__context__ is None


def test_nothing_stays_on_disk_and_spilled_rows_are_encrypted():
    engine = DuckEngine(memory_limit="200MB")
    ((folder, encrypted),) = engine.rows(
        "select current_setting('temp_directory'), current_setting('temp_file_encryption')"
    )
    assert encrypted
    assert Path(folder).stat().st_mode & 0o077 == 0
    engine.close()
    assert not Path(folder).exists()
    with pytest.raises(DataSourceError, match="closed"):
        engine.rows("select 1")


def encrypts_files():
    """DuckDB before 1.5 has no cipher of its own for them."""
    return tuple(map(int, duckdb.__version__.split(".")[:2])) >= (1, 5)


@pytest.mark.full
def test_beyond_the_memory_limit_rows_spill_unreadably_and_the_answer_is_exact():
    engine = DuckEngine(memory_limit="32MB", threads=1)
    rows = 1_500_000
    try:
        ((folder,),) = engine.rows("select current_setting('temp_directory')")
        made = f"select range as a, '{SECRET}' || md5(range::varchar) as b from range({rows})"
        if not encrypts_files():  # nothing is written that could be read
            for _ in range(2):
                with pytest.raises(EngineMemoryError, match=r"cannot encrypt.*newer DuckDB"):
                    engine.materialise(made)
            assert sum(f.stat().st_size for f in Path(folder).iterdir()) < 1 << 10
            assert engine.rows("select 1") == [(1,)]
            return
        table = engine.materialise(made)
        spilled = [f.read_bytes() for f in Path(folder).iterdir()]
        assert sum(map(len, spilled)) > 1 << 20
        assert not any(SECRET.encode() in text for text in spilled)
        found = engine.rows(f"select sum(a), count(*) from {table} where b like '{SECRET}%'")
        assert found == [(rows * (rows - 1) // 2, rows)]
    finally:
        engine.close()


def test_people_are_grouped_by_an_array_no_longer_than_the_table(tmp_path):
    path, rows = tmp_path / "rows.parquet", 1 << 14
    duckdb.sql(f"copy (select i % 9001 - 7 as p, i % 3 as x from range({rows}) t(i)) to '{path}'")
    asked = "select current_setting('perfect_ht_threshold')"
    connection = duckdb.connect()
    connection.execute(f"create table t as from '{path}'")
    found = []
    with open_source(path) as own, open_source(connection, "t") as given:
        for source in (own, given):
            moments = Moments(col("x"), Grid.for_bounds(0, 2, whole=True))
            answer = IntegerQuery(source, PersonUnit("p", rows=1)).run([moments]).of(moments)
            found.append((source.engine.rows(asked)[0][0], answer.tolist()))
    assert [int(bits) for bits, _ in found] == [14, 12]
    assert found[0][1] == found[1][1]


# The instance of DuckDB that tables in memory share.


PEOPLE = pyarrow.table({"age": [31, 45, 52]})


@pytest.fixture
def instance():
    made = SharedInstance()
    yield made
    if made._instance is not None:
        made._instance.end()


def test_tables_in_memory_share_one_and_others_have_their_own(tmp_path):
    (tmp_path / "people.csv").write_text("age\n31\n")
    with instance_open_source(PEOPLE) as one, instance_open_source(PEOPLE) as other:
        assert one.engine.folder == other.engine.folder
        for alone in (
            instance_open_source(PEOPLE, threads=1),
            instance_open_source(PEOPLE, memory_limit="1GB"),
            instance_open_source(tmp_path / "people.csv"),
        ):
            with alone:
                assert alone.engine.folder != one.engine.folder


def test_a_table_does_not_see_another(tmp_path):
    older = pyarrow.table({"age": [77, 88]})
    with instance_open_source(PEOPLE) as one, instance_open_source(older) as other:
        kept = one.engine.materialise(f"select age from {one.relation}")
        view = one.engine.view("select 1 as x")
        one.engine.rows("set perfect_ht_threshold = 20")
        for theirs in (kept, view):
            with pytest.raises(DataSourceError):
                other.engine.rows(f"select * from {theirs}")
        ages = [
            engine.rows(f"select age from {one.relation}") for engine in (other.engine, one.engine)
        ]
        assert ages == [[(77,), (88,)], [(age,) for age in PEOPLE["age"].to_pylist()]]
        assert other.engine.rows("select current_setting('perfect_ht_threshold')") != [(20,)]


def test_nothing_of_a_closed_table_stays(instance):
    found, connection = instance.borrow()
    connection.execute("create temporary table kept as select range as x from range(100000)")
    connection.close()
    instance.give_back(found)
    (held,) = found._connection.execute(
        "select sum(memory_usage_bytes) from duckdb_memory()"
    ).fetchone()
    assert held == 0
    assert instance.borrow()[0] is found


def test_one_that_has_spilled_is_ended_with_its_last_table(instance):
    found, _ = instance.borrow()
    instance.borrow()
    (found.folder.path / "rows").write_text("Zaphod")
    instance.give_back(found)
    assert found.folder.path.is_dir()
    instance.give_back(found)
    assert not found.folder.path.exists()
    assert instance.borrow()[0] is not found


class Failed:
    """What DuckDB is after an internal error: it refuses every statement."""

    def cursor(self):
        return self

    def execute(self, sql):
        raise duckdb.FatalException("database has been invalidated because of a previous error")


def test_one_that_has_failed_is_left_to_its_tables(instance, monkeypatch):
    """An internal error in a question of one table failed all tables that were opened later."""
    found, _ = instance.borrow()
    monkeypatch.setattr(found, "_connection", Failed())
    other, connection = instance.borrow()
    assert connection.execute("select 1").fetchall() == [(1,)]
    instance.give_back(found)
    assert instance.borrow()[0] is other is not found
    found.end()


def test_threads_may_borrow_it_at_once(instance):
    found = []
    at_once(lambda: found.append(instance.borrow()[0]), times=8)
    assert len(set(map(id, found))) == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the threads of DuckDB
def test_a_process_that_forks_ends_it_and_the_child_ends_as_it_should():
    gc.collect()  # tables that other tests have left to be collected
    with tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1)):
        folder, others = shared._instance.folder.path, shared._tables - 1
    child = os.fork()
    if child == 0:
        os._exit(0 if shared._instance is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert folder.exists() == (others > 0)
    with tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        assert session.agg(n=tc.count()).release(epsilon=1).labels == ("n",)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the threads of DuckDB
def test_a_child_begins_its_own_where_a_table_was_open():
    with tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1)):
        before = shared._instance
        child = os.fork()
        if child == 0:
            with instance_open_source(PEOPLE) as source:
                own = shared._instance is not before
                os._exit(0 if own and source.engine.rows("select 42") == [(42,)] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert shared._instance is before


# The instances that tables in files have to themselves, one after another.


@pytest.fixture
def idle(monkeypatch):
    made = IdleInstances()
    monkeypatch.setattr("tacit.tables.engines.duckdb.engine.idle", made)
    yield made
    while made._idle:
        made._idle.pop().end()


def test_an_instance_goes_from_file_to_file_with_nothing_in_it(tmp_path, idle):
    (tmp_path / "people.csv").write_text("age\n31\n")
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    with duckdb.connect(str(tmp_path / "v.duckdb")) as connection:
        connection.execute("create table t as select 1 as age")
    folders, settings = set(), []
    asked = "select current_setting('perfect_ht_threshold')"
    held = "select coalesce(sum(memory_usage_bytes), 0) from duckdb_memory()"
    shown = "select count(*) from duckdb_databases() where not internal"
    for name, table in (("people.parquet", None), ("v.duckdb", "t"), ("people.csv", None)) * 2:
        with open_source(tmp_path / name, table) as source:
            engine = source.engine
            folders.add(engine.folder)
            settings.append(engine.rows(asked))
            assert engine.rows(shown) == [(1 + (table is not None),)]
            assert engine.rows("select count(*) from duckdb_tables()") <= [(1,)]
            assert count(source, col("age") > 0) == (3 if name.endswith("parquet") else 1)
            engine.materialise("select range as x from range(100000)")
            engine.rows("set perfect_ht_threshold = 20")
        assert idle._idle[0]._connection.execute(held).fetchall() == [(0,)]
    assert len(folders) == 1
    assert [(20,)] not in settings


def test_an_instance_that_is_not_as_it_was_made_is_ended_with_its_table(idle):
    for spoil in (
        DuckEngine.confine,
        DuckEngine.is_changed,
        lambda engine: (Path(engine.folder) / "rows").write_text("Zaphod"),
        lambda engine: engine._instance._connection.close(),
    ):
        engine = DuckEngine()
        spoil(engine)
        engine.close()
        assert not Path(engine.folder).exists()
        assert not idle._idle
    DuckEngine(threads=1).close()
    assert not idle._idle
    one, other, third = (DuckEngine() for _ in range(3))
    assert len({one.folder, other.folder, third.folder}) == 3
    for engine in (one, other, third):
        engine.close()
    assert [Path(each.folder).exists() for each in (one, other, third)] == [True, True, False]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # the threads of DuckDB
def test_a_process_that_forks_ends_those_that_wait():
    DuckEngine().close()
    (waiting, *_) = all_idle._idle
    child = os.fork()
    if child == 0:
        os._exit(len(all_idle._idle))
    assert os.waitpid(child, 0)[1] == 0
    assert not waiting.folder.path.exists()
    engine = DuckEngine()
    assert engine.rows("select 42") == [(42,)]
    engine.close()
