"""Divergences between two explicit discrete distributions, with certified enclosures.

A distribution is a mapping from outcome to probability: a Fraction (or what reads as one), or an
:class:`~tacit.noise.enclosure.Enclosure` where the probability is irrational.  Outcomes that are
absent have probability zero.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from tacit.errors import UsageError
from tacit.exact import Number, as_fraction
from tacit.noise.enclosure import Enclosure, exp, log

__all__ = [
    "Profile",
    "concentrated",
    "distribution",
    "hockey_stick",
    "largest",
    "max_divergence",
    "renyi",
    "total_variation",
]

Probabilities: TypeAlias = dict[Hashable, Enclosure]
_BITS = 96
_ZERO = Fraction(0)
_ONE = Fraction(1)


def distribution(p: Mapping[Any, Any]) -> Probabilities:
    """Read an explicit distribution, and refuse one that cannot sum to one.

    Raises:
        UsageError: a negative probability, or a sum that is not one.
    """
    read: Probabilities = {}
    for outcome, probability in p.items():
        if isinstance(probability, Enclosure):
            read[outcome] = probability
        else:
            exact = as_fraction(probability, "a probability")
            read[outcome] = Enclosure(exact, exact)
    if any(e.upper < 0 for e in read.values()):
        raise UsageError("a probability is not negative")
    low = sum((e.lower for e in read.values()), _ZERO)
    high = sum((e.upper for e in read.values()), _ZERO)
    if not low <= 1 <= high:
        raise UsageError(f"the probabilities sum to {float(low):.12g}, not to 1")
    return read


def max_divergence(p: Mapping[Any, Any], q: Mapping[Any, Any]) -> Enclosure | float:
    """Return ``max over x of ln(p(x) / q(x))``; ``math.inf`` where q misses an outcome of p.

    The maximum over *events* is attained at single outcomes, since a ratio of sums is at most the
    largest ratio of their terms.

    >>> max_divergence({0: 1}, {0: "1/2", 1: "1/2"}).upper >= 0
    True
    """
    left, right = distribution(p), distribution(q)
    low, high = _ZERO, _ZERO
    for outcome, here in left.items():
        there = right.get(outcome, Enclosure(_ZERO, _ZERO))
        if here.upper <= 0:
            continue
        if there.lower <= 0:
            if here.lower > 0 and there.upper <= 0:
                return math.inf
            raise UsageError("the enclosures are too wide to divide by; give them more precision")
        low = max(low, here.lower / there.upper)
        high = max(high, here.upper / there.lower)
    return Enclosure(log(low, _BITS).lower, log(high, _BITS).upper)


def hockey_stick(p: Mapping[Any, Any], q: Mapping[Any, Any], epsilon: Number) -> Enclosure:
    """Return ``sum over x of max(0, p(x) - e^epsilon q(x))``: the least delta at an epsilon.

    >>> hockey_stick({0: 1}, {0: "1/2", 1: "1/2"}, 0).upper == Fraction(1, 2)
    True
    """
    return Profile(distribution(p), distribution(q))._one_way(as_fraction(epsilon, "epsilon"))


def total_variation(p: Mapping[Any, Any], q: Mapping[Any, Any]) -> Enclosure:
    """Return the total variation distance: the hockey stick at epsilon zero."""
    return hockey_stick(p, q, 0)


def renyi(p: Mapping[Any, Any], q: Mapping[Any, Any], alpha: Fraction) -> Enclosure | float:
    """Return the Renyi divergence of order ``alpha > 1``.

    ``D = ln(sum over x of p(x)^alpha q(x)^(1 - alpha)) / (alpha - 1)``.
    """
    left, right = distribution(p), distribution(q)
    low, high = _ZERO, _ZERO
    for outcome, here in left.items():
        there = right.get(outcome, Enclosure(_ZERO, _ZERO))
        if here.upper <= 0:
            continue
        if there.upper <= 0:
            return math.inf
        if there.lower <= 0 or here.lower <= 0:
            raise UsageError("the enclosures are too wide to divide by; give them more precision")
        low += _power_term(here.lower, there.upper, alpha).lower
        high += _power_term(here.upper, there.lower, alpha).upper
    order = alpha - 1
    return Enclosure(log(low, _BITS).lower / order, log(high, _BITS).upper / order)


def _power_term(p: Fraction, q: Fraction, alpha: Fraction) -> Enclosure:
    """Enclose ``p^alpha q^(1 - alpha) = p exp((alpha - 1) ln(p / q))``."""
    ratio = log(p / q, _BITS)
    low = exp((alpha - 1) * ratio.lower, _BITS).lower
    high = exp((alpha - 1) * ratio.upper, _BITS).upper
    return Enclosure(p * low, p * high)


def concentrated(
    p: Mapping[Any, Any], q: Mapping[Any, Any], tolerance: Fraction = Fraction(1, 1024)
) -> Enclosure | float:
    """Enclose ``sup over alpha > 1 of D_alpha(p, q) / alpha`` to a relative tolerance.

    D_alpha grows with alpha, so on [a, b] the ratio is at most ``D_b / a`` and at b it is
    ``D_b / b``; above A it is at most ``D_inf / A``.  Intervals whose bound exceeds the best value
    found by more than the tolerance are halved until none is left.
    """
    ceiling = max_divergence(p, q)
    if not isinstance(ceiling, Enclosure):
        return ceiling
    if ceiling.upper <= Fraction(1, 1 << 80):
        return Enclosure(_ZERO, max(_ZERO, ceiling.upper))

    def order(alpha: Fraction) -> Enclosure:
        value = renyi(p, q, alpha)
        assert isinstance(value, Enclosure)
        return value

    best, bound = _ZERO, _ZERO
    start, pending = _ONE, []
    while True:
        end = start * Fraction(5, 4)
        at_end = order(end)
        best = max(best, at_end.lower / end)
        pending.append((start, end, at_end.upper))
        start = end
        if ceiling.upper / end <= best:
            break
    while pending:
        a, b, top = pending.pop()
        if top / a <= best * (1 + tolerance):
            bound = max(bound, top / a)
            continue
        middle = (a + b) / 2
        at_middle = order(middle)
        best = max(best, at_middle.lower / middle)
        pending += [(a, middle, at_middle.upper), (middle, b, top)]
    return Enclosure(best, max(bound, best))


def largest(*values: Enclosure | float) -> Enclosure | float:
    """Return the larger of several divergences, any of which may be infinite."""
    finite = [v for v in values if isinstance(v, Enclosure)]
    if len(finite) < len(values):
        return math.inf
    return Enclosure(max(v.lower for v in finite), max(v.upper for v in finite))


@dataclass(frozen=True, eq=False)
class Profile:
    """The privacy profile of two distributions: epsilon to delta, and back.

    ``profile(epsilon)`` encloses the least delta, over both directions, such that
    ``P(S) <= e^epsilon Q(S) + delta`` for every event S.
    """

    p: Probabilities
    q: Probabilities

    def __call__(self, epsilon: Number) -> Enclosure:
        """Return the least delta at ``epsilon``, over both directions."""
        level = as_fraction(epsilon, "epsilon")
        mirror = Profile(self.q, self.p)
        worst = largest(self._one_way(level), mirror._one_way(level))
        assert isinstance(worst, Enclosure)
        return worst

    def epsilon(self, delta: Number, precision: Fraction = Fraction(1, 1 << 30)) -> Fraction:
        """Return an epsilon at which ``delta`` suffices, at most ``precision`` above the least.

        Raises:
            UsageError: no finite epsilon reaches this delta.
        """
        target = as_fraction(delta, "delta")
        high = _ONE
        while self(high).upper > target:
            high *= 2
            if high > 1 << 20:
                raise UsageError("no finite epsilon reaches this delta")
        low = _ZERO
        while high - low > precision:
            middle = (low + high) / 2
            low, high = (low, middle) if self(middle).upper <= target else (middle, high)
        return high

    def _one_way(self, epsilon: Fraction) -> Enclosure:
        factor = exp(epsilon, _BITS)
        low, high = _ZERO, _ZERO
        for outcome, here in self.p.items():
            there = self.q.get(outcome, Enclosure(_ZERO, _ZERO))
            low += max(_ZERO, here.lower - factor.upper * there.upper)
            high += max(_ZERO, here.upper - factor.lower * there.lower)
        return Enclosure(low, high)
