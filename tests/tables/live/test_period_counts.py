"""Counts of periods in the engine agree with pure Python, on hostile times, and never raise."""

import datetime
import itertools
import random

import duckdb
import pytest

import tacit as tc
from support.tables import live_streams as streams
from support.tables.engine_tables import ENGINES
from tacit.expressions.timeline import Timeline
from tacit.tables.live.periods import CountsOverTime, counts_of_periods
from tacit.tables.open_source import open_source
from tacit.tables.plan.query import Query

AT, WHO = 'at "noon"; --', "who ' was"
PERIODS = 6
START = datetime.datetime(2026, 1, 1)
HOUR = datetime.timedelta(hours=1)
MICRO = datetime.timedelta(microseconds=1)
UNITS = [
    tc.one_row_each,
    *(tc.unit(WHO, rows=k) for k in (1, 2, 3, 50)),
]


def moments(source):
    """Times at, just before and between the edges of periods, far off, and none."""
    edge = START + source.randint(-1, PERIODS + 1) * HOUR
    return source.choice(
        [
            edge,
            edge - MICRO,
            edge + source.random() * HOUR,
            datetime.datetime(1, 1, 1),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 500000),
            None,
        ]
    )


def days(source):
    return source.choice(
        [
            START.date() + datetime.timedelta(days=source.randint(-2, 2 * PERIODS + 1)),
            datetime.date(1, 1, 1),
            datetime.date(9999, 12, 31),
            None,
        ]
    )


def numbers(source):
    return source.choice(
        [source.randint(-5, 5 * PERIODS + 5), -(2**63) + 1, 2**63 - 1, 0, -1, 1, None]
    )


KINDS = {
    "timestamp": ("timestamp", moments, "2026-01-01", "1h"),
    "date": ("date", days, "2026-01-01", "2d"),
    "integer": ("bigint", numbers, -2, 5),
}


def period_of(value, line):
    """Where a value stands, by the definition."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        value = (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    elif isinstance(value, datetime.date):
        value = value.toordinal() - datetime.date(1970, 1, 1).toordinal()
    place = (value - line.start) // line.every
    return place if 0 <= place < line.periods else None


def asked(source, unit, line, where=()):
    """Ask the engine for the periods from ``first`` to before ``closed``."""
    query = Query(source.schema, unit, where=where)
    step = CountsOverTime(**line.to_json(), branching=2, rows=unit.rows, norm="L1")
    return lambda first, closed: counts_of_periods(source, query, step, first, closed)


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "kind", "few"),
    [
        # Spark takes many seconds for each: one way to find the people for each kind of time.
        pytest.param(e, k, few, marks=[pytest.mark.slow] * (e == "spark" and few != way))
        for e in ENGINES
        for k, way in zip(KINDS, (50, 0, 50), strict=True)
        for few in (0, 50)
    ],
)
def test_the_engine_counts_as_python_does(engine, kind, few, request, monkeypatch):
    monkeypatch.setattr("tacit.tables.live.periods._FEW", few)
    declared, draw, start, every = KINDS[kind]
    source = random.Random(kind)
    rows = [
        {AT: draw(source), WHO: source.choice(["a", "b", "c", "é' \"", "", None]), "x": place % 3}
        for place in range(300)
    ]
    load = ENGINES[engine](request)
    with load(rows, {AT: declared, WHO: "varchar", "x": "bigint"}) as table:
        line = Timeline.of(table.schema, AT, start, every, PERIODS)
        reads = list(itertools.combinations(range(PERIODS + 1), 2))
        units, filters = UNITS, [((), rows), ((tc.col("x") > 0,), [r for r in rows if r["x"]])]
        if engine != "duckdb":  # where a query takes a while
            reads, units, filters = [(0, PERIODS), (2, 3)], UNITS[::2], filters[1:]
        for unit in units:
            k = None if unit.column is None else unit.rows
            for where, kept in filters:
                told = [(row[WHO], period_of(row[AT], line)) for row in kept]
                counts = asked(table, unit, line, where)
                for first, closed in reads:
                    exact = streams.counted(told, k, closed)
                    assert counts(first, closed) == exact[first:], (unit, first, closed)
        assert sum(streams.counted(told, 2, PERIODS)) > 0


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "declared",
    ["TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"],
)
def test_no_time_that_duckdb_holds_makes_it_raise(declared):
    connection = duckdb.connect()
    connection.execute("set timezone = 'America/New_York'")
    connection.execute(f"create table data (stamp {declared}, who bigint)")
    zone = "+00" if declared == "TIMESTAMPTZ" else ""
    for text in ["infinity", "-infinity", "epoch", f"2026-01-02 00:00:00{zone}"]:
        if text == "epoch" or "infinity" not in text or declared != "TIMESTAMP_NS":
            connection.execute(f"insert into data values (cast('{text}' as {declared}), 1)")
    far = {"DATE": "5877642-06-24", "TIMESTAMP_NS": "2262-04-11"}.get(declared, "290000-01-01")
    connection.execute(f"insert into data values (cast('{far}' as {declared}), 1), (null, 1)")
    with open_source(connection, "data") as table:
        line = Timeline.of(table.schema, "stamp", "2026-01-01", "1d", 3)
        for unit in (tc.one_row_each, tc.unit("who", rows=2)):
            assert asked(table, unit, line)(0, 3) == [0, 1, 0]


@pytest.mark.few(4)
@pytest.mark.parametrize("declared", ["HUGEINT", "UBIGINT", "TINYINT", "UTINYINT"])
def test_no_whole_number_that_duckdb_holds_makes_it_raise(declared):
    connection = duckdb.connect()
    connection.execute(f"create table data (stamp {declared}, who bigint)")
    low, high = {
        "HUGEINT": (-(2**127), 2**127 - 1),
        "UBIGINT": (0, 2**64 - 1),
        "TINYINT": (-128, 127),
        "UTINYINT": (0, 255),
    }[declared]
    connection.execute(
        f"insert into data values ({low}, 1), ({high}, 1), (7, 2), (8, 2), (null, 1)"
    )
    with open_source(connection, "data") as table:
        line = Timeline.of(table.schema, "stamp", 1, 4, 3)
        for unit in (tc.one_row_each, tc.unit("who", rows=2)):
            assert asked(table, unit, line)(0, 3) == [0, 2, 0]


def test_a_giant_person_and_many_small_ones():
    connection = duckdb.connect()
    connection.execute(
        "create table data as select range % 7 as stamp, case when range < 100000 then 0 "
        "else range end as who from range(300000)"
    )
    with open_source(connection, "data") as table:
        line = Timeline.of(table.schema, "stamp", 0, 1, 7)
        counts = asked(table, tc.unit("who", rows=3), line)(0, 7)
        small = [sum(1 for r in range(100000, 300000) if r % 7 == t) for t in range(7)]
        assert counts == [small[0] + 3, *small[1:]]
