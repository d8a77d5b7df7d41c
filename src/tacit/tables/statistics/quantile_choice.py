"""Private quantiles of a column in each group, by the exponential mechanism on the grid."""

# The cost, its sensitivity and the error are stated and proven in
# :mod:`tacit.mechanisms.private_quantile`.  A row is in one group, so d rows move the sum
# over groups of the largest change of a cost by at most ``d max(a, b - a)`` for the quantile
# ``a / b``.

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_fraction, as_integer, positive, show
from tacit.core import (
    Measure,
    Measurement,
    Metric,
    PureDP,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    ZeroConcentratedDP,
    register,
)
from tacit.core.conversions import of_range
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.mechanisms.private_quantile import BinCounts, choose_cells, error_in_cost
from tacit.report.text import clamped_column, for_each_group, say_step
from tacit.tables.query.requests import Cells, Request
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part
from tacit.tables.steps import CountedGroups, TableStep


@dataclass(frozen=True)
class CostTables(CountedGroups):
    """For each group, the cost of every candidate on the grid (stored as a counted histogram)."""

    groups: int
    cells: int

    kind = "costs"
    noun = "costs of {} candidates"


@dataclass(frozen=True)
class SumOfLargestChanges(Metric):
    """The largest change of a cost in each group, added over the groups.

    >>> SumOfLargestChanges().distance([[0, 2], [5, 5]], [[1, 2], [5, 2]])
    Fraction(4, 1)
    """

    carries = (CostTables,)
    sentence = "largest change of a cost, added over groups"

    def distance(self, u: Any, v: Any) -> Fraction:
        """Compare explicit costs, group by group."""
        return sum(
            (
                max((Fraction(abs(a - b)) for a, b in zip(left, right, strict=True)))
                for left, right in zip(u, v, strict=True)
            ),
            Fraction(0),
        )


@lru_cache
def _share(q: str) -> Fraction:
    return as_fraction(q, "q")


def cost_sensitivity(q: Fraction, one: int) -> int:
    """Return the sensitivity of a cost to one row: ``one max(a, b - a)`` for ``q = a / b``."""
    return max(q.numerator, q.denominator - q.numerator) * one


@register
@dataclass(frozen=True)
class QuantileCosts(TableStep):
    """The costs of all candidates for a quantile of a column, in each group; see the module."""

    # column, lower, upper, cells: the column and its grid of ``cells`` equal steps
    column: str
    lower: str
    upper: str
    cells: int
    q: str  # the quantile in [0, 1], as text
    size: int
    one: int = 1  # rows carry weights in multiples of ``1 / one``, and costs are counted in those
    by: tuple[str, ...] = ()  # the columns that make the groups

    name: ClassVar[str] = "quantile_costs"

    def __post_init__(self) -> None:
        q = _share(self.q)
        if not 0 <= q.numerator <= q.denominator:
            raise UsageError(f"a quantile must be from 0 to 1, not {self.q}")

    @cached_property
    def sensitivity(self) -> int:
        """The sensitivity of a cost to one row: see :func:`cost_sensitivity`."""
        return cost_sensitivity(_share(self.q), self.one)

    def build(self, space: Space) -> Transformation:
        """Return the costs on a table of rows."""
        self._require(space, SymmetricDistance)
        cells = as_integer(self.cells, "cells", minimum=1)
        output = Space(CostTables(self.size, cells), SumOfLargestChanges())
        return Transformation(
            space,
            output,
            lambda answers: answers.of(self),
            lambda d: d * self.sensitivity,
            step=self,
        )


@register
@dataclass(frozen=True)
class ChooseQuantile(Step):
    """In each group choose a candidate with probability proportional to ``exp(-cost / scale)``."""

    # **Map.** ``d -> 2 d / scale`` in pure DP.  In a group whose costs move by at most d_g, each
    # weight and the normalising sum move by a factor of at most ``exp(d_g / scale)``; the groups'
    # choices are independent, so their losses add, and the d_g add to d.
    #
    # In zCDP ``d -> d^2 / (2 scale^2)``: an exponential mechanism whose log ratios all lie in an
    # interval of length ``e = 2 d_g / scale`` is ``e^2 / 8``-zCDP (Cesar and Rogers, ALT 2021; by
    # Hoeffding's lemma), and the sum of squares is at most the square of the sum.  The intervals of
    # all groups add up to one of length ``2 d / scale``: the losses are those of that range.

    scale: Any
    target: int  # in units of the cost; 0 asks for the quantile itself
    q: str  # the quantile, as text
    measure: str = "PureDP"  # ``"PureDP"`` or ``"ZeroConcentratedDP"``

    name: ClassVar[str] = "choose_quantile"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def build(self, space: Space) -> Measurement:
        """Return the choice on the costs of a quantile."""
        if not isinstance(space.domain, CostTables):
            raise MismatchError(f"choose_quantile works on the costs of a quantile, not on {space}")
        cells, rate = space.domain.cells, 1 / Fraction(self.scale)
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()
        q = _share(self.q)

        def choose(histograms: Any) -> list[int]:
            return choose_cells(histograms, cells, q, self.target, rate)

        def loss(d: Fraction) -> Fraction:
            return 2 * d * rate if pure else (d * rate) ** 2 / 2

        return Measurement(
            space, measure, choose, loss, losses=lambda d: of_range(2 * d * rate), step=self
        )


@dataclass(frozen=True)
class ChoicePart(Part):
    """A part whose answer follows from quantiles that are chosen among the points of a grid."""

    # column, grid: the column of the statistic, and the candidates for its value
    column: str
    grid: Grid

    error_unit: ClassVar[str] = "rows in rank"

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return how far off in rank every point is at most, at the level, in *rows*."""
        return self.half_width(kind, noise, rows, LEVEL)

    @abstractmethod
    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far off in rank every point is at most, at a level, in *rows*."""

    def costs(self, q: Fraction, size: int, by: tuple[str, ...], one: int) -> QuantileCosts:
        """Return the step of the costs: how far in rank each candidate is from a quantile."""
        low, high = self.grid.value(0), self.grid.value(self.grid.cells)
        return QuantileCosts(
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            q=str(q),
            size=size,
            one=one,
            by=by,
        )

    def choice(
        self, q: Fraction, noise: Noise, share: Fraction, side: int = 0, beta: float = 1.0
    ) -> ChooseQuantile:
        """Return the choice of a quantile, or of an end that is on one side of it."""
        # **Ends.**  An end at ``side = -1`` aims at ``x + b`` below the quantile ``a / b``, in
        # units of the cost, where a choice is off by x or more with probability at most beta
        # (:func:`error_in_cost`), and b is a whole row.  Otherwise it is a point c with ``low(c) <
        # -b``, or the lowest point of all.  No point v below c is an ``a / b``-quantile: ``high(v)
        # <= low(c) < 0``; and c is a row or more under it, so below what interpolates between
        # neighbouring rows too.  At ``side = 1`` it is the same, mirrored.
        #
        # side: -1 for an end below, 1 for one above, 0 for the quantile itself.
        scale = noise.split(share).choice_scale(cost_sensitivity(q, noise.one))
        target = 0
        if side:
            slack = error_in_cost(self.grid.cells, scale, beta)
            target = side * (slack + q.denominator * noise.one)
        measure = "PureDP" if noise.kind == "laplace" else "ZeroConcentratedDP"
        return ChooseQuantile(scale, target, str(q), measure)

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the values that occur, on the grid, and how many of each."""
        return Cells(columns.value(self.column), self.grid)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the counted values as they are: the costs follow from them."""
        return BinCounts(exact)

    def points(self, released: Sequence[Any]) -> list[NDArray[np.float64]]:
        """Return the numbers that were chosen, from their positions on the grid."""
        first, step = float(self.grid.value(0)), float(self.grid.step)
        return [first + step * np.asarray(cells, dtype=np.float64) for cells in released]


def error_of_choice(
    grid: Grid, q: Fraction, rows: NDArray[np.float64], unit: int, scale: Fraction
) -> float:
    """Return the mean distance of a quantile chosen on such ascending rows from the true one."""
    # The exponential mechanism takes a point of the grid with probability proportional to
    # ``exp(-cost / scale)``; the cost rises by ``b unit`` for each row of rank that it is off, for
    # the quantile ``a / b``.  On a grid of step one, that of whole numbers, the truth is rounded to
    # it: rows are whole numbers there, and so is their quantile.
    low, high = float(grid.value(0)), float(grid.value(grid.cells))
    step = (high - low) / grid.cells
    points = low + np.arange(grid.cells + 1) * step
    share = (np.arange(len(rows)) + 0.5) / len(rows)
    rank = np.interp(points, [low, *rows, high], [0.0, *share, 1.0])
    off = np.abs(rank - float(q)) * len(rows) * q.denominator * unit
    weights = np.exp(-off / float(scale))
    true = float(np.interp(float(q), share, rows))
    far = np.abs(points - (points[round(true - low)] if step == 1 else true))
    return float((far * weights).sum() / weights.sum())


def _costs(step: Mapping[str, Any]) -> str:
    column, groups = clamped_column(step), for_each_group(step)
    return f"Score each possible value of {column}, by its distance in rank{groups}"


def _moved_costs(step: Mapping[str, Any], shown: str) -> str:
    rank = as_fraction(step["distance"]) / as_fraction(step["one"])
    return f"{show(rank)} rows in rank"  # a rank is counted in parts of a row


def _choose(step: Mapping[str, Any]) -> str:
    aim = "the rank asked for" if not step.get("target") else "the rank where the interval ends"
    return f"Draw a value at random; values nearer to {aim} are more likely"


say_step("quantile_costs", _costs, _moved_costs)
say_step("choose_quantile", _choose)
