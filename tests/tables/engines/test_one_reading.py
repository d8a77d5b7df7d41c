"""Nobody weighs more than declared where the rows are drawn anew each time that they are read.

One person has a thousand rows, of which every reading shows another draw: none, some or all of
them.  Whatever an engine reads, and how often, an answer counts the person with the rows of one
reading."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables.engine_tables import ENGINES
from support.tables.hostile_tables import BY, COLUMNS, UNITS, WHERE, compare, compare_expressions
from support.tables.hostile_tables import KEYS as ENGINE_REFERENCE_KEYS
from support.tables.hostile_tables import SALT as ENGINE_REFERENCE_SALT
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.open_source import Source, open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.contribution_bounding import RowCells
from tacit.tables.query.integer_query import IntegerQuery
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
    "whole rows": [RowCells(AGE, GRID)],
    "bins of people": [RowCells(AGE, GRID, parts=3, groups=2)],
    "people": [People()],
    "several": [Moments(AGE, GRID, squares=False), Cells(AGE, GRID), People()],
}
GROUPING: dict[str, Any] = {"by": {"place": col("place")}, "keys": KEYS}


def weight(request: Any, answer: Any) -> tuple[float, float]:
    """What one person added to an answer, and the most that is declared."""
    most = UNIT.rows * UNIT.one
    if isinstance(request, People):
        return sum(answer), UNIT.groups
    if isinstance(request, RowCells):
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
            query = IntegerQuery(source, UNIT, **grouping)
            for _ in range(times):
                found = query.run(ASKED[name])
                for request in ASKED[name]:
                    found_weight, most = weight(request, found.of(request))
                    assert 0 <= found_weight <= most, (name, request, found_weight / most)
            query.forget()
    for _ in range(times):
        query = IntegerQuery(source, UNIT, by={"place": col("place")})
        people = query.people_by_key()
        assert set(people.values()) <= {1}
        assert len(people) <= UNIT.groups


def hold_values(source: Source) -> None:
    """A value that is drawn is one value: its square is that of what was added up."""
    moments = Moments(AGE, GRID, squares=True)
    for unit in (OneRowEach(), UNIT):
        for grouping in (GROUPING, {}):
            answer = IntegerQuery(source, unit, **grouping).run([moments]).of(moments)
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
    hold(open_source(connection, "data"), 3)


def test_values_of_duckdb_that_are_drawn() -> None:
    connection = duckdb.connect()
    connection.execute(f"create view data as {VALUE}")
    hold_values(open_source(connection, "data"))


@pytest.mark.full
def test_a_relation_of_duckdb_over_a_view_that_draws() -> None:
    connection = duckdb.connect()  # a relation of DuckDB 1.4 does not keep it open
    relation = connection.sql(rows("range(1000) as r(i)", "where random() < 0.5"))
    hold(open_source(relation), 1)


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
        query = IntegerQuery(
            source, PersonUnit("rand(", rows=1), by={"g": col("rand(1)")}, keys=["a"]
        )
        assert query.run([Rows()]).of(Rows()) == [UNIT.one]


# Whole rows and bins of people are the same on every engine, and as the definition has them.


SALT = "5a17" * 8
TYPES = {"person": "varchar", "g": "varchar", "x": "double"}
METHOD_KEYS = [("a",), ("b",), (None,)]
METHOD_GRID = Grid.for_bounds(0, 8, bits=6)
BINS = 3


@pytest.fixture(params=list(ENGINES))
def load(request, monkeypatch):
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    return ENGINES[request.param](request)


def drawn(seed):
    source = random.Random(seed)
    people = ["p1", "é'", "", "P1", "p1 ", None]
    return [
        {
            "person": source.choice(people),
            "g": source.choice(["a", "b", "c", None]),
            "x": source.choice([0.0, 1.5, 3.25, 99.0, -1.0, float("nan"), None]),
        }
        for _ in range(80)
    ]


def digest(*values):
    tagged = ["n" if v is None else f"v{v}" for v in values]
    return hashlib.md5("/".join([SALT, *tagged]).encode()).hexdigest()


def offset(x):
    if x is None or x != x:
        return None
    return METHOD_GRID.offset(min(max(x, 0.0), 8.0))


def expected(rows, unit, bins, groups):
    """The counts of each cell in each bin of each key, from the definition."""
    own = defaultdict(list)
    for row in rows:
        if row["person"] is not None and (row["g"],) in METHOD_KEYS:
            own[row["person"]].append((METHOD_KEYS.index((row["g"],)), offset(row["x"])))
    found = [Counter() for _ in range(len(METHOD_KEYS) * bins)]
    for person, mine in own.items():
        codes = sorted({code for code, _ in mine}, key=lambda c, p=person: digest(p, c))
        kept = codes if groups is None else codes[:groups]
        whole = [(code, z) for code, z in mine if z is not None and code in kept]
        whole.sort(key=lambda row, p=person: digest(p, *row))
        mark = sum(int(digit, 16) * 16**i for i, digit in enumerate(digest(person)[:7])) % bins
        for code, z in whole[: unit.rows]:
            found[code * bins + (mark if bins > 1 else 0)][z] += 1
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("rows", "bins", "groups"), [(1, 1, None), (4, 1, None), (3, BINS, 2), (30, BINS, 1)]
)
def test_the_engine_agrees_with_the_definition(load, rows, bins, groups):
    unit = tc.unit("person", rows=rows)
    for seed in range(2):
        table = drawn(f"{rows} {bins} {seed}")
        with load(table, TYPES) as source:
            query = IntegerQuery(source, unit, by={"g": col("g")}, keys=METHOD_KEYS)
            request = RowCells(col("x"), METHOD_GRID, parts=bins, groups=groups)
            found = query.run([request]).of(request)
        counted = [
            Counter(dict(zip(cells.tolist(), counts.tolist(), strict=True)))
            for cells, counts in found
        ]
        assert counted == expected(table, unit, bins, groups)
        assert all(np.all(np.diff(cells) > 0) for cells, _ in found)


# The engine against the definition in pure Python, bit by bit, on hostile tables.


floats = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e300, -1e300, 5e-324, 0.5, 2.5, 99.99999999, 100.0]),
    st.floats(-10, 110),
)
rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "person id": st.one_of(st.none(), st.integers(0, 4)),
            'na"me': st.one_of(st.none(), st.sampled_from(["", "a'b", 'c"d', "é€", "日本"])),
            "group": st.sampled_from([None, "", "Ünï", "x'y", "other"]),
            "year": st.one_of(st.none(), st.integers(-3, 3)),
            "select": st.one_of(st.none(), floats),
            "huge": st.one_of(st.none(), st.integers(-(1 << 125), 1 << 125)),
            "long": st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.just(1 << 62)),
            "cents": st.one_of(st.none(), st.decimals(-(10**14), 10**14, places=3)),
            "flag": st.one_of(st.none(), st.booleans()),
            "day": st.one_of(st.none(), st.dates()),
        }
    ),
    max_size=25,
)
LIGHT = examples(
    0.25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=[name for name in ENGINES if name != "spark"])
def engine_reference_load(request, monkeypatch):
    """Return the way to put rows into a table of an engine and open it, ``load(rows, types)``.

    Spark is asked about fewer tables, each of them large, in ``test_spark.py``.
    """
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: ENGINE_REFERENCE_SALT)
    return ENGINES[request.param](request)


@LIGHT
@given(rows_strategy, st.sampled_from(UNITS), st.booleans())
def test_engine_reference_the_engine_agrees_with_the_definition(
    engine_reference_load, rows, unit, grouped
):
    by, keys = (BY, ENGINE_REFERENCE_KEYS) if grouped else ({}, [()])
    with engine_reference_load(rows, COLUMNS) as source:
        compare(rows, source, {"unit": unit, "where": WHERE, "by": by, "keys": keys})


@LIGHT
@given(rows_strategy)
def test_every_expression_is_the_same_in_sql_and_in_python(engine_reference_load, rows):
    with engine_reference_load(rows, COLUMNS) as source:
        compare_expressions(rows, source)


@pytest.mark.few(3)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_rows_at_all(engine_reference_load, unit):
    with engine_reference_load([], COLUMNS) as source:
        by = {"group": col("group")}
        compare([], source, {"unit": unit, "where": None, "by": by, "keys": [("a",), ("b",)]})


@LIGHT
@given(rows_strategy, st.integers(0, 4), st.sampled_from(UNITS[1:]))
def test_one_person_moves_nobody_else_and_at_most_their_limit(
    engine_reference_load, rows, person, unit
):
    """The theorem of the weights, on answers: the difference is that person's own, and bounded."""
    grid = Grid.for_bounds(0, 100)
    total = Total(col("select"), Grid.for_bounds(-50, 100))
    bins = Bins(col("select"), grid, (0, 5, grid.cells))
    asked = [Rows(), Moments(col("select"), grid), total, bins, People()]
    by, keys = {"group": col("group")}, ["", "Ünï", "x'y", "other", None]
    other = [r for r in rows if r["person id"] != person]
    own = [r for r in rows if r["person id"] == person]
    answers = []
    for table in (rows, other, own):
        with engine_reference_load(table, COLUMNS) as source:
            answers.append(IntegerQuery(source, unit, by=by, keys=keys).run(asked))
    both, without, alone = answers
    limit = unit.rows * unit.one
    for request in asked[:4]:
        assert (both.of(request) == without.of(request) + alone.of(request)).all()
    assert abs(alone.of(asked[0])).sum() <= limit
    assert abs(alone.of(bins)).sum() <= limit
    present, _, low, _ = alone.of(asked[1]).T
    assert (low + (present * grid.cells - low)).sum() <= limit * grid.cells
    assert abs(alone.of(total)).sum() <= limit * max(abs(total.grid.first), total.grid.last)
    assert alone.of(asked[4]).sum() <= unit.groups


@LIGHT
@given(rows_strategy)
def test_people_told_apart_by_doubles_are_drawn_alike(engine_reference_load, rows):
    """One row of each double would never be drawn from: each is in several groups."""
    crowd = [{**row, "year": year} for row in rows for year in (-1, 0, 1, 2)]
    unit = PersonUnit("select", rows=9, most_groups=2)
    by, keys = {"y": col("year")}, [(-1,), (0,), (1,), (2,)]
    query = {"unit": unit, "where": None, "by": by, "keys": keys}
    with engine_reference_load(crowd, COLUMNS) as source:
        compare(crowd, source, query, [[People(), Rows()]])


def test_decimals_with_large_whole_parts_are_exact(engine_reference_load):
    rows = [{"d": Decimal("99999999999999999999999999.123")}, {"d": Decimal("7.5")}, {"d": None}]
    with engine_reference_load(rows, {"d": "decimal(38,3)"}) as source:
        grid = Grid.for_bounds(0, 10)
        found = IntegerQuery(source, OneRowEach()).run([Moments(col("d"), grid)])
        assert list(found.of(Moments(col("d"), grid))[0][:3]) == [
            2,
            1,
            grid.cells + grid.offset("7.5"),
        ]
