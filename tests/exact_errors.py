"""Errors of releases from their published laws, by scipy and sums: nothing of Tacit's predictions.

Of a release ``clip(f + scale Z)`` the chance of an error above t is ``P(Z > t / scale)`` on each
side that has room for it, so that its mean is the integral of that chance, and its mean square that
of ``2 t`` times it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

_HERMITE = np.polynomial.hermite_e.hermegauss(150)
_POINTS = 40_001


def tail_of(law: Any) -> Callable[[Any], Any]:
    """Return ``P(Z > z)`` of a unit noise, for ``z >= 0``, from its definition."""
    kind, sigma = type(law).__name__, float(getattr(law, "sigma", 0))
    if kind == "LaplaceLaw":
        return stats.laplace.sf
    if kind == "StudentLaw":
        return lambda z: stats.t.sf(z, law.degrees)
    if kind == "ArsinhNormalLaw":
        return lambda z: stats.norm.sf(np.arcsinh(sigma * z) / sigma)
    if kind == "LaplaceLogNormalLaw":
        y, weights = _HERMITE
        share = weights / weights.sum()
        return lambda z: stats.laplace.sf(z[:, None] * np.exp(-sigma * y)) @ share
    assert kind == "UniformLogNormalLaw"

    def uniform(z: Any) -> Any:
        y = np.log(z) / sigma
        grown = z * math.exp(sigma**2 / 2) * stats.norm.sf(y + sigma)
        return (stats.norm.sf(y) - grown) / 2

    return uniform


@dataclass(frozen=True)
class ErrorLaw:
    """The law of ``|clip(f + scale Z) - f|``.

    Attributes:
        tail: of Z.
        scale: of the noise.
        rooms: how far it is from f to either end; infinite where nothing is clipped.
    """

    tail: Callable[[Any], Any]
    scale: float
    rooms: tuple[float, float]

    def above(self, t: Any) -> Any:
        """Return the chance of an error above t."""
        return sum(np.where(t < room, self.tail(t / self.scale), 0) for room in self.rooms)

    def moment(self, power: int) -> float:
        """Return the mean of a power of the error, along a geometric ladder of errors."""
        found = 0.0
        for room in self.rooms:
            if room:
                first = min(self.scale, room) * 1e-7
                t = np.geomspace(first, min(room, self.scale * 1e9), _POINTS)
                chance = self.tail(t / self.scale) * power * t ** (power - 1)
                found += float(np.trapezoid(chance * t, np.log(t))) + chance[0] * first
        return found

    def quantile(self, share: float) -> float:
        """Return the error that is not exceeded with a probability, below any atom at the ends."""
        low, high = 0.0, self.scale * 1e9
        for _ in range(200):
            middle = (low + high) / 2
            below = 1 - float(self.above(np.array([middle]))[0]) < share
            low, high = (middle, high) if below else (low, middle)
        return high


def rooms(truth: float, ends: Any) -> tuple[float, float]:
    """Return the distances from the truth to the ends."""
    return (
        (math.inf, math.inf) if ends is None else (truth - float(ends[0]), float(ends[1]) - truth)
    )


def error_law(one: Any, asked: Any, ends: Any) -> ErrorLaw | None:
    """Return the law of a candidate of ``tc.compare``, where it is noise on the statistic."""
    if one.method == "global sensitivity of the value":
        from tacit.statistics import Interval, sensitivity

        size = len(asked.data) if asked.relation == "bounded" else None
        found = sensitivity(
            asked.statistic, over=Interval(*asked.bounds, size=size), relation=asked.relation
        )
        scale = float(found.value) / float(asked.epsilon)
        return ErrorLaw(stats.laplace.sf, scale, rooms(asked.truth, ends))
    if one.method == "propose-test-release":
        scale = float(one.mechanism.bound / one.mechanism.epsilon_release)
        return ErrorLaw(stats.laplace.sf, scale, rooms(asked.truth, None))
    if one.method == "smooth":
        m = one.mechanism
        scale = float(m._local.smooth(m._local.read(asked.data), m.beta) / m.shift)
        return ErrorLaw(tail_of(m._unit), scale, rooms(asked.truth, ends))
    return None


def sum_over_count_error(asked: Any) -> float:
    """Return the mean error of a noisy sum over a noisy count, over quantiles of both noises."""
    each = 2 / float(asked.epsilon)
    largest = float(max(map(abs, asked.bounds)))
    u = (np.arange(2000) + 0.5) / 2000
    noise = stats.laplace.ppf(u)
    total = asked.data.sum() + largest * each * noise[:, None]
    count = np.rint(len(asked.data) + each * noise[None, :])
    middle = float(sum(asked.bounds)) / 2
    found = np.where(count >= 1, total / np.maximum(count, 1), middle)
    return float(np.abs(found.clip(*map(float, asked.bounds)) - asked.truth).mean())
