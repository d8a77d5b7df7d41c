"""Sums and sums of squares of sorted records, fast in floats and exact where asked for.

The search for the worst neighbours compares millions of variances, almost all of which are far
from the largest.  :class:`Moments` therefore keeps two views of the same records:

* float prefix sums of *centred and scaled* values ``v = (x - centre) / scale``, ``|v| <= 1``, with a
  proven bound on their error.  Centring first is what makes a large offset harmless;
* exact integer sums over any range of ranks, for the few candidates that the floats cannot tell
  apart.

**Floats.**  ``v`` is rounded at most three times, so its relative error is below ``4 u``, ``u = 2**-53``.
Prefix sums are taken in blocks of 128, and over the blocks in the same way; a sum of ``n`` terms
then passes at most ``130`` additions a level, so that its error is at most
``132 (levels + 1) u sum|v|`` (Higham 2002, *Accuracy and Stability of Numerical Algorithms*, 4.2), with
``sum v**2`` for the squares.

**Exact.**  A float is a signed integer over a power of two.  All values are written with digits
of 20 bits, ``x = sum_l d_l 2**(e - 20 l)`` with ``|d_l| <= 2**20``, kept in floats.  A product of two digits
is at most ``2**40`` and 1,024 of them add up to at most ``2**50``, so that the matrix products of a block
of digits are exact in floats whatever order they are summed in; blocks are added as 64-bit
integers, and the digits are put together as Python integers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.statistics.sample import Array, Sample

__all__ = ["Frame", "Moments", "Range", "frame_around"]

Floats = npt.NDArray[np.float64]
Frame = tuple[Fraction, int]
Range = tuple[int, int]
"""Ranks ``start <= rank < stop``."""

UNIT = 2.0**-53
_DIGIT = 20
_BLOCK = 1024
_FLOAT_BLOCK = 128


class Moments:
    """Prefix sums of the records of a sorted sample, and of their squares.

    Attributes:
        values: the centred and scaled values, at most 1 in magnitude.
        sums: ``sums[i]`` is the sum of the first ``i`` values; shape ``(N + 1,)``.
        squares: the same of the squared values.
        frame: the exact centre, and the exponent of the scale; samples that are added up in
            floats must share it.
        sum_error, square_error: bounds on the errors of any sum or difference of up to sixteen
            entries of ``sums`` and of ``squares``.

    >>> m = Moments(Sample([1.5, 2, 4]))
    >>> m.variance([(0, 2)]), m.variance([(0, 1), (2, 3)], ddof=1)
    (Fraction(1, 16), Fraction(25, 8))
    """

    def __init__(self, sample: Sample, frame: Frame | None = None) -> None:
        self.sample = sample
        self.size = len(sample)
        self._frame = frame
        self._memory: dict[int, tuple[int, int]] = {0: (0, 0)}

    @cached_property
    def constant(self) -> bool:
        """Whether all records are equal (or there is at most one)."""
        return self.size < 2 or bool(self.sample.raw[0] == self.sample.raw[-1])

    @cached_property
    def frame(self) -> Frame:
        """What the values are measured from, and the exponent of the power of two they are over."""
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
        return _prefix(self.values)

    @cached_property
    def squares(self) -> Floats:
        """Prefix sums of the squared values."""
        return _prefix(self.values * self.values)

    @cached_property
    def sum_error(self) -> float:
        """A bound on the error of up to sixteen added prefix sums."""
        return 16 * self._growth * float(np.abs(self.values).sum()) * 1.01

    @cached_property
    def square_error(self) -> float:
        """A bound on the error of up to sixteen added prefix sums of squares."""
        return 16 * self._growth * float(self.squares[-1]) * 1.01 + self.size * 2.0**-1000

    @cached_property
    def _growth(self) -> float:
        levels = 1 + math.ceil(math.log(max(self.size, 2), _FLOAT_BLOCK))
        return (132 * (levels + 1) + 8) * UNIT

    def variance_error(self, size: int, ddof: int) -> float:
        """A bound on the error of ``(q - s*s/size) / (size - ddof)`` made from prefix sums."""
        mean = min(1.0, float(np.abs(self.values).sum()) / size)
        square = min(float(size), float(self.squares[-1]))
        numerator = self.square_error + 2 * mean * self.sum_error + 16 * UNIT * square
        return (numerator + self.sum_error**2 / size) / (size - ddof) * 1.01

    def exact(self, ranges: list[Range]) -> tuple[int, int, int]:
        """How many records the ranges hold, their sum and their sum of squares, in grains."""
        count = total = square = 0
        for start, stop in ranges:
            if stop > start:
                low, high = self._up_to(start), self._up_to(stop)
                count += stop - start
                total += high[0] - low[0]
                square += high[1] - low[1]
        return count, total, square

    def variance(self, ranges: list[Range], ddof: int = 0) -> Fraction:
        """The exact variance of the records in some disjoint ranges of ranks."""
        count, total, square = self.exact(ranges)
        grain = self.grain
        return Fraction(count * square - total * total, count * (count - ddof)) * grain * grain

    def take(self, ranges: list[Range]) -> Sample:
        """The records in some disjoint ranges of ranks."""
        parts = [np.arange(start, stop) for start, stop in sorted(ranges) if stop > start]
        return self.sample.take(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))

    @cached_property
    def grain(self) -> Fraction:
        """What one unit of the exact sums stands for."""
        digits, exponent = self._digits
        if digits is None:
            return self.sample.on_grid[1]
        return Fraction(2) ** exponent * self.sample.unit

    @cached_property
    def _digits(self) -> tuple[Floats | None, int]:
        """Digits of 20 bits, most significant first, and the exponent of the last one's unit."""
        raw = self.sample.raw
        if raw.dtype == object or not len(raw):
            return None, 0
        largest = max(abs(raw[0].item()), abs(raw[-1].item()))
        if raw.dtype == np.int64 and largest >= 2**53:
            return None, 0
        exponent = math.frexp(float(largest))[1]
        if abs(exponent) > 900:
            return None, 0
        rest = raw * 2.0**-exponent
        digits: list[Floats] = []
        while True:
            rest = rest * 2.0**_DIGIT
            digit = np.rint(rest)
            rest -= digit
            digits.append(digit)
            if not rest.any():
                return np.stack(digits), exponent - _DIGIT * len(digits)
            if len(digits) >= 16:  # values of very different magnitudes
                return None, 0

    @cached_property
    def _blocks(self) -> tuple[Array, Array]:
        """Sums of digits, and of products of two digits, of all whole blocks before each."""
        digits, _ = self._digits
        assert digits is not None
        whole = self.size // _BLOCK
        cut = digits[:, : whole * _BLOCK].reshape(len(digits), whole, _BLOCK).transpose(1, 0, 2)
        kind = np.int64 if whole < 4000 else object
        ones = _cumulate(cut.sum(axis=2), kind)
        twos = _cumulate(np.matmul(cut, cut.transpose(0, 2, 1)), kind)
        return ones, twos

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
        found = self._memory.get(rank)
        if found is None:
            found = self._memory[rank] = self._sum_up_to(rank)
        return found

    def _sum_up_to(self, rank: int) -> tuple[int, int]:
        digits, _ = self._digits
        if digits is None:
            return self._wide[0][rank], self._wide[1][rank]
        ones, twos = self._blocks
        block = rank // _BLOCK
        tail = digits[:, block * _BLOCK : rank]
        single = [int(a) + int(b) for a, b in zip(ones[block], tail.sum(axis=1), strict=True)]
        product = tail @ tail.T
        places = [_DIGIT * (len(single) - 1 - i) for i in range(len(single))]
        total = sum(d << p for d, p in zip(single, places, strict=True))
        square = sum(
            (int(twos[block][i, j]) + int(product[i, j])) << (places[i] + places[j])
            for i in range(len(single))
            for j in range(len(single))
        )
        return total, square


def _prefix(values: Floats) -> Floats:
    """Prefix sums, from 0, that pass few additions: in blocks, and over the blocks again."""
    result = np.empty(len(values) + 1)
    result[0] = 0.0
    if len(values) <= _FLOAT_BLOCK:
        np.cumsum(values, out=result[1:])
        return result
    whole = len(values) // _FLOAT_BLOCK
    cut = whole * _FLOAT_BLOCK
    inner = np.cumsum(values[:cut].reshape(whole, _FLOAT_BLOCK), axis=1)
    before = _prefix(np.ascontiguousarray(inner[:, -1]))
    result[1 : cut + 1] = (inner + before[:-1, None]).ravel()
    result[cut + 1 :] = np.cumsum(values[cut:]) + before[-1]
    return result


def _cumulate(blocks: Floats, kind: type) -> Array:
    """Exact prefix sums over the first axis, from zero."""
    whole: Array = blocks.astype(np.int64).astype(kind)
    return np.concatenate((np.zeros((1, *whole.shape[1:]), dtype=kind), np.cumsum(whole, axis=0)))


def frame_around(centre: Fraction, lowest: Fraction, highest: Fraction) -> Frame:
    """A frame in which all values between the bounds are at most 1 in magnitude."""
    widest = max(highest - centre, centre - lowest)
    return centre, widest.numerator.bit_length() - widest.denominator.bit_length() + 1
