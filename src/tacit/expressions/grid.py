"""The public grid: values and times as whole numbers, in SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect

# SQL of whole numbers, each with the interval that it lies in: no engine can overflow on a value.
#
# *Contract.*  On every row a :class:`Whole` is NULL or a whole number in ``low..high``, and its SQL
# computes it in a type that holds the whole interval.  Every operation below derives the interval
# of its result from those of its operands, and chooses the type from it:
#
# - ``integer`` holds 64 bits on every engine, so all of ``-(2^63 - 1) .. 2^63 - 1``;
# - ``wide`` is hugeint (2^127), numeric (131,072 digits) or decimal(38, 0): all of them hold
#   ``-(10^38 - 1) .. 10^38 - 1``, which is the least of the three.
#
# What fits neither is refused while the SQL is made, which reads public facts alone: bounds,
# declared types, the unit of privacy, and the ceiling of :data:`ROWS` rows.  So whether a query can
# be asked never depends on a value, and no sum, product or cast of a query that was made can raise,
# wrap around or become NULL.
#
# *Assumption.*  A table, and what a question reads of it, has at most :data:`ROWS` = 2^40 rows,
# about 10^12.  That is not checked: to count the rows would be a reading of private data, whose
# answer decides what is seen.  A table of more rows is outside the proof: an engine may then raise
# in a sum. Of a person's rows nothing is assumed beside.
#
# A sum of n numbers within ``-m..m`` is within ``-n m..n m``, and so is every partial sum, in
# whatever order and however divided between threads or tasks the engine adds them up.


ROWS = 1 << 40  # a public ceiling on the rows of a table, which the widths of all sums rest on
_INTEGER = (1 << 63) - 1
_WIDE = 10**38 - 1
_SMALL = 1 << 20
_NEAR = (1 << 62) + (1 << 21)  # the most that a sum is that is only near


def type_of(most: int) -> str:
    """Return the type that holds all whole numbers up to ``most`` in absolute value.

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

    >>> Whole("z", 0, 9).most, Whole("z", -12, 9).type
    (9, 'integer')
    """

    sql: str
    # low, high: the interval that it is proven to lie in, where it is not NULL
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

    def clamped_not_null(self, low: int, high: int, dialect: Dialect) -> Whole:
        """Return the number held within public ends; a NULL becomes the upper one."""
        sql = f"greatest(least({self.sql}, {dialect.literal(high)}), {dialect.literal(low)})"
        return Whole(sql, max(self.low, low), min(self.high, high))

    def clamped(self, low: int, high: int, dialect: Dialect) -> Whole:
        """Return the number held within public ends; a NULL stays one."""
        # Where the SQL is a name, which costs nothing to repeat, an engine does this faster.
        ends = f"when {self.sql} > {{0}} then {{0}} when {self.sql} < {{1}} then {{1}}"
        ends = ends.format(dialect.literal(high), dialect.literal(low))
        sql = f"case {ends} else {self.sql} end"
        return Whole(sql, max(self.low, low), min(self.high, high))

    def total(self, dialect: Dialect, most: int | None = None) -> Whole:
        """Return the exact sum over rows, 0 of none."""
        # most: what the sum of the absolute values is proven to be at most; by default what
        #   :data:`ROWS` rows could add up to.
        most = ROWS * self.most if most is None else most
        type_of(most)
        kind = "small" if self.most <= _SMALL else self.type
        sql = f"coalesce({dialect.sum(self.sql, kind)}, 0)"
        return Whole(sql, min(0, -most if self.low < 0 else 0), most)

    def near_total(self, within: int, dialect: Dialect) -> Whole:
        """Return the sum over rows, 0 of none: exact within ``within``, else a number beyond it."""
        # It is for sums of which it does not matter what they are beyond that, and costs less.
        near = None if self.most <= _SMALL else dialect.near_sum(self.sql, within)
        return Whole(near, -_NEAR, _NEAR) if near else self.total(dialect)


def product(factors: Sequence[Whole], dialect: Dialect, most: int | None = None) -> Whole:
    """Return the product of whole numbers, computed in a type that holds it and every factor.

    >>> from tacit.expressions.dialect import Dialect
    >>> z = Whole("z", 0, (1 << 31) - 1)
    >>> product([z, z], Dialect("duckdb")).sql
    'cast(z as bigint) * z'
    """
    # most: what the product is proven to be at most in absolute value, where that is less than the
    #   product of the intervals says.
    low = high = 1
    for factor in factors:
        ends = [a * b for a in (low, high) for b in (factor.low, factor.high)]
        low, high = min(ends), max(ends)
    if most is not None:
        low, high = max(low, -most), min(high, most)
    type_ = type_of(max(-low, high, *(factor.most for factor in factors)))
    first, *rest = factors
    sql = " * ".join([dialect.cast(first.sql, type_), *(factor.sql for factor in rest)])
    result = Whole(sql, low, high)
    return result if result.type == type_ else replace(result, sql=dialect.cast(sql, result.type))


# The public grid that values are put on before they are summed.
#
# A value x becomes the integer q = floor(x 2^p + 1/2), held inside [q_lower, q_upper], and is
# carried as the offset z = q - q_lower, an integer in 0..cells.
#
# *Theorem.*  Whatever x is and whatever floating point did on the way, z is missing or an integer
# in 0..cells.  *Proof.*  Either the last step of the plan clips z as an integer; or x is held
# within the bounds by comparisons, which are exact, and what follows (a product with a power of
# two, a sum with a half, the floor) keeps order however it is rounded, and takes the two bounds to
# ``q_lower`` and ``q_upper`` without any rounding, which is checked on the public bounds.  So every
# sensitivity that follows rests on order and integers alone; the float steps before it only decide
# how close q 2^-p is to x.
#
# *Widths.*  A value is held within the bounds before it is scaled, and each step is a
# :class:`~tacit.expressions.grid.Whole`, whose type is chosen by its interval.  Bounds of
# doubles are within 2^500, of whole numbers within 2^124, and |q| is below 2^63, so that
# ``2^20 2^40 |q|``, the most that weighted sums over 2^40 rows are, is below 2^123 and so below
# 10^38.  Bounds that say otherwise are refused, with the largest that can be held.
#
# *Accuracy.*  For |x| 2^p at most 2^51 the product is exact, the sum with 1/2 is exact, and so
# |q 2^-p - x| <= 2^-p / 2 for every x within the bounds.
#
# *Order.*  The map is monotone, so x <= y gives z(x) <= z(y): ranks and bins survive it.
#
# Integer columns never pass through a float: they are clipped as integers, then scaled.  A decimal
# is the double nearest to it.


_EXACT_DOUBLE = 51  # bits of q that leave room for the half in a double
_EXACT_WHOLE = 62  # bits of a whole number that is put on a grid of fractions
_LARGEST_DOUBLE = 1 << 53  # up to which all whole numbers are doubles
_FAR, _FAR_WHOLE = Fraction(2) ** 500, Fraction(2) ** 124
_MOST = (1 << 63) - 1


def _round(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


@dataclass(frozen=True)
class Grid:
    """Bounds, and a step of 2^-``exponent`` between neighbouring points.

    >>> grid = Grid.for_bounds(0, 100, whole=True)
    >>> grid.step, grid.cells, grid.offset(17), grid.value(17)
    (Fraction(1, 1), 100, 17, Fraction(17, 1))
    """

    # lower, upper: the bounds as given, exact
    lower: Fraction
    upper: Fraction
    exponent: int  # p; the step is 2^-p (p below zero: a step above 1)

    @classmethod
    def for_bounds(
        cls, lower: Number, upper: Number, *, bits: int = 31, whole: bool = False
    ) -> Grid:
        """Return the finest grid with at most 2^``bits`` cells between the bounds."""
        # With the default of 31 bits the rounding of a sum of n values is below n 2^-32 of the
        # width U - L: less than the noise, of scale (U - L)/epsilon, for n below 2^32/epsilon even
        # if every value rounds the same way.
        #
        # whole: the column holds whole numbers: no step below 1 where the bounds are whole.
        ends = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
        return cls._finest(*ends, bits, whole)

    @classmethod
    @lru_cache(maxsize=256)
    def _finest(cls, low: Fraction, high: Fraction, bits: int, whole: bool) -> Grid:
        if low >= high:
            raise UsageError(
                f"the lower bound must be below the upper bound, not {show(low)} and {show(high)}"
            )
        if not 1 <= bits <= 31:
            raise UsageError(f"a grid has 1 to 31 bits, not {bits}")
        integral = whole and low.denominator == high.denominator == 1
        far, largest = max(abs(low), abs(high)), _FAR_WHOLE if whole else _FAR
        if far > largest:
            raise UsageError(
                f"the bounds {show(low)} and {show(high)} are too far from zero: at most "
                f"{'2^124' if whole else '2^500'} ({show(largest)}) can be held; rescale the column"
            )
        room = _log2_floor(Fraction(1 << bits) / (high - low))
        if integral:
            exponent = min(room, 0)
        elif whole:
            exponent = min(room, _EXACT_WHOLE - far.__ceil__().bit_length())
        else:
            exponent = min(room, _log2_floor(Fraction(1 << _EXACT_DOUBLE) / far))
        if exponent > 900:
            raise UsageError(f"the bounds {show(low)} and {show(high)} are too close: rescale")
        grid = cls(low, high, exponent)
        while grid.cells > 1 << bits:  # both ends may round outward
            grid = cls(low, high, grid.exponent - 1)
        if grid.cells < 1:
            raise UsageError(
                f"the bounds {show(low)} and {show(high)} are closer than doubles can distinguish"
            )
        if grid.most > _MOST:
            raise UsageError(
                f"the bounds {show(low)} and {show(high)} are too far from zero for their width: "
                f"in steps of {show(grid.step)}, at most 2^63 - 1 steps "
                f"({show(_MOST * grid.step)}) can be held, so that a sum of any rows can: shift "
                "the column, or give wider bounds"
            )
        return grid

    @cached_property
    def most(self) -> int:
        """The most that a point is in absolute value, in steps."""
        return max(abs(self.first), abs(self.last))

    @cached_property
    def step(self) -> Fraction:
        """The distance between neighbouring points."""
        return Fraction(2) ** -self.exponent

    @cached_property
    def first(self) -> int:
        """The integer that the lower bound falls on."""
        return _round(self.lower / self.step)

    @cached_property
    def last(self) -> int:
        """The integer that the upper bound falls on."""
        return _round(self.upper / self.step)

    @cached_property
    def cells(self) -> int:
        """The width in steps: the largest offset."""
        return self.last - self.first

    def value(self, offset: int | Fraction) -> Fraction:
        """Return the number at an offset from the first point."""
        return (self.first + offset) * self.step

    def offset(self, number: Number) -> int:
        """Return the offset of a public number (an edge, a candidate), clipped to the grid."""
        return min(max(_round(as_fraction(number) / self.step), self.first), self.last) - self.first

    def sql(self, value: str, kind: str, dialect: Dialect, *, clamp: bool = True) -> str:
        """Return the SQL of the offset of a value: NULL where the value is missing."""
        # clamp: whether a value beyond the bounds is at the nearer end, or else missing.
        if kind == "boolean":
            value, kind = dialect.zero_or_one.format(x=value), "integer"
        if kind == "missing":
            return dialect.cast("null", "integer")
        offset = self._float if kind == "float" else self._whole
        return dialect.share(value, lambda v: offset(v, dialect, clamp))

    def sql_where(
        self, value: str, kind: str, dialect: Dialect, *, clamp: bool = True, cut: int = 0
    ) -> tuple[str, str] | None:
        """Return a test of rows, and the SQL of the offset where it passes, less ``cut`` bits."""
        # They are the rows where :meth:`sql` is not missing.  An engine would compute that in its
        # filter and once more behind it, so the test is of the value.  It may compute the offset of
        # other rows as well, which no value makes fail.  None where it would cost more.
        #
        # *Theorem.*  The offsets are those of :meth:`sql`, divided by 2^k and rounded down.
        # *Proof.*  For floats, what has its floor taken is 2^-k times what has it there: products
        # with powers of two are not rounded, but where they vanish, which the half that is added to
        # them makes the same.  And floor(t 2^-k) is floor(floor(t) 2^-k).  The first point is a
        # multiple of 2^k, or k is 0 until the shift; up to 2^53 its difference is exact in doubles.
        if dialect.try_integer is None or not dialect.is_cheap(value):
            return None
        if kind == "integer":
            test = self._whole_test(value, dialect, clamp)
            return test, dialect.shift(self._whole(value, dialect, clamp), cut)
        if kind != "float" or not self._keeps_ends or self.most > _LARGEST_DOUBLE:
            return None
        high, low = dialect.literal(float(self.upper)), dialect.literal(float(self.lower))
        done = 0 if self.first % (1 << cut) else cut
        first = self.first >> done
        if clamp:
            test = dialect.is_number(value)
            held = f"case when {value} > {high} then {high} when {value} < {low} then {low}"
            floor = self._floor_sql(f"({held} else {value} end)", dialect, done)
        else:
            test, floor = f"{value} between {low} and {high}", self._floor_sql(value, dialect, done)
        offset = f"{floor} - {dialect.literal(float(first))}" if first else floor
        return test, dialect.shift(dialect.try_integer.format(x=offset), cut - done)

    def _offset_of(self, point: Whole, dialect: Dialect) -> str:
        """Clip whole units and count them from the first."""
        if not self.first <= point.low <= point.high <= self.last:
            point = point.clamped_not_null(self.first, self.last, dialect)
        if not self.first:
            return dialect.cast(point.sql, "integer")
        return point.plus(-self.first, dialect).sql

    def _float(self, value: str, dialect: Dialect, clamp: bool) -> str:
        """Return the offset of a double: its own within the bounds, an end beyond them."""
        # NaN is above every number in the engines' order, and no greater than nothing: it passes
        # none of the three tests.  Within the bounds the floor is at most 2^62 in size, and so fits
        # the cast; scaled down, nothing is so small that it vanishes, which some engines refuse.
        if self.most > 1 << _EXACT_WHOLE:
            raise UsageError("the grid is finer than doubles of this size: give wider bounds")
        high, low = dialect.literal(float(self.upper)), dialect.literal(float(self.lower))
        if self._keeps_ends:
            test = f"when {value} between {low} and {high} then {value}"
            if clamp:  # engines are faster with few and short branches
                test = (
                    f"when {value} > {high} then (case when {dialect.is_number(value)} then {high} "
                    f"end) when {value} < {low} then {low} else {value}"
                )
            point = self._point_sql(f"(case {test} end)", dialect)
            return self._offset_of(Whole(point, self.first, self.last), dialect)
        most = (1 << _EXACT_WHOLE) + 1
        whole = Whole(self._point_sql(value, dialect), -most, most)
        within = f"when {value} between {low} and {high} then {self._offset_of(whole, dialect)}"
        top, bottom = dialect.literal(self.cells), dialect.literal(0)
        beyond = (
            f"when {value} > {high} and {dialect.is_number(value)} then {top} "
            f"when {value} < {low} then {bottom}"
        )
        return f"case {within} {beyond if clamp else ''} end"

    def _point_sql(self, value: str, dialect: Dialect) -> str:
        """Return the SQL of the point of a double within the bounds."""
        return dialect.cast(self._floor_sql(value, dialect), "integer")

    def _floor_sql(self, value: str, dialect: Dialect, cut: int = 0) -> str:
        """Return the SQL of that point as a double, divided by ``2^cut`` and rounded down."""
        scale, half = dialect.literal(2.0 ** (self.exponent - cut)), dialect.literal(0.5 / 2**cut)
        point = f"{value} * {scale} + {half}"
        if self.exponent < 0:  # the same bits, but for products that vanish
            point = f"({value} + {dialect.literal(0.5 / 2.0**self.exponent)}) * {scale}"
        return f"floor({point})"

    @cached_property
    def _keeps_ends(self) -> bool:
        """True if the bounds fall on the ends as they are computed, and nothing is rounded."""
        scale, half = 2.0**self.exponent, 0.5

        def is_at(bound: float, end: int) -> bool:
            point = bound * scale + half
            if self.exponent < 0:
                point = (bound + half / scale) * scale
            exact = Fraction(bound) * Fraction(scale) + Fraction(half)
            return Fraction(point) == exact and math.floor(point) == end

        return is_at(float(self.lower), self.first) and is_at(float(self.upper), self.last)

    def _whole(self, value: str, dialect: Dialect, clamp: bool) -> str:
        """Clip to whole bounds just outside, then scale and clip as points of the grid."""
        low, high = self.lower.__floor__(), self.upper.__ceil__()
        test = self._whole_test(value, dialect, clamp)
        if self._is_named(value):
            if clamp:
                return self._offset_of(Whole(value, low, high).clamped(low, high, dialect), dialect)
            within = f"case when {test} then {value} end"
            return self._offset_of(Whole(within, low, high), dialect)
        clipped = Whole(value, low, high).clamped_not_null(low, high, dialect)
        offset = self._offset_of(self._scaled(clipped, dialect), dialect)
        # least and greatest skip a NULL: it would become a bound
        return f"case when {test} then {offset} end"

    def _is_named(self, value: str) -> bool:
        """Return whether the engine has a whole number by name, and the grid is one of ones."""
        ends = self.lower.__floor__(), self.upper.__ceil__()
        return "(" not in value and (self.exponent, self.first, self.last) == (0, *ends)

    def _whole_test(self, value: str, dialect: Dialect, clamp: bool) -> str:
        """Return whether a whole number has an offset."""
        if clamp:
            return f"{value} is not null"
        ends = self.lower.__ceil__(), self.upper.__floor__()
        if self._is_named(value):
            ends = self.first, self.last
        return "{} between {} and {}".format(value, *map(dialect.literal, ends))

    def _scaled(self, clipped: Whole, dialect: Dialect) -> Whole:
        """Return a whole number as points of the grid."""
        # For ``low`` a multiple of ``2^m``: ``floor(x 2^-m + 1/2) = floor((x - low + half) / 2^m) +
        # low / 2^m``, in which nothing is below zero.
        if self.exponent == 0:
            return clipped
        if self.exponent > 0:
            size = 1 << self.exponent
            return product([clipped, Whole(dialect.literal(size), size, size)], dialect)
        size = 1 << -self.exponent
        base = clipped.low // size * size
        raised = clipped.plus(size // 2 - base, dialect)
        wide = raised.type == "wide" or type_of(size) == "wide"
        quotient = dialect.divide(raised.sql, dialect.literal(size), wide=wide)
        return Whole(quotient, 0, raised.high // size).plus(base // size, dialect)


def _log2_floor(ratio: Fraction) -> int:
    """Return the largest p with 2^p <= ratio, for a ratio above zero."""
    p = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return p if Fraction(2) ** p <= ratio else p - 1
