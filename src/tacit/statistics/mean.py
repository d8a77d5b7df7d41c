"""The mean and its sensitivities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.statistics.monotone import Monotone
from tacit.statistics.pool import Ranked
from tacit.statistics.sample import Array, Sample

__all__ = ["Mean"]


@dataclass(frozen=True)
class Mean(Monotone):
    """The arithmetic mean.

    The argument of :mod:`tacit.statistics.monotone` applies: at a fixed size every rank weighs
    ``1/n``, and dropping the smallest record leaves records whose mean is not smaller.  In
    ``g(T)`` the ranks below both weigh ``-1/low``, those above both ``1/high``, and those in
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

    def rough(self, data: Ranked, start: int, size: int) -> float:
        """The mean of ``size`` ranks in floats."""
        return data.rough_sum(start, start + size) / size
