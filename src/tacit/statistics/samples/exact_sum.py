"""The exact sum of an array of floats, at numpy's speed.

Error-free extraction (Rump, Ogita and Oishi 2008, *Accurate floating-point summation, part I*):
with ``sigma`` a power of two at least ``2 * n * max|x|``, ``q = (sigma + x) - sigma`` rounds every
``x`` to a multiple of ``u = ulp(sigma) / 2`` or coarser and ``x - q`` is exact.  The ``q`` are
multiples of ``u`` and any partial sum of them stays below ``sigma = 2**53 * u``, so that numpy
adds them without any rounding, in whatever order it likes.  What remains, ``x - q``, is smaller by
about ``53 - log2(2 n)`` bits and is extracted again until nothing remains.  Blocks stay small
enough for the processor's cache.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["exact_float_sum"]

_BLOCK = 1 << 14


def exact_float_sum(values: npt.NDArray[np.float64]) -> Fraction:
    """Return the sum of finite floats as an exact fraction.

    >>> exact_float_sum(np.array([1e16, 1.0, -1e16, 0.5]))
    Fraction(3, 2)
    """
    total = Fraction(0)
    high = np.empty(min(_BLOCK, len(values)))
    rest = np.empty_like(high)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        total += _block_sum(block, high[: len(block)], rest[: len(block)])
    return total


def _block_sum(
    values: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    rest: npt.NDArray[np.float64],
) -> Fraction:
    largest = max(float(values.max()), -float(values.min()))
    if largest > 1e290:  # sigma would overflow
        return Fraction(sum(map(Fraction, values.tolist())))
    room = (2 * len(values)).bit_length()
    total = Fraction(0)
    while largest > 0:
        sigma = math.ldexp(1.0, math.frexp(largest)[1] + room)
        np.add(values, sigma, out=high)
        np.subtract(high, sigma, out=high)
        total += Fraction(float(high.sum()))
        values = np.subtract(values, high, out=rest)
        largest = sigma * 2.0**-52 if values.any() else 0.0  # no rest is larger
    return total
