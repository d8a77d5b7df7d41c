"""Which kind of a column of text keeps what its cells say: how they are written, counted.

A kind is suggested where every cell is the canonical writing of its value, so that no two cells
that differ become one value: then declaring the kind loses nothing.  Numbers with leading zeros
(``01001``), with more digits than a double has, in two writings (``250`` and ``250.0``, ``250.0``
and ``250.00``), with a power of ten (``12E3``), and words that may be codes (a column of only
``NO``) stay text.

*Why nothing is lost.*  Within each of the styles below, the text of a cell, without spaces around
it, is a function of the value that is read, hence no two texts have one value: whole numbers of at
most 18 digits without leading zeros; decimals that are what a double is written as (in one style
``1.0``, in the other ``1``, never both in a column); decimals of at most 15 digits, all with the
same number of places; days; times down to the second, all
in one writing; and for truth values one writing each for
true and for false.  Where this does not follow from the writing, of times with offsets and of dates
and times in a format of their own, it is counted: as many texts as values.  Cells such as ``NA``
that say that nothing is known are missing in every kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.expressions.dialect import Dialect
from tacit.tables.engines.csv.format import CsvFormat

__all__ = ["KINDS", "Writing", "writing_sql"]

KINDS = ("integer", "float", "date", "timestamp", "boolean")
_UNKNOWN = ("", "na", "n/a", "nan", "null", "none", ".", "-", "?")
_WHOLE = "(0|-?[1-9][0-9]{0,17})"
_FIXED = "-?(0|[1-9][0-9]{0,14})[.][0-9]{1,15}"
_SECONDS = "[^.]*([.]0+([^0-9].*)?)?"
_OFFSET = ".{11}.*[+-].*"


@dataclass(frozen=True)
class Writing:
    """How many cells of a column are written in each style; exact counts: not private.

    Attributes:
        unknown: those that say that nothing is known.
        whole: whole numbers.
        shortest: decimals as a double is written, ``1.0``.
        general: the same, whole numbers without a point, ``1``.
        fixed: decimals with any number of places.
        fewest, most: the least and the greatest number of places among these.
        days: days without a time.
        merged_days: how many texts of them are the day of another one.
        seconds: days and times without fractions of a second.
        merged_seconds: how many texts of them are the second of another one.
        clocks: in how many writings these are: with and without seconds, with a space or a ``T``,
            with and without an offset.
        true, false: truth values.
        writings: how many texts are written for them.
    """

    unknown: int
    whole: int
    shortest: int
    general: int
    fixed: int
    fewest: int
    most: int
    days: int
    merged_days: int
    seconds: int
    merged_seconds: int
    clocks: int
    true: int
    false: int
    writings: int

    def restored(self, kind: str) -> int:
        """Return how many cells are read as a kind, and can be written again as they were."""
        fixed = self.fixed if self.fewest == self.most else 0
        return {
            "integer": self.whole,
            "float": max(self.shortest, self.general, fixed),
            "date": 0 if self.merged_days else self.days,
            "timestamp": self.seconds if self.clocks == 1 and not self.merged_seconds else 0,
            "boolean": self.true + self.false if self.true and self.false else 0,
        }[kind]

    def suggestion(self, filled: int) -> str | None:
        """Return the first kind that restores every cell that says something, else text."""
        told = filled - self.unknown
        if not filled:
            return None
        kinds = [kind for kind in KINDS if told and self.restored(kind) == told]
        if kinds[:1] == ["boolean"] and self.writings > 2:
            return "text"
        return kinds[0] if kinds else "text"


def writing_sql(form: CsvFormat, d: Dialect) -> list[str]:
    """Return the SQL of the counts of :class:`Writing`, in their order.

    They are of rows with a ``cell``, its ``text`` without spaces around it, and its value as each
    kind: ``as_integer``, ``as_float`` ...

    Args:
        form: how dates and times are written; in a format of their own, each that fits it counts.
        d: DuckDB's dialect.
    """
    day = "true" if form.date_format else "length(text) = 10"
    second = "true" if form.time_format else _like(_SECONDS, d)
    timed = f"{second} and as_timestamp is not null"
    shape = "translate(substr(text, 11), '123456789-', '000000000+')"
    form_of_time = "0" if form.time_format else shape
    own_day = "as_date is not null" if form.date_format else "false"
    own_time = timed if form.time_format else f"{timed} and {_like(_OFFSET, d)}"
    again, known = d.cast("as_float", "text"), "count(cell) filter"
    unknown = ", ".join(map(d.literal, _UNKNOWN))
    signed = "not (as_float = 0 and left(text, 1) = '-')"  # there is one zero
    fixed = f"{signed} and {_like(_FIXED, d)} and length(replace(text, '-', '')) <= 16"
    places = f"case when {fixed} then length(split_part(text, '.', 2)) end"
    return [
        f"{known} (where lower(text) in ({unknown}))",
        f"{known} (where as_integer is not null and {_like(_WHOLE, d)})",
        f"{known} (where {signed} and {again} = text)",
        f"{known} (where {signed} and replace({again} || ' ', '.0 ', ' ') = text || ' ')",
        f"{known} (where {fixed})",
        f"coalesce(min({places}), 0)",
        f"coalesce(max({places}), 0)",
        f"{known} (where {day} and as_date is not null)",
        _merged(own_day, "as_date"),
        f"{known} (where {timed})",
        _merged(own_time, "as_timestamp"),
        f"count(distinct case when {timed} then {form_of_time} end)",
        f"{known} (where as_boolean)",
        f"{known} (where not as_boolean)",
        "count(distinct case when as_boolean is not null then text end)",
    ]


def _merged(which: str, value: str) -> str:
    texts, values = (f"count(distinct case when {which} then {x} end)" for x in ("text", value))
    return f"{texts} - {values}"


def _like(pattern: str, d: Dialect) -> str:
    return d.matches.format(x="text", p=d.literal(d.whole.format(p=pattern)))
