"""Schedules: which text is one, and which times it means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.service.growing.refreshes import Schedule


@pytest.mark.parametrize(
    ("said", "every", "offset"),
    [
        ("every 6 hours", 21600, 0),
        ("every hour", 3600, 0),
        ("every 1 day", 86400, 0),
        ("every 30 minutes", 1800, 0),
        ("daily 03:00", 86400, 10800),
        ("daily at 23:59", 86400, 86340),
    ],
)
def test_schedules_are_read(said: str, every: int, offset: int) -> None:
    assert Schedule.parse(said) == Schedule(every, offset)


@pytest.mark.parametrize(
    "said", ["", "every 0 hours", "daily", "daily 24:00", "every second", "every 6 hours\n", "6h"]
)
def test_other_text_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="not a schedule"):
        Schedule.parse(said)


@given(now=st.floats(0, 4e9), every=st.integers(60, 10**6), offset=st.integers(0, 86399))
def test_the_last_time_is_the_latest_one_up_to_now(now: float, every: int, offset: int) -> None:
    last = Schedule(every, offset).last(now)
    assert last <= now < last + every
    assert (last - offset) % every == 0


def test_daily_means_that_hour_in_utc() -> None:
    last = Schedule.parse("daily 03:00").last(datetime(2026, 3, 5, 2, 59, tzinfo=UTC).timestamp())
    assert datetime.fromtimestamp(last, UTC) == datetime(2026, 3, 4, 3, 0, tzinfo=UTC)
