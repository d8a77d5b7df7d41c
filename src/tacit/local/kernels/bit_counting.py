"""Count values, and count bits place by place, in little memory and without a loop over reports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["count_bits", "count_ones", "count_values"]

Words = NDArray[np.uint64]

VALUES = 1 << 14
"""Values that are counted at once: they stay in the cache of one core."""

SLAB = 1 << 16
"""Bytes of rows that are added at once: some slabs fit the cache, and few calls are needed."""

COLUMNS = 1 << 10
"""Bytes of a row that are looked at in one go: longer rows are cut."""

FEW = 2048
"""Rows so few that they are counted bit by bit."""

LAST = 32
"""Rows of the sums that are counted bit by bit in the end."""


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


def count_ones(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many bits of each row are set.

    >>> count_ones(np.array([[255, 1], [0, 3]], np.uint8)).tolist()
    [9, 2]
    """
    ones = np.empty(len(rows), np.int64)
    step = max(1, 8 * SLAB // max(1, rows.shape[1]))
    wide = np.uint16 if 8 * rows.shape[1] < 1 << 16 else np.int64
    for start in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[start : start + step])
        words = part.view(np.uint64) if part.shape[1] % 8 == 0 else part
        ones[start : start + step] = np.einsum("ij->i", np.bitwise_count(words).astype(wide))
    return ones


def count_bits(rows: NDArray[np.uint8], width: int) -> NDArray[np.int64]:
    """Return in how many rows of packed bits each of the first ``width`` bits is set.

    Slabs of rows are added like binary numbers, all their bits at once: three slabs of the
    same weight become their sum, of the same weight, and their carry, of twice the weight, by five
    operations of whole words (a carry-save adder).  Each addition leaves one slab fewer, so a row
    costs five operations a word, whatever the bits.  The slabs left in the end, one or two of each
    weight, are cut in halves and added again until they are so low that their bits can be counted
    one by one.
    Source: W. Mula, N. Kurz, D. Lemire, *Faster population counts using AVX2 instructions* (2018).

    >>> count_bits(np.array([[3], [1], [1]], np.uint8), 2).tolist()
    [3, 1]
    """
    counts = np.empty(width, np.int64)
    for start in range(0, rows.shape[1], COLUMNS):
        mine = slice(8 * start, 8 * (start + COLUMNS))
        part = rows[:, start : start + COLUMNS]
        counts[mine] = _count_part(part)[: len(counts[mine])]
    return counts


def _count_part(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count all bits of rows that are short enough."""
    n, columns = rows.shape
    if n < FEW:
        return _count_few(rows)
    height = LAST
    while 2 * height * columns <= SLAB and 64 * height <= n:
        height *= 2
    whole = n // (2 * height) * 2 * height
    words = np.ascontiguousarray(rows[:whole]).reshape(-1).view(np.uint64)
    slabs = words.reshape(-1, height * columns // 8)
    total = _Sum(slabs.shape[1])
    for pair in zip(slabs[::2], slabs[1::2], strict=True):
        total.add(*pair)
    weights = total.weights
    while height > LAST:
        height //= 2
        weights = _halved(weights)
    return _count_weights(weights, columns) + _count_few(rows[whole:])


class _Sum:
    """A sum of slabs.

    Args:
        size: the words of a slab.

    Attributes:
        weights: for each power of two one slab of digits, then at most one that waits for another.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._spare: list[Words] = []
        self.weights: list[list[Words]] = []
        self._grow()

    def add(self, a: Words, b: Words) -> None:
        """Add two slabs of weight one, which stay as they are."""
        level, spare = 0, self._spare
        while True:
            slabs, total, carry = self.weights[level], self._room(), self._room()
            _add_three(a, b, slabs[0], total, carry)
            spare.append(slabs[0])
            if level:
                spare += a, b
            slabs[0] = total
            level += 1
            if level == len(self.weights):
                self._grow()
            above = self.weights[level]
            if len(above) == 1:
                above.append(carry)
                return
            a, b = above.pop(), carry

    def _grow(self) -> None:
        digits = self._room()
        digits[:] = 0
        self.weights.append([digits])

    def _room(self) -> Words:
        return self._spare.pop() if self._spare else _aligned(self._size)


def _aligned(size: int) -> Words:
    """Return room for words that starts with a line of the cache: that is a fifth faster."""
    room = np.empty(size + 8, np.uint64)
    start = -room.ctypes.data % 64 // 8
    return room[start : start + size]


def _add_three(a: Words, b: Words, c: Words, total: Words, carry: Words) -> None:
    """Write the sum of three bits, at each place of the words, as one digit and a carry."""
    np.bitwise_xor(a, b, total)
    np.bitwise_xor(a, c, carry)
    np.bitwise_and(carry, total, carry)
    np.bitwise_xor(carry, a, carry)
    np.bitwise_xor(total, c, total)


def _halved(weights: list[list[Words]]) -> list[list[Words]]:
    """Cut all slabs in halves, and add until at most two of a weight are left."""
    found: list[list[Words]] = []
    carries: list[Words] = []
    middle = len(weights[0][0]) // 2
    for slabs in weights:
        parts = carries + [half for slab in slabs for half in (slab[:middle], slab[middle:])]
        carries = []
        while len(parts) > 2:
            a, b, c = parts.pop(), parts.pop(), parts.pop()
            total, carry = np.empty_like(a), np.empty_like(a)
            _add_three(a, b, c, total, carry)
            parts.append(total)
            carries.append(carry)
        found.append(parts)
    return [*found, carries]


def _count_weights(weights: list[list[Words]], columns: int) -> NDArray[np.int64]:
    """Count the bits of slabs of ``LAST`` rows, each as often as its weight says."""
    shifts = [level for level, slabs in enumerate(weights) for _ in slabs]
    rows = np.concatenate([slab for slabs in weights for slab in slabs]).view(np.uint8)
    counts = _lanes(rows.reshape(len(shifts), LAST, columns)).astype(np.int64)
    summed: NDArray[np.int64] = (counts << np.array(shifts)[:, None]).sum(axis=0)
    return summed


def _count_few(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count bit by bit."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    for start in range(0, len(rows), 255):
        counts += _lanes(rows[None, start : start + 255])[0]
    return counts


def _lanes(groups: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Count bit by bit in groups of at most 255 rows: eight bits are eight bytes of one word."""
    bits = np.unpackbits(groups, axis=2, bitorder="little")
    sums: NDArray[np.uint8] = bits.view(np.uint64).sum(axis=1).view(np.uint8)
    return sums
