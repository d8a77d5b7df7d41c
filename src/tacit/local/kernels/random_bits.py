"""Rows of packed random bits, all with one dyadic probability."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.noise.bits import words64

__all__ = ["blend_own_bit", "random_rows", "stray_mask"]

BLOCK = 1 << 13
"""Words of 64 bits drawn at once: 64 KiB, one request to the generator, and in a core's cache."""


def random_rows(p: Fraction, n: int, width: int) -> NDArray[np.uint8]:
    """Return ``n`` rows of ``width`` packed bits, each set with the dyadic probability p exactly.

    With p = 0.m1 m2 ... mb in binary, a bit is set iff a uniform U = 0.u1 u2 ... ub is below p.
    From the last digit to the first: where m = 1 the answer is "u = 0, or the answer so far",
    where m = 0 it is "u = 0, and the answer so far".  So b words of random bits
    decide 64 bits at once, by AND and OR, with no comparison and no branch.  Bits beyond the
    width are zero.

    >>> random_rows(Fraction(1, 4), 5, 12).shape
    (5, 2)
    """
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
    rows: NDArray[np.uint8], places: NDArray[np.int64], bits: NDArray[np.bool_]
) -> None:
    """Set bit ``places[i]`` of row i to ``bits[i]``, by the same work on every byte of the row.

    So neither time nor the order in which memory is touched reveals the place.
    """
    columns = np.arange(rows.shape[1], dtype=places.dtype)
    single = np.left_shift(np.uint8(1), (places & 7).astype(np.uint8))
    step = max(1, BLOCK * 8 // rows.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        here: NDArray[Any] = columns == (places[part] >> 3)[:, None]
        mask = here.view(np.uint8) * single[part, None]
        rows[part] &= ~mask
        mask *= bits[part, None]
        rows[part] |= mask
