"""Nobody weighs more than declared where the rows are drawn anew each time that they are read.

One person has a thousand rows, of which every reading shows another draw: none, some or all of
them.  Whatever an engine reads, and how often, an answer counts the person with the rows of one
reading.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import WholeCells
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Cells, Moments, People, Rows, Total

GRID = Grid.for_bounds(0, 100, bits=8)
WIDE = Grid.for_bounds(0, 1 << 40, whole=True)
AGE = col("age")
UNIT = PersonUnit("person", rows=5, most_groups=2)
KEYS = ["a", "b", "c", "d"]
ASKED: dict[str, list[Any]] = {
    "rows": [Rows()],
    "moments": [Rows(), Moments(AGE, GRID, squares=True)],
    "total": [Total(AGE, GRID)],
    "wide total": [Total(AGE, WIDE)],
    "bins": [Bins(AGE, GRID, (0, 100, GRID.cells))],
    "cells": [Cells(AGE, GRID)],
    "whole rows": [WholeCells(AGE, GRID)],
    "bins of people": [WholeCells(AGE, GRID, parts=3, groups=2)],
    "people": [People()],
    "several": [Moments(AGE, GRID, squares=False), Cells(AGE, GRID), People()],
}
GROUPING: dict[str, Any] = {"by": {"place": col("place")}, "keys": KEYS}


def weight(request: Any, answer: Any) -> tuple[float, float]:
    """What one person added to an answer, and the most that is declared."""
    most = UNIT.rows * UNIT.one
    if isinstance(request, People):
        return sum(answer), UNIT.groups
    if isinstance(request, WholeCells):
        return sum(int(weights.sum()) for _, weights in answer), UNIT.rows
    if isinstance(request, Cells):
        return sum(int(weights.sum()) for _, weights in answer), most
    if isinstance(request, Total):
        return sum(abs(answer)), most * request.grid.last
    if isinstance(request, Moments):
        top = request.grid.cells
        present, missing, first, second = answer.T
        if not request.squares:
            return sum(present * top + missing * top), most * top
        sides = [present * top**2 - 2 * top * first + second, 2 * (top * first - second), second]
        assert all(value >= 0 for side in sides for value in side)
        return sum(map(sum, [*sides, missing * top**2])), most * top**2
    return answer.sum(), most


def hold(source: Source, times: int, names: Any = ASKED, ways: Any = (GROUPING, {})) -> None:
    """Ask everything so many times, and hold each answer to what a person may weigh."""
    for name in names:
        for grouping in ways:
            query = Query(source, UNIT, **grouping)
            for _ in range(times):
                found = query.run(ASKED[name])
                for request in ASKED[name]:
                    found_weight, most = weight(request, found.of(request))
                    assert 0 <= found_weight <= most, (name, request, found_weight / most)
            query.forget()
    for _ in range(times):
        query = Query(source, UNIT, by={"place": col("place")})
        people = query.people_by_key()
        assert set(people.values()) <= {1}
        assert len(people) <= UNIT.groups


def hold_values(source: Source) -> None:
    """A value that is drawn is one value: its square is that of what was added up."""
    moments = Moments(AGE, GRID, squares=True)
    for unit in (OneRowEach(), UNIT):
        for grouping in (GROUPING, {}):
            answer = Query(source, unit, **grouping).run([moments]).of(moments)
            present, missing, first, second = (sum(column) for column in answer.T)
            assert present + missing == unit.one
            assert first**2 == second * unit.one


def rows(series: str, chosen: str = "") -> str:
    """Rows of one person in four places, with values from 0 to 99, of which some are chosen."""
    place = "substr('abcd', cast(1 + i % 4 as int), 1)"
    return f"select 1 as person, {place} as place, 1.0 * (i % 100) as age from {series} {chosen}"


CHOICES = {
    "half of the rows": "where random() < 0.5",
    "all or nothing": "where (select random()) < 0.5",
    "a few": "where random() < 0.005",
}
VALUE = "select 1 as person, 'a' as place, random() * 100 as age"


@pytest.mark.few(6)
@pytest.mark.parametrize("chosen", [*CHOICES, "a sample", "a table function", "a base table"])
def test_duckdb(chosen: str) -> None:
    connection = duckdb.connect()
    series = "range(1000) as r(i)"
    view = rows(series, CHOICES.get(chosen, ""))
    if chosen == "a sample":
        view = f"select * from ({rows(series)}) using sample 5%"
    elif chosen == "a table function":
        connection.execute(f"create macro drawn() as table {rows(series, 'where random() < 0.5')}")
        view = "select * from drawn()"
    connection.execute(f"create view data as {view}")
    if chosen == "a base table":  # of which a column is reckoned as it is read
        connection.execute(
            "drop view data; create table data (i int, place varchar, age double, "
            "person bigint generated always as (case when random() < 0.5 then 1 end))"
        )
        connection.execute(f"insert into data select i, 'a', 50 from {series}")
    hold(open_source(connection, "data"), 10)


def test_values_of_duckdb_that_are_drawn() -> None:
    connection = duckdb.connect()
    connection.execute(f"create view data as {VALUE}")
    for _ in range(5):
        hold_values(open_source(connection, "data"))


@pytest.mark.full
def test_a_relation_of_duckdb_over_a_view_that_draws() -> None:
    relation = duckdb.connect().sql(rows("range(1000) as r(i)", "where random() < 0.5"))
    hold(open_source(relation), 3)


def test_postgres(postgres: Any) -> None:
    pytest.importorskip("psycopg")
    series = "generate_series(0, 999) as r(i)"
    postgres.run(f"create table kept as {rows(series)}")
    views = {name: rows(series, choice) for name, choice in CHOICES.items()}
    views["tablesample"] = "select * from kept tablesample bernoulli (50)"
    postgres.run(
        "create function drawn() returns setof kept language sql volatile "
        "as 'select * from public.kept where random() < 0.5'",
    )
    views["a function"] = "select * from drawn()"
    for number, view in enumerate(views.values()):
        postgres.run(f"create view v{number} as {view}")
        with open_source(postgres.dsn(), f"v{number}") as source:
            hold(source, 2)
    postgres.run(
        "alter table kept enable row level security",
        "alter table kept force row level security",
        "create policy drawn on kept for select using (random() < 0.5)",
        f"create view value as {VALUE}",
    )
    with open_source(postgres.dsn(), "kept") as source:
        hold(source, 2)
    with open_source(postgres.dsn(), "value") as source:
        hold_values(source)


def in_spark(session: Any, chosen: str) -> Any:
    """A DataFrame whose rows are drawn anew by each task that reads them."""
    frame = session.sql(rows("(select id as i from range(0, 1000, 1, 2))"))
    if chosen == "a partition of an RDD":

        def some(lines: Any) -> Any:
            import random

            keep = random.SystemRandom().random
            return (line for line in lines if keep() < 0.5)

        return session.createDataFrame(frame.rdd.mapPartitions(some), frame.schema)
    return frame.where(f"cast({chosen} as double) < 0.5")


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        ("a partition of an RDD", ["moments"]),
        ("rand()", ["total", "bins of people"]),
        ("reflect('java.lang.Math', 'random')", ["bins", "people"]),
    ],
)
def test_spark(chosen: str, asked: list[str], spark: Any) -> None:
    with open_source(in_spark(spark, chosen)) as source:
        hold(source, 1, asked, [GROUPING])


def test_values_of_spark_that_are_drawn(spark: Any) -> None:
    with open_source(spark.sql(VALUE)) as source:
        hold_values(source)


def test_columns_of_spark_that_are_named_like_draws_are_read(spark: Any) -> None:
    frame = spark.sql("select 1 as `rand(`, 2 as `x uuid() y`, 'a' as `rand(1)`")
    with open_source(frame) as source:
        query = Query(source, PersonUnit("rand(", rows=1), by={"g": col("rand(1)")}, keys=["a"])
        assert query.run([Rows()]).of(Rows()) == [UNIT.one]
