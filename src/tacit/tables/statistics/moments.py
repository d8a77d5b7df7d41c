"""Sums, means, variances and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, show
from tacit.calls import public
from tacit.core import Number, Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError, shown_value
from tacit.expressions.grid import Grid
from tacit.report.text import clamped_column, for_each_group, rows_in_all, say_step
from tacit.tables.noise import Array, Estimate, GridNoise, Spread, standard_spread
from tacit.tables.query import requests
from tacit.tables.query.requests import Request, Total
from tacit.tables.statistics.base import (
    SQUARE_BITS,
    SUM_BITS,
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
    with_method,
)
from tacit.tables.statistics.counts import CountingPart
from tacit.tables.statistics.method import MethodName
from tacit.tables.statistics.part import LEVEL, Columns, Noise, OneNumberPart, Part
from tacit.tables.steps import VectorStep
from tacit.transformations import Mean, Sum, Variance

# The step of a chain that adds up the moments of a column by group, and its words.


@register
@dataclass(frozen=True)
class MomentsByGroup(VectorStep):
    """Split every row of a column between the Bernstein polynomials of a degree, and add up."""

    # A value x in [lower, upper] becomes ``y = (x - lower) / (upper - lower)`` in [0, 1], and its
    # row is divided between ``B_j(y) = C(degree, j) y^j (1 - y)^(degree - j)``, j = 0..degree.
    # Degree 1 gives the two one-sided sums ``sum (1 - y)`` and ``sum y``; degree 2 serves the
    # variance too. With ``missing`` a last coordinate counts rows without a value; else they are
    # left out.
    #
    # **Map.** ``d -> d`` in L1: the polynomials are not negative and sum to one (the binomial
    # theorem), so a row moves the coordinates of its group by one in all; a row without a value
    # moves one coordinate by one.  In L2 no more, since L2 is at most L1.  So count, sum, mean and
    # variance come out of one vector at the sensitivity of a single count, where separate noisy
    # sums would each be charged.
    #
    # All of it on the grid: y is a multiple of ``1 / cells``, hence ``B_j`` one of
    # ``1 / cells^degree``, and weights are multiples of ``1 / one``.

    column: str
    lower: str
    upper: str
    cells: int
    degree: int
    missing: bool
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "moments"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        cells = as_integer(self.cells, "cells", minimum=1)
        degree = as_integer(self.degree, "degree", minimum=1)
        if degree > 2:
            raise UsageError("moments are of degree 1 or 2")
        grid = Fraction(1, as_integer(self.one, "one", minimum=1) * cells**degree)
        return self._end(space, Number("float", grid=grid), Fraction(1))


def _step_words(step: Mapping[str, Any]) -> str:
    return f"Add up {clamped_column(step)}, from below and from above{for_each_group(step)}"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    """Say a distance in the units of what is asked, whatever the values were rescaled to."""
    # A row adds one to a count, and to a sum at most the bound that is farther from zero; a vector
    # of moments that moves by d (of rows whose shares make up one each) moves them by d times as
    # much.
    rows, moved = rows_in_all(step, shown), as_fraction(step["distance"])
    low, high = as_fraction(step["lower"]), as_fraction(step["upper"])
    text = f"{rows}, and the sum of {step['column']} by {show(moved * max(abs(low), abs(high)))}"
    if step["degree"] == 1:
        return text
    return f"{text}, that of squares above {show(low)} by {show(moved * (high - low) ** 2)}"


say_step("moments", _step_words, _moves)


# From noisy Bernstein sums to count, sum, mean, variance and their intervals.
#
# The released vector of a group is ``t_j + noise_j``, j = 0..degree (and the missing rows); see
# :class:`~tacit.tables.statistics.moments.MomentsByGroup`.
# Everything here is post-processing of it: no data.
#
# With ``n = sum t_j``, ``sum y = sum (j / degree) t_j`` and, for degree 2, ``sum y^2 = t_2``.
# Linear answers (count, sum) have the variance of their weights.  Means are ratios: their interval
# is Fieller's, the set of all m that the noise does not contradict, which keeps its coverage also
# in groups so small that the noise is larger than the count.


def bernstein(moments: Any, cells: int, degree: int, missing: bool) -> list[int]:
    """Return the Bernstein sums, in units, from the weights, the sum of z and that of its square.

    >>> z_is_1_and_2 = np.array([[2, 0, 3, 5]], dtype=object)
    >>> bernstein(z_is_1_and_2, cells=2, degree=2, missing=False)
    [1, 2, 5]
    """
    # With Q cells: ``sum (Q - z)`` and ``sum z`` for degree 1; ``sum (Q - z)^2``,
    # ``sum 2 z (Q - z)`` and ``sum z^2`` for degree 2; then Q^degree times the weight of the
    # missing rows.
    present, absent, first, second = moments.T
    if degree == 1:
        columns = [present * cells - first, first]
    else:
        columns = [
            present * cells**2 - 2 * cells * first + second,
            2 * cells * first - 2 * second,
            second,
        ]
    if missing:
        columns.append(absent * cells**degree)
    return [int(value) for value in np.stack(columns, axis=1).ravel()]


@dataclass(frozen=True)
class NoisyMoments:
    """What a noisy vector of Bernstein sums says, group by group."""

    noisy: Array  # shape (groups, degree + 1), and one column more for missing rows if there is one
    distribution: GridNoise  # the noise on each coordinate
    # lower, upper: the bounds of the column, on its grid
    lower: float
    upper: float
    degree: int  # 1 or 2
    missing: bool  # whether the last column counts rows without a value
    level: float = 0.95

    @property
    def _sums(self) -> Array:
        return self.noisy[:, : self.degree + 1]

    @property
    def _positions(self) -> Array:
        """The weight of each coordinate in ``sum y``."""
        return np.arange(self.degree + 1) / self.degree

    def count(self) -> Estimate:
        """Return the number of rows (with a value, where missing ones are left out)."""
        return self._linear(np.ones(self.noisy.shape[1]), 0.0, np.inf)

    def total(self) -> Estimate:
        """Return the sum: ``lower n + (upper - lower) sum y``."""
        weights = self.lower + (self.upper - self.lower) * self._positions
        padded = np.append(weights, 0.0) if self.missing else weights
        return self._linear(padded, -np.inf, np.inf)

    def mean(self) -> Estimate:
        """Return the mean: ``lower + (upper - lower) sum y / n``."""
        share, low, high = self._mean_share()
        size = self._size()
        directions = self._positions[None, :] - share[:, None]
        error = np.sqrt((directions**2).sum(axis=1) * self.distribution.variance) / size
        return self._scaled(share, np.minimum(error, 1.0), low, high)

    def variance(self) -> Estimate:
        """Return the variance ``sum y^2 / n - (sum y / n)^2``, scaled back."""
        # **Interval.** On the box that holds all noisy coordinates at once (each at level
        # ``1 - (1 - level) / 3``), the variance is ``min over c of sum (y - c)^2 / n``.  For fixed
        # c that is a ratio of linear functions, so its extremes are at corners of the box: the
        # least variance is the least at a corner, and the greatest is at most the greatest corner
        # value for any one c, taken at the estimated mean.
        value = np.clip(_variance_of(self._sums), 0.0, 0.25)
        share = self._share()
        size = self._size()
        gradient = self._gradient(share, value, size)
        error = np.minimum(np.sqrt((gradient**2).sum(axis=1) * self.distribution.variance), 0.25)
        low, high = self._variance_box(share)
        scale = (self.upper - self.lower) ** 2
        return Estimate(value * scale, error * scale, low * scale, high * scale)

    def deviation(self) -> Estimate:
        """Return the standard deviation: the root of the variance and of its interval."""
        squared = self.variance()
        value = np.sqrt(squared.value)
        low, high = np.sqrt(squared.lower), np.sqrt(squared.upper)
        slope = squared.standard_error / (2 * np.maximum(value, 1e-300))
        return Estimate(value, np.minimum(slope, (high - low) / 2), low, high)

    def _linear(self, weights: Array, floor: float, ceiling: float) -> Estimate:
        value = self.noisy @ weights
        half = self.distribution.half_width(tuple(weights.tolist()), self.level)
        error = float(np.sqrt((weights**2).sum() * self.distribution.variance))
        return Estimate(
            value,
            np.full_like(value, error),
            np.clip(value - half, floor, ceiling),
            np.clip(value + half, floor, ceiling),
        )

    def _size(self) -> Array:
        """Return the noisy count of values, no lower than one row."""
        size: Array = np.maximum(self._sums.sum(axis=1), 1.0)
        return size

    def _share(self) -> Array:
        """Return the mean of y, clipped to [0, 1]."""
        share: Array = np.clip(self._sums @ self._positions / self._size(), 0.0, 1.0)
        return share

    def _mean_share(self) -> tuple[Array, Array, Array]:
        """Return the mean of y and its Fieller interval, each clipped to [0, 1]."""
        above = self._sums @ self._positions
        raw = self._sums.sum(axis=1)
        share = self._share()
        points, band = _fieller_band(self.distribution, self.degree, self.level)
        slopes = np.diff(band) * (len(points) - 1)
        steepest = max(slopes.max(), -slopes.min())

        # Where the count is no clearer than the noise, the accepted set may have holes: take all.
        open_ended = (raw <= steepest) | (
            np.abs(above - share * raw) > np.interp(share, points, band)
        )
        low, high = _edges(above, raw, share, band, slopes)
        return share, np.where(open_ended, 0.0, low), np.where(open_ended, 1.0, high)

    def _scaled(self, share: Array, error: Array, low: Array, high: Array) -> Estimate:
        span = self.upper - self.lower
        return Estimate(
            self.lower + span * share,
            span * error,
            self.lower + span * low,
            self.lower + span * high,
        )

    def _gradient(self, share: Array, value: Array, size: Array) -> Array:
        """Return the derivative of the variance by each coordinate."""
        # One row more at place p with second moment s moves it by
        # ``(s - 2 share p + share^2 - value) / n``.
        places, squares = self._positions, np.array([0.0, 0.0, 1.0])
        centred = squares[None, :] - 2 * share[:, None] * places[None, :] + share[:, None] ** 2
        gradient: Array = (centred - value[:, None]) / size[:, None]
        return gradient

    def _variance_box(self, share: Array) -> tuple[Array, Array]:
        each = 1 - (1 - self.level) / 3
        half = self.distribution.half_width((1.0,), each)
        sums = np.maximum(self._sums + half * _CORNERS, 0.0)  # (corners, groups, coordinates)
        size = sums.sum(axis=2)
        degenerate = (size <= 0).any(axis=0)
        safe = np.maximum(size, 1e-300)
        first, second = sums @ self._positions / safe, sums[:, :, 2] / safe
        low = np.clip((second - first**2).min(axis=0), 0.0, 0.25)
        high = np.clip((second - 2 * share * first + share**2).max(axis=0), 0.0, 0.25)
        return np.where(degenerate, 0.0, low), np.where(degenerate, 0.25, high)


# The corners of a cube around the origin: shape (8, 1, 3).
_CORNERS = 2.0 * np.array(list(np.ndindex(2, 2, 2)))[:, None, :] - 1


def _variance_of(sums: Array) -> Array:
    size = np.maximum(sums.sum(axis=1), 1.0)
    first = (sums[:, 2] + sums[:, 1] / 2) / size
    variance: Array = sums[:, 2] / size - first**2
    return variance


def _edges(
    above: Array, raw: Array, start: Array, band: Array, slopes: Array
) -> tuple[Array, Array]:
    """Return on each side of the estimate where the noise begins to contradict m, else 0 and 1.

    >>> row, flat = np.array([50.0]), np.full(257, 5.0)
    >>> low, high = _edges(row, 2 * row, row / 100, flat, np.diff(flat))
    >>> float(low[0]), float(high[0])
    (0.45, 0.55)
    """
    # The accepted m are those with ``|above - m raw|`` at most the band, which is given at equal
    # steps over [0, 1] and straight between them.  Where the line is steeper than the band, the
    # boundary on each side is single: it lies behind the nearest point of the band that is
    # contradicted, where two straight lines cross.  Elsewhere what is returned says nothing.
    points = _POINTS
    outside = np.abs(above[:, None] - raw[:, None] * points) > band
    left = outside & (points <= start[:, None])
    below = np.count_nonzero(left, axis=1) - 1
    beyond = len(band) - (np.count_nonzero(outside, axis=1) - below - 1)
    cell = np.minimum(np.maximum(below, 0), len(slopes) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossed = (above - band[cell] + slopes[cell] * points[cell]) / (raw + slopes[cell])
        low = np.where(below < 0, 0.0, np.minimum(np.maximum(crossed, points[cell]), start))
        cell = np.minimum(np.maximum(beyond - 1, 0), len(slopes) - 1)
        crossed = (above + band[cell] - slopes[cell] * points[cell]) / (raw - slopes[cell])
        clamped = np.minimum(np.maximum(crossed, start), points[cell + 1])
        high = np.where(beyond == len(band), 1.0, clamped)
    return low, high


@lru_cache(maxsize=128)
def _fieller_band(distribution: GridNoise, degree: int, level: float) -> tuple[Array, Array]:
    """Tabulate the half-width of ``sum (place_j - m) noise_j`` over m in [0, 1]."""
    band = distribution.scaled(_standard_band(degree, distribution.kind, level), level)
    # At an end one coordinate may drop out, and its exact quantile be below what is needed nearby.
    band[0], band[-1] = max(band[0], band[1]), max(band[-1], band[-2])
    # Between two points the half-width is at most the larger end's and the chord's sag, which is
    # below a thousandth of the band: it is 1-Lipschitz in the weights up to that factor.
    return _POINTS, band * 1.001


@lru_cache(maxsize=16)
def _standard_band(degree: int, kind: str, level: float) -> Spread:
    """Return the spread of the weights ``place_j - m`` at each of the points of the band."""
    # Where all weights are equal, inside, their exact quantile is below what is needed nearby.
    weights = np.arange(degree + 1)[None, :] / degree - _POINTS[:, None]
    equal, *spread = standard_spread(tuple(map(tuple, weights.tolist())), kind, level)
    return equal * (equal == 1), *spread


_POINTS = np.linspace(0.0, 1.0, 257)  # the points at which the band is tabulated
_POINTS.flags.writeable = False


# The sum of a column alone, where nothing else is asked of it.


@register
@dataclass(frozen=True)
class SumByGroup(VectorStep):
    """Add up a column in each group."""

    # **Map.** ``d -> d max(|lower|, |upper|)`` in L1 and L2: the farthest from zero that one row's
    # value can be.  Values are clamped to the bounds, on a grid of ``cells`` steps between them of
    # which both bounds are multiples; a person's values are down-weighted to ``rows`` times that.

    column: str
    lower: str
    upper: str
    cells: int
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "sum_by_group"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        low, high = as_fraction(self.lower), as_fraction(self.upper)
        cells = as_integer(self.cells, "cells", minimum=1)
        if low >= high:
            raise UsageError("the lower bound of a sum must be below the upper")
        step = (high - low) / cells
        if (low / step).denominator != 1:
            raise UsageError("the bounds of a sum must be multiples of its grid")
        lattice = Number("float", grid=step / as_integer(self.one, "one", minimum=1))
        return self._end(space, lattice, max(abs(low), abs(high)))


@dataclass(frozen=True)
class SumPart(OneNumberPart):
    """The sum of a column of which nothing else is asked: its own sensitivity is the least."""

    column: str
    grid: Grid

    kind, floor = "sum", -np.inf

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"sum of {self.column}"

    @property
    def sensitivity(self) -> Fraction:
        """How far one row moves the sum."""
        return max(abs(self.grid.value(0)), abs(self.grid.value(self.grid.cells)))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the sums, and additive noise."""
        low, high = self.grid.value(0), self.grid.value(self.grid.cells)
        step = SumByGroup(
            size=size,
            norm=noise.norm,
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(self.sensitivity * noise.rows))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the total, each person's within the bound."""
        return Total(columns.value(self.column), self.grid)

    def distribution(self, noise: Noise) -> GridNoise:
        return noise.distribution(self.sensitivity * noise.rows, self.grid.step / noise.one)


def _total_step_words(step: Mapping[str, Any]) -> str:
    return f"Add up {clamped_column(step)}{for_each_group(step)}"


def _total_moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{shown} in the sum of {step['column']}, in all"


say_step("sum_by_group", _total_step_words, _total_moves)


# Count, sum, mean, variance and standard deviation of a column, from one vector.
#
# The kinds ``sum``, ``mean``, ``var`` and ``std``.


_OF_SQUARES = frozenset({"var", "std"})


@dataclass(frozen=True)
class MomentsPart(CountingPart):
    """Count, sum, mean, var and std of one column within one pair of bounds."""

    column: str
    grid: Grid
    kinds: frozenset[str]
    missing: bool

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{', '.join(sorted(self.kinds))} of {self.column}"

    @property
    def degree(self) -> int:
        """1 for count, sum and mean; 2 where a variance is asked."""
        return 2 if self.kinds & _OF_SQUARES else 1

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds on the grid."""
        return self.grid.value(0), self.grid.value(self.grid.cells)

    @property
    def width(self) -> int:
        return self.degree + 1 + int(self.missing)

    def settled(self) -> Part:
        """Return a part of its own for a sum of which nothing else is asked: the least noise."""
        return SumPart(self.column, self.grid) if self.kinds == {"sum"} else self

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: Bernstein sums, and additive noise."""
        low, high = self.bounds
        step = MomentsByGroup(
            size=size * self.width,
            norm=noise.norm,
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            degree=self.degree,
            missing=self.missing,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> requests.Request:
        """Ask for the rows, their values, and the squares of these where they are needed."""
        value = columns.value(self.column)
        return requests.Moments(value, self.grid, squares=self.degree > 1)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the Bernstein sums."""
        return bernstein(
            np.asarray(exact, dtype=object), self.grid.cells, self.degree, self.missing
        )

    def distribution(self, noise: Noise) -> GridNoise:
        return noise.distribution(
            Fraction(noise.rows), Fraction(1, noise.one * self.grid.cells**self.degree)
        )

    def _moments(self, noisy: NDArray[np.float64], noise: Noise, level: float) -> NoisyMoments:
        low, high = self.bounds
        distribution = self.distribution(noise)
        return NoisyMoments(
            noisy, distribution, float(low), float(high), self.degree, self.missing, level
        )

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return every kind that was asked."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, self.width)
        moments = self._moments(noisy, noise, level)
        answers = {
            "count": moments.count,
            "sum": moments.total,
            "mean": moments.mean,
            "var": moments.variance,
            "std": moments.deviation,
        }
        return {kind: answers[kind]() for kind in self.kinds}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for values spread evenly over the bounds."""
        return float(self._expected(kind, noise, self._even(rows)).standard_error[0])

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the longer arm of the interval, for values spread evenly over the bounds."""
        expected = self._expected(kind, noise, self._even(rows), level)
        return float(
            max(expected.upper[0] - expected.value[0], expected.value[0] - expected.lower[0])
        )

    def _even(self, rows: float) -> list[float]:
        return [rows / (self.degree + 1)] * (self.degree + 1)

    def error_on(self, kind: str, noise: Noise, made: NDArray[np.float64]) -> float:
        """Return the error for made-up values within the bounds."""
        low, high = map(float, self.bounds)
        x = (made - low) / (high - low)
        shares = [1 - x, x] if self.degree == 1 else [(1 - x) ** 2, 2 * x * (1 - x), x**2]
        sums = [float(share.sum()) for share in shares]
        return float(self._expected(kind, noise, sums).standard_error[0])

    def _expected(
        self, kind: str, noise: Noise, sums: list[float], level: float = LEVEL
    ) -> Estimate:
        """Return the answer out of sums on which no noise has fallen."""
        coordinates = np.array([sums + [0.0] * int(self.missing)])
        part = MomentsPart(self.column, self.grid, frozenset({kind}) | self.kinds, self.missing)
        return part.estimates([coordinates], noise, level)[kind]


@public
def sum(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Add up a column, each value clamped to [lower, upper]; missing values add nothing.

    Args:
        column: the name of the column; None for a step of a chain, or a statistic of
            :func:`tacit.sensitivity`.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    >>> print(sum("pay", 0, 1000))
    sum(pay, 0, 1000)
    """
    only_global("sum", method)
    return bounded(SumOfColumn, column, lower, upper)


@public
def mean(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    method: MethodName = "global",
    bound: NumberLike | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Average a column over its values that are not missing, each clamped to [lower, upper].

    Arguments are those of :func:`median`; without a column it is a step of a chain, or a statistic
    of :func:`tacit.sensitivity`.

    >>> print(mean("age", 0, 100), mean("age", 0, 100, method="ptr", bound="1/2"))
    mean(age, 0, 100) mean(age, 0, 100, method=ptr, bound=1/2)
    """
    made = bounded(MeanOfColumn, column, lower, upper)
    return with_method(made, method, bound, bins, distribution, rows)


@public
def var(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    ddof: int = 0,
    method: MethodName = "global",
    bound: NumberLike | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return the variance (divided by n) of a column clamped to [lower, upper].

    ``var(ddof=1)``, without a column, divides by n - 1: a statistic to ask sensitivities of.  The
    other arguments are those of :func:`median`.

    Raises:
        UsageError: a ddof that is not 0 or 1, or 1 of a column.

    >>> print(var("age", 0, 100))
    var(age, 0, 100)
    """
    made = _dispersion(VarOfColumn, column, lower, upper, ddof)
    return with_method(made, method, bound, bins, distribution, rows)


@public
def std(
    column: str | None = None,
    lower: NumberLike | None = None,
    upper: NumberLike | None = None,
    *,
    ddof: int = 0,
    method: MethodName = "global",
    bound: NumberLike | None = None,
    bins: int | None = None,
    distribution: str | None = None,
    rows: int | None = None,
) -> Aggregate:
    """Return the standard deviation (divided by n) of a column clamped to [lower, upper].

    Arguments and errors are those of :func:`var`, of which it is the root.

    >>> print(std("age", 0, 100))
    std(age, 0, 100)
    """
    made = _dispersion(StdOfColumn, column, lower, upper, ddof)
    return with_method(made, method, bound, bins, distribution, rows)


def _dispersion(
    of: type[VarOfColumn],
    column: str | None,
    lower: NumberLike | None,
    upper: NumberLike | None,
    ddof: int,
) -> VarOfColumn:
    if ddof not in (0, 1):
        raise UsageError(f"ddof must be 0 or 1, not {shown_value(ddof)}")
    made = bounded(of, column, lower, upper, ddof=int(ddof))
    if ddof and column is not None:
        raise UsageError(
            f"a table's {of.kind} is divided by n; tc.{of.kind}(ddof=1) without a column is a "
            "statistic for tc.sensitivity"
        )
    return made


class Moment(TableStatistic):
    """A statistic that is worked out from the moments of a column."""

    def shared(self) -> Any:
        return Moment, self.clamped

    def part(self, setting: Setting, before: Part | None) -> Part:
        beside = before.kinds if isinstance(before, MomentsPart) else frozenset()
        kinds = beside | {self.kind} | ({"count"} if setting.counted else set())
        grid = setting.grid(self, SQUARE_BITS if kinds & _OF_SQUARES else SUM_BITS)
        return MomentsPart(self.require_column(), grid, kinds, missing=setting.counted)

    def error_on(self, grid: Grid, counted: bool, noise: Noise, made: Array) -> float:
        """Return ``sqrt(2 / pi)`` of the standard error: the error is nearly normal."""
        part = MomentsPart(self.require_column(), grid, frozenset({self.kind}), missing=counted)
        return part.error_on(self.kind, noise, made) * math.sqrt(2 / math.pi)


@register_statistic
@dataclass(frozen=True)
class SumOfColumn(Moment):
    """The statistic ``sum``."""

    kind = "sum"
    elsewhere = ("total",)
    order = 30
    make = staticmethod(sum)
    help = "The sum of values clamped to the bounds."
    noun = "the sum of {column}"
    chained = Sum
    amount = True


@register_statistic
@dataclass(frozen=True)
class MeanOfColumn(Moment):
    """The statistic ``mean``."""

    kind = "mean"
    elsewhere = ("avg", "average")
    order = 40
    make = staticmethod(mean)
    help = "The mean."
    noun = "the mean of {column}"
    chained = Mean
    methods = True


@register_statistic
@dataclass(frozen=True)
class VarOfColumn(Moment):
    """The statistic ``var``."""

    ddof: int = 0  # without a column 1 too, to divide by ``n - 1``

    kind = "var"
    elsewhere: ClassVar[tuple[str, ...]] = ("variance",)
    order = 50
    make = staticmethod(var)
    help = "The variance."
    noun = "the variance of {column}"
    chained: ClassVar[type[Step] | None] = Variance
    methods = True
    bits = SQUARE_BITS

    @property
    def statistic(self) -> Any:
        from tacit.statistics import lookup

        return lookup(f"{self.kind}(ddof={self.ddof})" if self.ddof else self.kind)

    def step(self) -> Step | None:
        return None if self.ddof else super().step()

    def _shown(self) -> tuple[list[str], list[str]]:
        return [], [f"ddof={self.ddof}"] if self.ddof else []

    @classmethod
    def range(cls, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, (upper - lower) ** 2 / 4


@register_statistic
@dataclass(frozen=True)
class StdOfColumn(VarOfColumn):
    """The statistic ``std``."""

    kind = "std"
    elsewhere = ("sd", "stddev", "stdev")
    order = 60
    make = staticmethod(std)
    help = "The standard deviation."
    noun = "the standard deviation of {column}"
    chained = None

    @classmethod
    def range(cls, lower: float, upper: float) -> tuple[float, float]:
        return 0.0, (upper - lower) / 2
