"""Propose-test-release and the search for a bound, written out from definitions.

The distance to instability by walking over all data sets; thresholds and noises by their formulas.
What the library is asked for, to hold it against this, is named ``computed``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from support.by_hand.noise_by_hand import WholeLaplace, hockey_stick
from support.by_hand.small_domains import (
    STATISTICS,
    Data,
    Enumerated,
    data_sets,
    most_change,
    of_nobody,
    steps,
)
from tacit.mechanisms.local_statistic import LocalStatistic, column_space

LOW, HIGH = Fraction(0), Fraction(9)
VALUES = (0, 4, 9)
EPSILON, DELTA, SPLIT = Fraction(2), Fraction(1, 10), Fraction(2, 3)


def gap(records: Any) -> float:
    """A function that no name is known for; it raises on a single record."""
    return float(np.diff(np.sort(records)).max())


def gap_by_hand(data: Data) -> Fraction:
    if len(data) < 2:
        return (LOW + HIGH) / 2
    return max(b - a for a, b in itertools.pairwise(data))


@dataclass(frozen=True)
class Case:
    """One statistic on a relation and a kind of domain, with what is needed to release it."""

    name: str
    relation: str
    known: bool = False
    most: int = 3
    bound: Fraction = Fraction(3, 2)

    @property
    def domain(self) -> dict[str, Any]:
        if not self.known:
            return {"bounds": (LOW, HIGH), "values": None}
        return {"bounds": (LOW, HIGH) if self.name == "function" else None, "values": VALUES}

    @property
    def asked(self) -> Any:
        return gap if self.name == "function" else self.name

    @cached_property
    def listed(self) -> tuple[Data, ...]:
        first = 0 if self.relation == "unbounded" else 1
        return tuple(data_sets(VALUES, range(first, self.most + 1)))

    @cached_property
    def by_hand(self) -> Enumerated:
        statistic = gap_by_hand if self.name == "function" else STATISTICS[self.name]
        full = most_change(self.name, LOW, HIGH, self.relation)
        return Enumerated(statistic, VALUES, self.relation, full)

    @cached_property
    def local(self) -> LocalStatistic:
        bounds = self.domain["bounds"] if self.known else None
        space = column_space(
            None if self.known else (LOW, HIGH), self.relation, self.domain["values"]
        )
        return LocalStatistic(self.asked, space, bounds)

    def value(self, data: Data) -> Any:
        return self.by_hand.statistic(data) if data else of_nobody(self.name, LOW, HIGH)

    def distance(self, data: Data, bound: Fraction) -> int | None:
        """The records to change until the local sensitivity is above the bound, by walking."""
        if not data:
            return 0 if self.by_hand.full > bound else None
        return self.by_hand.distance(data, bound)

    def computed(self, data: Data, bound: Fraction) -> int | None:
        """Return the distance that the mechanism computes; beyond all records it is infinite."""
        found = self._found(data, bound)
        return None if found is None or found >= 1 << 60 else found

    @cached_property
    def _found(self) -> Any:
        return lru_cache(maxsize=None)(
            lambda data, bound: self.local.distance(
                self.local.read([float(x) for x in data]), bound
            )
        )

    def is_exact(self, data: Data) -> bool:
        """True if the walk over the grid must agree with the mechanism exactly."""
        if self.known or not data:
            return True
        reading = self.local.read(list(map(float, data)))
        exact = self.local._at(reading, self.local.limit(len(data))).exact
        return bool(exact) and self.name != "var"

    def pairs(self, apart: int = 1) -> Iterator[tuple[Data, Data]]:
        for one, other in itertools.permutations(self.listed, 2):
            if steps(one, other, self.relation) == apart:
                yield one, other


def far(distance: int | None) -> float:
    return math.inf if distance is None else distance


@dataclass(frozen=True)
class Proposal:
    """Propose-test-release by hand: threshold and noises from their formulas.

    Attributes:
        sooner: how many records too low the threshold is.
        narrow: by what the scale of the noise is multiplied.
    """

    case: Case
    grid: Fraction = Fraction(3, 4)
    sooner: int = 0
    narrow: float = 1.0

    @cached_property
    def threshold(self) -> int:
        test = WholeLaplace(1 / float(SPLIT * EPSILON))
        found = next(t for t in itertools.count(1) if test.at_least(t) <= DELTA)
        return found - self.sooner

    def law(self, data: Data, distance: int | None) -> dict[Any, float]:
        test = WholeLaplace(1 / float(SPLIT * EPSILON))
        passes = 1.0 if distance is None else test.at_least(self.threshold - distance)
        units = math.ceil(self.case.bound / self.grid)
        noise = WholeLaplace(units / float((1 - SPLIT) * EPSILON) * self.narrow)
        centre = math.floor(Fraction(self.case.value(data)) / self.grid + Fraction(1, 2))
        reach = range(-45 * units, 45 * units + 1)
        found: dict[Any, float] = {
            (centre + k) * self.grid: passes * float(noise.at(k)) for k in reach
        }
        return {None: 1 - passes, **found}

    @cached_property
    def laws(self) -> dict[Data, dict[Any, float]]:
        return {d: self.law(d, self.case.computed(d, self.case.bound)) for d in self.case.listed}

    def worst(self, apart: int = 1) -> float:
        """The largest delta over all pairs, over the claimed one."""
        laws = self.laws
        epsilon = apart * float(EPSILON)
        delta = float(DELTA) * math.expm1(epsilon) / math.expm1(float(EPSILON))
        return max(
            hockey_stick(laws[one], laws[other], epsilon) / delta
            for one, other in self.case.pairs(apart)
        )


@dataclass(frozen=True)
class Ladder:
    """The ladder of bounds by hand: which rung is used, and the release with noise of its size."""

    case: Case
    epsilon: float = 4.0
    delta: float = 0.2
    rungs: int = 3
    ratio: Fraction = Fraction(2)
    narrow: float = 1.0

    @cached_property
    def bounds(self) -> list[Fraction]:
        full = self.case.by_hand.full
        return [full / self.ratio**k for k in range(self.rungs, -1, -1)]

    @property
    def _noises(self) -> tuple[WholeLaplace, WholeLaplace]:
        half = self.epsilon / 2
        return WholeLaplace(25 / 9 / half * self.narrow), WholeLaplace(25 / 8 / half * self.narrow)

    def threshold(self, chance: float) -> int:
        """The least T with P(X - Y >= T) at most the chance, by summing over Y."""
        level, query = self._noises
        y = range(-70, 71)
        return next(
            t
            for t in itertools.count(1)
            if math.fsum(float(level.at(k)) * query.at_least(t + k) for k in y) <= chance
        )

    def rung_law(self, data: Data, threshold: int) -> list[float]:
        """The chance of each rung to be the first that passes; the last where none does."""
        level, query = self._noises
        y = np.arange(-70, 71)
        left, found = level.at(y), []
        for bound in self.bounds[:-1]:
            distance = self.case.computed(data, bound)
            if distance is None:
                passes = np.ones(len(y))
            else:
                passes = np.array([query.at_least(int(threshold + k - distance)) for k in y])
            found.append(float((left * passes).sum()))
            left = left * (1 - passes)
        return [*found, float(left.sum())]

    def law(self, data: Data, threshold: int, units: int) -> dict[Any, float]:
        """The value in so many units a bound, and the bound."""
        noise = WholeLaplace(units / (self.epsilon / 2) * self.narrow)
        k = np.arange(-40 * units, 40 * units + 1)
        weights = noise.at(k)
        found: dict[Any, float] = {}
        for bound, chance in zip(self.bounds, self.rung_law(data, threshold), strict=True):
            value = Fraction(self.case.value(data))
            centre = math.floor(value / (bound / units) + Fraction(1, 2))
            for unit, weight in zip((centre + k).tolist(), weights.tolist(), strict=True):
                found[unit * bound / units, bound] = chance * weight
        return found
