"""Least squares with coefficients that are not negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["nonnegative_least_squares"]

Floats = NDArray[np.float64]


def nonnegative_least_squares(design: Floats, target: Floats) -> Floats:
    """Return the b >= 0 that minimises the length of ``design b - target``.

    The active-set method: the coefficient whose growth helps most joins the free set, which is
    solved by least squares; any that would turn negative stop at zero and leave it.  Each round
    makes the residual shorter, so no set comes twice and it ends.
    Source: C. Lawson, R. Hanson, *Solving least squares problems* (1974), chapter 23.

    >>> nonnegative_least_squares(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    gram, moment = design.T @ design, design.T @ target
    size = len(moment)
    result, free = np.zeros(size), np.zeros(size, bool)
    small = 1e-10 * max(1.0, float(np.abs(moment).max(initial=0.0)))
    for _ in range(3 * size + 1):
        gradient = np.where(free, -np.inf, moment - gram @ result)
        if free.all() or gradient.max() <= small:
            break
        free[int(gradient.argmax())] = True
        result = _step(gram, moment, result, free)
    return result


def _step(gram: Floats, moment: Floats, result: Floats, free: NDArray[np.bool_]) -> Floats:
    """Solve on the free set, giving up those that would turn negative; changes ``free``."""
    while True:
        trial = np.zeros(len(moment))
        places = np.flatnonzero(free)
        trial[places] = np.linalg.lstsq(gram[np.ix_(places, places)], moment[places], rcond=None)[0]
        negative = free & (trial <= 0)
        if not negative.any():
            return trial
        gap = result[negative] - trial[negative]
        share = float(
            np.min(np.divide(result[negative], gap, out=np.zeros_like(gap), where=gap > 0))
        )
        result = result + share * (trial - result)
        leaving = negative & (result <= 1e-12 * max(1.0, float(result.max())))
        if not leaving.any():
            leaving = negative
        free &= ~leaving
        result = np.where(free, result, 0.0)
        if not free.any():
            return result
