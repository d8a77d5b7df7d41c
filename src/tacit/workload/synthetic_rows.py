"""Rows whose counts come near to given marginals: the gradual update of a table.

The rows begin with the counts of each axis alone.  Then, marginal by marginal, some rows of cells
that have too many are moved to cells that have too few: half of them by taking over the values of
the cell, half by becoming a copy of a row that is in it already (which keeps what other axes have
to do with these).  Fewer rows are moved from round to round; the nearest table of all rounds is
kept.  What goes in is published, so all of this is post-processing.

Source: Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang, "PrivSyn: Differentially private data
synthesis", USENIX Security 2021, section 4 (GUM).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.mixing import Repeatable
from tacit.workload.marginals import Subset

__all__ = ["Marginal", "counts_of", "fitted_rows"]

Marginal = tuple[Subset, NDArray[np.float64]]
"""Some axes, and the counts of their cells."""
_Rows = NDArray[np.int64]
_WORK = 400_000_000
_ROUNDS = (4, 60)


def fitted_rows(
    sizes: Sequence[int], marginals: Sequence[Marginal], rows: int, stream: Repeatable
) -> _Rows:
    """Return so many rows, a number of a cell for each axis.

    Args:
        sizes: how many cells each axis has.
        marginals: counts on sets of axes; they need not agree, and may be below zero.
        rows: how many; at least one.
        stream: of the choices.

    >>> pairs = [((0, 1), np.array([[30.0, 0.0], [0.0, 70.0]]))]
    >>> table = fitted_rows([2, 2], pairs, 100, Repeatable(1))
    >>> np.bincount(2 * table[:, 0] + table[:, 1], minlength=4).tolist()
    [30, 0, 0, 70]
    """
    wanted = [(axes, _shares(counts) * rows) for axes, counts in marginals]
    table = np.zeros((rows, len(sizes)), dtype=np.int64)
    for axis, size in enumerate(sizes):
        table[:, axis] = _drawn(_alone(axis, size, wanted), rows, stream)
    rounds = min(max(_WORK // (rows * len(wanted)) // 30, _ROUNDS[0]), _ROUNDS[1])
    best, nearest = table.copy(), _gap(table, wanted)
    for place in range(rounds):
        share = 1 / (1 + place / 8)
        for axes, counts in stream.sample(wanted, len(wanted)):
            _moved(table, axes, counts, share, stream)
        gap = _gap(table, wanted)
        if gap < nearest:
            best, nearest = table.copy(), gap
    return best


def counts_of(table: _Rows, axes: Subset, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return how many rows each cell of some axes has."""
    return np.bincount(_codes(table, axes, shape), minlength=math.prod(shape)).reshape(shape)


def _codes(table: _Rows, axes: Subset, shape: Sequence[int]) -> _Rows:
    if not axes:
        return np.zeros(len(table), dtype=np.int64)
    codes: _Rows = np.ravel_multi_index(tuple(table[:, axis] for axis in axes), tuple(shape))
    return codes


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest counts that are not below zero and have the same sum, as shares of it.

    To cut at zero alone would add the noise of empty cells to the sum, and take it from the others.

    >>> _shares(np.array([7.0, 4.0, -1.0])).tolist()
    [0.65, 0.35, 0.0]
    """
    total = float(counts.sum())
    if total <= 0:
        return np.full(counts.shape, 1 / counts.size)
    falling = np.sort(counts, axis=None)[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(falling > lowered)[-1]
    return np.asarray(np.maximum(counts - lowered[kept], 0.0) / total)


def _alone(axis: int, size: int, wanted: Sequence[Marginal]) -> NDArray[np.float64]:
    """Return the shares of one axis: the mean of what the marginals say."""
    found = [
        counts.sum(axis=tuple(i for i, other in enumerate(axes) if other != axis))
        for axes, counts in wanted
        if axis in axes
    ]
    return _shares(np.mean(found, axis=0) if found else np.ones(size))


def _drawn(shares: NDArray[np.float64], count: int, stream: Repeatable) -> _Rows:
    """Return places in the given shares, each as often as it can be, in random order."""
    points = (np.arange(count) + stream.random()) / count
    places = np.searchsorted(np.cumsum(shares) / shares.sum(), points, side="right")
    mixed = np.argsort(stream.words(count))
    drawn: _Rows = np.minimum(places, len(shares) - 1)[mixed]
    return drawn


def _gap(table: _Rows, wanted: Sequence[Marginal]) -> float:
    return math.fsum(
        float(np.abs(counts_of(table, axes, counts.shape) - counts).sum())
        for axes, counts in wanted
    )


def _moved(
    table: _Rows, axes: Subset, counts: NDArray[np.float64], share: float, stream: Repeatable
) -> None:
    """Move a share of the rows of cells with too many to cells with too few."""
    codes = _codes(table, axes, counts.shape)
    held = np.bincount(codes, minlength=counts.size)
    gap = counts.ravel() - held
    lack = np.maximum(gap, 0.0)
    leaving = np.floor(share * np.maximum(-gap, 0.0) + stream.random()).astype(np.int64)
    if not axes or not leaving.any() or lack.sum() < 0.5:
        return
    order = np.lexsort((stream.words(len(codes)), codes))  # by cell, in random order within each
    first = np.cumsum(held) - held
    within = np.arange(len(codes)) - first[codes[order]]
    rows = order[within < leaving[codes[order]]]
    into = _drawn(lack, len(rows), stream)
    copied = (held[into] > leaving[into]) & (np.arange(len(rows)) % 2 == 0)
    turn = stream.words(len(rows)).astype(np.float64) / 2.0**64
    left = (held - leaving)[into]
    source = order[(first + leaving)[into] + np.minimum(turn * left, left - 1).astype(np.int64)]
    values: Any = np.unravel_index(into, counts.shape)
    for axis, value in zip(axes, values, strict=True):
        table[rows[~copied], axis] = value[~copied]
    table[rows[copied]] = table[source[copied]]
