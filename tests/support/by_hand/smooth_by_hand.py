"""Smooth noise enumerated on a small domain: ours, and the same written out from definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from support.by_hand.noise_by_hand import UnitNoise
from support.by_hand.small_domains import (
    STATISTICS,
    Data,
    Enumerated,
    data_sets,
    most_change,
    of_nobody,
    pairs,
)
from tacit.mechanisms.smooth import smooth_noise

LOW, HIGH = Fraction(0), Fraction(10)
VALUES = (0, 4, 10)
SLACK = 1e-6
"""Relative tolerance of the computed smooth sensitivity above the true one."""
BUDGETS: dict[str, dict[str, Any]] = {
    "laplace": {"epsilon": 1, "delta": "1/50"},
    "cauchy": {"epsilon": 1},
    "student_t": {"epsilon": 1, "degrees": 3},
    "laplace_log_normal": {"rho": "1/2", "sigma": 1},
    "uniform_log_normal": {"rho": "1/2", "sigma": 1},
    "arsinh_normal": {"rho": "1/2", "sigma": 1},
}
NOISES = {
    kind: UnitNoise(kind, 3.0 if kind == "student_t" else 1.0)
    for kind in BUDGETS
}  # fmt: skip


def second_largest(records: Any) -> float:
    """A function that no name is known for; it raises on a single record."""
    return float(sorted(records)[-2])


def second_largest_by_hand(data: Data) -> Fraction:
    """The same: the middle of the bounds of its results stands for what raises."""
    return data[-2] if len(data) > 1 else (LOW + HIGH) / 2


@dataclass(frozen=True)
class Case:
    """One statistic, noise, relation and kind of domain.

    Attributes:
        known: whether records are of a few known values, rather than anywhere within bounds.
        most: records at most.
        given: what the mechanism is asked for besides.
    """

    name: str
    noise: str
    relation: str
    known: bool = False
    most: int = 3
    given: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def mechanism(self) -> Any:
        function = self.name == "function"
        settings = {**BUDGETS[self.noise], "grid": 2, "clip": (-4, 14), **dict(self.given)}
        domain: dict[str, Any] = {"bounds": (LOW, HIGH)}
        if self.known:
            domain = {"values": VALUES, "bounds": (LOW, HIGH) if function else None}
        asked = second_largest if function else self.name
        return smooth_noise(
            asked, distribution=self.noise, relation=self.relation, **domain, **settings
        )

    @cached_property
    def listed(self) -> list[Data]:
        return data_sets(VALUES, range(0 if self.relation == "unbounded" else 1, self.most + 1))

    @property
    def statistic(self) -> Callable[[Data], Any]:
        return second_largest_by_hand if self.name == "function" else STATISTICS[self.name]

    @cached_property
    def by_hand(self) -> Enumerated:
        full = most_change(self.name, LOW, HIGH, self.relation)
        return Enumerated(self.statistic, VALUES, self.relation, full)

    def value(self, data: Data) -> Any:
        return self.statistic(data) if data else of_nobody(self.name, LOW, HIGH)

    def smooth(self, data: Data) -> float:
        """The smooth sensitivity by walking over all data sets of the grid."""
        if not data:
            return float(self.by_hand.full)
        return self.by_hand.smooth(data, float(self.mechanism.beta))

    def computed(self, data: Data) -> float:
        """Return the value that the mechanism computes."""
        local = self.mechanism.local
        reading = local.read(self.mechanism.input.domain.read(list(map(float, data))))
        return float(local.smooth(reading, self.mechanism.beta))

    def is_exact(self, data: Data) -> bool:
        """True if the mechanism reports A(t) exactly, rather than a bound on it."""
        if not data:
            return True
        local = self.mechanism.local
        reading = local.read(list(map(float, data)))
        return bool(local._at(reading, local.limit(len(data))).exact)

    @cached_property
    def scales(self) -> list[float]:
        return [self.computed(data) for data in self.listed]

    def family(self, apart: int = 1) -> Iterator[tuple[float, float]]:
        """Yield (a, t) of every pair that far apart: beside Z, the other is ``a + e^t Z``.

        In units of the noise of the first.
        """
        values = [float(self.value(data)) for data in self.listed]
        shift = float(self.mechanism.shift)
        for i, j in pairs(tuple(self.listed), self.relation, apart):
            unit = self.scales[i] / shift
            yield (values[j] - values[i]) / unit, math.log(self.scales[j] / self.scales[i])

    def loss(self, stretched: float = 1.0, apart: int = 1) -> float:
        """The largest loss over all pairs, whatever the grid, as a share of what is claimed.

        Args:
            stretched: what distances are multiplied by: noise of a smaller scale.
            apart: how far.
        """
        unit = NOISES[self.noise]
        # the noise is symmetric, so the sign of a does not matter
        family = {(round(abs(a) * stretched, 9), round(t, 9)) for a, t in self.family(apart)}
        if self.noise == "laplace":
            epsilon, delta = (float(x) for x in self.mechanism.map(apart))
            return max(unit.delta(a, t, epsilon) for a, t in family) / delta
        claim = float(self.mechanism.map(apart))
        ask = unit.rho if "rho" in BUDGETS[self.noise] else unit.epsilon
        return max(ask(a, t) for a, t in family) / claim

    def cells(self, data: Data, scale: float) -> dict[Fraction, float]:
        """The law of the release by hand: rounded to the grid, clipped to the ends."""
        grid = int(self.mechanism.grid)
        low, high = (int(end) // grid for end in self.mechanism.clip)
        edges = [(unit + 0.5) * grid for unit in range(low, high)]
        centre = float(self.value(data))
        found = NOISES[self.noise].cells(centre, scale / float(self.mechanism.shift), edges)
        return {Fraction((low + i) * grid): p for i, p in enumerate(found)}

    def calibrated(self) -> float:
        """The largest s that the published proof allows at the mechanism's rate, by hand."""
        b = float(self.mechanism.beta) + SLACK
        sigma = NOISES[self.noise].parameter
        if self.noise == "laplace":
            epsilon, delta = (float(x) for x in self.mechanism.map(1))
            room = math.log(delta) + (epsilon + b) / math.expm1(b) - math.log(-math.expm1(-b))
            tails = math.expm1(b) * math.acosh(math.exp(room)) if room > 0 else 0.0
            return min(epsilon, (epsilon - b) * math.exp(b), tails)
        if self.noise in ("cauchy", "student_t"):
            d, epsilon = sigma, float(self.mechanism.map(1))
            u = (2 * epsilon - (d - 1) * b) / (d + 1)
            moved = math.sqrt(2 * d * math.exp(b) * (math.cosh(u) - math.cosh(b)))
            return min(2 * math.sqrt(d) * math.sinh(epsilon / (d + 1)), moved)
        loss = math.sqrt(2 * float(self.mechanism.map(1)))
        steep = 1.2 / sigma + 0.77 * sigma
        if self.noise == "arsinh_normal":
            slope = 0.6628 / sigma + sigma / 2
            dilated = max(b * math.sqrt(steep / sigma), steep * math.expm1(b))
        else:
            slope, dilated = math.exp(1.5 * sigma**2), b / sigma
        if self.noise == "uniform_log_normal":
            w = np.linspace(-9, 9, 200_001)
            tail = special.erfc(w / math.sqrt(2)) / 2
            density = np.exp(-((w + sigma) ** 2) / 2) / math.sqrt(2 * math.pi)
            slope *= float((density / tail).max()) / sigma
        return min(loss, (loss - dilated) * math.exp(b)) / slope


def offered(noises: Any = BUDGETS) -> list[Case]:
    """Every statistic, noise, relation and kind of domain that can be asked for."""
    found = [
        Case(name, noise, relation, known)
        for noise in noises
        for relation in ("unbounded", "bounded")
        for known in (False, True)
        for name in STATISTICS
        if known or relation == "bounded" or not name.startswith("trimmed")
    ]
    return found + [
        Case("function", noise, relation, True)
        for noise in noises
        for relation in ("unbounded", "bounded")
    ]
