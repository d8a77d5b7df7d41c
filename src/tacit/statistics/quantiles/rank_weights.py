"""How much of each rank enters the move of a quantile when a record joins or leaves.

The notation is that of :mod:`tacit.statistics.quantiles.quantile_at_distance`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tacit.statistics.quantiles.rank_pair_search import Indices

__all__ = ["weights", "whole"]


def weights(q: Fraction, period: int) -> tuple[Indices, Indices, Fraction]:
    """``c1`` and ``c3`` of every remainder of ``m``, for a low record that joins or leaves.

    As whole numbers, with the unit that one of them stands for.
    """
    below, above = [], []
    for remainder in range(period):
        m = remainder if remainder >= 2 else remainder + 2 * period
        mine, other = q * (m - 1), q * (m - 2)
        moved = int(mine) > int(other)
        below.append(other % 1 - mine % 1 if moved else 1 - mine % 1)
        above.append(Fraction(0) if moved else other % 1)
    return whole(below, above)


def whole(c1: list[Fraction], c3: list[Fraction]) -> tuple[Indices, Indices, Fraction]:
    """Write weights as whole numbers with no common factor, and their unit."""
    both = [*c1, *c3]
    denominator = math.lcm(*(w.denominator for w in both))
    tops = [w.numerator * (denominator // w.denominator) for w in both]
    common = max(math.gcd(*tops), 1)
    kind = np.int64 if max(tops) // common < 2**62 else object
    made = np.array([top // common for top in tops], dtype=kind)
    return made[: len(c1)], made[len(c1) :], Fraction(common, denominator)
