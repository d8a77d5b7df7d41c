"""The exact sum of an array of floats, without leaving numpy.

Error-free extraction (Rump, Ogita and Oishi 2008, *Accurate floating-point summation, part I*):
with ``sigma`` a power of two at least ``2 * n * max|x|``, ``q = (sigma + x) - sigma`` rounds every
``x`` to a multiple of ``u = ulp(sigma) / 2`` or coarser and ``x - q`` is exact.  The ``q`` are
multiples of ``u`` and any partial sum of them stays below ``sigma = 2**53 * u``, so that numpy
adds them without any rounding, in whatever order it likes.  What remains, ``x - q``, is smaller by
about ``53 - log2(2 n)`` bits and is extracted again until nothing remains.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["exact_float_sum"]

_CHUNK = 1 << 20


def exact_float_sum(values: npt.NDArray[np.float64]) -> Fraction:
    """Return the sum of finite floats as an exact fraction.

    >>> exact_float_sum(np.array([1e16, 1.0, -1e16, 0.5]))
    Fraction(3, 2)
    """
    total = Fraction(0)
    for start in range(0, len(values), _CHUNK):
        total += _chunk_sum(values[start : start + _CHUNK])
    return total


def _chunk_sum(values: npt.NDArray[np.float64]) -> Fraction:
    largest = max(abs(float(values.max())), abs(float(values.min())))
    shift = 0
    if largest > 1e290:  # sigma would overflow: scale by a power of two first
        shift, low = 200, 2.0**-800
        if float(np.abs(values[values != 0]).min()) < low:
            return Fraction(sum(map(Fraction, values.tolist())))
        values = np.ldexp(values, -shift)
        largest = math.ldexp(largest, -shift)
    total = Fraction(0)
    rest = values
    while largest > 0:
        sigma = 2.0 ** (math.frexp(largest)[1] + (2 * len(values)).bit_length())
        high = (rest + sigma) - sigma
        total += Fraction(float(high.sum()))
        rest = rest - high
        largest = float(np.abs(rest).max())
    return total * (1 << shift)
