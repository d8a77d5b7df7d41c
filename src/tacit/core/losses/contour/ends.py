"""Many summands of discrete Laplace noise at once: what their generating functions are.

Discrete Laplace noise of rate ``r = 1 / scale``, shifted by s, has with ``e = s r`` and
``q = e^(-r (1 + 2 z))``

    M(z) = (e^(z e) + e^(-e - z e) + (1 - e^-r) e^(z e) (q - q^s) / (1 - q)) / (1 + e^-r);

randomized response is that of a shift of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.losses.cells import Floats

__all__ = ["Ends", "ends_of", "moments", "tilt_at", "tilt_near"]


@dataclass(frozen=True)
class Ends:
    """Summands of discrete Laplace noise, or of randomized response: an entry for each.

    Attributes:
        rate: one over the scale.
        shift: in whole units.
        times: how often it stands.
    """

    rate: Floats
    shift: Floats
    times: Floats

    @property
    def largest(self) -> Floats:
        """The largest loss of each."""
        return self.rate * self.shift

    @property
    def reach(self) -> float:
        """The largest loss of all together, about."""
        return float(self.times @ self.largest)

    def factors(self, z: Any) -> Any:
        """Return M(z), an entry for each; of a complex z, or of one per column."""
        e, r, s = self.largest, self.rate, self.shift
        if np.ndim(z):
            e, r, s = e[:, None], r[:, None], s[:, None]
        exponent = -r * (1 + 2 * z)
        between = np.exp(exponent) * np.expm1(exponent * (s - 1)) / np.expm1(exponent)
        up = np.exp(z * e)
        return (up + np.exp(-e - z * e) - np.expm1(-r) * up * between) / (1 + np.exp(-r))

    def log(self, t: float) -> float:
        """Return K(t) of a number."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.factors(t)
        return float(self.times @ np.log(found)) if np.isfinite(found).all() else math.inf

    def weights(self, t: float) -> tuple[Floats, Floats]:
        """Return the tilted masses at the upper and the lower end of each."""
        whole = self.factors(t) * (1 + np.exp(-self.rate))
        e = self.largest
        return np.exp(t * e) / whole, np.exp(-e - t * e) / whole


def ends_of(rows: Sequence[tuple[float, int, int]]) -> Ends:
    """Return summands from the rate, the shift and the count of each."""
    found = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Ends(found[:, 0].copy(), found[:, 1].copy(), found[:, 2].copy())


def tilt_near(ends: Ends, log_delta: float) -> float:
    """Return a tilt whose mean is near the epsilon of a delta, by the saddle point."""

    def small(t: float) -> bool:
        log, mean, variance = moments(ends, t)
        width = max(t * (t + 1) * math.sqrt(2 * math.pi * variance), 1.0)
        return log - t * mean - math.log(width) <= log_delta

    return _first(small)


def tilt_at(ends: Ends, epsilon: float) -> float:
    """Return a tilt whose mean is near an epsilon."""
    return _first(lambda t: moments(ends, t)[1] >= epsilon)


def _first(holds: Callable[[float], bool]) -> float:
    low, high = 2.0**-20, 1.0
    while not holds(high):
        low, high = high, 4 * high
        if high > 2.0**40:
            return high
    for _ in range(14):
        middle = math.sqrt(low * high) if high > 2 * low else (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def moments(ends: Ends, t: float) -> tuple[float, float, float]:
    """Return K(t), and about its first two derivatives; infinities where it is too large."""
    step = 1e-3 * t
    logs = [ends.log(t + place * step) for place in (-1, 0, 1)]
    if math.inf in logs:
        return math.inf, math.inf, math.inf
    mean = (logs[2] - logs[0]) / (2 * step)
    spread = (logs[2] - 2 * logs[1] + logs[0]) / step**2
    return logs[1], mean, max(spread, 1e-6 * float(ends.times @ ends.largest**2))
