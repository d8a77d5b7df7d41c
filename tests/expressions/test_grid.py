"""Doubles fall on the same points of a grid, by whichever SQL they are put there."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.tables.engines.duckdb.engine import DUCKDB

BOUNDS = st.one_of(
    st.integers(-1000, 1000),
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e140, max_value=1e140),
    st.fractions(-1000, 1000),
)
ODD = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, -0.5]


def offset(grid: Grid, x: float | None, *, clamp: bool) -> int | None:
    """The offset in Python, clipped as an integer at the end."""
    if x is None or math.isnan(x):
        return None
    low, high = float(grid.lower), float(grid.upper)
    if x > high or x < low:
        return (grid.cells if x > high else 0) if clamp else None
    scale = 2.0**grid.exponent
    point = x * scale + 0.5 if grid.exponent >= 0 else (x + 0.5 / scale) * scale
    return min(max(math.floor(point), grid.first), grid.last) - grid.first


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def near(bound: float) -> list[float]:
    return [bound, math.nextafter(bound, math.inf), math.nextafter(bound, -math.inf)]


def check(grid: Grid, cells: list[float | None]) -> None:
    table = pa.table({"x": pa.array(cells, pa.float64())})
    connection().register("cells", table)
    for clamp in (True, False):
        sql = grid.sql("x", "float", DUCKDB, clamp=clamp)
        found = [row[0] for row in connection().execute(f"select {sql} from cells").fetchall()]
        assert found == [offset(grid, x, clamp=clamp) for x in cells]
        assert all(z is None or 0 <= z <= grid.cells for z in found)


@examples(0.1)
@given(
    ends=st.tuples(BOUNDS, BOUNDS),
    bits=st.integers(1, 31),
    finer=st.sampled_from([0, 0, 0, 5, 20, 30]),  # beyond what doubles hold, too
    drawn=st.lists(st.one_of(st.none(), st.floats()), max_size=20),
    shares=st.lists(st.floats(0, 1), max_size=20),
)
def test_a_double_falls_on_the_point_of_its_definition(ends, bits, finer, drawn, shares):
    try:
        grid = Grid.for_bounds(min(ends), max(ends), bits=bits)
        grid = Grid(grid.lower, grid.upper, grid.exponent + finer)
        grid.sql("x", "float", DUCKDB)
    except UsageError:
        return
    low, high = float(grid.lower), float(grid.upper)
    halves = [float((grid.first + k + Fraction(1, 2)) * grid.step) for k in (0, 1, grid.cells - 1)]
    cells = [*ODD, *drawn, *near(low), *near(high), *halves]
    cells += [low + share * (high - low) for share in shares]
    check(grid, cells)


def test_bounds_that_are_rounded_are_clipped_as_integers():
    """A bound between two doubles may fall beyond the end, which the SQL then has to hold."""
    far = Grid(Fraction(0), Fraction((1 << 53) + 1), 0)
    assert "greatest" in far.sql("x", "float", DUCKDB)
    check(far, [*ODD, *near(0.0), *near(2.0**53)])
    assert "greatest" not in Grid.for_bounds(0, 100).sql("x", "float", DUCKDB)
