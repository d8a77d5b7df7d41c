"""Every operation on the extremes of every type, on every engine: no error, and Python's value.

A value of the data may never make an engine raise, wrap around or answer NULL: that would tell it,
before anything is charged.  So each operation is asked of every pair of types, on rows in which the
extremes of each stand, and each sum's place on grids of all widths.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import math

import pytest

from support.tables import tables_reference as reference
from support.tables.engine_tables import ENGINES
from support.tables.extreme_values import extremes, open_rows, rows_of
from support.tables.number_operations import (
    of_date,
    of_one,
    of_text,
    of_time,
    of_two,
    of_whole,
)
from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col
from tacit.expressions.functions import FUNCTIONS
from tacit.expressions.grid import Grid
from tacit.expressions.timeline import Timeline

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
    if name in FUNCTIONS and isinstance(FUNCTIONS[name].range, tuple):
        return FUNCTIONS[name].range
    ends = {"abs": (0, math.inf), "length": (0, 2**31)}
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


def lines(schema, name):
    """Periods at both ends of what can be, and around what is common."""
    starts: list = [0, -(1 << 60), (1 << 60) - 9, -128]
    lengths: list = [1, 7, 1 << 50]
    if schema[name].kind == "date":
        starts, lengths = ["0001-01-01", "1969-12-31", "9999-12-28"], ["1d", "52w"]
    for start, every in itertools.product(starts, lengths):
        with contextlib.suppress(UsageError):
            yield Timeline.of(schema, name, start, every, 4)


def period_of(value, line):
    """The period of a value by the definition; None for none."""
    if isinstance(value, datetime.datetime):
        value = (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    elif isinstance(value, datetime.date):
        value = value.toordinal() - datetime.date(1970, 1, 1).toordinal()
    place = None if value is None else (value - line.start) // line.every
    return place if place is not None and 0 <= place < line.periods else None


def on_periods(source, rows, names):
    """Ask for the period of every time and whole number."""
    schema, d = source.schema, source.engine.dialect
    kinds = [(i, name) for i, name in enumerate(names) if schema[name].kind in ("integer", "date")]
    asked = [(i, line) for i, name in kinds for line in lines(schema, name)]
    assert len(asked) > 20
    sql = ", ".join(part for _, line in asked for part in line.sql(schema, d, line.periods))
    found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for row, values in zip(rows, found, strict=True):
        for place, (i, line) in enumerate(asked):
            shown, inside = values[2 * place : 2 * place + 2]
            expected = period_of(row[i][1], line)
            assert inside is (expected is not None), (names[i], row[i], line)
            assert expected is None or shown == expected, (names[i], row[i], line)


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "ansi"),
    [
        *((e, True) for e in ENGINES if e != "spark"),
        *(pytest.param("spark", ansi, marks=pytest.mark.slow) for ansi in (True, False)),
    ],
)
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
            asked += [e for n, k in kinds.items() if k == "integer" for e in of_whole(col(n))]
            times = [n for n, c in source.schema.items() if c.declared.startswith("TIMESTAMP")]
            asked += [e for n in times for e in of_time(col(n))]
            asked += [col(a).seconds_until(col(b)) for a in times for b in times]
            days = [n for n, k in kinds.items() if k == "date"]
            asked += [col(a).days_until(col(b)) for a in days[:2] for b in days[-2:]]
            assert times
            held(source, asked, rows, names)
            on_grids(source, rows, names)
            on_periods(source, rows, names)
    finally:
        if engine == "spark":
            request.getfixturevalue("spark").conf.unset("spark.sql.ansi.enabled")
