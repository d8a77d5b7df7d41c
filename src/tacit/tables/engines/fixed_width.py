"""Text files whose fields have fixed positions in a line: their layout, and the SQL of a field."""

# A line is a row.  It is read as one cell of a CSV file of one column, by the same reader and with
# the same promises (:mod:`tacit.tables.engines.csv`): what is no text in the encoding, holds a NUL
# or is too long is a row in which everything is missing, and lines end where they end whatever is
# in them.  A field is then a part of that cell.
#
# *Total:* a part of a text is defined wherever the text ends.  A line that is too short lacks what
# lies behind its end; of one that is too long the rest is in no field.  *No row steers another:* a
# field is a function of its own line and of the layout.
#
# Positions are counted in characters.  Some programs count bytes; a character of n bytes then takes
# n positions.  Behind each such character n - 1 fillers are written into the line, which are left
# out of its fields again, so that positions in bytes are positions in characters.

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import UsageError, did_you_mean
from tacit.expressions.dialect import Dialect

PART = "\x1f"  # what parts fields in such a file, as its only column is read: nothing
FILLER = "\x1e"
POSITIONS = ("characters", "bytes")
_FIELDS = ("name", "start", "width", "end", "kind", "decimals")
_LIKE = "layout=[{'name': 'AGE', 'start': 1, 'width': 3, 'kind': 'integer'}]"
_FARTHEST = 1 << 20
_MOST_COLUMNS = 10_000
_MOST_DECIMALS = 18
_WIDE = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True)
class FixedColumn:
    """A column of a file of fixed positions.

    >>> FixedColumn("AGE", 57, 59).width
    3
    """

    name: str
    start: int  # of its first character in a line, from 1
    end: int  # of its last character
    kind: str | None = None  # as ``types=`` has it
    decimals: int = 0  # how many of its digits are behind a point that is not written

    @property
    def width(self) -> int:
        """The number of its characters."""
        return self.end - self.start + 1

    def describe(self) -> list[int]:
        """Return its positions as plain JSON values, with its decimals where it has some."""
        return [self.start, self.end, *([self.decimals] if self.decimals else [])]


def layout_of(given: Any, kinds: Sequence[str]) -> tuple[FixedColumn, ...]:
    """Return the columns of a layout, each checked.

    >>> layout_of([{"name": "SEX", "start": 4, "end": 4}], ["integer"])
    (FixedColumn(name='SEX', start=4, end=4, kind=None, decimals=0),)
    """
    if not isinstance(given, (list, tuple)) or not given:
        raise UsageError(f"layout= lists the columns of a file of fixed width, as in {_LIKE}")
    if len(given) > _MOST_COLUMNS:
        raise UsageError(f"a layout has at most {_MOST_COLUMNS} columns")
    columns = tuple(
        one if isinstance(one, FixedColumn) else _column(one, number, kinds)
        for number, one in enumerate(given, 1)
    )
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 500 else []
    if len({*names}) < len(names):
        raise UsageError(
            f"layout= names {twice[0]!r} twice" if twice else "layout= has a name twice"
        )
    return columns


def _column(given: Any, number: int, kinds: Sequence[str]) -> FixedColumn:
    if not isinstance(given, Mapping):
        raise UsageError(f"column {number} of layout= is a table of its fields, as in {_LIKE}")
    name = given.get("name")
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"column {number} of layout= has no name, as in {_LIKE}")
    where = f"{name!r} of layout="
    for field in given:
        if field not in _FIELDS:
            raise UsageError(f"{where} has {field!r}; {did_you_mean(str(field), _FIELDS)}")
    start, width, end, decimals = (
        _whole(given.get(field), f"{field} of {where}", least)
        for field, least in (("start", 1), ("width", 1), ("end", 1), ("decimals", 0))
    )
    if start is None or (width is None) == (end is None):
        raise UsageError(f"{where} needs its start, and either its width or its end")
    last = end if end is not None else start + int(width or 0) - 1
    if last < start:
        raise UsageError(f"{where} starts at {start} and ends before, at {last}")
    if last > _FARTHEST:
        raise UsageError(f"{where} ends at {last}, and a line has at most {_FARTHEST} characters")
    kind = given.get("kind")
    if kind is not None and kind not in kinds:
        raise UsageError(f"the kind {kind!r} of {where}: {did_you_mean(str(kind), kinds)}")
    if decimals:
        if kind not in (None, "float"):
            raise UsageError(f"{where} has decimals, and its kind is {kind!r}: declare it as float")
        if decimals > _MOST_DECIMALS:
            raise UsageError(f"{where} has at most {_MOST_DECIMALS} decimals")
        kind = "float"
    return FixedColumn(name, start, last, kind, decimals or 0)


def _whole(value: Any, where: str, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{where} is a whole number of at least {least}")
    return value


def field_sql(line: str, column: FixedColumn, positions: str, d: Dialect) -> str:
    """Return the SQL of the text of a field; missing where it is blank."""
    part = f"substr({line}, {column.start}, {column.width})"
    if positions == "bytes":
        part = f"replace({part}, {d.literal(FILLER)}, '')"
    return f"nullif(trim({part}, ' '), '')"


def scaled_sql(number: str, text: str, column: FixedColumn, point: str, d: Dialect) -> str:
    """Return the SQL of a number whose point is not written; one that has a point keeps it."""
    # A whole number and a power of ten that doubles hold exactly have a quotient that is the double
    # nearest to the decimal number, as reading it with its point would give.
    if not column.decimals:
        return number
    scale, has = d.literal(float(10**column.decimals)), f"contains({text}, {d.literal(point)})"
    return f"(case when {has} then {number} else {number} / {scale} end)"


def by_bytes(block: bytes) -> bytes:
    """Return lines in UTF-8 in which each character takes as many positions as it has bytes.

    >>> by_bytes("Zoë 9".encode()).decode() == f"Zoë{FILLER} 9"
    True
    """
    if block.isascii():
        return block
    text = block.decode("utf-8", "surrogateescape")  # a byte of no text is a character of its own
    wide = _WIDE.sub(
        lambda m: m[0] + FILLER * (len(m[0].encode("utf-8", "surrogateescape")) - 1), text
    )
    return wide.encode("utf-8", "surrogateescape")
