"""The least Gaussian noise for epsilon at delta.

On one number the exact privacy profile of the discrete distribution decides
(:class:`~tacit.core.losses.additive_noise.GaussianShift`): with inputs s units apart and k the
first whole number above ``epsilon sigma^2 / s + s / 2``,
``delta = P(X >= k - s) - e^epsilon P(X >= k)``.
Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
theorem 7; the continuous case: Balle and Wang, ICML 2018, theorem 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tacit.arithmetic.bisection import narrowed
from tacit.arithmetic.enclosure import log, sqrt
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.measures.conversion import concentrated_epsilon

__all__ = ["continuous_sigma", "largest_rho", "least_scale", "least_sigma"]

_SMALL = 100.0
"""Below this sigma, in units of the grid, the discrete profile is searched, not the continuous."""


def least_sigma(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a sigma, in units, certified by the exact profile and least to about a relative 1e-10.

    The search is made in doubles (on the continuous profile where sigma is large); what it finds is
    certified, and widened where it must be.

    >>> float(least_sigma(1, Fraction(1), Fraction(1, 10**6)))
    4.2307...
    """
    target = float(delta)
    sigma = shift * continuous_sigma(epsilon, delta)
    if sigma < _SMALL:
        sigma = _bisect(lambda s: _discrete(s, shift, float(epsilon)) <= target)
    growth = 2.0**-40
    while True:
        chosen = _short(sigma * (1 + growth))
        if GaussianShift(chosen, shift).delta(epsilon).upper <= delta:
            return chosen
        growth *= 16


def _short(value: float) -> Fraction:
    """Return a double rounded up to 44 binary digits: short numbers are quick to compute with."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.ceil(mantissa * (1 << 44)), 1 << 44) * Fraction(2) ** exponent


def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, nearly, that the conversion of zCDP allows at epsilon and delta.

    For every order a the conversion (see
    :func:`~tacit.core.measures.conversion.concentrated_epsilon`) is
    ``epsilon = a rho + ln((a - 1) / a) - (ln a + ln delta) / (a - 1)``; solved for rho, the best
    order is looked for in doubles, and rho at that order is then enclosed and rounded down.

    >>> rho = largest_rho(Fraction(1), Fraction(1, 10**6))
    >>> concentrated_epsilon(rho, Fraction(1, 10**6)) <= 1
    True
    """
    e, log_delta = float(epsilon), math.log(delta.numerator) - math.log(delta.denominator)

    def rho_at(t: float) -> float:
        above = math.exp(t)
        log_order = math.log1p(above)
        return (e - (t - log_order) + (log_order + log_delta) / above) / (1 + above)

    low, high = -20.0, 40.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(90):
        step = golden * (high - low)
        if rho_at(high - step) >= rho_at(low + step):
            high = low + step
        else:
            low = high - step
    above = Fraction(math.exp((low + high) / 2))
    order = 1 + above
    found = (epsilon - log(above / order, 96) + (log(order, 96) + log(delta, 96)) / above) / order
    rho = found.rounded(64).lower
    while rho > 0 and concentrated_epsilon(rho, delta) > epsilon:
        rho *= 1 - Fraction(1, 1 << 30)
    return max(Fraction(0), rho)


def continuous_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the least sigma of continuous Gaussian noise at sensitivity one.

    >>> round(continuous_sigma(Fraction(1), Fraction(1, 10**6)), 4)
    4.2247
    """
    return _bisect(lambda ratio: _continuous(ratio, float(epsilon)) <= float(delta))


def _continuous(sigma: float, epsilon: float) -> float:
    """Return delta of continuous Gaussian noise at sensitivity one (Balle and Wang 2018)."""
    near = epsilon * sigma - 1 / (2 * sigma)
    far = epsilon * sigma + 1 / (2 * sigma)
    tail = math.erfc(near / math.sqrt(2)) / 2
    far_tail = math.erfc(far / math.sqrt(2)) / 2
    return tail - math.exp(min(epsilon, 700.0)) * far_tail


def _discrete(sigma: float, shift: int, epsilon: float) -> float:
    """Return delta of the discrete distribution in doubles, by adding up its terms."""
    first = math.floor(epsilon * sigma * sigma / shift + shift / 2) + 1
    reach = int(40 * sigma) + abs(first) + shift + 2
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z.astype(np.float64) ** 2) / (2 * sigma * sigma))
    near = float(weights[z >= first - shift].sum())
    far = float(weights[z >= first].sum())
    return (near - math.exp(min(epsilon, 700.0)) * far) / float(weights.sum())


def _bisect(enough: Callable[[float], bool]) -> float:
    """Return nearly the least positive double at which a rising test holds."""
    low = high = 1.0
    while not enough(high) and high < 1e300:
        low, high = high, 2 * high
    while enough(low) and low > 1e-6:
        low, high = low / 2, low
    return narrowed(enough, high, low, 52)[0]


def least_scale(rho_at_one: Fraction, rho: Fraction) -> Fraction:
    """Return the square root of ``rho_at_one / rho``, rounded up: losses fall with its square.

    >>> least_scale(Fraction(1, 2), Fraction(1, 8))
    Fraction(2, 1)
    """
    return sqrt(rho_at_one / rho, 64).upper
