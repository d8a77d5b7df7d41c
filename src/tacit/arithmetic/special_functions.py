"""Special functions with proven bounds: normal tails and means, logarithms of gamma."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp, pi, sqrt

# Certified arctangent and normal distribution function, for the exact output of smooth noise.


_FARTHEST = 24


def arctangent(x: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose ``atan x``, which grows in x.

    >>> arctangent(Enclosure.of(1)).contains(pi(200).middle / 4)
    True
    """
    # ``atan x = 2 atan(x / (1 + sqrt(1 + x^2)))`` four times brings x below 1/10; there the series
    # ``x - x^3/3 + x^5/5 - ...`` alternates and falls, so that its next term bounds the rest.
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

    >>> low, high = _alternating(1 << 61, 64)
    >>> low / 2**64 <= math.atan(1 / 8) <= high / 2**64, high - low < 200
    (True, True)
    """
    # A power is low by at most e, where the next one is by ``e / 64 + 1/8 + 1``: never by 2.  So
    # each of n terms is off by less than 3, and what follows a power of zero by less than 2.
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
    return (exp(-square / 2, bits) / _root_of_two_pi(bits)).rounded(bits)


@lru_cache(maxsize=256)
def _root_of_two_pi(bits: int) -> Enclosure:
    return sqrt(2 * pi(bits), bits)


def normal_cdf(w: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose P(N <= w), which grows in w, within about ``2**-bits``.

    >>> normal_cdf(Enclosure.of(0)) == Enclosure.of(Fraction(1, 2))
    True
    """
    # ``1/2 + phi(w) (w + w^3/3 + w^5/(3 5) + ...)``; once a term's factor ``w^2 / (2k + 1)`` is
    # below one half, the rest is below the last term.  Beyond 24, where the tail is below
    # ``2**-400``, the bound ``phi(w) / w`` is all that is said.
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

    >>> low, high = _sum(1 << 64, 64, 0), _sum(1 << 64, 64, 1)
    >>> low / 2**64 <= 1.410686134642448 <= high / 2**64, high - low < 2**17
    (True, True)
    """
    # Nothing is negative, so that rounding all one way bounds from that side.
    square = (w * w >> places) + up
    term, total, k = w, w, 1
    while 2 * square >= k << places or term >> 16:
        k += 2
        term = (term * square >> places) // k + up * (term > 0)
        total += term
    return total + up * term


def mills_ratio(w: Enclosure, bits: int = 128) -> Enclosure:
    """Enclose ``P(N > w)`` over the density at ``w``, relatively, for w from 1 on: it falls in w.

    >>> ratio = mills_ratio(Enclosure.of(40))
    >>> round(float(ratio), 12), ratio.width < Fraction(1, 2**128)
    (0.024984404206, True)
    """
    # It is ``1 / (w + 1 / (w + 2 / (w + 3 / (w + ...))))``, in which what stands behind the first n
    # fractions lies between w and ``w + n / w`` (Laplace; each of its parts is positive).
    if w.lower == w.upper:
        return _mills(w.lower, bits)
    return Enclosure(_mills(w.upper, bits).lower, _mills(w.lower, bits).upper)


def _mills(w: Fraction, bits: int) -> Enclosure:
    places = bits + 32
    low, high = math.floor(w * (1 << places)), math.ceil(w * (1 << places))
    n = _fractions(min(float(w), 1e9), bits + 8)
    minimum, maximum = low, high + (n << 2 * places) // low + 1
    for k in range(n - 1, 0, -1):
        minimum, maximum = (
            low + (k << 2 * places) // maximum,
            high + (k << 2 * places) // minimum + 1,
        )
    return 1 / Enclosure.scaled(minimum, maximum, places)


def _fractions(w: float, bits: int) -> int:
    """Return how many fractions bring the two ends of the rest so near to each other."""
    # The k-th one brings them nearer by about k over the square of what it stands above.
    n, left = 1, bits + 2.0
    while left > 0:
        left -= 2 * math.log2((w + math.sqrt(w * w + 4 * n)) / 2) - math.log2(n)
        n += 1
    return n


# A mean over the normal distribution that has no closed form, enclosed by the trapezoidal rule.
#
# **Bound.**  Let g be analytic in the strip ``|Im y| < a``, fall off at its ends, and ``int |g(x +
# i b)| dx <= M`` for ``|b| < a``.  Then the trapezoidal sum of step h over the whole line is within
# ``2 M / (e^(2 pi a / h) - 1)`` of the integral (L. Trefethen, J. Weideman, *The exponentially
# convergent trapezoidal rule*, SIAM Review 2014, theorem 5.1).
#
# Here ``g(y) = exp(-z e^(-sigma y)) phi(y)`` with ``z >= 0``.  For ``|b| <= pi / (2 sigma)`` the
# real part of ``e^(-sigma (x + i b))`` is not negative, so the first factor is at most 1 in size,
# and ``|phi(x + i b)| = e^(b^2 / 2) phi(x)``: M is ``e^(a^2 / 2)``.  The nodes beyond R add at most
# the normal mass there, ``phi(R) / R`` on either side.


_BITS = 192
_RADIUS = 14
_FAR = 300
_ROUNDING_BOUND = Fraction(1, 1 << 400)


@lru_cache(maxsize=1 << 12)
def mean_of_decay(z: Fraction, sigma: Fraction) -> Enclosure:
    """Enclose ``E[exp(-z e^(-sigma Y))]``, Y normal, for ``z >= 0``, to about ``2^-128``.

    >>> half = mean_of_decay(Fraction(1), Fraction(1, 16))
    >>> 0.367 < float(half) < 0.369
    True
    >>> float(mean_of_decay(Fraction(0), Fraction(1)).width) < 2.0**-100
    True
    """
    step, missing = _step(sigma)
    ratio = exp(-sigma * step, _BITS)
    grown = exp(sigma * step * math.ceil(_RADIUS / step), _BITS)
    total = Enclosure.of(0)
    for k in range(-math.ceil(_RADIUS / step), math.ceil(_RADIUS / step) + 1):
        y = k * step
        exponent = (-z * grown - y * y / 2).rounded(_BITS)
        total = (total + exp(exponent.maximum(-_FAR), _BITS)).rounded(_BITS)
        grown = (grown * ratio).rounded(_BITS)
    # Exponents were held at -300: 29 / sqrt(2 pi) e^-300 < 2^-400 was added to all nodes together.
    mean = total * step / sqrt(2 * pi(_BITS), _BITS) - Enclosure(Fraction(0), _ROUNDING_BOUND)
    outer = 2 * exp(Fraction(-(_RADIUS**2), 2)).upper / _RADIUS
    ends = (mean.lower - missing, mean.upper + missing + outer)
    return Enclosure(max(Fraction(0), ends[0]), min(Fraction(1), ends[1])).rounded(_BITS)


@lru_cache(maxsize=256)
def _step(sigma: Fraction) -> tuple[Fraction, Fraction]:
    """Return a step, and the bound of the module with it, below e^-90 or so."""
    strip = min(pi(64).lower / (2 * sigma), Fraction(10))
    # 2 pi a / h - a^2 / 2 >= 91
    step = 2 * pi(64).lower * strip / (91 + strip * strip / 2)
    short = Fraction(1, math.ceil(1 / step))
    exponent = 2 * pi(64).lower * strip / short
    bound = 2 * exp(strip * strip / 2).upper / (exp(exponent, 128).lower - 1)
    return short, bound


# Tails of the normal and of Student's t distribution, in floats: for expected errors (no proof).
#
# Each keeps its *relative* precision in the tails, where one minus a distribution function would be
# 0.


Floats: TypeAlias = NDArray[np.float64]

_erfc = np.frompyfunc(math.erfc, 1, 1)
_TERMS = 200
_TINY = 1e-300


def normal_tail(y: Floats) -> Floats:
    """Return ``P(N > y)``.

    >>> normal_tail(np.array([0.0, 10.0])).tolist()
    [0.5, 7.61985302416...e-24]
    """
    return np.asarray(_erfc(y / math.sqrt(2)), dtype=np.float64) / 2


def student_density(z: Floats, degrees: int) -> Floats:
    """Return the density of Student's t."""
    d = degrees
    log_c = math.lgamma((d + 1) / 2) - math.lgamma(d / 2) - math.log(d * math.pi) / 2
    return np.exp(log_c - (d + 1) / 2 * np.log1p(z * z / d))


def student_tail(z: Floats, degrees: int) -> Floats:
    """Return ``P(T > z)`` for ``z >= 0``: half the incomplete beta ratio ``I_x(d/2, 1/2)``.

    >>> student_tail(np.array([0.0, 1.0]), 1).round(12).tolist()
    [0.5, 0.25]
    """
    # With ``x = d / (d + z^2)``, by the continued fraction of that side on which it converges fast
    # (Press et al., *Numerical Recipes*, section 6.4).
    d = degrees
    x, y = d / (d + z * z), z * z / (d + z * z)
    far = x < (d + 2) / (d + 5)
    probabilities = np.empty_like(z)
    probabilities[far] = _ratio(x[far], y[far], d / 2, 0.5) / 2
    probabilities[~far] = (1 - _ratio(y[~far], x[~far], 0.5, d / 2)) / 2
    return probabilities


def _ratio(x: Floats, rest: Floats, a: float, b: float) -> Floats:
    """Return ``I_x(a, b)`` where ``rest = 1 - x``, by Lentz's algorithm."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log(rest) - log_beta) / a
    c = np.ones_like(x)
    d = 1 / _bounded(1 - (a + b) * x / (a + 1))
    total = d.copy()
    for m in range(1, _TERMS):
        for factor in (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _bounded(1 + factor * x * d)
            c = _bounded(1 + factor * x / c)
            step = c * d
            total *= step
        if not len(step) or float(np.abs(step - 1).max()) < 1e-15:
            break
    return front * total


def _bounded(value: Floats) -> Floats:
    """Keep clear of zero, to divide by."""
    return np.where(np.abs(value) < _TINY, _TINY, value)
