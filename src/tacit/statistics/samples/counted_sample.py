"""Records of which many are equal: the values that occur, and how many records have each.

What takes eight bytes a record when it is written out takes sixteen a value here, whatever the
number of records.  Every answer is that of the records written out.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.statistics.samples.sample import Array, Sample

__all__ = ["CountedSample", "Ranks"]


class CountedSample(Sample):
    """A sample of so many records of each value.

    Args:
        points: the values that occur, ascending.
        counts: how many records each has, at least one.

    >>> s = CountedSample(Sample([2, 5]), np.array([3, 1]))
    >>> len(s), s[2], s[-1], s.total(), s.raw.tolist()
    (4, Fraction(2, 1), Fraction(5, 1), Fraction(11, 1), [2, 2, 2, 5])
    """

    __slots__ = ("counts", "ends", "points")

    def __init__(self, points: Sample, counts: npt.NDArray[np.int64]) -> None:
        self.points, self.unit = points, points.unit
        self.counts = np.asarray(counts, dtype=np.int64)
        self.ends = np.cumsum(self.counts)

    @cached_property
    def raw(self) -> Array:  # type: ignore[override]
        """The records written out, for algorithms that know no counts."""
        written = np.repeat(self.points.raw, self.counts)
        written.flags.writeable = False
        return written

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, index: int) -> Fraction:
        rank = operator.index(index)
        if not -len(self) <= rank < len(self):
            raise IndexError(f"rank {rank} of {len(self)} records")
        return self.points[int(self.ends.searchsorted(rank % len(self), "right"))]

    def slice(self, start: int, stop: int) -> Sample:
        """The sample of the ranks ``start <= rank < stop``."""
        ends = np.clip(self.ends, start, max(start, stop)) - start
        counts = np.diff(ends, prepend=0)
        held = np.flatnonzero(counts)
        return CountedSample(self.points.take(held), counts[held])

    def total(self, start: int = 0, stop: int | None = None) -> Fraction:
        """The exact sum of the ranks ``start <= rank < stop``."""
        if (start, stop) != (0, None):
            low, high, _ = slice(start, stop).indices(len(self))
            return self.slice(low, high).total()
        return self._sums(1)

    def variance(self, ddof: int = 0) -> Fraction:
        """The exact variance."""
        n, total, square = len(self), self._sums(1), self._sums(2)
        return (square - total * total / n) / (n - ddof)

    def _sums(self, power: int) -> Fraction:
        integers, grain = self.points.on_grid
        pairs = zip(integers.tolist(), self.counts.tolist(), strict=True)
        return Fraction(sum(v**power * c for v, c in pairs)) * grain**power

    def distinct(self) -> tuple[Sample, npt.NDArray[np.int64]]:
        """The distinct values and how often each occurs."""
        return self.points, self.counts

    def mirrored(self) -> CountedSample:
        """The records with every sign turned."""
        turned = Sample.of_sorted(-self.points.raw[::-1], self.unit)
        return CountedSample(turned, self.counts[::-1])


class Ranks:
    """Counted records as an array of ascending records, to be looked at by rank.

    >>> ranks = Ranks(np.array([0, 4]), np.array([2, 3]))
    >>> ranks[np.array([0, 1, 2])].tolist(), int(ranks[-1]), len(ranks), ranks[1:].tolist()
    ([0, 0, 4], 4, 3, [0, 4])
    """

    def __init__(self, values: Array, ends: npt.NDArray[np.int64]) -> None:
        self.values, self.ends = values, ends
        self.dtype = values.dtype

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        rank = np.asarray(index)
        rank = np.where(rank < 0, rank + len(self), rank)
        return self.values[self.ends.searchsorted(rank, "right")]

    def astype(self, kind: Any) -> Ranks:
        """The same with numbers of another kind."""
        return Ranks(self.values.astype(kind), self.ends)
