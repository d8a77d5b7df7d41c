"""The engine against the definition in pure Python, bit by bit, on hostile tables."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tables_reference as reference
from engine_tables import ENGINES
from tacit.tables.contributions import OneRowEach, PersonUnit
from tacit.tables.expression import col, when
from tacit.tables.grid import Grid
from tacit.tables.query import Query
from tacit.tables.requests import Bins, Cells, Moments, People, Rows, Total

COLUMNS = {
    "person id": "bigint",
    'na"me': "varchar",
    "group": "varchar",
    "year": "smallint",
    "select": "double",
    "huge": "hugeint",
    "long": "bigint",
    "cents": "decimal(18,3)",
    "flag": "boolean",
    "day": "date",
}
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
UNITS = [
    OneRowEach(),
    PersonUnit("person id", rows=1),
    PersonUnit("person id", rows=3, most_groups=2),
]


SALT = "5a17"
LIGHT = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(params=ENGINES)
def load(request, monkeypatch):
    """Return the way to put rows into a table of an engine and open it, ``load(rows, types)``."""
    monkeypatch.setattr("tacit.tables.contributions.new_salt", lambda: SALT)
    return ENGINES[request.param](request)


def requests() -> list[Any]:
    derived = when(col("flag")).then(col("select") * col("cents")).otherwise(col("year") / 3)
    grid, inner = Grid.for_bounds(0, 100), Grid.for_bounds(20, 50)
    return [
        Rows(),
        People(),
        Moments(col("select"), grid),
        Moments(col("select"), grid, squares=False),
        Moments(col("flag"), Grid.for_bounds(0, 2), squares=False),
        Moments(col("select"), Grid.for_bounds("-0.1", "0.3", bits=9)),
        Moments(col("huge"), Grid.for_bounds(-(1 << 120), 1 << 121, whole=True)),
        Moments(col("long"), Grid.for_bounds(-(1 << 62), (1 << 62) + 7, whole=True)),
        Moments(col("long"), Grid.for_bounds((1 << 62) - 5, (1 << 62) + 5, whole=True)),
        Moments(col("year"), Grid.for_bounds("-1.25", "2.5", whole=True)),
        Moments(col("cents"), Grid.for_bounds(-1000, "1e6")),
        Moments(col("cents"), Grid.for_bounds(-(10**13), 10**13, bits=12)),
        Moments(col("flag"), Grid.for_bounds(0, 1, whole=True)),
        Moments(derived, Grid.for_bounds(-5, 5)),
        Total(col("select"), Grid.for_bounds(-50, 100)),
        Total(col("long"), Grid.for_bounds(0, 1 << 62, whole=True)),
        Bins(col("select"), grid, tuple(grid.offset(e) for e in (0, "0.5", 10, 50, 100))),
        Bins(col("select"), inner, tuple(inner.offset(e) for e in (20, 30, 40, 50))),
        Bins(derived, inner, (0, inner.cells // 3, inner.cells)),
        Bins(col("year"), Grid.for_bounds(-2, 2, whole=True), (0, 1, 2, 4)),
        Cells(col("select"), Grid.for_bounds(0, 100, bits=16), shift=3),
    ]


def compare(rows: list[dict[str, Any]], source: Any, query: dict[str, Any]) -> None:
    keys = query["keys"] if query["by"] else None
    asked = Query(source, query["unit"], where=query["where"], by=query["by"], keys=keys)
    query = {**query, "salt": SALT}
    expected = {r: reference.answer(rows, query, r) for r in requests()}
    # one at a time takes another way through the engine than all at once; then all are asked again
    for some in [[r] for r in requests()[:13]] + [requests(), requests()]:
        exact = asked.run(some)
        for request in some:
            assert reference.plain(exact.of(request)) == expected[request], request


@LIGHT
@given(rows_strategy, st.sampled_from(UNITS), st.booleans())
def test_the_engine_agrees_with_the_definition(load, rows, unit, grouped):
    where = (col("select") < 1e200) | ~(col("group") == "other") & (col("long") != 3)
    by = {"group": col("group"), "y": col("year")} if grouped else {}
    keys = [("Ünï", 1), (None, None), ("", 0), ("x'y", -1), ("nobody", 9)] if grouped else [()]
    with load(rows, COLUMNS) as source:
        compare(rows, source, {"unit": unit, "where": where, "by": by, "keys": keys})


EXPRESSIONS = [
    col("select") > 0.5,
    col("select") != col("year"),
    col("long") >= (1 << 62),
    col("long") == col("year"),
    col("huge") <= col("long"),
    col("cents") < col("select"),
    col("year").is_in([1, 2, -3]),
    col("select").is_in([0, 2.5]),
    col("group").is_in(["", "x'y"]),
    ~(col("group") == col('na"me')),
    col("flag") & ~col("flag").is_null() | (col("year") == 0),
    col("day") >= "2000-01-01",
    col("day").between(datetime.date(1, 1, 1), "1999-12-31"),
    col("day").year() < 1500,
    (col("day").month() + 1) * col("year"),
    col("select") * col("select") - col("long") / col("year"),
    1 / (col("select") - 0.5),
    (col("huge") + 1).clamp(-3, 3),
    col("select").clamp("-0.1", 1e10),
    col("select").cut([0, "0.5", 100], ["low'", "high"]),
    col("cents").cut([-5, 0, 5]),
    col('na"me').lower() == "a'b",
    col('na"me').length() > 1,
    col('na"me').starts_with("a'"),
    when(col("flag")).then(col("year")).otherwise(col("select")),
    when(col("year") > 0).then("plus").otherwise(None),
    when(col("year") > 0).then(col("long")).otherwise(7),
    col("select").fill(3),
    col("year").fill(0) > -1,
    col("group").fill("none"),
    col("flag") == True,  # noqa: E712
]


@LIGHT
@given(rows_strategy)
def test_every_expression_is_the_same_in_sql_and_in_python(load, rows):
    with load(rows, COLUMNS) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in EXPRESSIONS)
        found = source.engine.rows(f"select {sql} from {source.relation} as t")
        for row, values in zip(rows, found, strict=True):
            for expression, value in zip(EXPRESSIONS, values, strict=True):
                expected = expression.evaluate(row)
                assert (value is None) == (expected is None), (str(expression), row)
                assert value == expected, (str(expression), row, value, expected)


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
