"""The mean and its sensitivities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.base.extreme_records import Ends, Ranked
from tacit.statistics.base.monotone_statistic import Monotone
from tacit.statistics.base.question import Relation
from tacit.statistics.base.statistic import PublicRange
from tacit.statistics.means.mean_at_distance import mean_at_distance
from tacit.statistics.samples.clamped_sample import Clamped
from tacit.statistics.samples.sample import Array, Sample

__all__ = ["Mean"]


@dataclass(frozen=True)
class Mean(Monotone, proven=True):
    """The arithmetic mean.

    The argument of :mod:`tacit.statistics.base.monotone_statistic` applies: at a fixed size every
    rank weighs ``1/n``, and dropping the smallest record leaves records whose mean is not smaller.
    In ``g(T)`` the ranks below both weigh ``-1/low``, those above both ``1/high``, and those in
    between ``1/high - 1/low``, so the negative weights do stand below the positive ones.  Hence

    * known population, ``k`` added to ``n`` (``m = n + k``, ``s = n``) or removed from it (``m =
      n``, ``s = n - k``): ``(k/m) (mean of the top k - mean of the bottom s)`` or its mirror
      image; ``k`` substituted: ``(sum of the top k - sum of the bottom k) / n``;
    * values from ``L`` to ``U`` in any number: ``(k/m) (U - L)``, and ``k (U - L) / n``;
    * of any size, ``k`` added: ``f(S) - f(T) = (k/m) (mean of S - mean of the others)``, where both
      factors are largest at one record in ``S``.

    >>> from tacit.statistics import Interval, sensitivity
    >>> sensitivity("mean", over=Interval(0, 100, size=50), relation="bounded").value
    Fraction(2, 1)
    """

    @property
    def name(self) -> str:
        """``"mean"``."""
        return "mean"

    def public_range(self, lower: Fraction, upper: Fraction, relation: Relation) -> PublicRange:
        """Within the bounds, the middle for no records.

        A record that comes to n others moves it by ``|v - mean| / (n + 1)``, at most half the span;
        the first one moves it from the middle, by no more.  A change moves it by ``span / n``.
        """
        span = upper - lower
        most = span if relation == "bounded" else span / 2
        return PublicRange(most, (lower, upper), (lower + upper) / 2)

    def at_distance(self, data: Clamped, relation: Relation) -> AtDistance:
        """``A(t)`` within bounds.

        See :mod:`tacit.statistics.means.mean_at_distance`.
        """
        return mean_at_distance(data, relation)

    def batch(self, rows: Array) -> npt.NDArray[np.float64]:
        """The mean of every row."""
        return np.asarray(np.mean(rows, axis=1), dtype=np.float64)

    def exact(self, values: Sequence[Fraction]) -> Fraction:
        """The exact mean."""
        return Fraction(sum(values)) / len(values)

    def of(self, sample: Sample) -> Fraction:
        """The exact mean of a sample, summed in bulk."""
        return sample.total() / len(sample)

    def split(self, low: int, high: int, total: int) -> int:
        """The ranks that only the lower release holds, and the shared ones if they weigh less."""
        return total - high if high <= low else low

    def on(self, data: Ranked, start: int, size: int) -> Fraction:
        """The exact mean of ``size`` ranks."""
        return data.sum(start, start + size) / size

    def gap(self, union: Ends, low: int, high: int) -> Fraction:
        """The difference of the two means, with what they share summed once."""
        total = len(union)
        below = union.sum(0, total - high)
        above = union.sum(low, total)
        shared = union.sum(total - high, low) if low != high else Fraction(0)
        return (shared + above) / high - (below + shared) / low

    def rough_gap(self, union: Ends, low: int, high: int) -> float:
        """The same in floats."""
        total = len(union)
        below = union.rough_sum(0, total - high)
        above = union.rough_sum(low, total)
        shared = union.rough_sum(total - high, low) if low != high else 0.0
        return above / high - below / low + shared * ((low - high) / (low * high))
