"""Which cells the engine counts, so that the counts of all sets of axes are sums of them.

The counts on a set of axes are sums of those on any set that holds it, in whole numbers.  Only
cells that occur come out of the engine, so one query about eight columns can stand for the queries
about all their pairs.  Where many sets are asked for, the axes are put into blocks of at most 2^10
cells, in their order; a set is counted within the union of the blocks that it touches, if this has
at most 2^20 cells, and else by itself.  All pairs of m columns, b to a block, take about ``(m /
b)^2 / 2`` queries in place of ``m^2 / 2``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tacit.tables.together.strategy import subsets_of
from tacit.workload.marginals import Subset

__all__ = ["counted_sets", "largest_sets", "summed"]

_FEW = 16
"""So many sets are counted each by itself."""
_BLOCK = 1 << 10


def largest_sets(wanted: Iterable[Subset]) -> dict[Subset, Subset]:
    """Return for each wanted set, and each part of one, a largest wanted set that holds it.

    >>> largest_sets([(0,), (0, 1), (2,)])[0,]
    (0, 1)
    """
    found: dict[Subset, Subset] = {}
    for subset in sorted(set(wanted), key=lambda s: (-len(s), s)):
        if subset not in found:
            for part in subsets_of(subset):
                found.setdefault(part, subset)
    return found


def counted_sets(wanted: Iterable[Subset], sizes: Sequence[int]) -> dict[Subset, Subset]:
    """Return for each wanted set, and each part of one, the set whose cells the engine counts.

    Args:
        wanted: sets of axes, their numbers rising.
        sizes: how many cells each axis has.

    >>> pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    >>> len(set(counted_sets(pairs, [5] * 8).values())), counted_sets(pairs, [5] * 8)[0, 7]
    (3, (0, 1, 2, 3, 4, 5, 6, 7))
    """
    found = largest_sets(wanted)
    largest = list(dict.fromkeys(found.values()))
    if len(largest) <= _FEW:
        return found
    blocks = _blocks(sorted({i for subset in largest for i in subset}), sizes)
    unions = {}
    for subset in largest:
        union = tuple(sorted({i for axis in subset for i in blocks[axis]}))
        within = math.prod(sizes[i] for i in union) <= _BLOCK**2
        unions[subset] = union if within else subset
    return {part: unions[subset] for part, subset in found.items()}


def _blocks(axes: Sequence[int], sizes: Sequence[int]) -> dict[int, Subset]:
    """Return the block of each axis."""
    found: dict[int, Subset] = {}
    block: list[int] = []
    for axis in axes:
        if block and math.prod(sizes[i] for i in (*block, axis)) > _BLOCK:
            found |= dict.fromkeys(block, tuple(block))
            block = []
        block.append(axis)
    return found | dict.fromkeys(block, tuple(block))


def summed(cells: Any, weights: Any, counted: Subset, subset: Subset, sizes: Sequence[int]) -> Any:
    """Return the weight of each cell of a set of axes, exact, from the cells that occur.

    Args:
        cells: the numbers of the cells of the counted axes that occur.
        weights: their weights, whole numbers.  Their sum is the weight of all rows, which has
            64 bits like each of them, being that of the one cell of no axes.
        counted: the axes that were counted.
        subset: those that are wanted, some of them.
        sizes: how many cells each axis has.

    >>> summed([0, 3, 4], [5, 6, 7], (0, 1), (0,), [2, 3]).tolist()
    [5, 13]
    """
    shape = tuple(sizes[i] for i in subset)
    rest = np.asarray(cells, dtype=np.int64)
    place = np.zeros_like(rest)
    stride = 1
    for axis in reversed(counted):
        rest, own = np.divmod(rest, sizes[axis])
        if axis in subset:
            place += own * stride
            stride *= sizes[axis]
    whole = np.zeros(math.prod(shape), dtype=np.int64)
    np.add.at(whole, place, np.asarray(weights, dtype=np.int64))
    return whole.astype(object).reshape(shape)
