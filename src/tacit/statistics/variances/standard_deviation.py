"""The standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.base.statistic import PublicRange
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array
from tacit.statistics.variances.candidate_search import Spread
from tacit.statistics.variances.dispersion import Dispersion
from tacit.statistics.variances.standard_deviation_at_distance import DeviationAtDistance

__all__ = ["StandardDeviation"]


@dataclass(frozen=True)
class StandardDeviation(Dispersion, proven=True):
    """The square root of the variance over ``n - ddof``.

    A sensitivity is a ``Fraction`` where both standard deviations of the worst pair are rational,
    and else the float just above the truth.  The worst neighbours are found, with proofs, where
    those of :class:`~tacit.statistics.variances.variance.Variance` are.

    Args:
        ddof: 0 (numpy's default) or 1 (undefined for a single record).

    Raises:
        UsageError: any other ``ddof``.

    >>> from tacit.statistics import Interval, Records, sensitivity
    >>> s = sensitivity("std", over=Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6))
    >>> round(s.value, 6), s.witness
    (1.397319, ((1, 2, 2, 2, 5, 9), (1, 2, 2, 2, 5)))
    >>> sensitivity("std", over=Interval(0, 100, size=2), relation="bounded").value
    Fraction(50, 1)
    """

    @property
    def name(self) -> str:
        """``"std"``, with its ``ddof`` if that is not 0."""
        return f"std(ddof={self.ddof})" if self.ddof else "std"

    @property
    def spread(self) -> Spread:
        """The root of the variance."""
        return Spread(self.ddof, root=True)

    def public_range(
        self, lower: Fraction, upper: Fraction, relation: Relation
    ) -> PublicRange | None:
        """Between 0 and half the span (Popoviciu), and 0 for no records; with ddof 0 only."""
        if self.ddof:
            return None  # of a single record it has no value
        most = (upper - lower) / 2
        return PublicRange(most, (Fraction(0), most), Fraction(0))

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds.

        See :mod:`tacit.statistics.variances.standard_deviation_at_distance`.
        """
        return DeviationAtDistance(data, relation, self.ddof)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The standard deviation of every row."""
        return np.asarray(np.sqrt(self.rows(rows)), dtype=np.float64)
