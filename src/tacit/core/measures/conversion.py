"""What one measure of privacy loss says in another: proven, and rounded against us."""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.arithmetic.bisection import golden, narrowed
from tacit.arithmetic.enclosure import exp, log
from tacit.errors import UsageError

__all__ = [
    "concentrated_delta",
    "concentrated_epsilon",
    "pure_to_concentrated",
    "pure_to_renyi",
    "renyi_delta",
    "renyi_epsilon",
]

_LEAST_LOG = -2000.0
"""Deltas below e to this are not looked for."""


def pure_to_concentrated(epsilon: Fraction) -> Fraction:
    """Return a rho such that every epsilon-DP mechanism is rho-zCDP: epsilon tanh(epsilon/2).

    The bound is the least there is, up to rounding it up by a relative 2^-60, and lies below the
    usual epsilon^2/2: by 8% at epsilon 1, by 24% at epsilon 2.

    Proof.  Any epsilon-DP pair of output distributions is a post-processing of randomized
    response with odds e^epsilon : 1 (Kairouz, Oh, Viswanath, "The composition theorem for
    differential privacy", 2015), and post-processing cannot raise a Renyi divergence, so it is
    enough to bound that of randomized response.  There, for every order a > 1,

        (a - 1) D_a = ln cosh((a - 1/2) epsilon) - ln cosh(epsilon/2) = h((a - 1/2)^2) - h(1/4),

    where h(s) = ln cosh(epsilon sqrt(s)).  h is concave, since its derivative
    epsilon tanh(epsilon sqrt(s)) / (2 sqrt(s)) falls as s grows.  So the difference is at most
    h'(1/4) ((a - 1/2)^2 - 1/4) = epsilon tanh(epsilon/2) a (a - 1), which is D_a <= rho a.
    No smaller rho will do, for D_a tends to epsilon tanh(epsilon/2) as a tends to 1.
    For rho = epsilon^2/2 see Bun and Steinke, "Concentrated differential privacy" (2016), 1.4.

    >>> float(pure_to_concentrated(Fraction(1)))
    0.46211715726000...
    """
    if epsilon < Fraction(1, 2**32):
        return epsilon * epsilon / 2  # above the bound by a relative epsilon^2/12 at most
    if epsilon > 64:
        return epsilon  # tanh is below 1, by less than 2^-91 here
    odds = exp(epsilon, 128)
    return (epsilon * (1 - 2 / (odds + 1))).rounded(64).upper


def pure_to_renyi(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return a bound on the Renyi divergence of an order of every epsilon-DP mechanism.

    It is that of randomized response, which no epsilon-DP pair exceeds (the proof of
    :func:`pure_to_concentrated`), rounded up by a relative 2^-60:

        D_a = ln((e^(a epsilon) + e^((1 - a) epsilon)) / (e^epsilon + 1)) / (a - 1).

    It lies below both epsilon and a epsilon^2/2 (Mironov, "Renyi differential privacy", 2017).

    Args:
        epsilon: at least 0.
        order: above 1.

    >>> float(pure_to_renyi(Fraction(1), Fraction(2)))
    0.73...
    """
    plain = min(epsilon, order * epsilon * epsilon / 2)
    if not epsilon > 2**-32 or not order * epsilon < 1 << 10 or order < 1 + Fraction(1, 2**32):
        return plain  # where the powers lose all digits, or are too long to be worth it
    power = order * epsilon
    odds = (exp(power, 256) + exp(epsilon - power, 256)) / (exp(epsilon, 256) + 1)
    return min(plain, (log(odds, 256) / (order - 1)).rounded(64).upper)


def concentrated_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    For every order a > 1, with Z the privacy loss,

        epsilon = a rho + ln((a - 1)/a) - (ln a + ln delta)/(a - 1).

    Proof.  delta(epsilon) = E max(0, 1 - e^(epsilon - Z)), and max(0, 1 - e^-y) is at most
    c e^((a-1) y) for all y, where c = sup (1 - e^-y) e^(-(a-1) y) = (1 - 1/a)^(a-1) / a,
    attained at e^-y = (a-1)/a.  zCDP says E e^((a-1) Z) <= e^((a-1) a rho), so
    delta <= e^((a-1)(a rho - epsilon)) c; solve for epsilon.  (Canonne, Kamath, Steinke, "The
    discrete Gaussian for differential privacy", 2020, proposition 12.)

    Every order gives a true bound.  The best one is looked for in floats, and the bound at that
    order is then enclosed and rounded up.

    Args:
        rho: at least 0.
        delta: above 0 and below 1.

    Raises:
        UsageError: a rho or delta outside of that.

    >>> float(concentrated_epsilon(Fraction(1, 2), Fraction(1, 10**6)))
    5.22153444453...
    """
    if rho < 0:
        raise UsageError("rho must not be negative")
    if not 0 < delta < 1:
        raise UsageError("a rho gives an epsilon only at a delta above 0 and below 1")
    if rho == 0:
        return Fraction(0)
    order = 1 + Fraction(math.exp(_best_order(rho, delta)))
    return renyi_epsilon(order, order * rho, delta)


def renyi_epsilon(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at delta for a bound on the Renyi divergence of one order above one.

    The formula and the proof of :func:`concentrated_epsilon`, with the divergence for ``a rho``.

    >>> float(renyi_epsilon(Fraction(6), Fraction(3), Fraction(1, 10**6)))
    5.222428660...
    """
    above_one = order - 1
    tail = (log(order, 128) + log(delta, 128)) / above_one
    bound = divergence + log(above_one / order, 128) - tail
    return max(bound.rounded(64).upper, Fraction(0))


def concentrated_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    That of the best order, as in :func:`concentrated_epsilon`; where it is below e^-2000, about
    that is said.

    >>> float(concentrated_delta(Fraction(1, 2), Fraction(5)))
    2.896122...e-06
    """
    if rho == 0:
        return Fraction(0)
    r, e = float(rho), float(epsilon)

    def log_delta(t: float) -> float:
        above = math.exp(t)
        return above * ((1 + above) * r - e + t - math.log1p(above)) - math.log1p(above)

    best = golden(log_delta, -300.0, 300.0)  # convex in the order
    if log_delta(best) < _LEAST_LOG:
        best = narrowed(lambda t: log_delta(t) >= _LEAST_LOG, -300.0, best, 60)[0]
    order = 1 + Fraction(math.exp(best))
    return renyi_delta(order, order * rho, epsilon)


def renyi_delta(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta at epsilon for a bound on the Renyi divergence of one order above one.

    It is ``e^((a - 1) (D - epsilon)) (1 - 1/a)^(a - 1) / a``: the proof is that of
    :func:`concentrated_epsilon`.

    >>> float(renyi_delta(Fraction(6), Fraction(3), Fraction(5)))
    3.040868...e-06
    """
    above_one = order - 1
    power = above_one * (divergence - epsilon + log(above_one / order, 256)) - log(order, 256)
    if power.upper >= 0:
        return Fraction(1)
    least = max(power.rounded(128).upper, Fraction(_LEAST_LOG) - 1)
    return exp(least, 4096).rounded(128).upper


def _best_order(rho: Fraction, delta: Fraction) -> float:
    """Return ln(a - 1) for nearly the best order a, by golden section.

    The bound falls to its least value and rises again as a grows from 1 to infinity.
    """
    log_rho = math.log(rho.numerator) - math.log(rho.denominator)
    log_delta = min(math.log(delta.numerator) - math.log(delta.denominator), -1e-300)

    def bound(t: float) -> float:
        above_one = math.exp(t)
        log_order = math.log1p(above_one)
        rate = math.exp(min(log_rho + log_order, 700))
        return rate + (t - log_order) - (log_order + log_delta) / above_one

    # Around the best order for the looser tail bound, a - 1 = sqrt(ln(1/delta) / rho).
    middle = (math.log(-log_delta) - log_rho) / 2
    low, high = max(middle - 40, -700), min(middle + 40, 700)  # where exp is a positive float
    return golden(bound, low, high)
