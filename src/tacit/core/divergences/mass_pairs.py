"""What is certain of divergences between listed outcomes: each a pair of enclosed masses.

Both who compares two explicit distributions (:mod:`tacit.core.divergences.divergence`) and who
holds a claim against what a mechanism gives (:mod:`tacit.audit.claims.attained_loss`) ask here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tacit.arithmetic.enclosure import Enclosure, exp

__all__ = ["Pair", "Ratio", "excess", "largest_ratio"]

Pair: TypeAlias = tuple[Enclosure, Enclosure]
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Ratio:
    """The largest ratio ``p / q``, between certified ends.

    Attributes:
        lower, upper: the ends, over the pairs whose q is above zero; 0 where there are none.
        place: which pair ``lower`` is of; None where it is 0.
        impossible: the first pair whose p is above zero and whose q is zero: then the ratio is
            infinite.
        unsure: whether the enclosures of some pair leave open if its ratio is finite.
    """

    lower: Fraction
    upper: Fraction
    place: int | None
    impossible: int | None
    unsure: bool


def largest_ratio(pairs: Iterable[Pair]) -> Ratio:
    """Return the largest ratio of the first mass to the second.

    >>> one, half = Enclosure.of(1), Enclosure.of(Fraction(1, 2))
    >>> largest_ratio([(half, one), (one, half)])
    Ratio(lower=Fraction(2, 1), upper=Fraction(2, 1), place=1, impossible=None, unsure=False)
    """
    low, high = _ZERO, _ZERO
    place: int | None = None
    impossible: int | None = None
    unsure = False
    for i, (p, q) in enumerate(pairs):
        if p.upper <= 0:
            continue
        if q.upper > 0 and p.lower / q.upper > low:
            low, place = p.lower / q.upper, i
        if q.lower > 0:
            high = max(high, p.upper / q.lower)
        elif p.lower > 0 and q.upper <= 0:
            impossible = i if impossible is None else impossible
        else:
            unsure = True
    return Ratio(low, max(low, high), place, impossible, unsure)


def excess(pairs: Iterable[Pair], epsilon: Fraction, bits: int) -> tuple[Enclosure, list[int]]:
    """Enclose ``sum of max(0, p - e^epsilon q)``; say which pairs are above zero for certain.

    >>> one, none = Enclosure.of(1), Enclosure.of(0)
    >>> excess([(none, one), (one, none)], Fraction(0), 64)
    (1, [1])
    """
    factor = exp(epsilon, bits)
    low, high = _ZERO, _ZERO
    certain = []
    for i, (p, q) in enumerate(pairs):
        least = p.lower - factor.upper * max(q.upper, _ZERO)
        if least > 0:
            low += least
            certain.append(i)
        high += max(p.upper - factor.lower * max(q.lower, _ZERO), _ZERO)
    return Enclosure(low, high), certain
