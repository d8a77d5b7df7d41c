"""Large expressions: written out once, answered on every engine, and refused beyond a size."""

from __future__ import annotations

import datetime
import math
import operator
from decimal import Decimal
from fractions import Fraction
from functools import reduce

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json, when
from tacit.expressions.functions import FUNCTIONS
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES
from tacit.tables.engines.spark import SPARK
from tacit.tables.privacy_unit import OneRowEach
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Moments, Rows

SCHEMA = Schema([Column("x", "float", "double"), Column("y", "decimal", "numeric")])
ROWS = [{"x": 1.5, "y": 3}, {"x": None, "y": 2}, {"x": -1.0, "y": -1}]
DEEPEST = {
    "sum": reduce(operator.add, [col("x")] * 51),
    "product": reduce(operator.mul, [col("x")] * 51),
    "quotient": reduce(operator.truediv, [col("x")] * 51),
    "conditions": reduce(operator.or_, [col("x") == i for i in range(50)]),
    "choices": reduce(lambda e, i: when(col("x") > i).then(e).otherwise(i), range(49), col("x")),
    "clamps": reduce(lambda e, i: e.clip(-i, i), range(1, 51), col("x")),
    "cuts": (reduce(operator.add, [col("x")] * 47) * 1).cut([-1000, 0, 1000]),
}


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda d: d.name)
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv, operator.add])
def test_an_operation_more_adds_as_much_text_as_the_one_before(dialect, operation):
    sizes = [
        len(reduce(operation, [col("x"), *[col("y")] * k]).sql(SCHEMA, dialect))
        for k in (10, 20, 40)
    ]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    assert sizes[2] < 100_000


# Spark is asked for deep ones among the expressions of hostile_tables: each takes it seconds
@pytest.mark.few(8)
@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize("shape", DEEPEST)
def test_what_is_not_refused_is_answered(engine, shape, request):
    asked = DEEPEST[shape]
    with ENGINES[engine](request)(ROWS, {"x": "double", "y": "decimal(9,2)"}) as source:
        if asked.kind(source.schema) == "float":
            wanted = Moments(asked, Grid.for_bounds(-200, 200))
            found = IntegerQuery(source, OneRowEach()).run([wanted]).of(wanted)[0][:2].tolist()
            present = sum(asked.evaluate(row) is not None for row in ROWS)
            assert found == [present, len(ROWS) - present]
        else:
            rule = asked if asked.kind(source.schema) == "boolean" else ~asked.is_null()
            found = IntegerQuery(source, OneRowEach(), where=rule).run([Rows()]).of(Rows()).tolist()
            assert found == [sum(rule.evaluate(row) for row in ROWS)]


@pytest.mark.parametrize("shape", ["sum", "conditions", "clamps"])
def test_one_operation_more_is_refused(shape):
    with pytest.raises(UsageError, match="nested at most 50 deep"):
        DEEPEST[shape].fill_null(0)
    with pytest.raises(UsageError, match="at most 50"):
        from_json(["abs", [DEEPEST[shape].to_json()], []])


@pytest.mark.full
def test_columns_that_double_are_refused_before_they_are_written_out():
    doubled = reduce(lambda e, _: e + e, range(9), col("x"))
    with pytest.raises(UsageError, match="at most 1000 operations"):
        doubled + doubled
    assert len(str(col("x").is_in(range(50_000)))) > 50_000  # values are no operations


@pytest.mark.parametrize("said", [{"float": "0x1p99999"}, {"float": "9" * 400}, {"date": 3}, {}])
def test_a_parameter_that_is_none_is_no_description(said):
    with pytest.raises(UsageError, match="not the description of an expression"):
        from_json(["literal", [], [said]])


# Dates and times: every day of some years by Python's calendar, and what has no time of day.


PARTS = ("year", "month", "day", "quarter", "ordinal_day", "weekday")
FIRST = [datetime.date(y, 1, 1) for y in (1, 4, 1900, 1969, 2000, 9996)]
DAYS = [day + datetime.timedelta(n) for day in FIRST for n in range(0, 1461, 7)]
DAYS += [datetime.date(y, 12, 31) for y in range(1, 10_000, 97)] + [datetime.date.max]


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_dates_are_those_of_the_calendar(engine, request):
    parts = [getattr(col("d").dt, part)() for part in PARTS]
    with ENGINES[engine](request)([{"d": d} for d in DAYS], {"d": "date"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in parts)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for day, values in zip(DAYS, found, strict=True):
        month = (day.month + 2) // 3
        expected = (day.year, day.month, day.day, month, int(day.strftime("%j")), day.isoweekday())
        assert tuple(values) == expected, day
    for name, low, high in (("weekday", 1, 7), ("day_of_year", 1, 366), ("quarter", 1, 4)):
        assert FUNCTIONS[name].range == (low, high)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cast_to_float_is_the_double_of_a_number_and_to_bool_the_truth_value(engine, request):
    rows = [{"n": n, "d": d, "b": b} for n, d, b in [(5, "0.1", True), (2**60 + 1, None, None)]]
    asked = [col("n").cast(float), col("d").cast(float), col("b").cast(bool)]
    types = {"n": "bigint", "d": "decimal(9,2)", "b": "boolean"}
    rows = [{**row, "d": row["d"] and Decimal(row["d"])} for row in rows]
    with ENGINES[engine](request)(rows, types) as source:
        assert [e.kind(source.schema) for e in asked] == ["float", "float", "boolean"]
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    assert sorted(map(tuple, found)) == [(5.0, 0.1, True), (float(2**60), None, None)]
    assert [tuple(e.evaluate(row) for e in asked) for row in rows] == sorted(map(tuple, found))


CSV = "at,day,n\n2024-12-31 18:30:05,2024-12-31,1\n2024-02-29T06:00,2024-02-29,2\nnone,x,3\n"


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.mark.few(2)
@pytest.mark.parametrize("types", [None, {"at": "timestamp", "day": "date"}])
def test_times_of_a_file_are_released_and_verified(visits, types):
    budget = tc.epsilon(1000)
    with tc.Session(visits, unit=tc.one_row_each, budget=budget, types=types) as session:
        asked = session.with_columns(hour=tc.col("at").dt.hour())
        asked = asked.filter(tc.col("day").dt.weekday() < 6, tc.col("hour") >= 6)
        answer = asked.group_by("hour", keys=[6, 18, 19]).agg(n=tc.count()).release(epsilon=900)
        assert answer.to_dict()["n"] == [1, 1, 0]
        report = answer.certificate.verify(session.ledger)
        assert report, report.failures
        since = tc.col("day").dt.days_until("2025-01-01")
        days = session.with_columns(days=since).filter(~since.is_null())
        answer = days.agg(days=tc.sum("days", 0, 400)).release(epsilon=90)
        assert abs(answer.value("days") - (1 + 307)) < 200


def test_what_has_no_time_of_day_is_refused(visits):
    types = {"at": "timestamp", "day": "date"}
    budget = tc.epsilon(1)
    with tc.Session(visits, unit=tc.one_row_each, budget=budget, types=types) as session:
        with pytest.raises(UsageError, match="'day' holds only dates"):
            session.with_columns(hour=tc.col("day").dt.hour())
        with pytest.raises(UsageError, match=r"needs a column of times; str\.to_datetime"):
            session.filter(tc.col("day").dt.month().dt.hour() == 3)
        chosen = when(col("n") == 1).then(col("at")).otherwise(None)
        with pytest.raises(UsageError, match="a date that was computed has no time of day"):
            session.filter(chosen.dt.minute() == 3)
        asked = session.with_columns(chosen=chosen).filter(tc.col("chosen").dt.minute() == 3)
        with pytest.raises(UsageError, match="a date that was computed has no time of day"):
            asked.agg(n=tc.count()).release(epsilon=1)
        assert session.history() == []
        alias = session.with_columns(then=tc.col("at")).filter(tc.col("then").dt.minute() == 30)
        alias.agg(n=tc.count()).preview(epsilon=1)


@pytest.mark.parametrize("value", [3, "soon", datetime.datetime(2024, 1, 1), None])
def test_an_end_that_is_no_date_is_refused(value):
    with pytest.raises(UsageError, match="neither a date such as"):
        col("day").dt.days_until(value)


# The public grid: as fine as it may be, monotone, near, and refused where sums cannot be held.


BOUNDS = st.tuples(
    st.fractions(-1000, 1000, max_denominator=97), st.fractions(-1000, 1000, max_denominator=97)
).filter(lambda ends: ends[0] < ends[1])


@given(BOUNDS, st.integers(1, 31), st.booleans())
def test_a_grid_has_as_many_cells_as_its_bits_allow_and_no_more(ends, bits, whole):
    grid = Grid.for_bounds(*ends, bits=bits, whole=whole)
    assert 1 <= grid.cells <= 1 << bits
    finer = Grid(grid.lower, grid.upper, grid.exponent + 1)
    full = max((ends[1] - ends[0]) / finer.step, finer.cells) > 1 << bits
    assert full or bits > 20 or (whole and grid.step == 1)  # doubles end the finest ones
    assert abs(grid.value(0) - ends[0]) <= grid.step / 2
    assert abs(grid.value(grid.cells) - ends[1]) <= grid.step / 2


@given(BOUNDS, st.lists(st.fractions(-2000, 2000, max_denominator=89), min_size=2, max_size=2))
def test_offsets_are_near_and_keep_the_order(ends, numbers):
    grid = Grid.for_bounds(*ends, bits=9)
    below, above = sorted(numbers)
    assert grid.offset(below) <= grid.offset(above)
    for x in numbers:
        held = min(max(x, ends[0]), ends[1])
        assert abs(grid.value(grid.offset(x)) - held) <= grid.step
        assert 0 <= grid.offset(x) <= grid.cells


def test_whole_numbers_between_whole_bounds_have_no_step_below_one():
    assert Grid.for_bounds(0, 5, whole=True).step == 1
    assert Grid.for_bounds(0, 1 << 40, whole=True).step == 1 << 9
    assert Grid.for_bounds(0, 5).step < Fraction(1, 1000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3), "must be below"),
        ((5, 3), "must be below"),
        ((0, 1, 0), "1 to 31 bits"),
        ((0, 1, 32), "1 to 31 bits"),
        ((0, Fraction(2) ** 501), "too far from zero"),
        ((Fraction(2) ** 450, Fraction(2) ** 450 + 1), "closer than doubles"),
        ((0, Fraction(1, 2**900)), "too close"),
        ((1 << 100, (1 << 100) + (1 << 31), 31, True), "shift the column"),
        (("low", 3), "lower bound"),
    ],
)
def test_what_cannot_be_held_is_refused_with_a_remedy(arguments, message):
    low, high, *more = arguments
    options = dict(zip(("bits", "whole"), more, strict=False))
    with pytest.raises(UsageError, match=message):
        Grid.for_bounds(low, high, **options)


GRIDS = [
    Grid.for_bounds(0, 100),
    Grid.for_bounds("-1/3", "7/2", bits=5),
    Grid.for_bounds(-(10**9), 10**12, bits=8),
    Grid.for_bounds(2, 9, whole=True),
    Grid.for_bounds(-70, 1 << 50, bits=6, whole=True),
]


@pytest.mark.few(5)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@examples(0.5)
@given(
    values=st.lists(
        st.floats(-(2.0**52), 2.0**52)
        | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308]),
        min_size=1,
        max_size=8,
    )
)
def test_the_sql_of_doubles_is_within_the_grid_and_near(grid, values):
    connection = duckdb.connect()
    connection.execute("create table t (i bigint, x double)")
    connection.executemany("insert into t values (?, ?)", list(enumerate(values)))
    kept, dropped = (grid.sql("x", "float", DUCKDB, clamp=clamp) for clamp in (True, False))
    rows = connection.execute(f"select {kept}, {dropped} from t order by i").fetchall()
    for x, (offset, inside) in zip(values, rows, strict=True):
        if math.isnan(x):
            assert (offset, inside) == (None, None)
            continue
        assert 0 <= offset <= grid.cells
        within = float(grid.lower) <= x <= float(grid.upper)
        assert inside == (offset if within else None)
        if within:
            assert abs(grid.value(offset) - Fraction(x)) <= grid.step
        else:
            assert offset == (0 if x < grid.lower else grid.cells)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_the_sql_of_whole_numbers_is_the_offset_of_python(grid):
    values = [None, 0, 1, -1, 5, 2**62, -(2**62), 2**63 - 1, -(2**63), 99, 10**12, 70]
    connection = duckdb.connect()
    connection.execute("create table t (i bigint, x bigint)")
    connection.executemany("insert into t values (?, ?)", list(enumerate(values)))
    found = connection.execute(f"select {grid.sql('x', 'integer', DUCKDB)} from t order by i")
    for x, (offset,) in zip(values, found.fetchall(), strict=True):
        assert offset == (None if x is None else grid.offset(x)), x


def test_booleans_are_zero_and_one_and_what_is_missing_stays_so():
    grid = Grid.for_bounds(0, 1, whole=True)
    asked = ", ".join(grid.sql(value, "boolean", DUCKDB) for value in ("true", "false", "null"))
    missing = grid.sql("x", "missing", DUCKDB)
    assert duckdb.execute(f"select {asked}, {missing}").fetchall() == [(1, 0, None, None)]


def test_a_grid_too_fine_for_doubles_of_its_size_is_refused():
    grid = Grid(Fraction(1 << 62), Fraction((1 << 62) + 8), 1)
    with pytest.raises(UsageError, match="finer than doubles"):
        grid.sql("x", "float", DUCKDB)
    assert grid.sql("x", "integer", DUCKDB)
