"""Uniform subsets of one size, with the element that comes next: many at once, as columns of bits.

**Draw.** Every element gets an endless string of fair bits, and the elements are ranked by their
strings, as numbers 0.111.. to 0.000.., the greatest first.  The strings are read a bit of every
element at a time, only until the element of rank w is known, which is a search by halves: among the
elements still open, those whose next bit is 1 rank before the others; if they are fewer than the
ranks still needed they are chosen and the others stay open, else they alone stay open.

**Distribution.** The strings are independent and alike, so every order of the elements is equally
likely (two equal strings have probability 0): the first w - 1 elements are a uniform set, the next
one is uniform among the others, and all together are a uniform set of w.  Renaming the elements
changes neither the distribution of the strings nor how many bits are read, so that number is
independent of which elements come out: the time reveals nothing about them.

A set is a column of words, 64 elements a word; a number that belongs to a set is then a row, and
all sets take the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.noise.bits import words64

__all__ = ["columns_to_rows", "full_column", "nested_sets", "single_bits"]

Columns = NDArray[np.uint64]

BLOCK = 1 << 14
"""Words of columns that are worked on at once: they stay in the cache of a core."""

LATE = 2
"""Bits of an element that are read between two looks at who is settled, once most are."""


def full_column(size: int) -> Columns:
    """Return the words of the set of all elements below ``size``.

    >>> [hex(word) for word in full_column(70).tolist()]
    ['0xffffffffffffffff', '0x3f']
    """
    words = np.full(-(-size // 64), ~np.uint64(0))
    words[-1] >>= np.uint64(-size % 64)
    return words


def single_bits(places: NDArray[np.int64], size: int) -> Columns:
    """Return each place as a column of one bit, by the same work on every word.

    >>> single_bits(np.array([1, 64]), 65).tolist()
    [[2, 0], [0, 1]]
    """
    words = np.arange(-(-size // 64), dtype=places.dtype)[:, None]
    bits = np.left_shift(np.uint64(1), (places & 63).astype(np.uint64))
    columns: Columns = (words == places >> 6) * bits
    return columns


def columns_to_rows(columns: Columns, size: int) -> NDArray[np.uint8]:
    """Return columns of words as rows of bytes, the least significant bit first.

    >>> columns_to_rows(np.array([[5], [1]], np.uint64), 65).tolist()
    [[5, 0, 0, 0, 0, 0, 0, 0, 1]]
    """
    rows = np.ascontiguousarray(columns.T).astype("<u8", copy=False).view(np.uint8)
    return rows[:, : (size + 7) // 8]


def nested_sets(elements: Columns, rank: int) -> tuple[Columns, Columns]:
    """Draw from each column the ``rank - 1`` elements that come first, and the one that is next.

    Args:
        elements: (words, n), n sets of at least ``rank`` and fewer than 2**16 elements.
        rank: w, from 1.

    Returns:
        The sets of ``rank - 1`` elements, and the elements of that rank as sets of one.

    >>> first, following = nested_sets(full_column(70)[:, None], 20)
    >>> [int(np.bitwise_count(part).sum()) for part in (first, following, first | following)]
    [19, 1, 20]
    """
    words, n = elements.shape
    race = _Race(
        elements.copy(), np.zeros_like(elements), np.full(n, rank, np.uint16), _sizes(elements)
    )
    step, most = max(1, BLOCK // words), (64 * words).bit_length() + 1
    for start in range(0, n, step):
        race.run(slice(start, start + step), most)
    late = np.flatnonzero(race.left > 1)
    while len(late):
        race.run(late, LATE)
        late = late[race.left[late] > 1]
    return race.chosen, race.open


def _sizes(columns: Columns) -> NDArray[np.uint16]:
    """Return how many elements each column has."""
    sizes: NDArray[np.uint16] = (
        np.bitwise_count(columns).astype(np.uint16).sum(axis=0, dtype=np.uint16)
    )
    return sizes


@dataclass
class _Race:
    """Columns on the way.

    Attributes:
        open: the elements that may still have the rank.
        chosen: those known to come before it.
        need: the rank among the open ones.
        left: how many are open; with one left a column is settled, and reading on changes nothing.
    """

    open: Columns
    chosen: Columns
    need: NDArray[np.uint16]
    left: NDArray[np.uint16]

    def run(self, which: Any, rounds: int) -> None:
        """Read some bits of every element of some columns."""
        part = _Race(
            np.ascontiguousarray(self.open[:, which]),
            np.ascontiguousarray(self.chosen[:, which]),
            self.need[which],
            self.left[which],
        )
        for _ in range(rounds):
            part._read()
        self.open[:, which], self.chosen[:, which] = part.open, part.chosen
        self.need[which], self.left[which] = part.need, part.left

    def _read(self) -> None:
        """Read one bit of every element: a mask of all ones or none stands for each "if"."""
        first = words64(self.open.size).reshape(self.open.shape) & self.open
        count = _sizes(first)
        few = count < self.need
        mask = np.negative(few.astype(np.uint64))
        self.open &= mask
        self.open ^= first
        first &= mask
        self.chosen |= first
        self.need = self.need - count * few
        self.left = np.where(few, self.left - count, count)
