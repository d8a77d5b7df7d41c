"""Hash families, digests of text, random subsets, and least squares."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.mixing import GOLDEN, mixed
from tacit.local.items import is_missing, text_of, values_of
from tacit.noise.bits import words64

# A family of hash functions: one for each seed of 32 bits, the same on every device.
#
#     h = mix(seed + (item // 2) * 0x9E3779B1 mod 2**32),
#     half = the low 16 bits of h for an even item, the high 16 bits for an odd one,
#     bucket = floor(half g / 2**16),
#
# where ``mix`` is the finaliser of MurmurHash3, a bijection of 32-bit words in which every input
# bit moves every output bit.  For a fixed item h runs over all words as the seed does, so its two
# halves are uniform and independent of each other; those of different pairs are as good as
# independent.
#
# A multiply-shift family would do for single items, but its collisions come in lines, and sums over
# items then vary 1.3 to 1.6 times as much as they should.
# Source: A. Appleby, *MurmurHash3* (2011), public domain.


Words = NDArray[np.uint32]

ITEM = np.uint32(0x9E3779B1)
FIRST = np.uint32(0x85EBCA6B)
SECOND = np.uint32(0xC2B2AE35)
HALF = 16

# Reports compared at once: the 8 bytes of a word count 4 reports of 2 items, up to 255 each.
REPORTS = 1008

# Reports times pairs of items compared at once: their words stay in a core's cache.
CELLS = 64 * REPORTS


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
    """Return the bucket of each item under the seed next to it.

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
    """Return for each item how many reports sent its bucket."""
    # The halves of bucket y are those with ``half - edge[y] < size[y]`` (mod 2**16), so one
    # subtraction and one comparison find a match.  Reports are taken in the order of the buckets,
    # so that nearly always all that are examined together have the same edge and size.  Matches
    # are bytes, and are added eight at once, as the bytes of a word.
    edges = np.array(_edges(g), np.uint32)
    low, size = edges[:-1].astype(np.uint16), np.diff(edges).astype(np.uint16)
    order = np.argsort(sent.astype(np.uint16), kind="stable")
    seeds, sent = seeds[order], sent[order]
    counts = np.zeros((-(-items // 2), 2), np.int64)
    block = _ReportBlock(min(len(seeds), REPORTS), len(counts))
    for start in range(0, len(seeds), REPORTS):
        part = slice(start, start + REPORTS)
        y = sent[part]
        block = block if len(y) == block.reports else _ReportBlock(len(y), len(counts))
        same: NDArray[Any] = y[0] if y[0] == y[-1] else np.repeat(y, 2)
        block.count(seeds[part], low[same], size[same], counts)
    return counts.ravel()[:items]


class _ReportBlock:
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
            counted = lanes.reshape(self.height, 4, 2).sum(axis=1, dtype=np.int64)
            mine = counts[first : first + self.height]
            mine += counted[: len(mine)]


# Answers from an open domain, any text, known by a digest that is the same on every device.


DigestWords = NDArray[np.uint64]


def digest(value: Any) -> int:
    """Return the 64-bit BLAKE2b digest of an answer's text; a missing answer has one of its own.

    >>> digest("Paris") == digest(b"Paris"), digest(None) == digest(float("nan"))
    (True, True)
    """
    text = b"\xff" if is_missing(value) else text_of(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def digests(values: Iterable[Any]) -> DigestWords:
    """Return the digest of each answer."""
    return np.fromiter((digest(v) for v in values_of(values)), np.uint64)


def hashed_indices(words: DigestWords, function: Any, size: int) -> NDArray[np.int64]:
    """Return the place below ``size``, a power of two, of each digest under a numbered function.

    >>> hashed_indices(np.array([5], np.uint64), 0, 16).tolist()
    [10]
    """
    # ``digest + (function + 1) golden``, mixed (:mod:`tacit.arithmetic.mixing`).
    with np.errstate(over="ignore"):
        z = words + (np.asarray(function, np.uint64) + np.uint64(1)) * GOLDEN
    return (mixed(z) & np.uint64(size - 1)).astype(np.int64)


# Uniform subsets of one size, with the element that comes next: many at once, as columns of bits.
#
# **Draw.** Every element gets an endless string of fair bits, and the elements are ranked by their
# strings, as numbers 0.111.. to 0.000.., the greatest first.  The strings are read a bit of every
# element at a time, only until the element of rank w is known, which is a search by halves: among
# the elements still open, those whose next bit is 1 rank before the others; if they are fewer than
# the ranks still needed they are chosen and the others stay open, else they alone stay open.
#
# **Distribution.** The strings are independent and alike, so every order of the elements is equally
# likely (two equal strings have probability 0): the first w - 1 elements are a uniform set, the
# next one is uniform among the others, and all together are a uniform set of w.  Renaming the
# elements changes neither the distribution of the strings nor how many bits are read, so that
# number is independent of which elements come out: the time reveals nothing about them.
#
# A set is a column of words, 64 elements a word; a number that belongs to a set is then a row, and
# all sets take the same steps.


Columns = NDArray[np.uint64]

BLOCK = 1 << 14  # words of columns that are worked on at once: they stay in the cache of a core

LATE = 2  # bits of an element that are read between two looks at who is settled, once most are


def full_column(size: int) -> Columns:
    """Return the words of the set of all elements below ``size``.

    >>> [hex(word) for word in full_column(70).tolist()]
    ['0xffffffffffffffff', '0x3f']
    """
    words = np.full(-(-size // 64), ~np.uint64(0))
    words[-1] >>= np.uint64(-size % 64)
    return words


def single_bits(indices: NDArray[np.int64], size: int) -> Columns:
    """Return each place as a column of one bit, by the same work on every word.

    >>> single_bits(np.array([1, 64]), 65).tolist()
    [[2, 0], [0, 1]]
    """
    words = np.arange(-(-size // 64), dtype=indices.dtype)[:, None]
    bits = np.left_shift(np.uint64(1), (indices & 63).astype(np.uint64))
    return (words == indices >> 6) * bits  # type: ignore[no-any-return]


def columns_to_rows(columns: Columns, size: int) -> NDArray[np.uint8]:
    """Return columns of words as rows of bytes, the least significant bit first.

    >>> columns_to_rows(np.array([[5], [1]], np.uint64), 65).tolist()
    [[5, 0, 0, 0, 0, 0, 0, 0, 1]]
    """
    rows = np.ascontiguousarray(columns.T).astype("<u8", copy=False).view(np.uint8)
    return rows[:, : (size + 7) // 8]


def nested_sets(elements: Columns, rank: int) -> tuple[Columns, Columns]:
    """Draw from each column the ``rank - 1`` elements that come first, and the one that is next.

    >>> first, following = nested_sets(full_column(70)[:, None], 20)
    >>> [int(np.bitwise_count(part).sum()) for part in (first, following, first | following)]
    [19, 1, 20]
    """
    # elements: (words, n), n sets of at least ``rank`` and fewer than 2**16 elements.
    #
    # Returns: the sets of ``rank - 1`` elements, and the elements of that rank as sets of one.
    words, n = elements.shape
    race = _Race(
        elements.copy(), np.zeros_like(elements), np.full(n, rank, np.uint16), _sizes(elements)
    )
    step, limit = max(1, BLOCK // words), (64 * words).bit_length() + 1
    for start in range(0, n, step):
        race.run(slice(start, start + step), limit)
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
    """Columns on the way."""

    open: Columns  # the elements that may still have the rank
    chosen: Columns  # those known to come before it
    need: NDArray[np.uint16]  # the rank among the open ones
    # how many are open; with one left a column is settled, and reading on changes nothing
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


# Least squares with coefficients that are not negative.


Floats = NDArray[np.float64]


def nonnegative_least_squares(design: Floats, target: Floats) -> Floats:
    """Return the b >= 0 that minimises the length of ``design b - target``.

    >>> nonnegative_least_squares(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    # The active-set method: the coefficient whose growth helps most joins the free set, which is
    # solved by least squares; any that would turn negative stop at zero and leave it.  Each round
    # makes the residual shorter, so no set comes twice and it ends.
    # Source: C. Lawson, R. Hanson, *Solving least squares problems* (1974), chapter 23.
    gram, moment = design.T @ design, design.T @ target
    size = len(moment)
    result, free = np.zeros(size), np.zeros(size, bool)
    small = 1e-10 * max(1.0, float(np.abs(moment).max(initial=0.0)))
    for _ in range(3 * size + 1):
        gradient = np.where(free, -np.inf, moment - gram @ result)
        if free.all() or gradient.max() <= small:
            break
        free[int(gradient.argmax())] = True
        result = _step(gram, moment, result, free)
    return result


def _step(gram: Floats, moment: Floats, result: Floats, free: NDArray[np.bool_]) -> Floats:
    """Solve on the free set, giving up those that would turn negative; changes ``free``."""
    while True:
        trial = np.zeros(len(moment))
        indices = np.flatnonzero(free)
        trial[indices] = np.linalg.lstsq(
            gram[np.ix_(indices, indices)], moment[indices], rcond=None
        )[0]
        negative = free & (trial <= 0)
        if not negative.any():
            return trial
        gap = result[negative] - trial[negative]
        share = float(
            np.min(np.divide(result[negative], gap, out=np.zeros_like(gap), where=gap > 0))
        )
        result = result + share * (trial - result)
        leaving = negative & (result <= 1e-12 * max(1.0, float(result.max())))
        if not leaving.any():
            leaving = negative
        free &= ~leaving
        result = np.where(free, result, 0.0)
        if not free.any():
            return result
