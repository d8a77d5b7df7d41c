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
from scipy import special

from tacit.audit.compared_mechanisms import _grid
from tacit.tables.statistics.base import QUANTILE_BITS

_HERMITE = np.polynomial.hermite_e.hermegauss(150)
_POINTS = 40_001


def laplace_tail(z: Any) -> Any:
    """Return ``P(Z > z)`` of a Laplace variable of scale one."""
    below = np.exp(-np.abs(z)) / 2
    return np.where(np.asarray(z) > 0, below, 1 - below)


def tail_of(law: Any) -> Callable[[Any], Any]:
    """Return ``P(Z > z)`` of a unit noise, for ``z >= 0``, from its definition."""
    kind, sigma = type(law).__name__, float(getattr(law, "sigma", 0))
    if kind == "LaplaceDistribution":
        return laplace_tail
    if kind == "StudentDistribution":
        return lambda z: special.stdtr(law.degrees, -z)
    if kind == "ArsinhNormal":
        return lambda z: special.ndtr(-np.arcsinh(sigma * z) / sigma)
    if kind == "LaplaceLogNormal":
        y, weights = _HERMITE
        share = weights / weights.sum()
        return lambda z: laplace_tail(z[:, None] * np.exp(-sigma * y)) @ share
    assert kind == "UniformLogNormal"

    def uniform(z: Any) -> Any:
        y = np.log(z) / sigma
        grown = z * math.exp(sigma**2 / 2) * special.ndtr(-y - sigma)
        return (special.ndtr(-y) - grown) / 2

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
    """Return the law of a candidate of ``tc.audit.compare``, where it is noise on the statistic."""
    if one.method == "global sensitivity of the value":
        from tacit.statistics import Interval, sensitivity

        size = len(asked.data) if asked.relation == "bounded" else None
        found = sensitivity(
            asked.statistic, over=Interval(*asked.bounds, size=size), relation=asked.relation
        )
        scale = float(found.value) / float(asked.epsilon)
        return ErrorLaw(laplace_tail, scale, rooms(asked.truth, ends))
    if one.method == "propose-test-release":
        scale = float(one.mechanism.bound / one.mechanism.epsilon_release)
        return ErrorLaw(laplace_tail, scale, rooms(asked.truth, None))
    if one.method == "smooth":
        m = one.mechanism
        scale = float(m.local.smooth(m.local.read(asked.data), m.beta) / m.shift)
        return ErrorLaw(tail_of(m.unit), scale, rooms(asked.truth, ends))
    return None  # no noise on the statistic: see below, and tests/audit for sample-and-aggregate


def sum_over_count_error(asked: Any) -> float:
    """Return the mean error of a noisy sum over a noisy count, over quantiles of both noises."""
    low, high = map(float, asked.bounds)
    middle = (low + high) / 2
    each = 2 / float(asked.epsilon)
    u = (np.arange(2000) + 0.5) / 2000
    noise = np.where(u > 0.5, -np.log(2 - 2 * u), np.log(2 * u))
    total = (asked.data - middle).sum() + (high - low) / 2 * each * noise[:, None]
    count = np.rint(len(asked.data) + each * noise[None, :])
    found = middle + np.where(count >= 1, total / np.maximum(count, 1), 0)
    return float(np.abs(found.clip(low, high) - asked.truth).mean())


def moments_error(asked: Any) -> tuple[float, float]:
    """Return mean error of noisy moments, and its standard error, over draws by numpy.

    With x scaled to [0, 1], noise goes to the sums of ``(1 - x)^k x^(d - k)`` times binomials, and
    the moments are worked out from those: d = 1 for a mean, 2 for a variance.
    """
    low, high = map(float, asked.bounds)
    x = (asked.data - low) / (high - low)
    kind = asked.statistic.name
    parts = [1 - x, x] if kind == "mean" else [(1 - x) ** 2, 2 * x * (1 - x), x**2]
    scale = (2 if asked.relation == "bounded" else 1) / float(asked.epsilon)
    rng = np.random.default_rng(11)
    sums = [part.sum() + rng.laplace(scale=scale, size=1 << 20) for part in parts]
    count = np.maximum(sum(sums), 1)
    if kind == "mean":
        found = low + (high - low) * (sums[1] / count).clip(0, 1)
    else:
        mean, square = (sums[2] + sums[1] / 2) / count, sums[2] / count
        found = (high - low) ** 2 * (square - mean**2).clip(0, 0.25)
        found = found if kind == "var" else np.sqrt(found)
    errors = np.abs(found - asked.truth)
    return float(errors.mean()), float(errors.std()) / 2**10


def choice_error(one: Any, asked: Any) -> tuple[float, float]:
    """Return mean and standard deviation of the error of a quantile chosen on a grid, in sums.

    A point costs how far 0, or for an end of the data the error in rows that is sure at 97.5
    percent and two more, is from what its ranks allow; the outermost points allow all beyond.
    """
    q = asked.statistic.q
    a, b = q.numerator, q.denominator
    grid = _grid(asked, QUANTILE_BITS)
    points = float(grid.value(0)) + float(grid.step) * np.arange(grid.cells + 1)
    records = np.sort(np.floor(asked.data / float(grid.step) + 0.5) * float(grid.step))
    below = np.searchsorted(records, points, "left")
    reaching = np.searchsorted(records, points, "right")
    low = (b * below - a * len(records)).astype(float)
    high = (b * reaching - a * len(records)).astype(float)
    low[0], high[-1] = -math.inf, math.inf
    epsilon = float(asked.epsilon) / (2 if one.setting.startswith("half") else 1)
    rate = epsilon / 2 / (b if asked.relation == "bounded" else max(a, b - a))
    target = 0.0
    if a in (0, b):
        target = (1 if a == 0 else -1) * (math.ceil(math.log(len(points) / 0.025) / rate) + 2)
    cost = np.maximum(np.maximum(low - target, target - high), 0)
    chance = np.exp(-rate * cost)
    chance /= chance.sum()
    errors = np.abs(points - asked.truth)
    mean = float(errors @ chance)
    return mean, math.sqrt(float((errors - mean) ** 2 @ chance))
