"""Dialects of SQL: how an engine writes what all of them mean."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import show
from tacit.errors import UsageError

# Everything that differs between SQL engines, in one frozen object.
#
# The plan of :mod:`tacit.tables.query.integer_query` is text.  Names go into it only through
# :meth:`Dialect.identifier`, values only through :meth:`Dialect.literal`; nothing else that a user
# wrote reaches an engine.


_INT64 = 1 << 63
_WIDE = 1 << 126
_NEAR = 1 << 61
# Whole numbers, digits and powers of ten up to which all are doubles.
_EXACT, _DIGITS, _TENS = 1 << 53, 15, 22
_SHORT = 1500  # characters of SQL that are rather repeated than named
# The most bytes of a text that names people or groups: a longer one is missing.
LONGEST_NAME = 1 << 16


@dataclass(frozen=True)
class Dialect:
    """How one engine spells what the integer plan needs; the defaults are those of DuckDB.

    >>> print(Dialect("duckdb").identifier('a "b" c'))
    "a ""b"" c"
    """

    name: str
    quote: str = '"'  # the character around an identifier, doubled inside
    # integer, wide, double, text, date, timestamp, boolean: names of types, for :meth:`cast`;
    # ``wide`` is exact to 126 bits, a ``timestamp`` has no zone
    integer: str = "bigint"
    small: str = "uinteger"  # the smallest type that holds 0 to 2^31
    # a double ``{x}`` that is whole as an integer, in a form that no value makes fail; None where
    # there is none
    try_integer: str | None = "try_cast({x} as bigint)"
    # a whole number ``{x}`` as one of 0 to 255, by which the engine groups faster than it joins,
    # and NULL for others; None where there is no such type
    byte: str | None = "try_cast({x} as utinyint)"
    # a whole number ``{x}`` of 0 to ``{n} - 1``, in a form in which the engine sees that it is one,
    # and groups by its index in an array; None where there is no such form
    below: str | None = "(cast({x} as uinteger) % cast({n} as uinteger))"
    wide: str = "hugeint"
    double: str = "double"
    text: str = "varchar"
    # text ``{x}``, compared by its characters, whatever its collation says
    as_is: str = "({x} collate C)"
    unicode: str = "{x}"  # text ``{x}``, or NULL where its bytes are no text in Unicode
    # whether a float ``{x}`` is no NaN; for a missing one false, true or NULL
    number: str = "{x} <= cast('Infinity' as {double})"  # to engines NaN is above infinity
    bytes: str = "strlen({x})"  # how many bytes a text ``{x}`` takes, asked without looking at them
    nul: bool = True  # whether text may hold the character NUL
    compares_any_length: bool = True  # whether comparing texts, however long, cannot fail
    date: str = "date"
    timestamp: str = "timestamp"
    boolean: str = "boolean"
    # quotient of 64-bit integers ``{x}`` and ``{y}``, both at least zero
    floor_divide: str = "({x} // {y})"
    wide_divide: str = "({x} // {y})"  # the same where one of them is wide
    shift_right: str = "(({x}) >> {n})"  # ``{x} >> {n}`` of an integer at least zero
    starts_with: str = "starts_with({x}, {y})"  # whether text ``{x}`` begins with ``{y}``
    # whether text ``{x}`` ends with ``{y}``, which has ``{n}`` characters
    ends_with: str = "ends_with({x}, {y})"
    contains: str = "contains({x}, {y})"  # whether ``{y}`` stands in text ``{x}``
    # in a pattern of :attr:`matches`, any characters and then ``{s}``, in a form that is tried at
    # one place only; empty where the engine's own LIKE does so
    like_any: str = ".*?{s}"
    total: str = "sum({x})"  # the exact sum of 64-bit integers ``{x}``
    wide_total: str = "sum({x})"  # the exact sum of wide integers ``{x}``
    short_total: str | None = None  # that of integers of at most 2^20, where it can be had for less
    # the sum of integers ``{x}`` of at most 2^41, 0 for none, as an integer of 64 bits: exact
    # within 2^61, else a number of its sign that is beyond 2^61.  None where ``total`` costs no
    # more.
    near_total: str | None = None
    zero_or_one: str = "cast({x} as bigint)"  # the whole number of a boolean ``{x}``
    # whether ``{x}`` and ``{y}`` are equal or both NULL, in a form that a join can hash;
    # ``{filler}`` is some value of their type
    same: str = "{x} is not distinct from {y}"
    # a query ``{sql}`` of rows with people, whose columns are computed once a row, however often
    # they are used
    fence: str = "{sql}"
    # the people ``u`` of ``{rows}`` in the order in which numbers are counted fastest
    ordered: str = "{rows}"
    # the query ``{sql}`` of some people ``v`` and what their rows have ``lost``, in a form in which
    # the engine sees that it is they who are kept, and rows looked up among them
    few: str = "{sql}"
    meets: str = "{x} = {y}"  # that test of a row's person ``{x}`` and one of those, ``{y}``
    # whether it is cheaper to read the rows of people beyond the limit once more than to look up
    # everybody while all rows are read
    apart: bool = True
    once: str = ""  # the hint that a named subquery is made once
    # ``{body}``, in which ``tacit_v`` stands for the value ``{x}``, which is computed once
    let: str = "[{body} for tacit_v in [{x}]][1]"
    # whole seconds since 1970 (UTC) of a timestamp ``{x}``, rounded down; NULL where it is NULL or
    # infinite
    seconds: str = "datediff('second', timestamp '1970-01-01', {x})"
    # days since 1970 of a date ``{x}``; NULL where it is NULL, beyond all or NULL where it is
    # infinite
    days: str = "({x} - date '1970-01-01')"
    # the date that many days ``{x}`` after 1 January 1970, of the years 1 to 9999
    date_of: str = "(date '1970-01-01' + cast({x} as integer))"
    # the part of ``{n}``, from 0 on, that a person ``{x}`` belongs to; None where the engine itself
    # divides the work as its memory needs it
    part: str | None = "hash({x}, 1) % {n}"
    # of a person ``{x}`` who is a whole number of 64 bits: the rest of a division by ``{n}``, and
    # the quotient, rounded down
    rest: str = "(({x} % cast({n} as bigint) + cast({n} as bigint)) % cast({n} as bigint))"
    quotient: str = "({x} // cast({n} as bigint) - cast({x} % cast({n} as bigint) < 0 as bigint))"
    # the set of whole numbers ``{x}`` from 0 to 61 as the bits of one of 64; None where the engine
    # has no such aggregate, or no lists to draw some of them from
    set_of: str | None = "bit_or(cast(1 as bigint) << cast({x} as bigint))"
    # whether the text ``{x}`` fits a pattern ``{p}`` of at most 100 characters
    matches: str = "regexp_full_match({x}, {p})"
    whole: str = "{p}"  # a pattern ``{p}`` that is to fit the whole text
    # whether a number of more digits than a double has is cast to one inexactly
    rounds_twice: bool = False
    # the types of times that reach beyond those that it computes with
    far_times: tuple[str, ...] = ()
    # text whose UTF-8 is ``{x}``, in hexadecimal; None for text in quotes
    hexadecimal: str | None = None
    # whether the engine keeps rows for the next query, rather than a query for them
    keeps: bool = False
    # whether rows stand once in a statement, for an engine that cannot promise to keep a named
    # subquery
    one_scan: bool = False
    # the most bytes of the name of a column, where longer ones are cut off, so that two could
    # become one; None where there is no end
    longest: int | None = None

    def column(self, name: str) -> str:
        """Return a column of the table, as ``tacit_rows`` has it and nothing else in a query."""
        return f"tacit_rows.{self.identifier(name)}"

    def identifier(self, name: str) -> str:
        """Return a quoted name, whatever characters it has."""
        if "\0" in name or not is_unicode(name):
            raise UsageError(
                "a column or table's name cannot hold the character NUL or half of a character "
                "(a lone surrogate)"
            )
        if self.longest is not None and len(name.encode()) > self.longest:
            raise UsageError(
                f"{name!r} is longer than the {self.longest} bytes that {self.name} allows for a "
                "name: choose a shorter one; a view can rename a column of a joined table"
            )
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def literal(self, value: object) -> str:
        """Write a public value: None, a bool, an integer, a float, text or a date.

        >>> write = Dialect("duckdb").literal
        >>> write("it's"), write(3), write(0.5)
        ("'it''s'", 'cast(3 as bigint)', "cast('0.5' as double)")
        """
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, float) and not math.isnan(value):
            return f"cast('{float(value)!r}' as {self.double})"
        if isinstance(value, str) and is_unicode(value):
            if "\0" in value and not self.nul:
                raise UsageError(
                    f"text in {self.name} cannot hold the character NUL: leave such a key out"
                )
            if self.hexadecimal is not None:
                return self.hexadecimal.format(x=value.encode().hex())
            texts = ["'" + text.replace("'", "''") + "'" for text in value.split("\0")]
            return texts[0] if len(texts) == 1 else f"({' || chr(0) || '.join(texts)})"
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            return f"cast('{value.isoformat()}' as {self.date})"
        raise UsageError(f"a {type(value).__name__} such as {value!r} cannot be written in a query")

    def _integer(self, value: int) -> str:
        if -_INT64 < value < _INT64:
            return f"cast({value} as {self.integer})"
        if -_WIDE < value < _WIDE:
            return f"cast('{value}' as {self.wide})"
        raise UsageError(f"the whole number {value} is too large: at most 126 bits are exact")

    def cast(self, sql: str, kind: str) -> str:
        """Return ``sql`` cast to a type named by one of the attributes above."""
        plain = f"cast({sql} as {getattr(self, kind)})"
        return self.as_is.format(x=plain) if kind == "text" else plain

    def divide(self, x: str, y: str, *, wide: bool = True) -> str:
        """Return the quotient, rounded down, of two integers at least zero."""
        return (self.wide_divide if wide else self.floor_divide).format(x=x, y=y)

    def sum(self, x: str, kind: str) -> str:
        """Return the exact sum of whole numbers: ``small`` (at most 2^20), integer or wide."""
        short = self.short_total if kind == "small" else None
        return (short or (self.wide_total if kind == "wide" else self.total)).format(x=x)

    def near_sum(self, x: str, limit: int) -> str | None:
        """A sum of 64 bits that is exact within ``limit``, and beyond it where the sum is."""
        # The integers are at most ``limit`` / 2^20 in absolute value, so at most 2^41: their upper
        # 21 bits add up to at most 2^60 over 2^40 rows, and so do the lower.  None where the engine
        # has no such sum, or needs none.
        return self.near_total.format(x=x) if self.near_total and limit <= _NEAR else None

    def shift(self, x: str, n: int) -> str:
        """Return an integer at least zero without its last ``n`` bits."""
        return self.shift_right.format(x=x, n=n) if n else x

    def share(self, sql: str, body: Callable[[str], str]) -> str:
        """Return a formula in which a value stands several times, a costly one written out once."""
        # Otherwise an expression of n operations, each within the next, would have 3^n parts.
        if self.is_cheap(sql):
            return body(sql)
        return self.let.format(x=sql, body=body("tacit_v"))

    def is_cheap(self, sql: str) -> bool:
        """Return whether to compute a value costs less than to name it."""
        return len(sql) <= _SHORT and self.matches.partition("(")[0] not in sql

    def name_of(self, text: str) -> str:
        """Return a text that names people or groups: missing beyond :data:`LONGEST_NAME`."""
        # So what is put together for a digest, kept in a row or sent to the client is far below
        # what an engine holds (1 GB in PostgreSQL, 2 GB in Spark), in as many columns as a table
        # can have.

        def short(x: str) -> str:
            return f"(case when {self.bytes.format(x=x)} <= {LONGEST_NAME} then {x} end)"

        return self.as_is.format(x=self.share(text, short))

    def to_double(self, sql: str, *, wide: bool = False) -> str:
        """Return the double nearest to a number, which may be a wide integer."""
        # One that is not exact by itself is read from its digits, as all engines do alike.
        if not (wide and self.rounds_twice):
            return self.cast(sql, "double")
        low, high = self.literal(-_EXACT), self.literal(_EXACT)
        return self.share(sql, lambda x: self._digits(x, low, high))

    def decimal_to_double(self, sql: str, declared: str) -> str:
        """Return the double nearest to a decimal of a declared type."""
        # A whole number of at most 2^53 divided by a power of ten of at most 10^22 is rounded once.
        match = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", declared.upper())
        if match is None or not self.rounds_twice or int(match[1]) <= _DIGITS:
            return self.cast(sql, "double")
        digits, places = int(match[1]), int(match[2])
        far = min(_EXACT, 10**digits - 1) if places <= _TENS else 0
        most = f"{far:0{places + 1}d}"
        most = f"{most[: len(most) - places]}.{most[len(most) - places :]}"
        return self._digits(sql, *(f"cast('{sign}{most}' as {declared})" for sign in ("-", "")))

    def _digits(self, sql: str, low: str, high: str) -> str:
        plain, read = self.cast(sql, "double"), self.cast(f"cast({sql} as {self.text})", "double")
        return f"(case when {sql} between {low} and {high} then {plain} else {read} end)"

    def time(self, sql: str, declared: str) -> str:
        """Return a date or time that the engine can compute with: 290,000 years either way."""
        if declared.upper() not in self.far_times:
            return sql
        last, first = (f"cast('290000-01-01{era}' as {declared})" for era in ("", " (BC)"))
        return f"(case when {sql} is not null then greatest(least({sql}, {last}), {first}) end)"

    def not_nan(self, sql: str) -> str:
        """Return a float with NaN made NULL."""
        return f"(case when {self.is_number(sql)} then {sql} end)"

    def is_number(self, sql: str) -> str:
        """Return whether a float is not NaN; of one that is NULL it may be anything."""
        return self.number.format(x=sql, double=self.double)


def is_unicode(text: str) -> bool:
    """Whether text can be written as UTF-8: it holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# The names of the bins between edges.


def bin_names(edges: Sequence[Fraction]) -> list[str]:
    """Name the bins between edges.

    >>> bin_names([Fraction(0), Fraction(1, 2), Fraction(1)])
    ['[0, 0.5)', '[0.5, 1]']
    """
    names = [f"[{show(a)}, {show(b)})" for a, b in itertools.pairwise(edges)]
    return [*names[:-1], names[-1][:-1] + "]"]


# The bin that an offset falls into, in SQL: by division, or by a tree of choices.


def bins_sql(z: str, edges: Sequence[int], dialect: Dialect) -> str:
    """Return the SQL of the bin of an offset that is within the edges, of which the first is 0."""
    # Where all bins are equally wide, the last edge itself is one behind the last bin.
    width = edges[1] - edges[0]
    if any(b - a != width for a, b in itertools.pairwise(edges)):
        return _bin_sql(z, list(edges[1:-1]), 0, dialect)
    if width & (width - 1) == 0:
        return dialect.shift(z, width.bit_length() - 1)
    return dialect.divide(z, dialect.literal(width), wide=False)


def _bin_sql(z: str, cuts: list[int], first: int, dialect: Dialect) -> str:
    """Return the SQL of how many cuts are at or below z: a balanced tree of choices."""
    if not cuts:
        return dialect.literal(first)
    middle = len(cuts) // 2
    below = _bin_sql(z, cuts[:middle], first, dialect)
    above = _bin_sql(z, cuts[middle + 1 :], first + middle + 1, dialect)
    return f"case when {z} < {dialect.literal(cuts[middle])} then {below} else {above} end"


# The text of a double that is the same on every engine, for digests.
#
# Engines write doubles as text each in its own way (``1``, ``1.0``, ``1e10``, ``1.0E10``).  Here a
# double x > 0 has the text ``b.h.f`` with whole numbers b, h and f such that
#
#     ``x = 2^(60 b) (h + f / 2^52)``,  ``1 <= h < 2^60``,  ``0 <= f < 2^52``,
#
# except for numbers below 2^-1020, where b is -18 and h may be zero; a number below zero has the
# word ``minus`` before it, since a sign there would be read as that of b.  It is exact: a product
# with a power of two within the range of doubles is; the fraction of a double is a double; and a
# double of at least 1 has no bits below 2^-52.  So two doubles have one text if and only if they
# are equal.


_WIDTH, _LOWEST, _HIGHEST = 60, -18, 17
_LARGEST = float.fromhex("0x1.fffffffffffffp+1023")


def spelled(x: str, dialect: Dialect) -> str:
    """Return the SQL of the text of a double; NULL where it is NULL."""
    d = dialect
    arms = [f"when abs({x}) > {d.literal(_LARGEST)} then 'infinite'"]
    for block in range(_HIGHEST, _LOWEST, -1):
        first, scale = d.literal(2.0 ** (_WIDTH * block)), d.literal(2.0 ** (-_WIDTH * block))
        arms.append(f"when abs({x}) >= {first} then {_parts(block, f'abs({x}) * {scale}', d)}")
    half = d.literal(2.0 ** (-_WIDTH * _LOWEST // 2))  # the whole scale is beyond all doubles
    arms.append(f"else {_parts(_LOWEST, f'abs({x}) * {half} * {half}', d)}")
    sign = f"case when {x} < {d.literal(0.0)} then 'minus ' else '' end"
    return f"({sign} || case {' '.join(arms)} end)"


def _parts(block: int, scaled: str, d: Dialect) -> str:
    whole, rest = f"floor({scaled})", f"({scaled} - floor({scaled})) * {d.literal(2.0**52)}"
    parts = [d.cast(d.cast(part, "integer"), "text") for part in (whole, rest)]
    return f"'{block}.' || {parts[0]} || '.' || {parts[1]}"


# What a cell of text says where a question needs a number, a date or a truth value.
#
# Each reading is *total*: a cell that fits the grammar has one value, the same on every engine, and
# every other cell is missing.  A cell's value depends on that cell alone.
#
# - **number**: a sign, 1 to 30 digits before the point and up to 30 behind it (at least one digit
#   in all), and an exponent of ten from -249 to 249: ``12``, ``-0.5``, ``.5``, ``1e-3``.  It
#   becomes the nearest double.  No thousands separators, no ``inf``, no ``nan``.
# - **integer**: a sign and 1 to 18 digits, and behind a point nothing but zeros: ``12``, ``12.0``.
# - **date**: ``2024-12-31`` of the years 1 to 9999, and a day that the month has; of a time, as
#   below, the day in UTC.
# - **time**: a date, then a space or ``T``, then ``18:30``, ``18:30:05`` or ``18:30:05.25``, then
#   nothing, `` UTC``, ``Z`` or an offset: ``+01``, ``+0100``, ``+01:00`` or ``+01:00:00``, also
#   after a space.  It is the time in UTC, down to the second; without an offset it is as written.
#   A date alone is its first second, and what an offset moves out of the years 1 to 9999 is
#   missing.
# - **year** and **month**: what an undeclared column is read as in ``year``, and in ``month`` and
#   ``quarter``: a date, or the part of one that says it, ``1980`` and ``1980-05``, or ``1980-05``.
# - **boolean**: ``true``, ``t``, ``yes``, ``y``, ``1`` or ``false``, ``f``, ``no``, ``n``, ``0``,
#   in capitals or not; a number may have a point and zeros behind it, as in ``1.0``.
# - **numeric** and **whole**: what an undeclared column is read as where a number or a whole number
#   is needed: a number or an integer as above, else a boolean, true as 1 and false as 0.  A column
#   of numbers is read as one that is declared so, and a column of booleans likewise.
#
# Up to eight spaces before and behind are left out.  *No cast can raise:* a number of the grammar
# other than zero lies between 10^-279 and 10^279, where doubles have full precision (10^-308 to
# 10^308), so that it neither overflows nor vanishes; 18 digits are below 2^63; a date of the
# grammar is a date of the calendar, and a day is made of seconds only where these are of the
# calendar too. *No cast can differ:* engines and Python round a number to the nearest double, and
# the rest is exact.  A cell of more than 100 characters fits nothing, so that engines look at no
# more than those.


_EDGE = "[ ]{0,8}"
POWER = "([eE][+-]?([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]))?"
NUMBER = "[+-]?([0-9]{1,30}([.][0-9]{0,30})?|[.][0-9]{1,30})" + POWER
_INTEGER = "[+-]?[0-9]{1,18}([.]0{0,18})?"
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DAY = (
    f"({_YEAR}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)"
    f"|(0[13578]|1[02])-31)|{_LEAP}-02-29)"
)
_HOUR, _SIXTY = "([01][0-9]|2[0-3])", "[0-5][0-9]"
_OFFSET = f"[ ]?[+-]{_HOUR}({_SIXTY}|:{_SIXTY}(:{_SIXTY})?)?"
_CLOCK = f"{_HOUR}:{_SIXTY}(:{_SIXTY}([.][0-9]{{1,9}})?)?([ ]?Z|[ ]UTC|{_OFFSET})?"
_TIME = f"{_DAY}([ T]{_CLOCK})?"
_TRUE = "([tT]([rR][uU][eE])?|[yY]([eE][sS])?|1([.]0{0,18})?)"
_FALSE = "([fF]([aA][lL][sS][eE])?|[nN]([oO])?|0([.]0{0,18})?)"

# The kind of each reading; ``read_seconds`` is the whole seconds since 1970 of a time.
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
_PATTERNS = {
    "read_number": NUMBER,
    "read_integer": _INTEGER,
    "read_date": _TIME,
    "read_seconds": _TIME,
}
# Dates without a day, how many characters count, and what makes a date of these.
_PARTIAL = {
    "read_year": (f"{_YEAR}(-(0[1-9]|1[0-2]))?", 4, "-01-01"),
    "read_month": (f"{_YEAR}-(0[1-9]|1[0-2])", 7, "-01"),
}
_OR_BOOLEAN = {"read_numeric": "read_number", "read_whole": "read_integer"}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY_SECONDS = 86400
FIRST_SECOND = (1 - _EPOCH) * _DAY_SECONDS
# Those of the years 1 to 9999, since 1970.
LAST_SECOND = (datetime.date.max.toordinal() - _EPOCH + 1) * _DAY_SECONDS - 1


def is_date(text: str) -> bool:
    """Whether public text is a date as the grammar writes it.

    >>> is_date("2024-02-29"), is_date("2023-02-29"), is_date("20240229")
    (True, False, False)
    """
    return re.fullmatch(_DAY, text) is not None


# ---- in SQL


def reading_sql(name: str, cell: str, d: Dialect) -> str:
    """Return the SQL of a reading of a cell."""
    if name in _PARTIAL:
        pattern, length, rest = _PARTIAL[name]
        day = d.cast(f"(substr(trim({cell}), 1, {length}) || {d.literal(rest)})", "date")
        whole = reading_sql("read_date", cell, d)
        return f"(case when {fits_sql(cell, pattern, d)} then {day} else {whole} end)"
    if name == "read_text":
        return cell
    if name == "read_boolean":
        return f"(case {_truths(cell, 'true', 'false', d)} end)"
    reading = _OR_BOOLEAN.get(name, name)
    value = _VALUES[reading](f"trim({cell})", d)
    branches = f"when {fits_sql(cell, _PATTERNS[reading], d)} then {value}"
    if name != reading:
        one, zero = (d.literal(float(v) if reading == "read_number" else v) for v in (1, 0))
        branches = f"{branches} {_truths(cell, one, zero, d)}"
    return f"(case {branches} end)"


def _truths(cell: str, true: str, false: str, d: Dialect) -> str:
    return (
        f"when {fits_sql(cell, _TRUE, d)} then {true} when {fits_sql(cell, _FALSE, d)} then {false}"
    )


def fits_sql(cell: str, pattern: str, d: Dialect) -> str:
    """Return whether a cell fits a pattern, with up to eight spaces before and behind."""
    return d.matches.format(x=cell, p=d.literal(d.whole.format(p=_EDGE + pattern + _EDGE)))


def _written_day(text: str, d: Dialect) -> str:
    return d.cast(f"substr({text}, 1, 10)", "date")


def _seconds_of(parts: Sequence[str], d: Dialect) -> str:
    """Return the seconds of the digits of hours, minutes and seconds, 0 where none are written."""
    whole = [d.cast(f"('0' || {part})", "integer") for part in parts]
    return " + ".join(f"{n} * {unit}" for n, unit in zip(whole, (3600, 60, 1), strict=True))


# Each text is named as few times as it can be: DuckDB takes its time to plan functions of text, and
# its ``split_part`` names its text twice.


def _offset_sql(text: str, d: Dialect) -> str:
    """Return the seconds of an offset that is written."""
    # behind the date a sign is that of the offset; a colon may stand between its digits or not
    digits = f"replace(split_part(replace(substr({text}, 12), '-', '+'), '+', 2), ':', '')"
    written = _seconds_of([f"substr({digits}, {at}, 2)" for at in (1, 3, 5)], d)
    behind = f"substr({text}, 12)"
    west = f"replace({behind}, '-', '') <> {behind}"
    return f"(({written}) * (case when {west} then {d.literal(-1)} else {d.literal(1)} end))"


def _moment_sql(text: str, d: Dialect) -> str:
    """Return the seconds since 1970 of a time as it is written, its offset left out."""
    second = f"(case when substr({text}, 17, 1) = ':' then substr({text}, 18, 2) else '' end)"
    since = _seconds_of([f"substr({text}, 12, 2)", f"substr({text}, 15, 2)", second], d)
    days = d.cast(d.days.format(x=_written_day(text, d)), "integer")
    return f"({days} * {_DAY_SECONDS} + {since})"


def _moved(text: str, plain: str, value: str, d: Dialect) -> str:
    """Return a value of the seconds ``tacit_v`` of a time with an offset, else the plain one."""
    first, last = d.literal(FIRST_SECOND), d.literal(LAST_SECOND)
    checked = f"(case when tacit_v between {first} and {last} then {value} end)"
    with_offset = d.let.format(x=f"({_moment_sql(text, d)} - {_offset_sql(text, d)})", body=checked)
    clock = f"substr({text}, 12)"
    has_offset = f"replace(replace({clock}, '+', ''), '-', '') <> {clock}"
    return f"(case when {has_offset} then {with_offset} else {plain} end)"


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
