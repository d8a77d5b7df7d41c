"""Weighted counts, sums and means of a survey, and the ratio of two sums."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, positive, show
from tacit.calls import public
from tacit.core import Number, Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError, shown_value
from tacit.expressions.grid import Grid
from tacit.report.text import for_each_group, say_step
from tacit.tables.noise import Array, Estimate, GridNoise, half_widths
from tacit.tables.query import requests
from tacit.tables.query.requests import Products, Request
from tacit.tables.statistics.base import (
    SUM_BITS,
    Aggregate,
    Clamped,
    Setting,
    TableStatistic,
    bounded,
    register_statistic,
)
from tacit.tables.statistics.covariance_and_regression import (
    Bounds,
    OfColumns,
    ProductsPart,
    of_columns,
)
from tacit.tables.statistics.moments import MomentsByGroup, SumOfColumn, SumPart, bernstein
from tacit.tables.statistics.part import LEVEL, Columns, Noise, OneNumberPart, Part
from tacit.tables.steps import Basis, VectorStep

# The ratio of two sums of the same noisy coordinates, with its interval.
#
# Let ``t_k`` be sums over the rows of a group, ``t^_k = t_k + noise_k`` what was released of them,
# and ``m = sum a_k t_k / sum b_k t_k`` for public a and b.  A mean weighted by a column, and a sum
# divided by another, are of this form; so is a plain mean.
#
# **Interval** (Fieller 1954).  Multiply out: ``sum (a_k - m b_k) t_k = 0``.  So for the true m
#
#     ``sum (a_k - m b_k) t^_k = sum (a_k - m b_k) noise_k``,
#
# a weighted sum of noises with weights that do not depend on them: it is within its quantile B(m)
# with probability ``level``.  The interval holds every m with ``|X - m Y| <= B(m)``, where X and Y
# are the noisy sums; so it holds the true one with that probability.  Nothing is assumed of Y:
# where the noise does not tell it from zero, m of any size pass, and the interval has no end.
#
# *Every m is looked at*, in cells.  The quantile of a sum of symmetric unimodal noises rises with
# the absolute value of each weight.  Those weights are linear in m, so between two points each is
# at most what it is at one of them in absolute value, and B(m) is at most the quantile of the
# larger ones.  With that number for B the m that pass in a cell are an interval, whose ends are
# solved for.  For ``|m| > 1`` (in units of the largest a over the largest b) the same is done with
# u = 1 / m and ``|u X - Y|``, in which m of infinite size is u = 0.
#
# *Public ends.*  Where no row has a b below zero, m is a mean of the rows' own ratios, weighted by
# b; so it is between the least and the greatest of these that bounds allow.  Only such m are looked
# at.  Should none of them pass, which happens at most as often as an interval may miss, all of them
# are the interval.
#
# Source: E. C. Fieller, *Some Problems in Interval Estimation*, 1954.


_CELLS = 128  # in each of the three stretches of m: below -1, between -1 and 1, above 1
_ROUNDING = 1e-12  # more than the doubles below are off, relative to the sums


@dataclass(frozen=True, eq=False)
class RatioOfSums:
    """The ratio ``sum a_k t_k / sum b_k t_k`` of noisy sums t of each group; see the module.

    >>> rows = RatioOfSums(np.array([0.0, 10.0]), np.array([1.0, 1.0]), 0.0, 10.0)
    >>> mean = rows.estimate(np.array([[60.0, 40.0]]), GridNoise("laplace", 1.0, 2.0**-20))
    >>> float(mean.value[0]), round(float(mean.lower[0]), 1), round(float(mean.upper[0]), 1)
    (4.0, 3.8, 4.2)
    """

    over: Array  # a
    under: Array  # b
    # the public ends of the ratio; infinite where there are none
    low: float
    high: float

    def estimate(self, noisy: Array, distribution: GridNoise, level: float = LEVEL) -> Estimate:
        """Return the ratios of noisy sums of shape (groups, coordinates); NaN for no end."""
        top, bottom = noisy @ self.over, noisy @ self.under
        # What is divided by is never less than one row can be.
        least = np.abs(self.under).max()
        size = np.where(np.abs(bottom) < least, np.copysign(least, bottom), bottom)
        if self.under.min() >= 0:
            size = np.maximum(bottom, least)
        elif self.under.max() <= 0:
            size = np.minimum(bottom, -least)
        low, high = self._interval(noisy, distribution, LEVEL)
        # within its interval, of the usual level so that it is the same for every level
        value = np.clip(top / size, low, high)
        weights = self.over[None, :] - value[:, None] * self.under[None, :]
        error = np.sqrt((weights**2).sum(axis=1) * distribution.variance) / np.abs(size)
        if level != LEVEL:
            low, high = self._interval(noisy, distribution, level)
        ends = (np.where(np.isinf(end), np.nan, end) for end in (low, high))
        return Estimate(value, np.minimum(error, self.high - self.low), *ends)

    def _interval(self, noisy: Array, noise: GridNoise, level: float) -> tuple[Array, Array]:
        """Return the least and the greatest m that the noise does not contradict."""
        largest, least = np.abs(self.over).max(), np.abs(self.under).max()
        unit, a, b = float(largest / least), self.over / largest, self.under / least
        low, high = self.low / unit, self.high / unit
        # m between -1 and 1; above 1 as 1 / u; below -1 as -1 / u
        stretches = []
        if low < 1 and high > -1:
            stretches.append(_passing(noisy, a, b, (max(low, -1.0), min(high, 1.0)), noise, level))
        for sign, end, other in ((1.0, high, low), (-1.0, -low, -high)):
            if end > 1:
                inverses = 1 / end, 1 / max(other, 1.0)
                first, last = _inverted(*_passing(noisy, b, sign * a, inverses, noise, level))
                stretches.append((first, last) if sign > 0 else (-last, -first))
        lower = np.min([first for first, _ in stretches], axis=0)
        upper = np.max([last for _, last in stretches], axis=0)
        none = lower > upper
        return (
            np.where(none, self.low, np.maximum(lower * unit, self.low)),
            np.where(none, self.high, np.minimum(upper * unit, self.high)),
        )


def _passing(
    noisy: Array, a: Array, b: Array, ends: tuple[float, float], noise: GridNoise, level: float
) -> tuple[Array, Array]:
    """Return the least and the greatest v between two ends with ``|X - v Y| <= B(v)``."""
    # Where none passes, the least is infinite and the greatest minus infinity.
    points = np.linspace(*ends, _CELLS + 1)
    sizes = np.abs(a[None, :] - points[:, None] * b[None, :])
    band = half_widths(noise, np.maximum(sizes[:-1], sizes[1:]), level)
    top, bottom = noisy @ a, noisy @ b
    flip = np.where(bottom < 0, -1.0, 1.0)
    top, bottom = (top * flip)[:, None], np.maximum(bottom * flip, 1e-300)[:, None]
    wide = band * (1 + 1e-9) + _ROUNDING * (np.abs(top) + bottom)
    with np.errstate(over="ignore"):
        first = np.maximum((top - wide) / bottom, points[:-1])
        last = np.minimum((top + wide) / bottom, points[1:])
    passes = first <= last
    least = np.where(passes, first, np.inf).min(axis=1)
    most = np.where(passes, last, -np.inf).max(axis=1)
    return least, most


def _inverted(first: Array, last: Array) -> tuple[Array, Array]:
    """Return the ends of ``1 / u`` for u from first to last, neither below zero."""
    some = first <= last
    with np.errstate(divide="ignore"):
        return np.where(some, 1 / last, np.inf), np.where(some, 1 / first, -np.inf)


# The sum of a column times a weight alone: the step of its chain.


@register
@dataclass(frozen=True)
class WeightedSumByGroup(VectorStep):
    """Add up a column times another in each group, over the rows that have both."""

    # **Map.** ``d -> d max |x w|`` in L1 and L2, over the corners of the bounds.  A product of two
    # numbers is linear in each, so its extremes over the box of the bounds are at corners: the
    # largest absolute value there is exactly how far one row can move the sum.  A row in which one
    # is missing adds nothing, and moves it by nothing; weights of contribution bounding only scale
    # what a row adds.
    #
    # Both columns are clamped to their bounds, on grids of ``cells`` steps of which the bounds are
    # multiples; so products are multiples of the product of the two steps, and are added up as
    # integers.

    columns: tuple[str, ...]
    bounds: tuple[tuple[str, str], ...]
    cells: tuple[int, ...]
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "weighted_sum"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        if not len(self.columns) == len(self.bounds) == len(self.cells) == 2:
            raise UsageError("a weighted sum is of a column and a weight, with bounds and cells")
        lattice, ends = Fraction(1, as_integer(self.one, "one", minimum=1)), []
        for (lower, upper), count in zip(self.bounds, self.cells, strict=True):
            low, high = as_fraction(lower), as_fraction(upper)
            step = (high - low) / as_integer(count, "cells", minimum=1)
            if low >= high or (low / step).denominator != 1:
                raise UsageError("the bounds of a sum rise, and are multiples of its grid")
            lattice *= step
            ends.append((low, high))
        stability = max(abs(x * w) for x, w in itertools.product(*ends))
        return self._end(space, Number("float", grid=lattice), stability)


def _weighted_words(step: Mapping[str, Any]) -> str:
    (x, w), (x_ends, w_ends) = step["columns"], step["bounds"]
    return (
        f"Add up {x} (clamped to [{', '.join(x_ends)}]) times {w} (clamped to "
        f"[{', '.join(w_ends)}]), in the rows that have both{for_each_group(step)}"
    )


def _weighted_moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{shown} in the sum of {' times '.join(step['columns'])}, in all"


say_step("weighted_sum", _weighted_words, _weighted_moves)


# The parts: two columns in the coordinates of corners, or one with the rows that lack it.


# Within these no product, quotient or square of what is below leaves the doubles.
_NEAR, _FAR = Fraction(1, 2**150), Fraction(2**150)


def _fine_grids(of: OfColumns, setting: Setting, per: Fraction = Fraction(1)) -> tuple[Grid, ...]:
    """Return the grid of each column, as fine as that of a sum: products of two fit 64 bits."""
    for one, times in zip(of.clamped, (per, Fraction(1)), strict=False):
        largest = max(abs(as_fraction(end or 0)) for end in (one.lower, one.upper))
        if not (_NEAR < largest < _FAR and _NEAR < largest * times < _FAR):
            scaled = "" if times == 1 else f", also times per={show(times)},"
            raise UsageError(
                f"the bounds of {one.column!r}{scaled} are too far from one, or too near to zero, "
                "for a product or a quotient: at most 2^150, and one at least 2^-150; rescale the "
                "column"
            )
    return tuple(setting.grid(type(of)(*one), SUM_BITS) for one in of.clamped)


def _ends(grid: Grid) -> tuple[Fraction, Fraction]:
    return grid.value(0), grid.value(grid.cells)


@dataclass(frozen=True)
class CornersPart(ProductsPart):
    """Sums over the corners of the bounds of two columns: any bilinear sum follows from them."""

    # A row's share of the corner (i, j) is one in all (:class:`~tacit.tables.steps.Basis`), in L1,
    # and no more in L2, whatever the bounds are.  For f linear in each column ``sum f(x, y)`` over
    # the rows is ``sum f(x_i, y_j) t_ij`` over the corners.  So numerator and denominator of a
    # ratio share their noise, which mostly cancels: two sums with noise of their own would have
    # four times the variance in L1, and up to twice in L2.

    squares = ()

    def basis(self, noise: Noise) -> Basis:
        """Return the corners, under both norms."""
        return Basis.of(tuple(grid.cells for grid in self.grids), (), True)

    def corners(self, f: Callable[[Fraction, Fraction], Fraction]) -> Array:
        """Return a function of both columns at the corners, in the order of the coordinates."""
        return np.array([float(f(*each)) for each in itertools.product(*map(_ends, self.grids))])

    def distribution(self, noise: Noise) -> GridNoise:
        """Return the noise on one coordinate."""
        basis = self.basis(noise)
        scale = basis.sensitivity(noise.norm) * noise.rows
        return noise.distribution(scale, Fraction(1, noise.one * basis.unit))

    @abstractmethod
    def answers(self, noisy: Array, noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers from noisy coordinates of shape (groups, coordinates)."""

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the answers."""
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, 4)
        return self.answers(noisy, noise, level)

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for independent values spread evenly over the bounds."""
        return float(self._expected(kind, noise, rows, LEVEL).standard_error[0])

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the longer arm of the interval, for values spread evenly; None without an end."""
        return longer_arm(self._expected(kind, noise, rows, level))

    def _expected(self, kind: str, noise: Noise, rows: float, level: float) -> Estimate:
        return self.estimates([self.basis(noise).even(rows)], noise, level)[kind]


def longer_arm(estimate: Estimate) -> float | None:
    """Return how far the interval of the first group reaches; None where it has no end."""
    arm = float(np.maximum(estimate.upper - estimate.value, estimate.value - estimate.lower)[0])
    return None if math.isnan(arm) else arm


@dataclass(frozen=True)
class WeightedPart(CornersPart):
    """The sum and the mean of a column weighted by another."""

    kinds: frozenset[str]

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"{', '.join(sorted(self.kinds))} of {' by '.join(self.columns)}"

    def settled(self) -> Part:
        """Return a part of its own for a sum of which nothing else is asked: the least noise."""
        alone = self.kinds == {WeightedSum.kind}
        return WeightedSumPart(self.columns, self.grids) if alone else self

    def answers(self, noisy: Array, noise: Noise, level: float) -> dict[str, Estimate]:
        """Return every kind that was asked."""
        totals, weights = self.corners(lambda x, w: x * w), self.corners(lambda x, w: w)
        distribution, answers = self.distribution(noise), {}
        if WeightedSum.kind in self.kinds:
            value = noisy @ totals
            half = float(half_widths(distribution, totals[None, :], level)[0])
            error = np.full_like(value, math.sqrt((totals**2).sum() * distribution.variance))
            answers[WeightedSum.kind] = Estimate(value, error, value - half, value + half)
        if WeightedMean.kind in self.kinds:
            ratio = RatioOfSums(totals, weights, *map(float, _ends(self.grids[0])))
            answers[WeightedMean.kind] = ratio.estimate(noisy, distribution, level)
        return answers

    def _expected(self, kind: str, noise: Noise, rows: float, level: float) -> Estimate:
        asked = replace(self, kinds=self.kinds | {kind})
        return asked.estimates([self.basis(noise).even(rows)], noise, level)[kind]


@dataclass(frozen=True)
class WeightedSumPart(OneNumberPart):
    """A weighted sum of which nothing else is asked: its own sensitivity is the least."""

    columns: tuple[str, ...]
    grids: tuple[Grid, ...]

    kind, floor = "weighted_sum", -np.inf

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"{self.kind} of {' by '.join(self.columns)}"

    @property
    def sensitivity(self) -> Fraction:
        """How far one row moves the sum."""
        return max(abs(x * w) for x, w in itertools.product(*map(_ends, self.grids)))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the sums, and additive noise."""
        step = WeightedSumByGroup(
            size=size,
            norm=noise.norm,
            columns=self.columns,
            bounds=tuple((str(low), str(high)) for low, high in map(_ends, self.grids)),
            cells=tuple(grid.cells for grid in self.grids),
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(self.sensitivity * noise.rows))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the rows that have both, the offsets and their product."""
        values = map(columns.value, self.columns)
        return Products(tuple(zip(values, self.grids, strict=True)), ((0,), (1,), (0, 1)))

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the sums of products of grid points: ``(f + z) (g + y)`` multiplied out."""
        f, g = (grid.first for grid in self.grids)
        sums = np.asarray(exact, dtype=object).tolist()
        return [int(f * g * n + g * z + f * y + zy) for n, z, y, zy in sums]

    def distribution(self, noise: Noise) -> GridNoise:
        x, w = self.grids
        lattice = x.step * w.step / noise.one
        return noise.distribution(self.sensitivity * noise.rows, lattice)


@dataclass(frozen=True)
class RatioPart(CornersPart):
    """The sum of a column over the sum of another."""

    per: Fraction

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"ratio of {' to '.join(self.columns)}"

    def answers(self, noisy: Array, noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the ratio."""
        over, under = self.corners(lambda x, y: x * self.per), self.corners(lambda x, y: y)
        x, y = map(_ends, self.grids)
        ends = range_of_ratio((x[0] * self.per, x[1] * self.per), y)
        ratio = RatioOfSums(over, under, *ends)
        return {Ratio.kind: ratio.estimate(noisy, self.distribution(noise), level)}


def range_of_ratio(
    x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction]
) -> tuple[float, float]:
    """Return the public ends of ``sum x / sum y`` for rows within bounds; infinite without.

    >>> zero, one, two = map(Fraction, range(3))
    >>> range_of_ratio((zero, one), (one, two)), range_of_ratio((one, two), (zero, one))
    ((0.0, 1.0), (1.0, inf))
    """
    if y[0] < 0:
        return range_of_ratio((-x[1], -x[0]), (-y[1], -y[0])) if y[1] <= 0 else (-np.inf, np.inf)
    # x / y rises with x, and over y > 0 towards zero it is of infinite size
    low = x[0] / y[1] if x[0] >= 0 else x[0] / y[0] if y[0] else -np.inf
    high = x[1] / y[1] if x[1] <= 0 else x[1] / y[0] if y[0] else np.inf
    return float(low), float(high)


@dataclass(frozen=True)
class PerRowPart(Part):
    """The sum of a column over the number of rows, with those that lack it."""

    column: str
    grid: Grid
    per: Fraction

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"ratio of {self.column} to rows"

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: one-sided sums and the rows without a value, and additive noise."""
        low, high = _ends(self.grid)
        step = MomentsByGroup(
            size=size * 3,
            norm=noise.norm,
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            degree=1,
            missing=True,
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the rows with and without a value, and the sum of the values."""
        return requests.Moments(columns.value(self.column), self.grid, squares=False)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the one-sided sums."""
        return bernstein(np.asarray(exact, dtype=object), self.grid.cells, 1, missing=True)

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the ratio."""
        low, high = (float(end * self.per) for end in _ends(self.grid))
        over, under = np.array([low, high, 0.0]), np.ones(3)
        noisy = np.asarray(released[0], dtype=np.float64).reshape(-1, 3)
        grid = Fraction(1, noise.one * self.grid.cells)
        distribution = noise.distribution(Fraction(noise.rows), grid)
        ratio = RatioOfSums(over, under, min(low, 0.0), max(high, 0.0))
        return {Ratio.kind: ratio.estimate(noisy, distribution, level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error for values spread evenly over the bounds, in every row."""
        even = [rows / 2, rows / 2, 0.0]
        return float(self.estimates([even], noise)[kind].standard_error[0])

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the longer arm of the interval, for values spread evenly over the bounds."""
        return longer_arm(self.estimates([[rows / 2, rows / 2, 0.0]], noise, level)[kind])


# What is asked.


@public
def weighted_count(
    weight: str, lower: NumberLike | None = None, upper: NumberLike | None = None
) -> Aggregate:
    """Add up the weights of a survey: how many people of the population its rows stand for.

    A missing weight adds nothing; one beyond the bounds, such as a negative one, counts as the
    nearer bound.  One row moves the answer by at most ``upper``.

    Args:
        weight: the column of the weights.
        lower: the least weight that counts, zero or more; by default that of the declared data set.
        upper: the greatest, likewise.

    Raises:
        UsageError: bounds that do not rise, or a lower one below zero.

    Source: Horvitz and Thompson 1952, for the estimator.

    >>> print(weighted_count("weight", 0, 50))
    weighted_count(weight, 0, 50)
    """
    if not isinstance(weight, str):
        raise UsageError(f"a column is named by text, not by {shown_value(weight)}")
    made = bounded(WeightedCount, weight, lower, upper)
    _check_weight(made.clamped[0])
    return made


@public
def weighted_sum(x: str, weight: str, bounds: Bounds | None = None) -> Aggregate:
    """Add up a column times the weights of a survey: the total of the population.

    A row in which the value or the weight is missing adds nothing.  Values and weights are clamped
    to their bounds, so a negative weight counts as the lower one.

    Args:
        x: a column of numbers, or of true and false.
        weight: the column of the weights.
        bounds: of both, by name, the lower one of the weight zero or more; those of a data set
            where it declares them.

    Raises:
        UsageError: one column twice, bounds that do not rise, or weights below zero.

    Source: Horvitz and Thompson 1952, for the estimator.

    >>> print(weighted_sum("pay", "weight", bounds={"pay": (0, 1000), "weight": (0, 50)}))
    weighted_sum(pay, 0, 1000, weight, 0, 50)
    """
    return WeightedSum.of([x, weight], bounds)


@public
def weighted_mean(x: str, weight: str, bounds: Bounds | None = None) -> Aggregate:
    """Average a column with the weights of a survey; of true and false it is the proportion.

    The sum of value times weight over the sum of the weights, both over the rows that have a value
    and a weight.  Values and weights are clamped to their bounds, so a negative weight counts as
    the lower one.

    Args:
        x: a column of numbers, or of true and false (a weighted proportion).
        weight: the column of the weights.
        bounds: of both, by name, the lower one of the weight zero or more; those of a data set
            where it declares them.

    Raises:
        UsageError: one column twice, bounds that do not rise, or weights below zero.

    Source: Hájek 1971, for the estimator; Fieller 1954, for the interval.

    >>> print(weighted_mean("employed", "weight", {"employed": (0, 1), "weight": (0, 50)}))
    weighted_mean(employed, 0, 1, weight, 0, 50)
    """
    return WeightedMean.of([x, weight], bounds)


@public
def ratio(x: str, y: str = "*", bounds: Bounds | None = None, *, per: NumberLike = 1) -> Aggregate:
    """Divide the sum of a column by the sum of another, or by the number of rows.

    Of two columns, rows that have both are added up.  By rows, as ``sum(x) / count(*)`` in SQL, a
    row without a value adds nothing to the sum and counts as a row.  Where the noise may be as
    large as what is divided by, the interval is that of the bounds, or has no end.

    Args:
        x: the column of the numerator.
        y: the column of the denominator; ``"*"`` for the number of rows.
        bounds: of the columns, by name; those of a data set where it declares them.
        per: what the ratio is multiplied by: 1000 for a rate per 1,000.

    Raises:
        UsageError: the same column twice, bounds that do not rise or are of another column, or per
            beyond 2^-150 and 2^150.

    Source: Fieller 1954, for the interval.

    >>> print(ratio("visits", "days", {"visits": (0, 20), "days": (0, 365)}, per=1000))
    ratio(visits, 0, 20, days, 0, 365, per=1000)
    >>> print(ratio("visits", bounds={"visits": (0, 20)}))
    ratio(visits, 0, 20, *)
    """
    return replace(Ratio.of([x, y], bounds), per=_read_per(per))


def _read_per(per: object) -> Fraction:
    number = positive(per, "per")
    if not _NEAR <= number <= _FAR:
        raise UsageError(f"per is from 2^-150 to 2^150, not {show(number)}; rescale the column")
    return number


def _check_weight(weight: Clamped) -> None:
    if weight.lower is not None and weight.lower < 0:
        raise UsageError(
            f"the weight {weight.column!r} has the lower bound {show(weight.lower)}, and a weight "
            "is not negative: give bounds such as (0, 50); a negative one counts as the lower bound"
        )


@register_statistic
@dataclass(frozen=True)
class WeightedCount(TableStatistic):
    """The statistic ``weighted_count``."""

    kind = "weighted_count"
    elsewhere = ("svytotal", "sum_of_weights")
    order = 120
    make = staticmethod(weighted_count)
    help = "The sum of the weights of a survey."
    noun = "the number of rows weighted by {column}, where a missing weight adds nothing"
    amount = True
    in_lab = "ask tc.sum for sensitivities"

    def key(self) -> str:
        return SumOfColumn.kind

    def estimate(
        self,
        parts: Sequence[Part],
        estimates: Sequence[Mapping[str, Estimate]],
        noises: Sequence[Noise],
        level: float = LEVEL,
    ) -> Estimate:
        """Return the sum of the weights, with an interval that is not below zero."""
        one = super().estimate(parts, estimates, noises, level)
        return replace(one, lower=np.maximum(one.lower, 0), upper=np.maximum(one.upper, 0))

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        """Return the statistic with other bounds of the weight."""
        _check_weight(bounded[0])
        return super().with_bounds(bounded)

    def part(self, setting: Setting, before: Part | None) -> Part:
        return SumPart(self.require_column(), setting.grid(self, SUM_BITS))


@dataclass(frozen=True)
class _Weighted(OfColumns):
    """A statistic of a column and a weight."""

    fields = ("x", "weight", "bounds")

    @classmethod
    def of(cls, columns: Sequence[str], bounds: Bounds | None) -> Self:
        """Return the question about a column and its weight."""
        if len(columns) != 2:
            raise UsageError(f"{cls.kind} takes a column and a weight, not {len(columns)} columns")
        made = of_columns(cls, columns, bounds)
        _check_weight(made.others[0])
        return made

    def with_bounds(self, bounded: Sequence[Clamped]) -> Self:
        _check_weight(bounded[1])
        return super().with_bounds(bounded)

    def shared(self) -> Any:
        return _Weighted, self.clamped

    def part(self, setting: Setting, before: Part | None) -> Part:
        beside = before.kinds if isinstance(before, WeightedPart) else frozenset()
        columns = tuple(one.column for one in self.clamped)
        return WeightedPart(columns, _fine_grids(self, setting), beside | {self.kind})


@register_statistic
@dataclass(frozen=True)
class WeightedSum(_Weighted):
    """The statistic ``weighted_sum``."""

    kind = "weighted_sum"
    elsewhere = ("weighted_total",)
    order = 122
    make = staticmethod(weighted_sum)
    help = "The sum of a column times a weight."
    noun = "the sum of {column} weighted by {others}, over the rows that have both"
    amount = True


@register_statistic
@dataclass(frozen=True)
class WeightedMean(_Weighted):
    """The statistic ``weighted_mean``."""

    kind = "weighted_mean"
    elsewhere = ("weighted_avg", "weighted_average", "weighted_proportion", "wavg", "svymean")
    order = 124
    make = staticmethod(weighted_mean)
    help = "The mean of a column weighted by another."
    noun = "the mean of {column} weighted by {others}, over the rows that have both"


@register_statistic
@dataclass(frozen=True)
class Ratio(OfColumns):
    """The statistic ``ratio``."""

    per: Fraction = Fraction(1)

    kind = "ratio"
    elsewhere = ("svyratio", "rate", "ratio_of_sums")
    order = 126
    make = staticmethod(ratio)
    help = "The sum of a column over that of another, or over the rows."
    noun = "the sum of {column} over the sum of {others}, of the rows that have both"
    fields = ("x", "y", "bounds")
    optional = ("per",)
    bare: ClassVar[Mapping[str, str]] = {"y": "*"}

    @classmethod
    def of(cls, columns: Sequence[str], bounds: Bounds | None) -> Self:
        """Return the question about the numerator and the denominator."""
        if len(columns) != 2:
            raise UsageError(f"ratio takes a column and what to divide it by, not {len(columns)}")
        x, y = columns
        if y != "*":
            return of_columns(cls, columns, bounds)
        if not isinstance(x, str) or not x:
            raise UsageError(f"a column is named by text, not by {shown_value(x)}")
        # as of two columns, which names what is wrong with the bounds
        made = of_columns(cls, [x, "*"], bounds)
        if made.others != (Clamped("*"),):
            raise UsageError("ratio divides by the number of rows, which has no bounds")
        return replace(made, others=())

    @classmethod
    def note(cls, column: Mapping[str, Any]) -> str:
        """Describe why some intervals have no end."""
        ends = list(zip(column["low"], column["high"], strict=True))
        open_ended = sum(None in each for each in ends)
        if not open_ended:
            return ""
        some = "" if open_ended == len(ends) else f" in {open_ended} of {len(ends)} groups"
        return (
            f"the interval has no end on one side or both{some}: what it divides by may be zero, "
            "for all that the noise lets one see"
        )

    def label(self) -> str:
        return super().label() if self.others else f"{self.kind}_{self.require_column()}_rows"

    def _shown(self) -> tuple[list[str], list[str]]:
        before, after = super()._shown()
        per = [] if self.per == 1 else [f"per={show(self.per)}"]
        return before, [*after, *([] if self.others else ["*"]), *per]

    def _fields_to_json(self) -> dict[str, object]:
        per = {} if self.per == 1 else {"per": str(self.per)}
        return {"others": [], **super()._fields_to_json(), **per}

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> TableStatistic:
        own = (described["column"], described["lower"], described["upper"])
        columns = [own, *(described["others"] or [("*", None, None)])]
        bounds = {name: (low, high) for name, low, high in columns if low is not None}
        names = [str(name) for name, _, _ in columns]
        return replace(cls.of(names, bounds), per=_read_per(described.get("per", 1)))

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        per = as_fraction(described.get("per", 1))
        more = "" if per == 1 else f", times {show(per)}"
        if described["others"]:
            return super().words(described) + more
        ends = ", ".join(show(as_fraction(described[end])) for end in ("lower", "upper"))
        column = described["column"]
        return (
            f"the sum of {column} over the number of rows (values clamped to [{ends}], a missing "
            f"one adds nothing){more}"
        )

    def shared(self) -> Any:
        return Ratio, self.clamped, self.per

    def part(self, setting: Setting, before: Part | None) -> Part:
        columns = tuple(one.column for one in self.clamped)
        grids = _fine_grids(self, setting, self.per)
        if len(columns) == 1:
            return PerRowPart(columns[0], grids[0], self.per)
        return RatioPart(columns, grids, self.per)
