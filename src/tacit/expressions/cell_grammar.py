"""What a cell of text says where a question needs a number, a date or a truth value.

Each reading is *total*: a cell that fits the grammar has one value, the same on every engine, and
every other cell is missing.  A cell's value depends on that cell alone.

- **number**: a sign, 1 to 30 digits before the point and up to 30 behind it (at least one digit in
  all), and an exponent of ten from -249 to 249: ``12``, ``-0.5``, ``.5``, ``1e-3``.  It becomes
  the nearest double.  No thousands separators, no ``inf``, no ``nan``.
- **integer**: a sign and 1 to 18 digits, and behind a point nothing but zeros: ``12``, ``12.0``.
- **date**: ``2024-12-31`` of the years 1 to 9999, and a day that the month has; a time behind it,
  as below, is left out.
- **time**: a date, then a space or ``T``, then ``18:30``, ``18:30:05`` or ``18:30:05.25``, with
  ``Z`` or without; read as UTC, down to the second.  A date alone is its first second.
- **year** and **month**: what an undeclared column is read as in ``year``, and in ``month`` and
  ``quarter``: a date, or the part of one that says it, ``1980`` and ``1980-05``, or ``1980-05``.
- **boolean**: ``true``, ``t``, ``yes``, ``y``, ``1`` or ``false``, ``f``, ``no``, ``n``, ``0``,
  in capitals or not.

Up to eight spaces before and behind are left out.  *No cast can raise:* a number of the grammar
other than zero lies between 10^-279 and 10^279, where doubles have full precision (10^-308 to
10^308), so that it neither overflows nor vanishes; 18 digits are below 2^63; a date of the grammar
is a date of the calendar.  *No cast can differ:* engines and Python round a number to the nearest
double, and the rest is exact.  A cell of more than 100 characters fits nothing, so that engines
look at no more than those.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

from tacit.expressions.dialect import Dialect

__all__ = ["GIVES", "is_date", "read_cell", "reading_sql"]

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
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?Z?"
_TIME = f"{_DAY}([ T]{_CLOCK})?"
_TRUE = "([tT]([rR][uU][eE])?|[yY]([eE][sS])?|1)"
_FALSE = "([fF]([aA][lL][sS][eE])?|[nN]([oO])?|0)"

GIVES = {
    "read_number": "float",
    "read_integer": "integer",
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
_EPOCH = datetime.date(1970, 1, 1).toordinal()


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
        true, false = _fits(cell, _TRUE, d), _fits(cell, _FALSE, d)
        return f"(case when {true} then true when {false} then false end)"
    value = _VALUES[name](f"trim({cell})", d)
    return f"(case when {_fits(cell, _PATTERNS[name], d)} then {value} end)"


def _fits(cell: str, pattern: str, d: Dialect) -> str:
    return d.matches.format(x=cell, p=d.literal(d.whole.format(p=_EDGE + pattern + _EDGE)))


def _day_sql(text: str, d: Dialect) -> str:
    return d.cast(f"substr({text}, 1, 10)", "date")


def _seconds_sql(text: str, d: Dialect) -> str:
    def part(start: int, unit: int) -> str:
        digits = f"coalesce(nullif(substr({text}, {start}, 2), ''), '0')"
        return f"{d.cast(digits, 'integer')} * {unit}"

    days = d.cast(d.days.format(x=_day_sql(text, d)), "integer")
    return f"({days} * 86400 + {part(12, 3600)} + {part(15, 60)} + {part(18, 1)})"


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
    >>> read_cell("read_seconds", "1970-01-02 00:01")
    86460
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
    if name == "read_boolean":
        return True if _is(cell, _TRUE) else False if _is(cell, _FALSE) else None
    if not _is(cell, _PATTERNS[name]):
        return None
    text = cell.strip(" ")
    if name == "read_number":
        return float(text)
    if name == "read_integer":
        return int(text.split(".")[0])
    day = datetime.date.fromisoformat(text[:10])
    if name == "read_date":
        return day
    hours, minutes, seconds = (int(text[i : i + 2] or "0") for i in (11, 14, 17))
    return (day.toordinal() - _EPOCH) * 86400 + hours * 3600 + minutes * 60 + seconds


def _is(cell: str, pattern: str) -> bool:
    return re.fullmatch(_EDGE + pattern + _EDGE, cell) is not None
