"""Privacy losses that are dominated in two ways: by a pair, and by a bound on Renyi divergences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.losses.base import PrivacyLoss
from tacit.core.losses.bounded_range import BoundedRange
from tacit.core.losses.bounds import Dominating
from tacit.core.losses.distribution import dominating_pair
from tacit.core.measures.epsilon_bound import delta_bound, epsilon_bound
from tacit.core.measures.measure import ZeroConcentratedDP

__all__ = ["ConcentratedToo", "of_range"]


@dataclass(frozen=True)
class ConcentratedToo(Dominating):
    """What dominates a release, and the rho of its zCDP: each answer is the smaller of the two.

    Of few releases the pair says more, of many releases of bounded range rho does.

    Attributes:
        rho: the release is rho-zCDP.

    >>> from tacit.core.losses.bounded_range import BoundedRange
    >>> one = ConcentratedToo(BoundedRange(Fraction(1, 100)), Fraction(1, 80000))
    >>> float(one.self_compose(10_000).epsilon("1e-6"))
    2.4190...
    """

    rho: Fraction

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon`` between zero and the smaller bound."""
        level = as_fraction(epsilon, "epsilon")
        return self._smaller(level, super().delta(level))

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least delta at each epsilon between zero and the smaller bound."""
        pairs = zip(epsilons, super().deltas(epsilons), strict=True)
        return [self._smaller(level, pair) for level, pair in pairs]

    def _smaller(self, level: Fraction, pair: Enclosure) -> Enclosure:
        if level <= 0:
            return pair
        other = delta_bound(ZeroConcentratedDP(), self.rho, level)
        return Enclosure(Fraction(0), min(pair.upper, other.upper))

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta`` between zero and the smaller bound."""
        target = as_fraction(delta, "delta")
        pair = super().epsilon(target)
        other = epsilon_bound(ZeroConcentratedDP(), self.rho, target) if target < 1 else pair
        found = [bound for bound in (pair, other) if isinstance(bound, Enclosure)]
        return min(found, key=lambda bound: bound.upper) if found else pair

    def compose(self, other: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together: in both ways where both are known."""
        pair = super().compose(other)
        if isinstance(other, ConcentratedToo):
            return ConcentratedToo(pair.losses, self.rho + other.rho)
        if isinstance(other, GaussianShift):
            return ConcentratedToo(pair.losses, self.rho + other.concentrated())
        return pair

    def self_compose(self, times: int) -> Dominating:
        """Return what dominates ``times`` such releases together."""
        return ConcentratedToo(self.losses.self_compose(times), times * self.rho)


def of_range(reach: Fraction) -> PrivacyLoss:
    """Return what dominates the losses of every release whose log ratios lie in an interval.

    Args:
        reach: its length; the release is then ``reach^2 / 8``-zCDP (Cesar and Rogers, ALT 2021).

    >>> round(float(of_range(Fraction(1)).delta(0)), 4)
    0.2449
    """
    if not reach:
        return dominating_pair(reach)
    return ConcentratedToo(BoundedRange(reach), reach**2 / 8)
