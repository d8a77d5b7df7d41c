"""The public grid: as fine as it may be, monotone, near, and refused where sums cannot be held."""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.engines.duckdb.engine import DUCKDB

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
