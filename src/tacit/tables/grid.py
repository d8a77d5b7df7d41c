"""The public grid that values are put on before they are summed.

A value x becomes the integer q = floor(x 2^p + 1/2), held inside [q_lower, q_upper], and is
carried as the offset z = q - q_lower, an integer in 0..cells.

*Theorem.*  Whatever x is and whatever floating point did on the way, z is missing or an integer in
0..cells.  *Proof.*  The last step of the plan clips z as an integer.  So every sensitivity that
follows rests on integers alone; the float steps before it only decide how close q 2^-p is to x.

*Accuracy.*  For |x| 2^p at most 2^51 the product is exact, the sum with 1/2 is exact, and so
|q 2^-p - x| <= 2^-p / 2 for every x within the bounds.

*Order.*  The map is monotone, so x <= y gives z(x) <= z(y): ranks and bins survive it.

Integer columns never pass through a float: they are clipped as integers, then scaled.  Decimals are
split into a whole part, treated so, and a fraction below 1 of at most 15 digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import UsageError
from tacit.exact import Number, as_fraction, show
from tacit.tables.dialect import Dialect

__all__ = ["Grid"]

_EXACT_DOUBLE = 51  # bits of q that leave room for the half in a double


def _round(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


@dataclass(frozen=True)
class Grid:
    """Bounds, and a step of 2^-``exponent`` between neighbouring points.

    Attributes:
        lower, upper: the bounds as given, exact.
        exponent: p; the step is 2^-p (p below zero: a step above 1).

    >>> grid = Grid.for_bounds(0, 100, whole=True)
    >>> grid.step, grid.cells, grid.offset(17), grid.value(17)
    (Fraction(1, 1), 100, 17, Fraction(17, 1))
    """

    lower: Fraction
    upper: Fraction
    exponent: int

    @classmethod
    def for_bounds(
        cls, lower: Number, upper: Number, *, bits: int = 31, whole: bool = False
    ) -> Grid:
        """Return the finest grid with at most 2^``bits`` cells between the bounds.

        With the default of 31 bits the rounding of a sum of n values is below n 2^-32 of the
        width U - L: less than the noise, of scale (U - L)/epsilon, for n below 2^32/epsilon even if
        every value rounds the same way.

        Args:
            lower: the public lower bound.
            upper: the public upper bound, above it.
            bits: at most this many bits for an offset, 1 to 31.
            whole: the column holds whole numbers: no step below 1 where the bounds are whole.

        Raises:
            UsageError: bounds reversed or equal, or beyond what a double can carry.
        """
        low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
        if low >= high:
            raise UsageError(
                f"the lower bound must be below the upper bound, not {show(low)} and {show(high)}"
            )
        if not 1 <= bits <= 31:
            raise UsageError(f"a grid has 1 to 31 bits, not {bits}")
        integral = whole and low.denominator == high.denominator == 1
        room = _log2_floor(Fraction(1 << bits) / (high - low))
        reach = _log2_floor(Fraction(1 << _EXACT_DOUBLE) / max(abs(low), abs(high)))
        exponent = min(room, 0) if integral else min(room, reach) if not whole else room
        if abs(exponent) > 900:
            raise UsageError(
                f"the bounds {show(low)} and {show(high)} are too close or too far apart: rescale"
            )
        grid = cls(low, high, exponent)
        while grid.cells > 1 << bits:  # both ends may round outward
            grid = cls(low, high, grid.exponent - 1)
        if grid.cells < 1:
            raise UsageError(
                f"the bounds {show(low)} and {show(high)} are closer than a double can tell apart"
            )
        return grid

    @property
    def step(self) -> Fraction:
        """The distance between neighbouring points."""
        return Fraction(2) ** -self.exponent

    @property
    def first(self) -> int:
        """The integer that the lower bound falls on."""
        return _round(self.lower / self.step)

    @property
    def last(self) -> int:
        """The integer that the upper bound falls on."""
        return _round(self.upper / self.step)

    @property
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
        """Return the SQL of the offset of a value: NULL where the value is missing.

        Args:
            value: SQL text; NULL and NaN are missing.
            kind: ``integer``, ``boolean``, ``decimal``, ``float`` or ``missing``.
            dialect: the engine's.
            clamp: whether a float beyond the bounds is at the nearer end, or else missing.
        """
        if kind == "boolean":
            value, kind = dialect.zero_or_one.format(x=value), "integer"
        if kind == "missing":
            return dialect.cast("null", "integer")
        return dialect.share(value, lambda v: self._offset(v, kind, dialect, clamp))

    def _offset(self, value: str, kind: str, dialect: Dialect, clamp: bool) -> str:
        if kind == "float":
            return self._float(value, dialect, clamp)
        point = self._whole(value, dialect) if kind == "integer" else self._decimal(value, dialect)
        offset = self._offset_of(point, dialect)
        # least and greatest skip a NULL: without this guard it would become a bound
        return f"case when {value} is not null then {offset} end"

    def _clip(self, sql: str, low: int, high: int, dialect: Dialect) -> str:
        return f"greatest(least({sql}, {dialect.literal(high)}), {dialect.literal(low)})"

    def _offset_of(self, point: str, dialect: Dialect) -> str:
        """Clip whole units and count them from the first."""
        inside = self._clip(point, self.first, self.last, dialect)
        shifted = f"{inside} - {dialect.literal(self.first)}" if self.first else inside
        return dialect.cast(shifted, "integer")

    def _float(self, value: str, dialect: Dialect, clamp: bool) -> str:
        """Return the offset of a double: its own within the bounds, an end beyond them.

        NaN is above every number in the engines' order, and no greater than nothing: it passes
        none of the three tests.
        """
        high, low = dialect.literal(float(self.upper)), dialect.literal(float(self.lower))
        scale, half = dialect.literal(2.0**self.exponent), dialect.literal(0.5)
        point = f"{value} * {scale} + {half}"
        if self.exponent < 0:
            # the same bits, but for products that vanish, which some engines refuse
            point = f"({value} + {dialect.literal(0.5 / 2.0**self.exponent)}) * {scale}"
        whole = dialect.cast(f"floor({point})", "integer" if self._narrow else "wide")
        within = f"when {value} between {low} and {high} then {self._offset_of(whole, dialect)}"
        top, bottom = dialect.literal(self.cells), dialect.literal(0)
        beyond = (
            f"when {value} > {high} and {dialect.is_number(value)} then {top} "
            f"when {value} < {low} then {bottom}"
        )
        return f"case {within} {beyond if clamp else ''} end"

    @property
    def _narrow(self) -> bool:
        return max(abs(self.first), abs(self.last)) < 1 << 52

    def _whole(self, value: str, dialect: Dialect) -> str:
        """Clip to whole bounds just outside, then scale: exact, as all fits in ``wide``."""
        low, high = self.lower.__floor__(), self.upper.__ceil__()
        clipped = self._clip(value, low, high, dialect)
        if self.exponent == 0:
            return clipped
        if self.exponent > 0:
            narrow = max(abs(low), abs(high)) << self.exponent < 1 << 62
            exact = dialect.cast(clipped, "integer" if narrow else "wide")
            return f"({exact} * {dialect.literal(1 << self.exponent)})"
        # floor(x 2^-m + 1/2) = floor((x - low + half) / 2^m) + low / 2^m for low a multiple of 2^m
        size = 1 << -self.exponent
        base = low // size * size
        raised = f"({dialect.cast(clipped, 'wide')} - {dialect.literal(base - size // 2)})"
        quotient = dialect.divide(raised, dialect.literal(size))
        return f"({quotient} + {dialect.literal(base // size)})"

    def _decimal(self, value: str, dialect: Dialect) -> str:
        whole = dialect.cast(f"floor({value})", "wide")
        if self.exponent < 0:  # the half is a whole number then, and the fraction plays no part
            return self._whole(whole, dialect)
        low, high = self.lower.__floor__() - 1, self.upper.__ceil__()
        fraction = dialect.cast(dialect.fraction.format(x=value), "double")
        scale, half = dialect.literal(2.0**self.exponent), dialect.literal(0.5)
        part = dialect.cast(f"floor({fraction} * {scale} + {half})", "integer")
        scaled = f"{self._clip(whole, low, high, dialect)} * {dialect.literal(1 << self.exponent)}"
        return f"({scaled} + {part})"


def _log2_floor(ratio: Fraction) -> int:
    """Return the largest p with 2^p <= ratio, for a ratio above zero."""
    p = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return p if Fraction(2) ** p <= ratio else p - 1
