"""The geometric distribution by its binary digits: exact, constant work, nothing to build.

Let G be geometric, P(G = k) = (1 - q) q**k with q = exp(-1/s).  Write G = d_0 + 2 d_1 + 4 d_2 + ...
+ 2**J T.  Since q**G factorises over the digits, they are independent, with
P(d_j = 1) = q_j / (1 + q_j), q_j = q**(2**j), and T is geometric with ratio q**(2**J).
(The memoryless property: L. Devroye, *Non-Uniform Random Variate Generation* (1986), X.2.)

So one draw compares J words of 64 bits with J thresholds and no branch depends on the outcome.
J is chosen so that T > 0 has probability below 2**-64; T is drawn like the rest, and only
where its word says that it may not be zero is it settled by repeated trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.fixed_point import exp_minus
from tacit.noise.bits import words64
from tacit.noise.exact_comparison import STEP, EncloseAt, below, certified_floor, exponential

__all__ = ["LARGEST_INT64_SCALE", "GeometricDigits", "geometric_digits", "wrapped"]

WIDTH = 64
CHUNK = 2048
"""Rows compared at once: some 60 words each, about a megabyte."""

LARGEST_INT64_SCALE = 1 << 52
"""Up to this scale bulk draws are int64 arrays; above it, arrays of Python integers."""


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
    """Thresholds of the binary digits of a geometric distribution of the given ``scale``.

    ``odds[j]`` encloses P(digit j = 1) and ``thresholds[j]`` is its floor at 64 bits; the last of
    each belongs to T > 0, the carry beyond the digits.  ``width`` is 64 outside tests; a few bits
    make ties frequent.
    """

    scale: Fraction
    odds: Sequence[EncloseAt]
    thresholds: NDArray[np.uint64]
    width: int = WIDTH

    @property
    def count(self) -> int:
        """The number J of binary digits."""
        return len(self.odds) - 1

    def bits(self, n: int, sign: bool) -> NDArray[np.bool_]:
        """Draw ``n`` rows of J + 1 digits, then a sign bit of the distribution of digit 0 if asked.

        The comparison of word and threshold settles every digit but ties, which have
        probability 2**-64 each and are settled by further bits.
        """
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
    """Enclose the floors of all odds at ``width`` bits, from one exponential.

    Digit j + 1 has the square of the q of digit j: both ends are squared, the upper one rounded up.
    Ends that are e units apart have squares at most 2 e + 2 units apart, so after ``count`` of them
    they are still some ``2**-(width + STEP)`` apart, and nearly always have one floor.
    """
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
def geometric_digits(scale: Fraction, width: int = WIDTH, reach: int = 45) -> GeometricDigits:
    """Prepare the digits of the geometric distribution with ratio exp(-1/scale).

    ``2**J >= reach scale`` makes the carry rarer than e**-45 < 2**-64; tests lower ``width`` and
    ``reach`` to make ties and carries frequent.

    >>> geometric_digits(Fraction(25)).count
    11
    """
    count = max(1, (reach * scale.numerator // scale.denominator).bit_length())
    odds = [_odds(scale, j) for j in range(count)]
    odds.append(exponential((1 << count) / scale))
    found = zip(_by_squaring(scale, count, width), odds, strict=True)
    floors = [certified_floor(p, width) if low != high else low for (low, high), p in found]
    return GeometricDigits(scale, odds, np.array(floors, np.uint64), width)
