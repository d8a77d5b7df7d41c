"""Periods of time: when each begins, when it is over, and in which one a row stands."""

# Everything is whole numbers: the values of an integer column, the days since 1970 of a date, the
# whole seconds since 1970 of a time, rounded down.  Times without a zone are read as UTC.

from __future__ import annotations

import datetime
import re
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from tacit.arithmetic.exact import as_integer, show
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect, reading_sql
from tacit.expressions.grid import Whole
from tacit.expressions.schema import Schema

# A point in time, as the column has it: a whole number, a date, or a time.
Moment: TypeAlias = int | str | datetime.date | datetime.datetime
# A length of time: a whole number of an integer column, ``"1h"``, or a timedelta.
Span: TypeAlias = int | str | datetime.timedelta

_MOST = 1 << 20
_FAR = 1 << 60
# Beyond every whole number that an engine has, and a :class:`Whole` before it is held.
_LONG = 1 << 128
_DAY = 24 * 60 * 60
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": _DAY, "w": 7 * _DAY}
_SPAN = re.compile(r"([0-9]{1,12}) ?(s|min|h|d|w)")
_LATEST = {"integers": _FAR, "days": 2_932_896, "seconds": 2_932_896 * _DAY}
_READINGS = {"integers": "read_integer", "days": "read_date", "seconds": "read_seconds"}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Timeline:
    """Periods of one length, one after the other.

    >>> hours = Timeline("at", "seconds", start=0, every=3600, periods=48)
    >>> hours.closed(7300), hours.label(2)
    (2, '1970-01-01T02:00:00')
    """

    column: str  # the column that holds the time of a row
    # what its whole numbers are: ``"integers"``, ``"days"`` or ``"seconds"``
    reads: str
    start: int  # where the first period begins
    every: int  # how long a period is
    periods: int

    @classmethod
    def of(cls, schema: Schema, column: str, start: Moment, every: Span, periods: int) -> Timeline:
        """Read what a user gave, for a column of a table."""
        described = schema.column(column)
        if described.declared.upper().startswith("TIMESTAMP"):
            reads = "seconds"
        elif described.kind == "undeclared":
            reads = _reading_of(start, every)
        elif described.kind in ("integer", "date"):
            reads = "days" if described.kind == "date" else "integers"
        else:
            raise UsageError(
                f"{column!r} holds {described.kind} values, not times: name a column of times, "
                "dates or whole numbers"
            )
        count = as_integer(periods, "periods", minimum=1)
        first = moment(start, reads, "start")
        line = cls(column, reads, first, span(every, reads, "every", minimum=1), count)
        line.check()
        return line

    @property
    def reading(self) -> str:
        """How a cell of an undeclared column is read."""
        return _READINGS[self.reads]

    def check(self) -> None:
        """Refuse periods that are too many or reach too far."""
        parts = (self.start, self.every, self.periods)
        if self.reads not in _LATEST or not all(type(part) is int for part in parts):
            raise UsageError(f"periods are whole numbers of {', '.join(_LATEST)}")
        if not 1 <= self.periods <= _MOST:
            raise UsageError(
                f"there are at most {_MOST} periods, and at least one, not "
                f"{show(Fraction(self.periods))}: make them longer"
            )
        far = not -_FAR <= self.start < self.end(self.periods) <= _LATEST[self.reads]
        if far or self.every < 1:
            raise UsageError(
                "the periods reach too far: at most to the year 9999, or 2^60 in whole numbers"
            )

    def end(self, index: int) -> int:
        """Return where ``index`` periods from the start are over."""
        return self.start + index * self.every

    def closed(self, now: int) -> int:
        """Return how many periods are over at a point in time."""
        return min(max((now - self.start) // self.every, 0), self.periods)

    def label(self, index: int) -> int | str:
        """Return the beginning of a period, as the column would show it."""
        value = self.end(index)
        if self.reads == "integers":
            return value
        begins = _EPOCH + datetime.timedelta(**{self.reads: value})
        return begins.strftime("%Y-%m-%d" if self.reads == "days" else "%Y-%m-%dT%H:%M:%S")

    def now(self, given: Moment | None) -> int:
        """Return a point in time, by default that of the machine's clock."""
        if given is not None:
            return moment(given, self.reads, "now")
        if self.reads == "integers":
            raise UsageError(
                f"say how far {self.column!r} has come: update(now=...); it is not read from the "
                "data, since that would reveal something about them"
            )
        seconds = int(time.time())
        return seconds // _DAY if self.reads == "days" else seconds

    def sql(self, schema: Schema, dialect: Dialect, closed: int) -> tuple[str, str]:
        """The SQL of the period of a row, and of whether it is one of the first ``closed``."""
        # The value is held within the periods before it is computed with, so that none can
        # overflow, in whatever order an engine looks at the two: their ends are within 2^60, so
        # that what has gone by since the start is below 2^61 and has 64 bits.
        d = dialect
        column = schema.column(self.column)
        value = column.value(d.column(column.name))
        if column.kind == "undeclared":
            value = reading_sql(self.reading, d.cast(value, "text"), d)
        elif self.reads != "integers":
            value = d.time(value, column.declared)
        if self.reads != "integers" and (column.kind != "undeclared" or self.reads == "days"):
            value = d.cast(getattr(d, self.reads).format(x=value), "integer")
        first, last = d.literal(self.start), d.literal(self.end(closed))
        clamped = Whole(value, -_LONG, _LONG).clamped_not_null(self.start, self.end(closed), d)
        since = replace(clamped, sql=d.cast(clamped.sql, "integer")).plus(-self.start, d)
        index = d.divide(since.sql, d.literal(self.every), wide=since.type == "wide")
        return index, f"coalesce({value} >= {first} and {value} < {last}, false)"

    def to_json(self) -> dict[str, Any]:
        """Return the periods as plain JSON values."""
        return {
            "column": self.column,
            "reads": self.reads,
            "start": self.start,
            "every": self.every,
            "periods": self.periods,
        }


def _reading_of(start: Moment, every: Span) -> str:
    """Return how an undeclared column is read: as the periods are written."""
    if isinstance(start, int):
        return "integers"
    for reads in ("days", "seconds"):
        try:
            moment(start, reads, "start")
            span(every, reads, "every")
        except UsageError:
            continue
        return reads
    return "seconds"


def moment(value: Moment, reads: str, name: str) -> int:
    """Read a point in time as a whole number of the column.

    >>> moment("2026-01-01", "days", "start"), moment("2026-01-01T01:00:00+01:00", "seconds", "now")
    (20454, 1767225600)
    """
    if reads == "integers":
        return as_integer(value, name)
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise UsageError(
                f"{name} is a time such as '2026-01-31 18:00', not {value!r}"
            ) from None
    if not isinstance(value, datetime.date):
        raise UsageError(f"{name} is a time such as '2026-01-31 18:00', not {value!r}")
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    seconds = (value - _EPOCH) // datetime.timedelta(seconds=1)
    if reads == "days" and name == "start" and seconds % _DAY:
        raise UsageError("the column holds dates: start at a date, such as '2026-01-31'")
    return seconds // _DAY if reads == "days" else seconds


def span(value: Span, reads: str, name: str, minimum: int = 0) -> int:
    """Read a length of time as a whole number of the column.

    >>> span("15min", "seconds", "every"), span("1w", "days", "every"), span(9, "integers", "every")
    (900, 7, 9)
    """
    if reads == "integers":
        return as_integer(value, name, minimum=minimum)
    unit = _DAY if reads == "days" else 1
    if isinstance(value, datetime.timedelta):
        seconds, odd = divmod(value, datetime.timedelta(seconds=1))
        whole = not odd
    else:
        match = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise UsageError(
                f"{name} is a length such as '30s', '15min', '1h', '1d' or '1w', not {value!r}; "
                "months and years differ in length"
            )
        seconds, whole = int(match[1]) * _UNITS[match[2]], True
    if seconds < minimum * unit or seconds % unit or not whole:
        kind = "days" if reads == "days" else "seconds"
        raise UsageError(f"{name} must be a whole number of {kind}, at least {minimum}")
    return seconds // unit
