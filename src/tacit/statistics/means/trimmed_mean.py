"""The trimmed mean: the mean of what is left without a share of the records at either end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import as_fraction, show
from tacit.errors import UsageError
from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.question import Relation
from tacit.statistics.base.statistic import PublicRange, Statistic
from tacit.statistics.means.trimmed_mean_at_distance import TrimmedAtDistance
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array

__all__ = ["TrimmedMean"]


@dataclass(frozen=True)
class TrimmedMean(Statistic):
    """The mean of the sorted records without the ``floor(share n)`` smallest and as many largest.

    Args:
        share: the share to leave out at either end, from 0 (the mean) to below a half.

    Raises:
        UsageError: a share outside that range.

    >>> TrimmedMean("1/4")([1, 2, 4, 100])
    3.0
    """

    share: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", as_fraction(self.share, "share"))
        if not 0 <= self.share < Fraction(1, 2):
            raise UsageError(f"share must be from 0 to below 1/2, not {show(self.share)}")

    @property
    def name(self) -> str:
        """``"trimmed_mean(0.1)"``."""
        return f"trimmed_mean({float(self.share):.12g})"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """A mean of records: within the bounds, the middle for no records."""
        return PublicRange(upper - lower, (lower, upper), (lower + upper) / 2)

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance | None:
        """``A(t)`` by substitution, exact; none where records join or leave."""
        if relation != "bounded":
            return None  # the number left out jumps with the size
        return TrimmedAtDistance(data, self.left_out(len(data)))

    def left_out(self, size: int) -> int:
        """How many records are left out at either end."""
        return int(self.share * size)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The trimmed mean of every row."""
        size = rows.shape[1]
        cut = self.left_out(size)
        return np.asarray(np.sort(rows, axis=1)[:, cut : size - cut].mean(axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact trimmed mean of ascending values."""
        cut = self.left_out(len(values))
        kept = values[cut : len(values) - cut]
        return sum(kept, Fraction(0)) / len(kept)
