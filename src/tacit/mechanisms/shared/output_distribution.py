"""Explicit output distributions: what a mechanism would release, with a certified probability each.

For teaching and for checking, never for release: the distribution of an output on a data set
reveals all about that data set.  Every one answers ``probability(value)``, ``support(mass)`` and,
where the outputs are numbers, ``cdf(value)`` and ``interval(lower, upper)``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction
from tacit.core.divergences.outcomes import Product, outcome
from tacit.errors import UsageError

__all__ = ["FiniteDistribution", "Mixture", "Product", "outcome"]

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
        share, found = as_fraction(mass, "mass"), []
        held = Fraction(0)
        for value, p in sorted(self.table.items(), key=lambda pair: -pair[1].lower):
            if held >= share:
                break
            found.append(value)
            held += p.lower
        return tuple(found)


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
