"""Tails of the normal and of Student's t distribution, in floats: for expected errors (no proof).

Each keeps its *relative* precision far out, where one minus a distribution function would be 0.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "normal_tail", "student_density", "student_tail"]

Floats: TypeAlias = NDArray[np.float64]

_erfc = np.frompyfunc(math.erfc, 1, 1)
_TERMS = 200
_TINY = 1e-300


def normal_tail(y: Floats) -> Floats:
    """Return ``P(N > y)``.

    >>> normal_tail(np.array([0.0, 10.0])).tolist()
    [0.5, 7.61985302416...e-24]
    """
    return np.asarray(_erfc(y / math.sqrt(2)), dtype=np.float64) / 2


def student_density(z: Floats, degrees: int) -> Floats:
    """Return the density of Student's t."""
    d = degrees
    log_c = math.lgamma((d + 1) / 2) - math.lgamma(d / 2) - math.log(d * math.pi) / 2
    found: Floats = np.exp(log_c - (d + 1) / 2 * np.log1p(z * z / d))
    return found


def student_tail(z: Floats, degrees: int) -> Floats:
    """Return ``P(T > z)`` for ``z >= 0``: half the incomplete beta ratio ``I_x(d/2, 1/2)``.

    With ``x = d / (d + z^2)``, by the continued fraction of that side on which it converges fast
    (Press et al., *Numerical Recipes*, section 6.4).

    >>> student_tail(np.array([0.0, 1.0]), 1).round(12).tolist()
    [0.5, 0.25]
    """
    d = degrees
    x, y = d / (d + z * z), z * z / (d + z * z)
    far = x < (d + 2) / (d + 5)
    found = np.empty_like(z)
    found[far] = _ratio(x[far], y[far], d / 2, 0.5) / 2
    found[~far] = (1 - _ratio(y[~far], x[~far], 0.5, d / 2)) / 2
    return found


def _ratio(x: Floats, rest: Floats, a: float, b: float) -> Floats:
    """Return ``I_x(a, b)`` where ``rest = 1 - x``, by Lentz's algorithm."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log(rest) - log_beta) / a
    c = np.ones_like(x)
    d = 1 / _held(1 - (a + b) * x / (a + 1))
    total = d.copy()
    for m in range(1, _TERMS):
        for factor in (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _held(1 + factor * x * d)
            c = _held(1 + factor * x / c)
            step = c * d
            total *= step
        if not len(step) or float(np.abs(step - 1).max()) < 1e-15:
            break
    return front * total


def _held(value: Floats) -> Floats:
    """Keep clear of zero, to divide by."""
    return np.where(np.abs(value) < _TINY, _TINY, value)
