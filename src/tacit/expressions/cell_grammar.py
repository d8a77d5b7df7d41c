"""What a cell of text says where a question needs a number, a date or a truth value.

Each reading is *total*: a cell that fits the grammar has one value, the same on every engine, and
every other cell is missing.  A cell's value depends on that cell alone.

- **number**: a sign, 1 to 30 digits before the point and up to 30 behind it (at least one digit in
  all), and an exponent of ten from -249 to 249: ``12``, ``-0.5``, ``.5``, ``1e-3``.  It becomes
  the nearest double.  No thousands separators, no ``inf``, no ``nan``.
- **integer**: a sign and 1 to 18 digits, and behind a point nothing but zeros: ``12``, ``12.0``.
- **date**: ``2024-12-31`` of the years 1 to 9999, and a day that the month has; of a time, as
  below, the day in UTC.
- **time**: a date, then a space or ``T``, then ``18:30``, ``18:30:05`` or ``18:30:05.25``, then
  nothing, ``Z``, `` UTC`` or an offset: ``+01``, ``+0100``, ``+01:00`` or ``+01:00:00``, also
  behind a space.  It is the time in UTC, down to the second; without an offset it is as written.
  A date alone is its first second, and what an offset moves out of the years 1 to 9999 is missing.
- **year** and **month**: what an undeclared column is read as in ``year``, and in ``month`` and
  ``quarter``: a date, or the part of one that says it, ``1980`` and ``1980-05``, or ``1980-05``.
- **boolean**: ``true``, ``t``, ``yes``, ``y``, ``1`` or ``false``, ``f``, ``no``, ``n``, ``0``,
  in capitals or not; a number may have a point and zeros behind it, as in ``1.0``.
- **numeric** and **whole**: what an undeclared column is read as where a number or a whole number
  is needed: a number or an integer as above, else a boolean, true as 1 and false as 0.  A column
  of numbers is read as one that is declared so, and a column of booleans likewise.

Up to eight spaces before and behind are left out.  *No cast can raise:* a number of the grammar
other than zero lies between 10^-279 and 10^279, where doubles have full precision (10^-308 to
10^308), so that it neither overflows nor vanishes; 18 digits are below 2^63; a date of the grammar
is a date of the calendar, and a day is made of seconds only where these are of the calendar too.
*No cast can differ:* engines and Python round a number to the nearest double, and the rest is
exact.  A cell of more than 100 characters fits nothing, so that engines look at no more than those.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

from tacit.expressions.dialect import Dialect

__all__ = ["FIRST_SECOND", "GIVES", "LAST_SECOND", "is_date", "read_cell", "reading_sql"]

_EDGE = "[ ]{0,8}"
_POWER = "([eE][+-]?([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]))?"
_NUMBER = "[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})" + _POWER
_INTEGER = "[+-]?[0-9]{1,18}([.]0{0,18})?"
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DAY = (
    f"({_YEAR}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)"
    f"|(0[13578]|1[02])-31)|{_LEAP}-02-29)"
)
_HOUR, _SIXTY = "([01][0-9]|2[0-3])", "[0-5][0-9]"
_OFFSET = f"[ ]?[+-]{_HOUR}({_SIXTY}|:{_SIXTY}(:{_SIXTY})?)?"
_CLOCK = f"{_HOUR}:{_SIXTY}(:{_SIXTY}([.][0-9]{{1,9}})?)?(Z|[ ]UTC|{_OFFSET})?"
_TIME = f"{_DAY}([ T]{_CLOCK})?"
_TRUE = "([tT]([rR][uU][eE])?|[yY]([eE][sS])?|1([.]0{0,18})?)"
_FALSE = "([fF]([aA][lL][sS][eE])?|[nN]([oO])?|0([.]0{0,18})?)"

GIVES = {
    "read_number": "float",
    "read_integer": "integer",
    "read_numeric": "float",
    "read_whole": "integer",
    "read_date": "date",
    "read_seconds": "integer",
    "read_boolean": "boolean",
    "read_text": "text",
    "read_year": "date",
    "read_month": "date",
}
"""The kind of each reading; ``read_seconds`` is the whole seconds since 1970 of a time."""
_PATTERNS = {
    "read_number": _NUMBER,
    "read_integer": _INTEGER,
    "read_date": _TIME,
    "read_seconds": _TIME,
}
_PARTIAL = {
    "read_year": (f"{_YEAR}(-(0[1-9]|1[0-2]))?", 4, "-01-01"),
    "read_month": (f"{_YEAR}-(0[1-9]|1[0-2])", 7, "-01"),
}
"""Dates without a day, how many characters count, and what makes a date of these."""
_OR_BOOLEAN = {"read_numeric": "read_number", "read_whole": "read_integer"}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY_SECONDS = 86400
FIRST_SECOND = (1 - _EPOCH) * _DAY_SECONDS
LAST_SECOND = (datetime.date.max.toordinal() - _EPOCH + 1) * _DAY_SECONDS - 1
"""Those of the years 1 to 9999, since 1970."""


def is_date(text: str) -> bool:
    """Whether public text is a date as the grammar writes it.

    >>> is_date("2024-02-29"), is_date("2023-02-29"), is_date("20240229")
    (True, False, False)
    """
    return re.fullmatch(_DAY, text) is not None


# ---- in SQL


def reading_sql(name: str, cell: str, d: Dialect) -> str:
    """Return the SQL of a reading of a cell.

    Args:
        name: of the reading, one of :data:`GIVES`.
        cell: SQL of text.
        d: the engine's dialect.
    """
    if name in _PARTIAL:
        pattern, length, rest = _PARTIAL[name]
        day = d.cast(f"(substr(trim({cell}), 1, {length}) || {d.literal(rest)})", "date")
        whole = reading_sql("read_date", cell, d)
        return f"(case when {_fits(cell, pattern, d)} then {day} else {whole} end)"
    if name == "read_text":
        return cell
    if name == "read_boolean":
        return f"(case {_truths(cell, 'true', 'false', d)} end)"
    reading = _OR_BOOLEAN.get(name, name)
    value = _VALUES[reading](f"trim({cell})", d)
    found = f"when {_fits(cell, _PATTERNS[reading], d)} then {value}"
    if name != reading:
        one, zero = (d.literal(float(v) if reading == "read_number" else v) for v in (1, 0))
        found = f"{found} {_truths(cell, one, zero, d)}"
    return f"(case {found} end)"


def _truths(cell: str, true: str, false: str, d: Dialect) -> str:
    return f"when {_fits(cell, _TRUE, d)} then {true} when {_fits(cell, _FALSE, d)} then {false}"


def _fits(cell: str, pattern: str, d: Dialect) -> str:
    return d.matches.format(x=cell, p=d.literal(d.whole.format(p=_EDGE + pattern + _EDGE)))


def _written_day(text: str, d: Dialect) -> str:
    return d.cast(f"substr({text}, 1, 10)", "date")


def _part(digits: str, d: Dialect) -> str:
    return d.cast(f"coalesce(nullif({digits}, ''), '0')", "integer")


def _offset_sql(text: str, d: Dialect) -> str:
    """Return the seconds of an offset, 0 where none is written."""
    # behind the date a sign is that of the offset; a colon may stand between its digits or not
    plus, minus = (
        f"replace(split_part(substr({text}, 12), '{sign}', 2), ':', '')" for sign in "+-"
    )
    units = ((1, 3600), (3, 60), (5, 1))
    east, west = (
        " + ".join(f"{_part(f'substr({digits}, {at}, 2)', d)} * {unit}" for at, unit in units)
        for digits in (plus, minus)
    )
    return f"({east} - ({west}))"


def _moment_sql(text: str, d: Dialect) -> str:
    """Return the seconds since 1970 of a time as it is written, its offset left out."""
    clock = f"substr({text}, 12)"
    for end in "+- ":
        clock = f"split_part({clock}, '{end}', 1)"
    units = ((1, 3600), (4, 60), (7, 1))
    since = " + ".join(f"{_part(f'substr({clock}, {at}, 2)', d)} * {unit}" for at, unit in units)
    days = d.cast(d.days.format(x=_written_day(text, d)), "integer")
    return f"({days} * {_DAY_SECONDS} + {since})"


def _moved(text: str, plain: str, value: str, d: Dialect) -> str:
    """Return a value of the seconds ``tacit_v`` of a time with an offset, else the plain one."""
    first, last = d.literal(FIRST_SECOND), d.literal(LAST_SECOND)
    held = f"(case when tacit_v between {first} and {last} then {value} end)"
    found = d.let.format(x=f"({_moment_sql(text, d)} - {_offset_sql(text, d)})", body=held)
    clock = f"substr({text}, 12)"
    has_offset = f"replace(replace({clock}, '+', ''), '-', '') <> {clock}"
    return f"(case when {has_offset} then {found} else {plain} end)"


def _seconds_sql(text: str, d: Dialect) -> str:
    return _moved(text, _moment_sql(text, d), "tacit_v", d)


def _day_sql(text: str, d: Dialect) -> str:
    since = f"(tacit_v - {d.literal(FIRST_SECOND)})"
    days = d.divide(since, d.literal(_DAY_SECONDS), wide=False)
    day = d.date_of.format(x=f"({days} + {d.literal(1 - _EPOCH)})")
    return _moved(text, _written_day(text, d), day, d)


_VALUES: dict[str, Callable[[str, Dialect], str]] = {
    "read_number": lambda text, d: d.cast(text, "double"),
    "read_integer": lambda text, d: d.cast(f"split_part({text}, '.', 1)", "integer"),
    "read_date": _day_sql,
    "read_seconds": _seconds_sql,
}


# ---- the same in Python


def read_cell(name: str, cell: str | None) -> Any:
    """Return what a reading says of a cell; None is missing.

    >>> [read_cell("read_number", c) for c in ("12", " -.5e1 ", "1e999", "1,000", "")]
    [12.0, -5.0, None, None, None]
    >>> read_cell("read_integer", "12.0"), read_cell("read_boolean", "Yes")
    (12, True)
    >>> [read_cell("read_seconds", f"1970-01-02 00:01{zone}") for zone in ("", "Z", "+01", "-0130")]
    [86460, 86460, 82860, 91860]
    >>> [read_cell("read_numeric", c) for c in ("12", "yes", "FALSE", "maybe")]
    [12.0, 1.0, 0.0, None]
    >>> [str(read_cell("read_year", cell)) for cell in ("1980", "1980-05", "1980-05-31", "80")]
    ['1980-01-01', '1980-01-01', '1980-05-31', 'None']
    """
    if name in _PARTIAL and cell is not None:
        pattern, length, rest = _PARTIAL[name]
        if _is(cell, pattern):
            return datetime.date.fromisoformat(cell.strip(" ")[:length] + rest)
        name = "read_date"
    if cell is None or name == "read_text":
        return cell
    reading = _OR_BOOLEAN.get(name, name)
    if reading == "read_boolean" or (name != reading and not _is(cell, _PATTERNS[reading])):
        truth = True if _is(cell, _TRUE) else False if _is(cell, _FALSE) else None
        if truth is None or reading == "read_boolean":
            return truth
        return float(truth) if reading == "read_number" else int(truth)
    if not _is(cell, _PATTERNS[reading]):
        return None
    text = cell.strip(" ")
    if reading == "read_number":
        return float(text)
    if reading == "read_integer":
        return int(text.split(".")[0])
    seconds = _moment(text)
    if not FIRST_SECOND <= seconds <= LAST_SECOND:
        return None
    if reading == "read_seconds":
        return seconds
    return datetime.date.fromordinal(seconds // _DAY_SECONDS + _EPOCH)


def _moment(text: str) -> int:
    clock, sign, offset = text[11:], 1, ""
    for end in "+-":
        if end in clock:
            clock, offset = clock.split(end)
            sign = 1 if end == "+" else -1
    digits = offset.replace(":", "")
    east = sum(int(digits[i : i + 2] or 0) * unit for i, unit in ((0, 3600), (2, 60), (4, 1)))
    clock = clock.split(" ")[0]
    since = sum(int(clock[i : i + 2] or 0) * unit for i, unit in ((0, 3600), (3, 60), (6, 1)))
    days = datetime.date.fromisoformat(text[:10]).toordinal() - _EPOCH
    return days * _DAY_SECONDS + since - sign * east


def _is(cell: str, pattern: str) -> bool:
    return re.fullmatch(_EDGE + pattern + _EDGE, cell) is not None
