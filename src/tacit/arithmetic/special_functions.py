"""Certified arctangent and normal distribution function, for the exact output of smooth noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp, pi, sqrt

__all__ = ["arctangent", "mills_ratio", "normal_cdf", "normal_density"]

_FARTHEST = 24


def arctangent(x: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose ``atan x``, which grows in x.

    ``atan x = 2 atan(x / (1 + sqrt(1 + x^2)))`` four times brings x below 1/10; there the series
    ``x - x^3/3 + x^5/5 - ...`` alternates and falls, so that its next term bounds the rest.

    >>> arctangent(Enclosure.of(1)).contains(pi(200).middle / 4)
    True
    """
    return _increasing(_arctangent, x, bits)


def _increasing(grows: Callable[[Fraction, int], Enclosure], x: Enclosure, bits: int) -> Enclosure:
    low = grows(x.lower, bits)
    return low if x.lower == x.upper else Enclosure(low.lower, grows(x.upper, bits).upper)


def _arctangent(x: Fraction, bits: int) -> Enclosure:
    if x < 0:
        return -_arctangent(-x, bits)
    small, places = Enclosure.of(x), bits + 16
    for _ in range(4):
        small = (small / (1 + sqrt(1 + small * small, bits + 8))).rounded(bits + 8)
    low, _ = _alternating(math.floor(small.lower * (1 << places)), places)
    _, high = _alternating(math.ceil(small.upper * (1 << places)), places)
    return 16 * Enclosure.scaled(low, high, places)


def _alternating(x: int, places: int) -> tuple[int, int]:
    """Enclose ``x - x^3/3 + x^5/5 - ...`` for x up to 1/8, all in units of ``2^-places``.

    A power is low by at most e, where the next one is by ``e / 64 + 1/8 + 1``: never by 2.  So each
    of n terms is off by less than 3, and what follows a power of zero by less than 2.

    >>> low, high = _alternating(1 << 61, 64)
    >>> low / 2**64 <= math.atan(1 / 8) <= high / 2**64, high - low < 200
    (True, True)
    """
    square, power, total, terms = x * x >> places, x, 0, 0
    while power:
        term = power // (2 * terms + 1)
        total += -term if terms % 2 else term
        power, terms = power * square >> places, terms + 1
    return total - 3 * terms - 2, total + 3 * terms + 2


def normal_density(w: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose the standard normal density at ``w``.

    >>> round(float(normal_density(Enclosure.of(0))), 6)
    0.398942
    """
    square = (w * w if w.lower * w.upper > 0 else abs(w) ** 2).rounded(bits)
    return (exp(-square / 2, bits) / sqrt(2 * pi(bits), bits)).rounded(bits)


def normal_cdf(w: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose P(N <= w), which grows in w, within about ``2**-bits``.

    ``1/2 + phi(w) (w + w^3/3 + w^5/(3 5) + ...)``; once a term's factor ``w^2 / (2k + 1)`` is below
    one half, the rest is below the last term.  Beyond 24, where the tail is below ``2**-400``, the
    bound ``phi(w) / w`` is all that is said.

    >>> normal_cdf(Enclosure.of(0)) == Enclosure.of(Fraction(1, 2))
    True
    """
    return _increasing(_cdf, w, bits)


def _cdf(w: Fraction, bits: int) -> Enclosure:
    if w < 0:
        return 1 - _cdf(-w, bits)
    if w > _FARTHEST:
        return Enclosure(1 - (normal_density(Enclosure.of(w), bits) / w).upper, Fraction(1))
    places = bits + 16
    low, high = math.floor(w * (1 << places)), math.ceil(w * (1 << places))
    ends = Enclosure.scaled(_sum(low, places, 0), _sum(high, places, 1), places)
    density = normal_density(Enclosure.scaled(low, high, places), places)
    return (Fraction(1, 2) + density * ends).rounded(places)


def _sum(w: int, places: int, up: int) -> int:
    """Bound ``w + w^3/3 + w^5/(3 5) + ...`` from below, or above, in units of ``2^-places``.

    Nothing is negative, so that rounding all one way bounds from that side.

    >>> low, high = _sum(1 << 64, 64, 0), _sum(1 << 64, 64, 1)
    >>> low / 2**64 <= 1.410686134642448 <= high / 2**64, high - low < 2**17
    (True, True)
    """
    square = (w * w >> places) + up
    term, total, k = w, w, 1
    while 2 * square >= k << places or term >> 16:
        k += 2
        term = (term * square >> places) // k + up * (term > 0)
        total += term
    return total + up * term


def mills_ratio(w: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose ``P(N > w)`` over the density at ``w``, relatively, for w from 1 on: it falls in w.

    It is ``1 / (w + 1 / (w + 2 / (w + 3 / (w + ...))))``, in which what stands behind the first n
    fractions lies between w and ``w + n / w`` (Laplace; each of its parts is positive).

    >>> ratio = mills_ratio(Enclosure.of(40))
    >>> round(float(ratio), 12), ratio.width < Fraction(1, 2**128)
    (0.024984404206, True)
    """
    if w.lower == w.upper:
        return _mills(w.lower, bits)
    return Enclosure(_mills(w.upper, bits).lower, _mills(w.lower, bits).upper)


def _mills(w: Fraction, bits: int) -> Enclosure:
    places = bits + 32
    low, high = math.floor(w * (1 << places)), math.ceil(w * (1 << places))
    n = _fractions(min(float(w), 1e9), bits + 8)
    least, most = low, high + (n << 2 * places) // low + 1
    for k in range(n - 1, 0, -1):
        least, most = low + (k << 2 * places) // most, high + (k << 2 * places) // least + 1
    return 1 / Enclosure.scaled(least, most, places)


def _fractions(w: float, bits: int) -> int:
    """Return how many fractions bring the two ends of the rest so near to each other.

    The k-th one brings them nearer by about k over the square of what it stands above.
    """
    n, left = 1, bits + 2.0
    while left > 0:
        left -= 2 * math.log2((w + math.sqrt(w * w + 4 * n)) / 2) - math.log2(n)
        n += 1
    return n
