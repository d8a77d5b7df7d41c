"""How long an amount of privacy loss may be, and the rounding of longer ones."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["GRID", "rounded", "rounded_up"]

GRID = 2**1200
"""The largest denominator of an amount; that of the smallest float is 2^1074.

Without a limit, releases whose costs have coprime denominators would make the running total as long
as the whole history, and it could no longer be written down.
"""


def rounded(value: Fraction, *, up: bool) -> Fraction:
    """Return a loss as it is where it is short enough, else the next multiple of ``1 / GRID``.

    Args:
        value: of any length.
        up: whether upwards, which is how a loss is rounded; what is left is rounded down.
    """
    if value.denominator <= GRID:
        return value
    scaled = value * GRID
    return Fraction(math.ceil(scaled) if up else math.floor(scaled), GRID)


def rounded_up(loss: Fraction) -> Fraction:
    """Return a loss as it is, or rounded up to the 360 digits that a budget holds.

    >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(1, 7**500)) < Fraction(1, 10**350)
    (Fraction(1, 3), True)
    """
    return rounded(loss, up=True)
