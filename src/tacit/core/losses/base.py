"""The privacy loss of a release: what every kind of loss answers."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, as_fraction, read_probability
from tacit.calls import public
from tacit.core.divergences import Curve, largest
from tacit.errors import UsageError

# What every form of a privacy-loss distribution is made of, and what each of them answers.


BITS = 224  # the precision of what is rounded
_ZERO = Fraction(0)


@public
class PrivacyLoss(ABC):
    """Interface of every form of a privacy-loss distribution."""

    @abstractmethod
    def delta(self, epsilon: Number) -> Enclosure:
        """Enclose the least delta at ``epsilon``, which is at least 0."""

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least delta at each of several epsilons, in rising order."""
        return [self.delta(epsilon) for epsilon in epsilons]

    @abstractmethod
    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at ``delta``; ``math.inf`` where no finite one suffices.

        Args:
            delta: from 0 to below 1.
        """

    def upper_epsilon(self, delta: Number) -> Enclosure | float:
        """Return what :meth:`epsilon` does, of which the lower end may be less sharp."""
        return self.epsilon(delta)

    def surely_within(self, epsilon: Fraction, delta: Number) -> bool:
        """Return whether it is seen at a glance that delta is enough at an epsilon."""
        return False

    def rough_epsilon(self, log_delta: float) -> float:
        """Return about how large epsilon is at a delta; ``math.inf`` where that is not known."""
        return math.inf

    def rough_log_delta(self, epsilon: float) -> float:
        """Return about the logarithm of delta; ``math.inf`` where that is not known."""
        return math.inf

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the losses of P against Q and of Q against P, where both are known.

        Raises:
            UsageError: a list of losses, which is of one direction.
        """
        raise UsageError(
            "these losses are a list in one direction, and the others are in both directions: "
            "use tc.framework.privacy_loss for both and compose one release at a time, or compose "
            "one direction only, with .forward or .backward"
        )

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together."""
        return other.after(self)

    @abstractmethod
    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        """Return the losses of two releases together; these are those of the second."""

    @abstractmethod
    def self_compose(self, times: int) -> PrivacyLoss:
        """Return the losses of ``times`` such releases together."""


@dataclass(frozen=True)
class Loss:
    """A privacy loss ``shift + ln(ratio)``, kept so that equal ones are seen to be equal."""

    shift: Enclosure = Enclosure(_ZERO, _ZERO)  # noqa: RUF009  (frozen)
    ratio: Fraction = Fraction(1)

    @classmethod
    def of(cls, loss: Fraction) -> Loss:
        """Return a rational loss."""
        return cls(Enclosure(loss, loss))

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.shift + other.shift, self.ratio * other.ratio)

    def times(self, factor: int) -> Loss:
        """Return a whole multiple."""
        return Loss(factor * self.shift, self.ratio**factor)

    @cached_property
    def value(self) -> Enclosure:
        """An enclosure of the loss."""
        return self.shift if self.ratio == 1 else self.shift + log(self.ratio, 96)

    def factor(self, bits: int = BITS) -> Enclosure:
        """Enclose ``e^-loss``."""
        return exp(-self.shift, bits) / self.ratio


@dataclass(frozen=True)
class Atom:
    """One privacy loss with the masses that P and Q give it."""

    loss: Loss
    p: Enclosure
    q: Enclosure


def enclosed_delta(curves: tuple[Curve, Curve], epsilon: Number) -> Enclosure:
    """Enclose delta between a curve from below and one from above."""
    level = as_fraction(epsilon, "epsilon")
    low, high = curves
    return Enclosure(low.delta(level).lower, min(high.delta(level).upper, Fraction(1)))


def enclosed_epsilon(curves: tuple[Curve, Curve], delta: Number) -> Enclosure | float:
    """Enclose epsilon between a curve from below and one from above."""
    target = read_probability(delta, "delta")
    low, high = (curve.epsilon(target) for curve in curves)
    if not isinstance(high, Enclosure):
        return math.inf
    minimum = low.lower if isinstance(low, Enclosure) else high.upper
    return Enclosure(min(minimum, high.upper), high.upper)


# The lattice that some losses stand on exactly, if there is one.


_MAX_PLACES = 1 << 20


@dataclass(frozen=True)
class LossGrid:
    """Where losses stand: ``origin + place step``."""

    step: Loss
    origin: Loss


def placed(losses: list[Loss]) -> tuple[LossGrid, list[int]] | None:
    """Return the lattice of losses, and the position of each on it; None where they have none.

    >>> lattice, places = placed([Loss.of(Fraction(n)) for n in (-1, 1, 5)])
    >>> lattice.step.shift.lower, places
    (Fraction(2, 1), [0, 1, 3])
    """
    if len(losses) < 2:
        return None
    if all(loss.ratio == 1 and not loss.shift.width for loss in losses):
        values = [loss.shift.lower for loss in losses]
        minimum = min(values)
        step = _gcd([value - minimum for value in values])
        indices = [int((value - minimum) / step) for value in values] if step else []
        if not step or max(indices) > _MAX_PLACES:
            return None
        return LossGrid(Loss.of(step), Loss.of(minimum)), indices
    if any(loss.shift != Loss().shift for loss in losses):
        return None
    ratios = sorted({loss.ratio for loss in losses})
    base = min(b / a for a, b in itertools.pairwise(ratios))
    powers = {ratios[0]: 0}
    power, index = ratios[0], 0
    while power < ratios[-1] and index < 2 * len(ratios):
        power, index = power * base, index + 1
        powers[power] = index
    if not set(ratios) <= set(powers):
        return None
    lattice = LossGrid(Loss(ratio=base), Loss(ratio=ratios[0]))
    return lattice, [powers[loss.ratio] for loss in losses]


def _gcd(values: list[Fraction]) -> Fraction:
    common = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * common) for value in values)), common)


@dataclass(frozen=True)
class BothWays(PrivacyLoss):
    """The privacy losses of a pair in both directions: each answer is that of the worse one.

    >>> from tacit.core.losses.distribution import PrivacyLossDistribution
    >>> p, q = {0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"}
    >>> both = BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))
    >>> round(float(both.forward.epsilon(0)), 4), round(float(both.epsilon(0)), 4)
    (0.2513, 1.0986)
    """

    # forward, backward: P against Q, and Q against P
    forward: PrivacyLoss
    backward: PrivacyLoss

    def delta(self, epsilon: Number) -> Enclosure:
        worst = largest(self.forward.delta(epsilon), self.backward.delta(epsilon))
        assert isinstance(worst, Enclosure)
        return worst

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        ways = zip(self.forward.deltas(epsilons), self.backward.deltas(epsilons), strict=True)
        return [Enclosure(max(a.lower, b.lower), max(a.upper, b.upper)) for a, b in ways]

    def epsilon(self, delta: Number) -> Enclosure | float:
        return largest(self.forward.epsilon(delta), self.backward.epsilon(delta))

    def upper_epsilon(self, delta: Number) -> Enclosure | float:
        return largest(self.forward.upper_epsilon(delta), self.backward.upper_epsilon(delta))

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the two."""
        return self.forward, self.backward

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        if isinstance(other, EachWay):
            return other.after(self)
        ways = other.directions()
        return BothWays(self.forward.compose(ways[0]), self.backward.compose(ways[1]))

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        return BothWays(*first.directions()).compose(self)

    def self_compose(self, times: int) -> BothWays:
        return BothWays(self.forward.self_compose(times), self.backward.self_compose(times))


@dataclass(frozen=True)
class EachWay(PrivacyLoss):
    """The privacy losses of inputs that differ in one of several ways: the worst one counts.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> ways = EachWay((dominating_pair(Fraction(1)), dominating_pair(Fraction(2))))
    >>> [round(float(losses.epsilon(0)), 9) for losses in (ways, ways.compose(ways))]
    [2.0, 4.0]
    """

    # the losses one way each; two releases of equally many ways are compared way by way
    ways: tuple[PrivacyLoss, ...]

    def delta(self, epsilon: Number) -> Enclosure:
        return self.deltas([as_fraction(epsilon, "epsilon")])[0]

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        each = zip(*(way.deltas(epsilons) for way in self.ways), strict=True)
        return [Enclosure(max(d.lower for d in ds), max(d.upper for d in ds)) for ds in each]

    def epsilon(self, delta: Number) -> Enclosure | float:
        worst = self.ways[0].epsilon(delta)
        for way in self.ways[1:]:
            if isinstance(worst, Enclosure) and way.surely_within(worst.upper, delta):
                continue
            worst = largest(worst, way.epsilon(delta))
        return worst

    def compose(self, other: PrivacyLoss) -> EachWay:
        if isinstance(other, EachWay) and len(other.ways) == len(self.ways):
            pairs = list(zip(self.ways, other.ways, strict=True))
        else:
            others = other.ways if isinstance(other, EachWay) else dict.fromkeys(other.directions())
            pairs = list(itertools.product(self.ways, others))
        return EachWay(tuple(a.compose(b) for a, b in pairs))

    def after(self, first: PrivacyLoss) -> EachWay:
        return self.compose(first)

    def self_compose(self, times: int) -> EachWay:
        return EachWay(tuple(way.self_compose(times) for way in self.ways))


@dataclass(frozen=True)
class OfPair(PrivacyLoss):
    """The privacy losses of a pair of inputs that has names, known from below.

    >>> from tacit.core.losses.distribution import dominating_pair
    >>> one, two = dominating_pair(Fraction(1)), dominating_pair(Fraction(2))
    >>> known = [Dominating(two, below=(OfPair(one, frozenset(names)),)) for names in ("ab", "bc")]
    >>> float(known[0].compose(known[1]).epsilon(0).lower)
    2.0
    """

    losses: PrivacyLoss
    names: frozenset[Any]  # of all pairs of the input space that have these losses

    def delta(self, epsilon: Number) -> Enclosure:
        return self.losses.delta(epsilon)

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        return self.losses.deltas(epsilons)

    def epsilon(self, delta: Number) -> Enclosure | float:
        return self.losses.epsilon(delta)

    def rough_epsilon(self, log_delta: float) -> float:
        return self.losses.rough_epsilon(log_delta)

    def rough_log_delta(self, epsilon: float) -> float:
        return self.losses.rough_log_delta(epsilon)

    def after(self, first: PrivacyLoss) -> PrivacyLoss:
        return self.losses.after(first)

    def self_compose(self, times: int) -> OfPair:
        return replace(self, losses=self.losses.self_compose(times))


def _of_common_pairs(
    first: tuple[PrivacyLoss, ...], second: tuple[PrivacyLoss, ...]
) -> tuple[PrivacyLoss, ...]:
    """Return what is known of pairs in two releases: together for a pair that both name."""
    joined: list[PrivacyLoss] = []
    met: set[int] = set()
    for a, b in itertools.product(first, second):
        if isinstance(a, OfPair) and isinstance(b, OfPair) and a.names & b.names:
            joined.append(OfPair(a.losses.compose(b.losses), a.names & b.names))
            met |= {id(a), id(b)}
    return (*joined, *(one for one in first + second if id(one) not in met))


_EXAMINED = 2  # of known pairs whose answer takes time


@dataclass(frozen=True)
class Dominating(PrivacyLoss):
    """Losses that dominate those of every pair in question, where none is known to have them.

    >>> from tacit.core.losses.distribution import PrivacyLossDistribution, dominating_pair
    >>> found = Dominating(dominating_pair(Fraction(2))).epsilon(0)
    >>> float(found.lower), float(found.upper)
    (0.0, 2.0)
    >>> pair = dominating_pair(Fraction(1))
    >>> found = Dominating(dominating_pair(Fraction(2)), below=(pair,)).self_compose(3).epsilon(0)
    >>> float(found.lower), float(found.upper)
    (3.0, 6.0)
    """

    # What they say is an upper bound.  A lower bound are the losses of single pairs of inputs,
    # where some are known: of several releases each pair loses at least what it does in one of
    # them; in equal ones, and in those that name it, what it does in all of them together.  Else
    # the lower end is zero.

    losses: PrivacyLoss
    # the losses of known pairs; the worst of them counts
    below: tuple[PrivacyLoss, ...] = field(default=(), kw_only=True)

    def delta(self, epsilon: Number) -> Enclosure:
        return self.deltas([as_fraction(epsilon, "epsilon")])[0]

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Enclosure]:
        bounds, level = self.losses.deltas(epsilons), float(epsilons[len(epsilons) // 2])
        below = _worst(self.below, lambda one: one.rough_log_delta(level))
        known = [bounds if one == self.losses else one.deltas(epsilons) for one in below]
        return [_between([one[i] for one in known], above) for i, above in enumerate(bounds)]

    def epsilon(self, delta: Number) -> Enclosure | float:
        # ``math.inf`` where nothing finite dominates.
        only_upper = self.losses not in self.below
        bound = self.losses.upper_epsilon(delta) if only_upper else self.losses.epsilon(delta)
        if not isinstance(bound, Enclosure):
            return bound
        target = float(read_probability(delta, "delta"))
        log = math.log(target) if target else -math.inf
        below = _worst(self.below, lambda one: one.rough_epsilon(log))
        known = [bound if one == self.losses else one.epsilon(delta) for one in below]
        return _between([one for one in known if isinstance(one, Enclosure)], bound)

    def compose(self, other: PrivacyLoss) -> Dominating:
        known = other.losses if isinstance(other, Dominating) else other
        below = _of_common_pairs(self.below, other.below if isinstance(other, Dominating) else ())
        own = BothWays(self.losses, self.losses) if isinstance(known, BothWays) else self.losses
        return Dominating(own.compose(known), below=below)

    def directions(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return what dominates either direction, twice."""
        either = replace(self, below=()) if self.below else self
        return either, either

    def after(self, first: PrivacyLoss) -> Dominating:
        return self.compose(first)

    def self_compose(self, times: int) -> Dominating:
        below = tuple(one.self_compose(times) for one in self.below)
        return Dominating(self.losses.self_compose(times), below=below)


def _worst(
    below: Sequence[PrivacyLoss], rough: Callable[[PrivacyLoss], float]
) -> list[PrivacyLoss]:
    """Return the pairs that lose the most, as a rough bound says, and all that have none."""
    if len(below) <= _EXAMINED:
        return list(below)
    ranks = [rough(one) for one in below]
    order = sorted(range(len(below)), key=lambda i: ranks[i], reverse=True)
    return [below[i] for i in order[: ranks.count(math.inf) + _EXAMINED]]


def _between(known: Sequence[Enclosure], above: Enclosure) -> Enclosure:
    """Return what lies between the largest lower end of known pairs and an upper end."""
    minimum = max((one.lower for one in known), default=Fraction(0))
    return Enclosure(min(max(minimum, Fraction(0)), above.upper), above.upper)
