"""Every operation on the extremes of every type, on every engine: no error, and Python's value.

A value of the data may never make an engine raise, wrap around or answer NULL: that would tell it,
before anything is charged.  So each operation is asked of every pair of types, on rows in which the
extremes of each stand, and each sum's place on grids of all widths.
"""

from __future__ import annotations

import contextlib
import itertools
import math

import pytest

import tables_reference as reference
from engine_tables import ENGINES
from extreme_values import extremes, open_rows, rows_of
from number_operations import of_date, of_one, of_text, of_two
from tacit.errors import UsageError
from tacit.tables.expression import Expression, col
from tacit.tables.grid import Grid

ROWS = 18
"""As many as the type with the most extremes has."""
FAR = 2.0**501
BOUNDS = [
    (0, 100),
    (-1, "0.5"),
    (0, "1e-10"),
    ("1e-100", "2e-100"),
    (-(1 << 123), 1 << 124),
    ((1 << 63) - 9, (1 << 63) - 1),
    (0, 1 << 62),
    (1 << 100, 1 << 101),
    ("-1e150", "1e150"),
]


def interval(expression: Expression) -> tuple[float, float]:
    """What the pages of the operations say that a number may be at most."""
    name = expression.operation
    if name in ("+", "-"):
        return -FAR, FAR
    if name in ("*", "/"):
        return -(2.0**1000), 2.0**1000
    if name == "clamp":
        return expression.parameters
    ends = {"abs": (0, math.inf), "length": (0, 2**31), "year": (1, 9999), "month": (1, 12)}
    return ends.get(name, (-math.inf, math.inf))


def batches(listed):
    return [listed[i : i + 300] for i in range(0, len(listed), 300)]


def held(source, expressions, rows, names):
    """Ask for expressions row by row, and hold each against its value in Python."""
    for some in batches(expressions):
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in some)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
        for row, values in zip(rows, found, strict=True):
            told = dict(zip(names, (python for _, python in row), strict=True))
            for expression, value in zip(some, values, strict=True):
                expected = expression.evaluate(told)
                if isinstance(value, float) and isinstance(expected, int):
                    # beside a column of doubles, which is missing here: Python sees no type in it
                    expected = float(expected)
                assert value == expected, (str(expression), told)
                low, high = interval(expression)
                if isinstance(value, (int, float)):
                    assert low <= value <= high


def on_grids(source, rows, names):
    """Ask for the place of every number on every grid that can be, with and without clamping."""
    asked, schema = [], source.schema
    for (i, name), bounds in itertools.product(enumerate(names), BOUNDS):
        kind = col(name).kind(schema)
        if kind not in ("integer", "float", "boolean"):
            continue
        with contextlib.suppress(UsageError):
            grid = Grid.for_bounds(*bounds, whole=kind != "float")
            value = col(name).sql(schema, source.engine.dialect)
            for clamp, place in ((True, reference.offset), (False, reference.binned)):
                sql = grid.sql(value, kind, source.engine.dialect, clamp=clamp)
                asked.append((i, grid, sql, place))
    assert len(asked) > 100
    for some in batches(asked):
        sql = ", ".join(sql for _, _, sql, _ in some)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
        for row, values in zip(rows, found, strict=True):
            for (i, grid, _, place), value in zip(some, values, strict=True):
                assert value is None or 0 <= value <= grid.cells
                assert value == place(row[i][1], grid), (names[i], row[i], grid)


@pytest.mark.parametrize(("engine", "ansi"), [*((e, True) for e in ENGINES), ("spark", False)])
def test_every_operation_holds_on_the_extremes_of_every_type(engine, ansi, request):
    types = extremes(engine)
    names = [f"c{i}" for i in range(len(types))]
    rows = rows_of(types, ROWS, seed=3 + ansi)
    if engine == "spark":
        request.getfixturevalue("spark").conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        with open_rows(engine, request, list(types), rows) as source:
            kinds = {name: col(name).kind(source.schema) for name in names}
            numbers = [col(n) for n, k in kinds.items() if k in ("integer", "float")]
            near = 7 if engine == "duckdb" else 3
            pairs = [(x, y) for i, x in enumerate(numbers) for y in numbers[i : i + near]]
            asked = [e for x in numbers for e in of_one(x)]
            asked += [e for pair in pairs for e in of_two(*pair)]
            asked += [e for n, k in kinds.items() if k == "text" for e in of_text(col(n))]
            asked += [e for n, k in kinds.items() if k == "date" for e in of_date(col(n))]
            held(source, asked, rows, names)
            on_grids(source, rows, names)
    finally:
        if engine == "spark":
            request.getfixturevalue("spark").conf.unset("spark.sql.ansi.enabled")
