"""The engine against the definition in pure Python, bit by bit, on hostile tables."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from support.examples import examples
from support.tables.engine_tables import ENGINES
from support.tables.hostile_tables import (
    BY,
    COLUMNS,
    KEYS,
    SALT,
    UNITS,
    WHERE,
    compare,
    compare_expressions,
)
from tacit.expressions.expression import col
from tacit.expressions.grid import Grid
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import Bins, Moments, People, Rows, Total

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
def load(request, monkeypatch):
    """Return the way to put rows into a table of an engine and open it, ``load(rows, types)``.

    Spark is asked about fewer tables, each of them large, in ``test_spark_reference.py``.
    """
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    return ENGINES[request.param](request)


@LIGHT
@given(rows_strategy, st.sampled_from(UNITS), st.booleans())
def test_the_engine_agrees_with_the_definition(load, rows, unit, grouped):
    by, keys = (BY, KEYS) if grouped else ({}, [()])
    with load(rows, COLUMNS) as source:
        compare(rows, source, {"unit": unit, "where": WHERE, "by": by, "keys": keys})


@LIGHT
@given(rows_strategy)
def test_every_expression_is_the_same_in_sql_and_in_python(load, rows):
    with load(rows, COLUMNS) as source:
        compare_expressions(rows, source)


@pytest.mark.few(3)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_rows_at_all(load, unit):
    with load([], COLUMNS) as source:
        by = {"group": col("group")}
        compare([], source, {"unit": unit, "where": None, "by": by, "keys": [("a",), ("b",)]})


@LIGHT
@given(rows_strategy, st.integers(0, 4), st.sampled_from(UNITS[1:]))
def test_one_person_moves_nobody_else_and_at_most_their_limit(load, rows, person, unit):
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
        with load(table, COLUMNS) as source:
            answers.append(Query(source, unit, by=by, keys=keys).run(asked))
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
def test_people_told_apart_by_doubles_are_drawn_alike(load, rows):
    """One row of each double would never be drawn from: each is in several groups."""
    crowd = [{**row, "year": year} for row in rows for year in (-1, 0, 1, 2)]
    unit = PersonUnit("select", rows=9, most_groups=2)
    by, keys = {"y": col("year")}, [(-1,), (0,), (1,), (2,)]
    query = {"unit": unit, "where": None, "by": by, "keys": keys}
    with load(crowd, COLUMNS) as source:
        compare(crowd, source, query, [[People(), Rows()]])


def test_decimals_with_large_whole_parts_are_exact(load):
    rows = [{"d": Decimal("99999999999999999999999999.123")}, {"d": Decimal("7.5")}, {"d": None}]
    with load(rows, {"d": "decimal(38,3)"}) as source:
        grid = Grid.for_bounds(0, 10)
        found = Query(source, OneRowEach()).run([Moments(col("d"), grid)])
        assert list(found.of(Moments(col("d"), grid))[0][:3]) == [
            2,
            1,
            grid.cells + grid.offset("7.5"),
        ]
