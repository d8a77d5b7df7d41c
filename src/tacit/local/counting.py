"""Count values, and count bits place by place, in little memory and without a loop over reports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["count_bits", "count_values"]

VALUES = 1 << 14
SLAB = 1 << 16
"""Values, and bytes of rows, that are looked at at once: they stay in the cache of one core."""


def count_values(values: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Return how often each whole number below ``size`` occurs.

    >>> count_values(np.array([2, 0, 2], np.uint8), 3).tolist()
    [1, 0, 2]
    """
    step = max(VALUES, size)
    counts = np.zeros(size, np.int64)
    for start in range(0, len(values), step):
        counts += np.bincount(values[start : start + step], minlength=size)
    return counts


def count_bits(rows: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """Return in how many rows of packed bits each of the first ``width`` bits is set.

    Slabs of rows are added like binary numbers, all their bits at once: three slabs of the
    same weight become their sum, of the same weight, and their carry, of twice the weight, by five
    operations of whole words (a carry-save adder).  Each addition leaves one slab fewer, so a row
    costs five operations a word, whatever the bits; what is left at the end is counted bit by bit.
    Source: W. Mula, N. Kurz, D. Lemire, *Faster population counts using AVX2 instructions* (2018).

    >>> count_bits(np.array([[3], [1], [1]], np.uint8), 2).tolist()
    [3, 1]
    """
    height = min(max(len(rows) // 64, 1), max(1, SLAB // max(1, rows.shape[1])))
    whole = len(rows) // height * height
    levels: list[list[NDArray[np.uint8]]] = [[]]
    for start in range(0, whole, height):
        _add(levels, 0, rows[start : start + height])
    counts = _count_few(rows[whole:], width)
    for level, slabs in enumerate(levels):
        for slab in slabs:
            counts += _count_few(slab, width) << level
    return counts


def _add(levels: list[list[NDArray[Any]]], level: int, slab: NDArray[Any]) -> None:
    """Add a slab of the weight 2**level: at most two of a weight are kept."""
    if level == len(levels):
        levels.append([])
    kept = levels[level]
    kept.append(slab)
    if len(kept) == 3:
        a, b, c = (_words(part) for part in kept)
        half = a ^ b
        carry = a & b
        total = half ^ c
        half &= c
        carry |= half
        levels[level] = [total]
        _add(levels, level + 1, carry)


def _words(slab: NDArray[Any]) -> NDArray[Any]:
    """View a slab as words of 64 bits where its width allows."""
    whole = slab.dtype == np.uint8 and slab.flags.c_contiguous and slab.shape[1] % 8 == 0
    return slab.view(np.uint64) if whole else slab


def _count_few(slab: NDArray[Any], width: int) -> NDArray[np.int64]:
    """Count bit by bit: eight bits at a time, as the bytes of a word, which count up to 255."""
    counts = np.zeros(width, np.int64)
    for start in range(0, len(slab), 255):
        part = slab[start : start + 255].view(np.uint8)
        bits = np.unpackbits(part, axis=1, bitorder="little").view(np.uint64)
        counts += bits.sum(axis=0).view(np.uint8)[:width]
    return counts
