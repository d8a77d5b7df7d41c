"""Sample-and-aggregate written out from definitions: every way to bin, every private centre.

A data set is a tuple of records.  The law of a release is an array over a window of whole units,
one axis a coordinate; what lies beyond the window has the ratios of its edge.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from support.by_hand.noise_by_hand import UnitNoise, WholeLaplace
from support.by_hand.small_domains import Enumerated, quantile

CENTRES = ("mean", "median", "winsorized_mean", "smooth", "smooth with delta")


@cache
def every_way(n: int, bins: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Every order of n records and every way to bin them, all alike likely."""
    return tuple(
        tuple(tuple(r for r in order if places[r] == b) for b in range(bins))
        for order in itertools.permutations(range(n))
        for places in itertools.product(range(bins), repeat=n)
    )


@dataclass(frozen=True)
class Coordinate:
    """A private centre of the answers of bins, whole numbers from 0 to ``most``.

    Attributes:
        centre: which; one of ``CENTRES``.
        shift, beta: of the smooth centre: what its proof allows, and the rate.
        sharp: what epsilon is multiplied by beyond what is claimed.
    """

    centre: str
    bins: int
    most: int
    epsilon: float
    shift: float = 0.0
    beta: float = 0.0
    sharp: float = 1.0
    known: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def outcomes(self) -> list[Fraction]:
        """The releases in the window: over the number of bins where it is a mean."""
        if self.centre in ("mean", "winsorized_mean"):
            reach = 4 if self.centre == "mean" else 60
            totals = range(-reach, self.bins * self.most + reach + 1)
            return [Fraction(total, self.bins) for total in totals]
        return [Fraction(unit) for unit in range(self.most + 1)]

    def law(self, answers: tuple[int, ...]) -> Any:
        """The chance of each release in the window."""
        of = tuple(sorted(answers))
        if of not in self.known:
            make: dict[str, Callable[[tuple[int, ...]], Any]] = {
                "mean": self._mean,
                "median": lambda a: self._chosen(a, 1, 2, self.epsilon * self.sharp / 4),
                "winsorized_mean": self._winsorized,
            }
            self.known[of] = make.get(self.centre, self._smooth)(of)
        return self.known[of]

    def _totals(self) -> Any:
        return np.array([int(x * self.bins) for x in self.outcomes])

    def _mean(self, answers: tuple[int, ...]) -> Any:
        return WholeLaplace(self.most / (self.epsilon * self.sharp)).at(
            self._totals() - sum(answers)
        )

    def _chosen(self, answers: tuple[int, ...], a: int, b: int, rate: float) -> Any:
        """The exponential mechanism: the cost of c is how far 0 is from [low(c), high(c)]."""
        weights = []
        for c in range(self.most + 1):
            below, equal = sum(x < c for x in answers), answers.count(c)
            above = len(answers) - below - equal
            low = (b - a) * below - a * (above + equal) if c > 0 else -math.inf
            high = (b - a) * (below + equal) - a * above if c < self.most else math.inf
            weights.append(math.exp(-rate * max(0, low, -high)))
        return np.array(weights) / math.fsum(weights)

    def _winsorized(self, answers: tuple[int, ...]) -> Any:
        epsilon = self.epsilon * self.sharp
        first, third = (self._chosen(answers, a, 4, epsilon / 32) for a in (1, 3))
        found = np.zeros(len(self.outcomes))
        for (a, p), (b, q) in itertools.product(enumerate(first), enumerate(third)):
            middle, reach = Fraction(a + b, 2), 4 * abs(a - b)
            low = max(0, math.floor(middle - reach))
            high = min(self.most, math.ceil(middle + reach))
            total = sum(min(max(x, low), high) for x in answers)
            moved = self._totals() - total
            if low == high:
                found += p * q * (moved == 0)
            else:
                found += p * q * WholeLaplace(2 * (high - low) / epsilon).at(moved)
        return found

    def _smooth(self, answers: tuple[int, ...]) -> Any:
        """The median and noise of its smooth sensitivity, rounded, clipped to the ends."""
        kind = "laplace" if "delta" in self.centre else "student_t"
        median = quantile(Fraction(1, 2))
        data = tuple(map(Fraction, answers))
        walk = Enumerated(median, range(self.most + 1), "bounded", Fraction(self.most))
        scale = walk.smooth(data, self.beta) / (self.shift * self.sharp)
        edges = [unit + 0.5 for unit in range(self.most)]
        noise = NOISES[kind]
        return np.array(noise.cells(float(median(data)), scale, edges))


NOISES = {"laplace": UnitNoise("laplace"), "student_t": UnitNoise("student_t", 3.0)}


def law_of(
    records: tuple[Any, ...],
    function: Callable[[Any], Any],
    coordinates: tuple[Coordinate, ...],
    default: tuple[int, ...],
) -> Any:
    """The law of a release: mixed over the ways to bin, coordinates independent given the way.

    Args:
        records: of a data set.
        function: of the list of a bin's records; it returns a tuple of whole numbers.
        coordinates: one for each number.
        default: what stands for an empty bin.
    """
    ways = every_way(len(records), coordinates[0].bins)
    drawn = Counter(
        tuple(function([records[r] for r in part]) if part else default for part in way)
        for way in ways
    )
    total: Any = 0.0
    for answers, times in drawn.items():
        columns = zip(*answers, strict=True)
        joint: Any = np.ones(1)
        for one, column in zip(coordinates, columns, strict=True):
            joint = np.multiply.outer(joint, one.law(column))
        total = total + times / len(ways) * joint[0]
    return total


def ratio(p: Any, q: Any) -> float:
    """The largest ln p / q."""
    return float(np.log(p / q).max())


def excess(p: Any, q: Any, epsilon: float) -> float:
    """The mass of p above e^epsilon times q."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
