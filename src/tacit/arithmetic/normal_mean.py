"""A mean over the normal distribution that has no closed form, enclosed by the trapezoidal rule.

**Bound.**  Let g be analytic in the strip ``|Im y| < a``, fall off at its ends, and ``int |g(x + i
b)| dx <= M`` for ``|b| < a``.  Then the trapezoidal sum of step h over the whole line is within ``2
M / (e^(2 pi a / h) - 1)`` of the integral (L. Trefethen, J. Weideman, *The exponentially convergent
trapezoidal rule*, SIAM Review 2014, theorem 5.1).

Here ``g(y) = exp(-z e^(-sigma y)) phi(y)`` with ``z >= 0``.  For ``|b| <= pi / (2 sigma)`` the real
part of ``e^(-sigma (x + i b))`` is not negative, so the first factor is at most 1 in size, and
``|phi(x + i b)| = e^(b^2 / 2) phi(x)``: M is ``e^(a^2 / 2)``.  The nodes beyond R add at most the
normal mass there, ``phi(R) / R`` on either side.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tacit.arithmetic.enclosure import Enclosure, exp, pi, sqrt

__all__ = ["mean_of_decay"]

_BITS = 192
_REACH = 14
_FAR = 300
_HELD = Fraction(1, 1 << 400)


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
    grown = exp(sigma * step * math.ceil(_REACH / step), _BITS)
    total = Enclosure.of(0)
    for k in range(-math.ceil(_REACH / step), math.ceil(_REACH / step) + 1):
        y = k * step
        exponent = (-z * grown - y * y / 2).rounded(_BITS)
        total = (total + exp(exponent.maximum(-_FAR), _BITS)).rounded(_BITS)
        grown = (grown * ratio).rounded(_BITS)
    # Exponents were held at -300: 29 / sqrt(2 pi) e^-300 < 2^-400 was added to all nodes together.
    found = total * step / sqrt(2 * pi(_BITS), _BITS) - Enclosure(Fraction(0), _HELD)
    outer = 2 * exp(Fraction(-(_REACH**2), 2)).upper / _REACH
    ends = (found.lower - missing, found.upper + missing + outer)
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
