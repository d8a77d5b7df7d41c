"""The count lattice: every distinct release once, and how releases neighbour each other.

With values ``v_1 < ... < v_M``, of which ``m_i`` records each exist, a release is a vector of
counts ``0 <= c_i <= m_i``: a point of a box with ``prod(m_i + 1)`` points, far fewer than there
are sets of records.  Adding a record is a unit step up along one axis, removing one a unit step
down.  A function is evaluated once a point; the largest and smallest value among all neighbours
then spread over the box by maxima and minima along the axes, ``k`` steps for distance ``k``.

What spreads are not the values themselves but their ranks among all values seen, as 32-bit
integers: maxima of ranks are exact, whatever kind of number the function returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Indices", "Lattice", "Ranks", "evaluations", "spread"]

Ranks = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]


class Lattice:
    """The box of counts.

    Args:
        counts: how many records of each value exist, one number an axis.

    >>> box = Lattice([1, 2])
    >>> box.states, box.at_level(2).tolist()
    (6, [2, 4])
    """

    def __init__(self, counts: Sequence[int]) -> None:
        self.shape = tuple(int(c) + 1 for c in counts)
        self.states = math.prod(self.shape)
        level = np.zeros(1, dtype=np.int32)
        for width in self.shape:
            level = np.add.outer(level, np.arange(width, dtype=np.int32)).ravel()
        self.level = level

    def at_level(self, size: int) -> Indices:
        """The flat indices of all releases of so many records."""
        return np.flatnonzero(self.level == size)

    def counts(self, indices: Indices) -> Indices:
        """The count vectors of flat indices, shape (releases, values)."""
        return np.stack(np.unravel_index(indices, self.shape), axis=1).astype(np.int64)

    def index(self, counts: Sequence[int]) -> int:
        """The flat index of a count vector."""
        return int(np.ravel_multi_index(tuple(counts), self.shape))


def evaluations(counts: Sequence[int], size: int) -> int:
    """How many distinct releases of ``size`` records there are, without listing them.

    >>> evaluations([1] * 18, 9)
    48620
    """
    ways = np.zeros(size + 1, dtype=object)
    ways[0] = 1
    for count in counts:
        sums = np.cumsum(ways)
        shifted = np.zeros(size + 1, dtype=object)
        if count + 1 <= size:
            shifted[count + 1 :] = sums[: size - count]
        ways = sums - shifted
    return int(ways[size])


def spread(
    ranks: Ranks,
    steps: int,
    better: Callable[..., Ranks],
    *,
    up: bool = False,
    down: bool = False,
    stay: bool = True,
) -> Ranks:
    """For every point, the best rank among the points that ``steps`` unit steps can reach.

    Args:
        ranks: the rank of every point's value; where there is none, a value that never wins.
        steps: how many unit steps.
        better: ``np.maximum`` or ``np.minimum``.
        up: whether a step may raise a count (add a record).
        down: whether a step may lower one.
        stay: whether fewer steps are allowed too.
    """
    worst = ranks.dtype.type(-1 if better is np.maximum else np.iinfo(np.int32).max)
    for _ in range(steps):
        best = ranks.copy() if stay else np.full_like(ranks, worst)
        for lower, higher in _along_axes(ranks.ndim):
            if up:
                better(best[lower], ranks[higher], out=best[lower])
            if down:
                better(best[higher], ranks[lower], out=best[higher])
        ranks = best
    return ranks


def _along_axes(axes: int) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    everything = (slice(None),) * axes
    for axis in range(axes):
        before, after = everything[:axis], everything[axis + 1 :]
        yield (*before, slice(None, -1), *after), (*before, slice(1, None), *after)
