"""Bounded outputs of the parts of sample-and-aggregate, and how they are combined."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import as_fraction, positive, show
from tacit.core import Measure, PureDP
from tacit.errors import UsageError
from tacit.mechanisms.grid_noise import LatticeDistribution
from tacit.mechanisms.local_statistic import laplace_distance
from tacit.mechanisms.output_distribution import FiniteDistribution, normalised
from tacit.mechanisms.private_quantile import choose_cell, quantile_costs

# What a function says of a bin, as whole units of a public grid: total, whatever it does.


_LARGEST = Fraction(10) ** 120
_MAX_UNITS = 1 << 62


@dataclass(frozen=True)
class Coordinate:
    """One number that the function returns: its bounds, its grid, what stands for a missing one."""

    # lower, upper: the public bounds
    lower: Fraction
    upper: Fraction
    grid: Fraction  # the unit
    default: int  # in units; what an empty bin counts as, and one where the function fails

    @cached_property
    def minimum(self) -> int:
        """The smallest value, in units."""
        return math.floor(self.lower / self.grid)

    @cached_property
    def maximum(self) -> int:
        """The largest value, in units."""
        return math.ceil(self.upper / self.grid)

    @property
    def steps(self) -> int:
        """Sensitivity of one bin, in units."""
        return self.maximum - self.minimum

    def units(self, value: float) -> int:
        """Clip to the bounds and round to the grid; NaN counts as the default.

        >>> one = Coordinate(Fraction(0), Fraction(4), Fraction(1, 2), 4)
        >>> one.units(1.3), one.units(math.inf), one.units(math.nan)
        (3, 8, 4)
        """
        # Rounding in floats is a function of the bin alone, and what it gives is clipped again in
        # units, so no bin moves by more than :attr:`steps`.
        if math.isnan(value):
            return self.default
        low, high, grid = self._floats
        near = min(max(value, low), high) / grid
        return min(max(math.floor(near + 0.5), self.minimum), self.maximum)

    def units_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return :meth:`units` of every value, by the same steps.

        >>> one = Coordinate(Fraction(0), Fraction(4), Fraction(1, 2), 4)
        >>> one.units_of(np.array([1.3, math.inf, math.nan])).tolist()
        [3, 8, 4]
        """
        missing = np.isnan(values)
        low, high, grid = self._floats
        near = np.minimum(np.maximum(np.where(missing, low, values), low), high) / grid
        units = np.floor(near + 0.5).astype(np.int64)
        clamped = np.minimum(np.maximum(units, self.minimum), self.maximum)
        return np.where(missing, self.default, clamped)

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        return float(self.lower), float(self.upper), float(self.grid)


def coordinates(bounds: Any, default: Any, grid: Any, bits: int) -> tuple[Coordinate, ...]:
    """Read the bounds of a number, or of every number of a vector."""
    # default: a number, one per coordinate, or None for the middle of the bounds.
    # grid: the unit, or None for the power of two that is just below the range over ``2^bits``.
    pairs = _pairs(bounds)
    defaults = [default] * len(pairs) if _is_single(default) else list(default)
    if len(defaults) != len(pairs):
        raise UsageError(
            f"default has {len(defaults)} numbers and bounds has {len(pairs)}: give one default, "
            "or one for each pair of bounds"
        )
    return tuple(
        _coordinate(*pair, one, grid, bits) for pair, one in zip(pairs, defaults, strict=True)
    )


def _is_single(default: Any) -> bool:
    return default is None or isinstance(default, str) or not hasattr(default, "__len__")


def _pairs(bounds: Any) -> list[tuple[Any, Any]]:
    if bounds is None:
        raise UsageError(
            "give bounds=(lower, upper), public numbers within which the function's answer is "
            "clipped, or one such pair for each number that it returns"
        )
    listed = list(bounds) if isinstance(bounds, (tuple, list, np.ndarray)) else []
    if len(listed) == 2 and all(_is_single(end) for end in listed):
        listed = [tuple(listed)]
    if not listed or any(_is_single(pair) or len(pair) != 2 for pair in listed):
        raise UsageError(f"bounds are (lower, upper), or a list of such pairs, not {bounds!r}")
    return [(low, high) for low, high in listed]


def _coordinate(lower: Any, upper: Any, default: Any, grid: Any, bits: int) -> Coordinate:
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        raise UsageError(f"the lower bound {show(low)} must be below the upper one {show(high)}")
    ends = max(abs(low), abs(high))
    if ends > _LARGEST or high - low < 1 / _LARGEST:
        raise UsageError(
            "the bounds must be within 1e120 of zero and at least 1e-120 apart: give others, or "
            "count in another unit"
        )
    unit = _power_of_two((high - low) / (1 << bits)) if grid is None else positive(grid, "grid")
    if unit > high - low:
        raise UsageError(
            f"the grid {show(unit)} is above the range of the bounds: give a finer one"
        )
    if (high - low) / unit > 1 << 40:
        raise UsageError("the bounds hold more than 2^40 units of the grid: give a coarser grid")
    if ends / unit >= _MAX_UNITS:
        raise UsageError(
            "the bounds are more than 2^62 units of the grid from zero: give a coarser grid, or "
            "have the function say how far it is from the lower bound"
        )
    middle = (low + high) / 2 if default is None else as_fraction(default, "default")
    if not low <= middle <= high:
        raise UsageError(f"the default {show(middle)} is outside the bounds: give one inside them")
    return Coordinate(low, high, unit, math.floor(middle / unit + Fraction(1, 2)))


def _power_of_two(value: Fraction) -> Fraction:
    """Return the largest power of two that is not above a positive number."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    exact = Fraction(2) ** power
    return exact if exact <= value else exact / 2


@dataclass(frozen=True, repr=False)
class BinFunction:
    """The function asked of a bin, with every way to fail turned into the default."""

    # NaN, an exception of any kind, an answer of the wrong shape or of no numbers: each gives the
    # public default, and no trace of it is kept, logged or shown.  Warnings are not shown.  Only
    # ``KeyboardInterrupt`` passes: it is the person at the keyboard who ends a release.

    function: Callable[[Any], Any]
    reads: tuple[Coordinate, ...]

    @property
    def defaults(self) -> tuple[int, ...]:
        """Value of an empty bin."""
        return tuple(one.default for one in self.reads)

    def __call__(self, content: Any) -> tuple[int, ...]:
        """Return the units of every coordinate.

        >>> reads = coordinates((0, 8), None, 1, 0)
        >>> ask = BinFunction(lambda x: 1 / x[0], reads)
        >>> ask([0]), ask([1]), ask(None)
        ((4,), (1,), (4,))
        """
        if content is None:
            return self.defaults
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                numbers = _numbers(self.function(content), len(self.reads))
        except KeyboardInterrupt:
            raise
        except BaseException:
            # What went wrong may depend on the records: it is dropped here, whatever it was.  Some
            # is no Exception: SystemExit, or the panic of an extension that is written in Rust.
            return self.defaults
        pairs = zip(self.reads, numbers, strict=True)
        return tuple(one.units(number) for one, number in pairs)


def _numbers(value: Any, size: int) -> Sequence[float]:
    numbers: list[float] = np.asarray(value, dtype=np.float64).ravel().tolist()
    return numbers if len(numbers) == size else [math.nan] * size


# Private centres of a public number of bounded values: what sample-and-aggregate ends with.
#
# Each takes ``k`` integers within public ends, of which at most ``d`` differ between two
# inputs, and knows its loss at ``d``.  With ``M`` the distance between the ends:
#
# * **Mean.**  The sum moves by at most ``d M``; discrete Laplace noise of scale ``M / epsilon`` on
#   the sum is ``d epsilon``-DP.  The sum is divided by ``k``, which is public: bins that are empty
#   or that failed count too, at their default.
# * **Median.**  The costs of :mod:`tacit.mechanisms.private_quantile` move by at most
#   ``2 d`` when ``d`` values are exchanged.  The exponential mechanism at rate ``epsilon / 4`` is
#   ``d epsilon``-DP.
# * **Winsorised mean** (Smith 2011, *Privacy-preserving statistical estimation with optimal
#   convergence rates*, STOC).  Private quartiles a and b, each with ``epsilon / 4``: the costs of
#   the 1/4 and of the 3/4 quantile move by at most ``4 d``, so the rate is ``epsilon / 32``.
#   Values are clipped to ``(a + b) / 2`` plus or minus ``4 |a - b|``, an interval ``[x, y]`` that
#   depends on the data only through a and b.  Given a and b, the sum of the clipped values moves by
#   at most ``d (y - x)``, and noise of scale ``(y - x) / (epsilon / 2)`` costs ``d epsilon / 2``.
#   Together ``d epsilon``, by adaptive composition.  Where ``x = y`` the sum is ``k x`` on every
#   input, and needs no noise.  (Smith widens by a power of k, for his asymptotics; any public
#   factor is private.)
# * **Smooth.**  The median plus noise that is scaled to its smooth sensitivity over the ``k``
#   values, under exchange.


_WIDTH = 4  # interquartile ranges on either side of the middle: five and more standard deviations

_MIN_PROBABILITY = Fraction(1, 10**120)

_SHARES = 128  # shares at which a private quartile is taken, for expected errors

Units: TypeAlias = NDArray[np.int64]

_NONE = Enclosure(Fraction(0), Fraction(0))
_FAR = 45  # scales of noise to either side of a listed distribution: e^-45 lies beyond


@dataclass(frozen=True)
class Centre(ABC):
    """A private centre of the values of ``bins`` bins, in one coordinate."""

    bins: int  # how many values there are
    where: Coordinate  # their public ends and grid
    epsilon: Fraction  # the loss when one value is exchanged

    grid_bits: ClassVar[int] = 20

    def __post_init__(self) -> None:
        if self.epsilon < _MIN_PROBABILITY:  # its noise would not fit into a float
            raise UsageError("epsilon must be at least 1e-120: give a larger one")

    @property
    def measure(self) -> Measure:
        """Measure of the privacy loss."""
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
        cell = choose_cell(
            _histogram(units, self.where), self.where.steps, Fraction(1, 2), 0, self.epsilon / 4
        )
        return float((self.where.minimum + cell) * self.where.grid)

    def law(self, units: Sequence[int]) -> FiniteDistribution:
        """Return the distribution over all candidates."""
        cells = _quantile_law(units, self.where, Fraction(1, 2), self.epsilon / 4)
        return FiniteDistribution(
            {(self.where.minimum + cell) * self.where.grid: p for cell, p in cells.items()}
        )

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean over all candidates, run by run of those that are as likely."""
        # Of the distances from t of ``0, 1, ..., n - 1``, m of them at most t, the sum is ``m t - m
        # (m - 1) / 2`` below t and ``(n (n - 1) - m (m - 1)) / 2 - (n - m) t`` above.
        starts, lengths, chances = _runs(units, self.where, Fraction(1, 2), self.epsilon / 4)
        t = truth / float(self.where.grid) - self.where.minimum - starts
        m = np.clip(np.floor(t) + 1, 0, lengths)
        above = (lengths * (lengths - 1) - m * (m - 1)) / 2 - (lengths - m) * t
        mean = (m * t - m * (m - 1) / 2 + above) / lengths
        return float(chances @ mean) * float(self.where.grid)


@dataclass(frozen=True)
class WinsorizedMeanOfBins(Centre):
    """The mean of the values clipped to an interval that private quartiles choose."""

    grid_bits: ClassVar[int] = 16

    def release(self, units: Sequence[int]) -> float:
        histogram, rate = _histogram(units, self.where), self.epsilon / 32
        a, b = (choose_cell(histogram, self.where.steps, Fraction(q, 4), 0, rate) for q in (1, 3))
        low, high = self._interval(a, b)
        total = sum(min(max(u, low), high) for u in units)
        if low < high:
            total += int(noise.discrete_laplace(self._scale(low, high)))
        return float(total * self.where.grid / self.bins)

    def _interval(self, a: int, b: int) -> tuple[int, int]:
        """Return the ends, in units, that two cells lead to."""
        radius = 2 * _WIDTH * abs(a - b)
        low, high = (a + b - radius) // 2, -(-(a + b + radius) // 2)
        return (
            self.where.minimum + max(0, low),
            self.where.minimum + min(self.where.steps, high),
        )

    def _scale(self, low: int, high: int) -> Fraction:
        return 2 * (high - low) / self.epsilon

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean over quantiles of the two private quartiles, all pairs of them."""
        rate, where = self.epsilon / 32, self.where
        firsts, lasts = (_cells_at(_runs(units, where, Fraction(q, 4), rate)) for q in (1, 3))
        a, b = (part.ravel() for part in np.meshgrid(firsts, lasts))
        radius = 2 * _WIDTH * np.abs(a - b)
        low = where.minimum + np.maximum(0, (a + b - radius) // 2)
        high = where.minimum + np.minimum(where.steps, -(-(a + b + radius) // 2))
        each = float(where.grid) / self.bins
        offset = _clipped_sums(np.sort(np.asarray(units, np.int64)), low, high) - truth / each
        scale = 2 * (high - low) / float(self.epsilon)
        errors = np.where(low < high, laplace_distance(offset, np.maximum(scale, 1)), abs(offset))
        return float(errors.mean()) * each

    def law(self, units: Sequence[int]) -> FiniteDistribution:
        """Return it on a public window; what falls beyond is counted at the ends."""
        rate = self.epsilon / 32
        lows, highs = (_quantile_law(units, self.where, Fraction(q, 4), rate) for q in (1, 3))
        weights: dict[tuple[int, int], Enclosure] = {}
        for a, p in lows.items():
            for b, q in highs.items():
                ends = self._interval(a, b)
                weights[ends] = (weights.get(ends, _NONE) + p * q).rounded(128)
        radius = _FAR * math.ceil(self._scale(self.where.minimum, self.where.maximum))
        first = self.bins * self.where.minimum - radius
        last = self.bins * self.where.maximum + radius
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
    sums: Units = low * first + upto[last] - upto[first] + high * (len(ordered) - last)
    return sums


@lru_cache(maxsize=1 << 14)
def _share(scale: Fraction, offset: int, or_less: bool) -> Enclosure:
    distribution = noise.DiscreteLaplace(scale)
    return distribution.cdf(offset) if or_less else distribution.probability(offset)


def _histogram(units: Sequence[int], where: Coordinate) -> tuple[Any, Any]:
    return np.unique(np.asarray(units, dtype=np.int64) - where.minimum, return_counts=True)


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
    indices = np.clip((within * lengths[run]).astype(np.int64), 0, lengths[run] - 1)
    return np.asarray(starts[run] + indices, dtype=np.int64)


def _quantile_law(
    units: Sequence[int], where: Coordinate, q: Fraction, rate: Fraction
) -> dict[int, Enclosure]:
    runs = quantile_costs(_histogram(units, where), where.steps, q, 0)
    weights: dict[int, Enclosure] = {}
    for start, length, cost in zip(*(part.tolist() for part in runs), strict=True):
        each = exp(-rate * cost, 128)
        weights |= dict.fromkeys(range(start, start + length), each)
    return dict(normalised(weights).table)  # type: ignore[arg-type]
