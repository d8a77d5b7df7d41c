"""A nearly tight privacy filter that states budget and releases as Gaussians."""

# Write ``G_v`` for the pair of outputs N(0, 1) and N(sqrt v, 1): a Gaussian release of *variance*
# v. Its losses are normal with mean v/2 and variance v, and variances add up.  A budget of epsilon
# at delta starts with the largest v at which ``G_v`` is (epsilon, delta)-DP.  What is left of it is
# always such a Gaussian: **a release M takes the filter from variance v to variance a where**
#
#     M together with G_a is dominated by G_v        (``delta`` at every epsilon is at most as
# large).
#
# **Why this holds for any analyst**, who chooses each release and its epsilon after all answers
# before it.  Claim: whatever is done from variance v on, until the filter refuses, is dominated by
# ``G_v``.  By induction from the last release back: after the first one, M, the rest is dominated
# by ``G_a``, whatever M answered; so both are dominated by M together with ``G_a`` (Zhu, Dong,
# Wang, "Optimal accounting of differential privacy via characteristic functions", AISTATS 2022,
# theorem 10), and that by ``G_v``.  Nothing but the variance that is left is handed on, so epsilons
# may depend on answers, and sessions on one ledger may take turns in any order.  (For Gaussian
# releases alone: Smith, Thakurta, "Fully adaptive composition for Gaussian differential privacy",
# 2022.  For filters in general: Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters",
# 2016; of releases that go on at once: Haney and others, "Concurrent composition for interactive
# differential privacy with adaptive privacy-loss parameters", CCS 2023.)
#
# **What an epsilon takes.**  An epsilon-DP release is dominated by randomized response with odds
# ``e^epsilon : 1`` (Kairouz, Oh, Viswanath 2015), say R.  *R together with G_a is dominated by G_v,
# at every epsilon, if and only if it is at epsilon zero:*
#
#     tanh(epsilon/2) + 2/(1 + e^epsilon) delta_a(epsilon)  <=  2 Phi(sqrt(v)/2) - 1,
#     delta_a(e) = Phi(sqrt(a)/2 - e/sqrt(a)) - e^e Phi(-sqrt(a)/2 - e/sqrt(a)).
#
# Proof.  With the measure ``sqrt(P Q)`` of losses l for a pair (P, Q), ``e^(-e/2) delta(e)`` is the
# integral of ``2 sinh((l - e)/2)`` over l > e; so the difference F(e) of the two sides, times
# ``e^(-e/2)``, satisfies ``F'' - F/4 = D`` with D the difference of the densities of these
# measures. That of ``G_v`` is ``e^(-v/8) N(0, v)``, that of R with ``G_a`` is the mean of
# ``e^(-a/8) N(+- epsilon, a)`` over ``cosh(epsilon/2)``.  The logarithm of their ratio is a
# constant and ``k l^2 - ln cosh(epsilon l / a)``, which falls and then rises as l > 0 grows, or
# only rises: so D is, from l = 0 on, (+,) - and then +.  Far out, where D is positive from e on, F
# is an integral of positive things.  Near zero, where D is positive, F is symmetric, so that
# ``F(0) >= 0`` and ``F'(0) = 0`` make it grow.  Between, where D is negative, F has no negative
# minimum, for there ``F'' = F/4 + D`` would be negative.  So F is nowhere negative if
# ``F(0) >= 0``; and it must be.
#
# Where ``u = epsilon^2 / a`` is small there is a closed form: ``D(0) <= 0`` is enough, that is
# ``ln(1 + c/a)/2 + c/8 >= epsilon^2/(2 a) + ln cosh(epsilon/2)`` for ``c = v - a``.  With
# ``ln(1 + x) >= x - x^2/2`` and ``ln cosh y <= y^2/2`` it holds for ``c = epsilon^2 (1 + k)`` if
# ``k >= u (1 + k)^2 / 2``, so for ``k = 0.51 u`` where u is at most 1/100.
#
# So a small release takes little more than epsilon^2, whose sum is what any accounting must charge;
# the last one, to variance zero, takes up to pi/2 times that.  Of releases of epsilon 1/100 that
# are fixed beforehand, no accounting takes more than 562 into (1, 10^-6), and 528 into (1, 5
# 10^-7); of those that are chosen sequentially, 558 and 522 fit here: a part in a hundred
# fewer.
#
# **What a bounded range takes.**  A release whose log ratios lie in an interval of length epsilon
# is dominated by the pair of :mod:`tacit.core.losses.distribution`.  Its profile there,
# ``(sqrt E - sqrt x)^2 / (E - 1)``, makes ``F'' - F/4`` constant: its losses have the measure
# ``sqrt(P Q)`` of a *uniform* density ``1 / (4 sinh(epsilon/2))`` between -epsilon and epsilon.
# With G_a it is again enough to compare at epsilon zero, where delta is, with ``y = epsilon/2`` and
# F_a that of G_a,
#
#     (2 F_a'(epsilon) - 2 e^(-a/8) (Phi(epsilon/sqrt a) - 1/2) + cosh y) / sinh y,
#     F_a'(l) = -e^(-l/2) delta_a(l)/2 - e^(l/2) Phi(-sqrt(a)/2 - l/sqrt a).
#
# Proof.  In place of ``ln cosh(epsilon l / a)`` stands ``K(l/a)``, where K(s) is the logarithm of
# the mean of e^(s u) for u normal of variance a, cut off beyond -epsilon and epsilon.  K is even,
# and ``K'(s)/s`` falls, which is all that was used: for the third derivative is not above zero for
# s > 0. It is the third moment about its mean m of a normal variable with mean ``M = a s > 0``, cut
# off likewise, with density f.  By parts ``m = M - a (f(epsilon) - f(-epsilon))``, and f(x) > f(-x)
# for x > 0: so ``0 < m < M``.  Then ``f(m+t) / f(m-t) = e^(2 t (M-m)/a)`` is above one up to
# ``t = epsilon - m``, and f(m+t) is zero beyond.  So ``g(t) = f(m+t) - f(m-t)`` is first positive
# and then negative, from some T on; and since ``t g(t)`` has the integral zero, that of
# ``t (t^2 - T^2) g(t)``, the third moment, is not above zero.  At s = 0, K' is zero; so K' is
# concave, and K'(s)/s falls.
#
# For the closed form, ``D(0) <= 0``: by Jensen the mean of ``e^(-u^2/(2 a))`` is at least
# ``e^(-epsilon^2/(6 a))``, and ``ln(sinh(y)/y) <= y^2/6``.  So it is that of above for the square
# ``epsilon^2/3``: a third of what an epsilon takes.
#
# **Several at once.**  Of k equal releases each takes ``c = s (1 + k_i)`` of the closed form for
# the square s, with ``k_i = 0.51 s / a_i`` and a_i what it leaves, which is no less than what the
# last one leaves: with that for all a_i, they take the sum.
#
# Ends of the search are multiples of a step, found by enclosures: the same on every machine.

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.budget import BudgetPart
from tacit.arithmetic.enclosure import Enclosure, exp, log, sqrt
from tacit.arithmetic.exact import float_up
from tacit.arithmetic.roots_and_bisection import min_between, narrowed
from tacit.arithmetic.special_functions import normal_cdf

_ZERO = Fraction(0)
_MIN_COST = Fraction(1, 1 << 40)  # less is charged as this
_MAX_EPSILON = 64  # a larger epsilon is not held as a Gaussian
_SMALL = 1 << 8
_STEPS = 20  # a step of the search is this many halves of epsilon squared
_HALVED = 60  # so often is the way halved on which a search in floats looks for where to begin


def delta_of(variance: Fraction, epsilon: Fraction, bits: int = 128) -> Enclosure:
    """Enclose the smallest delta of ``G_variance`` at an epsilon that is not negative.

    >>> round(float(delta_of(Fraction(1), Fraction(0))), 6)
    0.382925
    """
    if variance == 0:
        return Enclosure.of(0)
    root = sqrt(variance, bits)
    near, far = root / 2 - epsilon / root, -(root / 2) - epsilon / root
    delta = normal_cdf(near, bits) - exp(epsilon, bits) * normal_cdf(far, bits)
    return Enclosure(max(delta.lower, _ZERO), max(delta.upper, _ZERO))


@lru_cache(maxsize=64)
def whole(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a variance, nearly the largest, at which ``G_v`` is (epsilon, delta)-DP.

    >>> round(float(whole(Fraction(1), Fraction(1, 10**6))), 5)
    0.05603
    """
    if delta <= 0 or delta >= 1 or epsilon > _MAX_EPSILON:
        return _ZERO
    bits = 64 + delta.denominator.bit_length() + 2 * math.ceil(epsilon)
    power = 0

    def holds(k: int) -> bool:
        scale = Fraction(2) ** power
        return delta_of(k * scale, epsilon, bits).upper <= delta

    while power < 8 and holds(1):
        power += 2
    while power > -200 and not holds(1):
        power -= 2
    power -= 24
    return _last(holds, 1 << 24, 1 << 27) * Fraction(2) ** power


@lru_cache(maxsize=1 << 12)
def after(
    variance: Fraction, epsilon: Fraction, times: int = 1, ranged: bool = False
) -> Fraction | None:
    """Return the variance that epsilon-DP releases leave; None where they do not fit.

    >>> left = after(Fraction(1), Fraction(1, 10))
    >>> round(float(1 - left), 6), after(Fraction(1, 100), Fraction(1, 10)) is None
    (0.010013, True)
    >>> round(float(1 - after(Fraction(1), Fraction(1, 10), 2, True)), 6)
    0.006678
    """
    cost = max(epsilon, _MIN_COST)
    if cost > _MAX_EPSILON:
        return None
    square = _square(cost, ranged)
    left = times
    while left:
        count = min(_closed(variance, square), left)
        if count:
            rest = variance - count * square * Fraction(101, 100)
            taken = count * (square + Fraction(51, 100) * square * square / rest)
            variance, left = variance - _up(taken, 64), left - count
            continue
        variance_after = _after_one(variance, cost, square, ranged)
        if variance_after is None:
            return None
        variance, left = variance_after, left - 1
    return variance


def after_all(variance: Fraction, parts: Iterable[BudgetPart]) -> Fraction | None:
    """Return the variance that all parts leave, in their order; None where one does not fit."""
    left: Fraction | None = variance
    for part in parts:
        if left is None:
            return None
        left = after(left, part.epsilon, part.times, part.ranged)
    return left


def _closed(variance: Fraction, square: Fraction) -> int:
    """Return how many releases the closed form holds for: the variance is large beside each."""
    over = variance - square * _SMALL
    return 0 if over < 0 else 1 + math.floor(over / (square * Fraction(101, 100)))


def _after_one(
    variance: Fraction, cost: Fraction, square: Fraction, ranged: bool
) -> Fraction | None:
    """Return the variance that one release leaves, looked for."""
    step, above = _step(square), _apart(variance, _bits(cost)).lower
    maximum = math.floor(variance / step)

    def fits(k: int) -> bool:
        return _lost_by(cost, variance - k * step, _bits(cost), ranged).upper <= above

    def about(a: float) -> bool:
        return _lost(cost, a, ranged) <= _far(variance)

    guess = narrowed(about, 0.0, float(variance), _HALVED)[0]
    near = min(max(math.ceil((variance - Fraction(guess)) / step), 0), maximum)
    if near == maximum and not fits(maximum):
        return None
    return variance - min(_first(fits, near), maximum) * step


@lru_cache(maxsize=1 << 12)
def before(variance: Fraction, epsilon: Fraction, times: int = 1, ranged: bool = False) -> Fraction:
    """Return a variance, nearly the least, that dominates releases and a Gaussian.

    >>> round(float(before(Fraction(0), Fraction(1, 10))), 6)
    0.015702
    """
    cost = max(epsilon, _MIN_COST)
    square = _square(cost, ranged)
    for done in range(times):
        if square * _SMALL <= variance:
            one = square + Fraction(51, 100) * square * square / variance
            return variance + _up((times - done) * one, 64)
        variance = _before_one(variance, cost, square, ranged)
    return variance


def _before_one(variance: Fraction, cost: Fraction, square: Fraction, ranged: bool) -> Fraction:
    step, bits = _step(square), _bits(cost)
    below = _lost_by(cost, variance, bits, ranged).upper

    def fits(k: int) -> bool:
        return _apart(variance + k * step, bits).lower >= below

    wanted = _lost(cost, float(variance), ranged)
    maximum = float(variance) + 4 * float_up(square) + 1
    guess = narrowed(lambda v: _far(v) >= wanted, maximum, 0.0, _HALVED)[0]
    near = math.ceil((Fraction(guess) - variance) / step)
    return variance + _first(fits, max(near, 0)) * step


@lru_cache(maxsize=256)
def largest(variance: Fraction) -> Fraction:
    """Return the largest epsilon, rounded down, of a single release that fits.

    >>> round(float(largest(Fraction(1, 100))), 6)
    0.079798
    """
    if variance == 0:
        return _ZERO
    apart = _apart(variance, 128 + 2 * _size(variance)).lower
    epsilon = log((1 + apart) / (1 - apart), 128 + 2 * _size(variance)).lower
    return max(Enclosure.of(epsilon).rounded(40).lower * (1 - Fraction(1, 1 << 38)), _ZERO)


@lru_cache(maxsize=64)
def epsilon_of(variance: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, nearly the least, at which ``G_variance`` is (epsilon, delta)-DP.

    >>> round(float(epsilon_of(Fraction(1), Fraction(1, 10**6))), 4)
    4.8866
    """
    bits = 64 + delta.denominator.bit_length()
    scale = 1 << 30

    def holds(k: int) -> bool:
        level = Fraction(k, scale)
        return delta_of(variance, level, bits + 2 * math.ceil(level)).upper <= delta

    high = 1
    while not holds(high):
        high *= 4
    low = 0 if high == 1 else high // 4
    while high - low > 1 + high // (1 << 24):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return Fraction(high, scale)


def _square(cost: Fraction, ranged: bool) -> Fraction:
    """Return about the variance of the losses: what a small release takes."""
    return _up(cost * cost / 3 if ranged else cost * cost, 64)


def _lost_by(epsilon: Fraction, variance: Fraction, bits: int, ranged: bool) -> Enclosure:
    """Enclose delta at zero of a release together with ``G_variance``."""
    if ranged:
        return _lost_by_range(epsilon, variance, bits)
    odds = exp(epsilon, bits)
    share = 2 / (1 + odds)
    return (1 - share) + share * delta_of(variance, epsilon, bits)


def _lost_by_range(epsilon: Fraction, variance: Fraction, bits: int) -> Enclosure:
    up = exp(epsilon / 2, bits)
    sinh, cosh = (up - 1 / up) / 2, (up + 1 / up) / 2
    if variance == 0:
        return (cosh - 1) / sinh
    root = sqrt(variance, bits)
    far = normal_cdf(-(root / 2) - epsilon / root, bits)
    slope = -(delta_of(variance, epsilon, bits) / up) / 2 - up * far
    inside = normal_cdf(epsilon / root, bits) - Fraction(1, 2)
    return (2 * slope - 2 * exp(-variance / 8, bits) * inside + cosh) / sinh


def _apart(variance: Fraction, bits: int) -> Enclosure:
    """Enclose delta at zero of ``G_variance``."""
    return 2 * normal_cdf(sqrt(variance, bits) / 2, bits) - 1


def _lost(epsilon: Fraction, variance: float, ranged: bool) -> float:
    """Return what :func:`_lost_by` encloses, about: to begin a search near its end."""
    level, root = float(epsilon), math.sqrt(max(variance, 0.0))
    if not root:
        return math.tanh(level / 4 if ranged else level / 2)
    near, far = (root / 2 - level / root) / math.sqrt(2), (root / 2 + level / root) / math.sqrt(2)
    delta = (math.erfc(-near) - math.exp(level) * math.erfc(far)) / 2
    if ranged:
        slope = -math.exp(-level / 2) * delta / 2 - math.exp(level / 2) * math.erfc(far) / 2
        inside = math.erf(level / root / math.sqrt(2)) / 2
        derivative = 2 * slope - 2 * math.exp(-variance / 8) * inside + math.cosh(level / 2)
        return derivative / math.sinh(level / 2)
    return math.tanh(level / 2) + 2 / (1 + math.exp(level)) * delta


def _far(variance: Fraction | float) -> float:
    return math.erf(math.sqrt(float(variance) / 8))


def _first(holds: Callable[[int], bool], near: int) -> int:
    """Return the first number from which on a test holds, looked for from one that is near it."""
    step, low, high = 1, near, near
    if holds(near):
        while low > 0 and holds(low):
            low, high, step = max(low - step, 0), low, 2 * step
        if low == 0 and holds(0):
            return 0
    else:
        while not holds(high):
            low, high, step = high, high + step, 2 * step
    return min_between(holds, low, high)


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number at which a test holds, if it does at ``low``."""
    return min_between(lambda k: not holds(k), low, high) - 1


def _step(square: Fraction) -> Fraction:
    size = square.numerator.bit_length() - square.denominator.bit_length()
    return Fraction(2) ** (size - _STEPS)


def _bits(epsilon: Fraction) -> int:
    """Return how many bits tell apart what steps of the search make of a probability."""
    return 96 + 4 * _size(epsilon) + 2 * math.ceil(epsilon)


def _size(value: Fraction) -> int:
    """Return about minus the binary logarithm of a number below one, else 0."""
    return max(value.denominator.bit_length() - value.numerator.bit_length(), 0)


def _up(value: Fraction, bits: int) -> Fraction:
    return Enclosure.of(value).rounded(bits).upper
