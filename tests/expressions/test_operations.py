"""Every operation on the extremes of every type, on every engine: no error, and Python's value.

A value of the data may never make an engine raise, wrap around or answer NULL: that would tell it,
before anything is charged.  So each operation is asked of every pair of types, on rows in which the
extremes of each stand, and each sum's place on grids of all widths."""

from __future__ import annotations

import contextlib
import csv
import datetime
import itertools
import math
import time
from typing import Any

import duckdb
import pytest

from support.tables import tables_reference as reference
from support.tables.engine_tables import ENGINES
from support.tables.extreme_values import extremes, open_rows, rows_of
from support.tables.hostile_tables import (
    BY,
    EXPRESSIONS,
    KEYS,
    SALT,
    UNITS,
    WHERE,
    many_rows,
    requests,
)
from support.tables.number_operations import (
    of_date,
    of_one,
    of_text,
    of_time,
    of_two,
    of_whole,
)
from tacit.errors import UsageError
from tacit.expressions.dialect import read_cell
from tacit.expressions.expression import Expression, col
from tacit.expressions.functions import FUNCTIONS
from tacit.expressions.grid import Grid
from tacit.expressions.operations import (
    column_sql,
    compared_sql,
    has_time,
    is_wide,
    seconds_sql,
    with_readings,
)
from tacit.expressions.schema import Column, Schema
from tacit.expressions.timeline import Timeline, moment, span
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.open_source import open_source
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Distinct

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
            asked += [col(a).dt.seconds_until(col(b)) for a in times for b in times]
            days = [n for n, k in kinds.items() if k == "date"]
            asked += [col(a).dt.days_until(col(b)) for a in days[:2] for b in days[-2:]]
            assert times
            held(source, asked, rows, names)
            on_grids(source, rows, names)
            on_periods(source, rows, names)
    finally:
        if engine == "spark":
            request.getfixturevalue("spark").conf.unset("spark.sql.ansi.enabled")


# Columns that nobody declared answer as declared ones do, where their cells are well formed.


TYPES = {
    "person id": "integer",
    'na"me': "text",
    "group": "text",
    "year": "integer",
    **dict.fromkeys(("select", "huge", "long", "cents"), "float"),
    "flag": "boolean",
    "day": "date",
}
"""An undeclared number is read as a double."""
READINGS = {"integer": "read_integer", "float": "read_number", "date": "read_date"}


def cell(value, kind):
    """Write a value as a cell that is well formed, or leave it empty."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if kind == "boolean":
        return str(int(value))
    text = repr(float(value)) if kind == "float" else str(value)
    fits = kind not in READINGS or read_cell(READINGS[kind], text) is not None
    return text if fits else ""


@pytest.fixture
def both(tmp_path, monkeypatch):
    """The same file, opened with its types and without."""
    monkeypatch.setattr("tacit.tables.privacy_unit.new_salt", lambda: SALT)
    path = tmp_path / "hostile.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(TYPES)
        for row in many_rows(250, seed=2):
            writer.writerow([cell(row[name], kind) for name, kind in TYPES.items()])
    with open_source(path, types=TYPES) as typed, open_source(path) as plain:
        assert set(plain.columns.values()) == {"undeclared"}
        yield typed, plain


def fate(source, unit, request, **asked):
    try:
        return reference.plain(IntegerQuery(source, unit, **asked).run([request]).of(request))
    except UsageError as refused:
        return str(refused)


def counts_texts(request):
    """Whether a column that nobody declared has other values here: texts, and not numbers."""
    if not isinstance(request, Distinct) or request.value.operation != "col":
        return False
    return TYPES[request.value.parameters[0]] != "text"


@pytest.mark.full
@pytest.mark.parametrize("unit", UNITS[1:], ids=str)
def test_undeclared_columns_answer_as_declared_ones_do(both, unit):
    typed, plain = both
    answered = 0
    for asked in ({"where": WHERE}, {"by": BY, "keys": KEYS}):
        for request in requests():
            if counts_texts(request):
                continue
            expected = fate(typed, unit, request, **asked)
            assert fate(plain, unit, request, **asked) == expected, (request, asked)
            answered += not isinstance(expected, str)
    assert answered > 25


def shown(source, expression):
    asked = with_readings(expression, source.schema)
    kind = asked.kind(source.schema)
    sql = asked.sql(source.schema, source.engine.dialect)
    rows = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    return kind, [value for (value,) in rows]


@pytest.mark.full
def test_every_expression_says_the_same_of_undeclared_columns(both):
    typed, plain = both
    compared = 0
    for expression in EXPRESSIONS:
        columns = {o.operation for o in expression.operands} == {"col"}
        if columns and len(expression.operands) > 1 and expression.operation != "&":
            continue  # nothing beside them says how they are read: they are texts, or refused
        try:
            kind, values = shown(plain, expression)
        except UsageError:  # such as a comparison with a number that no double tells apart
            continue
        if kind == "undeclared":
            continue
        assert values == shown(typed, expression)[1], str(expression)
        compared += 1
    assert compared > 24


# A column's value in SQL: what is missing, and what makes two values one.


SCHEMA = Schema(
    [
        Column("x", "float", "DOUBLE"),
        Column("money", "decimal", "DECIMAL(9,2)"),
        Column("cents", "decimal", "DECIMAL(9,3)"),
        Column("at", "date", "TIMESTAMP"),
        Column("day", "date", "DATE"),
        Column("some_day", "date", "date"),
        Column("n", "integer", "BIGINT"),
        Column("huge", "integer", "HUGEINT"),
        Column("t", "text", "VARCHAR"),
        Column("none", "missing", "NULL"),
    ]
)
ROW = (
    "select 'nan'::double as x, 1.25::decimal(9,2) as money, 1.25::decimal(9,3) as cents, "
    "'2026-01-31 10:30'::timestamp as at, '2026-01-31'::date as day, 5::bigint as n, "
    "7::hugeint as huge, 'ab' as t, null as none"
)


def asked(sql: str) -> Any:
    return duckdb.execute(f"select {sql} from ({ROW}) as tacit_rows").fetchall()[0][0]


def test_values_are_those_of_the_column_and_nan_is_missing() -> None:
    found = {name: asked(column_sql(col(name), SCHEMA, DUCKDB)) for name in ("x", "money", "none")}
    assert found == {"x": None, "money": 1.25, "none": None}
    assert asked(f"typeof({column_sql(col('money'), SCHEMA, DUCKDB)})") == "DOUBLE"
    assert str(asked(column_sql(col("at"), SCHEMA, DUCKDB))) == "2026-01-31"
    assert asked(column_sql(col("t"), SCHEMA, DUCKDB)) == "ab"


def test_seconds_are_whole_numbers_since_1970() -> None:
    assert asked(seconds_sql(col("at"), SCHEMA, DUCKDB)) == 1_769_855_400
    assert asked(seconds_sql(col("none"), SCHEMA, DUCKDB)) is None


def test_a_time_of_day_is_asked_of_times_alone() -> None:
    asks = col("at").dt.hour()
    for side in (col("at"), col("none"), col("some_day"), col("t").str.to_datetime()):
        has_time(asks, side, SCHEMA)
    with pytest.raises(UsageError, match="'day' holds only dates"):
        has_time(asks, col("day"), SCHEMA)
    for side in (col("n"), col("t"), col("t").str.to_date()):
        with pytest.raises(UsageError, match="needs a column of times"):
            has_time(asks, side, SCHEMA)


def test_a_whole_number_is_wide_where_its_type_or_a_choice_may_be() -> None:
    assert [is_wide(col(name), SCHEMA) for name in ("n", "huge")] == [False, True]
    assert [is_wide(Expression("literal", (), (value,)), SCHEMA) for value in (1, 1 << 63)] == [
        False,
        True,
    ]
    assert is_wide(col("n").fill_null(col("huge")), SCHEMA)
    assert not is_wide(col("n").fill_null(0), SCHEMA)


def test_only_decimals_of_one_type_are_compared_as_such() -> None:
    def sides(*names: str) -> list[str]:
        nodes = [col(name) for name in names]
        parts = [column_sql(node, SCHEMA, DUCKDB) for node in nodes]
        same = compared_sql(nodes, "float", parts, SCHEMA, DUCKDB)
        return [a == b for a, b in zip(parts, same, strict=True)]

    assert sides("money", "money") == [False, False]
    assert sides("money", "cents") == [True, True]  # as doubles: no type holds both
    assert sides("x", "money") == [True, True]
    (text,) = compared_sql([col("t")], "text", ["t"], SCHEMA, DUCKDB)
    assert asked(f"{text} = 'ab'")
    assert not asked(f"{text} = 'AB'")


# Periods of time: how they are written, when they are over, and in which one a row stands.


TIMELINE_SCHEMA = Schema(
    [
        Column("at", "date", "TIMESTAMP"),
        Column("day", "date", "DATE"),
        Column("n", "integer", "BIGINT"),
        Column("said", "undeclared", "VARCHAR"),
        Column("name", "text", "VARCHAR"),
    ]
)


@pytest.mark.parametrize(
    ("column", "start", "every", "reads"),
    [
        ("at", "2026-01-01", "1h", "seconds"),
        ("day", "2026-01-01", "1w", "days"),
        ("n", 10, 5, "integers"),
        ("said", 10, 5, "integers"),
        ("said", "2026-01-01", "1d", "days"),
        ("said", "2026-01-01", "1h", "seconds"),
        ("said", "2026-01-01 18:00", "1d", "seconds"),
    ],
)
def test_a_column_is_read_by_its_type_and_an_undeclared_one_as_the_periods_are_written(
    column: str, start: Any, every: Any, reads: str
) -> None:
    assert Timeline.of(TIMELINE_SCHEMA, column, start, every, 3).reads == reads


@pytest.mark.parametrize(
    ("column", "start", "every", "periods", "message"),
    [
        ("name", "2026-01-01", "1d", 3, "holds text values, not times"),
        ("where", "2026-01-01", "1d", 3, "no column"),
        ("day", "2026-01-01 18:00", "1d", 3, "start at a date"),
        ("day", "2026-01-01", "1h", 3, "whole number of days"),
        ("at", "soon", "1h", 3, "not 'soon'"),
        ("at", "2026-01-01", "1 month", 3, "months and years"),
        ("at", "2026-01-01", "0s", 3, "at least 1"),
        ("at", "2026-01-01", datetime.timedelta(microseconds=5), 3, "whole number of seconds"),
        ("n", "2026-01-01", 1, 3, "start"),
        ("n", 0, 0, 3, "every"),
        ("n", 0, 1, 0, "periods"),
        ("n", 0, 1, 2**20 + 1, "at most 1048576 periods"),
        ("n", 2**60, 1, 1, "reach too far"),
        ("at", "9999-12-31", "1w", 3, "reach too far"),
    ],
)
def test_periods_that_do_not_fit_are_refused(
    column: str, start: Any, every: Any, periods: int, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Timeline.of(TIMELINE_SCHEMA, column, start, every, periods)


def test_a_moment_is_read_in_utc_and_rounded_down() -> None:
    assert moment("2026-01-01T01:00:00+01:00", "seconds", "now") == moment(
        datetime.date(2026, 1, 1), "seconds", "now"
    )
    assert moment("1969-12-31 23:59:59.5", "seconds", "now") == -1
    assert moment("1969-12-31 18:00", "days", "now") == -1
    assert span(datetime.timedelta(days=14), "days", "every") == 14
    assert span("2h", "seconds", "every") == 7200


def test_periods_close_one_after_the_other_and_no_more_than_there_are() -> None:
    line = Timeline("n", "integers", start=-10, every=4, periods=5)
    assert [line.closed(now) for now in (-99, -10, -7, -6, -5, 9, 10, 10**9)] == [
        *(0, 0, 0, 1, 1, 4, 5, 5)
    ]
    assert [line.label(i) for i in (0, 5)] == [-10, 10]
    days = Timeline("day", "days", 0, 1, 400)
    assert days.label(365) == "1971-01-01"


def test_now_is_the_clock_of_the_machine_and_never_read_from_whole_numbers() -> None:
    seconds, days = (Timeline("at", reads, 0, 1, 5) for reads in ("seconds", "days"))
    before = int(time.time())
    assert before <= seconds.now(None) <= time.time()
    assert before // 86400 <= days.now(None) <= time.time() // 86400
    with pytest.raises(UsageError, match="it is not read from the data"):
        Timeline("n", "integers", 0, 1, 5).now(None)
    assert Timeline("n", "integers", 0, 1, 5).now(7) == 7


@pytest.mark.parametrize("closed", [0, 2, 3])
def test_the_sql_of_a_period_is_that_of_python_and_no_value_overflows(closed: int) -> None:
    line = Timeline("n", "integers", start=-10, every=4, periods=3)
    values = [None, -(2**63), 2**63 - 1, *range(-15, 8)]
    connection = duckdb.connect()
    connection.execute("create table t (n bigint)")
    connection.executemany("insert into t values (?)", [[v] for v in values])
    place, within = line.sql(TIMELINE_SCHEMA, DUCKDB, closed)
    for n, found, inside in connection.execute(
        f"select n, {place}, {within} from t as tacit_rows"
    ).fetchall():
        assert inside == (n is not None and -10 <= n < line.end(closed))
        if inside:
            assert found == (n + 10) // 4


def test_times_dates_and_text_stand_in_the_same_periods() -> None:
    connection = duckdb.connect()
    connection.execute(
        "create table t as select '2026-01-02 05:00'::timestamp as at, "
        "'2026-01-02'::date as day, '2026-01-02 05:00' as said"
    )
    for column, every, expected in (("at", "1h", 29), ("day", "1d", 1), ("said", "1h", 29)):
        line = Timeline.of(TIMELINE_SCHEMA, column, "2026-01-01", every, 48)
        place, within = line.sql(TIMELINE_SCHEMA, DUCKDB, 48)
        assert connection.execute(f"select {place}, {within} from t as tacit_rows").fetchone() == (
            expected,
            True,
        )


def test_periods_come_back_from_json() -> None:
    line = Timeline.of(TIMELINE_SCHEMA, "at", "2026-01-01", "1h", 48)
    assert Timeline(**line.to_json()) == line
    for broken in ({"periods": 0}, {"every": 0}, {"start": 1.5}, {"reads": "hours"}):
        with pytest.raises(UsageError):
            Timeline(**line.to_json() | broken).check()
