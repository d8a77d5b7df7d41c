"""Samplers by inversion: the table, its digits, and blocks of draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp_minus
from tacit.arithmetic.exact import Number, as_fraction, float_down
from tacit.calls import public
from tacit.errors import UsageError
from tacit.noise.bernoulli_and_uniform import (
    STEP,
    EncloseAt,
    Size,
    below,
    certified_floor,
    certified_floors,
    cumulative,
    exponential,
    shape_of,
)
from tacit.noise.bits import observed, word, words8, words16, words32, words64

# What every distribution of integer noise can answer and do.


BULK = 1 << 15  # from this many draws on, a lookup table is worth its building


@public
class NoiseDistribution(ABC):
    """A probability distribution on the integers that is drawn from exactly.

    *Exactly* means: given ideal random bits, the total variation distance between a draw and
    the distribution is zero.  Arrays are int64 when the scale is at most 2**52, and then hold the
    draw modulo 2**64 (which matters with probability below e**-1000); for larger scales they
    hold Python integers.
    """

    @abstractmethod
    def probability(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X = k) with relative width about ``2**-bits``.

        Args:
            k: an integer.
            bits: about how many bits of the probability are certain.
        """

    @abstractmethod
    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X <= k) within about ``2**-bits``.

        Args:
            k: an integer.
            bits: about how many bits are certain.
        """

    @abstractmethod
    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose the variance.

        Args:
            bits: about how many bits are certain.
        """

    @abstractmethod
    def _tail_bound(self, outside: Fraction) -> int:
        """Return some m with P(X > m) at most ``outside``."""

    @abstractmethod
    def _lowest(self, radius: int) -> int:
        """Return the lower end of the support that goes with ``radius``."""

    @abstractmethod
    def _integers(self, n: int) -> list[int]:
        """Draw ``n`` Python integers."""

    @abstractmethod
    def _few(self, n: int) -> NDArray[np.int64]:
        """Draw ``n`` values without a table."""

    @abstractmethod
    def _bulk(self, n: int) -> NDArray[np.int64]:
        """Draw ``n`` values with a table."""

    @property
    @abstractmethod
    def _fits_int64(self) -> bool:
        """True if arrays of draws are int64."""

    def support(self, mass: Number) -> tuple[int, int]:
        """Return (lowest, highest) whose interval holds at least ``mass`` of the probability.

        Raises:
            UsageError: ``mass`` is not within 0 <= mass < 1.
        """
        share = as_fraction(mass, "mass")
        if not 0 <= share < 1:
            raise UsageError("mass must be at least 0 and below 1")
        radius = self._tail_bound((1 - share) / 2)
        return self._lowest(radius), radius

    def draw(self) -> int:
        """Draw one Python integer; the work does not depend on its value."""
        return observed(self, None, lambda: self._integers(1)[0])

    def draw_many(self, size: Size) -> NDArray[np.int64]:
        """Draw an array of the given length or shape.

        Raises:
            UsageError: ``size`` is negative or not whole.
        """
        shape, n = shape_of(size)
        return np.reshape(observed(self, n, lambda: self._array(n)), shape)

    def _array(self, n: int) -> NDArray[np.int64]:
        if not self._fits_int64:
            values = np.empty(n, object)
            values[:] = self._integers(n)
            return values
        return self._bulk(n) if n >= BULK else self._few(n)


# Draw from a finite distribution by inversion, through integer thresholds and a lookup table.
#
# State i has the cumulative probability F_i (the last one, F = 1, is left out).  With U uniform on
# [0, 1) the state is the number of i with F_i <= U.  With t_i = floor(F_i 2**64), u = floor(U
# 2**64):
#
#     u < t_i implies U < F_i;     u > t_i implies u >= t_i + 1 > F_i 2**64, so U >= F_i;
#
# and only u = t_i needs more bits, of both numbers, until they differ.  So given ideal bits the
# distribution of the state is exact.  A table on the first 16 bits of U answers wherever no
# threshold has the same first 16 bits: it stores what the comparison would say, and decides nothing
# itself.


class InversionTable:
    """Thresholds of a finite distribution, and the table of cells that hold none of them."""

    # floors: ``floors(width)`` lists ``floor(F_i 2**width)`` for all states but the last.
    # width: how many bits are compared before a tie is refined; small only in tests.

    def __init__(
        self, floors: Callable[[int], Sequence[int]], first: int = 16, width: int = 64
    ) -> None:
        self.floors, self.first, self.width = floors, first, width
        # uint64 throughout: numpy would compare uint64 with int64 as float64, and lose bits
        # F = 1, before states of no weight, is cut to the last word: a tie, settled exactly
        maximum = (1 << width) - 1
        self.thresholds = np.array([min(t, maximum) for t in floors(width)], np.uint64)
        shift = np.uint64(width - first)
        starts = np.arange(1 << first, dtype=np.uint64) << shift
        lowest = np.searchsorted(self.thresholds, starts, "left")
        after = np.append(lowest[1:], len(self.thresholds))
        self.certain = np.where(lowest == after, lowest, -1)

    def draw(self, n: int) -> NDArray[np.intp]:
        """Draw ``n`` states, each by a search among all thresholds."""
        return self.complete(np.zeros(n, np.uint64), 0)

    def complete(self, prefixes: NDArray[np.uint64], have: int) -> NDArray[np.intp]:
        """Draw the states of uniforms whose first ``have`` bits are given."""
        words = words64(len(prefixes)) >> np.uint64(64 - (self.width - have))
        if have:
            words = prefixes << np.uint64(self.width - have) | words
        states = np.searchsorted(self.thresholds, words, "left")
        nearest = self.thresholds[np.minimum(states, len(self.thresholds) - 1)]
        for i in np.flatnonzero(nearest == words).tolist():
            states[i] = self._settle(int(words[i]))
        return states

    def _settle(self, drawn: int) -> int:
        """Draw more bits until no threshold agrees with all bits drawn."""
        width = self.width
        while True:
            width += 64
            drawn = drawn << 64 | word(64)
            finer = self.floors(width)
            state = bisect_left(finer, drawn)
            if state == bisect_right(finer, drawn):
                return state


# The geometric distribution by its binary digits: exact, constant work, nothing to build.
#
# Let G be geometric, P(G = k) = (1 - q) q**k with q = exp(-1/s).  Write G = d_0 + 2 d_1 + 4 d_2 +
# ... + 2**J T.  Since q**G factorises over the digits, they are independent, with P(d_j = 1) = q_j
# / (1 + q_j), q_j = q**(2**j), and T is geometric with ratio q**(2**J). (The memoryless property:
# L. Devroye, *Non-Uniform Random Variate Generation* (1986), X.2.)
#
# So one draw compares J words of 64 bits with J thresholds and no branch depends on the outcome.
# J is chosen so that T > 0 has probability below 2**-64; T is drawn like the rest, and only
# where its word says that it may not be zero is it settled by repeated trials.


WIDTH = 64
CHUNK = 2048  # rows compared at once: some 60 words each, about a megabyte

# Up to this scale bulk draws are int64 arrays; above it, arrays of Python integers.
LARGEST_INT64_SCALE = 1 << 52


def wrapped(value: int) -> int:
    """Return the 64-bit two's complement of ``value``: a map of outcomes, so post-processing.

    >>> wrapped(2**63), wrapped(-5)
    (-9223372036854775808, -5)
    """
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _odds(scale: Fraction, digit: int) -> EncloseAt:
    """Enclose q / (1 + q) for q = exp(-2**digit / scale): increasing in q."""

    def enclose(bits: int) -> tuple[int, int]:
        low, high = exp_minus((1 << digit) / scale, bits)
        one = 1 << bits
        return (low << bits) // (one + low), (high << bits) // (one + high) + 1

    return enclose


@dataclass(frozen=True)
class GeometricDigits:
    """Thresholds of the binary digits of a geometric distribution of the given ``scale``."""

    # ``odds[j]`` encloses P(digit j = 1) and ``thresholds[j]`` is its floor at 64 bits; the last of
    # each belongs to T > 0, the carry beyond the digits.  ``width`` is 64 outside tests; a few bits
    # make ties frequent.

    scale: Fraction
    odds: Sequence[EncloseAt]
    thresholds: NDArray[np.uint64]
    width: int = WIDTH

    @property
    def count(self) -> int:
        """The number J of binary digits."""
        return len(self.odds) - 1

    def bits(self, n: int, sign: bool) -> NDArray[np.bool_]:
        """Draw ``n`` rows of J + 1 digits, then, if asked, a sign bit distributed as digit 0."""
        # The comparison of word and threshold settles every digit but ties, which have
        # probability 2**-64 each and are settled by further bits.
        thresholds = np.append(self.thresholds, self.thresholds[:1]) if sign else self.thresholds
        odds = [*self.odds, self.odds[0]]
        words = words64(n * len(thresholds)).reshape(n, len(thresholds))
        if self.width < WIDTH:
            words = words >> np.uint64(WIDTH - self.width)
        result = words < thresholds
        ties = words == thresholds
        if ties.any():
            for row, column in np.argwhere(ties).tolist():
                result[row, column] = below(odds[column], int(words[row, column]), self.width)
        return result

    def carries(self, digits: NDArray[np.bool_]) -> list[tuple[int, int]]:
        """List (row, T) for the rows whose carry T is above zero; T - 1 is geometric again."""
        carry = digits[:, self.count]
        if not carry.any():
            return []
        return [(row, 1 + self._repeats()) for row in np.flatnonzero(carry).tolist()]

    def _repeats(self) -> int:
        count = 0
        while below(self.odds[-1], 0, 0):
            count += 1
        return count

    def draw(self, n: int, sign: bool = False) -> NDArray[np.int64]:
        """Draw ``n`` values modulo 2**64; with ``sign``, x or -1 - x (discrete Laplace)."""
        return self.propose(n, sign)[0]

    def propose(self, n: int, sign: bool = False) -> tuple[NDArray[np.int64], dict[int, int]]:
        """Draw as :meth:`draw` does, and map the rows that have a carry to their true value."""
        result = np.empty(n, np.int64)
        large: dict[int, int] = {}
        for start in range(0, n, CHUNK):
            values, carried = self._chunk(min(CHUNK, n - start), sign)
            result[start : start + CHUNK] = values
            large |= {start + row: value for row, value in carried.items()}
        return result, large

    def _chunk(self, n: int, sign: bool) -> tuple[NDArray[np.int64], dict[int, int]]:
        digits = self.bits(n, sign)
        packed = np.zeros((n, 8), np.uint8)
        filled = np.packbits(digits[:, : self.count], axis=1, bitorder="little")
        packed[:, : filled.shape[1]] = filled
        values = packed.view("<i8")[:, 0].astype(np.int64)
        if sign:
            values ^= -digits[:, -1].astype(np.int64)
        large = {}
        for row, carry in self.carries(digits):
            low, minus = int(values[row]), int(values[row] < 0)
            large[row] = (low ^ -minus | carry << self.count) ^ -minus
            values[row] = wrapped(large[row])
        return values, large

    def draw_integers(self, n: int, sign: bool = False) -> list[int]:
        """Draw ``n`` Python integers, of whatever size."""
        if self.count < 63:  # numpy works on all of a machine word, whatever it holds
            drawn, large = self.propose(n, sign)
            values: list[int] = drawn.tolist()
            for row, value in large.items():
                values[row] = value
            return values
        digits = self.bits(n, sign)
        packed = np.packbits(digits[:, : self.count], axis=1, bitorder="little")
        values = [int.from_bytes(row.tobytes(), "little") for row in packed]
        for row, carry in self.carries(digits):
            values[row] |= carry << self.count
        if sign:
            values = [v ^ -b for v, b in zip(values, digits[:, -1].tolist(), strict=True)]
        return values


def _by_squaring(scale: Fraction, count: int, width: int) -> list[tuple[int, int]]:
    """Enclose the floors of all odds at ``width`` bits, from one exponential."""
    # Digit j + 1 has the square of the q of digit j: both ends are squared, the upper one rounded
    # up. Ends that are e units apart have squares at most 2 e + 2 units apart, so after ``count``
    # of them they are still some ``2**-(width + STEP)`` apart, and nearly always have one floor.
    places = width + STEP + count + 8
    one = 1 << places
    low, high = exp_minus(1 / scale, places)
    floors = []
    for _ in range(count):
        floors.append(((low << width) // (one + low), (high << width) // (one + high)))
        low, high = low * low >> places, min((high * high >> places) + 1, one)
    floors.append((low >> places - width, high >> places - width))
    return floors


@lru_cache(maxsize=256)
def geometric_digits(scale: Fraction, width: int = WIDTH, radius: int = 45) -> GeometricDigits:
    """Prepare the digits of the geometric distribution with ratio exp(-1/scale).

    >>> geometric_digits(Fraction(25)).count
    11
    """
    # ``2**J >= radius scale`` makes the carry rarer than e**-45 < 2**-64; tests lower ``width`` and
    # ``radius`` to make ties and carries frequent.
    count = max(1, (radius * scale.numerator // scale.denominator).bit_length())
    odds = [_odds(scale, j) for j in range(count)]
    odds.append(exponential((1 << count) / scale))
    digits = zip(_by_squaring(scale, count, width), odds, strict=True)
    floors = [certified_floor(p, width) if low != high else low for (low, high), p in digits]
    return GeometricDigits(scale, odds, np.array(floors, np.uint64), width)


# Many draws with P(x) proportional to exp(-g(|x|)), symmetric, g convex and increasing.
#
# The integers are cut into blocks of R = 2**b: x = R h + l for x >= 0 and x = -1 - (R h + l) below,
# with 0 <= l < R.  Let p = exp(-g).  On the block (h, sign) p falls from ``start`` to ``end``: from
# p(R h) to p(R h + R - 1) for x >= 0, and one further in each for x < 0.  One inversion draws a
# state:
#
#     fast (h, sign)      with weight R end:            l is b raw bits;
#     residual (h, sign)  with weight R (start - end):  l is b raw bits, kept with probability
#                                                       (p(x) - end) / (start - end), or start over;
#     tail                with weight 2 p(M) / (1 - r): M = R H is where the blocks stop, and
#                                                       r = exp(-(g(M+1) - g(M))).  Draw a sign and
#                                                       m = M + geometric(r), and keep x with
#                                                       probability p(x) / (p(M) r**(m - M)).
#
# Each x of a block comes out with weight end + (p(x) - end) = p(x), each in the tail with
# p(M) r**(m-M) times its acceptance, again p(x).  Hence the accepted x follows the distribution, no
# normalising sum is needed, and every cumulative probability is a ratio of finite combinations of
# exponentials of rationals, not proportional, hence irrational (Lindemann and Weierstrass), so that
# all floors can be certified.  That g is convex makes the acceptance in the tail at most 1.
#
# With R = 1 there is no residual.  Trials are independent, so their number is independent of the
# accepted value; within a first trial, the lookups that a table cell leaves open are padded to a
# fixed number.


BLOCK = 1 << 15  # draws looked up at once: their words are one request of 64 KiB

SUPERBLOCK = 16 * BLOCK
# Far above the rounding error of an acceptance probability in doubles, below 2**-38.
MARGIN = 2.0**-30


@dataclass(frozen=True)
class Convex:
    """The exponent g of a distribution, exactly and in doubles."""

    exact: Callable[[int], Fraction]  # g(m) for a whole m >= 0
    # ``rise(m, low)`` is g(m + low) - g(m) in doubles, for arrays
    rise: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    # a length over which p falls noticeably: the scale, or sigma
    scale: int
    # the m at which g is about 28, where the blocks may stop: p(m) is near 2**-40
    radius: int
    # there are from one to two times this many blocks to a ``scale``; the more, the fewer residual
    # draws and the longer the building
    per_scale: int


def laplace_exponent(scale: Fraction) -> Convex:
    """Return g(m) = m / scale."""
    slope = float_down(1 / scale)
    return Convex(
        lambda m: m / scale,
        lambda m, low: low * slope,
        int(scale),
        int(28 * scale) + 1,
        per_scale=20,
    )


def gaussian_exponent(sigma_squared: Fraction) -> Convex:
    """Return g(m) = m**2 / (2 sigma**2)."""
    factor = float_down(1 / (2 * sigma_squared))
    return Convex(
        lambda m: m * m / (2 * sigma_squared),
        lambda m, low: (2 * m + low) * low * factor,
        isqrt(int(sigma_squared)),
        isqrt(int(56 * sigma_squared)) + 1,
        per_scale=40,
    )


class BlockTable:
    """The states of a distribution, their thresholds, and the values that single lookups give."""

    def __init__(
        self,
        distribution: Convex,
        first: int = 16,
        width: int = 64,
        margin: float = MARGIN,
    ) -> None:
        self.law, self.margin = distribution, margin
        self.shift = max(0, (distribution.scale // distribution.per_scale).bit_length() - 1)
        self.length = 1 << self.shift
        self.blocks = max(1, -(-distribution.radius // self.length))
        self.slope = distribution.exact(self.blocks * self.length + 1) - distribution.exact(
            self.blocks * self.length
        )
        kinds = 2 if self.shift == 0 else 4
        state = np.arange(kinds * self.blocks)
        self.block = np.append(state // kinds, 0)
        self.sign = np.append(state & 1, 0)
        self.residual = np.append(state % kinds >= 2, False)
        self.tail = len(state)
        self.table = InversionTable(self._floors, first, width)
        self._lay_out()

    def _floors(self, width: int) -> list[int]:
        return certified_floors(lambda bits: cumulative(self.weights(bits), bits), width)

    def weights(self, bits: int) -> list[tuple[int, int]]:
        """Enclose the weight of each state over R, in units of ``2**-bits``."""
        last = self.length - 1

        def p(m: int) -> tuple[int, int]:
            return exp_minus(self.law.exact(m), bits)

        result = []
        start = p(0)
        for h in range(self.blocks):
            m = h * self.length
            following = p(m + self.length)
            end = p(m + last) if last else start
            result += [end, following]
            if last:
                second = p(m + 1) if last > 1 else end
                result += [_minus(start, end), _minus(second, following)]
            start = following
        ratio = exp_minus(self.slope, bits)
        one = 1 << bits
        low = (2 * start[0] << bits) // ((one - ratio[0]) * self.length)
        high = (2 * start[1] << bits) // ((one - ratio[1]) * self.length) + 1
        return [*result, (low, high)]

    def _lay_out(self) -> None:
        """Make the table of values; ``open`` marks cells that need a second look."""
        largest = (self.blocks + 1) * self.length
        kind = np.int32 if largest < 1 << 31 else np.int64
        self.dtype: np.dtype[np.signedinteger] = np.dtype(kind)
        self.open = int(np.iinfo(kind).min)
        value = self.block << self.shift ^ -self.sign
        value = np.where(self.residual, self.open, value)
        value[self.tail] = self.open
        certain = self.table.certain
        self.values = np.where(certain < 0, self.open, value[certain]).astype(self.dtype)
        is_open = self.values == self.open
        self.share = float(is_open.mean())
        self.any_open = np.uint16(np.argmax(is_open))

    def draw(self, n: int) -> NDArray[np.int64]:
        """Draw ``n`` values, modulo 2**64."""
        result = np.empty(n, np.int64)
        scratch = np.empty(min(n, BLOCK), self.dtype)
        for start in range(0, n, SUPERBLOCK):
            self._superblock(result[start : start + SUPERBLOCK], scratch)
        return result

    def _superblock(self, out: NDArray[np.int64], scratch: NDArray[np.signedinteger]) -> None:
        where, cells = [], []
        for start in range(0, len(out), BLOCK):
            part = out[start : start + BLOCK]
            words = scratch[: len(part)]
            index = self._cells(len(part))
            np.take(self.values, index, out=words, mode="wrap")
            opened = np.flatnonzero(words == self.open)
            where.append(opened + start)
            cells.append(index[opened])
            if self.shift:
                words ^= self._raw(len(part)).astype(self.dtype, copy=False)
            part[:] = words
        indices = np.concatenate(where)
        out[indices] = self._second_look(np.concatenate(cells), len(out))[: len(indices)]

    def _cells(self, n: int) -> NDArray[np.uint16]:
        spare = 16 - self.table.first
        return words16(n) >> np.uint16(spare) if spare else words16(n)

    def _raw(self, n: int) -> NDArray[np.unsignedinteger]:
        """Draw ``shift`` raw bits each."""
        if not self.shift:
            return np.zeros(n, np.uint8)
        for width, words in ((8, words8), (16, words16), (32, words32), (64, words64)):
            if self.shift <= width:
                drawn = words(n)
                return drawn >> drawn.dtype.type(width - self.shift)
        raise AssertionError("a block is longer than 2**64")

    def _padded(self, n: int) -> int:
        """The number of second looks for ``n`` draws: the mean, 9 standard deviations, and 40."""
        return int(n * self.share + 9 * sqrt(n * self.share) + 40)

    def _second_look(self, cells: NDArray[np.uint16], n: int) -> NDArray[np.int64]:
        """Draw values whose cell is given, and as many idle ones as make a fixed number."""
        idle = max(0, self._padded(n) - len(cells))
        cells = np.concatenate([cells, np.full(idle, self.any_open, np.uint16)])
        states = self.table.complete(cells.astype(np.uint64), self.table.first)
        result, rejected = self._trial(states)
        while len(rejected):
            result[rejected], again = self._trial(self.table.draw(len(rejected)))
            rejected = rejected[again]
        return result

    def _trial(self, states: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Make values of states; return them and the places of those that start over."""
        low = self._raw(len(states)).astype(np.int64)
        block, sign, residual = self.block[states], self.sign[states], self.residual[states]
        result = (block << self.shift ^ -sign) ^ low
        rejected = np.zeros(len(states), bool)
        if self.shift:
            rejected = residual & ~self._accepted(block, sign, low)
        for i in np.flatnonzero(states == self.tail).tolist():
            value = self._tail_value()
            rejected[i] = value is None
            result[i] = wrapped(value or 0)
        return result, np.flatnonzero(rejected)

    def _accepted(
        self, block: NDArray[np.int64], sign: NDArray[np.int64], low: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Decide for each, as if residual, whether it is kept."""
        start = ((block << self.shift) + sign).astype(np.float64)
        end = np.exp(-self.law.rise(start, np.full(len(start), self.length - 1.0)))
        here = np.exp(-self.law.rise(start, low.astype(np.float64)))
        words = words64(len(start))
        gap = words * 2.0**-64 - (here - end) / (1 - end)
        accepted: NDArray[np.bool_] = gap < 0
        for i in np.flatnonzero(np.abs(gap) < self.margin).tolist():
            accepted[i] = self._accepted_exactly(
                (int(block[i]) << self.shift) + int(sign[i]), int(low[i]), int(words[i])
            )
        return accepted

    def _accepted_exactly(self, start: int, low: int, drawn: int) -> bool:
        g = self.law.exact
        last = self.length - 1

        def share(bits: int) -> tuple[int, int]:
            here = exp_minus(g(start + low) - g(start), 2 * bits)
            end = exp_minus(g(start + last) - g(start), 2 * bits)
            one = 1 << 2 * bits
            above = _minus(here, end)
            return (
                (above[0] << bits) // (one - end[0]),
                min((above[1] << bits) // (one - end[1]) + 1, 1 << bits),
            )

        if low == last:
            return False
        return low == 0 or below(share, drawn, 64)

    def _tail_value(self) -> int | None:
        """Propose a value beyond the blocks; None when it is refused."""
        sign = word(1)
        beyond = geometric_digits(1 / self.slope).draw_integers(1)[0]
        first = self.blocks * self.length
        g = self.law.exact
        excess = g(first + beyond + sign) - g(first) - beyond * self.slope
        return (first + beyond) ^ -sign if below(exponential(excess), 0, 0) else None


def _minus(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Enclose a - b, known not to be negative."""
    return max(0, a[0] - b[1]), max(0, a[1] - b[0])


EXPONENTS: dict[str, Callable[[Fraction], Convex]] = {
    "laplace": laplace_exponent,
    "gaussian": gaussian_exponent,
}


@lru_cache(maxsize=32)
def block_table(distribution: str, parameter: Fraction) -> BlockTable:
    """Return the table of a distribution, cached: it depends on public numbers alone."""
    return BlockTable(EXPONENTS[distribution](parameter))
