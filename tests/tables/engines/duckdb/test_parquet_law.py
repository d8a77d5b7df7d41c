"""No statistic, dictionary, filter or order of a file changes what a row contributes.

Random tables are written as Parquet by several writers.  The integers before noise equal those of
the same rows in a table of DuckDB, and the file of a neighbour is answered as well.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from support.tables.parquet_writers import FAR, VALUES, WRITERS, random_table
from tacit.expressions.expression import Expression, col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Cells, Distinct, Moments, People, Rows
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

NUMBERS = [0, 1, 5, -1, 200, 0.5, 1 << 40]
DATES = ["0001-01-01", "1582-10-10", "1970-01-01", "2023-11-14", "9999-12-31"]
TEXTS = ["", "a", "é", "z" * 70]


@pytest.fixture(autouse=True)
def _one_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.tables.spec.privacy_unit.new_salt", lambda: "5a17")


def of_column(name: str, kind: str) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return questions of a column: how rows are chosen and grouped, and what is asked."""
    x = col(name)
    tests: list[Expression] = [x.is_null()]
    requests: list[Any] = [Rows(), Distinct(x)]
    keys: list[Any] = []
    if kind in ("integer", "float", "decimal"):
        tests += [t for n in NUMBERS for t in (x <= n, x > n, x == n, x != n)]
        tests += [x.is_in([0, 5]), x.is_in([1.0, -2.5]), x + 1 <= 2, abs(x) <= 5]
        for grid in (Grid.for_bounds(0, 5), Grid.for_bounds(-3, 1 << 33)):
            requests += [Moments(x, grid), Bins(x, grid, (0, 1, grid.cells))]
        requests += [Cells(x, Grid.for_bounds(0, 8, bits=4))]
        keys = [0, 1, 5] if kind == "integer" else []
    elif kind == "date":
        tests += [t for d in DATES for t in (x <= d, x > d, x == d)]
        tests += [x.year() == 1970, x.year().is_null()]
        keys = DATES
    elif kind == "text":
        tests += [t for d in TEXTS for t in (x == d, x != d, x.starts_with(d))]
        tests += [x.is_in(["a", "é", "b"])]
        keys = TEXTS
    else:
        tests += [x, x == True, x != True]  # noqa: E712
        keys = [True, False]
    asked: list[tuple[dict[str, Any], list[Any]]] = [({}, requests)]
    asked += [({"where": test}, [Rows()]) for test in tests]
    if keys:
        asked.append(({"by": {"k": x}, "keys": keys}, [Rows(), People()]))
    return asked


def plain(answer: Any) -> Any:
    """Return an answer as lists."""
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    return [plain(part) for part in answer] if isinstance(answer, (list, tuple)) else answer


def answers(source: Source, kinds: dict[str, str]) -> dict[Any, Any]:
    """Ask every question of every column."""
    found = {}
    for unit in (OneRowEach(), PersonUnit("p", rows=2)):
        for name, kind in kinds.items():
            for number, (way, requests) in enumerate(of_column(name, kind)):
                if number and "where" in way and isinstance(unit, PersonUnit):
                    continue
                query = Query(source, unit, **way)
                answer = query.run(requests)
                where = (name, number, str(way), type(unit).__name__)
                found[where] = [plain(answer.of(r)) for r in requests]
                query.forget()
    return found


def in_duckdb(table: pa.Table) -> Source:
    """Open the rows as a table of DuckDB."""
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("create table data as select * from given")
    return open_source(connection, "data")


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
                found = answers(source, kinds)
            wrong = [w for w in expected if expected[w] != found[w]]
            assert not wrong, (writer, seed, way, [(w, expected[w], found[w]) for w in wrong[:3]])


def chosen(names: list[str]) -> dict[str, Any]:
    known = {**VALUES, **FAR}
    return {name: known[name] for name in names}


@pytest.mark.parametrize("writer", ["pyarrow", "polars", "duckdb"])
@pytest.mark.parametrize("way", WAYS)
def test_a_row_counts_for_what_it_is_whatever_the_footer_says(tmp_path, writer, way):
    hold(writer, 1, tmp_path, chosen(["double", "float", "text"]), [way])


@pytest.mark.full
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("seed", range(4))
def test_every_type_is_read_alike(tmp_path, writer, seed):
    hold(writer, seed, tmp_path, chosen(list(VALUES)))


@pytest.mark.parametrize("writer", ["pyarrow", "polars"])
def test_a_far_time_is_one_cell_and_no_failure(tmp_path, writer):
    hold(writer, 0, tmp_path, chosen(["int8", "far", "far_zoned"]), ["file", "folder"])
