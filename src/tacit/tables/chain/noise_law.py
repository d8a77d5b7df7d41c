"""The noise on one coordinate, and what it does to weighted sums of coordinates.

Everything here is known before any data is seen: variances and half-widths of intervals depend on
the distribution of the noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.bisection import narrowed

__all__ = ["NoiseLaw", "Spread", "standard_spread"]

_PERTURB = 1e-3


@dataclass(frozen=True)
class NoiseLaw:
    """Independent noise of one distribution on each coordinate of a vector.

    Args:
        kind: ``"laplace"`` (scale b) or ``"gaussian"`` (scale sigma), discrete on a grid.
        scale: in the units of the aggregate.
        grid: the step of the grid, in the same units.
    """

    kind: Literal["laplace", "gaussian"]
    scale: float
    grid: float

    @property
    def variance(self) -> float:
        """The variance of one coordinate.

        Discrete Laplace with ratio ``r = exp(-grid / scale)`` has variance ``2 r / (1 - r)^2`` grid
        units squared; the discrete Gaussian at most ``scale^2`` (Canonne, Kamath, Steinke 2020).
        """
        if self.kind == "gaussian":
            return self.scale**2
        step = self.grid / self.scale
        # 2 r / (1 - r)^2 = 1 / (2 sinh(step / 2)^2), which loses nothing for small steps.
        return self.grid**2 / (2 * math.sinh(step / 2) ** 2) if step < 700 else 0.0

    def half_width(self, weights: tuple[float, ...], level: float = 0.95) -> float:
        """Return t with ``P(|sum of weights * noise| <= t) >= level``.

        One Laplace coordinate: the exact discrete quantile.  Otherwise the quantile of the
        continuous distribution plus ``grid * sum |weights|``: a discrete Laplace variable is the
        difference of two exponentials rounded down, hence less than one grid step from a continuous
        one; and a discrete Gaussian is stochastically below a continuous one plus a step, on each
        side (Canonne, Kamath, Steinke 2020, proposition 25).
        """
        return float(self.half_widths((weights,), level)[0])

    def half_widths(self, rows: tuple[tuple[float, ...], ...], level: float) -> NDArray[np.float64]:
        """Return the half-width for each row of weights, as :meth:`half_width` does."""
        return self.scaled(standard_spread(rows, self.kind, level), level)

    def scaled(self, standard: Spread, level: float) -> NDArray[np.float64]:
        """Return the half-widths of rows whose :func:`standard_spread` at the level is known."""
        alone, spread, total = standard
        deviation = _normal_quantile(level) if self.kind == "gaussian" else 1.0
        wide = self.scale * spread * deviation + self.grid * total
        return np.where(alone, total * self._one(level), wide) if alone.any() else wide

    def _one(self, level: float) -> float:
        """Return the least t on the grid with ``P(|X| > t) = 2 r^(t+1) / (1 + r) <= 1 - level``."""
        step = self.grid / self.scale
        if step > 700:
            return 0.0
        exceeds = math.log(2 / ((1 - level) * (1 + math.exp(-step)))) / step - 1
        return self.grid * max(0, math.ceil(exceeds - 1e-9))


Spread: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]
"""Of rows of weights: whether the exact quantile of each is known, its spread and its size."""


@lru_cache(maxsize=64)
def standard_spread(rows: tuple[tuple[float, ...], ...], kind: str, level: float) -> Spread:
    """Return of each row whether its exact quantile is known, its spread, and ``sum |weight|``.

    Its spread is the norm, or the quantile of Laplace noise, at scale 1: the same for noise of
    every scale, so that a new question need not look for quantiles again.
    """
    used = [tuple(abs(w) for w in row if w) for row in rows]
    gaussian = kind == "gaussian"
    spread = [
        math.sqrt(sum(w * w for w in row)) if gaussian or not row else _laplace_quantile(row, level)
        for row in used
    ]
    alone = [len(row) == 1 and not gaussian for row in used]
    return np.array(alone), np.array(spread), np.array([float(sum(row)) for row in used])


@lru_cache(maxsize=256)
def _normal_quantile(level: float) -> float:
    """Return z with ``P(|Z| <= z) = level``, rounded up by a relative 1e-9."""
    high, _ = narrowed(lambda z: math.erfc(z / math.sqrt(2)) <= 1 - level, 40.0, 0.0, 100)
    return high * (1 + 1e-9)


@lru_cache(maxsize=65536)
def _laplace_quantile(weights: tuple[float, ...], level: float) -> float:
    """Return t with ``P(|sum w_i X_i| > t) <= 1 - level`` for X_i standard Laplace."""
    largest = max(weights)
    scaled = tuple(sorted(round(w / largest, 9) for w in weights if w / largest > 1e-7))
    high = math.sqrt(2 * sum(w * w for w in scaled)) / math.sqrt(1 - level)  # Chebyshev
    exceeds = _partial_fractions(scaled) if len(scaled) <= 3 else _inversion(scaled)
    high, _ = narrowed(lambda t: exceeds(t) <= 1 - level, high, 0.0, 60)
    return high * largest * (1 + 1e-6)


def _partial_fractions(weights: tuple[float, ...]) -> Callable[[float], float]:
    """Return the tail ``t -> P(|sum| > t)`` in closed form, for a few weights.

    The characteristic function ``prod 1 / (1 + w_i^2 u^2)`` splits into partial fractions, each a
    Laplace distribution: ``P(|S| > t) = sum_i c_i exp(-t / w_i)`` with
    ``c_i = prod_{j != i} w_i^2 / (w_i^2 - w_j^2)``.
    Nearly equal weights are spread upwards by a thousandth, which only widens the tail: the sum
    of symmetric unimodal variables grows with every weight.
    """
    spread: list[float] = []
    for weight in weights:
        spread.append(max(weight, spread[-1] * (1 + _PERTURB)) if spread else weight)
    squares = [w * w for w in spread]
    terms = [
        (math.prod(a / (a - b) for j, b in enumerate(squares) if j != i), spread[i])
        for i, a in enumerate(squares)
    ]
    return lambda t: math.fsum(c * math.exp(-t / w) for c, w in terms)


def _inversion(weights: tuple[float, ...]) -> Callable[[float], float]:
    """Return the tail ``t -> P(|sum| > t)`` by inverting the characteristic function.

    ``P(|S| <= t) = (2 / pi) int_0^inf sin(u t) / u prod 1 / (1 + w_i^2 u^2) du``.  With four
    weights or more the integrand falls at least as u^-5 beyond 1/w for all but negligible ones; the
    cut at U leaves less than ``min(1, prod 1 / (w_i U)^2)``, which is added to the tail.
    """
    u = np.linspace(0.0, 400.0, 200_001)[1:]
    log_factor = np.zeros_like(u)
    for weight, copies in _counted(weights):
        log_factor -= copies * np.log1p((weight * u) ** 2)
    factor = np.exp(log_factor) / u
    step = float(u[1] - u[0])
    cut = math.exp(float(log_factor[-1]))

    def exceeds(t: float) -> float:
        inside = np.sin(u * t) * factor
        area = step * (t / 2 + float(inside.sum()) - float(inside[-1]) / 2)
        return 1 - 2 / math.pi * area + cut

    return exceeds


def _counted(weights: tuple[float, ...]) -> list[tuple[float, int]]:
    return [(w, weights.count(w)) for w in sorted(set(weights))]
