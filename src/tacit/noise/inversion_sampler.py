"""Draw from a finite distribution by inversion, through integer thresholds and a lookup table.

State i has the cumulative probability F_i (the last one, F = 1, is left out).  With U uniform on
[0, 1) the state is the number of i with F_i <= U.  With t_i = floor(F_i 2**64), u = floor(U 2**64):

    u < t_i implies U < F_i;     u > t_i implies u >= t_i + 1 > F_i 2**64, so U >= F_i;

and only u = t_i needs more bits, of both numbers, until they differ.  So given ideal bits the
distribution of the state is exact.  A table on the first 16 bits of U answers wherever no threshold
has the same first 16 bits: it stores what the comparison would say, and decides nothing itself.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.noise.bits import word, words64

__all__ = ["InversionTable"]


class InversionTable:
    """Thresholds of a finite distribution, and the table of cells that hold none of them.

    Args:
        floors: ``floors(width)`` lists ``floor(F_i 2**width)`` for all states but the last.
        first: how many bits index the table.
        width: how many bits are compared before a tie is refined; small only in tests.

    Attributes:
        thresholds: ``floors(width)`` as uint64, at most ``2**width - 1``.
        certain: per cell, the state, or -1 where the cell holds a threshold.
    """

    def __init__(
        self, floors: Callable[[int], Sequence[int]], first: int = 16, width: int = 64
    ) -> None:
        self.floors, self.first, self.width = floors, first, width
        # uint64 throughout: numpy would compare uint64 with int64 as float64, and lose bits
        # F = 1, before states of no weight, is cut to the last word: a tie, settled exactly
        most = (1 << width) - 1
        self.thresholds = np.array([min(t, most) for t in floors(width)], np.uint64)
        shift = np.uint64(width - first)
        starts = np.arange(1 << first, dtype=np.uint64) << shift
        lowest = np.searchsorted(self.thresholds, starts, "left")
        after = np.append(lowest[1:], len(self.thresholds))
        self.certain = np.where(lowest == after, lowest, -1)

    def draw(self, n: int) -> NDArray[np.intp]:
        """Draw ``n`` states, each by a search among all thresholds."""
        return self.complete(np.zeros(n, np.uint64), 0)

    def complete(self, prefixes: NDArray[np.uint64], have: int) -> NDArray[np.intp]:
        """Draw the states of uniforms whose first ``have`` bits are given."""
        words = words64(len(prefixes)) >> np.uint64(64 - (self.width - have))
        if have:
            words = prefixes << np.uint64(self.width - have) | words
        states = np.searchsorted(self.thresholds, words, "left")
        nearest = self.thresholds[np.minimum(states, len(self.thresholds) - 1)]
        for i in np.flatnonzero(nearest == words).tolist():
            states[i] = self._settle(int(words[i]))
        return states

    def _settle(self, drawn: int) -> int:
        """Draw more bits until no threshold agrees with all bits drawn."""
        width = self.width
        while True:
            width += 64
            drawn = drawn << 64 | word(64)
            finer = self.floors(width)
            state = bisect_left(finer, drawn)
            if state == bisect_right(finer, drawn):
                return state
