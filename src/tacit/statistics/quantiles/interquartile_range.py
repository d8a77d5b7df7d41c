"""The interquartile range: the 75th percentile less the 25th."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.bisection import least_integer_until
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.base.statistic import PublicRange, Statistic
from tacit.statistics.quantiles.quantile import Quantile
from tacit.statistics.quantiles.quantile_at_distance import quantile_at_distance
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array

__all__ = ["InterquartileRange"]

_QUARTERS = Fraction(1, 4), Fraction(3, 4)


@dataclass(frozen=True)
class InterquartileRange(Statistic):
    """How far apart the quartiles are, each interpolated linearly.

    >>> InterquartileRange()([1, 2, 4, 8, 16])
    6.0
    """

    @property
    def name(self) -> str:
        """``"interquartile_range"``; ``"iqr"`` is read as it, too."""
        return "interquartile_range"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Between 0 and the span, and 0 for no records."""
        return PublicRange(upper - lower, (Fraction(0), upper - lower), Fraction(0))

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` is at most the sum of those of the two quartiles, and the span: an upper bound.

        A difference of two statistics moves by no more than the two together, and each moves by no
        more than its own ``A(t)``.  The range is between 0 and the span, so no two values of it are
        farther apart.  The lesser of two bounds, of which one is constant, still grows by no more
        than that of a neighbour one step on.
        """
        low, high = data.bounds
        parts = [quantile_at_distance(q, data, relation) for q in _QUARTERS]
        return _SumAtDistance(parts, high - low)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The interquartile range of every row."""
        low, high = (Quantile(q).batch(rows) for q in _QUARTERS)
        return high - low

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact interquartile range of ascending values."""
        low, high = (Quantile(q).exact(values) for q in _QUARTERS)
        return high - low


class _SumAtDistance(AtDistance):
    """The sum of several, within a span: a bound on the difference of the statistics."""

    exact = False

    def __init__(self, parts: list[AtDistance], span: Fraction) -> None:
        self._parts, self._span = parts, span
        self.last = max(part.last for part in parts)

    def at(self, distance: int) -> Fraction:
        """The sum of the parts at ``distance``, or the span where that is less."""
        total = sum((Fraction(part.at(distance)) for part in self._parts), Fraction(0))
        return min(total, self._span)

    def _broken(self, bound: Fraction, last: int, least: int) -> int | None:
        """Not before a part breaks its equal share of the bound, and not after one breaks it all.

        Each part finds its own distances at once.
        """
        if bound >= self._span:
            return None
        shares = [part.instability(bound / len(self._parts)) for part in self._parts]
        near = min((t for t in shares if t is not None), default=None)
        if near is None:
            return None
        whole = [part.instability(bound) for part in self._parts]
        far = min((t for t in whole if t is not None), default=last)
        return least_integer_until(
            lambda t: self.exceeds(t, bound), min(last, far), max(least, near)
        )
