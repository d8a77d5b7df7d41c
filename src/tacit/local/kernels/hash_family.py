"""A family of hash functions: one for each seed of 32 bits, the same on every device.

    h = mix(seed + (item // 2) * 0x9E3779B1 mod 2**32),
    half = the low 16 bits of h for an even item, the high 16 bits for an odd one,
    bucket = floor(half g / 2**16),

where ``mix`` is the finaliser of MurmurHash3, a bijection of 32-bit words in which every input bit
moves every output bit.  For a fixed item h runs over all words as the seed does, so its two halves
are uniform and independent of each other; those of different pairs are as good as independent.

A multiply-shift family would do for single items, but its collisions come in lines, and sums over
items then vary 1.3 to 1.6 times as much as they should.
Source: A. Appleby, *MurmurHash3* (2011), public domain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bucket", "bucket_shares", "count_matches", "mix"]

Words = NDArray[np.uint32]

ITEM = np.uint32(0x9E3779B1)
FIRST = np.uint32(0x85EBCA6B)
SECOND = np.uint32(0xC2B2AE35)
HALF = 16

REPORTS = 1008
"""Reports compared at once: the 8 bytes of a word count 4 reports of 2 items, up to 255 each."""

CELLS = 64 * REPORTS
"""Reports times pairs of items compared at once: their words stay in a core's cache."""


def mix(words: Words, h: Words, spare: Words) -> None:
    """Mix words into ``h``; ``spare`` is room of the same shape."""
    np.right_shift(words, np.uint32(16), out=spare)
    np.bitwise_xor(words, spare, out=h)
    np.multiply(h, FIRST, out=h)
    np.right_shift(h, np.uint32(13), out=spare)
    np.bitwise_xor(h, spare, out=h)
    np.multiply(h, SECOND, out=h)
    np.right_shift(h, np.uint32(16), out=spare)
    np.bitwise_xor(h, spare, out=h)


def bucket(seeds: Words, items: Words, g: int) -> Words:
    """Return the bucket of each item under the seed beside it.

    >>> bucket(np.array([0, 1], np.uint32), np.array([5, 5], np.uint32), 4).tolist()
    [2, 0]
    """
    h = (items >> np.uint32(1)) * ITEM
    h += seeds
    mix(h, h, np.empty_like(h))
    h >>= (items & np.uint32(1)) << np.uint32(4)
    h &= np.uint32(0xFFFF)
    h *= np.uint32(g)
    h >>= np.uint32(HALF)
    return h


def _edges(g: int) -> list[int]:
    """Return the least half of each bucket, and 2**16."""
    return [-(-(y << HALF) // g) for y in range(g + 1)]


def bucket_shares(g: int) -> list[Fraction]:
    """Return the exact probability of each bucket: 1/g, or within 2**-16 of it.

    >>> bucket_shares(2)
    [Fraction(1, 2), Fraction(1, 2)]
    """
    edges = _edges(g)
    return [Fraction(edges[y + 1] - edges[y], 1 << HALF) for y in range(g)]


def count_matches(seeds: Words, sent: Words, g: int, items: int) -> NDArray[np.int64]:
    """Return for each item how many reports sent its bucket.

    The halves of bucket y are those with ``half - edge[y] < size[y]`` (mod 2**16), so one
    subtraction and one comparison find a match.  Reports are taken in the order of the buckets, so
    that nearly always all that are looked at together have the same edge and size.  Matches are
    bytes, and are added eight at once, as the bytes of a word.
    """
    edges = np.array(_edges(g), np.uint32)
    low, size = edges[:-1].astype(np.uint16), np.diff(edges).astype(np.uint16)
    order = np.argsort(sent.astype(np.uint16), kind="stable")
    seeds, sent = seeds[order], sent[order]
    counts = np.zeros((-(-items // 2), 2), np.int64)
    block = _Block(min(len(seeds), REPORTS), len(counts))
    for start in range(0, len(seeds), REPORTS):
        part = slice(start, start + REPORTS)
        y = sent[part]
        block = block if len(y) == block.reports else _Block(len(y), len(counts))
        same: NDArray[Any] = y[0] if y[0] == y[-1] else np.repeat(y, 2)
        block.count(seeds[part], low[same], size[same], counts)
    return counts.ravel()[:items]


class _Block:
    """Room for some reports by some pairs of items."""

    def __init__(self, reports: int, pairs: int) -> None:
        self.reports = reports
        self.height = min(pairs, max(1, CELLS // max(1, reports)))
        self._before, self._h, self._spare = np.empty((3, self.height, reports), np.uint32)
        self._match = np.zeros((self.height, -(-reports // 4) * 8), bool)
        self._multiples = (np.arange(self.height, dtype=np.uint32) * ITEM)[:, None]

    def count(self, seeds: Words, low: Any, size: Any, counts: NDArray[np.int64]) -> None:
        """Add the matches of the reports to the counts of all pairs."""
        h, before = self._h, self._before
        np.add(self._multiples, seeds, out=before)
        step = np.array(self.height, np.uint32) * ITEM
        for first in range(0, len(counts), self.height):
            if first:
                before += step
            mix(before, h, self._spare)
            halves = h.astype("<u4", copy=False).view("<u2")
            np.subtract(halves, low, out=halves)
            np.less(halves, size, out=self._match[:, : 2 * self.reports])
            lanes: NDArray[Any] = self._match.view(np.uint64).sum(axis=1).view(np.uint8)
            found = lanes.reshape(self.height, 4, 2).sum(axis=1, dtype=np.int64)
            mine = counts[first : first + self.height]
            mine += found[: len(mine)]
