"""Whole numbers that count time since 1970: days, hours, seconds, as many tables have them.

A table whose time is a whole number (``20513`` for 2026-03-01) has no clock of its own.  Who begins
a dashboard says what the numbers count, and from then on the clock says how far they have come.
All is exact: a time that is no whole number of the unit is refused, never rounded.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from tacit.errors import UsageError
from tacit.expressions.timeline import moment, span

__all__ = ["UNITS", "as_length", "as_number", "reached", "shown", "when"]

UNITS: dict[str, Fraction] = {
    "milliseconds": Fraction(1, 1000),
    "seconds": Fraction(1),
    "minutes": Fraction(60),
    "hours": Fraction(3600),
    "days": Fraction(86400),
}
"""What the whole numbers of a column may count since 1970 began, in UTC, in seconds each."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def as_number(text: str, unit: str, name: str) -> int:
    """Return the whole number of a time.

    Args:
        text: the time.
        unit: one of :data:`UNITS`.
        name: of the time, for an error.

    Raises:
        UsageError: it is no time, or no whole number of the unit.

    >>> as_number("2026-03-01", "days", "start"), as_number("2026-03-01 01:00", "hours", "start")
    (20513, 492313)
    """
    return _whole(moment(text, "seconds", name), unit, name)


def as_length(text: str, unit: str, name: str, minimum: int = 0) -> int:
    """Return how many of the unit a length of time has.

    Args:
        text: the length, such as ``1d``.
        unit: one of :data:`UNITS`.
        name: of the length, for an error.
        minimum: the least number.

    Raises:
        UsageError: it is no length, no whole number of the unit, or too short.

    >>> as_length("1w", "days", "every"), as_length("1h", "milliseconds", "every")
    (7, 3600000)
    """
    found = _whole(span(text, "seconds", name), unit, name)
    if found < minimum:
        raise UsageError(f"{name} must be a whole number of {unit}, at least {minimum}")
    return found


def reached(seconds: float, unit: str) -> int:
    """Return the number that a column has come to, at a time in seconds since 1970.

    >>> reached(1772323200.0, "days"), reached(1772323199.9, "days")
    (20513, 20512)
    """
    return int(Fraction(seconds) // UNITS[unit])


def when(number: int, unit: str) -> float:
    """Return the time at which a column comes to a number, in seconds since 1970.

    It is not before that time, also where a float has to round.

    >>> when(20513, "days"), reached(when(1, "milliseconds"), "milliseconds")
    (1772323200.0, 1)
    """
    exact = number * UNITS[unit]
    found = float(exact)
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)


def shown(number: int, unit: str) -> str:
    """Return the time of a number as a column of dates or times shows it.

    >>> shown(20513, "days"), shown(492313, "hours"), shown(1, "milliseconds")
    ('2026-03-01', '2026-03-01T01:00:00', '1970-01-01T00:00:00.001')
    """
    at = _BEGINNING + timedelta(microseconds=int(number * UNITS[unit] * 10**6))
    if unit == "days":
        return at.strftime("%Y-%m-%d")
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds" if at.microsecond else "auto")


def _whole(seconds: int, unit: str, name: str) -> int:
    number = seconds / UNITS[unit]
    if number.denominator != 1:
        raise UsageError(f"the column counts {unit}: {name} must be a whole number of them")
    return int(number)
