"""Losses of pairs of two outcomes, such as two candidates that cross, many together."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import (
    Number,
    as_fraction,
    as_integer,
    float_down,
    float_up,
    read_probability,
)
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core.losses.base import BothWays, PrivacyLoss
from tacit.core.losses.distribution import PrivacyLossDistribution
from tacit.core.losses.lattice import Floats
from tacit.core.losses.summands import min_part

# Of k releases with the same two outcomes only the number of first ones matters: the loss of j of
# them is ``j a + (k - j) b``, with the probability ``C(k, j) p^j (1 - p)^(k - j)``.  Of several
# such groups all numbers are listed.
#
# **Rounding.**  The logarithm of a probability, and a loss, are sums of a few products.  Each
# factor is right to ``2^-52`` of its size, so that a sum is to ``2^-50`` of the sizes of its terms,
# added up; so is, relatively, the probability.  A loss that is off by r is that of an epsilon off
# by r. Each term of ``sum of P(x) max(0, 1 - e^(epsilon - loss))`` is right to ``2^-50`` then, none
# is negative, and the sum of n of them is right to ``n 2^-52``.


_MAX_LISTED = 1 << 18
_FEW = 1 << 11
_STEPS = 50
_WORD = 2.0**-50


@dataclass(frozen=True)
class TwoOutcomes(PrivacyLoss):
    """The losses of pairs of two outcomes together, in the worse direction.

    >>> share = Enclosure.of(Fraction(3, 4))
    >>> pair = TwoOutcomes(((share, 1 - share, 1),))
    >>> round(float(pair.epsilon(0)), 4), round(float(pair.self_compose(2).delta(0)), 9)
    (1.0986, 0.5)
    """

    # the probability of the first outcome under P and under Q, both inside of 0 to 1, and how often
    # the pair stands
    parts: tuple[tuple[Enclosure, Enclosure, int], ...]

    def delta(self, epsilon: Number) -> Enclosure:
        level = as_fraction(epsilon, "epsilon")
        if self._listed is None:
            return self._added_up.delta(level)
        low = max(one.delta(float_up(level), upper=False) for one in self._listed)
        high = max(one.delta(float_down(level), upper=True) for one in self._listed)
        return Enclosure(Fraction(low), Fraction(min(max(high, low), 1.0)))

    def epsilon(self, delta: Number) -> Enclosure | float:
        target = read_probability(delta, "delta")
        if self._listed is None or not float_down(target) > 0:
            return self._added_up.epsilon(target)
        both = [(one.epsilon(float_up(target), upper=False), one) for one in self._listed]
        low = max(end for end, _ in both)
        high = max(one.epsilon(float_down(target), upper=True) for _, one in both)
        return Enclosure(Fraction(low), Fraction(max(low, high)))

    def rough_epsilon(self, log_delta: float) -> float:
        """Return about how large epsilon is, by Chernoff; infinite where few outcomes tell it."""
        if self._few:
            return math.inf
        bounds = (
            min((log + min_part(t) - log_delta) / t for t, log in self._moments(turned))
            for turned in (False, True)
        )
        return max(bounds)

    def rough_log_delta(self, epsilon: float) -> float:
        """Return about the logarithm of delta, by Chernoff; infinite where few outcomes tell it."""
        if self._few:
            return math.inf
        bounds = (
            min(log - t * epsilon + min_part(t) for t, log in self._moments(turned))
            for turned in (False, True)
        )
        return max(bounds)

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return both directions, added up as other losses are."""
        return self._added_up.directions()

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of both together, listed where the other has two outcomes too."""
        return (
            other.after(self) if isinstance(other, TwoOutcomes) else self._added_up.compose(other)
        )

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        if not isinstance(first, TwoOutcomes):
            return self._added_up.after(first)
        counts: Counter[tuple[Enclosure, Enclosure]] = Counter()
        for p, q, k in (*first.parts, *self.parts):
            counts[p, q] += k
        return TwoOutcomes(tuple((p, q, k) for (p, q), k in counts.items()))

    def self_compose(self, times: int) -> TwoOutcomes:
        count = as_integer(times, "times", minimum=1)
        return TwoOutcomes(tuple((p, q, k * count) for p, q, k in self.parts))

    @cached_property
    def _added_up(self) -> PrivacyLoss:
        """The same as a composition of lists of losses."""
        composed: list[PrivacyLoss] = []
        for p, q, k in self.parts:
            own: dict[int, Any] = {0: p, 1: 1 - p}
            other: dict[int, Any] = {0: q, 1: 1 - q}
            ways = PrivacyLossDistribution.of(own, other), PrivacyLossDistribution.of(other, own)
            composed.append(BothWays(*ways).self_compose(k))
        return reduce(lambda a, b: a.compose(b), composed)

    @property
    def _outcomes(self) -> int:
        return math.prod(k + 1 for _, _, k in self.parts)

    @property
    def _few(self) -> bool:
        return self._outcomes <= _FEW

    @cached_property
    def _listed(self) -> tuple[_Outcomes, _Outcomes] | None:
        """Both directions, listed; None where that would be long."""
        if self._outcomes > _MAX_LISTED:
            return None
        turned = tuple((q, p, k) for p, q, k in self.parts)
        return _Outcomes.of(self.parts), _Outcomes.of(turned)

    def _moments(self, turned: bool) -> list[tuple[float, float]]:
        """Return powers t and the logarithms of the mean of ``e^(t loss)``."""
        rows = [_logs(q, p) if turned else _logs(p, q) for p, q, _ in self.parts]
        powers = [2.0 ** (n / 2) for n in range(-8, 20)]
        totals = []
        for t in powers:
            ends = ([a + t * (a - b) for a, b in row] for row in rows)
            logs = (max(e) + math.log1p(math.exp(min(e) - max(e))) for e in ends)
            totals.append(
                math.fsum(k * one for (_, _, k), one in zip(self.parts, logs, strict=True))
            )
        return list(zip(powers, totals, strict=True))


@lru_cache(maxsize=1 << 6)
def _log_ways(k: int) -> Floats:
    """Return the logarithms of the numbers of ways to choose so many of k, from none to all."""
    ways = itertools.accumulate(range(k), lambda c, n: c * (k - n) // (n + 1), initial=1)
    return np.array([math.log(number) for number in ways])


def _logs(p: Enclosure, q: Enclosure) -> list[tuple[float, float]]:
    """Return the logarithms of both probabilities of each outcome."""
    ends = ((p, q), (1 - p, 1 - q))
    return [(_log(a), _log(b)) for a, b in ends]


def _log(share: Enclosure) -> float:
    """Return the logarithm of the middle of a narrow enclosure, right to 2^-52 of its size."""
    middle = share.middle
    return math.log1p(-float(1 - middle)) if 2 * middle > 1 else math.log(float(middle))


@dataclass(frozen=True)
class _Outcomes:
    """All outcomes of releases, in one direction."""

    losses: Floats
    masses: Floats
    unsure: float  # what a loss may be off by, and a mass relatively

    @classmethod
    def of(cls, parts: tuple[tuple[Enclosure, Enclosure, int], ...]) -> _Outcomes:
        logs, losses, unsure = np.zeros(1), np.zeros(1), 4.0
        for p, q, k in parts:
            (first, first_q), (second, second_q) = _logs(p, q)
            j = np.arange(k + 1)
            ways = _log_ways(k)
            own = ways + j * first + (k - j) * second
            other = j * (first - first_q) + (k - j) * (second - second_q)
            logs = (logs[:, None] + own).ravel()
            losses = (losses[:, None] + other).ravel()
            sizes = abs(first) + abs(first_q) + abs(second) + abs(second_q)
            unsure += 2 * k * sizes + float(ways.max())
        return cls(losses, np.exp(logs), _WORD * (unsure + len(logs)))

    def delta(self, epsilon: float, *, upper: bool) -> float:
        """Return delta at an epsilon from one side."""
        level = epsilon - self.unsure if upper else epsilon + self.unsure
        over = self.losses > level
        total = float((self.masses[over] * -np.expm1(level - self.losses[over])).sum())
        if upper:  # with what underflows
            return total * (1 + 4 * self.unsure) + 2.0**-1000
        return total * (1 - 4 * self.unsure)

    def epsilon(self, delta: float, *, upper: bool) -> float:
        """Return the smallest epsilon at a delta from one side."""
        end = max(float(self.losses.max()) + 2 * self.unsure, 0.0)

        def enough(epsilon: float) -> bool:
            return self.delta(epsilon, upper=upper) <= delta

        if enough(0.0):
            return 0.0
        holds, fails = narrowed(enough, end, 0.0, _STEPS)
        return holds if upper else fails
