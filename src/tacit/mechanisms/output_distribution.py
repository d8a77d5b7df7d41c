"""Output distributions of mechanisms, and maps computed from pairs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, show
from tacit.core import ApproximateDP, Measurement, PureDP
from tacit.core.divergences import outcome
from tacit.errors import MismatchError, UsageError

# Explicit output distributions: what a mechanism would release, with a certified probability each.
#
# For teaching and for checking, never for release: the distribution of an output on a data set
# reveals all about that data set.  Every one answers ``probability(value)``, ``support(mass)`` and,
# where the outputs are numbers, ``cdf(value)`` and ``interval(lower, upper)``.


_NONE = Enclosure(Fraction(0), Fraction(0))


@dataclass(frozen=True)
class FiniteDistribution:
    """Outcomes and their probabilities, listed.

    Args:
        table: outcome to probability; an outcome that is absent has none.
        rest: an upper bound of the probability of everything that is not listed.

    >>> coin = FiniteDistribution.of({"heads": "1/2", "tails": "1/2"})
    >>> float(coin.probability("heads")), coin.support("0.9")
    (0.5, ('heads', 'tails'))
    """

    table: Mapping[Hashable, Enclosure]
    rest: Fraction = Fraction(0)

    @classmethod
    def of(cls, table: Mapping[Any, Any], rest: Fraction = Fraction(0)) -> FiniteDistribution:
        """Read a mapping of outcomes to numbers or enclosures.

        Raises:
            UsageError: a negative probability, or a sum that cannot be one.
        """
        read = {
            outcome(value): p if isinstance(p, Enclosure) else Enclosure.of(as_fraction(p))
            for value, p in table.items()
        }
        low = sum((p.lower for p in read.values()), Fraction(0))
        high = sum((p.upper for p in read.values()), rest)
        if any(p.upper < 0 for p in read.values()) or not low <= 1 <= high:
            raise UsageError(
                f"probabilities are not negative and sum to 1; these sum to {float(low):.12g}"
            )
        return cls(read, rest)

    def probability(self, value: Any) -> Enclosure:
        """Return an enclosure of the probability of exactly this output."""
        return self.table.get(outcome(value), _NONE)

    def cdf(self, value: NumberLike) -> Enclosure:
        """Return the probability of this number or less, where the outputs are numbers."""
        return self._sum(lambda x: x <= as_fraction(value))

    def interval(self, lower: NumberLike, upper: NumberLike) -> Enclosure:
        """Return the probability of ``lower <= output <= upper``."""
        low, high = as_fraction(lower), as_fraction(upper)
        return self._sum(lambda x: low <= x <= high)

    def _sum(self, inside: Callable[[Any], bool]) -> Enclosure:
        try:
            chosen = [p for x, p in self.table.items() if inside(x)]
        except TypeError:
            raise UsageError("these outputs are not numbers; ask for .probability(value)") from None
        total = sum(chosen, _NONE)
        return Enclosure(total.lower, min(Fraction(1), total.upper + self.rest))

    def support(self, mass: NumberLike = "0.999") -> tuple[Any, ...]:
        """Return the most likely outputs that together hold at least this probability."""
        share, outputs = as_fraction(mass, "mass"), []
        mass_so_far = Fraction(0)
        for value, p in sorted(self.table.items(), key=lambda pair: -pair[1].lower):
            if mass_so_far >= share:
                break
            outputs.append(value)
            mass_so_far += p.lower
        return tuple(outputs)


@dataclass(frozen=True)
class Mixture:
    """One of several distributions, chosen with public probabilities.

    >>> sure, coin = ({0: 1}, {0: "1/2", 1: "1/2"})
    >>> half = Enclosure.of(Fraction(1, 2))
    >>> mixed = Mixture([(half, FiniteDistribution.of(d)) for d in (sure, coin)])
    >>> float(mixed.probability(0))
    0.75
    """

    parts: Sequence[tuple[Enclosure, Any]]

    def probability(self, value: Any) -> Enclosure:
        """Return the weighted mean of the parts' probabilities."""
        return self._mean(lambda part: part.probability(value))

    def cdf(self, value: NumberLike) -> Enclosure:
        """Return the probability of this number or less."""
        return self._mean(lambda part: part.cdf(value))

    def _mean(self, ask: Callable[[Any], Enclosure]) -> Enclosure:
        return sum_of(weight * ask(part) for weight, part in self.parts)

    def support(self, mass: NumberLike = "0.999") -> tuple[Any, Any]:
        """Return the ends of an interval that holds at least this probability."""
        ends = [part.support(mass) for _, part in self.parts]
        return min(low for low, *_ in ends), max(high for *_, high in ends)


def sum_of(terms: Iterable[Enclosure]) -> Enclosure:
    """Add enclosures, keeping their ends short.

    >>> sum_of([Enclosure.of(1), Enclosure.of(2)]) == Enclosure.of(3)
    True
    """
    total = _NONE
    for term in terms:
        total = (total + term).rounded(160)
    return total


def normalised(weights: Mapping[Any, Enclosure]) -> FiniteDistribution:
    """Divide weights by their sum.

    >>> float(normalised({0: Enclosure.of(1), 1: Enclosure.of(3)}).probability(1))
    0.75
    """
    total = sum_of(weights.values())
    return FiniteDistribution({x: (w / total).rounded(96) for x, w in weights.items()})


# The map of a release in pairs of epsilon and delta, for what is made of it and proven so.


PairMap = Callable[[Fraction], tuple[Fraction, Fraction]]


def stated_at(
    measurement: Measurement, delta: NumberLike | None
) -> tuple[PureDP | ApproximateDP, PairMap]:
    """The measure in which what is made of a release is stated, and the map of the release."""
    # Returns: the measure, and a map from distances to pairs of epsilon and delta; pure DP has a
    # delta of zero.
    privacy: Any
    measure, privacy = measurement.measure, measurement.privacy
    if isinstance(measure, ApproximateDP):
        return measure, privacy
    if isinstance(measure, PureDP):
        return measure, lambda d: (privacy(d), Fraction(0))
    if delta is None or measurement.losses is None:
        raise MismatchError(
            f"nothing is proven here for {measurement.measure}; state the release in pure "
            "or approximate DP first, or give delta= for noise on one number",
            measurement.measure,
            PureDP(),
        )
    level = as_fraction(delta, "delta")
    if not 0 < level < 1:
        raise UsageError(f"a delta is above 0 and below 1, not {show(level)}")
    losses = measurement.losses

    def pair(d: Fraction) -> tuple[Fraction, Fraction]:
        if not d:
            return Fraction(0), Fraction(0)
        known = losses(d)
        epsilon = math.inf if known is None else known.epsilon(level)
        if not isinstance(epsilon, Enclosure):
            raise UsageError(f"the losses of this release are not known at distance {show(d)}")
        return epsilon.upper, level

    return ApproximateDP(), pair


# Group privacy: from the loss between neighbours to that at any distance.


_LARGEST = 1 << 15


def approximate_loss(
    epsilon: Fraction, delta: Fraction, distance: Fraction
) -> tuple[Fraction, Fraction]:
    """Return ``(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))`` for k steps, rounded up.

    >>> approximate_loss(Fraction(1), Fraction(1, 1000), Fraction(1))
    (Fraction(1, 1), Fraction(1, 1000))
    """
    # Along a chain of k neighbours, ``P_0(S) <= e^epsilon P_1(S) + delta <= e^(2 epsilon) P_2(S) +
    # delta + e^epsilon delta <= ...`` (Dwork and Roth 2014, after theorem 2.2).
    steps = int(distance)
    if steps <= 1:
        return steps * epsilon, steps * delta
    if steps * epsilon > _LARGEST:
        return steps * epsilon, Fraction(1)
    terms = (exp(steps * epsilon) - 1) / (exp(epsilon) - 1) if epsilon else Enclosure.of(steps)
    return steps * epsilon, min(Fraction(1), (delta * terms).rounded(64).upper)


def resized(like: Iterable[Any], n: int | None) -> list[Any]:
    """Return n records of the spread of ``like``: its order statistics at even shares.

    >>> resized([3, 1, 2], 6)
    [1, 1, 2, 2, 3, 3]
    """
    records = sorted(like)
    if n is None:
        return records
    size = as_integer(n, "n", minimum=1)
    return [records[(2 * i + 1) * len(records) // (2 * size)] for i in range(size)]


def listed(like: Iterable[Any]) -> Any:
    """Return records that can be read: a collection as it is, anything else as a list."""
    return like if hasattr(like, "__len__") else list(like)
