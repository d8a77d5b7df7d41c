"""Private centres of a public number of bounded values: what sample-and-aggregate ends with.

Each takes ``k`` whole numbers within public ends, of which at most ``d`` differ between two inputs,
and knows its loss at ``d``.  With ``M`` the distance between the ends:

* **Mean.**  The sum moves by at most ``d M``; discrete Laplace noise of scale ``M / epsilon`` on
  the sum is ``d epsilon``-DP.  The sum is divided by ``k``, which is public: bins that are empty
  or that failed count too, at their default.
* **Median.**  The costs of :mod:`tacit.mechanisms.selection.private_quantile` move by at most
  ``2 d`` when ``d`` values are exchanged.  The exponential mechanism at rate ``epsilon / 4`` is
  ``d epsilon``-DP.
* **Winsorised mean** (Smith 2011, *Privacy-preserving statistical estimation with optimal
  convergence rates*, STOC).  Private quartiles a and b, each with ``epsilon / 4``: the costs of the
  1/4 and of the 3/4 quantile move by at most ``4 d``, so the rate is ``epsilon / 32``.  Values are
  clipped to ``(a + b) / 2`` plus or minus ``4 |a - b|``, an interval ``[x, y]`` that depends on the
  data only through a and b.  Given a and b, the sum of the clipped values moves by at most ``d (y
  - x)``, and noise of scale ``(y - x) / (epsilon / 2)`` costs ``d epsilon / 2``.  Together ``d
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
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core import Measure, PureDP
from tacit.errors import UsageError
from tacit.mechanisms.sample_and_aggregate.bounded_output import Coordinate
from tacit.mechanisms.selection.private_quantile import choose_cell, quantile_costs
from tacit.mechanisms.shared.grid_noise import LatticeDistribution
from tacit.mechanisms.shared.laplace_error import laplace_distance
from tacit.mechanisms.shared.output_distribution import FiniteDistribution, normalised

__all__ = ["Centre", "MeanOfBins", "MedianOfBins", "WinsorizedMeanOfBins"]

_WIDTH = 4
"""Interquartile ranges on either side of the middle: five and more standard deviations."""

_LEAST = Fraction(1, 10**120)

_SHARES = 128
"""Shares at which a private quartile is taken, for expected errors."""

Units: TypeAlias = NDArray[np.int64]

_NONE = Enclosure(Fraction(0), Fraction(0))
_FAR = 45
"""Scales of noise to either side of a listed distribution: e^-45 lies beyond."""


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

    def __post_init__(self) -> None:
        if self.epsilon < _LEAST:  # its noise would not fit into a float
            raise UsageError("epsilon must be at least 1e-120: give a larger one")

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

    @abstractmethod
    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean absolute error given the values, in floats: its noise is not drawn."""


@dataclass(frozen=True)
class MeanOfBins(Centre):
    """The mean of all bins, by discrete Laplace noise on their sum."""

    def release(self, units: Sequence[int]) -> float:
        """Release the mean."""
        noisy = sum(units) + int(noise.discrete_laplace(self._scale))
        return float(noisy * self.where.grid / self.bins)

    def law(self, units: Sequence[int]) -> LatticeDistribution:
        """Return the distribution of the sum with noise, on the grid over the number of bins."""
        grid = self.where.grid / self.bins
        return LatticeDistribution(noise.DiscreteLaplace(self._scale), sum(units), grid)

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean absolute error given the values: that of noise around an offset."""
        each = float(self.where.grid) / self.bins
        offset = sum(units) - truth / each
        return float(laplace_distance(offset, float(self._scale))) * each

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
        """Return the distribution over all candidates."""
        cells = _quantile_law(units, self.where, Fraction(1, 2), self.epsilon / 4)
        return FiniteDistribution(
            {(self.where.least + cell) * self.where.grid: p for cell, p in cells.items()}
        )

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean over all candidates, run by run of those that are as likely.

        Of the distances from t of ``0, 1, ..., n - 1``, m of them at most t, the sum is ``m t - m
        (m - 1) / 2`` below t and ``(n (n - 1) - m (m - 1)) / 2 - (n - m) t`` above.
        """
        starts, lengths, chances = _runs(units, self.where, Fraction(1, 2), self.epsilon / 4)
        t = truth / float(self.where.grid) - self.where.least - starts
        m = np.clip(np.floor(t) + 1, 0, lengths)
        above = (lengths * (lengths - 1) - m * (m - 1)) / 2 - (lengths - m) * t
        mean = (m * t - m * (m - 1) / 2 + above) / lengths
        return float(chances @ mean) * float(self.where.grid)


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

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean over quantiles of the two private quartiles, all pairs of them."""
        rate, where = self.epsilon / 32, self.where
        firsts, lasts = (_cells_at(_runs(units, where, Fraction(q, 4), rate)) for q in (1, 3))
        a, b = (part.ravel() for part in np.meshgrid(firsts, lasts))
        reach = 2 * _WIDTH * np.abs(a - b)
        low = where.least + np.maximum(0, (a + b - reach) // 2)
        high = where.least + np.minimum(where.steps, -(-(a + b + reach) // 2))
        each = float(where.grid) / self.bins
        offset = _clipped_sums(np.sort(np.asarray(units, np.int64)), low, high) - truth / each
        scale = 2 * (high - low) / float(self.epsilon)
        found = np.where(low < high, laplace_distance(offset, np.maximum(scale, 1)), abs(offset))
        return float(found.mean()) * each

    def law(self, units: Sequence[int]) -> FiniteDistribution:
        """Return it on a public window; what falls beyond is counted at the ends."""
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


def _clipped_sums(ordered: Units, low: Units, high: Units) -> Units:
    """Return the sums of values, which ascend, clipped to each of many pairs of ends.

    >>> _clipped_sums(np.array([1, 5, 9]), np.array([2, 6]), np.array([8, 7])).tolist()
    [15, 19]
    """
    upto = np.append(0, np.cumsum(ordered))
    first, last = np.searchsorted(ordered, low), np.searchsorted(ordered, high)
    found: Units = low * first + upto[last] - upto[first] + high * (len(ordered) - last)
    return found


@lru_cache(maxsize=1 << 14)
def _share(scale: Fraction, offset: int, or_less: bool) -> Enclosure:
    law = noise.DiscreteLaplace(scale)
    return law.cdf(offset) if or_less else law.probability(offset)


def _histogram(units: Sequence[int], where: Coordinate) -> tuple[Any, Any]:
    return np.unique(np.asarray(units, dtype=np.int64) - where.least, return_counts=True)


def _runs(
    units: Sequence[int], where: Coordinate, q: Fraction, rate: Fraction
) -> tuple[Units, Units, NDArray[np.float64]]:
    """Return the candidates as runs of equal probability: first cell, length, total probability."""
    starts, lengths, costs = quantile_costs(_histogram(units, where), where.steps, q, 0)
    weights = lengths * np.exp(-float(rate) * (costs - costs.min()))
    return starts, lengths, weights / weights.sum()


def _cells_at(runs: tuple[Units, Units, NDArray[np.float64]]) -> Units:
    """Return the cells at even shares of a distribution that is listed in runs."""
    starts, lengths, chances = runs
    upto = np.cumsum(chances)
    shares = (np.arange(_SHARES) + 0.5) / _SHARES
    run = np.minimum(np.searchsorted(upto, shares), len(upto) - 1)
    within = 1 - (upto[run] - shares) / chances[run]
    places = np.clip((within * lengths[run]).astype(np.int64), 0, lengths[run] - 1)
    return np.asarray(starts[run] + places, dtype=np.int64)


def _quantile_law(
    units: Sequence[int], where: Coordinate, q: Fraction, rate: Fraction
) -> dict[int, Enclosure]:
    runs = quantile_costs(_histogram(units, where), where.steps, q, 0)
    weights: dict[int, Enclosure] = {}
    for start, length, cost in zip(*(part.tolist() for part in runs), strict=True):
        each = exp(-rate * cost, 128)
        weights |= dict.fromkeys(range(start, start + length), each)
    return dict(normalised(weights).table)  # type: ignore[arg-type]
