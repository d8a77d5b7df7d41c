"""How far weighted sums of many independent Laplace noises are off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.bisection import narrowed
from tacit.tables.chain.noise_law import NoiseLaw

__all__ = ["Term", "laplace_half_width", "laplace_reach"]

Array = NDArray[np.float64]
Term = tuple[NoiseLaw, float, int]
"""The noise of equal coordinates, the weight of each of them, and how many there are."""

_FEW = 3
_PIECES = 4000
_SMOOTH = 0.01
"""The deviation of the normal noise that is added in thought, in deviations of the sum."""
_REACH = 4.0
_BEYOND = math.erfc(_REACH / math.sqrt(2))
_STEP = 0.05
"""Of the integral, in one over a deviation: what wraps around lies 120 deviations away."""


@lru_cache(maxsize=4096)
def laplace_half_width(terms: tuple[Term, ...], level: float) -> float:
    """Return t with ``P(|sum of weights * noise| <= t) >= level``, for discrete Laplace noise.

    Up to three coordinates are those of :meth:`NoiseLaw.half_width`.  For more, let S be the sum
    and Z an independent normal variable of deviation h.  ``|S| > t`` and ``|Z| <= 4 h`` together
    give ``|S + Z| > t - 4 h``, so

        ``P(|S| > t) <= P(|S + Z| > t - 4 h) / P(|Z| <= 4 h)``.

    The distribution of S + Z follows from its characteristic function, the product of
    ``(1 - r)^2 / (1 - 2 r cos(u w g) + r^2)`` (discrete Laplace on a grid g, ratio r) and of
    ``exp(-h^2 u^2 / 2)``, by ``P(|X| <= x) = (2 / pi) int_0^inf sin(u x) / u phi(u) du``.  With h
    of a hundredth of the deviation of S the interval is at most about 2 percent too wide.

    >>> law = NoiseLaw("laplace", 10.0, 1.0)
    >>> abs(laplace_half_width(((law, 1.0, 100),), 0.95) / (1.96 * 200**0.5 * 10) - 1) < 0.04
    True
    """
    used = [(law, abs(weight), copies) for law, weight, copies in terms if weight and copies]
    if not used:
        return 0.0
    if sum(copies for _, _, copies in used) <= _FEW:
        least = min(law.scale for law, _, _ in used)
        weights = tuple(w * law.scale / least for law, w, n in used for _ in range(n))
        widest = max(law.grid for law, _, _ in used)
        return NoiseLaw("laplace", least, widest).half_width(weights, level)
    deviation = math.sqrt(sum(n * w * w * law.variance for law, w, n in used))
    if not deviation:
        return 0.0
    exceeds = _tail([(law, w / deviation, n) for law, w, n in used])
    limit = (1 - level) * (1 - _BEYOND)
    high, _ = narrowed(lambda t: exceeds(t) <= limit, 2 / math.sqrt(1 - level), 0.0, 60)
    return deviation * (high + _REACH * _SMOOTH) * (1 + 1e-9)


def _tail(terms: Sequence[Term]) -> Callable[[float], float]:
    """Return ``t -> P(|S + Z| > t)`` for a sum of deviation 1."""
    u: Array = np.arange(_STEP, 8 / _SMOOTH, _STEP)  # where what is left is below exp(-32)
    log_factor = -((_SMOOTH * u) ** 2) / 2
    for law, weight, copies in terms:
        ratio = math.exp(-law.grid / law.scale)
        # (1 - r)^2 / ((1 - r)^2 + 4 r sin^2): nothing is lost where r is near 1
        bent = 4 * ratio * np.sin(u * (weight * law.grid / 2)) ** 2
        log_factor -= copies * np.log1p(bent / (1 - ratio) ** 2)
    factor = np.exp(log_factor) / u

    def exceeds(t: float) -> float:
        area = _STEP * (t / 2 + float((np.sin(u * t) * factor).sum()))
        return 1 - 2 / math.pi * area

    return exceeds


@lru_cache(maxsize=64)
def laplace_reach(level: float) -> float:
    """Return t with ``P(|S| <= t sd(S)) >= level`` for every weighted sum S of Laplace noises.

    *Proof.*  A Laplace variable of variance 1 is ``sqrt(E) Z`` for an exponential E of mean 1 and a
    standard normal Z.  So S with ``sd(S) = 1`` is ``sqrt(V) Z`` for ``V = sum p_i E_i``, the p_i
    being the squared weights, of sum 1; and ``P(|S| > t) = E g(V)`` with ``g(v) = P(|Z| > t /
    sqrt(v))``.  Up to ``a = t^2 / 3`` g is convex, then concave; hence h, which is g up to a and
    its tangent at a from there on, is convex and at least g.  By Jensen's inequality ``E g(V) <= E
    h(V) <= sum p_i E h(E_i) = E h(E_1)``, which is ``int_0^a g(v) exp(-v) dv + exp(-a) (g(a) +
    g'(a))``.  The integral is taken by upper sums.

    >>> round(laplace_reach(0.95), 2)
    2.16
    """

    def exceeds(t: float) -> float:
        end = t * t / 3
        step = end / _PIECES
        above = (math.erfc(t / math.sqrt(2 * step * i)) for i in range(1, _PIECES + 1))
        area = math.fsum(g * math.exp(-step * i) for i, g in enumerate(above)) * step
        slope = math.exp(-1.5) / math.sqrt(2 * math.pi) * t * math.pow(end, -1.5)
        return area + math.exp(-end) * (math.erfc(math.sqrt(1.5)) + slope)

    high, _ = narrowed(lambda t: exceeds(t) <= 1 - level, 2 / math.sqrt(1 - level), 0.1, 50)
    return high * (1 + 1e-9)
