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
    check_where(grid, "float", cells, [offset(grid, x, clamp=True) for x in cells], clamp=True)
    check_where(grid, "float", cells, [offset(grid, x, clamp=False) for x in cells], clamp=False)
    for clamp in (True, False):
        sql = grid.sql("x", "float", DUCKDB, clamp=clamp)
        found = [row[0] for row in connection().execute(f"select {sql} from cells").fetchall()]
        assert found == [offset(grid, x, clamp=clamp) for x in cells]
        assert all(z is None or 0 <= z <= grid.cells for z in found)


def check_where(grid, kind, cells, offsets, *, clamp: bool) -> None:
    """The rows that pass are those with an offset; no row fails, whether it passes or not."""
    for cut in (0, 1, grid.cells.bit_length() // 2, (grid.first & -grid.first).bit_length()):
        where = grid.sql_where("x", kind, DUCKDB, clamp=clamp, cut=cut)
        if where is None:
            continue
        rows = connection().execute(f"select {where[0]}, {where[1]} from cells").fetchall()
        assert len(rows) == len(cells)
        found = [row[1] if row[0] else None for row in rows]
        assert found == [None if z is None else z >> cut for z in offsets]


def test_an_integer_passes_where_it_has_an_offset():
    far = (1 << 63) - 1
    cells = [None, *range(-9, 30), far, -far - 1]
    connection().register("cells", pa.table({"x": pa.array(cells, pa.int64())}))
    for low, high, bits in [(0, 20, 31), (3, 17, 2), (-8, 8, 31), ("1/3", "25/2", 31), (-5, 9, 1)]:
        grid = Grid.for_bounds(Fraction(low), Fraction(high), bits=bits, whole=True)
        for clamp in (True, False):
            sql = grid.sql("x", "integer", DUCKDB, clamp=clamp)
            offsets = [z for (z,) in connection().execute(f"select {sql} from cells").fetchall()]
            check_where(grid, "integer", cells, offsets, clamp=clamp)


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
    assert far.sql_where("x", "float", DUCKDB) is None
    check(far, [*ODD, *near(0.0), *near(2.0**53)])
    assert "greatest" not in Grid.for_bounds(0, 100).sql("x", "float", DUCKDB)
