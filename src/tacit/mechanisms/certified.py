"""Certified arctangent and normal distribution function, for the exact laws of smooth noise."""

from __future__ import annotations

from fractions import Fraction

from tacit.noise.enclosure import Enclosure, exp, pi, sqrt

__all__ = ["arctangent", "normal_cdf", "normal_density"]

_FARTHEST = 24


def arctangent(x: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose ``atan x``, which grows in x.

    ``atan x = 2 atan(x / (1 + sqrt(1 + x^2)))`` four times brings x below 1/10; there the series
    ``x - x^3/3 + x^5/5 - ...`` alternates and falls, so that its next term bounds the rest.

    >>> arctangent(Enclosure.of(1)).contains(pi(200).middle / 4)
    True
    """
    return Enclosure(_arctangent(x.lower, bits).lower, _arctangent(x.upper, bits).upper)


def _arctangent(x: Fraction, bits: int) -> Enclosure:
    if x < 0:
        return -_arctangent(-x, bits)
    small = Enclosure.of(x)
    for _ in range(4):
        small = (small / (1 + sqrt(1 + small * small, bits))).rounded(bits + 8)
    power, total, k = small, Enclosure.of(0), 1
    while True:
        term = (power / k).rounded(bits + 8)
        if term.upper < Fraction(1, 1 << bits):
            return 16 * (total + Enclosure(-term.upper, term.upper))
        total = (total + term if k % 4 == 1 else total - term).rounded(bits + 8)
        power, k = (power * small * small).rounded(bits + 8), k + 2


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
    return Enclosure(_cdf(w.lower, bits).lower, _cdf(w.upper, bits).upper)


def _cdf(w: Fraction, bits: int) -> Enclosure:
    if w < 0:
        return 1 - _cdf(-w, bits)
    if w > _FARTHEST:
        return Enclosure(1 - (normal_density(Enclosure.of(w), bits) / w).upper, Fraction(1))
    places = bits + 16
    point = Enclosure.of(w).rounded(places)
    square = (point * point).rounded(places)
    term, total, k = point, point, 1
    while True:
        k += 2
        term = (term * square / k).rounded(places)
        total = (total + term).rounded(places)
        if 2 * square.upper < k and term.upper < Fraction(1, 1 << bits):
            rest = total + Enclosure(Fraction(0), term.upper)
            return (Fraction(1, 2) + normal_density(point, places) * rest).rounded(places)
