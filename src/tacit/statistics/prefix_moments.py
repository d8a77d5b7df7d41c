"""Sums and sums of squares of sorted records, fast in floats and exact where asked for."""

# The search for the worst neighbours compares millions of variances, almost all of which are far
# from the largest.  :class:`PrefixMoments` therefore keeps two views of the same records:
#
# * float prefix sums of *centred and scaled* values ``v = (x - centre) / scale``, ``|v| <= 1``,
#   with a proven bound on their error.  Centring first is what makes a large offset harmless;
# * exact integer sums over any range of ranks, for the few candidates that the floats cannot tell
#   apart.
#
# **Floats.**  ``v`` is rounded at most three times, so its relative error is below ``4 u``,
# ``u = 2**-53``. A prefix sum is the sum of all whole blocks of 128 before it, and a running sum
# inside its own block.  The blocks are summed by halving (7 additions, so ``7 u`` of their
# magnitudes) and added up in extended precision; the running sum passes at most 127 additions of
# numbers from one block only. With the roundings of ``v``, of ``v**2`` and of the two last steps
# the error is at most ``24 u`` plus the number of blocks times the unit of extended precision, of
# ``sum |v|`` (or ``sum v**2``), plus ``128 u`` of the largest block (Higham 2002, *Accuracy and
# Stability of Numerical Algorithms*, 4.2).
#
# **Exact.**  A float is a signed integer over a power of two.  All values are written with digits
# of 20 bits, ``x = sum_l d_l 2**(e - 20 l)`` with ``|d_l| <= 2**20``, kept in floats.  A product of
# two digits is at most ``2**40`` and 1,024 of them add up to at most ``2**50``, so that the matrix
# products of a block of digits are exact in floats whatever order they are summed in; blocks are
# added as 64-bit integers, and the digits are put together as Python integers.

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.statistics.samples import Array, Sample

Floats = npt.NDArray[np.float64]
Frame = tuple[Fraction, int]
Range = tuple[int, int]  # ranks ``start <= rank < stop``

UNIT = 2.0**-53
_DIGIT = 20
_BLOCK = 1024
_CHUNK = 32
_MAX_DIGITS = 16
_FLOAT_BLOCK = 128


class PrefixMoments:
    """Prefix sums of the records of a sorted sample, and of their squares.

    >>> m = PrefixMoments(Sample([1.5, 2, 4]))
    >>> m.variance([(0, 2)]), m.variance([(0, 1), (2, 3)], ddof=1)
    (Fraction(1, 16), Fraction(25, 8))
    """

    # sums: ``sums[i]`` is the sum of the first ``i`` values; shape ``(N + 1,)``.
    # frame: the exact centre, and the exponent of the scale; samples that are added up in floats
    #   must share it.

    def __init__(self, sample: Sample, frame: Frame | None = None) -> None:
        self.sample = sample
        self.size = len(sample)
        self._frame = frame
        self._memory: dict[int, tuple[int, int]] = {0: (0, 0)}

    @cached_property
    def constant(self) -> bool:
        """True if all records are equal (or there is at most one)."""
        return self.size < 2 or bool(self.sample.raw[0] == self.sample.raw[-1])

    @cached_property
    def frame(self) -> Frame:
        """Origin of the values, and the exponent of the power of two that divides them."""
        if self._frame is not None or not self.size:
            return self._frame or (Fraction(0), 0)
        return frame_around(self.sample[self.size // 2], self.sample[0], self.sample[-1])

    @cached_property
    def values(self) -> Floats:
        """The centred and scaled values."""
        raw, unit, (centre, shift) = self.sample.raw, self.sample.unit, self.frame
        if not len(raw):
            return np.zeros(0)
        middle = centre / unit
        if raw.dtype == np.float64 and abs(shift) < 900 and Fraction(float(middle)) == middle:
            values = raw - float(middle)
            values *= 2.0**-shift
            return values
        if raw.dtype == np.int64 and middle.denominator == 1 and abs(middle) < 2**62:
            return np.asarray((raw - int(middle)) * float(unit / Fraction(2) ** shift))
        scale = Fraction(2) ** shift
        return np.array([float((v - centre) / scale) for v in self.sample.fractions()])

    @cached_property
    def sums(self) -> Floats:
        """Prefix sums of the values."""
        return self._sums[0]

    @cached_property
    def squares(self) -> Floats:
        """Prefix sums of the squared values."""
        return self._squares[0]

    @cached_property
    def _sums(self) -> tuple[Floats, float]:
        return _prefix(self.values, self._absolute)

    @cached_property
    def _squares(self) -> tuple[Floats, float]:
        return _prefix(self.values * self.values, None)

    @cached_property
    def sum_error(self) -> float:
        """A bound on the error of up to sixteen added prefix sums."""
        return 16 * self._sums[1]

    @cached_property
    def square_error(self) -> float:
        """A bound on the error of up to sixteen added prefix sums of squares."""
        return 16 * self._squares[1] + self.size * 2.0**-1000

    @cached_property
    def _absolute(self) -> float:
        return float(np.abs(self.values).sum())

    def variance_error(self, size: int, ddof: int) -> float:
        """A bound on the error of ``(q - s*s/size) / (size - ddof)`` made from prefix sums."""
        mean = min(1.0, self._absolute / size)
        square = min(float(size), float(self.squares[-1]))
        numerator = self.square_error + 2 * mean * self.sum_error + 16 * UNIT * square
        return (numerator + self.sum_error**2 / size) / (size - ddof) * 1.01

    def exact(self, ranges: list[Range]) -> tuple[int, int, int]:
        """Number of records in the ranges, their sum and their sum of squares, in grid steps."""
        count = total = square = 0
        for start, stop in ranges:
            if stop - start == 1 and self._digits is not None:
                one = self._grains(start)
                count, total, square = count + 1, total + one, square + one * one
            elif 0 < stop - start <= _BLOCK and self._digits is not None:
                parts = self._assembled(*_gram(self._digits_of(start, stop)))
                count, total, square = count + stop - start, total + parts[0], square + parts[1]
            elif stop > start:
                low, high = self._up_to(start), self._up_to(stop)
                count += stop - start
                total += high[0] - low[0]
                square += high[1] - low[1]
        return count, total, square

    def variance(self, ranges: list[Range], ddof: int = 0) -> Fraction:
        """The exact variance of the records in some disjoint ranges of ranks."""
        count, total, square = self.exact(ranges)
        grid_step = self.grain
        return (
            Fraction(count * square - total * total, count * (count - ddof)) * grid_step * grid_step
        )

    def take(self, ranges: list[Range]) -> Sample:
        """The records in some disjoint ranges of ranks."""
        parts = [np.arange(start, stop) for start, stop in sorted(ranges) if stop > start]
        return self.sample.take(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))

    @cached_property
    def grain(self) -> Fraction:
        """Value of one unit of the exact sums."""
        if self._digits is None:
            return self.sample.on_grid[1]
        exponent, count = self._digits
        return Fraction(2) ** (exponent - _DIGIT * count) * self.sample.unit

    @cached_property
    def _digits(self) -> tuple[int, int] | None:
        """The exponent of the first digit and how many digits there are; None if too many."""
        raw = self.sample.raw
        if raw.dtype == object or not len(raw):
            return None
        largest = max(abs(raw[0].item()), abs(raw[-1].item()))
        exponent = math.frexp(float(largest))[1]
        if raw.dtype == np.int64:
            return (exponent, max(1, -(-exponent // _DIGIT))) if largest < 2**53 else None
        zero = np.searchsorted(raw, 0.0, "left"), np.searchsorted(raw, 0.0, "right")
        near = [abs(float(v)) for v in (*raw[zero[1] : zero[1] + 1], *raw[: zero[0]][-1:])]
        lowest = math.frexp(min(near))[1] - 53 if near else exponent - 1
        count = max(1, -(-(exponent - lowest) // _DIGIT))
        return (exponent, count) if abs(exponent) < 500 and count <= _MAX_DIGITS else None

    def _digits_of(self, start: int, stop: int) -> Floats:
        """The digits of the ranks ``start <= rank < stop``, most significant first."""
        assert self._digits is not None
        exponent, count = self._digits
        rest = self.sample.raw[start:stop] * 2.0 ** (_DIGIT - exponent)
        digits = np.empty((count, stop - start))
        for digit in digits:
            np.rint(rest, out=digit)
            rest -= digit
            rest *= 2.0**_DIGIT
        return digits

    def _grains(self, rank: int) -> int:
        """One record, in grains: a float times a power of two, which is a whole number."""
        assert self._digits is not None
        exponent, count = self._digits
        return int(math.ldexp(float(self.sample.raw[rank]), _DIGIT * count - exponent))

    @cached_property
    def _blocks(self) -> tuple[Array, Array]:
        """Sums of digits, and of products of two digits, of all whole blocks before each."""
        assert self._digits is not None
        count, complete = self._digits[1], self.size // _BLOCK
        ones, twos = np.zeros((complete, count)), np.zeros((complete, count, count))
        for first in range(0, complete, _CHUNK):
            last = min(first + _CHUNK, complete)
            cut = self._digits_of(first * _BLOCK, last * _BLOCK)
            cut = cut.reshape(count, last - first, _BLOCK).transpose(1, 0, 2)
            ones[first:last] = cut.sum(axis=2)
            twos[first:last] = np.matmul(cut, cut.transpose(0, 2, 1))
        kind = np.int64 if complete < 4000 else object
        return _cumulate(ones, kind), _cumulate(twos, kind)

    @cached_property
    def _wide(self) -> tuple[list[int], list[int]]:
        """Prefix sums as Python integers, for values that are no 20-bit digits in floats."""
        ones, twos = [0], [0]
        for v in self.sample.on_grid[0].tolist():
            ones.append(ones[-1] + v)
            twos.append(twos[-1] + v * v)
        return ones, twos

    def _up_to(self, rank: int) -> tuple[int, int]:
        """The exact sum and sum of squares of the first ``rank`` records."""
        sums = self._memory.get(rank)
        if sums is None:
            sums = self._memory[rank] = self._sum_up_to(rank)
        return sums

    def _sum_up_to(self, rank: int) -> tuple[int, int]:
        if self._digits is None:
            return self._wide[0][rank], self._wide[1][rank]
        ones, twos = self._blocks
        block = rank // _BLOCK
        one, two = _gram(self._digits_of(block * _BLOCK, rank))
        return self._assembled(ones[block] + one, twos[block] + two)

    def _assembled(self, ones: Array, twos: Array) -> tuple[int, int]:
        """Put sums of digits and of products of digits together."""
        total = square = 0
        for one, row in zip(ones.tolist(), twos.tolist(), strict=True):
            total = (total << _DIGIT) + one
            inner = 0
            for two in row:
                inner = (inner << _DIGIT) + two
            square = (square << _DIGIT) + inner
        return total, square


def _gram(digits: Floats) -> tuple[Array, Array]:
    """Exact sums of digits and of products of two digits, of at most one block."""
    return digits.sum(axis=1).astype(np.int64), (digits @ digits.T).astype(np.int64)


def _prefix(values: Floats, magnitude: float | None) -> tuple[Floats, float]:
    """Prefix sums from 0, and a bound on the error of each of them."""
    # ``magnitude`` is the sum of the magnitudes, if that is not the sum itself.
    result = np.empty(len(values) + 1)
    result[0] = 0.0
    complete = len(values) // _FLOAT_BLOCK
    cut = complete * _FLOAT_BLOCK
    blocks = values[:cut].reshape(complete, _FLOAT_BLOCK)
    before = np.concatenate(([0.0], np.cumsum(_folded(blocks), dtype=np.longdouble)))
    inner = result[1 : cut + 1].reshape(complete, _FLOAT_BLOCK)
    np.cumsum(blocks, axis=1, out=inner)
    inner += before[:-1, None].astype(np.float64)
    np.cumsum(values[cut:], out=result[cut + 1 :])
    result[cut + 1 :] += float(before[-1])
    total = float(result[-1]) if magnitude is None else magnitude
    widest = float(np.abs(values).max()) if len(values) else 0.0
    growth = 24 * UNIT + complete * float(np.finfo(np.longdouble).eps)
    return result, 1.01 * (growth * total + _FLOAT_BLOCK * UNIT * min(total, _FLOAT_BLOCK * widest))


def _folded(blocks: Floats) -> Floats:
    """The sum of every row, halving the rows: each number passes seven additions."""
    while blocks.shape[1] > 1:
        half = blocks.shape[1] // 2
        blocks = blocks[:, :half] + blocks[:, half:]
    return blocks[:, 0]


def _cumulate(blocks: Floats, kind: type) -> Array:
    """Exact prefix sums over the first axis, from zero."""
    sums: Array = blocks.astype(np.int64).astype(kind)
    return np.concatenate((np.zeros((1, *sums.shape[1:]), dtype=kind), np.cumsum(sums, axis=0)))


def frame_around(centre: Fraction, lowest: Fraction, highest: Fraction) -> Frame:
    """A frame in which all values between the bounds are at most 1 in magnitude."""
    widest = max(highest - centre, centre - lowest)
    return centre, widest.numerator.bit_length() - widest.denominator.bit_length() + 1
