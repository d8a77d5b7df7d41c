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

REPORTS = 255 * 4
"""Reports compared at once: the 8 bytes of a word count 4 reports of 2 items, up to 255 each."""

PAIRS = 64
"""Pairs of items compared at once: the words of a block stay in a core's cache."""


def mix(h: Words, spare: Words) -> None:
    """Mix words in place; ``spare`` is room of the same shape."""
    np.right_shift(h, np.uint32(16), out=spare)
    np.bitwise_xor(h, spare, out=h)
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
    mix(h, np.empty_like(h))
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
    subtraction and one comparison tell a match.  Matches are bytes, and are added eight at once, as
    the bytes of a word.
    """
    edges = np.array(_edges(g), np.uint32)
    sizes = np.diff(edges).astype(np.uint16)
    counts = np.zeros(items + items % 2, np.int64)
    multiples = np.arange(len(counts) // 2, dtype=np.uint32) * ITEM
    room = np.empty((2, PAIRS, min(len(seeds), REPORTS)), np.uint32)
    for start in range(0, len(seeds), REPORTS):
        part = slice(start, start + REPORTS)
        low, size = (np.repeat(v[sent[part]], 2) for v in (edges.astype(np.uint16), sizes))
        _count_block(counts, multiples, seeds[part], low, size, room)
    return counts[:items]


def _count_block(
    counts: NDArray[np.int64],
    multiples: Words,
    seeds: Words,
    low: NDArray[np.uint16],
    size: NDArray[np.uint16],
    room: Words,
) -> None:
    """Add the matches of at most 1,020 reports to the counts of all items."""
    n = len(seeds)
    h, spare = room[:, :, :n] if n == room.shape[2] else np.empty((2, PAIRS, n), np.uint32)
    match = np.zeros((PAIRS, -(-n // 4) * 8), bool)
    for first in range(0, len(multiples), PAIRS):
        part = multiples[first : first + PAIRS, None]
        rows = slice(0, len(part))
        np.add(part, seeds, out=h[rows])
        mix(h[rows], spare[rows])
        halves = h[rows].astype("<u4", copy=False).view("<u2")
        np.subtract(halves, low, out=halves)
        np.less(halves, size, out=match[rows, : 2 * n])
        lanes: NDArray[Any] = match[rows].view(np.uint64).sum(axis=1).view(np.uint8)
        found = lanes.reshape(len(part), 4, 2).sum(axis=1, dtype=np.int64)
        counts[2 * first : 2 * (first + len(part))] += found.ravel()
