"""The privacy curve of pairs of masses: delta at epsilon, epsilon at delta, in closed form.

Let outcomes carry masses ``(p_j, q_j)``.  The least delta at epsilon is
``sum_j max(0, p_j - e^epsilon q_j)``.  With the outcomes in falling order of ``p_j / q_j`` the
positive terms are a prefix, and the sum over any other prefix is smaller; so with the prefix sums
A_i of the p and B_i of the q

    delta(epsilon) = max over i of (A_i - e^epsilon B_i)        (i = 0 included),
    epsilon(delta) = ln max over i of (A_i - delta) / B_i,

the second because ``A_i - e^epsilon B_i <= delta`` for all i is ``e^epsilon >= (A_i - delta) /
B_i`` for all i.  No search, no cancellation: everything before the one exponential or logarithm is
exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tacit.arithmetic.enclosure import Enclosure, exp, log

__all__ = ["Curve"]

_ZERO = Fraction(0)
_BITS = 96


@dataclass(frozen=True)
class Curve:
    """Prefix sums of masses in falling order of their ratio, and the mass whose ratio is infinite.

    >>> curve = Curve.of([(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))])
    >>> curve.delta(Fraction(0))
    0.5
    >>> float(curve.epsilon(Fraction(0)))
    1.0986122886681098
    """

    sums: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, masses: Iterable[tuple[Fraction, Fraction]]) -> Curve:
        """Sort and add up pairs of masses ``(p, q)``, none negative."""
        kept = [(p, q) for p, q in masses if p > 0]
        certain = sum((p for p, q in kept if q == 0), _ZERO)
        finite = ((p, q) for p, q in kept if q > 0)
        return cls.ordered(certain, sorted(finite, key=lambda m: m[0] / m[1], reverse=True))

    @classmethod
    def ordered(cls, certain: Fraction, masses: Iterable[tuple[Fraction, Fraction]]) -> Curve:
        """Add up pairs that come in falling order of ``p / q`` behind the mass where q is zero."""
        a, b, sums = certain, _ZERO, [(certain, _ZERO)]
        for p, q in masses:
            a, b = a + p, b + q
            sums.append((a, b))
        return cls(tuple(sums))

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Enclose the least delta at epsilon."""
        factor = exp(epsilon, _BITS)
        low = max(a - factor.upper * b for a, b in self.sums)
        high = max(a - factor.lower * b for a, b in self.sums)
        return Enclosure(max(low, _ZERO), max(high, _ZERO))

    def epsilon(self, delta: Fraction) -> Enclosure | float:
        """Enclose the least epsilon, not below zero, at which delta suffices; infinite if none."""
        if self.sums[0][0] > delta:
            return math.inf
        worst = max(((a - delta) / b for a, b in self.sums[1:]), default=_ZERO)
        return Enclosure(_ZERO, _ZERO) if worst <= 1 else log(worst, _BITS)
