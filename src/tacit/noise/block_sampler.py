"""Many draws with P(x) proportional to exp(-g(|x|)), symmetric, g convex and increasing.

The integers are cut into blocks of R = 2**b: x = R h + l for x >= 0 and x = -1 - (R h + l) below,
with 0 <= l < R.  Let p = exp(-g).  On the block (h, sign) p falls from ``start`` to ``end``: from
p(R h) to p(R h + R - 1) for x >= 0, and one further in each for x < 0.  One inversion draws a
state:

    fast (h, sign)      with weight R end:            l is b raw bits;
    residual (h, sign)  with weight R (start - end):  l is b raw bits, kept with probability
                                                      (p(x) - end) / (start - end), or start over;
    tail                with weight 2 p(M) / (1 - r): M = R H is where the blocks stop, and
                                                      r = exp(-(g(M+1) - g(M))).  Draw a sign and
                                                      m = M + geometric(r), and keep x with
                                                      probability p(x) / (p(M) r**(m - M)).

Each x of a block comes out with weight end + (p(x) - end) = p(x), each in the tail with
p(M) r**(m-M) times its acceptance, again p(x).  Hence the accepted x follows the distribution, no
normalising sum is needed, and every cumulative probability is a ratio of finite combinations of
exponentials of rationals, not proportional, hence irrational (Lindemann and Weierstrass), so that
all floors can be certified.  That g is convex makes the acceptance in the tail at most 1.

With R = 1 there is no residual.  Trials are independent, so their number is independent of the
accepted value; within a first trial, the lookups that a table cell leaves open are padded to a
fixed number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import float_down
from tacit.arithmetic.fixed_point import exp_minus
from tacit.noise.bits import word, words8, words16, words32, words64
from tacit.noise.digit_sampler import geometric_digits, wrapped
from tacit.noise.exact_comparison import below, certified_floors, cumulative, exponential
from tacit.noise.inversion_sampler import InversionTable

__all__ = ["BlockTable", "Convex", "block_table"]

BLOCK = 1 << 15
"""Draws looked up at once: their words are one request of 64 KiB."""

SUPERBLOCK = 16 * BLOCK
MARGIN = 2.0**-30
"""Far above the rounding error of an acceptance probability in doubles, below 2**-38."""


@dataclass(frozen=True)
class Convex:
    """The exponent g of a distribution, exactly and in doubles.

    Attributes:
        exact: g(m) for a whole m >= 0.
        rise: ``rise(m, low)`` is g(m + low) - g(m) in doubles, for arrays.
        scale: a length over which p falls noticeably: the scale, or sigma.
        reach: the m at which g is about 28, where the blocks may stop: p(m) is near 2**-40.
        per_scale: there are from one to two times so many blocks to a ``scale``; the more, the
            fewer residual draws and the longer the building.
    """

    exact: Callable[[int], Fraction]
    rise: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    scale: int
    reach: int
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
    """The states of a distribution, their thresholds, and the values that single lookups give.

    Args:
        law: the exponent.
        first, width: as for :class:`~tacit.noise.inversion_sampler.InversionTable`.
        margin: acceptances this close to the uniform are decided exactly.
    """

    def __init__(
        self,
        law: Convex,
        first: int = 16,
        width: int = 64,
        margin: float = MARGIN,
    ) -> None:
        self.law, self.margin = law, margin
        self.shift = max(0, (law.scale // law.per_scale).bit_length() - 1)
        self.length = 1 << self.shift
        self.blocks = max(1, -(-law.reach // self.length))
        self.slope = law.exact(self.blocks * self.length + 1) - law.exact(self.blocks * self.length)
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
            found = scratch[: len(part)]
            index = self._cells(len(part))
            np.take(self.values, index, out=found, mode="wrap")
            opened = np.flatnonzero(found == self.open)
            where.append(opened + start)
            cells.append(index[opened])
            if self.shift:
                found ^= self._raw(len(part)).astype(self.dtype, copy=False)
            part[:] = found
        places = np.concatenate(where)
        out[places] = self._second_look(np.concatenate(cells), len(out))[: len(places)]

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
            rejected = residual & ~self._kept(block, sign, low)
        for i in np.flatnonzero(states == self.tail).tolist():
            value = self._tail_value()
            rejected[i] = value is None
            result[i] = wrapped(value or 0)
        return result, np.flatnonzero(rejected)

    def _kept(
        self, block: NDArray[np.int64], sign: NDArray[np.int64], low: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Decide for each, as if residual, whether it is kept."""
        start = ((block << self.shift) + sign).astype(np.float64)
        end = np.exp(-self.law.rise(start, np.full(len(start), self.length - 1.0)))
        here = np.exp(-self.law.rise(start, low.astype(np.float64)))
        words = words64(len(start))
        gap = words * 2.0**-64 - (here - end) / (1 - end)
        kept: NDArray[np.bool_] = gap < 0
        for i in np.flatnonzero(np.abs(gap) < self.margin).tolist():
            kept[i] = self._kept_exactly(
                (int(block[i]) << self.shift) + int(sign[i]), int(low[i]), int(words[i])
            )
        return kept

    def _kept_exactly(self, start: int, low: int, drawn: int) -> bool:
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
def block_table(law: str, parameter: Fraction) -> BlockTable:
    """Return the table of a distribution, cached: it depends on public numbers alone."""
    return BlockTable(EXPONENTS[law](parameter))
