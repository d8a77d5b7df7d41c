"""Summands of several families together: what their generating functions come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit.core.losses.cells import Floats
from tacit.core.losses.contour.ends import Ends, ends_of
from tacit.core.losses.contour.families import Family, Normals, Ranges, listed

__all__ = ["Generating", "Summands", "moments", "tilt_at", "tilt_near"]

_LEAST_TILT = 0.7
"""In inverse deviations: below it nothing is gained by a smaller one."""


@dataclass(frozen=True)
class Generating:
    """A summand whose generating function has a closed form; one of the four is given.

    Attributes:
        laplace: the rate and the shift of Laplace noise; of randomized response with a shift of 1.
        gaussian: the deviation, which is one or more, and the shift of Gaussian noise.
        range: of what dominates releases of a bounded range.
        listed: losses and their masses.
        infinite: two ends of the mass of an infinite loss.
    """

    laplace: tuple[float, int] | None = None
    gaussian: tuple[float, int] | None = None
    range: float | None = None
    listed: tuple[Floats, Floats] | None = None
    infinite: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Summands:
    """All summands, by family.

    Attributes:
        families: each with a row for each summand.
        infinite: two ends of the mass of an infinite loss of any.

    >>> both = Summands.of([(Generating(laplace=(0.5, 1)), 3), (Generating(gaussian=(4.0, 1)), 2)])
    >>> len(both.families), both.count, round(both.log(0.0), 12)
    (2, 5.0, 0.0)
    """

    families: tuple[Family, ...]
    infinite: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, rows: Iterable[tuple[Generating, int]]) -> Summands:
        """Return summands, each with how often it stands."""
        known = list(rows)
        families: list[Family] = []
        laplace = [(*one.laplace, k) for one, k in known if one.laplace]
        if laplace:
            families.append(ends_of(laplace))
        gaussian = [(float(k), *one.gaussian) for one, k in known if one.gaussian]
        if gaussian:
            families.append(Normals(*np.array(gaussian, dtype=np.float64).T.copy()))
        ranges = [(float(k), one.range) for one, k in known if one.range]
        if ranges:
            families.append(Ranges(*np.array(ranges, dtype=np.float64).T.copy()))
        families += listed((k, *one.listed) for one, k in known if one.listed)
        rests = [
            math.fsum(k * math.log1p(-one.infinite[i]) for one, k in known if one.infinite[i])
            for i in (0, 1)
        ]
        low, high = (-math.expm1(rest) for rest in rests)
        return cls(tuple(families), (low * (1 - 2.0**-40), high * (1 + 2.0**-40)))

    @property
    def ends(self) -> Ends | None:
        """Those that are Laplace noise or randomized response."""
        return next((one for one in self.families if isinstance(one, Ends)), None)

    @property
    def count(self) -> float:
        """How many summands there are."""
        return math.fsum(float(one.times.sum()) for one in self.families)

    @property
    def reach(self) -> float:
        """The largest loss that matters of all together, about."""
        return math.fsum(float(one.times @ one.reach) for one in self.families)

    @property
    def largest(self) -> float:
        """The largest loss of all together, about; ``math.inf`` where there is none."""
        endless = any(isinstance(one, Normals) for one in self.families)
        return math.inf if endless or self.infinite[1] else self.reach

    @property
    def work(self) -> int:
        """How many exponentials a value of all generating functions takes, about."""
        return sum(len(one.times) * one.terms for one in self.families)

    def log(self, t: float) -> float:
        """Return K(t), the logarithm of the generating function of the sum; of a number."""
        total = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for family in self.families:
                found = np.real(family.factors(t))
                if not np.isfinite(found).all() or found.min() <= 0:
                    return math.inf
                total += float(family.times @ np.log(found))
        return total

    def pieces(self, most: int) -> Iterator[Family]:
        """Yield all summands in pieces of so many exponentials at most, but a summand at least."""
        for family in self.families:
            size = max(most // family.terms, 1)
            for start in range(0, len(family.times), size):
                yield family.rows(slice(start, start + size))


def tilt_near(summands: Summands, log_delta: float) -> float:
    """Return a tilt whose mean is near the epsilon of a delta, by the saddle point."""

    def small(t: float) -> bool:
        log, mean, variance = moments(summands, t)
        width = max(t * (t + 1) * math.sqrt(2 * math.pi * variance), 1.0)
        return log - t * mean - math.log(width) <= log_delta

    return _not_small(summands, _first(small))


def tilt_at(summands: Summands, epsilon: float) -> float:
    """Return a tilt whose mean is near an epsilon, if that is far enough from the mean."""
    return _not_small(summands, _first(lambda t: moments(summands, t)[1] >= epsilon))


def _not_small(summands: Summands, tilt: float) -> float:
    """Return the tilt, or one that is not much smaller than one over the deviation."""
    variance = moments(summands, tilt)[2]
    if not 0 < variance < math.inf:
        return tilt
    return max(tilt, min(_LEAST_TILT / math.sqrt(variance), 2.0**20))


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


def moments(summands: Summands, t: float) -> tuple[float, float, float]:
    """Return K(t), and about its first two derivatives; infinities where it is too large."""
    least = math.fsum(float(one.times @ one.reach**2) for one in summands.families)
    step = 1e-3 * max(t, 1 / math.sqrt(least))
    logs = [summands.log(t + place * step) for place in (-1, 0, 1)]
    if math.inf in logs:
        return math.inf, math.inf, math.inf
    mean = (logs[2] - logs[0]) / (2 * step)
    spread = (logs[2] - 2 * logs[1] + logs[0]) / step**2
    unsure = 2.0**-46 * math.fsum(map(abs, logs)) / step**2
    return logs[1], mean, max(spread, unsure, 1e-12 * least)
