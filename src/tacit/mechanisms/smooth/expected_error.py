"""The mean absolute error of smooth noise, from what is released: rounded and clipped.

In units of the grid, ``U = clip(floor(c + s Z + 1/2), low, high)`` is released.  For whole numbers
``k`` with ``low < k <= high``, ``P(U >= k) = P(s Z >= k - 1/2 - c)``, and for the first of them
above t, ``k0``,

    ``E max(U - t, 0) = (k0 - t) P(U >= k0) + P(U >= k0 + 1) + P(U >= k0 + 2) + ...``;

the other side is its mirror.  So the error is a sum of tails of Z.  The first 2,048 terms are added
up one by one, unless the noise is as wide as that; the rest is their integral, by the midpoint
rule, which errs by about ``1 / (24 s^2)`` of what falls within a scale, and far out less.  What is
lost to all of that together is less than a relative 1e-7.

Nothing is proven of these floats: they are errors to expect, not privacy.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arithmetic.tail_probabilities import Floats
from tacit.mechanisms.smooth.pure_laws import SmoothLaw

__all__ = ["mean_distance"]

_TERMS = 2048
_SHORT = 1e-3
_LITTLE = 1e-7
_NEAR = 1e-12
_PANELS = 64
_RULE = np.polynomial.legendre.leggauss(8)
_NODES = np.asarray((1 + _RULE[0]) / 2, dtype=np.float64)
_WEIGHTS = np.asarray(_RULE[1] / 2, dtype=np.float64)


def mean_distance(
    law: SmoothLaw, scale: float, centre: float, target: float, low: float, high: float
) -> float:
    """Return the mean of ``|U - target|``, all in units of the grid.

    Args:
        law: of Z.
        scale: s, above zero.
        centre: c.
        target: t.
        low: a whole number, or infinite if the distribution has a mean.
        high: the same.

    >>> from fractions import Fraction
    >>> from tacit.mechanisms.smooth.pure_laws import LaplaceLaw
    >>> law = LaplaceLaw(Fraction(1), Fraction(1, 9))
    >>> round(mean_distance(law, 1e6, 0, 0, -math.inf, math.inf), 3)
    1000000.0
    """
    above = _above(law, scale, centre, target, low, high)
    return above + _above(law, scale, -centre, -target, -high, -low)


def _above(
    law: SmoothLaw, scale: float, centre: float, target: float, low: float, high: float
) -> float:
    """Return ``E max(U - target, 0)``."""
    found = max(0.0, low - target)
    first = max(math.floor(target) + 1, low + 1)
    if first > high:
        return found
    width = first - max(target, low)
    start = (first - 0.5 - centre) / scale
    found += width * float(_tails(law, np.array([start], dtype=np.float64))[0])
    terms = 0 if scale > _TERMS else int(min(_TERMS, high - first))
    if terms:
        places: Floats = (first + np.arange(1.0, terms + 1) - 0.5 - centre) / scale
        found += float(_tails(law, places).sum())
    if high > first + terms:
        found += scale * _area(law, (first + terms - centre) / scale, (high - centre) / scale)
    return found


def _tails(law: SmoothLaw, z: Floats) -> Floats:
    """Return ``P(Z > z)``, below zero too."""
    tail = law.tail(np.abs(z))
    return np.where(z < 0, 1 - tail, tail)


def _area(law: SmoothLaw, start: float, end: float) -> float:
    """Return the integral of ``P(Z > z)`` from start to end."""
    if end - start < _SHORT:
        nodes = np.asarray(start + (end - start) * _NODES, dtype=np.float64)
        return (end - start) * float(_tails(law, nodes) @ _WEIGHTS)
    if end <= 0:
        return (end - start) - _area_right(law, -end, -start)
    if start < 0:
        return -start - _area_right(law, 0.0, -start) + _area_right(law, 0.0, end)
    return _area_right(law, start, end)


def _area_right(law: SmoothLaw, start: float, end: float) -> float:
    """Return the same for ``start >= 0``.

    The closed forms are differences of means.  Of a distribution with so heavy a tail that nothing
    is left of their digits, the tail is integrated over the logarithm of z.
    """
    found = law.area(start, end)
    if found > _LITTLE * law.size or found == 0 or math.isinf(end):
        return found
    near = max(start, _NEAR * end)
    edges = np.geomspace(near, end, _PANELS + 1)
    wide = np.diff(np.log(edges))
    nodes = edges[:-1, None] * np.exp(wide[:, None] * _NODES)
    tails = law.tail(nodes.ravel()).reshape(nodes.shape)
    return float(((tails * nodes) @ _WEIGHTS) @ wide) + (near - start) / 2
