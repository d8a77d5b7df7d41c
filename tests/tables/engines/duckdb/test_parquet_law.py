"""No statistic, dictionary, filter or order of a file changes what a row contributes.

Random tables are written as Parquet by several writers.  The integers before noise equal those of
the same rows in a table of DuckDB, and the file of a neighbour is answered as well.
"""

from __future__ import annotations

import random
import struct
import weakref
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.tables.column_questions import answers, count, in_duckdb
from support.tables.parquet_writers import FAR_MILLIS, VALUES, WRITERS, random_table
from tacit.errors import DataSourceError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Moments, Rows


@pytest.fixture(autouse=True)
def _one_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: "5a17")


def opened(way: str, path: Path) -> Source:
    """Open a file as it is, or a view of it."""
    if way == "file":
        return open_source(path)
    if way == "folder":
        return open_source(path.parent)
    connection = duckdb.connect() if way == "connection" else duckdb.connect(f"{path}.duckdb")
    connection.execute(f"create view data as select * from read_parquet('{path}')")
    if way == "connection":
        return open_source(connection, "data")
    connection.close()
    return open_source(f"{path}.duckdb", "data")


WAYS = ("file", "folder", "connection", "database")
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


def hold(writer: str, seed: int, folder: Path, types: dict[str, Any], ways: Any = WAYS) -> None:
    """Hold a random table and a neighbour to the law."""
    draw = random.Random(seed)
    table = random_table(draw, types, 16)
    for number, some in enumerate((table, table.slice(1))):
        with in_duckdb(some) as source:
            kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
            expected = answers(source, kinds)
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


@pytest.mark.few(6)
@pytest.mark.parametrize("writer", ["pyarrow", "polars", "duckdb"])
@pytest.mark.parametrize("way", WAYS)
def test_a_row_counts_for_what_it_is_whatever_the_footer_says(tmp_path, writer, way):
    hold(writer, 1, tmp_path, chosen(["double", "float", "text"]), [way])


@pytest.mark.few(5)
@pytest.mark.parametrize("way", FRAMES)
def test_a_row_in_memory_counts_for_what_it_is(way):
    table = random_table(random.Random(2), chosen(["double", "float"]), 16)
    with in_duckdb(table) as source:
        kinds = {n: c.kind for n, c in source.schema.items() if n != "p"}
        expected = answers(source, kinds)
    with framed(way, table) as source:
        assert answers(source, kinds) == expected


@pytest.mark.full
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("seed", range(2))
def test_every_type_is_read_alike(tmp_path, writer, seed):
    hold(writer, seed, tmp_path, chosen(list(VALUES)), [WAYS[seed]])


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
            for t in (col("t"), col("z")):
                assert count(source, t > "9999-12-31") == 2 * beyond
                assert count(source, t < "0001-01-01") == 2 * before
                assert count(source, t.is_null()) == 2
                assert count(source, t.year() == 1970) == 2 * (1 + len(far) - beyond - before)
            assert count(source, col("n") >= 1) == 2 * (1 + len(far))
            if writer == "pyarrow":
                assert count(source, col("s").is_null()) == 2
                assert count(source, col("s") == "b") == 2 * len(far)


def test_statistics_that_are_wrong_change_nothing(tmp_path):
    """A footer says that the least and the greatest number are others: nobody believes it."""
    for kind, true, lie in (("d", 7.25, 2.5), ("q", 77_000_111, 3)):
        values = pa.array([true] * 3, pa.float64() if kind == "d" else pa.int64())
        pq.write_table(pa.table({"x": values, "p": [1, 2, 2]}), tmp_path / "t.parquet")
        data = (tmp_path / "t.parquet").read_bytes()
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        told, said = struct.pack(f"<{kind}", true), struct.pack(f"<{kind}", lie)
        assert told in data[footer:]
        forged = data[:footer] + data[footer:].replace(told, said)
        (tmp_path / "forged.parquet").write_bytes(forged)
        for way in WAYS:
            (tmp_path / "forged.parquet.duckdb").unlink(missing_ok=True)
            if way == "folder":
                continue
            with opened(way, tmp_path / "forged.parquet") as source:
                x = col("x")
                tests = [x == true, x > lie, x <= lie, x.is_in([true])]
                assert [count(source, test) for test in tests] == [3, 3, 0, 3]
                grid = Grid.for_bounds(0, 1 << 27)
                moments = Moments(x, grid)
                for unit in (OneRowEach(), PersonUnit("p", 2), PersonUnit("x", 3)):
                    asked = {"by": {"p": col("p")}, "keys": [1, 2]}
                    whole = Query(source, unit).run([moments]).of(moments)[0]
                    assert whole[0] == 3 * unit.one
                    assert whole[2] == 3 * unit.one * grid.offset(true)
                    Query(source, unit, **asked).run([Rows(), moments])


def test_what_a_relation_says_of_its_files_is_withheld(tmp_path):
    text = pa.array([b"Zaphod\xff"]).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"s": text}), tmp_path / "t.parquet")
    connection = duckdb.connect()
    relation = connection.sql(f"select * from '{tmp_path}/t.parquet'")
    with open_source(relation) as source:
        with pytest.raises(DataSourceError, match="withheld") as caught:
            count(source, col("s") == "a")
        assert "Zaphod" not in str(caught.value)
        assert caught.value.__context__ is None
    connection.close()
