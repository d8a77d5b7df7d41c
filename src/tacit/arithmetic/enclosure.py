"""Enclosures: intervals with dyadic ends that hold an exact value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TypeAlias

from tacit.arithmetic.exact import float_up, show_between
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError

# Exponentials and logarithms in fixed point, as pairs of integers that enclose the truth.
#
# A pair ``(low, high)`` at precision ``bits`` represents the closed interval
# ``[low / 2**bits, high / 2**bits]``.  Only integer addition, multiplication and floor division
# are used, so each rounding error is below one unit in the last place (an *ulp*) and the proofs
# below just count them.
#
# Source of the method: R. Brent, P. Zimmermann, *Modern Computer Arithmetic* (2010), chapter 4
# (argument reduction, Taylor series, repeated squaring).


def _atanh_inverse(n: int, bits: int) -> tuple[int, int]:
    """Enclose ``atanh(1/n)`` for ``n >= 2``: the sum of ``1 / ((2k+1) n**(2k+1))``."""
    # Each term is floored twice, so it is low by less than 2 ulp; after the last term the powers
    # are below one ulp and shrink by 4 or more, so the rest is below 2 ulp.
    square, power, total, terms = n * n, (1 << bits) // n, 0, 0
    while power:
        total += power // (2 * terms + 1)
        power //= square
        terms += 1
    return total, total + 2 * terms + 2


@lru_cache(maxsize=16)
def log_two(bits: int) -> tuple[int, int]:
    """Enclose ``ln 2``, by ``18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)``.

    >>> low, high = log_two(64)
    >>> low / 2**64, high - low <= 2
    (0.693147180559945..., True)
    """
    # The identity holds because ``(27/25)**9 * (4802/4800)**-1 * (8750/8748)**4 == 2``.
    guard = 16 + bits.bit_length()
    (a, a_up), (b, b_up), (c, c_up) = (_atanh_inverse(n, bits + guard) for n in (26, 4801, 8749))
    low, high = 18 * a - 2 * b_up + 8 * c, 18 * a_up - 2 * b + 8 * c_up
    return low >> guard, (high >> guard) + 1


@lru_cache(maxsize=16)
def pi_fixed(bits: int) -> tuple[int, int]:
    """Enclose pi by Machin's formula, ``16 atan(1/5) - 4 atan(1/239)``.

    >>> pi_fixed(20)[0] / 2**20
    3.14159...
    """
    # The signed series is summed with every term floored, so it is off by less than 2 ulp a term
    # either way, and the rest is below 2 ulp.
    guard = 16 + bits.bit_length()

    def arctangent_inverse(n: int) -> tuple[int, int]:
        square, power, total, terms = n * n, (1 << (bits + guard)) // n, 0, 0
        while power:
            term = power // (2 * terms + 1)
            total += -term if terms & 1 else term
            power //= square
            terms += 1
        return total - 2 * terms - 2, total + 2 * terms + 2

    a, a_up = arctangent_inverse(5)
    b, b_up = arctangent_inverse(239)
    return (16 * a - 4 * b_up) >> guard, ((16 * a_up - 4 * b) >> guard) + 1


def exp_scaled(numerator: int, denominator: int, bits: int) -> tuple[int, int, int]:
    """Enclose ``exp(x)``, x = numerator / denominator, with *relative* precision.

    >>> exp_scaled(0, 1, 8)[2]
    0
    """
    # Returns ``(low, high, k)`` with ``low <= exp(x) 2**(bits - k) <= high``, where
    # ``2**bits <= high`` roughly, and ``high - low`` a few units.
    #
    # Proof.  Work at ``w = bits + guard`` binary places.  Let y = floor(x 2**w), so x 2**w lies in
    # [y, y + 1).  With ln 2 in [L, L'] (ulps), let K be the larger of k L and k L'.  For k near
    # y / ln 2 and K <= y, the number rest = y - K >= 0 is at or below the true remainder
    # x - k ln 2, and misses at most ``slack = |k| (L' - L) + 1`` ulp of it.  The Taylor series of
    # e**z at z = floor(rest / 2**s) has terms floored twice, each ``t_j = t_(j-1) z / j`` therefore
    # low by at most ``e_j <= e_(j-1)/2 + 2 <= 4``; with n terms, the rest of the series below 5 and
    # the floor in z worth less than 2, the sum is low by at most ``4 n + 8``.  Squaring s times
    # keeps both ends (floor, and floor plus one).  At last e**(r + d) <= e**r (1 + 2 d) for d <= 1.
    magnitude = max(abs(numerator) // denominator, 1).bit_length()
    halvings = 4 + int(bits**0.5) // 2
    places = bits + halvings + magnitude + bits.bit_length() + 16
    y = (numerator << places) // denominator
    log_low, log_high = log_two(places)
    k = y // log_high
    rest = y - max(k * log_low, k * log_high)
    if rest < 0:
        k -= 1
        rest = y - max(k * log_low, k * log_high)
    slack = abs(k) * (log_high - log_low) + 1
    z = rest >> halvings
    term = total = 1 << places
    count = 1
    while term:
        term = (term * z >> places) // count
        total += term
        count += 1
    low, high = total, total + 4 * count + 8
    for _ in range(halvings):
        low = low * low >> places
        high = (high * high >> places) + 1
    high += (high * 2 * slack >> places) + 1
    drop = places - bits
    return low >> drop, (high >> drop) + 1, k


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``exp(-x)`` for ``x >= 0``, with *absolute* precision ``2**-bits``.

    >>> exp_minus(Fraction(0), 8), exp_minus(Fraction(10**9), 8)
    ((256, 256), (0, 1))
    >>> low, high = exp_minus(Fraction(1), 64)
    >>> high - low <= 4, low / 2**64
    (True, 0.36787944117144233)
    """
    numerator, denominator = x.numerator, x.denominator
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator > bits * denominator:  # exp(-x) < 2**-x < 2**-bits
        return 0, 1
    low, high, k = exp_scaled(-numerator, denominator, bits)
    return low >> -k, min((high >> -k) + 1, 1 << bits)


def log_unit(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Enclose ``log(m)`` for 1 <= m = numerator / denominator <= 2: ``2 atanh((m-1)/(m+1))``.

    >>> log_unit(1, 1, 64)[0]
    0
    """
    # With t = (m-1)/(m+1) <= 1/3 floored, its square floored, and each power and term floored:
    # every power is low by at most 3 ulp (t is low by 1; then e <= (e + 2)/3 + 1), every term by
    # at most 4, and the rest, below twice the first power left out, is below 8.
    guard = 8 + bits.bit_length()
    places = bits + guard
    t = ((numerator - denominator) << places) // (numerator + denominator)
    square = t * t >> places
    power, total, terms = t, 0, 0
    while power:
        total += power // (2 * terms + 1)
        power = power * square >> places
        terms += 1
    low, high = 2 * total, 2 * (total + 4 * terms + 8)
    return low >> guard, (high >> guard) + 1


# Certified enclosures: a real number between two fractions.
#
# A delta, a conversion or a square root is irrational; Tacit carries it as an
# :class:`Enclosure` whose ends are proven to lie on either side, and rounds toward more
# privacy loss only at the end.  :func:`exp`, :func:`log`, :func:`sqrt` and :func:`pi` give
# enclosures of any precision by integer arithmetic (:mod:`tacit.arithmetic.enclosure`).
#
# Each takes an exact number or an :class:`Enclosure`, for all are increasing functions.


LARGEST_EXPONENT = 1 << 16  # beyond this an exponential has more digits than anyone can use


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
        low, high = self.lower, self.upper
        if low.numerator * high.denominator > high.numerator * low.denominator:
            raise UsageError("an enclosure must have its lower end at or below its upper end")

    @classmethod
    def of(cls, value: Exactly) -> Enclosure:
        """Return ``value`` itself if it is an enclosure, else the point interval."""
        if isinstance(value, Enclosure):
            return value
        return _point(value)

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
        return _scaled(low, high, bits)

    @property
    def width(self) -> Fraction:
        """The distance between the ends."""
        return self.upper - self.lower

    @property
    def middle(self) -> Fraction:
        """The midpoint: an estimate, not a bound."""
        return (self.upper + self.lower) / 2

    def contains(self, value: Exactly) -> bool:
        """True if all of ``value`` lies inside."""
        other = Enclosure.of(value)
        return self.lower <= other.lower and other.upper <= self.upper

    def below(self, value: Exactly) -> bool:
        """True if the number is *certainly* below ``value``."""
        return self.upper < Enclosure.of(value).lower

    def above(self, value: Exactly) -> bool:
        """True if the number is *certainly* above ``value``."""
        return self.lower > Enclosure.of(value).upper

    def at_most(self, value: Exactly) -> bool:
        """True if the number is *certainly* at most ``value``."""
        return self.upper <= Enclosure.of(value).lower

    def rounded(self, bits: int = 64) -> Enclosure:
        """Return a slightly wider enclosure whose ends are short: about ``bits`` digits each."""
        return _between(_short(self.lower, bits, up=False), _short(self.upper, bits, up=True))

    def maximum(self, value: Exactly) -> Enclosure:
        """Enclose the greater of the two numbers."""
        other = Enclosure.of(value)
        return _between(max(self.lower, other.lower), max(self.upper, other.upper))

    def minimum(self, value: Exactly) -> Enclosure:
        """Enclose the lesser of the two numbers."""
        other = Enclosure.of(value)
        return _between(min(self.lower, other.lower), min(self.upper, other.upper))

    def __repr__(self) -> str:
        return show_between(self.lower, self.upper)

    def __float__(self) -> float:
        return float_up(self.upper)

    def __neg__(self) -> Enclosure:
        return _between(-self.upper, -self.lower)

    def __abs__(self) -> Enclosure:
        if self.lower >= 0:
            return self
        return -self if self.upper <= 0 else _between(Fraction(0), max(-self.lower, self.upper))

    def __add__(self, value: Exactly) -> Enclosure:
        other = value if isinstance(value, Enclosure) else _point(value)
        return _between(self.lower + other.lower, self.upper + other.upper)

    __radd__ = __add__

    def __sub__(self, value: Exactly) -> Enclosure:
        other = value if isinstance(value, Enclosure) else _point(value)
        return _between(self.lower - other.upper, self.upper - other.lower)

    def __rsub__(self, value: Exactly) -> Enclosure:
        return -self + value

    def __mul__(self, value: Exactly) -> Enclosure:
        other = value if isinstance(value, Enclosure) else _point(value)
        if self.lower.numerator >= 0 and other.lower.numerator >= 0:
            return _between(self.lower * other.lower, self.upper * other.upper)
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return _between(min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, value: Exactly) -> Enclosure:
        other = value if isinstance(value, Enclosure) else _point(value)
        if other.lower.numerator <= 0 <= other.upper.numerator:
            raise UsageError("cannot divide by an enclosure that contains zero")
        return self * _between(1 / other.upper, 1 / other.lower)

    def __rtruediv__(self, value: Exactly) -> Enclosure:
        return Enclosure.of(value) / self

    def __pow__(self, power: int) -> Enclosure:
        """Raise to a whole power that is not negative."""
        if power < 0:
            raise UsageError(f"the power of an enclosure must be at least 0, not {power}")
        if power % 2 == 0 and power and self.lower < 0:
            return abs(self) ** power
        return _between(self.lower**power, self.upper**power)


Exactly: TypeAlias = int | Fraction | Enclosure

# What is public checks its arguments and its ends at every call; the arithmetic, whose ends are in
# order by its rules, does not: it makes hundreds of thousands of enclosures for one proof.
_set_lower = vars(Enclosure)["lower"].__set__
_set_upper = vars(Enclosure)["upper"].__set__


def _between(lower: Fraction, upper: Fraction) -> Enclosure:
    """Return the enclosure of two ends that are known to be in order."""
    made = object.__new__(Enclosure)
    _set_lower(made, lower)
    _set_upper(made, upper)
    return made


def _point(value: int | Fraction) -> Enclosure:
    point = value if type(value) is Fraction else Fraction(value)
    return _between(point, point)


def _dyadic(digits: int, bits: int) -> Fraction:
    return Fraction(digits << -bits) if bits < 0 else Fraction(digits, 1 << bits)


def _scaled(low: int, high: int, bits: int) -> Enclosure:
    if low > high:
        raise UsageError("an enclosure must have its lower end at or below its upper end")
    return _between(_dyadic(low, bits), _dyadic(high, bits))


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
    return _dyadic(digits, shift)


def _increasing(function: Callable[[Fraction, int], Enclosure], x: Exactly, bits: int) -> Enclosure:
    if isinstance(x, Enclosure) and x.lower is not x.upper and x.lower != x.upper:
        return _between(function(x.lower, bits).lower, function(x.upper, bits).upper)
    point = x.lower if isinstance(x, Enclosure) else Fraction(x)
    return function(point, bits)


def _exp(x: Fraction, bits: int) -> Enclosure:
    if x == 0:
        return _point(1)
    if x > LARGEST_EXPONENT:
        raise InfeasibleError(f"e**x is enclosed for x up to {LARGEST_EXPONENT} only")
    if x < -LARGEST_EXPONENT:
        return _scaled(0, 1, LARGEST_EXPONENT)
    low, high, k = exp_scaled(x.numerator, x.denominator, bits + 4)
    return _scaled(low, high, bits + 4 - k)


def _log(x: Fraction, bits: int) -> Enclosure:
    if x <= 0:
        raise UsageError("the logarithm needs a number above zero")
    if x < 1:
        return -_log(1 / x, bits)
    if x == 1:
        return _point(0)
    k = x.numerator.bit_length() - x.denominator.bit_length()
    k -= (x.denominator << k) > x.numerator
    # near 1 the logarithm is as small as x - 1: keep the relative precision
    small = (x.denominator // (x.numerator - x.denominator)).bit_length()
    places = bits + 4 + small + k.bit_length()
    low, high = log_unit(x.numerator, x.denominator << k, places)
    two_low, two_high = log_two(places)
    return _scaled(low + k * two_low, high + k * two_high, places)


def _sqrt(x: Fraction, bits: int) -> Enclosure:
    if x < 0:
        raise UsageError("the square root needs a number that is not negative")
    if x == 0:
        return _point(0)
    # sqrt(n/d) = sqrt(n d)/d, scaled so that the integer root has at least `bits` digits
    product = x.numerator * x.denominator
    shift = max(0, bits + 1 - product.bit_length() // 2)
    root = isqrt(product << (2 * shift))
    exact = root * root == product << (2 * shift)
    scale = x.denominator << shift
    return _between(Fraction(root, scale), Fraction(root if exact else root + 1, scale))


def exp(x: Exactly, bits: int = 64) -> Enclosure:
    """Enclose ``e**x`` with relative width at most ``2**-bits`` (plus that of ``x``).

    >>> one = exp(Fraction(1, 2)) * exp(Fraction(-1, 2))
    >>> one.contains(1), one.width < Fraction(1, 2**62)
    (True, True)
    """
    # Below -65,536 the enclosure is [0, 2**-65536].
    return _increasing(_exp, x, bits)


def log(x: Exactly, bits: int = 64) -> Enclosure:
    """Enclose the natural logarithm with relative width at most ``2**-bits``.

    >>> log(2).contains(0), float(log(2))
    (False, 0.693147180559945...)
    """
    return _increasing(_log, x, bits)


def sqrt(x: Exactly, bits: int = 64) -> Enclosure:
    """Enclose the square root with relative width at most ``2**-bits``; exact where it is.

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
    return _scaled(low, high, bits + 2)
