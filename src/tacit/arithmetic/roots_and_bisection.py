"""Exact square roots, and bisection with a proven bracket."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import TypeVar

from tacit.arithmetic.exact import float_up
from tacit.errors import UsageError

# Square roots of fractions, kept exact.
#
# A standard deviation is the square root of a rational variance.  :class:`Root` holds the variance,
# compares exactly, and gives enclosures as tight as asked for, so that a difference of two standard
# deviations can be rounded up by a proven amount.


@total_ordering
@dataclass(frozen=True)
class Root:
    """The non-negative square root of a fraction.

    >>> Root(Fraction(9, 4)).rational, Root(Fraction(2)).rational
    (Fraction(3, 2), None)
    >>> Root(Fraction(2)) < Fraction(3, 2)
    True
    """

    radicand: Fraction

    def __post_init__(self) -> None:
        if self.radicand < 0:
            raise UsageError("only a non-negative number has a square root")

    @property
    def rational(self) -> Fraction | None:
        """The root as a fraction, or None when it is irrational."""
        top, bottom = self.radicand.numerator, self.radicand.denominator
        p, q = math.isqrt(top), math.isqrt(bottom)
        return Fraction(p, q) if p * p == top and q * q == bottom else None

    def enclose(self, bits: int = 80) -> tuple[Fraction, Fraction]:
        """Fractions just below and just above, with about ``bits`` correct bits."""
        exact = self.rational
        if exact is not None:
            return exact, exact
        top, bottom = self.radicand.numerator, self.radicand.denominator
        # sqrt(p/q) = sqrt(p q)/q; scale p q until its root has enough bits.
        product = top * bottom
        shift = max(0, bits + 1 - product.bit_length() // 2)
        root = math.isqrt(product << (2 * shift))
        scale = bottom << shift
        return Fraction(root, scale), Fraction(root + 1, scale)

    def __float__(self) -> float:
        """The root, rounded up."""
        return float_up(self.enclose()[1])

    def __lt__(self, other: object) -> bool:
        if isinstance(other, Root):
            return self.radicand < other.radicand
        if isinstance(other, (int, Fraction)):
            return other > 0 and self.radicand < Fraction(other) ** 2
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Root):
            return self.radicand == other.radicand
        if isinstance(other, (int, Fraction)):
            return other >= 0 and self.radicand == Fraction(other) ** 2
        return NotImplemented

    def __hash__(self) -> int:
        rational = self.rational
        return hash(("Root", self.radicand)) if rational is None else hash(rational)


def sqrt_up(value: Fraction, bits: int = 64) -> Fraction:
    """Return a square root rounded up to a multiple of ``2^-bits`` (exact where it is rational).

    >>> sqrt_up(Fraction(9, 4))
    Fraction(3, 2)
    """
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    scaled = (value.numerator << (2 * bits)) // value.denominator
    return Fraction(math.isqrt(scaled) + 1, 1 << bits)


def gap(a: Fraction | Root, b: Fraction | Root) -> Fraction | float:
    """``|a - b|``: exact where rational, else the float just above the truth (within 2 ulp).

    >>> gap(Fraction(3), Fraction(1, 2))
    Fraction(5, 2)
    >>> gap(Root(Fraction(2)), Root(Fraction(1)))
    0.4142135623730951
    """
    a, b = _simplest(a), _simplest(b)
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return abs(a - b)
    if a == b:
        return Fraction(0)
    bits = 80
    while True:  # widen until cancellation has been paid for
        low_a, high_a = _enclose(a, bits)
        low_b, high_b = _enclose(b, bits)
        low, high = (
            (low_a - high_b, high_a - low_b)
            if low_a > low_b
            else (
                low_b - high_a,
                high_b - low_a,
            )
        )
        if low > 0 and (high - low) * 2**60 <= high:
            return float_up(high)
        bits *= 2


def _simplest(value: Fraction | Root) -> Fraction | Root:
    if isinstance(value, Root):
        rational = value.rational
        return value if rational is None else rational
    return value


def _enclose(value: Fraction | Root, bits: int) -> tuple[Fraction, Fraction]:
    return value.enclose(bits) if isinstance(value, Root) else (value, value)


# Bisection: where a test starts to hold; and golden section: where a function is least.


Real = TypeVar("Real", float, Fraction)


def smallest_integer(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest integer above ``low`` at which a test holds, once it does for good.

    >>> smallest_integer(lambda n: n * n >= 50, 0, 1)
    8
    """
    # high: where to look first, above ``low`` and above 0; doubled until it holds.
    while not holds(high):
        low, high = high, 2 * high
    return min_between(holds, low, high)


def smallest_integer_until(holds: Callable[[int], bool], last: int, start: int = 0) -> int | None:
    """Return the least of ``start .. last`` from which on a test holds: doubling, then halving.

    >>> smallest_integer_until(lambda t: t >= 11, 100), smallest_integer_until(bool, 0)
    (11, None)
    >>> smallest_integer_until(lambda t: t >= 11, 100, 20)
    20
    """
    # None where there is none.
    low, step = start - 1, 1  # it does not hold at ``low``
    while low + step < last and not holds(low + step):
        low, step = low + step, 2 * step
    high = min(last, low + step)
    if high == last and not holds(last):
        return None
    return min_between(holds, low, high)


def min_between(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number above ``low`` at which a test holds; it does at ``high``.

    >>> min_between(lambda n: n * n >= 50, 0, 100)
    8
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def golden(function: Callable[[float], float], low: float, high: float) -> float:
    """Return about where a function is least that falls up to there and rises after it.

    >>> round(golden(lambda x: (x - 2) ** 2, -10.0, 10.0), 6)
    2.0
    """
    share = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        step = share * (high - low)
        if function(high - step) <= function(low + step):
            high = low + step
        else:
            low = high - step
    return (low + high) / 2


def narrowed(holds: Callable[[Real], bool], yes: Real, no: Real, steps: int) -> tuple[Real, Real]:
    """Halve the way between a number at which a test holds and one at which it does not.

    >>> narrowed(lambda x: x * x <= 2, 1.0, 2.0, 20)
    (1.4142131805419922, 1.414214134216308...)
    """
    # Returns: the two ends that are left: the test holds at the first, and not at the second.
    for _ in range(steps):
        middle = (yes + no) / 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return yes, no
