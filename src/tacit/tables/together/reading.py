"""How a question reads the bins of a column: each alone, the first ones, or all ranges of them.

A question takes a matrix W of zeros and ones times the counts of the bins.  The rows of W are never
written out: ranges of 256 bins are 32,896.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import show
from tacit.expressions.bin_labels import bin_names
from tacit.workload.cells import prefix_sums, ranges

__all__ = [
    "READINGS",
    "SHARES",
    "counted_as",
    "gram_of",
    "magnitudes",
    "names_of",
    "size_of",
    "squares",
    "taken",
]

Array = NDArray[np.float64]

READINGS = ("cells", "ranges", "prefix_sums")
SHARES = "shares"
"""Prefix sums beside their total: what is counted are prefix sums."""


def counted_as(reading: str) -> str:
    """Return the sums of bins that a question is answered from.

    >>> counted_as("shares"), counted_as("ranges")
    ('prefix_sums', 'ranges')
    """
    return "prefix_sums" if reading == SHARES else reading


def size_of(reading: str, bins: int) -> int:
    """Return how many numbers a question has.

    >>> [size_of(reading, 4) for reading in READINGS]
    [4, 10, 4]
    """
    return bins * (bins + 1) // 2 if reading == "ranges" else bins


def names_of(reading: str, edges: Sequence[Fraction]) -> list[str]:
    """Return what the numbers are called.

    >>> names_of("prefix_sums", [0, 18, 99]), names_of("ranges", [0, 18, 99])
    (['[0, 18)', '[0, 99]'], ['[0, 18)', '[0, 99]', '[18, 99]'])
    """
    if reading == "cells":
        return bin_names(edges)
    first = edges[:1] if counted_as(reading) == "prefix_sums" else edges
    last = edges[-1]
    return [
        f"[{show(low)}, {show(high)}{']' if high == last else ')'}"
        for low, high in itertools.product(first, edges)
        if low < high
    ]


def gram_of(reading: str, bins: int) -> Array:
    """Return ``W^T W``."""
    if reading == "cells":
        return np.eye(bins)
    return (ranges if reading == "ranges" else prefix_sums)(bins).gram


def taken(reading: str, cells: Array) -> Array:
    """Return the answers, from the counts of the bins along the last axis.

    >>> taken("ranges", np.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 3.0, 7.0, 2.0, 6.0, 4.0]
    """
    if reading == "cells":
        return cells
    sums = np.cumsum(cells, axis=-1)
    if reading == "prefix_sums":
        return np.asarray(sums)
    low, high = _pairs(cells.shape[-1])
    whole = np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)
    return np.asarray(whole[..., high] - whole[..., low])


def squares(reading: str, covariance: Array) -> Array:
    """Return the variance of each answer, from the covariance of the counts of the bins."""
    if reading == "cells":
        return np.asarray(np.diag(covariance))
    sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    if reading == "prefix_sums":
        return np.asarray(np.diag(sums))
    low, high = _pairs(len(covariance))
    whole = np.pad(sums, ((1, 0), (1, 0)))
    found = whole[high, high] + whole[low, low] - 2 * whole[low, high]
    return np.asarray(np.maximum(found, 0.0))


def magnitudes(reading: str, weights: Array) -> Array:
    """Return the sum of the sizes of the weights that each answer has, from those of the bins.

    Args:
        reading: as everywhere.
        weights: of each bin the weights of the noisy numbers, shape (bins, numbers).
    """
    found = np.zeros(size_of(reading, len(weights)))
    for column in weights.T:
        found += np.abs(taken(reading, column))
    return found


def _pairs(bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    low, high = np.triu_indices(bins + 1, 1)
    return low, high
