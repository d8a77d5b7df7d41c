"""Data brought into public bounds, sorted, and padded with the bounds.

What surrounds a data set at a distance is made of its own records and of the two bounds, so the
algorithms for local sensitivity at a distance all start from this.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arithmetic.exact import Number, as_fraction, show
from tacit.errors import UsageError
from tacit.statistics.samples.counted_sample import CountedSample, Ranks
from tacit.statistics.samples.sample import Array, Sample, on_common_unit

__all__ = ["Clamped"]

_ROOM = 2**60


class Clamped:
    """The records of a data set, clamped to ``[lower, upper]``, exact.

    A value below ``lower`` counts as ``lower`` and one above ``upper`` as ``upper``: clamping a
    record never moves another one, so whatever is proven of the clamped records holds for a
    release that clamps first.

    Args:
        data: a non-empty 1-D sequence of finite numbers, or a sample.
        lower: the lower bound, public.
        upper: the upper bound, public and above ``lower``.

    Raises:
        UsageError: no data, NaN or infinite data, bounds that are not numbers or out of order.

    >>> c = Clamped([3, -5, 40], 0, 10)
    >>> c.records.tolist(), c.lower, c.upper, c.grain
    ([0, 3, 10], 0, 10, Fraction(1, 1))
    """

    def __init__(self, data: Iterable[Any] | Sample, lower: Number, upper: Number) -> None:
        self.bounds = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
        if self.bounds[0] >= self.bounds[1]:
            raise UsageError(
                f"bounds must be (lower, upper) with lower below upper, not "
                f"({show(self.bounds[0])}, {show(self.bounds[1])})"
            )
        self.sample = data if isinstance(data, Sample) else Sample(data, "data")

    def __len__(self) -> int:
        return len(self.sample)

    @property
    def least(self) -> Fraction:
        """The smallest record."""
        return min(max(self.sample[0], self.bounds[0]), self.bounds[1])

    @property
    def most(self) -> Fraction:
        """The largest record."""
        return min(max(self.sample[-1], self.bounds[0]), self.bounds[1])

    @property
    def span(self) -> Fraction:
        """``upper - lower``."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def _grid(self) -> tuple[Array, int, int, Fraction]:
        data, ends = on_common_unit(self._points, Sample(self.bounds))
        low, high = int(ends.raw[0]), int(ends.raw[1])
        records = np.clip(data.raw, low, high)
        small = max(abs(low), abs(high)) < _ROOM
        return records.astype(np.int64 if small else object), low, high, data.unit

    @property
    def _points(self) -> Sample:
        return self.sample.points if isinstance(self.sample, CountedSample) else self.sample

    @property
    def runs(self) -> tuple[Array, npt.NDArray[np.int64] | None]:
        """Clamped records as ascending integers, and how many records stand up to each.

        None instead of those numbers where the records are not counted: one record each.
        """
        sample = self.sample
        return self._grid[0], sample.ends if isinstance(sample, CountedSample) else None

    @cached_property
    def records(self) -> Array:
        """The clamped records as ascending integers: ``int64`` if they fit, else Python ints."""
        if isinstance(self.sample, CountedSample):
            return np.repeat(self._grid[0], self.sample.counts)
        return self._grid[0]

    @property
    def lower(self) -> int:
        """The lower bound on the grid."""
        return self._grid[1]

    @property
    def upper(self) -> int:
        """The upper bound on the grid."""
        return self._grid[2]

    @property
    def grain(self) -> Fraction:
        """What one step of the grid stands for."""
        return self._grid[3]

    @cached_property
    def padded(self) -> Array | Ranks:
        """``lower, lower, x_1, ..., x_n, upper, upper`` on the grid: rank ``i`` is at ``i + 1``."""
        return self._pad(self._grid[0], self.lower, self.upper)

    @cached_property
    def quick(self) -> tuple[Array | Ranks, Fraction]:
        """``padded`` and its unit, for arithmetic in floats: floats stay as they are.

        Differences of two entries are then right to one rounding, whatever the offset.
        """
        low, high = float(self.bounds[0]), float(self.bounds[1])
        exact = Fraction(low) == self.bounds[0] and Fraction(high) == self.bounds[1]
        raw = self._points.raw
        if raw.dtype != np.float64 or not exact:
            return self.padded, self.grain
        return self._pad(np.clip(raw, low, high), low, high), Fraction(1)

    def _pad(self, values: Array, low: Any, high: Any) -> Array | Ranks:
        if isinstance(self.sample, CountedSample):
            ends = self.sample.ends
            return Ranks(padded(values, low, high, 1), padded(ends + 2, 2, int(ends[-1]) + 4, 1))
        return padded(values, low, high, 2)

    def mirrored(self) -> Clamped:
        """The data with every sign turned: what is low becomes high.

        >>> Clamped([1, 2], 0, 5).mirrored().records.tolist()
        [-2, -1]
        """
        turned = object.__new__(Clamped)
        turned.bounds = -self.bounds[1], -self.bounds[0]
        turned.sample = self.sample.mirrored()
        return turned


def padded(values: Array, low: Any, high: Any, times: int) -> Array:
    """Return values with another one before and after them, so many times each.

    >>> padded(np.array([3]), 0, 9, 2).tolist()
    [0, 0, 3, 9, 9]
    """
    found = np.empty(len(values) + 2 * times, dtype=values.dtype)
    found[:times], found[times:-times], found[-times:] = low, values, high
    return found
