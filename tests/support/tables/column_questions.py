"""Questions of every column of a table, to be answered alike wherever its rows are."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tacit.expressions.expression import Expression, col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Bins, Cells, Distinct, Moments, People, Rows

NUMBERS = [0, 5, -1, 200, 0.5, 1 << 40]
EQUAL = [0, 200, 0.5]
DATES = ["0001-01-01", "1582-10-10", "1970-01-01", "2023-11-14", "9999-12-31"]
TEXTS = ["", "a", "é", "z" * 70]


def of_column(name: str, kind: str) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return questions of a column: how rows are chosen and grouped, and what is asked."""
    x = col(name)
    tests: list[Expression] = [x.is_null()]
    requests: list[Any] = [Rows(), Distinct(x)]
    keys: list[Any] = []
    if kind in ("integer", "float", "decimal"):
        tests += [t for n in NUMBERS for t in (x <= n, x > n)]
        tests += [t for n in EQUAL for t in (x == n, x != n)]
        tests += [x.is_in([0, 5]), x.is_in([1.0, -2.5]), x + 1 <= 2, abs(x) <= 5]
        for grid in (Grid.for_bounds(0, 5), Grid.for_bounds(-3, 1 << 33)):
            requests += [Moments(x, grid), Bins(x, grid, (0, 1, grid.cells))]
        requests += [Cells(x, Grid.for_bounds(0, 8, bits=4))]
        keys = [0, 1, 5] if kind == "integer" else []
    elif kind == "date":
        tests += [t for d in DATES for t in (x <= d, x > d)] + [x == d for d in DATES[1:3]]
        tests += [x.dt.year() == 1970, x.dt.year().is_null()]
        keys = DATES
    elif kind == "text":
        tests += [t for d in TEXTS for t in (x == d, x.str.starts_with(d))]
        tests += [x != d for d in TEXTS[1:3]]
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


BY_ROW, BY_PERSON = OneRowEach(), PersonUnit("p", rows=2)


def answers(
    source: Source,
    kinds: dict[str, str],
    units: Any = (BY_ROW, BY_PERSON),
    turn: int | None = None,
) -> dict[Any, Any]:
    """Ask every question of every column; of two tables in turn, 0 and 1, half of the conditions.

    Each of the two has both sides of every second number.
    """
    found = {}
    for unit in units:
        for name, kind in kinds.items():
            for number, (way, requests) in enumerate(of_column(name, kind)):
                condition = "where" in way
                if condition and isinstance(unit, PersonUnit):
                    continue
                if condition and turn is not None and number // 2 % 2 != turn:
                    continue
                query = IntegerQuery(source, unit, **way)
                answer = query.run(requests)
                where = (name, number, str(way), type(unit).__name__)
                found[where] = [plain(answer.of(r)) for r in requests]
                query.forget()
    return found


def in_duckdb(table: pa.Table) -> Source:
    """Open the rows as a table of DuckDB."""
    connection = duckdb.connect(config={"threads": 1})  # of few rows: two would only wait
    connection.register("given", table)
    connection.execute("create table data as select * from given")
    return open_source(connection, "data")


def count(source: Source, where: Expression) -> int:
    """Return the number of rows that satisfy a condition, before noise."""
    return int(IntegerQuery(source, OneRowEach(), where=where).run([Rows()]).of(Rows())[0])
