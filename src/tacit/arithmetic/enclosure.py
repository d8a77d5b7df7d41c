"""Certified enclosures: a real number between two fractions.

A delta, a conversion or a square root is irrational; Tacit carries it as an
:class:`Enclosure` whose ends are proven to lie on either side, and rounds toward more
privacy loss only at the end.  :func:`exp`, :func:`log`, :func:`sqrt` and :func:`pi` give
enclosures of any precision by integer arithmetic (:mod:`tacit.arithmetic.fixed_point`).

Each takes an exact number or an :class:`Enclosure`, for all are increasing functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TypeAlias

from tacit.arithmetic.exact import float_up, show_between
from tacit.arithmetic.fixed_point import exp_scaled, log_two, log_unit, pi_fixed
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError

__all__ = [
    "Enclosure",
    "exp",
    "log",
    "pi",
    "sqrt",
]

LARGEST_EXPONENT = 1 << 16
"""Beyond this an exponential has more digits than anyone can use."""


@public
@dataclass(frozen=True, slots=True, repr=False)
class Enclosure:
    """A closed interval with rational ends that certainly contains the exact number.

    Arithmetic with enclosures, integers and fractions gives an enclosure of every possible
    result.  Two enclosures compare only when they do not overlap: see :meth:`below`,
    :meth:`above`.  ``float()`` gives the upper end, rounded up.
    It is written with the digits in which its ends differ, rounded outwards: ``4.8863 to 4.8866``.

    Args:
        lower, upper: the ends; both belong to the interval.

    Raises:
        UsageError: the ends are reversed, a division by an interval that contains zero.

    >>> third = Enclosure.of(Fraction(1, 3))
    >>> third * 3 == Enclosure.of(1)
    True
    >>> x = Enclosure(Fraction(1), Fraction(2))
    >>> 1 - x, x.contains(Fraction(3, 2)), float(x)
    (-1 to 0, True, 2.0)
    """

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise UsageError("an enclosure must have its lower end at or below its upper end")

    @classmethod
    def of(cls, value: Exactly) -> Enclosure:
        """Return ``value`` itself if it is an enclosure, else the point interval.

        Args:
            value: a number, or an enclosure.
        """
        if isinstance(value, Enclosure):
            return value
        point = Fraction(value)
        return cls(point, point)

    @classmethod
    def scaled(cls, low: int, high: int, bits: int) -> Enclosure:
        """Return ``[low / 2**bits, high / 2**bits]``; ``bits`` may be negative.

        Args:
            low: the lower end, in units of ``2**-bits``.
            high: the upper end, likewise.
            bits: how many binary places the ends have.

        >>> Enclosure.scaled(1, 3, 2)
        0.25 to 0.75
        """
        if bits < 0:
            return cls(Fraction(low << -bits), Fraction(high << -bits))
        return cls(Fraction(low, 1 << bits), Fraction(high, 1 << bits))

    @property
    def width(self) -> Fraction:
        """The distance between the ends."""
        return self.upper - self.lower

    @property
    def middle(self) -> Fraction:
        """The midpoint: an estimate, not a bound."""
        return (self.upper + self.lower) / 2

    def contains(self, value: Exactly) -> bool:
        """Whether all of ``value`` lies inside.

        Args:
            value: a number, or an enclosure of one.
        """
        other = Enclosure.of(value)
        return self.lower <= other.lower and other.upper <= self.upper

    def below(self, value: Exactly) -> bool:
        """Whether the number is *certainly* below ``value``.

        Args:
            value: a number, or an enclosure of one.
        """
        return self.upper < Enclosure.of(value).lower

    def above(self, value: Exactly) -> bool:
        """Whether the number is *certainly* above ``value``.

        Args:
            value: a number, or an enclosure of one.
        """
        return self.lower > Enclosure.of(value).upper

    def at_most(self, value: Exactly) -> bool:
        """Whether the number is *certainly* at most ``value``.

        Args:
            value: a number, or an enclosure of one.
        """
        return self.upper <= Enclosure.of(value).lower

    def rounded(self, bits: int = 64) -> Enclosure:
        """Return a slightly wider enclosure whose ends are short: about ``bits`` digits each.

        Args:
            bits: how many digits each end keeps.
        """
        return Enclosure(_short(self.lower, bits, up=False), _short(self.upper, bits, up=True))

    def maximum(self, value: Exactly) -> Enclosure:
        """Enclose the greater of the two numbers.

        Args:
            value: a number, or an enclosure of one.
        """
        other = Enclosure.of(value)
        return Enclosure(max(self.lower, other.lower), max(self.upper, other.upper))

    def minimum(self, value: Exactly) -> Enclosure:
        """Enclose the lesser of the two numbers.

        Args:
            value: a number, or an enclosure of one.
        """
        other = Enclosure.of(value)
        return Enclosure(min(self.lower, other.lower), min(self.upper, other.upper))

    def __repr__(self) -> str:
        return show_between(self.lower, self.upper)

    def __float__(self) -> float:
        return float_up(self.upper)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.upper, -self.lower)

    def __abs__(self) -> Enclosure:
        if self.lower >= 0:
            return self
        return -self if self.upper <= 0 else Enclosure(Fraction(0), max(-self.lower, self.upper))

    def __add__(self, value: Exactly) -> Enclosure:
        other = Enclosure.of(value)
        return Enclosure(self.lower + other.lower, self.upper + other.upper)

    __radd__ = __add__

    def __sub__(self, value: Exactly) -> Enclosure:
        return self + -Enclosure.of(value)

    def __rsub__(self, value: Exactly) -> Enclosure:
        return -self + value

    def __mul__(self, value: Exactly) -> Enclosure:
        other = Enclosure.of(value)
        if self.lower >= 0 and other.lower >= 0:
            return Enclosure(self.lower * other.lower, self.upper * other.upper)
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Enclosure(min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, value: Exactly) -> Enclosure:
        other = Enclosure.of(value)
        if other.lower <= 0 <= other.upper:
            raise UsageError("cannot divide by an enclosure that contains zero")
        return self * Enclosure(1 / other.upper, 1 / other.lower)

    def __rtruediv__(self, value: Exactly) -> Enclosure:
        return Enclosure.of(value) / self

    def __pow__(self, power: int) -> Enclosure:
        """Raise to a whole power that is not negative."""
        if power < 0:
            raise UsageError(f"the power of an enclosure must be at least 0, not {power}")
        if power % 2 == 0 and power and self.lower < 0:
            return abs(self) ** power
        return Enclosure(self.lower**power, self.upper**power)


Exactly: TypeAlias = int | Fraction | Enclosure


def _short(value: Fraction, bits: int, up: bool) -> Fraction:
    """Round to about ``bits`` binary digits, up or down; a value already short is kept."""
    if value == 0:
        return value
    shift = bits - (abs(value.numerator).bit_length() - value.denominator.bit_length())
    numerator, denominator = value.numerator, value.denominator
    if shift >= 0:
        numerator <<= shift
    else:
        denominator <<= -shift
    digits = -(-numerator // denominator) if up else numerator // denominator
    return Enclosure.scaled(digits, digits, shift).lower


def _increasing(function: Callable[[Fraction, int], Enclosure], x: Exactly, bits: int) -> Enclosure:
    if isinstance(x, Enclosure) and x.lower != x.upper:
        return Enclosure(function(x.lower, bits).lower, function(x.upper, bits).upper)
    point = x.lower if isinstance(x, Enclosure) else Fraction(x)
    return function(point, bits)


def _exp(x: Fraction, bits: int) -> Enclosure:
    if x == 0:
        return Enclosure.of(1)
    if x > LARGEST_EXPONENT:
        raise InfeasibleError(f"e**x is enclosed for x up to {LARGEST_EXPONENT} only")
    if x < -LARGEST_EXPONENT:
        return Enclosure.scaled(0, 1, LARGEST_EXPONENT)
    low, high, k = exp_scaled(x.numerator, x.denominator, bits + 4)
    return Enclosure.scaled(low, high, bits + 4 - k)


def _log(x: Fraction, bits: int) -> Enclosure:
    if x <= 0:
        raise UsageError("the logarithm needs a number above zero")
    if x < 1:
        return -_log(1 / x, bits)
    if x == 1:
        return Enclosure.of(0)
    k = x.numerator.bit_length() - x.denominator.bit_length()
    k -= (x.denominator << k) > x.numerator
    # near 1 the logarithm is as small as x - 1: keep the relative precision
    small = (x.denominator // (x.numerator - x.denominator)).bit_length()
    places = bits + 4 + small + k.bit_length()
    low, high = log_unit(x.numerator, x.denominator << k, places)
    two_low, two_high = log_two(places)
    return Enclosure.scaled(low + k * two_low, high + k * two_high, places)


def _sqrt(x: Fraction, bits: int) -> Enclosure:
    if x < 0:
        raise UsageError("the square root needs a number that is not negative")
    if x == 0:
        return Enclosure.of(0)
    # sqrt(n/d) = sqrt(n d)/d, scaled so that the integer root has at least `bits` digits
    product = x.numerator * x.denominator
    shift = max(0, bits + 1 - product.bit_length() // 2)
    root = isqrt(product << (2 * shift))
    exact = root * root == product << (2 * shift)
    scale = x.denominator << shift
    return Enclosure(Fraction(root, scale), Fraction(root if exact else root + 1, scale))


def exp(x: Exactly, bits: int = 64) -> Enclosure:
    """Enclose ``e**x`` with relative width at most ``2**-bits`` (plus that of ``x``).

    Below -65,536 the enclosure is [0, 2**-65536].

    Raises:
        InfeasibleError: ``x`` is above 65,536.

    >>> one = exp(Fraction(1, 2)) * exp(Fraction(-1, 2))
    >>> one.contains(1), one.width < Fraction(1, 2**62)
    (True, True)
    """
    return _increasing(_exp, x, bits)


def log(x: Exactly, bits: int = 64) -> Enclosure:
    """Enclose the natural logarithm with relative width at most ``2**-bits``.

    Raises:
        UsageError: ``x`` is not above zero.

    >>> log(2).contains(0), float(log(2))
    (False, 0.693147180559945...)
    """
    return _increasing(_log, x, bits)


def sqrt(x: Exactly, bits: int = 64) -> Enclosure:
    """Enclose the square root with relative width at most ``2**-bits``; exact where it is.

    Raises:
        UsageError: ``x`` is negative.

    >>> sqrt(Fraction(9, 4))
    1.5
    >>> (sqrt(2) ** 2).contains(2)
    True
    """
    return _increasing(_sqrt, x, bits)


def pi(bits: int = 64) -> Enclosure:
    """Enclose pi within ``2**-bits``.

    >>> pi().contains(Fraction(355, 113)), pi().below(Fraction(355, 113))
    (False, True)
    """
    low, high = pi_fixed(bits + 2)
    return Enclosure.scaled(low, high, bits + 2)
