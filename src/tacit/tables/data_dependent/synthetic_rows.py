"""Made-up rows in a few public shapes: what errors are worked out on, without data."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.expressions.grid import Grid

__all__ = ["SHAPES", "made_rows"]

SHAPES = ("even", "bell", "low", "high")
"""Evenly over the bounds; around the middle; most of them near the lower, or the upper bound."""


@lru_cache(maxsize=16)
def made_rows(grid: Grid, rows: int, shape: str = "even") -> NDArray[np.float64]:
    """Return so many rows at even shares of a public shape, ascending from bound to bound.

    Of the way between the bounds, the share p of ``low`` is at ``1 - (1 - p)^(1/8)``, with a mean
    of 1/9 and a standard deviation of 1/10; ``high`` is its mirror, and ``bell`` the mean of both,
    nearly normal (Tukey's lambda distribution) with a standard deviation of 1/11.  An eighth root
    is three square roots, and these are the same on every machine.

    Between the points of the grid too: rows that tie, as whole numbers do, would make noise that
    follows the data look better than it may be.

    >>> made_rows(Grid.for_bounds(0, 8, whole=True), 4)
    array([1., 3., 5., 7.])
    >>> made_rows(Grid.for_bounds(0, 8, whole=True), 3, "low").round(2)
    array([0.18, 0.66, 1.61])
    """
    shares = (2 * np.arange(rows, dtype=np.float64) + 1) / (2 * rows)
    low, high = float(grid.value(0)), float(grid.value(grid.cells))
    made = np.clip(low + _way(shares, shape) * (high - low), low, high)
    made.flags.writeable = False
    return made


def _way(shares: NDArray[np.float64], shape: str) -> NDArray[np.float64]:
    rising, falling = _eighth_root(shares), 1 - _eighth_root(1 - shares)
    return {
        "even": shares,
        "bell": (rising + falling) / 2,
        "low": falling,
        "high": rising,
    }[shape]


def _eighth_root(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.sqrt(np.sqrt(np.sqrt(shares)))
    return found
