"""The variance."""

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
from tacit.statistics.variances.variance_at_distance import variance_at_distance

__all__ = ["Variance"]


@dataclass(frozen=True)
class Variance(Dispersion, proven=True):
    """The mean squared deviation from the mean: ``sum (v - mean)**2 / (n - ddof)``.

    The worst neighbours are found, with proofs, in :mod:`~tacit.statistics.variances.move_bounds`
    (a known population), :mod:`~tacit.statistics.variances.over_interval` (values without limit)
    and :mod:`~tacit.statistics.variances.local_extremes` (one release).

    Args:
        ddof: 0 (numpy's default) or 1 (the unbiased variance, undefined for a single record).

    Raises:
        UsageError: any other ``ddof``.

    >>> from tacit.statistics import Interval, Records, sensitivity
    >>> s = sensitivity("var", over=Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6))
    >>> s.value, s.witness
    (Fraction(1723, 300), ((1, 2, 2, 2, 5, 9), (1, 2, 2, 2, 5)))
    >>> sensitivity(Variance(ddof=1), over=Interval(0, 100, size=50), relation="bounded").value
    Fraction(200, 1)
    """

    @property
    def name(self) -> str:
        """``"var"``, with its ``ddof`` if that is not 0."""
        return f"var(ddof={self.ddof})" if self.ddof else "var"

    @property
    def spread(self) -> Spread:
        """The variance itself."""
        return Spread(self.ddof, root=False)

    def public_range(
        self, lower: Fraction, upper: Fraction, relation: Relation
    ) -> PublicRange | None:
        """Between 0 and ``span^2 / 4`` (Popoviciu), and 0 for no records; with ddof 0 only."""
        if self.ddof:
            return None  # of a single record it has no value
        most = (upper - lower) ** 2 / 4
        return PublicRange(most, (Fraction(0), most), Fraction(0))

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds.

        See :mod:`tacit.statistics.variances.variance_at_distance`.
        """
        return variance_at_distance(data, relation, self.ddof)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The variance of every row."""
        return self.rows(rows)
