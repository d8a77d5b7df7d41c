"""Privacy losses of the worse direction, and privacy losses that are a bound alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number
from tacit.core.divergences.divergence import largest
from tacit.core.losses.base import PrivacyLoss

__all__ = ["BothWays", "Dominating"]


@dataclass(frozen=True)
class BothWays(PrivacyLoss):
    """The privacy losses of a pair in both directions: each answer is that of the worse one.

    Attributes:
        forward, backward: P against Q, and Q against P.

    >>> from tacit.core.losses.distribution import PrivacyLossDistribution
    >>> p, q = {0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"}
    >>> both = BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))
    >>> round(float(both.forward.epsilon(0)), 4), round(float(both.epsilon(0)), 4)
    (0.2513, 1.0986)
    """

    forward: PrivacyLoss
    backward: PrivacyLoss

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon`` that serves both directions."""
        worst = largest(self.forward.delta(epsilon), self.backward.delta(epsilon))
        assert isinstance(worst, Enclosure)
        return worst

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least delta at each epsilon that serves both directions."""
        ways = zip(self.forward.deltas(epsilons), self.backward.deltas(epsilons), strict=True)
        return [Enclosure(max(a.lower, b.lower), max(a.upper, b.upper)) for a, b in ways]

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta`` that serves both directions."""
        return largest(self.forward.epsilon(delta), self.backward.epsilon(delta))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the two."""
        return self.forward, self.backward

    def compose(self, other: PrivacyLoss) -> BothWays:
        """Return the losses of two releases together, direction by direction.

        Raises:
            UsageError: the other losses are a list, which is of one direction.
        """
        ways = other.directions()
        return BothWays(self.forward.compose(ways[0]), self.backward.compose(ways[1]))

    def after(self, first: PrivacyLoss) -> BothWays:
        """Return the losses of two releases together, direction by direction."""
        return BothWays(*first.directions()).compose(self)

    def self_compose(self, times: int) -> BothWays:
        """Return the losses of ``times`` such releases together, direction by direction."""
        return BothWays(self.forward.self_compose(times), self.backward.self_compose(times))


@dataclass(frozen=True)
class Dominating(PrivacyLoss):
    """Losses that dominate those of every pair in question, where none is known to have them.

    What they say is an upper bound: the lower end of each enclosure is zero.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> found = Dominating(dominating_pair(Fraction(2))).epsilon(0)
    >>> float(found.lower), float(found.upper)
    (0.0, 2.0)
    """

    losses: PrivacyLoss

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon`` between zero and what dominates."""
        return Enclosure(Fraction(0), self.losses.delta(epsilon).upper)

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least delta at each epsilon between zero and what dominates."""
        return [Enclosure(Fraction(0), one.upper) for one in self.losses.deltas(epsilons)]

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon between zero and what dominates; ``math.inf`` if no bound."""
        found = self.losses.epsilon(delta)
        return Enclosure(Fraction(0), found.upper) if isinstance(found, Enclosure) else found

    def compose(self, other: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together."""
        known = other.losses if isinstance(other, Dominating) else other
        if isinstance(known, BothWays):
            return Dominating(BothWays(self.losses, self.losses).compose(known))
        return Dominating(self.losses.compose(known))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return itself twice: it dominates either."""
        return self, self

    def after(self, first: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together."""
        return self.compose(first)

    def self_compose(self, times: int) -> Dominating:
        """Return what dominates ``times`` such releases together."""
        return Dominating(self.losses.self_compose(times))
