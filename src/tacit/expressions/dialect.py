"""Everything that differs between SQL engines, in one frozen object.

The plan of :mod:`tacit.tables.query.integer_query` is text.  Names go into it only through
:meth:`Dialect.identifier`, values only through :meth:`Dialect.literal`; nothing else that a user
wrote reaches an engine.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import UsageError

__all__ = ["LONGEST_NAME", "Dialect", "is_unicode"]

_INT64 = 1 << 63
_WIDE = 1 << 126
_NEAR = 1 << 61
_EXACT, _DIGITS, _TENS = 1 << 53, 15, 22
"""Whole numbers, digits and powers of ten up to which all are doubles."""
_SHORT = 1500
"""Characters of SQL that are rather repeated than named."""
LONGEST_NAME = 1 << 16
"""The most bytes of a text that names people or groups: a longer one is missing."""


@dataclass(frozen=True)
class Dialect:
    """How one engine spells what the integer plan needs; the defaults are those of DuckDB.

    Attributes:
        name: the engine.
        quote: the character around an identifier, doubled inside.
        integer, wide, double, text, date, timestamp, boolean: names of types, for :meth:`cast`;
            ``wide`` is exact to 126 bits, a ``timestamp`` has no zone.
        small: the smallest type that holds 0 to 2^31.
        byte: a whole number ``{x}`` as one of 0 to 255, by which the engine groups faster than it
            joins, and NULL for others; None where there is no such type.
        as_is: text ``{x}``, compared by its characters, whatever its collation says.
        unicode: text ``{x}``, or NULL where its bytes are no text in Unicode.
        bytes: how many bytes a text ``{x}`` takes, asked without looking at them.
        nul: whether text may hold the character NUL.
        floor_divide: quotient of 64-bit integers ``{x}`` and ``{y}``, both at least zero.
        wide_divide: the same where one of them is wide.
        shift_right: ``{x} >> {n}`` of an integer at least zero.
        starts_with: whether text ``{x}`` begins with ``{y}``.
        ends_with: whether text ``{x}`` ends with ``{y}``, which has ``{n}`` characters.
        contains: whether ``{y}`` stands in text ``{x}``.
        like_any: in a pattern of :attr:`matches`, any characters and then ``{s}``, in a form that
            is tried at one place only; empty where the engine's own LIKE does so.
        total: the exact sum of 64-bit integers ``{x}``.
        wide_total: the exact sum of wide integers ``{x}``.
        short_total: that of integers of at most 2^20, where it can be had for less.
        near_total: the sum of integers ``{x}`` of at most 2^41, 0 for none, as an integer of 64
            bits: exact within 2^61, else a number of its sign that is beyond 2^61.  None where
            ``total`` costs no more.
        zero_or_one: the whole number of a boolean ``{x}``.
        same: whether ``{x}`` and ``{y}`` are equal or both NULL, in a form that a join can hash;
            ``{filler}`` is some value of their type.
        fence: a query ``{sql}`` of rows with people, whose columns are computed once a row, however
            often they are used.
        ordered: the people ``u`` of ``{rows}`` in the order in which numbers are counted fastest.
        few: the query ``{sql}`` of some people ``v`` and what their rows have ``lost``, in a form
            in which the engine sees that it is they who are kept, and rows looked up among them.
        meets: that test of a row's person ``{x}`` and one of those, ``{y}``.
        apart: whether it is cheaper to read the rows of people beyond the limit once more than to
            look up everybody while all rows are read.
        once: the hint that a named subquery is made once.
        let: ``{body}``, in which ``tacit_v`` stands for the value ``{x}``, which is computed once.
        seconds: whole seconds since 1970 (UTC) of a timestamp ``{x}``, rounded down; NULL where it
            is NULL or infinite.
        days: days since 1970 of a date ``{x}``; NULL where it is NULL, beyond all or NULL where it
            is infinite.
        date_of: the date that many days ``{x}`` after 1 January 1970, of the years 1 to 9999.
        part: whether a person ``{x}`` belongs to part ``{0}`` of ``{1}``; None where the engine
            itself divides the work as its memory needs it.
        matches: whether the text ``{x}`` fits a pattern ``{p}`` of at most 100 characters.
        whole: a pattern ``{p}`` that is to fit the whole text.
        rounds_twice: whether a number of more digits than a double has is cast to one inexactly.
        far_times: the types of times that reach beyond those that it computes with.
        hexadecimal: text whose UTF-8 is ``{x}``, in hexadecimal; None for text in quotes.
        keeps: whether the engine keeps rows for the next query, rather than a query for them.
        one_scan: whether rows stand once in a statement, for an engine that cannot promise to keep
            a named subquery.
        longest: the most bytes of the name of a column, where longer ones are cut off, so that two
            could become one; None where there is no end.

    >>> print(Dialect("duckdb").identifier('a "b" c'))
    "a ""b"" c"
    """

    name: str
    quote: str = '"'
    integer: str = "bigint"
    small: str = "uinteger"
    byte: str | None = "try_cast({x} as utinyint)"
    wide: str = "hugeint"
    double: str = "double"
    text: str = "varchar"
    as_is: str = "({x} collate C)"
    unicode: str = "{x}"
    bytes: str = "strlen({x})"
    nul: bool = True
    date: str = "date"
    timestamp: str = "timestamp"
    boolean: str = "boolean"
    floor_divide: str = "({x} // {y})"
    wide_divide: str = "({x} // {y})"
    shift_right: str = "(({x}) >> {n})"
    starts_with: str = "starts_with({x}, {y})"
    ends_with: str = "ends_with({x}, {y})"
    contains: str = "contains({x}, {y})"
    like_any: str = ".*?{s}"
    total: str = "sum({x})"
    wide_total: str = "sum({x})"
    short_total: str | None = None
    near_total: str | None = None
    zero_or_one: str = "cast({x} as bigint)"
    same: str = "{x} is not distinct from {y}"
    fence: str = "{sql}"
    ordered: str = "{rows}"
    few: str = "{sql}"
    meets: str = "{x} = {y}"
    apart: bool = True
    once: str = ""
    let: str = "[{body} for tacit_v in [{x}]][1]"
    seconds: str = "datediff('second', timestamp '1970-01-01', {x})"
    days: str = "({x} - date '1970-01-01')"
    date_of: str = "(date '1970-01-01' + cast({x} as integer))"
    part: str | None = "hash({x}, 1) % {1} = {0}"
    matches: str = "regexp_full_match({x}, {p})"
    whole: str = "{p}"
    rounds_twice: bool = False
    far_times: tuple[str, ...] = ()
    hexadecimal: str | None = None
    keeps: bool = False
    one_scan: bool = False
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

        Raises:
            UsageError: another type, a NaN, an integer beyond 126 bits.

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
        """Return a sum of 64 bits that is exact within ``limit``, and beyond it where the sum is.

        The integers are at most ``limit`` / 2^20 in absolute value, so at most 2^41: their upper
        21 bits add up to at most 2^60 over 2^40 rows, and so do the lower.  None where the engine
        has no such sum, or needs none.
        """
        return self.near_total.format(x=x) if self.near_total and limit <= _NEAR else None

    def shift(self, x: str, n: int) -> str:
        """Return an integer at least zero without its last ``n`` bits."""
        return self.shift_right.format(x=x, n=n) if n else x

    def share(self, sql: str, body: Callable[[str], str]) -> str:
        """Return a formula in which a value stands several times, a costly one written out once.

        Otherwise an expression of n operations, each within the next, would have 3^n parts.
        """
        if len(sql) <= _SHORT and self.matches.partition("(")[0] not in sql:
            return body(sql)
        return self.let.format(x=sql, body=body("tacit_v"))

    def name_of(self, text: str) -> str:
        """Return a text that names people or groups: missing beyond :data:`LONGEST_NAME`.

        So what is put together for a digest, kept in a row or sent to the client is far below what
        an engine holds (1 GB in PostgreSQL, 2 GB in Spark), in as many columns as a table can have.
        """

        def short(x: str) -> str:
            return f"(case when {self.bytes.format(x=x)} <= {LONGEST_NAME} then {x} end)"

        return self.as_is.format(x=self.share(text, short))

    def to_double(self, sql: str, *, wide: bool = False) -> str:
        """Return the double nearest to a number, which may be a wide integer.

        One that is not exact by itself is read from its digits, as all engines do alike.
        """
        if not (wide and self.rounds_twice):
            return self.cast(sql, "double")
        low, high = self.literal(-_EXACT), self.literal(_EXACT)
        return self.share(sql, lambda x: self._digits(x, low, high))

    def decimal_to_double(self, sql: str, declared: str) -> str:
        """Return the double nearest to a decimal of a declared type.

        A whole number of at most 2^53 divided by a power of ten of at most 10^22 is rounded once.
        """
        found = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", declared.upper())
        if found is None or not self.rounds_twice or int(found[1]) <= _DIGITS:
            return self.cast(sql, "double")
        digits, places = int(found[1]), int(found[2])
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
        """Return whether a float is neither NULL nor NaN: to engines NaN is above infinity."""
        return f"{sql} <= cast('Infinity' as {self.double})"


def is_unicode(text: str) -> bool:
    """Whether text can be written as UTF-8: it holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
