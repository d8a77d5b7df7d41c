"""People are bounded in the very rows that are added up, also where the table changes meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_beside, open_source
from tacit.tables.privacy_unit import PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.joins import Join, joined, of_people
from tacit.tables.query.requests import Bins, Cells, Moments, Rows, Total

GRID = Grid.for_bounds(0, 100, bits=8)
ASKED: dict[str, list[Any]] = {
    "rows": [Rows()],
    "moments": [Rows(), Moments(col("age"), GRID, squares=True)],
    "total": [Total(col("age"), GRID)],
    "bins": [Bins(col("age"), GRID, tuple(GRID.offset(e) for e in (0, 40, 100)))],
    "cells": [Cells(col("age"), GRID)],
    "moments and cells": [Moments(col("age"), GRID, squares=False), Cells(col("age"), GRID)],
}


def write(path: Path, rows: int) -> None:
    """Put a table in the place of the one that is there: so many rows of person 1."""
    new = path.with_suffix(".new")
    duckdb.sql(
        f"select 1::bigint as person, 'a' as place, 50.0 as age from range({rows})"
    ).write_parquet(str(new))
    os.replace(new, path)


def rows_counted(answer: Any) -> float:
    """The most rows that an answer says a group has."""
    if isinstance(answer, list):  # of cells and their weights
        return max(float(weights.sum()) for _, weights in answer)
    if answer.ndim == 2 and answer.shape[1] == 4:  # present, missing, sum, squares
        return float(max(p + m for p, m, _, _ in answer.tolist()))
    return float(max(int(row.sum()) for row in answer.reshape(len(answer), -1)))


@pytest.mark.few(4)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("others", [1, 1000])
def test_a_table_that_changes_while_it_is_asked_breaks_no_bound(
    tmp_path: Path, name: str, grouped: bool, others: int
) -> None:
    """Between any two statements of the plan a person's rows become one, or many."""
    path = tmp_path / "rows.parquet"

    def change(rows: int) -> None:
        write(path, rows)

    change(1001 - others)
    with open_source(str(path)) as source:
        assert asked_of(source, change, name, grouped, others)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("others", [1, 1000])
def test_joined_tables_that_change_while_they_are_asked_break_no_bound(
    tmp_path: Path, name: str, others: int
) -> None:
    """The same of a join, both of whose tables change: there are 1024 rows in it, or one."""
    visits, patients = tmp_path / "visits.parquet", tmp_path / "patients.parquet"

    def change(rows: int) -> None:
        each = 32 if rows > 1 else 1
        write(visits, each)
        write(patients, each)

    change(1001 - others)
    columns = (("theirs", "age", "float"),)
    join = Join("patients", "inner", (("person", "person"),), columns, most=32)
    with open_source(str(visits)) as base:
        other = open_beside(base, str(patients), {})
        source = joined(base, join, of_people(base, other, join))
        assert asked_of(source, change, name, False, others)


def asked_of(source: Source, change: Any, name: str, grouped: bool, others: int) -> int:
    """Ask a table that changes between any two statements, and return how many there were."""
    grouping: dict[str, Any] = {"by": {"place": col("place")}, "keys": ["a"]} if grouped else {}
    unit = PersonUnit("person", rows=5)
    statements = 0
    engine: Any = source.engine

    def changing(method: Any) -> Any:
        def asked(sql: str, *rest: Any) -> Any:
            nonlocal statements
            found = method(sql, *rest)
            if "person" in sql:
                statements += 1
                change(others if statements % 2 else 1001 - others)
            return found

        return asked

    query = Query(source, unit, **grouping)
    for method in ("rows", "integers", "materialise"):
        setattr(engine, method, changing(getattr(engine, method)))
    for _ in range(3):  # rows are kept for a question that is asked again
        found = query.run(ASKED[name])
        for request in ASKED[name]:
            most = unit.rows * (GRID.last if isinstance(request, Total) else 1) * unit.one
            assert 0 <= rows_counted(found.of(request)) <= most, request
    query.forget()
    return statements
