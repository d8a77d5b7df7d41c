"""Exact sums of the first records of ascending data, at any rank, whether counted or listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.statistics.samples.sample import Array

__all__ = ["Sums"]

_SAFE = 2**62
_LOW = 30


class Sums:
    """``P_k``, the sum of the ``k`` smallest of some whole numbers, for every ``k``.

    Running sums are kept at the ends of the runs of equal numbers, and in between ``P`` is linear.
    They are 64-bit integers; where those would not do, the upper and the lower 30 bits of the
    numbers are summed apart; and Python integers where even that would not.

    Args:
        values: ascending, of at least zero: ``int64`` below 2**61, or Python integers.
        ends: how many records stand up to the end of each value's run; None: one record each.

    >>> p = Sums(np.array([1, 5]), np.array([3, 5]))
    >>> [p(k) for k in range(6)]
    [0, 1, 2, 3, 8, 13]
    """

    def __init__(self, values: Array, ends: npt.NDArray[np.int64] | None = None) -> None:
        self.values, self.ends = values, ends
        records = len(values) if ends is None else int(ends[-1]) if len(ends) else 0
        counts = None if ends is None else np.diff(ends, prepend=0)
        largest = int(values[-1]) if len(values) else 0
        self._low: Array | None = None
        if values.dtype == object or records >= 1 << 31:
            self._sums = _running(values.astype(object), counts)
        elif largest * records < _SAFE:
            self._sums = _running(values, counts)
        else:
            self._sums = _running(values >> _LOW, counts)
            self._low = _running(values & ((1 << _LOW) - 1), counts)

    def __call__(self, count: int) -> int:
        """Return the sum of the ``count`` smallest."""
        if self.ends is None:
            return self._at(count)
        run = int(self.ends.searchsorted(count, "right"))  # so many runs are whole
        if run == len(self.ends):
            return self._at(run)
        whole = int(self.ends[run - 1]) if run else 0
        return self._at(run) + (count - whole) * int(self.values[run])

    def _at(self, run: int) -> int:
        found = int(self._sums[run])
        return found if self._low is None else (found << _LOW) + int(self._low[run])


def _running(values: Array, counts: Any) -> Array:
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values if counts is None else values * counts, out=sums[1:])
    return sums
