"""Whole numbers that count time: exact both ways, never early."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.service.growing.dashboards import UNITS, as_length, as_number, reached, shown, when

LAST = 253_402_300_799  # the last second of the year 9999


@given(st.sampled_from(sorted(UNITS)), st.data())
def test_a_number_is_reached_when_its_time_comes_and_not_before(
    unit: str, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, int(LAST / UNITS[unit])))
    due = when(number, unit)
    assert Fraction(due) >= number * UNITS[unit]
    assert reached(due, unit) == number
    assert reached(due - float(UNITS[unit]) / 2, unit) == number - 1


@given(st.sampled_from(sorted(UNITS)), st.data())
def test_what_is_shown_is_read_again(unit: str, data: st.DataObject) -> None:
    most = int(LAST / UNITS[unit])
    number = data.draw(st.integers(-most // 200, most))
    if unit == "milliseconds":
        number -= number % 1000  # a start is given in whole seconds
    assert as_number(shown(number, unit), unit, "start") == number


@pytest.mark.parametrize(("text", "unit"), [("90s", "minutes"), ("1h", "days"), ("x", "days")])
def test_lengths_that_are_no_whole_number(text: str, unit: str) -> None:
    with pytest.raises(UsageError, match="every"):
        as_length(text, unit, "every")
    assert as_length("2d", "hours", "every") == 48
