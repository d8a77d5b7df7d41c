"""Dates and times: every day of some years by Python's calendar, and what has no time of day."""

from __future__ import annotations

import datetime

import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col, when
from tacit.expressions.functions import FUNCTIONS

PARTS = ("year", "month", "day", "quarter", "day_of_year", "weekday")
FIRST = [datetime.date(y, 1, 1) for y in (1, 4, 1900, 1969, 2000, 9996)]
DAYS = [day + datetime.timedelta(n) for day in FIRST for n in range(0, 1461, 7)]
DAYS += [datetime.date(y, 12, 31) for y in range(1, 10_000, 97)] + [datetime.date.max]


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_dates_are_those_of_the_calendar(engine, request):
    parts = [getattr(col("d"), part)() for part in PARTS]
    with ENGINES[engine](request)([{"d": d} for d in DAYS], {"d": "date"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in parts)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for day, values in zip(DAYS, found, strict=True):
        month = (day.month + 2) // 3
        expected = (day.year, day.month, day.day, month, int(day.strftime("%j")), day.isoweekday())
        assert tuple(values) == expected, day
    for name, low, high in (("weekday", 1, 7), ("day_of_year", 1, 366), ("quarter", 1, 4)):
        assert FUNCTIONS[name].range == (low, high)


CSV = "at,day,n\n2024-12-31 18:30:05,2024-12-31,1\n2024-02-29T06:00,2024-02-29,2\nnone,x,3\n"


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.mark.parametrize("types", [None, {"at": "timestamp", "day": "date"}])
def test_times_of_a_file_are_released_and_verified(visits, types):
    budget = tc.epsilon(1000)
    with tc.Session(visits, unit=tc.one_row_each, budget=budget, types=types) as session:
        asked = session.with_column("hour", tc.col("at").hour())
        asked = asked.filter(tc.col("day").weekday() < 6, tc.col("hour") >= 6)
        answer = asked.group_by("hour", keys=[6, 18, 19]).agg(n=tc.count()).release(epsilon=900)
        assert answer.to_dict()["n"] == [1, 1, 0]
        report = answer.certificate.verify(session.ledger)
        assert report, report.failures
        since = tc.col("day").days_until("2025-01-01")
        days = session.with_column("days", since).filter(~since.is_null())
        answer = days.agg(days=tc.sum("days", 0, 400)).release(epsilon=90)
        assert abs(answer.value("days") - (1 + 307)) < 200


def test_what_has_no_time_of_day_is_refused(visits):
    types = {"at": "timestamp", "day": "date"}
    budget = tc.epsilon(1)
    with tc.Session(visits, unit=tc.one_row_each, budget=budget, types=types) as session:
        with pytest.raises(UsageError, match="'day' holds only dates"):
            session.with_column("hour", tc.col("day").hour())
        with pytest.raises(UsageError, match="needs a column of times; read_time"):
            session.filter(tc.col("day").month().hour() == 3)
        chosen = when(col("n") == 1).then(col("at")).otherwise(None)
        with pytest.raises(UsageError, match="a date that was computed has no time of day"):
            session.filter(chosen.minute() == 3)
        asked = session.with_column("chosen", chosen).filter(tc.col("chosen").minute() == 3)
        with pytest.raises(UsageError, match="a date that was computed has no time of day"):
            asked.agg(n=tc.count()).release(epsilon=1)
        assert session.history() == []
        alias = session.with_column("then", tc.col("at")).filter(tc.col("then").minute() == 30)
        alias.agg(n=tc.count()).preview(epsilon=1)


@pytest.mark.parametrize("value", [3, "soon", datetime.datetime(2024, 1, 1), None])
def test_an_end_that_is_no_date_is_refused(value):
    with pytest.raises(UsageError, match="neither a date such as"):
        col("day").days_until(value)
