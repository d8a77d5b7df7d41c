"""Cumulative shares of the bins of a column (the empirical CDF), with intervals that hold.

Let S_k be the number of values up to the k-th edge, and S_m that of all values between the first
edge and the last.  The share is ``F_k = S_k / S_m``.  Its estimate divides the counts that are
nearest to the released ones and not below zero (:mod:`tacit.workload.nonnegative`), so that it lies
in [0, 1], rises, and ends at 1; where all of these are zero, the bins have even shares.

*Interval.*  For the true share f, ``S_k - f S_m = 0``.  So the noisy ``a - f b`` is noise alone, a
linear combination of the noisy numbers with the variance ``v_k - 2 f c_k + f^2 v_m``, and it is
within its own half-width h(f) as often as is stated.  All f with ``|a - f b| <= h(f)`` are an
interval for the share, without any approximation (Fieller, *Some problems in interval estimation*,
JRSS B 1954).  With the step s of the grid, ``h(f) <= r sd(f) + s`` and ``(x + s)^2 <= (1 + e) x^2 +
(1 + 1 / e) s^2`` for every e > 0, these f solve a quadratic inequality.  Where the total b itself
may be zero, the interval is [0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import LEVEL, Noise
from tacit.tables.together.family import Family

__all__ = ["expected_share_error", "share_half_width", "shares_up_to"]

Array = NDArray[np.float64]
_LEAST = 1e-9


def shares_up_to(family: Family, paid: Noise, counts: Array, lifted: Array) -> Estimate:
    """Return the share of the values up to each edge.

    Args:
        family: what the counts come from.
        paid: what the family may lose.
        counts: of the bins, by least squares, along the last axis.
        lifted: the nearest ones that are not below zero.

    Returns:
        Numbers of the shape of the counts; the last of each line is 1.
    """
    own, cross, whole = _variances(family, paid)
    reach, law = family.reach(paid, LEVEL), family.law(paid)
    steps = _steps(family, paid)
    middle = reach * np.sqrt(np.maximum(own - cross + whole / 4, _LEAST * whole))
    loose = np.maximum(steps / middle, _LEAST)
    wide, added = (1 + loose) * reach**2, (1 + 1 / loose) * steps**2
    sums = np.cumsum(counts, axis=-1)
    total = sums[..., -1:]
    a = total**2 - wide * whole
    b = -2 * sums * total + 2 * wide * cross
    c = sums**2 - wide * own - added
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    known = a > 0
    below = np.where(known, (-b - root) / np.where(known, 2 * a, 1.0), 0.0)
    above = np.where(known, (-b + root) / np.where(known, 2 * a, 1.0), 1.0)
    low, high = np.clip(below, 0.0, 1.0), np.clip(above, 0.0, 1.0)

    sums = np.cumsum(lifted, axis=-1)
    total = sums[..., -1:]
    bins = lifted.shape[-1]
    even = np.broadcast_to(np.arange(1, bins + 1) / bins, sums.shape)
    value = np.where(total > 0, sums / np.where(total > 0, total, 1.0), even)
    squared = np.maximum(own - 2 * value * cross + value**2 * whole, 0.0) * law.variance
    # a number within [0, 1] has a deviation of at most a half
    error = np.minimum(np.sqrt(squared) / np.maximum(total, _LEAST), 0.5)
    for each, end in ((value, 1.0), (low, 1.0), (high, 1.0), (error, 0.0)):
        each[..., -1] = end
    return Estimate(value, error, low, high)


def expected_share_error(family: Family, paid: Noise, rows: float) -> float:
    """Return the root mean square of the errors of the shares of so many values, at most."""
    return float(np.sqrt(np.mean(_largest(family, paid)) * family.law(paid).variance)) / rows


def share_half_width(family: Family, paid: Noise, rows: float, level: float) -> float:
    """Return how far an interval of a share of so many values is expected to reach, at most."""
    half = family.reach(paid, level) * np.sqrt(_largest(family, paid)) + _steps(family, paid)
    return min(float(np.max(half)) / rows, 1.0)


def _variances(family: Family, paid: Noise) -> tuple[Array, Array, float]:
    """Return v_k, c_k and v_m where the noise has the variance 1."""
    strategy = family.strategy(paid.norm)
    covariance = strategy.covariance / float(strategy.squared_sensitivity)
    sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    return np.diag(sums).copy(), sums[:, -1], float(sums[-1, -1])


def _largest(family: Family, paid: Noise) -> Array:
    """Return the largest variance of ``a - f b`` for any f in [0, 1]: at an end, being convex."""
    own, cross, whole = _variances(family, paid)
    found = np.maximum(own, own - 2 * cross + whole)
    found[-1] = 0.0
    return found


def _steps(family: Family, paid: Noise) -> Array:
    """Return how far ``a - f b`` can be from a continuous variable, at most, for f in [0, 1]."""
    weights = np.cumsum(family.strategy(paid.norm).inverse, axis=0)
    ends = np.abs(weights).sum(axis=1), np.abs(weights - weights[-1]).sum(axis=1)
    return np.asarray(family.law(paid).grid * np.maximum(*ends))
