"""Several percentiles of a column together."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction, as_integer, as_percent, positive, show
from tacit.calls import calls_inside, public
from tacit.core import (
    Measure,
    Measurement,
    PureDP,
    Space,
    Step,
    ZeroConcentratedDP,
    register,
)
from tacit.errors import MismatchError, UsageError, shown_value
from tacit.expressions.grid import Grid
from tacit.noise import discrete_gaussian, discrete_laplace
from tacit.noise.bernoulli_and_uniform import uniform_integer
from tacit.noise.exponential import choices_within
from tacit.report.text import column_words, say_step
from tacit.tables.noise import Array, Estimate, GridNoise, half_widths
from tacit.tables.query.requests import Cells, Request
from tacit.tables.statistics.base import (
    QUANTILE_BITS,
    Aggregate,
    Setting,
    TableStatistic,
    bounded,
    only_global,
    register_statistic,
)
from tacit.tables.statistics.counted_quantiles import CellTables, CountedCells, chosen
from tacit.tables.statistics.near_quantiles import other_parts
from tacit.tables.statistics.part import LEVEL, Columns, Noise, Part
from tacit.tables.statistics.quantile_choice import cost_sensitivity

# What the choices of several percentiles cost, in a part of the rows of a group.
#
# Pieces of cells are numbered through: piece s of cell c is ``c PIECES + s``, and the rows of a
# cell are spread evenly over its pieces.  A part reaches from one piece to before another, and has
# the pieces of rows within: whole numbers of which a row is ``PIECES``.  Costs are those of
# :mod:`tacit.mechanisms.private_quantile`, in these pieces.


PIECES = 1024  # into so many pieces the rows of a cell can be divided
_FAR = 1 << 61


def levels(several: int) -> int:
    """Return in how many levels so many percentiles are chosen.

    >>> [levels(m) for m in (1, 2, 3, 4, 7, 8)]
    [1, 2, 2, 3, 3, 4]
    """
    return several.bit_length()


class CountedGroup(NamedTuple):
    """The counts of one group: where the rows are, and how many there are up to each."""

    at: NDArray[np.int64]
    upto: NDArray[Any]
    cells: int

    @classmethod
    def of(cls, at: Any, count: Any, cells: int) -> CountedGroup:
        """Return the group; in Python integers where products could leave 64 bits."""
        wide = np.asarray(count, dtype=object)
        upto = np.concatenate(([0], wide.cumsum())) if len(wide) else np.zeros(1, dtype=object)
        small = int(upto[-1]) * PIECES < _FAR
        return cls(np.asarray(at, dtype=np.int64), upto.astype(np.int64) if small else upto, cells)

    def part(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The cells that occur from one piece to before another, and their pieces of rows."""
        # Pieces are numbered through: piece s of cell c is ``c PIECES + s``.
        start = int(np.searchsorted(self.at, first // PIECES))
        stop = int(np.searchsorted(self.at, -(-last // PIECES)))
        at = self.at[start:stop]
        rows = np.diff(self.upto[start : stop + 1])
        inside = np.minimum((at + 1) * PIECES, last) - np.maximum(at * PIECES, first)
        return at, rows * np.maximum(inside, 0)


class Runs(NamedTuple):
    """Candidates of equal cost: the first of each run, how many it has, and their cost."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    costs: NDArray[np.int64]


class ChoiceTask(NamedTuple):
    """A choice in a part of a group: the quantile of the part, and the target in pieces of rows."""

    group: CountedGroup
    first: int
    last: int
    q: Fraction
    target: int = 0


def costs_of_cells(task: ChoiceTask) -> Runs:
    """Return the cells of a part as runs of equal cost: see ``mechanisms.selection``."""
    # An empty part has one candidate, the cell that it lies in.
    low_cell = min(task.first // PIECES, task.group.cells)
    high_cell = max(low_cell, (task.last - 1) // PIECES)
    at, rows = task.group.part(task.first, task.last)
    a, b = task.q.numerator, task.q.denominator
    upto = np.concatenate((np.zeros(1, dtype=rows.dtype), rows.cumsum()))
    if int(upto[-1]) * b + abs(task.target) >= _FAR:
        upto, rows = upto.astype(object), rows.astype(object)
    starts = np.full(2 * len(at) + 1, low_cell, dtype=np.int64)
    starts[1::2], starts[2::2] = at, at + 1
    lengths = np.append(starts[1:], high_cell + 1) - starts
    below = np.repeat(upto, 2)[:-1]
    equal = np.zeros_like(below)
    equal[1::2] = rows
    low = b * below - a * upto[-1]
    high = b * (below + equal) - a * upto[-1]
    nonempty = lengths > 0
    starts, lengths, low, high = (each[nonempty] for each in (starts, lengths, low, high))
    cost = np.maximum(np.maximum(low - task.target, task.target - high), 0)
    if task.target:  # the outer candidate reaches without end: see private_quantile
        starts, lengths, cost = _opened(starts, lengths, cost, upwards=task.target > 0)
        outer = -1 if task.target > 0 else 0
        far = low[-1] - task.target if outer else task.target - high[0]
        cost[outer] = max(far, 0)
    return Runs(starts, lengths, np.minimum(cost, _FAR).astype(np.int64))


def _opened(
    starts: NDArray[Any], lengths: NDArray[Any], cost: NDArray[Any], upwards: bool
) -> tuple[NDArray[Any], ...]:
    """Split the outer candidate off its run."""
    outer = len(starts) - 1 if upwards else 0
    if lengths[outer] == 1:
        return starts, lengths, cost
    more = np.ones(len(starts), np.intp)
    more[outer] = 2
    starts, lengths, cost = (each.repeat(more) for each in (starts, lengths, cost))
    if upwards:
        lengths[-2] -= 1
        starts[-1], lengths[-1] = starts[-2] + lengths[-2], 1
    else:
        lengths[0], lengths[1], starts[1] = 1, lengths[1] - 1, starts[1] + 1
    return starts, lengths, cost


def costs_of_pieces(task: ChoiceTask, cell: int) -> Runs:
    """Return the cost of each border between pieces of a cell, within the part of a task."""
    group, first, last, q, _ = task
    start, stop = max(first, cell * PIECES), min(last, (cell + 1) * PIECES)
    start, stop = (start, stop) if start <= stop else (first, first)
    borders = np.arange(start, stop + 1, dtype=np.int64)
    at, rows = group.part(first, last)
    index = int(np.searchsorted(at, cell))
    inside = index < len(at) and at[index] == cell
    before, whole = int(rows[:index].sum()), int(rows.sum())
    each = int(rows[index]) // max(stop - start, 1) if inside else 0
    moved, base = each * q.denominator, before * q.denominator - whole * q.numerator
    wide = abs(base) + moved * PIECES >= _FAR
    steps = (borders - start).astype(object) if wide else borders - start
    cost = np.minimum(np.abs(base + moved * steps), _FAR).astype(np.int64)
    return Runs(borders, np.ones_like(borders), cost)


def halves(first: int, last: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield level by level which percentile is chosen between which two others."""
    level = [(first, last)]
    while level:
        yield [(low, (low + high) // 2, high) for low, high in level]
        middle = [((low, (low + high) // 2), ((low + high) // 2, high)) for low, high in level]
        level = [part for parts in middle for part in parts if part[1] - part[0] > 1]


# Several percentiles of a column together: each is looked for among the rows that can hold it.
#
# **Choices.**  The middle percentile is chosen first, by the exponential mechanism on the grid, as
# in :mod:`tacit.mechanisms.private_quantile`.  The rows below it then serve the
# percentiles below it and the rows above it those above, and so on in halves: m percentiles in
# ``ceil(log2(m + 1))`` levels (Kaplan, Schnapp and Stemmer, ICML 2022).  One row is in one part of
# each level, so a level costs as much as one choice.  A percentile of a part is ``(q - p) / (r -
# p)`` of its rows, for the percentiles p and r at its ends.
#
# **Rows that are equal.**  The rows of a cell count as spread evenly over ``PIECES`` pieces of it.
# After a cell is chosen one of its pieces is, by the same mechanism and a part of the loss: it says
# which share of the rows of the cell goes to either side.  Without it a value that many rows share
# would leave all percentiles on one side of it without rows.
#
# **Ends.**  Between two chosen percentiles two more cells are chosen: one about ``reach`` rows
# above the lower of them, one about as many below the upper.  Nothing is claimed of them yet.
#
# **Counts.**  Last, the rows between and at all chosen cells are counted with additive noise.  They
# say how far off each of the cells is, and the intervals follow from them alone.
#
# **Map.**  For fixed earlier choices the shares of a row in the parts of a level add up to one at
# most.  So if counts move by d in all, those of the parts of a level move by d in all, and
#
# * a choice among cells or pieces in a part with quantile ``a / b`` has costs that move by
#   ``max(a, b - a)`` for each row; divided by that it has the loss ``2 d_part / scale`` in pure DP,
#   and ``(d_part / scale)^2 / 2`` in zCDP: see :class:`~tacit.tables.statistics.quantile_choice
#   .ChooseQuantile`; these add up to at most ``2 d / scale`` and ``(d / scale)^2 / 2`` for the
#   level;
# * the counts move by d in L1, and in L2 by no more: ``d / scale`` and ``(d / scale)^2 / 2``.
#
# Levels compose one after another, adaptively, in both measures.


@register
@dataclass(frozen=True)
class ChoosePercentiles(Step):
    """Choose percentiles, cells near them, and noisy counts between them; see the module."""

    # Of m percentiles it releases ``9 m + 1`` whole numbers a group: the cell of each, rising; the
    # cells about ``reach`` rows below each, then above each; and the counts of the rows before the
    # first of all these cells in order, at it, between it and the next, and so on to those after
    # the last.  Cells that are equal have empty counts between them.

    qs: tuple[str, ...]  # the percentiles as shares, rising, strictly between 0 and 1, as text
    # points, pieces, ends, counts: the scales of the choices among cells and among pieces, of the
    # choices of the ends, and of the noise on counts, all in the unit of the counts
    points: Any
    pieces: Any
    ends: Any
    counts: Any
    reach: int  # how far the ends lie beyond, in the unit of the counts
    measure: str = "PureDP"  # ``"PureDP"`` or ``"ZeroConcentratedDP"``

    name: ClassVar[str] = "choose_percentiles"

    def __post_init__(self) -> None:
        object.__setattr__(self, "qs", tuple(map(str, self.qs)))
        shares = [Fraction(0), *(as_fraction(q, "q") for q in self.qs), Fraction(1)]
        if len(shares) < 3 or any(a >= b for a, b in pairwise(shares)):
            raise UsageError(f"percentiles rise strictly between 0 and 1, unlike {self.qs}")
        for scale in ("points", "pieces", "ends", "counts"):
            object.__setattr__(self, scale, positive(getattr(self, scale), scale))
        object.__setattr__(self, "reach", as_integer(self.reach, "reach", minimum=0))

    def build(self, space: Space) -> Measurement:
        """Return the choices on the counts of cells."""
        if not isinstance(space.domain, CellTables):
            raise MismatchError(f"{self.name} works on the counts of cells, not on {space}")
        cells = space.domain.cells
        points, pieces, ends, counts = (
            Fraction(scale) for scale in (self.points, self.pieces, self.ends, self.counts)
        )
        deep, two = levels(len(self.qs)), 1 if len(self.qs) == 1 else 2
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()

        def loss(d: Fraction) -> Fraction:
            if pure:
                return 2 * d * (deep * (1 / points + 1 / pieces) + two / ends) + d / counts
            squares = deep * (1 / points**2 + 1 / pieces**2) + two / ends**2 + 1 / counts**2
            return d**2 * squares / 2

        def choose(histograms: Any) -> list[int]:
            groups = [CountedGroup.of(at, count, cells) for at, count in histograms]
            return _choose(groups, self) if groups else []

        return Measurement(space, measure, choose, loss, step=self)


def _drawn(tasks: Sequence[Runs], rates: Sequence[Fraction]) -> list[int]:
    """Draw a candidate of each, those of one rate together."""
    cells = [0] * len(tasks)
    for rate in dict.fromkeys(rates):
        mine = [i for i, each in enumerate(rates) if each == rate]
        runs = Runs(*(np.concatenate(each) for each in zip(*(tasks[i] for i in mine), strict=True)))
        sizes = [len(tasks[i].starts) for i in mine]
        firsts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        for i, run in zip(
            mine, choices_within(firsts, runs.costs, rate, runs.lengths), strict=True
        ):
            cells[i] = int(runs.starts[run]) + uniform_integer(int(runs.lengths[run]))
    return cells


def _cells(tasks: Sequence[ChoiceTask], scale: Fraction) -> list[int]:
    """Choose a cell for each task: the scale is of one unit of the counts."""
    rates = [1 / (scale * cost_sensitivity(task.q, 1) * PIECES) for task in tasks]
    return _drawn([costs_of_cells(task) for task in tasks], rates)


def _pieces(tasks: Sequence[ChoiceTask], cells: Sequence[int], scale: Fraction) -> list[int]:
    """Choose for each task a border between pieces of its cell, within the part."""
    runs = [costs_of_pieces(task, cell) for task, cell in zip(tasks, cells, strict=True)]
    return _drawn(runs, [1 / (scale * cost_sensitivity(task.q, 1) * PIECES) for task in tasks])


def _choose(groups: Sequence[CountedGroup], step: ChoosePercentiles) -> list[int]:
    """Make all choices, level by level, and count; every group in the same steps."""
    shares = [Fraction(0), *map(as_fraction, step.qs), Fraction(1)]
    m = len(step.qs)
    top = (groups[0].cells + 1) * PIECES
    borders: list[dict[int, int]] = [{0: 0, m + 1: top} for _ in groups]
    points: list[dict[int, int]] = [{} for _ in groups]
    for level in halves(0, m + 1):
        tasks = [
            ChoiceTask(group, known[low], known[high], _within(shares, low, mid, high))
            for group, known in zip(groups, borders, strict=True)
            for low, mid, high in level
        ]
        cells = _cells(tasks, Fraction(step.points))
        cut = _pieces(tasks, cells, Fraction(step.pieces))
        for i in range(len(groups)):
            for j, (_, mid, _) in enumerate(level):
                index = i * len(level) + j
                points[i][mid], borders[i][mid] = cells[index], cut[index]
    parts = [(g, known, j) for g, known in zip(groups, borders, strict=True) for j in range(m)]
    target = step.reach * PIECES
    below = [ChoiceTask(g, known[j], known[j + 1], Fraction(1), -target) for g, known, j in parts]
    above = [
        ChoiceTask(g, known[j + 1], known[j + 2], Fraction(0), target) for g, known, j in parts
    ]
    ends = [_cells(side, Fraction(step.ends)) for side in (below, above)]
    answers: list[int] = []
    for i, group in enumerate(groups):
        mine = sorted(points[i].values())  # a part without rows can be off by a cell
        beside = [cell for side in ends for cell in side[i * m : (i + 1) * m]]
        answers += [*mine, *beside, *_counted(group, [*mine, *beside], step)]
    return answers


def _within(shares: Sequence[Fraction], low: int, mid: int, high: int) -> Fraction:
    return (shares[mid] - shares[low]) / (shares[high] - shares[low])


def _counted(group: CountedGroup, cells: Sequence[int], step: ChoosePercentiles) -> list[int]:
    """Count the rows before, at, between and after the cells, with noise."""
    order = sorted(cells)
    sides = [np.searchsorted(group.at, order, side=side) for side in ("left", "right")]
    edges = np.stack(sides, axis=1).ravel()
    upto = [0, *(int(group.upto[edge]) for edge in np.maximum.accumulate(edges))]
    exact = [b - a for a, b in pairwise([*upto, int(group.upto[-1])])]
    draw = discrete_laplace if step.measure == PureDP.__name__ else discrete_gaussian
    noise = draw(Fraction(step.counts), len(exact)).tolist()
    return [count + more for count, more in zip(exact, noise, strict=True)]


def _chosen(step: Any) -> str:
    return (
        f"Draw {len(step['qs'])} values at random, each from the rows between those drawn before; "
        "values nearer to the rank asked for are more likely. Count the rows between them, and add "
        "random noise to each count"
    )


say_step("choose_percentiles", _chosen)


# Several percentiles of a column together: the kind ``percentiles``.
#
# **Mechanism.**  :mod:`tacit.tables.statistics.percentiles`: points of the grid that the
# exponential mechanism chooses among fewer and fewer rows, two more cells beside each, and noisy
# counts of the rows between all of them.  The points take three fifths of the loss, the cells
# beside them and the counts a fifth each.
#
# **Interval.**  Of n rows let B(c) be those before a cell c, F(c) those up to it, and q a
# percentile as a share.  With ``B(c) <= q n - 1`` no percentile is below c, interpolated between
# neighbouring rows or not: its place among the rows in order, counted from zero, is ``q (n - 1)``
# or more than ``q n - 1``, hence not before the whole number B(c).  In the same way none is above c
# when F(c) is ``q n + 1`` or more.  The counts give ``B(c) - q n`` plus ``1 - q`` of the noise
# before c less q of the noise from there on, which is within t with probability ``level``, and on
# either side alone with ``1 - (1 - level) / 2``, the noise being symmetric.  The cells are gone
# through from the lowest on, as long as the noisy number plus t is at most -1, and the last is the
# lower end.  The first cell that is no lower end is one cell, whatever the noise, since the cells
# were chosen before it; for a wrong end it has to pass, which it does with probability ``(1 -
# level) / 2`` at most.  From the highest cell down it is the same.


_MOST = 99
_RESOLUTION = 10**4
_POINTS, _ENDS, _COUNTS = Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)
# Of what a point takes, for the share of rows that are equal to it on either side.
_PIECES = Fraction(1, 8)


@dataclass(frozen=True)
class PercentilesPart(Part):
    """Several percentiles of a column, each with an interval; see the module."""

    column: str
    grid: Grid
    shares: tuple[Fraction, ...]

    error_unit: ClassVar[str] = "rows in rank"

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{len(self.shares)} percentiles of {self.column}"

    @property
    def _width(self) -> int:
        """How many numbers are released of a group."""
        return 9 * len(self.shares) + 1

    def _scales(self, noise: Noise) -> dict[str, Fraction]:
        """Return the scales of all choices, in the unit of the counts."""
        point = noise.split(_POINTS / levels(len(self.shares)))
        end = noise.split(_ENDS / (1 if len(self.shares) == 1 else 2))
        scales = {
            "points": point.split(1 - _PIECES).choice_scale(noise.one),
            "pieces": point.split(_PIECES).choice_scale(noise.one),
            "ends": end.choice_scale(noise.one),
        }
        return scales | {"counts": noise.split(_COUNTS).scale(Fraction(noise.rows * noise.one))}

    def _law(self, noise: Noise) -> GridNoise:
        return noise.split(_COUNTS).distribution(Fraction(noise.rows), Fraction(1, noise.one))

    def _radius(self, noise: Noise, level: float) -> float:
        """Return how many rows the cells beside a point are to be from it."""
        # As far as the counts can say, and as the point and the cell itself are typically off.
        widest = max(float(each.max()) for each in self._widths(noise, level))
        scales = self._scales(noise)
        return widest + float(scales["points"] + 2 * scales["ends"]) / noise.one + 1

    def _widths(self, noise: Noise, level: float = LEVEL) -> tuple[Array, Array]:
        """Return t for each share and each cell in order: where it is counted, and where not."""
        width = 6 * len(self.shares) + 1
        counted = np.arange(1.0, width, 2)
        q = np.array([float(share) for share in self.shares])[:, None]
        shape = (len(q), len(counted), 2)
        weights = np.broadcast_to(np.stack((1 - q, q), axis=-1), shape)
        widths = [
            half_widths(self._law(noise), weights, level, np.broadcast_to(times, shape))
            for times in (
                np.stack((before, width - before), axis=-1) for before in (counted + 1, counted)
            )
        ]
        return widths[0], widths[1]

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts of cells, and all choices."""
        counted = CountedCells(
            column=self.column,
            lower=str(self.grid.value(0)),
            upper=str(self.grid.value(self.grid.cells)),
            cells=self.grid.cells,
            size=size * self._width,
            width=self._width,
            one=noise.one,
            by=by,
        )
        scales, reach = self._scales(noise), math.ceil(self._radius(noise, LEVEL) * noise.one)
        measure = "PureDP" if noise.kind == "laplace" else "ZeroConcentratedDP"
        shares = tuple(str(share) for share in self.shares)
        return [(counted, ChoosePercentiles(shares, **scales, reach=reach, measure=measure))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the values that occur, on the grid, and how many of each."""
        return Cells(columns.value(self.column), self.grid)

    def vector(self, step: Step, exact: Any) -> Any:
        """Return the counted values as they are."""
        return exact

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the percentiles, shape (groups, percentiles), with intervals."""
        first, step = float(self.grid.value(0)), float(self.grid.step)
        m, last = len(self.shares), self.grid.cells
        groups: Array = np.array(released[0], dtype=np.float64).reshape(-1, self._width)
        cells, counts = np.sort(groups[:, : 3 * m]), groups[:, 3 * m :]
        upto = counts.cumsum(axis=1) / noise.one
        q = np.array([float(share) for share in self.shares])[None, :, None]
        wanted = q * upto[:, -1][:, None, None]
        upto_too, before = self._widths(noise)
        # the rows at a cell that was chosen twice are counted once, at the first
        once = np.array([np.searchsorted(row, row) for row in cells]).reshape(-1, 3 * m)
        earlier = np.take_along_axis(upto[:, 0:-2:2], once, axis=1)[:, None, :]
        low = earlier - wanted + before[:, once].swapaxes(0, 1) <= -1
        high = upto[:, None, 1:-1:2] - wanted - upto_too[None] >= 1
        below = np.logical_and.accumulate(low, axis=2).sum(axis=2)
        above = np.logical_and.accumulate(high[:, :, ::-1], axis=2).sum(axis=2)
        padded = np.pad(cells, ((0, 0), (1, 1)), constant_values=((0, 0), (0, last)))
        ends = [np.take_along_axis(padded, at, axis=1) for at in (below, 3 * m + 1 - above)]
        value, lower, upper = (np.asarray(first + step * x) for x in (groups[:, :m], *ends))
        unknown = np.full_like(value, np.nan)
        return {"percentiles": Estimate(value, unknown, lower, upper)}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error in *rows*: how far in rank an interval reaches, at the level."""
        return self.half_width(kind, noise, rows, LEVEL)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float:
        """Return how far in rank an interval is expected to reach, in *rows*."""
        return self.interval(noise, level)

    def interval(self, noise: Noise, level: float) -> float:
        """Return how far in rank an interval is expected to reach, in *rows*."""
        # Its end is a cell that was to be so many rows away, and is off by x or more with
        # probability about ``exp(-x / scale)`` where the rows are spread evenly.
        off = math.log(1 / (1 - level)) * float(self._scales(noise)["ends"]) / noise.one
        return self._radius(noise, level) + off


@public
def percentiles(
    column: str,
    percentages: Iterable[Number],
    lower: Number | None = None,
    upper: Number | None = None,
    *,
    method: str = "global",
) -> Aggregate:
    """Return several percentiles of a column clamped to [lower, upper], chosen together.

    For the same budget each is nearer than if it were asked by itself, they rise, and each has an
    interval; see :mod:`tacit.tables.statistics.percentiles`.

    Args:
        column: the name of the column.
        percentages: which, rising, from above 0 to below 100, at most 99; 50 is the median.
        lower: the public lower bound, in the unit of the column; by default that of the declared
            data set.
        upper: the public upper bound, likewise.
        method: ``"global"``, the only one.

    Raises:
        UsageError: percentages that do not rise, or are not between 0 and 100; bounds that are
            reversed.

    Warns:
        UserWarning: all percentages are below 1, which are nearly always shares.

    Source: Kaplan, Schnapp and Stemmer, ICML 2022 (arXiv 2110.05429).

    >>> print(percentiles("age", [25, 50, 75], 0, 100))
    percentiles(age, 25, 50, 75, 0, 100)
    """
    only_global("percentiles", method)
    if isinstance(percentages, (str, bytes)) or not isinstance(percentages, Iterable):
        raise UsageError(
            f"percentages are a list such as [25, 50, 75], not {shown_value(percentages)}"
        )
    exact = tuple(as_percent(q).limit_denominator(_RESOLUTION // 100) for q in percentages)
    ends = (Fraction(0), *exact, Fraction(100))
    if not exact or len(exact) > _MOST or any(a >= b for a, b in pairwise(ends)):
        raise UsageError(
            f"percentages are from 1 to {_MOST} numbers that rise between 0 and 100, such as "
            "[25, 50, 75]; 0 and 100 are tc.min and tc.max"
        )
    if exact[-1] < 1:
        meant = ", ".join(show(100 * q) for q in exact)
        text = f"a percentile is from 0 to 100, not from 0 to 1; did you mean {meant}?"
        warnings.warn(text, UserWarning, stacklevel=calls_inside())
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {shown_value(column)}")
    return bounded(Percentiles, column, lower, upper, percentages=exact)


@register_statistic
@dataclass(frozen=True)
class Percentiles(TableStatistic):
    """The statistic ``percentiles``."""

    percentages: tuple[Fraction, ...] = ()  # rising, in 0..100

    kind = "percentiles"
    elsewhere = ("quantiles",)
    order = 85
    make = staticmethod(percentiles)
    help = "Several percentiles together, each Q between 0 and 100."
    noun = "the percentiles {several} of {column}"
    fields = ("column", "percentages", "lower", "upper")
    each = ("percentile", "value")
    bits = QUANTILE_BITS
    in_lab = "ask tc.percentile(q) for one"

    def answer_names(self) -> list[str] | None:
        """Return the names of its numbers."""
        return [show(q) for q in self.percentages]

    def _shown(self) -> tuple[list[str], list[str]]:
        return [show(q) for q in self.percentages], []

    def _fields_to_json(self) -> dict[str, object]:
        return {"percentages": [str(q) for q in self.percentages]}

    @classmethod
    def words(cls, described: Mapping[str, Any]) -> str:
        several = [show(Fraction(q)) for q in described.get("percentages", ())]
        text = cls.noun.format(column=described.get("column"), several=", ".join(several))
        return column_words(text, described)

    def shared(self) -> Any:
        return Percentiles, self.clamped, self.percentages

    def part(self, setting: Setting, before: Part | None) -> Part:
        shares = tuple(q / 100 for q in self.percentages)
        column, grid = self.require_column(), setting.grid(self, self.bits)
        first, choosing = PercentilesPart(column, grid, shares), setting.choosing
        return chosen([first, *other_parts(column, grid, shares, choosing, self.kind)], choosing)
