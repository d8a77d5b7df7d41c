"""The mean absolute error of discrete Laplace noise around an offset, and within public ends.

In units of the grid, with ``q = e^(-1/s)`` and a whole number ``m >= 0``

    ``E max(X - m, 0) = P(X >= m + 1) + P(X >= m + 2) + ... = q^(m+1) / (1 - q^2)``,

and between whole numbers it is linear; ``E max(X + a, 0) = a + E max(X - a, 0)`` by symmetry.
Where the sum is clipped at ``high``, ``max(X - t, 0)`` becomes ``max(X - t, 0) - max(X - high, 0)``
for every ``t <= high``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.square_root import Root
from tacit.mechanisms.shared.local_statistic import nearest_unit

__all__ = ["distance_on_grid", "laplace_distance"]


def laplace_distance(
    offset: Any, scale: Any, low: float = -math.inf, high: float = math.inf
) -> NDArray[np.float64]:
    """Return ``E|clip(offset + X) - 0|``, X discrete Laplace, all in units of the grid.

    Args:
        offset: of where the noise is centred from the truth; numbers or an array.
        scale: s, above zero; a number, or an array of the same shape.
        low: the lower end as seen from the truth, at most 0.
        high: the upper end, at least 0.

    >>> laplace_distance(np.array([0, 3.5]), np.array([1e6, 1e-3])).round(3).tolist()
    [1000000.0, 3.5]
    """
    at = np.asarray(offset, dtype=np.float64)
    above = _excess(-at, scale) - _excess(high - at, scale)
    return above + _excess(at, scale) - _excess(at - low, scale)


def distance_on_grid(
    value: Fraction | Root, grid: Fraction, scale: Any, ends: tuple[float, float] | None
) -> float:
    """Return the mean distance from a value of its nearest multiple of a grid plus noise.

    Args:
        value: the truth.
        grid: the unit.
        scale: of the noise, in units.
        ends: to which the sum is clipped, or None.

    >>> distance_on_grid(Fraction(7, 2), Fraction(1), 1e-3, None)
    0.5
    """
    exact = value if isinstance(value, Fraction) else sum(value.enclose(128)) / 2
    offset = nearest_unit(value, grid) - exact / grid
    low, high = (-math.inf, math.inf)
    if ends is not None:
        low, high = (float((Fraction(end) - exact) / grid) for end in ends)
    return float(laplace_distance(float(offset), float(scale), low, high)) * float(grid)


def _excess(y: NDArray[np.float64], scale: Any) -> NDArray[np.float64]:
    """Return ``E max(X - y, 0)``."""
    size = np.where(np.isinf(y), 0.0, np.abs(y))
    whole = np.floor(size)
    part = size - whole
    ratio = np.exp(-1 / np.asarray(scale, dtype=np.float64))
    tail = np.exp(-(whole + 1) / scale) / -np.expm1(-2 / np.asarray(scale, dtype=np.float64))
    found = tail * (1 - part + part * ratio) + np.maximum(-y, 0)
    return np.where(np.isinf(y), 0.0, found)
