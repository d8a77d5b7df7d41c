"""Exact draws for many reports at once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.errors import UsageError
from tacit.noise.bernoulli_and_uniform import uniform_words
from tacit.noise.bits import words8, words16, words32, words64

# Count values, and count bits place by place, in little memory and without a loop over reports.


Words = NDArray[np.uint64]

VALUES = 1 << 14  # values that are counted at once: they stay in the cache of one core

# Bytes of rows that are added at once: some slabs fit the cache, and few calls are needed.
SLAB = 1 << 16

COLUMNS = 1 << 10  # bytes of a row that are examined in one go: longer rows are cut

FEW = 2048  # rows so few that they are counted bit by bit

LAST = 32  # rows of the sums that are counted bit by bit in the end


def count_values(values: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Return how often each integer below ``size`` occurs.

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

    >>> count_bits(np.array([[3], [1], [1]], np.uint8), 2).tolist()
    [3, 1]
    """
    # Slabs of rows are added like binary numbers, all their bits at once: three slabs of the same
    # weight become their sum, of the same weight, and their carry, of twice the weight, by five
    # operations of whole words (a carry-save adder).  Each addition leaves one slab fewer, so a row
    # costs five operations a word, whatever the bits.  The slabs left in the end, one or two of
    # each weight, are cut in halves and added again until they are so low that their bits can be
    # counted one by one. Source: W. Mula, N. Kurz, D. Lemire, *Faster population counts using AVX2
    # instructions* (2018).
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
    complete = n // (2 * height) * 2 * height
    words = np.ascontiguousarray(rows[:complete]).reshape(-1).view(np.uint64)
    slabs = words.reshape(-1, height * columns // 8)
    total = _Sum(slabs.shape[1])
    for pair in zip(slabs[::2], slabs[1::2], strict=True):
        total.add(*pair)
    weights = total.weights
    while height > LAST:
        height //= 2
        weights = _halved(weights)
    return _count_weights(weights, columns) + _count_few(rows[complete:])


class _Sum:
    """A sum of slabs."""

    # weights: for each power of two one slab of digits, then at most one that waits for another.

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
    halves: list[list[Words]] = []
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
        halves.append(parts)
    return [*halves, carries]


def _count_weights(weights: list[list[Words]], columns: int) -> NDArray[np.int64]:
    """Count the bits of slabs of ``LAST`` rows, each as often as its weight says."""
    shifts = [level for level, slabs in enumerate(weights) for _ in slabs]
    rows = np.concatenate([slab for slabs in weights for slab in slabs]).view(np.uint8)
    counts = _lanes(rows.reshape(len(shifts), LAST, columns)).astype(np.int64)
    return (counts << np.array(shifts)[:, None]).sum(axis=0)  # type: ignore[no-any-return]


def _count_few(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count bit by bit."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    for start in range(0, len(rows), 255):
        counts += _lanes(rows[None, start : start + 255])[0]
    return counts


def _lanes(groups: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Count bit by bit in groups of at most 255 rows: eight bits are eight bytes of one word."""
    bits = np.unpackbits(groups, axis=2, bitorder="little")
    return bits.view(np.uint64).sum(axis=1).view(np.uint8)  # type: ignore[no-any-return]


# Probabilities that are whole multiples of 2**-b, and draws from them without a branch.
#
# A local mechanism chooses its own probabilities, so it chooses such that random bits give exactly:
# ``m / 2**b`` is the probability that b random bits, read as a number, are below m.  No rejection,
# no refinement, and an epsilon that is the logarithm of a fraction.


# Beyond this a report hides nothing: the truth is e**24 = 2.6e10 times as likely as a lie.
LARGEST_EPSILON = 24

# Below this a report reveals nothing: n reports would have the error of 4 * 10**12 n people.
SMALLEST_EPSILON = Fraction(1, 1 << 20)

# Thresholds keep this many significant bits of the smaller of p and 1 - p, at least.
SLACK_BITS = 20

FINEST = 62
_WORDS: dict[int, Callable[[int], NDArray[Any]]] = {
    8: words8,
    16: words16,
    32: words32,
    64: words64,
}


def exp_at_most(epsilon: Number) -> Fraction:
    """Return a fraction within 2**-80 below ``e**epsilon``, for the loss of one report.

    >>> float(exp_at_most(1))
    2.718281828459045
    """
    loss = positive(epsilon, "epsilon")
    if loss > LARGEST_EPSILON:
        raise UsageError(
            f"epsilon must be at most {LARGEST_EPSILON} for one report, not {show(loss)}: "
            "beyond that nothing is hidden"
        )
    if loss < SMALLEST_EPSILON:
        raise UsageError(
            f"epsilon must be at least 2**-20 for one report, not {show(loss)}: below that "
            "a report says nothing"
        )
    return min_exp(loss)


def min_exp(loss: Fraction) -> Fraction:
    """Return a fraction within 2**-80 below ``e**loss``, of any part of a loss.

    >>> min_exp(Fraction(0))
    Fraction(1, 1)
    """
    return exp(loss, 128).rounded(112).lower


def max_exp(loss: Fraction) -> Fraction:
    """Return a fraction above ``e**loss`` by less than 2**-90 of it, of a loss.

    >>> max_exp(Fraction(0))
    Fraction(1, 1)
    """
    return exp(loss, 128).rounded(112).upper


def read_loss(*given: Any) -> Fraction:
    """Read the loss of one report: the first that is given.

    >>> read_loss(None, "1/2")
    Fraction(1, 2)
    """
    epsilon = next((e for e in given if e is not None), None)
    if epsilon is None:
        raise UsageError("give epsilon")
    exp_at_most(epsilon)
    return positive(epsilon, "epsilon")


class ExactLoss:
    """A mechanism whose loss is exactly the one that is given, as that of Laplace noise is."""

    loss: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The loss of one report, exactly."""
        return self.loss

    @property
    def ratio(self) -> Fraction:
        """e**epsilon, which is irrational: rounded up by less than 2**-90."""
        return max_exp(self.loss)


def fineness(p: Fraction, slack: int = SLACK_BITS) -> int:
    """Return how many bits keep ``slack`` significant bits of p and of 1 - p: a multiple of 8.

    >>> fineness(Fraction(1, 3)), fineness(Fraction(1, 10**6))
    (24, 40)
    """
    small = min(p, 1 - p)
    needed = slack + (small.denominator // small.numerator).bit_length()
    return min(FINEST, -(-needed // 8) * 8)


def finer(p: Fraction, epsilon: Number, slack: int = SLACK_BITS) -> int:
    """Return the fineness that keeps p's distance from its neighbours also where epsilon is small.

    >>> finer(Fraction(1, 3), 1), finer(Fraction(1, 3), "0.001")
    (24, 32)
    """
    shrinks = int(1 / as_fraction(epsilon)).bit_length() - 1
    return fineness(p, slack + max(0, shrinks))


def _dyadic(p: Fraction, bits: int, up: int) -> Fraction:
    """Round p to a multiple of 2**-bits that is neither 0 nor 1; one that is dyadic is kept."""
    if p.denominator & (p.denominator - 1) == 0 and p.denominator <= 1 << FINEST:
        return p
    scaled = p * (1 << bits)
    rounded = (round(scaled), ceil(scaled), floor(scaled))[up]
    return Fraction(min(max(rounded, 1), (1 << bits) - 1), 1 << bits)


def dyadic_down(p: Fraction, bits: int | None = None) -> Fraction:
    """Return the greatest multiple of 2**-bits that is at most p.

    >>> dyadic_down(Fraction(1, 3), 4)
    Fraction(5, 16)
    """
    return _dyadic(p, bits or fineness(p), -1)


def dyadic_up(p: Fraction, bits: int | None = None) -> Fraction:
    """Return the least multiple of 2**-bits that is at least p."""
    return _dyadic(p, bits or fineness(p), 1)


def dyadic_near(p: Fraction, bits: int | None = None) -> Fraction:
    """Return the nearest multiple of 2**-bits."""
    return _dyadic(p, bits or fineness(p), 0)


def probability(value: Number, name: str) -> Fraction:
    """Read a probability above 0 and below 1; one that is not dyadic goes to the nearest that is.

    >>> probability("3/4", "p"), float(probability("1/3", "p"))
    (Fraction(3, 4), 0.333333313465118...)
    """
    share = as_fraction(value, name)
    if not 0 < share < 1:
        raise UsageError(f"{name} must be above 0 and below 1: both outcomes must stay possible")
    return dyadic_near(share)


def refuse_blind(p: Fraction, items: int, size: int = 1) -> None:
    """Raise if a report that covers the truth with probability p would say nothing of it."""
    if p * items == size:
        raise UsageError(
            f"p = {size}/{items} gives every answer the same distribution of reports: choose "
            "another p"
        )


def truth_probability(p: Number | None, epsilon: Any, others: int) -> Fraction:
    """Return the probability of the truth next to ``others`` answers that are equally likely.

    >>> truth_probability("3/4", None, 1), float(truth_probability(None, 1, 1))
    (Fraction(3, 4), 0.73105...)
    """
    # epsilon: the greatest loss, ``ln(p / q)`` with ``q = (1 - p) / others``.
    if p is not None:
        return probability(p, "p")
    e = exp_at_most(epsilon)
    share = e / (e + others)
    return dyadic_down(share, finer(share, epsilon))


def coins(p: Fraction, n: int) -> NDArray[np.bool_]:
    """Draw ``n`` bits that are True with the dyadic probability ``p`` exactly.

    >>> coins(Fraction(1), 2).tolist()
    [True, True]
    """
    bits = p.denominator.bit_length() - 1
    width = next(w for w in _WORDS if bits <= w)
    threshold = p.numerator << (width - bits)
    if threshold >> width:
        return np.ones(n, bool)
    words: NDArray[np.unsignedinteger[Any]] = _WORDS[width](n)
    return words < words.dtype.type(threshold)


def uniform_below(k: int, n: int) -> NDArray[Any]:
    """Draw ``n`` integers below ``k``, each with probability exactly 1/k: uint32, or uint64.

    >>> bool((uniform_below(10, 1000) < 10).all())
    True
    """
    # The high half of ``word * k`` is uniform if the words are kept whose low half is not below
    # ``2**width mod k`` (D. Lemire, *Fast random integer generation in an interval*, 2019).  Which
    # words are thrown away is independent of those that are kept.
    if k > 1 << 32:
        return uniform_words(k, n)
    width = 16 if k <= 1 << 12 else 32
    if k & (k - 1) == 0:
        words = _WORDS[8 if k <= 256 else 16 if k <= 1 << 16 else 32](n)
        masked: NDArray[Any] = words & words.dtype.type(k - 1)
        return masked.astype(np.uint32)
    result, again = _scaled(k, n, width)
    while len(again):
        fresh, rejected = _scaled(k, len(again), width)
        result[again] = fresh
        again = again[rejected]
    return result


def _scaled(k: int, n: int, width: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the high halves, and the places of those to be drawn again."""
    half: Any = np.uint16 if width == 16 else np.uint32
    unsigned: Any = np.uint32 if width == 16 else np.uint64
    products: NDArray[Any] = _WORDS[width](n) * unsigned(k)
    low = products.astype(half)
    again = np.flatnonzero(low < half((1 << width) % k))
    return (products >> unsigned(width)).astype(np.uint32, copy=False), again


# Rows of packed random bits, all with one dyadic probability.


# Words of 64 bits drawn at once: 64 KiB, one request to the generator, and in a core's cache.
BLOCK = 1 << 13


def random_rows(p: Fraction, n: int, width: int) -> NDArray[np.uint8]:
    """Return ``n`` rows of ``width`` packed bits, each set with the dyadic probability p exactly.

    >>> random_rows(Fraction(1, 4), 5, 12).shape
    (5, 2)
    """
    # With p = 0.m1 m2 ... mb in binary, a bit is set iff a uniform U = 0.u1 u2 ... ub is below p.
    # From the last digit to the first: where m = 1 the answer is "u = 0, or the answer so far",
    # where m = 0 it is "u = 0, and the answer so far".  So b words of random bits
    # decide 64 bits at once, by AND and OR, with no comparison and no branch.  Bits beyond the
    # width are zero.
    columns = (width + 7) // 8
    words = np.empty(-(-n * columns // 8), np.uint64)
    bits = p.denominator.bit_length() - 1
    digits = [p.numerator >> i & 1 for i in range(bits)]
    for start in range(0, len(words), BLOCK):
        _chain(digits, words[start : start + BLOCK])
    rows = words.view(np.uint8)[: n * columns].reshape(n, columns)
    rows[:, -1] &= stray_mask(width)
    return rows


def stray_mask(width: int) -> np.uint8:
    """Return the bits of the last byte that belong to a row of this width.

    >>> int(stray_mask(12)), int(stray_mask(8))
    (15, 255)
    """
    return np.uint8((1 << (width - 1) % 8 + 1) - 1)


def _chain(digits: list[int], out: NDArray[np.uint64]) -> None:
    """Fill words with bits of probability 0.(digits), given from the last digit to the first."""
    first = digits.index(1)
    out[:] = words64(len(out))
    for digit in digits[first + 1 :]:
        fresh = words64(len(out))
        (np.bitwise_or if digit else np.bitwise_and)(out, fresh, out=out)


def blend_own_bit(
    rows: NDArray[np.uint8], indices: NDArray[np.int64], bits: NDArray[np.bool_]
) -> None:
    """Set bit ``indices[i]`` of row i to ``bits[i]``, by the same work on every byte of the row."""
    # So neither time nor the order in which memory is touched reveals the place.
    columns = np.arange(rows.shape[1], dtype=indices.dtype)
    single = np.left_shift(np.uint8(1), (indices & 7).astype(np.uint8))
    step = max(1, BLOCK * 8 // rows.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        here: NDArray[Any] = columns == (indices[part] >> 3)[:, None]
        mask = here.view(np.uint8) * single[part, None]
        rows[part] &= ~mask
        mask *= bits[part, None]
        rows[part] |= mask
