"""The noises of the library from their published densities, in floats, and divergences of them.

Nothing here comes from the library.  Densities: Nissim, Raskhodnikova and Smith (2007) and Bun and
Steinke (2019).  ``Z`` is ``X e^(sigma Y)`` with X Laplace or uniform on [-1, 1] and Y normal, or
``sinh(sigma Y) / sigma``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import integrate, interpolate, special

ORDERS = (1.001, 1.2, 2.0, 4.0, 10.0, 25.0, 64.0)


class UnitNoise:
    """A unit noise, symmetric about zero.

    Args:
        kind: as the library names it.
        parameter: the degrees of freedom, or sigma.
    """

    def __init__(self, kind: str, parameter: float = 1.0) -> None:
        self.kind, self.parameter = kind, parameter
        self._tail = lru_cache(maxsize=None)(self._integrated)

    def log_density(self, z: Any) -> Any:
        """ln of the density."""
        size, sigma = np.abs(np.asarray(z, dtype=float)), self.parameter
        if self.kind == "laplace":
            return -size - math.log(2)
        if self.kind in ("cauchy", "student_t"):
            d = 1.0 if self.kind == "cauchy" else sigma
            constant = special.gammaln((d + 1) / 2) - special.gammaln(d / 2)
            return constant - math.log(d * math.pi) / 2 - (d + 1) / 2 * np.log1p(size**2 / d)
        if self.kind == "arsinh_normal":
            y = np.arcsinh(sigma * size) / sigma
            return -(y**2) / 2 - math.log(2 * math.pi) / 2 - np.log1p((sigma * size) ** 2) / 2
        if self.kind == "uniform_log_normal":
            w = np.log(np.maximum(size, 1e-300)) / sigma + sigma
            return sigma**2 / 2 - math.log(2) + special.log_ndtr(-w)
        assert self.kind == "laplace_log_normal"
        return self._table(np.arcsinh(size * 1e3))

    @cached_property
    def _table(self) -> Callable[[Any], Any]:
        """ln E[e^(-sigma Y) exp(-z e^(-sigma Y))] / 2, by a sum over Y, between close points."""
        y = np.linspace(-20, 45, 651)
        log_weight = -(y**2) / 2 - math.log(2 * math.pi) / 2 + math.log(y[1] - y[0])
        v = np.linspace(0, math.asinh(1e3 * math.exp(30 * self.parameter)), 3000)
        z = np.sinh(v) / 1e3
        found = np.concatenate(
            [
                special.logsumexp(
                    log_weight - self.parameter * y - part[:, None] * np.exp(-self.parameter * y),
                    axis=1,
                )
                for part in np.array_split(z, 12)
            ]
        )
        return interpolate.CubicSpline(v, found - math.log(2))  # type: ignore[no-any-return]

    def _integrated(self, z: float) -> float:
        found: float = integrate.quad(
            lambda v: math.exp(float(self.log_density(v))), z, math.inf, epsabs=1e-12, limit=400
        )[0]
        return found

    def cdf(self, z: float) -> float:
        """P(Z <= z), by integrating the density."""
        if z == 0 or math.isinf(z):
            return 0.5 if z == 0 else float(z > 0)
        tail = self._tail(abs(z))
        return tail if z < 0 else 1 - tail

    def cells(self, centre: float, scale: float, edges: Sequence[float]) -> list[float]:
        """The chance of each cell between edges, the outer ones without end, of c + scale Z."""
        below = [0.0, *(self.cdf((edge - centre) / scale) for edge in edges), 1.0]
        return [b - a for a, b in itertools.pairwise(below)]

    # ---- Z against a + e^t Z, both ways round by asking for (a, t) and its mirror

    @cached_property
    def _points(self) -> Any:
        wide = 30 * self.parameter if "normal" in self.kind else 18.0
        u = np.linspace(0, math.asinh(50 * math.exp(wide)), 1500)
        z = np.sinh(u) / 50
        return np.concatenate((-z[:0:-1], z))

    def _logs(self, a: float, t: float) -> tuple[Any, Any, Any]:
        z = np.unique(np.concatenate((self._points, [a])))
        return z, self.log_density(z), self.log_density((z - a) * math.exp(-t)) - t

    def epsilon(self, a: float, t: float) -> float:
        """The largest ratio of the densities, as a logarithm."""
        _, p, q = self._logs(a, t)
        return float((p - q).max())

    def delta(self, a: float, t: float, epsilon: float) -> float:
        """The mass of Z above e^epsilon times that of a + e^t Z; of Laplace noise.

        The logarithm of the ratio is linear between kinks, so where it crosses is found exactly.
        """
        assert self.kind == "laplace"
        z = np.array([-2e3, *sorted({0.0, a}), 2e3])
        excess = self.log_density(z) - self.log_density((z - a) * math.exp(-t)) + t - epsilon
        total = 0.0
        for i in range(len(z) - 1):
            (low, high), (x, y) = z[i : i + 2], excess[i : i + 2]
            if max(x, y) <= 0:
                continue
            if min(x, y) < 0:
                crossing = low + (high - low) * x / (x - y)
                low, high = (crossing, high) if x < 0 else (low, crossing)
            own = self._laplace(high) - self._laplace(low)
            shrunk = [(end - a) * math.exp(-t) for end in (low, high)]
            total += own - math.exp(epsilon) * (self._laplace(shrunk[1]) - self._laplace(shrunk[0]))
        return total

    @staticmethod
    def _laplace(z: float) -> float:
        return math.exp(z) / 2 if z < 0 else 1 - math.exp(-z) / 2

    @cached_property
    def _own(self) -> tuple[Any, Any]:
        """The logarithms of the density and of the width of each point."""
        return self.log_density(self._points), np.log(np.gradient(self._points))

    def rho(self, a: float, t: float) -> float:
        """The largest Renyi divergence over its order, at the listed orders."""
        p, width = self._own
        q = self.log_density((self._points - a) * math.exp(-t)) - t
        order = np.array(ORDERS)
        # the rule of integration errs alike on the densities themselves
        whole = order * _log_sum(p + width) + (1 - order) * _log_sum(q + width)
        mass = _log_sum(order[:, None] * p + (1 - order[:, None]) * q + width) - whole
        return float((mass / (order - 1) / order).max())


def _log_sum(terms: Any) -> Any:
    peak = terms.max(axis=-1, keepdims=True)
    return np.log(np.exp(terms - peak).sum(axis=-1)) + peak[..., 0]


class WholeLaplace:
    """Discrete Laplace noise: P(k) = (1 - r) / (1 + r) r^|k| with r = exp(-1 / scale)."""

    def __init__(self, scale: float) -> None:
        self.r = math.exp(-1 / scale)

    def at(self, k: Any) -> Any:
        return (1 - self.r) / (1 + self.r) * self.r ** np.abs(k)

    def at_least(self, k: int) -> float:
        """P(Z >= k)."""
        if k <= 0:
            return 1 - self.at_least(1 - k)
        return float(self.r**k / (1 + self.r))


def hockey_stick(p: dict[Any, float], q: dict[Any, float], epsilon: float) -> float:
    """The mass of p above e^epsilon times q."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, chance - factor * q.get(x, 0.0)) for x, chance in p.items())


def largest_ratio(p: dict[Any, float], q: dict[Any, float], least: float = 1e-12) -> float:
    """The largest ln p / q over outcomes that p gives a chance above ``least``."""
    found = 0.0
    for x, chance in p.items():
        if chance > least:
            other = q.get(x, 0.0)
            found = max(found, math.log(chance / other) if other > 0 else math.inf)
    return found


def too_far(seen: dict[Any, int], law: dict[Any, float]) -> float:
    """The chance of counts as far from a law as these: Pearson's test, rare outcomes together."""
    runs = sum(seen.values())
    common = {x: p for x, p in law.items() if p * runs >= 8}
    squares = sum((seen.get(x, 0) - runs * p) ** 2 / (runs * p) for x, p in common.items())
    rest = max(0.0, 1 - math.fsum(common.values())) * runs
    others = runs - sum(seen.get(x, 0) for x in common)
    cells = len(common)
    if rest >= 8:
        squares, cells = squares + (others - rest) ** 2 / rest, cells + 1
    elif others and special.gammainc(others, rest) < 1e-9:  # Poisson: so many or more
        return 0.0
    return float(special.chdtrc(max(1, cells - 1), squares))
