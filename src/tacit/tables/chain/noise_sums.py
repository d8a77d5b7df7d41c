"""How far the sum of several independent, equal noises is off: the exact discrete quantile."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.tables.chain.noise_law import NoiseLaw

__all__ = ["sum_half_width"]

_MOST_POINTS = 1 << 21
_SLACK = 1e-9
"""More than the rounding of the transform and the mass beyond its window come to."""


def sum_half_width(law: NoiseLaw, terms: int, level: float = 0.95) -> float:
    """Return t with ``P(|sum of terms noises| <= t) >= level``.

    The distribution of one noise is written on a window of whole units that wraps around, and the
    distribution of the sum is the inverse transform of the power of its transform.  The window is
    64 sqrt(terms) scales wide, beyond which less than 1e-13 lies.  For noise too wide for a window
    the bound of :meth:`NoiseLaw.half_width` is taken, whose rounding is small then.

    Args:
        law: the noise on each term, on a grid of whole units.
        terms: how many are added; none are exact.
        level: the probability that the interval holds.

    >>> law = NoiseLaw("laplace", 3.0, 1.0)
    >>> sum_half_width(law, 1), law.half_width((1.0,))
    (9.0, 9.0)
    >>> sum_half_width(NoiseLaw("gaussian", 10.0, 1.0), 25)
    98.0
    """
    if not terms:
        return 0.0
    points = 64 * math.ceil(max(law.scale, 1.0) * math.sqrt(terms))
    if points > _MOST_POINTS:
        return law.half_width((1.0,) * terms, level)
    size = 1 << points.bit_length()
    summed = np.fft.irfft(_transform(law, size) ** terms, size)
    # P(|S| <= t) for t = 0, 1, ...: the middle, and both sides of it
    within = summed[0] + np.concatenate([[0.0], np.cumsum(2 * summed[1 : size // 2])])
    return float(np.searchsorted(within, level + _SLACK))


@lru_cache(maxsize=8)
def _transform(law: NoiseLaw, size: int) -> NDArray[np.complex128]:
    """Return the transform of the distribution of one noise on a window that wraps around."""
    place = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
    exponent = place / law.scale if law.kind == "laplace" else (place / law.scale) ** 2 / 2
    weight = np.exp(-exponent)
    return np.asarray(np.fft.rfft(weight / weight.sum()), dtype=np.complex128)
