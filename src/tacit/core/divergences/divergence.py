"""Divergences between two explicit discrete distributions, with certified enclosures.

A distribution is a mapping from outcome to probability: a Fraction (or what reads as one), or an
:class:`~tacit.arithmetic.enclosure.Enclosure` where the probability is irrational.  Outcomes that
are absent have probability zero.  A pandas Series is read as such a mapping; in a list or an array
of probabilities the outcomes are the positions.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, log
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core.divergences.mass_pairs import Pair, excess, largest_ratio
from tacit.core.divergences.privacy_profile import Curve
from tacit.errors import UsageError

__all__ = [
    "Profile",
    "distribution",
    "hockey_stick",
    "largest",
    "max_divergence",
    "total_variation",
]

Probabilities: TypeAlias = dict[Hashable, Enclosure]
_BITS = 96
_ZERO = Fraction(0)
_ONE = Fraction(1)
_FLOAT_SLACK = Fraction(1, 1 << 40)


def distribution(p: Any) -> Probabilities:
    """Read an explicit distribution, and refuse one that cannot sum to one.

    Probabilities in binary floating point rarely sum to one exactly (0.9 + 0.1 is above it by
    2^-55): where floats are among them and the sum is within 2^-40 of one, each is divided by the
    exact sum, so that what is compared are distributions.  Write ``"9/10"`` to be taken at the
    word.

    Raises:
        UsageError: no distribution, an outcome given twice, a negative probability, or a sum that
            is not one.

    >>> distribution([0.1] * 10)[0] == Enclosure.of(Fraction(1, 10))
    True
    >>> distribution({"yes": 0.5, "no": 0.5}) == distribution({"yes": "1/2", "no": "1/2"})
    True
    """
    read: Probabilities = {}
    rounded = False
    for outcome, probability in _pairs_of(p):
        if outcome in read:
            raise UsageError("a distribution gives each outcome once")
        rounded |= isinstance(probability, (float, np.floating))
        read[outcome] = _probability(probability)
    if any(e.upper < 0 for e in read.values()):
        raise UsageError("a probability is not negative")
    low = sum((e.lower for e in read.values()), _ZERO)
    high = sum((e.upper for e in read.values()), _ZERO)
    if low <= 1 <= high:
        return read
    if rounded and low == high and abs(low - 1) <= _FLOAT_SLACK:
        return {outcome: e / low for outcome, e in read.items()}
    raise UsageError(f"the probabilities sum to {show(low)}, not to 1")


def _pairs_of(p: Any) -> Iterable[tuple[Hashable, Any]]:
    table = getattr(p, "table", p)
    if isinstance(table, Mapping) or hasattr(table, "items"):
        if getattr(p, "rest", _ZERO):
            raise UsageError("this distribution does not list all outcomes; ask tc.divergence")
        return table.items()  # type: ignore[no-any-return]
    if isinstance(table, (str, bytes)) or not isinstance(table, Iterable):
        raise UsageError(
            "a distribution is a mapping of outcomes to probabilities, or a list of probabilities, "
            f"not a {type(p).__name__}"
        )
    return enumerate(table)


def _probability(value: Any) -> Enclosure:
    if isinstance(value, Enclosure):
        return value
    return Enclosure.of(as_fraction(value, "a probability"))


@public
def max_divergence(p: object, q: object) -> Enclosure | float:
    """Return ``max over x of ln(p(x) / q(x))``; ``math.inf`` where q misses an outcome of p.

    The maximum over *events* is attained at single outcomes, since a ratio of sums is at most the
    largest ratio of their terms.

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.

    >>> max_divergence({0: 1}, {0: "1/2", 1: "1/2"}).upper >= 0
    True
    """
    left, right = distribution(p), distribution(q)
    found = largest_ratio(_pairs(left, right))
    if found.impossible is not None:
        return math.inf
    if found.unsure:
        raise UsageError("the enclosures are too wide to divide by; give them more precision")
    # Probabilities that both sum to one do not fall everywhere.
    low, high = max(_ONE, found.lower), max(_ONE, found.upper)
    return Enclosure(log(low, _BITS).lower, log(high, _BITS).upper)


@public
def hockey_stick(p: object, q: object, epsilon: Number) -> Enclosure:
    """Return ``sum over x of max(0, p(x) - e^epsilon q(x))``: the least delta at an epsilon.

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.
        epsilon: a number, taken exactly.

    >>> hockey_stick({0: 1}, {0: "1/2", 1: "1/2"}, 0).upper == Fraction(1, 2)
    True
    """
    return Profile(distribution(p), distribution(q))._one_way(as_fraction(epsilon, "epsilon"))


@public
def total_variation(p: object, q: object) -> Enclosure:
    """Return the total variation distance: the hockey stick at epsilon zero.

    Args:
        p: a mapping of outcomes to probabilities, or a list of probabilities.
        q: another.

    >>> total_variation({0: 1}, {0: "1/4", 1: "3/4"}).upper
    Fraction(3, 4)
    """
    return hockey_stick(p, q, 0)


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

    def epsilon(self, delta: Number) -> Enclosure | float:
        """Enclose the least epsilon at which ``delta`` suffices; ``math.inf`` where none does."""
        target = as_fraction(delta, "delta")
        if not 0 <= target <= 1:
            raise UsageError(f"delta must be from 0 to 1, not {show(target)}")
        return largest(*(_epsilon(*sides, target) for sides in self._directions()))

    def _directions(self) -> tuple[tuple[Probabilities, Probabilities], ...]:
        return (self.p, self.q), (self.q, self.p)

    def _one_way(self, epsilon: Fraction) -> Enclosure:
        return excess(_pairs(self.p, self.q), epsilon, _BITS)[0]


def _pairs(p: Probabilities, q: Probabilities) -> list[Pair]:
    """Return the masses of each outcome of p."""
    nothing = Enclosure(_ZERO, _ZERO)
    return [(here, q.get(outcome, nothing)) for outcome, here in p.items()]


def _curves(p: Probabilities, q: Probabilities) -> tuple[Curve, Curve]:
    """Return the curves of the masses that make delta least and largest."""
    pairs = _pairs(p, q)
    low = Curve.of((max(a.lower, _ZERO), max(b.upper, _ZERO)) for a, b in pairs)
    return low, Curve.of((a.upper, max(b.lower, _ZERO)) for a, b in pairs)


def _epsilon(p: Probabilities, q: Probabilities, delta: Fraction) -> Enclosure | float:
    low, high = _curves(p, q)
    least, most = low.epsilon(delta), high.epsilon(delta)
    if not isinstance(most, Enclosure):
        return most
    assert isinstance(least, Enclosure)
    return Enclosure(least.lower, most.upper)
