"""SQL of whole numbers, each with the interval that it lies in: no engine can overflow on a value.

*Contract.*  On every row a :class:`Whole` is NULL or a whole number in ``low..high``, and its SQL
computes it in a type that holds the whole interval.  Every operation below derives the interval of
its result from those of its operands, and chooses the type from it:

- ``integer`` holds 64 bits on every engine, so all of ``-(2^63 - 1) .. 2^63 - 1``;
- ``wide`` is hugeint (2^127), numeric (131,072 digits) or decimal(38, 0): all of them hold
  ``-(10^38 - 1) .. 10^38 - 1``, which is the least of the three.

What fits neither is refused while the SQL is made, which reads public facts alone: bounds, declared
types, the unit of privacy, and the ceiling of :data:`ROWS` rows.  So whether a query can be asked
never depends on a value, and no sum, product or cast of a query that was made can raise, wrap
around or become NULL.

*Assumption.*  A table, and what a question reads of it, has at most :data:`ROWS` = 2^40 rows, about
10^12.  That is not checked: to count the rows would be a reading of private data, whose answer
decides what is seen.  A table of more rows is outside the proof: an engine may then raise in a sum.
Of a person's rows nothing is assumed beside.

A sum of n numbers within ``-m..m`` is within ``-n m..n m``, and so is every partial sum, in
whatever order and however divided between threads or tasks the engine adds them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect

__all__ = ["ROWS", "Whole", "product", "type_of"]

ROWS = 1 << 40
"""A public ceiling on the rows of a table, which the widths of all sums rest on."""
_INTEGER = (1 << 63) - 1
_WIDE = 10**38 - 1
_SMALL = 1 << 20
_NEAR = (1 << 62) + (1 << 21)
"""The most that a sum is that is only near."""


def type_of(most: int) -> str:
    """Return the type that holds all whole numbers up to ``most`` in absolute value.

    Raises:
        UsageError: none does on every engine.

    >>> type_of(5), type_of(1 << 63)
    ('integer', 'wide')
    """
    if most <= _INTEGER:
        return "integer"
    if most <= _WIDE:
        return "wide"
    raise UsageError(
        f"a number of this question may reach {most}, and {_WIDE} is the largest that every engine "
        "adds up exactly: rescale the column, or give bounds nearer to zero"
    )


@dataclass(frozen=True)
class Whole:
    """SQL of a whole number.

    Attributes:
        sql: the text.
        low, high: the interval that it is proven to lie in, where it is not NULL.

    >>> Whole("z", 0, 9).most, Whole("z", -12, 9).type
    (9, 'integer')
    """

    sql: str
    low: int
    high: int

    @property
    def most(self) -> int:
        """The most that it is in absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def type(self) -> str:
        """The type that it is computed in."""
        return type_of(self.most)

    def plus(self, number: int, dialect: Dialect) -> Whole:
        """Return the sum with a public number."""
        if not number:
            return self
        low, high = self.low + number, self.high + number
        type_ = type_of(max(self.most, abs(number), abs(low), abs(high)))
        sql = f"({dialect.cast(self.sql, type_)} + {dialect.literal(number)})"
        return Whole(sql, low, high)

    def size(self) -> Whole:
        """Return the absolute value; that of the type's least number is never asked for."""
        return Whole(f"abs({self.sql})", 0, self.most)

    def held(self, low: int, high: int, dialect: Dialect) -> Whole:
        """Return the number held within public ends; a NULL becomes the upper one."""
        sql = f"greatest(least({self.sql}, {dialect.literal(high)}), {dialect.literal(low)})"
        return Whole(sql, max(self.low, low), min(self.high, high))

    def clamped(self, low: int, high: int, dialect: Dialect) -> Whole:
        """Return the number held within public ends; a NULL stays one.

        Where the SQL is a name, which costs nothing to repeat, an engine does this faster.
        """
        ends = f"when {self.sql} > {{0}} then {{0}} when {self.sql} < {{1}} then {{1}}"
        ends = ends.format(dialect.literal(high), dialect.literal(low))
        sql = f"case {ends} else {self.sql} end"
        return Whole(sql, max(self.low, low), min(self.high, high))

    def total(self, dialect: Dialect, most: int | None = None) -> Whole:
        """Return the exact sum over rows, 0 of none.

        Args:
            dialect: the engine's.
            most: what the sum of the absolute values is proven to be at most; by default what
                :data:`ROWS` rows could add up to.
        """
        most = ROWS * self.most if most is None else most
        type_of(most)
        kind = "small" if self.most <= _SMALL else self.type
        found = f"coalesce({dialect.sum(self.sql, kind)}, 0)"
        return Whole(found, min(0, -most if self.low < 0 else 0), most)

    def near_total(self, within: int, dialect: Dialect) -> Whole:
        """Return the sum over rows, 0 of none: exact within ``within``, else a number beyond it.

        It is for sums of which it does not matter what they are beyond that, and costs less.

        Args:
            within: at least 2^20 times the most that the number is.
            dialect: the engine's.
        """
        near = None if self.most <= _SMALL else dialect.near_sum(self.sql, within)
        return Whole(near, -_NEAR, _NEAR) if near else self.total(dialect)


def product(factors: Sequence[Whole], dialect: Dialect, most: int | None = None) -> Whole:
    """Return the product of whole numbers, computed in a type that holds it and every factor.

    Args:
        factors: what is multiplied.
        dialect: the engine's.
        most: what the product is proven to be at most in absolute value, where that is less than
            the product of the intervals says.

    >>> from tacit.expressions.dialect import Dialect
    >>> z = Whole("z", 0, (1 << 31) - 1)
    >>> product([z, z], Dialect("duckdb")).sql
    'cast(z as bigint) * z'
    """
    low = high = 1
    for factor in factors:
        ends = [a * b for a in (low, high) for b in (factor.low, factor.high)]
        low, high = min(ends), max(ends)
    if most is not None:
        low, high = max(low, -most), min(high, most)
    type_ = type_of(max(-low, high, *(factor.most for factor in factors)))
    first, *rest = factors
    sql = " * ".join([dialect.cast(first.sql, type_), *(factor.sql for factor in rest)])
    found = Whole(sql, low, high)
    return found if found.type == type_ else replace(found, sql=dialect.cast(sql, found.type))
