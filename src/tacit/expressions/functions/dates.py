"""Functions of dates and times.

The calendar is that of ISO 8601, the years 1 to 9999; what lies beyond is missing.  The time of a
column of times is that of UTC where it has a zone, else as it is written, down to the second.

*Total.*  A date is looked at only between the first and the last day; a number of days is below
2^22 in size and one of seconds below 2^39, after it is held within the years 1 to 9999, so nothing
overflows.  ``weekday``: 1 January of the year 1 is a Monday.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from tacit.expressions.cell_grammar import FIRST_SECOND, LAST_SECOND
from tacit.expressions.dialect import Dialect
from tacit.expressions.functions.row_function import RowFunction

__all__ = ["DATES"]

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = 86400
_FIRST, _LAST = FIRST_SECOND, LAST_SECOND


def _on_days(body: Callable[[Dialect, str], str]) -> Callable[..., str]:
    """Return the SQL of what is looked at within the calendar alone."""

    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        low, high = d.literal(datetime.date.min), d.literal(datetime.date.max)
        inside = "(case when {x} between {low} and {high} then {found} end)"
        return d.share(
            operands[0],
            lambda x: inside.format(x=x, low=low, high=high, found=body(d, x)),
        )

    return sql


def _part(name: str, low: int, high: int, value: Callable[[Any], int]) -> RowFunction:
    sql = _on_days(lambda d, x: d.cast(f"extract({name} from {x})", "integer"))
    return RowFunction("date", "integer", sql, value, range=(low, high))


def _weekday(d: Dialect, x: str) -> str:
    return f"(({_days(d, x)} + {d.literal(_EPOCH - 1)}) % {d.literal(7)} + {d.literal(1)})"


def _days(d: Dialect, x: str) -> str:
    return d.cast(d.days.format(x=x), "integer")


def _days_until(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    start, end = (_on_days(_days)(d, (x,), ()) for x in operands)
    return f"({end} - {start})"


def _held(d: Dialect, seconds: str) -> str:
    """Return seconds within the calendar, missing beyond."""
    low, high = d.literal(_FIRST), d.literal(_LAST)
    return d.share(seconds, lambda x: f"(case when {x} between {low} and {high} then {x} end)")


def _clock(unit: int, most: int) -> RowFunction:
    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        since = f"(({_held(d, operands[0])} - {d.literal(_FIRST)}) % {d.literal(unit * most)})"
        return d.divide(since, d.literal(unit), wide=False)

    def value(seconds: int) -> int | None:
        return seconds % (unit * most) // unit if _FIRST <= seconds <= _LAST else None

    return RowFunction("seconds", "integer", sql, value, range=(0, most - 1))


def _seconds_until(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    start, end = (_held(d, x) for x in operands)
    return f"({end} - {start})"


def _apart(start: int, end: int) -> int | None:
    inside = all(_FIRST <= seconds <= _LAST for seconds in (start, end))
    return end - start if inside else None


def _date(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    since = f"{_held(d, operands[0])} - {d.literal(_FIRST)}"
    days = f"({d.divide(f'({since})', d.literal(_DAY), wide=False)} + {d.literal(1 - _EPOCH)})"
    return d.date_of.format(x=days)


def _date_of(seconds: int) -> datetime.date | None:
    inside = _FIRST <= seconds <= _LAST
    return datetime.date.fromordinal(seconds // _DAY + _EPOCH) if inside else None


_SPAN: tuple[int, int] = (1 - datetime.date.max.toordinal(), datetime.date.max.toordinal() - 1)

DATES = {
    "year": _part("year", 1, 9999, lambda day: day.year),
    "month": _part("month", 1, 12, lambda day: day.month),
    "day": _part("day", 1, 31, lambda day: day.day),
    "quarter": _part("quarter", 1, 4, lambda day: (day.month + 2) // 3),
    "day_of_year": _part("doy", 1, 366, lambda day: day.timetuple().tm_yday),
    "weekday": RowFunction(
        "date", "integer", _on_days(_weekday), lambda day: day.isoweekday(), range=(1, 7)
    ),
    "date": RowFunction("seconds", "date", _date, _date_of),
    "hour": _clock(3600, 24),
    "minute": _clock(60, 60),
    "second": _clock(1, 60),
    "days_until": RowFunction(
        *("date", "integer", _days_until, lambda start, end: (end - start).days),
        operands=2,
        range=_SPAN,
    ),
    "seconds_until": RowFunction(
        *("seconds", "integer", _seconds_until, _apart),
        operands=2,
        range=(_FIRST - _LAST, _LAST - _FIRST),
    ),
}
