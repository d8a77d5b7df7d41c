"""Private centres of a public number of bounded values: what sample-and-aggregate ends with.

Each takes ``k`` whole numbers within public ends, of which at most ``d`` differ between two inputs,
and knows its loss at ``d``.  With ``M`` the distance between the ends:

* **Mean.**  The sum moves by at most ``d M``; discrete Laplace noise of scale ``M / epsilon`` on
  the sum is ``d epsilon``-DP.  The sum is divided by ``k``, which is public: bins that are empty
  or that failed count too, at their default.
* **Median.**  The costs of :mod:`tacit.mechanisms.quantile` move by at most ``2 d`` when ``d``
  values are exchanged.  The exponential mechanism at rate ``epsilon / 4`` is ``d epsilon``-DP.
* **Winsorised mean** (Smith 2011, *Privacy-preserving statistical estimation with optimal
  convergence rates*, STOC).  Private quartiles a and b, each with ``epsilon / 4``: the costs of the
  1/4 and of the 3/4 quantile move by at most ``4 d``, so the rate is ``epsilon / 32``.  Values are
  clipped to ``(a + b) / 2`` plus or minus ``4 |a - b|``, an interval ``[x, y]`` that depends on the
  data only through a and b.  Given a and b, the sum of the clipped values moves by at most ``d (y
  - x)``, and noise of scale ``(y - x) / (epsilon / 2)`` loses ``d epsilon / 2``.  Together ``d
  epsilon``, by adaptive composition.  Where ``x = y`` the sum is ``k x`` on every input, and needs
  no noise.  (Smith widens by a power of k, for his asymptotics; any public factor is private.)
* **Smooth.**  The median plus noise that is scaled to its smooth sensitivity over the ``k`` values,
  under exchange.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tacit import noise
from tacit.core import Measure, PureDP
from tacit.errors import UsageError
from tacit.mechanisms.bin_reading import Coordinate
from tacit.mechanisms.distribution import FiniteDistribution, normalised
from tacit.mechanisms.lattice import LatticeDistribution
from tacit.mechanisms.quantile import choose_cell, quantile_costs
from tacit.noise.enclosure import Enclosure, exp

__all__ = ["Centre", "MeanOfBins", "MedianOfBins", "WinsorizedMeanOfBins"]

_WIDTH = 4
"""Interquartile ranges on either side of the middle: five and more standard deviations."""

_LEAST = Fraction(1, 10**120)

_NONE = Enclosure(Fraction(0), Fraction(0))
_FAR = 45
"""Scales of noise to either side of a listed law: e^-45 lies beyond."""


@dataclass(frozen=True)
class Centre(ABC):
    """A private centre of the values of ``bins`` bins, in one coordinate.

    Attributes:
        bins: how many values there are.
        where: their public ends and grid.
        epsilon: the loss when one value is exchanged.
    """

    bins: int
    where: Coordinate
    epsilon: Fraction

    grid_bits: ClassVar[int] = 20
    precision: ClassVar[float] = 0.03
    """The relative standard error to which a mean of ``mean_error`` over draws is worth knowing."""

    def __post_init__(self) -> None:
        if self.epsilon < _LEAST:  # its noise would not fit into a float
            raise UsageError("epsilon must be at least 1e-120: give more of it")

    @property
    def measure(self) -> Measure:
        """How the loss is counted."""
        return PureDP()

    def loss(self, changed: Fraction) -> Any:
        """Return the loss when at most ``changed`` values are exchanged."""
        return self.epsilon * changed

    @abstractmethod
    def release(self, units: Sequence[int]) -> float:
        """Release the centre of values in units."""

    @abstractmethod
    def law(self, units: Sequence[int]) -> Any:
        """Return the exact distribution of what is released."""

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean absolute error given the values; by default that of one release."""
        return abs(self.release(units) - truth)


@dataclass(frozen=True)
class MeanOfBins(Centre):
    """The mean of all bins, by discrete Laplace noise on their sum."""

    precision: ClassVar[float] = 0.01

    def release(self, units: Sequence[int]) -> float:
        """Release the mean."""
        noisy = sum(units) + int(noise.discrete_laplace(self._scale))
        return float(noisy * self.where.grid / self.bins)

    def law(self, units: Sequence[int]) -> LatticeDistribution:
        """Return the law of the sum with noise, on the grid over the number of bins."""
        grid = self.where.grid / self.bins
        return LatticeDistribution(noise.DiscreteLaplace(self._scale), sum(units), grid)

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean absolute error given the values: ``|a| + s exp(-|a| / s)``.

        That of a Laplace variable of scale s around an offset a.
        """
        each = float(self.where.grid) / self.bins
        offset, scale = abs(sum(units) * each - truth), float(self._scale) * each
        return offset + scale * math.exp(-offset / scale)

    @property
    def _scale(self) -> Fraction:
        return self.where.steps / self.epsilon


@dataclass(frozen=True)
class MedianOfBins(Centre):
    """The median, by the exponential mechanism on the grid between the ends."""

    grid_bits: ClassVar[int] = 12

    def release(self, units: Sequence[int]) -> float:
        """Release a median."""
        cell = choose_cell(
            _histogram(units, self.where), self.where.steps, Fraction(1, 2), 0, self.epsilon / 4
        )
        return float((self.where.least + cell) * self.where.grid)

    def law(self, units: Sequence[int]) -> FiniteDistribution:
        """Return the law over all candidates."""
        cells = _quantile_law(units, self.where, Fraction(1, 2), self.epsilon / 4)
        return FiniteDistribution(
            {(self.where.least + cell) * self.where.grid: p for cell, p in cells.items()}
        )


@dataclass(frozen=True)
class WinsorizedMeanOfBins(Centre):
    """The mean of the values clipped to an interval that private quartiles choose."""

    grid_bits: ClassVar[int] = 16

    def release(self, units: Sequence[int]) -> float:
        """Release the winsorised mean."""
        histogram, rate = _histogram(units, self.where), self.epsilon / 32
        a, b = (choose_cell(histogram, self.where.steps, Fraction(q, 4), 0, rate) for q in (1, 3))
        low, high = self._interval(a, b)
        total = sum(min(max(u, low), high) for u in units)
        if low < high:
            total += int(noise.discrete_laplace(self._scale(low, high)))
        return float(total * self.where.grid / self.bins)

    def _interval(self, a: int, b: int) -> tuple[int, int]:
        """Return the ends, in units, that two cells lead to."""
        reach = 2 * _WIDTH * abs(a - b)
        low, high = (a + b - reach) // 2, -(-(a + b + reach) // 2)
        return (
            self.where.least + max(0, low),
            self.where.least + min(self.where.steps, high),
        )

    def _scale(self, low: int, high: int) -> Fraction:
        return 2 * (high - low) / self.epsilon

    def law(self, units: Sequence[int]) -> FiniteDistribution:
        """Return the law on a public window; what falls beyond it is counted at its ends."""
        rate = self.epsilon / 32
        lows, highs = (_quantile_law(units, self.where, Fraction(q, 4), rate) for q in (1, 3))
        weights: dict[tuple[int, int], Enclosure] = {}
        for a, p in lows.items():
            for b, q in highs.items():
                ends = self._interval(a, b)
                weights[ends] = (weights.get(ends, _NONE) + p * q).rounded(128)
        reach = _FAR * math.ceil(self._scale(self.where.least, self.where.most))
        first = self.bins * self.where.least - reach
        last = self.bins * self.where.most + reach
        grid = self.where.grid / self.bins
        table: dict[Hashable, Enclosure] = {t * grid: _NONE for t in range(first, last + 1)}
        for ends, weight in weights.items():
            centre = sum(min(max(u, ends[0]), ends[1]) for u in units)
            for total, p in self._noisy(centre, *ends, first, last):
                table[total * grid] = (table[total * grid] + weight * p).rounded(128)
        return FiniteDistribution(table)

    def _noisy(
        self, centre: int, low: int, high: int, first: int, last: int
    ) -> Iterator[tuple[int, Enclosure]]:
        """Yield the totals in the window and their probability, given the interval."""
        if low == high:
            yield centre, Enclosure.of(1)
            return
        scale = self._scale(low, high)
        for total in range(first, last + 1):
            at_end = total in (first, last)
            yield total, _share(scale, -abs(total - centre), at_end)


@lru_cache(maxsize=1 << 14)
def _share(scale: Fraction, offset: int, or_less: bool) -> Enclosure:
    law = noise.DiscreteLaplace(scale)
    return law.cdf(offset) if or_less else law.probability(offset)


def _histogram(units: Sequence[int], where: Coordinate) -> tuple[Any, Any]:
    return np.unique(np.asarray(units, dtype=np.int64) - where.least, return_counts=True)


def _quantile_law(
    units: Sequence[int], where: Coordinate, q: Fraction, rate: Fraction
) -> dict[int, Enclosure]:
    runs = quantile_costs(_histogram(units, where), where.steps, q, 0)
    weights: dict[int, Enclosure] = {}
    for start, length, cost in zip(*(part.tolist() for part in runs), strict=True):
        each = exp(-rate * cost, 128)
        weights |= dict.fromkeys(range(start, start + length), each)
    return dict(normalised(weights).table)  # type: ignore[arg-type]
