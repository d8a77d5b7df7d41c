"""The trade-off curve of two output distributions (f-DP): what a test between them can reach."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.calls import public
from tacit.core.divergences.divergence import distribution
from tacit.errors import UsageError

Outcome = TypeVar("Outcome", bound=Hashable)

__all__ = ["Tradeoff"]

_ZERO, _ONE = Fraction(0), Fraction(1)


@public
@dataclass(frozen=True)
class Tradeoff:
    """The least type II error of a test of P against Q, for every type I error.

    Whoever sees an output and guesses "P" or "Q" says "Q" wrongly with probability alpha and "P"
    wrongly with probability beta.  The best tests reject P where ``q / p`` is largest (Neyman and
    Pearson), so the curve is convex, and straight between the points where one more outcome is
    rejected.

    For any test, of rejection probabilities f(x), and any slope l not below zero,
    ``beta + l alpha = 1 - sum f (q - l p) >= 1 - sum max(0, q - l p)``; the enclosure takes its
    lower end from these lines, and its upper end from the tests themselves.

    Source: J. Dong, A. Roth, W. Su, "Gaussian differential privacy", JRSS B 2022.

    Example:
        >>> curve = Tradeoff.of({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
        >>> curve.points()
        ((Fraction(0, 1), Fraction(1, 1)), (Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 1),
        Fraction(0, 1)))
        >>> curve("1/8") == Enclosure.of(Fraction(5, 8))
        True
    """

    masses: tuple[tuple[Enclosure, Enclosure], ...]

    @classmethod
    def of(cls, p: Mapping[Outcome, Number], q: Mapping[Outcome, Number]) -> Tradeoff:
        """Return the curve of two explicit distributions.

        Args:
            p: the probability of each outcome, which sum to one.
            q: those of another distribution.

        Raises:
            UsageError: probabilities that are negative or do not sum to one.
        """
        left, right = distribution(p), distribution(q)
        nothing = Enclosure.of(0)
        pairs = [(left.get(x, nothing), right.get(x, nothing)) for x in {**left, **right}]
        kept = [(a, b) for a, b in pairs if a.upper > 0 or b.upper > 0]
        certain = [pair for pair in kept if pair[0].upper <= 0]
        others = [pair for pair in kept if pair[0].upper > 0]
        others.sort(key=lambda pair: pair[1].middle / pair[0].middle, reverse=True)
        return cls((*certain, *others))

    def points(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the corners (alpha, beta) of the curve from above, from (0, 1) on."""
        alpha, beta = _ZERO, _ONE
        found = [(alpha, beta)]
        for a, b in self.masses:
            alpha, beta = min(alpha + a.upper, _ONE), max(beta - b.lower, _ZERO)
            found.append((alpha, beta))
        return tuple(dict.fromkeys(found))

    def __call__(self, alpha: Number) -> Enclosure:
        """Enclose the least type II error at a type I error ``alpha``.

        Raises:
            UsageError: an alpha outside 0..1.
        """
        level = as_fraction(alpha, "alpha")
        if not 0 <= level <= 1:
            raise UsageError(f"alpha must be from 0 to 1, not {show(level)}")
        return Enclosure(min(self._below(level), self._above(level)), self._above(level))

    def _above(self, alpha: Fraction) -> Fraction:
        corners = self.points()
        best = min((b for a, b in corners if a <= alpha), default=_ONE)
        for (a0, b0), (a1, b1) in itertools.pairwise(corners):
            if a0 <= alpha < a1:
                best = min(best, b0 + (b1 - b0) * (alpha - a0) / (a1 - a0))
        return best

    def _below(self, alpha: Fraction) -> Fraction:
        slopes = {_ZERO} | {b.middle / a.middle for a, b in self.masses if a.middle > 0}
        lines = (1 - slope * alpha - self._most(slope) for slope in slopes)
        return max(_ZERO, max(lines))

    def _most(self, slope: Fraction) -> Fraction:
        return sum((max(_ZERO, b.upper - slope * a.lower) for a, b in self.masses), _ZERO)
