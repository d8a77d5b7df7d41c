"""A cell of text whose bytes are no UTF-8 is missing, and moves no other one, in Arrow and Parquet.

One bad row among a thousand: every kind of question meets the fate that it meets without the row.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.errors import DataSourceError
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import RowCells
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Moments, People, Rows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
BAD = [b"\xff", b"\xfe", b"a\xc3", b"\xed\xa0\x80", b"a\xe2\x82"]
GOOD = [b"a", b"?", b"", "caf\u00e9".encode(), b"\\xFF", b"a?"]
GRID = Grid.for_bounds(0, 100, bits=8)
OPEN: list[Any] = []
WAYS = ["table", "reader", "stream", "relation", "parquet", "several files"]


class Streams:
    """What shows an Arrow stream and nothing else; as other libraries' tables do."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def texts(cells: list[bytes | None]) -> Any:
    raw = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def opened(way: str, cells: list[bytes | None], folder: Path) -> Any:
    """The cells as ``g``, as the person ``p`` and as the number ``n`` of one table."""
    table = pa.table({"g": texts(cells), "p": texts(cells), "n": list(range(len(cells)))})
    if way in ("parquet", "several files"):
        parts = 1 if way == "parquet" else 2
        for i in range(parts):
            part = table.slice(i * len(cells) // parts, len(cells) // parts)
            pq.write_table(part, folder / f"{i}.parquet", row_group_size=100, use_dictionary=i == 0)
        return folder
    if way == "relation":
        import duckdb

        connection = duckdb.connect()
        OPEN.append(connection)  # a relation of DuckDB 1.4 does not keep it open
        return connection.from_arrow(table)
    return {"table": table, "reader": table.to_reader(), "stream": Streams(table)}[way]


def text(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


@pytest.mark.few(4)
@pytest.mark.parametrize("way", WAYS)
def test_bytes_that_are_no_text_are_missing(way: str, tmp_path: Path) -> None:
    cells = [*BAD, *GOOD, None, *GOOD, b"\xff", b"x", b"y", b"z"] * 5
    with open_source(opened(way, cells, tmp_path)) as source:
        by = {"g": col("g")}
        counts = Counter((text(cell),) for cell in cells)
        assert IntegerQuery(source, OneRowEach(), by=by).people_by_key() == counts
        keys = list(counts)
        listed = IntegerQuery(source, OneRowEach(), by=by, keys=keys).run([Rows()]).of(Rows())
        assert listed.tolist() == [counts[key] for key in keys]
        for where in (
            col("g") == "a?",
            col("g").str.to_lowercase() == "a?",
            col("g").is_in(["a?", "\x01"]),
        ):
            assert IntegerQuery(source, OneRowEach(), where=where).run([Rows()]).of(Rows()) == [10]
        people = {text(cell) for cell in cells} - {None}
        assert IntegerQuery(source, PersonUnit("p", rows=1)).run([People()]).of(People()) == [
            len(people)
        ]


ASKED = {
    "keys": {"by": {"g": col("g")}, "keys": ["a", None]},
    "filter": {"where": col("g") == "a"},
    "lower": {"where": col("g").str.to_lowercase() != "a"},
    "is_in": {"by": {"g": col("g").is_in(["a"])}, "keys": [True, False]},
    "all": {},
}
REQUESTS: list[Any] = [Rows(), People(), Moments(col("n"), GRID, squares=True)]


@pytest.mark.few(8)
@pytest.mark.parametrize("way", WAYS)
def test_one_bad_row_changes_no_fate(way: str, tmp_path: Path) -> None:
    cells: list[bytes | None] = [b"a", b"b"] * 500
    found = []
    for name, last in (("good", b"b"), ("bad", b"\xff")):
        (tmp_path / name).mkdir()
        with open_source(opened(way, [*cells[:-1], last], tmp_path / name)) as source:
            asked = [
                IntegerQuery(source, unit, **asking).run(REQUESTS).of(request).sum()
                for asking in ASKED.values()
                for unit in (OneRowEach(), PersonUnit("p", rows=600))
                for request in REQUESTS[: 2 if unit.column else 1]
            ]
            number = RowCells(col("n"), GRID, parts=3, groups=2)
            IntegerQuery(source, PersonUnit("p", rows=5), by={"g": col("g")}, keys=["a"]).run(
                [number]
            )
            asked += [
                IntegerQuery(source, OneRowEach(), by={"g": col("g")}).people_by_key()[("a",)]
            ]
            found.append(asked)
    one = PersonUnit.one
    assert all(abs(a - b) in (0, 1, one) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("way", ["table", "parquet"])
def test_a_session_answers_beside_a_bad_row(way: str, tmp_path: Path) -> None:
    cells: list[bytes | None] = [b"\xff", *[b"a", b"b"] * 500, b"a"]
    source = opened(way, cells, tmp_path)
    with tc.Session(source, unit=tc.one_row_each, budget=tc.epsilon_delta(9, "1e-6")) as session:
        grouped = session.group_by("g").agg(rows=tc.count(), n=tc.mean("n", 0, 1000))
        assert grouped.release(epsilon=2, delta="1e-7").keys == [("a",), ("b",)]
        listed = session.group_by("g", keys=["a", "\\xFF"]).agg(rows=tc.count())
        assert len(listed.release(epsilon=1).keys) == 2


def test_a_stream_is_not_read_when_it_is_opened() -> None:
    read: list[int] = []

    def batches() -> Any:
        read.append(1)
        yield from pa.table({"n": [1, 2, 3]}).to_batches()

    reader = pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches())
    with open_source(Streams(reader)) as source:
        assert read == []
        found = IntegerQuery(source, OneRowEach()).run([Rows()])
        assert (read, list(found.of(Rows()))) == ([1], [3])


def test_text_within_lists_and_beside_parts_of_a_folder_hinders_nothing(tmp_path: Path) -> None:
    found = []
    for name, last in (("good", b"a"), ("bad", b"\xff")):
        cells = texts([b"a", b"b", last])
        lists = pa.ListArray.from_arrays(pa.array([0, 1, None, 3], pa.int32()), cells)
        for site in ("north", "south"):
            path = tmp_path / name / f"site={site}" / "1.parquet"
            path.parent.mkdir(parents=True)
            pq.write_table(pa.table({"g": cells, "l": lists, "n": [1, 2, 3]}), path)
        with open_source(tmp_path / name) as source:
            tests = (col("l").is_null(), col("n") > 0, col("g") == "b", col("site") == "north")
            queries = [IntegerQuery(source, OneRowEach(), where=w) for w in tests]
            found.append([int(q.run([Rows()]).of(Rows())[0]) for q in queries])
    assert found == [[2, 6, 2, 3]] * 2


def within(kind: str, cells: Any) -> Any:
    """Two texts within a column of another type."""
    ends, struct = pa.array([0, 1, 2], pa.int32()), pa.StructArray.from_arrays([cells], ["t"])
    if kind == "map":
        return pa.MapArray.from_arrays(ends, pa.array(["k", "l"]), cells)
    if kind == "struct":
        return struct
    return pa.ListArray.from_arrays(ends, cells if kind == "list" else struct)


@pytest.mark.parametrize("kind", ["list", "struct", "map", "list of structs"])
@pytest.mark.parametrize("way", ["file", "table", "view", "relation"])
def test_text_within_a_column_hinders_nothing_where_no_other_is_text(
    kind: str, way: str, tmp_path: Path
) -> None:
    import duckdb

    found: list[Any] = []
    for name, last in (("good", b"b"), ("bad", b"\xff")):
        table = pa.table({"s": within(kind, texts([b"a", last])), "n": [1, 2]})
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path)
        connection = duckdb.connect()
        connection.execute(f"create view v as select * from '{path}'")
        given = {"file": (path,), "table": (table,), "view": (connection, "v")}
        try:
            opening = given.get(way) or (connection.sql(f"select * from '{path}'"),)
            with open_source(*opening) as source:
                conditions = (col("s").is_null(), col("n") > 1)
                queries = [IntegerQuery(source, OneRowEach(), where=w) for w in conditions]
                found.append([int(q.run([Rows()]).of(Rows())[0]) for q in queries])
        except DataSourceError as error:
            found.append("by its type" if "text within a struct" in str(error) else str(error))
    old = duckdb.__version__ < "2" and way in ("view", "relation") and kind != "list"
    assert found == ["by its type" if old else [0, 1]] * 2
