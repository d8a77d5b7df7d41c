"""Several percentiles of a column together: each is looked for among the rows that can hold it.

**Choices.**  The middle percentile is chosen first, by the exponential mechanism on the grid, as in
:mod:`tacit.mechanisms.selection.private_quantile`.  The rows below it then serve the percentiles
below it and the rows above it those above, and so on in halves: m percentiles in
``ceil(log2(m + 1))`` levels (Kaplan, Schnapp and Stemmer, ICML 2022).  One row is in one part of
each level, so a level costs as much as one choice.  A percentile of a part is ``(q - p) / (r - p)``
of its rows, for the percentiles p and r at its ends.

**Rows that are equal.**  The rows of a cell count as spread evenly over ``PIECES`` pieces of it.
After a cell is chosen one of its pieces is, by the same mechanism and a part of the loss: it says
which share of the rows of the cell goes to either side.  Without it a value that many rows share
would leave all percentiles on one side of it without rows.

**Ends.**  Between two chosen percentiles two more cells are chosen: one about ``reach`` rows above
the lower of them, one about as many below the upper.  Nothing is claimed of them yet.

**Counts.**  Last, the rows between and at all chosen cells are counted with additive noise.  They
say how far off each of the cells is, and the intervals follow from them alone.

**Map.**  For fixed earlier choices the shares of a row in the parts of a level add up to one at
most.  So if counts move by d in all, those of the parts of a level move by d in all, and

* a choice among cells or pieces in a part with quantile ``a / b`` has costs that move by
  ``max(a, b - a)`` for each row; divided by that it has the loss ``2 d_part / scale`` in pure DP,
  and ``(d_part / scale)^2 / 2`` in zCDP: see :class:`~tacit.tables.chain.quantile_choice
  .ChooseQuantile`; these add up to at most ``2 d / scale`` and ``(d / scale)^2 / 2`` for the level;
* the counts move by d in L1, and in L2 by no more: ``d / scale`` and ``(d / scale)^2 / 2``.

Levels compose one after another, adaptively, in both measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import as_fraction, as_integer, positive
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
from tacit.noise import discrete_gaussian, discrete_laplace
from tacit.noise.exponential import choices_within
from tacit.noise.uniform import uniform_integer
from tacit.report.text.vocabulary import clamped_column, for_each_group, say_step
from tacit.tables.chain.percentile_costs import (
    PIECES,
    ChoiceTask,
    CountedGroup,
    Runs,
    costs_of_cells,
    costs_of_pieces,
    halves,
    levels,
)
from tacit.tables.chain.quantile_choice import stretch_of
from tacit.tables.chain.row_steps import TableStep
from tacit.tables.chain.space import CountedGroups

__all__ = ["CellTables", "ChoosePercentiles", "CountedCells", "SumOfCountChanges"]


@dataclass(frozen=True)
class CellTables(CountedGroups):
    """For each group, how many rows each cell of a grid has."""

    groups: int
    cells: int

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": "cells", "groups": self.groups, "cells": self.cells}

    def __str__(self) -> str:
        return f"the counts of {self.cells + 1} cells in each of {self.groups} groups"


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
    """Count the rows of a column in each cell of a grid, in each group.

    **Map.** ``d -> d one``: a row is in one cell of one group, or in none, and a row's weight is at
    most ``one`` in the unit of the counts.

    Args:
        column, lower, upper, cells: the column and its grid of ``cells`` equal steps.
        size: how many numbers are released in the end, ``width`` of each group.
        one: rows carry weights in multiples of ``1 / one``, and are counted in those.
        by: the columns that make the groups.
    """

    column: str
    lower: str
    upper: str
    cells: int
    size: int
    width: int = 1
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "counted_cells"

    def build(self, space: Space) -> Transformation:
        """Return the counts on a table of rows.

        Raises:
            MismatchError: no table under the symmetric distance.
        """
        self._require(space, SymmetricDistance)
        cells, one = as_integer(self.cells, "cells", minimum=1), as_integer(self.one, "one")
        output = Space(CellTables(self.size // self.width, cells), SumOfCountChanges())
        return Transformation(
            space, output, lambda found: found.of(self), lambda d: d * one, step=self
        )


@register
@dataclass(frozen=True)
class ChoosePercentiles(Step):
    """Choose percentiles, cells near them, and noisy counts between all of these; see the module.

    Of m percentiles it releases ``9 m + 1`` whole numbers a group: the cell of each, rising; the
    cells about ``reach`` rows below each, then above each; and the counts of the rows before the
    first of all these cells in order, at it, between it and the next, and so on to those after the
    last.  Cells that are equal have empty counts between them.

    Args:
        qs: the percentiles as shares, rising, strictly between 0 and 1, as text.
        points, pieces, ends, counts: the scales of the choices among cells and among pieces, of the
            choices of the ends, and of the noise on counts, all in the unit of the counts.
        reach: how far the ends lie beyond, in the unit of the counts.
        measure: ``"PureDP"`` or ``"ZeroConcentratedDP"``.

    Raises:
        UsageError: shares that do not rise within (0, 1), or a scale that is not above zero.
    """

    qs: tuple[str, ...]
    points: Any
    pieces: Any
    ends: Any
    counts: Any
    reach: int
    measure: str = "PureDP"

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
        """Return the choices on the counts of cells.

        Raises:
            MismatchError: the space does not hold counts of cells.
        """
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
    found = [0] * len(tasks)
    for rate in dict.fromkeys(rates):
        mine = [i for i, each in enumerate(rates) if each == rate]
        runs = Runs(*(np.concatenate(each) for each in zip(*(tasks[i] for i in mine), strict=True)))
        sizes = [len(tasks[i].starts) for i in mine]
        firsts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        for i, run in zip(
            mine, choices_within(firsts, runs.costs, rate, runs.lengths), strict=True
        ):
            found[i] = int(runs.starts[run]) + uniform_integer(int(runs.lengths[run]))
    return found


def _cells(tasks: Sequence[ChoiceTask], scale: Fraction) -> list[int]:
    """Choose a cell for each task: the scale is of one unit of the counts."""
    rates = [1 / (scale * stretch_of(task.q, 1) * PIECES) for task in tasks]
    return _drawn([costs_of_cells(task) for task in tasks], rates)


def _pieces(tasks: Sequence[ChoiceTask], cells: Sequence[int], scale: Fraction) -> list[int]:
    """Choose for each task a border between pieces of its cell, within the part."""
    runs = [costs_of_pieces(task, cell) for task, cell in zip(tasks, cells, strict=True)]
    return _drawn(runs, [1 / (scale * stretch_of(task.q, 1) * PIECES) for task in tasks])


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
                place = i * len(level) + j
                points[i][mid], borders[i][mid] = cells[place], cut[place]
    parts = [(g, known, j) for g, known in zip(groups, borders, strict=True) for j in range(m)]
    target = step.reach * PIECES
    below = [ChoiceTask(g, known[j], known[j + 1], Fraction(1), -target) for g, known, j in parts]
    above = [
        ChoiceTask(g, known[j + 1], known[j + 2], Fraction(0), target) for g, known, j in parts
    ]
    ends = [_cells(side, Fraction(step.ends)) for side in (below, above)]
    found: list[int] = []
    for i, group in enumerate(groups):
        mine = sorted(points[i].values())  # a part without rows can be off by a cell
        beside = [cell for side in ends for cell in side[i * m : (i + 1) * m]]
        found += [*mine, *beside, *_counted(group, [*mine, *beside], step)]
    return found


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


def _words(step: Any) -> str:
    return f"Count the rows at each possible value of {clamped_column(step)}{for_each_group(step)}"


def _moved(step: Any, shown: str) -> str:
    from tacit.arithmetic.exact import show

    return f"{show(as_fraction(step['distance']) / as_fraction(step['one']))} rows"


def _chosen(step: Any) -> str:
    return (
        f"Draw {len(step['qs'])} values at random, each from the rows between those drawn before; "
        "values nearer to the rank asked for are more likely. Count the rows between them, and add "
        "random noise to each count"
    )


say_step("counted_cells", _words, _moved)
say_step("choose_percentiles", _chosen)
