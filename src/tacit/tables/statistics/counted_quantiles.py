"""Quantiles of a column of few possible values, from noisy counts of all of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, ClassVar

import numpy as np

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
from tacit.errors import MismatchError, UsageError
from tacit.expressions.grid import Grid
from tacit.noise import discrete_gaussian, discrete_laplace
from tacit.report.text import clamped_column, for_each_group, say_step
from tacit.tables.noise import Array, Estimate, GridNoise, half_widths
from tacit.tables.query.requests import Cells, Request
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part
from tacit.tables.steps import CountedGroups, TableStep
from tacit.workload.range_strategies import short_strategy
from tacit.workload.strategies import Strategy
from tacit.workload.structured import decoded

# How many rows each cell of a grid has.


@dataclass(frozen=True)
class CellTables(CountedGroups):
    """For each group, how many rows each cell of a grid has."""

    groups: int
    cells: int

    kind = "cells"
    noun = "counts of {} cells"


@dataclass(frozen=True)
class SumOfCountChanges(Metric):
    """The changes of all counts of cells, added over cells and groups.

    >>> SumOfCountChanges().distance([([0, 3], [5, 1])], [([0, 2], [4, 1])])
    Fraction(3, 1)
    """

    carries = (CellTables,)
    sentence = "changes of the counts of cells, added up"

    def distance(self, u: Any, v: Any) -> Fraction:
        """Compare counts cell by cell, group by group."""
        total = 0
        for left, right in zip(u, v, strict=True):
            one, two = (
                {int(c): int(n) for c, n in zip(*each, strict=True)} for each in (left, right)
            )
            total += sum(abs(one.get(c, 0) - two.get(c, 0)) for c in one.keys() | two.keys())
        return Fraction(total)


@register
@dataclass(frozen=True)
class CountedCells(TableStep):
    """Count the rows of a column in each cell of a grid, in each group."""

    # **Map.** ``d -> d one``: a row is in one cell of one group, or in none, and a row's weight is
    # at most ``one`` in the unit of the counts.

    # column, lower, upper, cells: the column and its grid of ``cells`` equal steps
    column: str
    lower: str
    upper: str
    cells: int
    size: int  # how many numbers are released in the end, ``width`` of each group
    width: int = 1
    one: int = 1  # rows carry weights in multiples of ``1 / one``, and are counted in those
    by: tuple[str, ...] = ()  # the columns that make the groups

    name: ClassVar[str] = "counted_cells"

    def build(self, space: Space) -> Transformation:
        """Return the counts on a table of rows."""
        self._require(space, SymmetricDistance)
        cells, one = as_integer(self.cells, "cells", minimum=1), as_integer(self.one, "one")
        output = Space(CellTables(self.size // self.width, cells), SumOfCountChanges())
        return Transformation(
            space, output, lambda answers: answers.of(self), lambda d: d * one, step=self
        )


# Sums of the counts of cells, with noise: what the quantiles follow from.
#
# **Map.**  Let the counts of cells change by d in all, over cells and groups.  A strategy takes
# each cell to a column of whole numbers, whose largest norm is its sensitivity s.  So all sums
# change by at most ``d s`` in that norm (triangle inequality): the loss is ``d s / scale`` for
# Laplace noise and the L1 norm, and ``(d s / scale)^2 / 2`` in zCDP for Gaussian noise and the L2
# norm.


def strategy_of(step: Mapping[str, Any]) -> Strategy:
    """Return the strategy of a step, with the sensitivity of the norm of its noise."""
    return decoded(step["sums"], "L1" if step["measure"] == PureDP.__name__ else "L2")


@register
@dataclass(frozen=True)
class SumCells(Step):
    """Add up the counts of cells in several ways, in each group, and add noise to each sum."""

    sums: Any  # the strategy, as :attr:`tacit.workload.strategies.Strategy.form` has it
    scale: Any  # of the noise, in the unit of the counts
    measure: str = "PureDP"  # ``"PureDP"`` or ``"ZeroConcentratedDP"``

    name: ClassVar[str] = "sum_cells"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def __hash__(self) -> int:
        return hash((self.name, self.scale, self.measure, str(self.sums)))

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy, with the sensitivity of the norm of the noise."""
        return strategy_of({"sums": self.sums, "measure": self.measure})

    def build(self, space: Space) -> Measurement:
        """Return the noisy sums of the counts of cells."""
        if not isinstance(space.domain, CellTables):
            raise MismatchError(f"{self.name} works on the counts of cells, not on {space}")
        cells, strategy, scale = space.domain.cells + 1, self.strategy, Fraction(self.scale)
        if strategy.cells != cells:
            raise UsageError(f"the sums are of {strategy.cells} cells, and there are {cells}")
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()
        moved = strategy.sensitivity / scale

        def noisy(histograms: Any) -> list[int]:
            if not len(histograms):  # where no key was released
                return []
            tables = np.zeros((cells, len(histograms)), dtype=object)
            for group, (at, count) in enumerate(histograms):
                tables[np.asarray(at, dtype=np.int64), group] = np.asarray(count, dtype=object)
            return list(chain.from_iterable(noisy_sums(strategy, scale, pure, tables)))

        def loss(d: Fraction) -> Fraction:
            return d * moved if pure else (d * moved) ** 2 / 2

        return Measurement(space, measure, noisy, loss, step=self)


def noisy_sums(strategy: Strategy, scale: Fraction, pure: bool, tables: Any) -> list[list[int]]:
    """Return the sums of each column of counts, with Laplace (pure) or Gaussian noise."""
    exact = strategy.combined(tables).T
    draw = discrete_laplace if pure else discrete_gaussian
    noise = draw(scale, exact.size).reshape(exact.shape).tolist()
    return [
        [int(a) + b for a, b in zip(*each, strict=True)]
        for each in zip(exact.tolist(), noise, strict=True)
    ]


# Quantiles from the sums.
#
# **Estimate.**  The counts of the cells follow by least squares, hence ``F(c)``, the rows up to the
# cell c, and n, all rows; the quantile q is the first cell beyond those with ``F(c) < q n``, in
# number.
#
# **Interval.**  Let B(c) be the rows before a cell.  With ``B(c) <= q n - 1`` no quantile is below
# c, interpolated between neighbouring rows or not, and with ``F(c) >= q n + 1`` none is above
# (:mod:`tacit.tables.statistics.percentiles`).  Noisy ``B(c) - q n`` and ``F(c) - q n`` are
# weighted sums of independent noises, each within its half-width t(c) on either side but for half
# of the chance.  The cells are gone through from the lowest on, as long as the noisy number plus
# t(c) is at most -1; the last is the lower end.  The first cell that is no lower end is one cell,
# whatever the noise; for a wrong end it has to pass.  From the highest cell down it is the same.
# So an interval misses with the chance of both sides at most, and two quantiles by half of it each
# hold together.


_MEAN_SIZE = math.erf(1 / math.sqrt(math.pi))  # the level of a normal mean size
MAX_CELLS = 128  # beyond that many possible values a strategy takes long to find


@lru_cache(maxsize=256)
def reaches(
    strategy: Strategy, q: float, distribution: GridNoise, level: float
) -> tuple[Array, Array]:
    """Return t for the rows before each cell and up to each, less q of all; and the last index."""
    upto = np.cumsum(strategy.inverse, axis=0)
    weights = np.vstack([np.zeros_like(upto[:1]), upto]) - q * upto[-1]
    each = half_widths(distribution, weights, level)
    return each[:-1], each[1:]


@dataclass(frozen=True)
class CountingPart(Part):
    """Quantiles of a column from noisy counts of cells, or of groups of them; see the module."""

    column: str
    grid: Grid
    shares: tuple[Fraction, ...]  # rising
    kinds: tuple[str, ...]  # of the statistics that it answers
    chosen_because: str = ""  # why it answers, in words

    error_unit: ClassVar[str] = "rows in rank"

    @property
    def title(self) -> str:
        """Describe the part."""
        return f"{self.kinds[0].replace('_', ' ')} of {self.column}"

    @property
    @abstractmethod
    def mechanism(self) -> str:
        """Describe in words what answers."""

    @abstractmethod
    def strategy(self, norm: str) -> Strategy:
        """Return what is added up for noise of a norm."""

    def counting(self, noise: Noise) -> Noise:
        """Return what the noise of the sums may use."""
        return noise

    def limits(self, chosen: Array, index: int) -> tuple[Any, Any]:
        """Return the cells that the value of a quantile is between."""
        return 0, self.grid.cells

    @abstractmethod
    def borders(self, chosen: Array) -> tuple[Array, Array]:
        """Return the first and the last cell of what is counted, from the cells released before."""

    @property
    def chosen_cells(self) -> int:
        """How many cells are released of a group before the sums: some for each quantile."""
        return 0

    more_numbers: ClassVar[int] = 0  # how many are released of a group after the sums

    @abstractmethod
    def last(self, strategy: Strategy, noise: Noise) -> Step:
        """Return the step that releases the sums."""

    def distribution(self, strategy: Strategy, noise: Noise) -> GridNoise:
        """Return the noise of the sums, in *rows*."""
        return noise.distribution(noise.rows * strategy.sensitivity, Fraction(1, noise.one))

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts of cells, and noisy sums of them."""
        strategy = self.strategy(noise.norm)
        width = self.chosen_cells + strategy.combinations + self.more_numbers
        counted = CountedCells(
            column=self.column,
            lower=str(self.grid.value(0)),
            upper=str(self.grid.value(self.grid.cells)),
            cells=self.grid.cells,
            size=size * width,
            width=width,
            one=noise.one,
            by=by,
        )
        return [(counted, self.last(strategy, noise))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the values that occur, on the grid, and how many of each."""
        return Cells(columns.value(self.column), self.grid)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the counted values as they are."""
        return exact

    def level_of_each(self, level: float) -> float:
        """Return the level of each quantile, of several that make one number together."""
        together = len(self.shares) if self._difference else 1
        return 1 - (1 - level) / together

    @property
    def _difference(self) -> bool:
        return "interquartile_range" in self.kinds

    def counts_upto(self, strategy: Strategy, released: Any, noise: Noise) -> tuple[Array, Array]:
        """Return the cells released before the sums, and the rows up to each that is counted."""
        width = self.chosen_cells + strategy.combinations
        noisy = np.array(released, dtype=np.float64).reshape(-1, width)
        chosen, noisy = noisy[:, : self.chosen_cells], noisy[:, self.chosen_cells :]
        no_groups = np.zeros((strategy.cells, 0))
        counts = strategy.estimated(noisy.T / noise.one) if len(noisy) else no_groups
        return chosen, np.cumsum(counts, axis=0).T

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the quantiles, or the difference of two; without standard errors."""
        strategy = self.strategy(noise.norm)
        chosen, upto = self.counts_upto(strategy, released[0], noise)
        before = np.pad(upto, ((0, 0), (1, 0)))[:, :-1]
        starts, stops = self.borders(chosen)
        distribution = self.distribution(strategy, self.counting(noise))
        cells = []
        for index, q in enumerate(map(float, self.shares)):
            wanted = q * upto[:, -1:]
            below, above = reaches(strategy, q, distribution, self.level_of_each(level))
            low = np.logical_and.accumulate(before - wanted + below <= -1, axis=1).sum(axis=1) - 1
            over = (upto - wanted - above >= 1)[:, ::-1]
            high = strategy.cells - np.logical_and.accumulate(over, axis=1).sum(axis=1)
            place = (upto < np.maximum(wanted, 0.0)).sum(axis=1)
            at = np.minimum(np.stack((place, np.maximum(low, 0), high), axis=1), strategy.cells - 1)
            here = [np.take_along_axis(each, at[:, :1], axis=1)[:, 0] for each in (before, upto)]
            share = (wanted[:, 0] - here[0]) / np.maximum(here[1] - here[0], 1e-300)
            (start, lower, _), (stop, _, upper) = (
                np.take_along_axis(each, at, axis=1).T for each in (starts, stops)
            )
            point = start + np.clip(share, 0.0, 1.0) * np.maximum(stop - start, 0.0)
            point = np.clip(np.floor(point + 0.5), *self.limits(chosen, index))
            cells.append(np.clip(np.stack((point, lower, upper)), 0, self.grid.cells))
        first, step = float(self.grid.value(0)), float(self.grid.step)
        value, lower, upper = first + step * np.stack(cells, axis=-1)
        value = np.maximum.accumulate(value, axis=1)
        if self._difference:
            value, lower, upper = (
                np.maximum(a[:, 1] - b[:, 0], 0.0)
                for a, b in ((value, value), (lower, upper), (upper, lower))
            )
        elif "percentiles" not in self.kinds:
            value, lower, upper = (each[:, 0] for each in (value, lower, upper))
        unknown = np.full_like(value, np.nan)
        return dict.fromkeys(self.kinds, Estimate(value, unknown, lower, upper))

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error in *rows*: how far off in rank the answer is, at the level."""
        return self.half_width(kind, noise, rows, LEVEL)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far off in rank each quantile is at most, at a level, in *rows*."""
        return self.farthest(noise, level) + self.beside(noise)

    def error_on(self, noise: Noise, rows: Array) -> float:
        """Return the mean error of the first quantile of such ascending rows, without data."""
        # The noise of a count is nearly normal, and so its mean size is the half-width at this
        # level; the quantile is off by as many rows on either side.
        off = self.farthest(noise, _MEAN_SIZE) / len(rows)
        shares = (np.arange(len(rows)) + 0.5) / len(rows)
        ends = [float(self.grid.value(cell)) for cell in (0, self.grid.cells)]
        q = float(self.shares[0])
        below, true, above = np.interp(
            [q - off, q, q + off], [0.0, *shares, 1.0], [ends[0], *rows, ends[1]]
        )
        return float(above - true + true - below) / 2

    @abstractmethod
    def farthest(self, noise: Noise, level: float) -> float:
        """Return the largest t at the cells where quantiles are expected, in *rows*."""

    def beside(self, noise: Noise) -> float:
        """Return how much farther an end is than the noise takes it, in *rows*."""
        return 1.0

    def interval(self, noise: Noise, level: float) -> float:
        """Return how far in rank an end of the interval is expected to reach, in *rows*."""
        # The end is where the noise passes t, which has about the same quantile on one side.
        passed = self.farthest(noise, LEVEL) + self.farthest(noise, 2 * level - 1)
        return passed + self.beside(noise)


@dataclass(frozen=True)
class CountedQuantilesPart(CountingPart):
    """Quantiles of a column from noisy counts of all its possible values."""

    @property
    def cells(self) -> int:
        """The number of possible values."""
        return self.grid.cells + 1

    @cached_property
    def _strategies(self) -> dict[str, Strategy]:
        return {}

    def strategy(self, norm: str) -> Strategy:
        """Return what is added up for noise of a norm."""
        if norm not in self._strategies:
            self._strategies[norm] = short_strategy("prefix_sums", self.cells, norm)
        return self._strategies[norm]

    def use_stated(self, steps: Iterable[Mapping[str, Any]]) -> None:
        """Take the strategy that a step of a certificate states, if it is about as many cells."""
        for step in steps:
            if step["step"] != SumCells.name:
                continue
            stated = strategy_of(step)
            if stated.cells == self.cells:
                stated.require_all_cells()
                self._strategies[stated.norm] = stated

    def last(self, strategy: Strategy, noise: Noise) -> Step:
        """Return the noisy sums."""
        scale = noise.scale(noise.rows * noise.one * strategy.sensitivity)
        measure = "PureDP" if noise.kind == "laplace" else "ZeroConcentratedDP"
        return SumCells(strategy.form, scale, measure)

    def borders(self, chosen: Array) -> tuple[Array, Array]:
        """Return each cell as its own first and last."""
        every = np.broadcast_to(np.arange(float(self.cells)), (len(chosen), self.cells))
        return every, every

    def farthest(self, noise: Noise, level: float) -> float:
        """Return t at the cells where the quantiles of evenly spread rows are, the largest."""
        strategy = self.strategy(noise.norm)
        distribution = self.distribution(strategy, noise)
        places = [(q, math.floor(q * self.cells)) for q in map(float, self.shares)]
        level = self.level_of_each(level)
        each = [
            reaches(strategy, q, distribution, level)[0][min(at, self.grid.cells)]
            for q, at in places
        ]
        return float(max(each))

    @property
    def mechanism(self) -> str:
        """Describe in words what answers."""
        return f"noisy counts of all {self.cells} possible values"


def _sums_words(step: Mapping[str, Any]) -> str:
    many = strategy_of(step).combinations
    return f"Add up these counts in {many} ways, and add random noise to each sum"


def _words(step: Any) -> str:
    return f"Count the rows at each possible value of {clamped_column(step)}{for_each_group(step)}"


def _moved(step: Any, shown: str) -> str:
    return f"{show(as_fraction(step['distance']) / as_fraction(step['one']))} rows"


say_step("counted_cells", _words, _moved)
say_step(SumCells.name, _sums_words)


# Which mechanism answers a quantile: the one whose interval is expected to be shortest.
#
# How far in rank an interval is expected to reach does not depend on how many rows a group has, nor
# is it known from the data; it falls with the loss in the same way for all mechanisms.  So they are
# compared at one loss, for rows that are spread evenly over the bounds.


def chosen(parts: Sequence[Any], noise: Noise | None) -> Part:
    """Return the part whose interval is expected to be shortest; the first without a noise."""
    first: Part = parts[0]
    if noise is None or len(parts) == 1:
        return first
    reaches = [part.interval(noise, LEVEL) for part in parts]
    best = reaches.index(min(reaches))
    if best == 0:
        return first
    others = f"the exponential mechanism would reach {show(round(reaches[0]))}"
    text = f"at epsilon 1 its interval is expected to reach {show(round(reaches[best]))} rows"
    answering: CountingPart = parts[best]
    return replace(answering, chosen_because=f"{answering.mechanism}: {text}, {others}")


def counted(
    column: str, grid: Grid, shares: Sequence[Fraction], *kinds: str
) -> list[CountedQuantilesPart]:
    """Return the part that counts all possible values, where they are few and whole."""
    if grid.step != 1 or grid.cells >= MAX_CELLS or not all(0 < q < 1 for q in shares):
        return []
    return [CountedQuantilesPart(column, grid, tuple(shares), kinds)]
