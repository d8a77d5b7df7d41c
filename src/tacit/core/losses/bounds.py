"""Privacy losses of the worse direction, and privacy losses that are a bound alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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

    What they say is an upper bound.  A lower bound are the losses of single pairs of inputs, where
    some are known: of several releases each pair loses at least what it does in one of them, and
    in equal ones what it does in all of them together.  Else the lower end is zero.

    Attributes:
        losses: what dominates.
        below: the losses of known pairs; the worst of them counts.

    >>> from tacit.core.losses.distribution import PrivacyLossDistribution, dominating_pair
    >>> found = Dominating(dominating_pair(Fraction(2))).epsilon(0)
    >>> float(found.lower), float(found.upper)
    (0.0, 2.0)
    >>> pair = dominating_pair(Fraction(1))
    >>> found = Dominating(dominating_pair(Fraction(2)), below=(pair,)).self_compose(3).epsilon(0)
    >>> float(found.lower), float(found.upper)
    (3.0, 6.0)
    """

    losses: PrivacyLoss
    below: tuple[PrivacyLoss, ...] = field(default=(), kw_only=True)

    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon`` between that of a pair and what dominates."""
        found = self.losses.delta(epsilon)
        known = [found if one == self.losses else one.delta(epsilon) for one in self.below]
        return _between(known, found)

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least delta at each epsilon between that of a pair and what dominates."""
        found = self.losses.deltas(epsilons)
        known = [found if one == self.losses else one.deltas(epsilons) for one in self.below]
        return [_between([one[i] for one in known], above) for i, above in enumerate(found)]

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon between that of a pair and what dominates.

        ``math.inf`` where nothing finite dominates.
        """
        found = self.losses.epsilon(delta)
        if not isinstance(found, Enclosure):
            return found
        known = [found if one == self.losses else one.epsilon(delta) for one in self.below]
        return _between([one for one in known if isinstance(one, Enclosure)], found)

    def compose(self, other: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together."""
        known = other.losses if isinstance(other, Dominating) else other
        below = self.below + (other.below if isinstance(other, Dominating) else ())
        own = BothWays(self.losses, self.losses) if isinstance(known, BothWays) else self.losses
        return Dominating(own.compose(known), below=below)

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return what dominates either direction, twice."""
        either = replace(self, below=()) if self.below else self
        return either, either

    def after(self, first: PrivacyLoss) -> Dominating:
        """Return what dominates two releases together."""
        return self.compose(first)

    def self_compose(self, times: int) -> Dominating:
        """Return what dominates ``times`` such releases together."""
        below = tuple(one.self_compose(times) for one in self.below)
        return Dominating(self.losses.self_compose(times), below=below)


def _between(known: Sequence[Enclosure], above: Enclosure) -> Enclosure:
    """Return what lies between the largest lower end of known pairs and an upper end."""
    least = max((one.lower for one in known), default=Fraction(0))
    return Enclosure(min(max(least, Fraction(0)), above.upper), above.upper)
