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

from tacit.errors import UsageError
from tacit.exact import Number, as_fraction, show
from tacit.statistics.sample import Array, Sample, on_common_unit

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
        UsageError: no data, NaN or infinite data, bounds that are no numbers or out of order.

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
        data, ends = on_common_unit(self.sample, Sample(self.bounds))
        low, high = int(ends.raw[0]), int(ends.raw[1])
        records = np.clip(data.raw, low, high)
        small = max(abs(low), abs(high)) < _ROOM
        return records.astype(np.int64 if small else object), low, high, data.unit

    @property
    def records(self) -> Array:
        """The clamped records as ascending integers: ``int64`` if they fit, else Python ints."""
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
    def padded(self) -> Array:
        """``lower, lower, x_1, ..., x_n, upper, upper`` on the grid: rank ``i`` is at ``i + 1``."""
        return _pad(self.records, self.lower, self.upper)

    @cached_property
    def quick(self) -> tuple[Array, Fraction]:
        """``padded`` and its unit, for arithmetic in floats: floats stay as they are.

        Differences of two entries are then right to one rounding, whatever the offset.
        """
        low, high = float(self.bounds[0]), float(self.bounds[1])
        exact = Fraction(low) == self.bounds[0] and Fraction(high) == self.bounds[1]
        if self.sample.raw.dtype != np.float64 or not exact:
            return self.padded, self.grain
        return _pad(np.clip(self.sample.raw, low, high), low, high), Fraction(1)

    def mirrored(self) -> Clamped:
        """The data with every sign turned: what is low becomes high.

        >>> Clamped([1, 2], 0, 5).mirrored().records.tolist()
        [-2, -1]
        """
        turned = object.__new__(Clamped)
        turned.bounds = -self.bounds[1], -self.bounds[0]
        turned.sample = Sample.of_sorted(-self.sample.raw[::-1], self.sample.unit)
        return turned


def _pad(records: Array, low: Any, high: Any) -> Array:
    padded = np.empty(len(records) + 4, dtype=records.dtype)
    padded[:2], padded[2:-2], padded[-2:] = low, records, high
    return padded
