"""Periods of time: how they are written, when they are over, and in which one a row stands."""

from __future__ import annotations

import datetime
import time
from typing import Any

import duckdb
import pytest

from tacit.errors import UsageError
from tacit.expressions.schema import Column, Schema
from tacit.expressions.timeline import Timeline, moment, span
from tacit.tables.engines.duckdb.engine import DUCKDB

SCHEMA = Schema(
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
    assert Timeline.of(SCHEMA, column, start, every, 3).reads == reads


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
        Timeline.of(SCHEMA, column, start, every, periods)


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
    place, within = line.sql(SCHEMA, DUCKDB, closed)
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
        line = Timeline.of(SCHEMA, column, "2026-01-01", every, 48)
        place, within = line.sql(SCHEMA, DUCKDB, 48)
        assert connection.execute(f"select {place}, {within} from t as tacit_rows").fetchone() == (
            expected,
            True,
        )


def test_periods_come_back_from_json() -> None:
    line = Timeline.of(SCHEMA, "at", "2026-01-01", "1h", 48)
    assert Timeline(**line.to_json()) == line
    for broken in ({"periods": 0}, {"every": 0}, {"start": 1.5}, {"reads": "hours"}):
        with pytest.raises(UsageError):
            Timeline(**line.to_json() | broken).check()
