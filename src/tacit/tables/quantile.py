"""Private quantiles of a column in each group, by the exponential mechanism on the grid.

**Cost.**  For a quantile ``q = a / b`` and a candidate c with ``below`` rows under it, ``equal`` at
it and ``above`` over it, let

    ``low(c)  = (b - a) below - a (above + equal)``,
    ``high(c) = (b - a) (below + equal) - a above``.

Both rise with c, and c is a q-quantile exactly when ``low(c) <= 0 <= high(c)``.  The cost of c for
a target t is the distance from t to the interval [low(c), high(c)], where the interval of the
lowest candidate reaches down without end and that of the highest one up without end; so the least
cost is always zero.  The target 0 asks for the quantile; a target ``-r b`` for about r rows less.

**Map.**  One row that comes or goes moves low(c) and high(c) by at most ``max(a, b - a)``, for all
c, hence every cost by no more.  A row is in one group, so d rows move the sum over groups of the
largest change of a cost by at most ``d max(a, b - a)``.

**Error.**  With M candidates of which one has cost zero, the mechanism at scale s returns a cost of
x or more with probability at most ``M exp(-x / s)`` (McSherry and Talwar 2007).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.core import (
    Domain,
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
from tacit.exact import as_fraction, as_integer, positive
from tacit.tables.steps import TableStep

__all__ = ["ChooseQuantile", "QuantileCosts", "error_in_cost", "quantile_costs"]

_FAR = 1 << 61


@dataclass(frozen=True)
class CostTables(Domain):
    """For each group, the cost of every candidate on the grid (kept as a counted histogram)."""

    groups: int
    cells: int

    def contains(self, value: Any) -> bool:
        """Tell whether there is one histogram a group."""
        return isinstance(value, Sequence) and len(value) == self.groups

    def read(self, value: Any) -> Any:
        """Return the histograms as they are."""
        return value

    def sample(self, source: random.Random) -> Any:
        """Draw histograms as pairs (cells that occur, their counts)."""
        drawn = []
        for _ in range(self.groups):
            cells = sorted(source.sample(range(self.cells + 1), min(3, self.cells + 1)))
            drawn.append((np.array(cells), np.array([source.randint(1, 4) for _ in cells])))
        return drawn

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": "costs", "groups": self.groups, "cells": self.cells}

    def __str__(self) -> str:
        return f"the costs of {self.cells + 1} candidates in each of {self.groups} groups"


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


@register
@dataclass(frozen=True)
class QuantileCosts(TableStep):
    """The costs of all candidates for a quantile of a column, in each group; see the module.

    Args:
        column, lower, upper, cells: the column and its grid of ``cells`` equal steps.
        q: the quantile in [0, 1], as text.
        size: the number of groups.
        one: rows carry weights in multiples of ``1 / one``, and costs are counted in those.
        by: the columns that make the groups.
    """

    column: str
    lower: str
    upper: str
    cells: int
    q: str
    size: int
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "quantile_costs"

    def __post_init__(self) -> None:
        if not 0 <= as_fraction(self.q, "q") <= 1:
            raise UsageError(f"a quantile lies in [0, 1], not at {self.q}")

    @property
    def stretch(self) -> int:
        """How far one row moves a cost: ``max(a, b - a)`` for ``q = a / b``, times ``one``."""
        q = as_fraction(self.q)
        return max(q.numerator, q.denominator - q.numerator) * self.one

    def build(self, space: Space) -> Transformation:
        """Return the costs on a table of rows.

        Raises:
            MismatchError: no table under the symmetric distance.
        """
        self._require(space, SymmetricDistance)
        cells = as_integer(self.cells, "cells", minimum=1)
        output = Space(CostTables(self.size, cells), SumOfLargestChanges())
        return Transformation(
            space, output, lambda found: found.of(self), lambda d: d * self.stretch, step=self
        )


@register
@dataclass(frozen=True)
class ChooseQuantile(Step):
    """In each group choose a candidate with probability proportional to ``exp(-cost / scale)``.

    **Map.** ``d -> 2 d / scale`` in pure DP.  In a group whose costs move by at most d_g, each
    weight and the normalising sum move by a factor of at most ``exp(d_g / scale)``; the groups'
    choices are independent, so their losses add, and the d_g add to d.

    In zCDP ``d -> d^2 / (2 scale^2)``: an exponential mechanism whose log ratios all lie in an
    interval of length ``e = 2 d_g / scale`` is ``e^2 / 8``-zCDP (Cesar and Rogers, ALT 2021; by
    Hoeffding's lemma), and the sum of squares is at most the square of the sum.

    Args:
        scale: of the cost.
        target: in units of the cost; 0 asks for the quantile itself.
        q: the quantile, as text.
        measure: ``"PureDP"`` or ``"ZeroConcentratedDP"``.
    """

    scale: Any
    target: int
    q: str
    measure: str = "PureDP"

    name: ClassVar[str] = "choose_quantile"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def build(self, space: Space) -> Measurement:
        """Return the choice on the costs of a quantile.

        Raises:
            MismatchError: the space does not hold costs.
        """
        if not isinstance(space.domain, CostTables):
            raise MismatchError(f"choose_quantile works on the costs of a quantile, not on {space}")
        cells, rate = space.domain.cells, 1 / Fraction(self.scale)
        pure = self.measure == PureDP.__name__
        measure: Measure = PureDP() if pure else ZeroConcentratedDP()
        q = as_fraction(self.q)

        def choose(histograms: Any) -> list[int]:
            return [_choose(h, cells, q, self.target, rate) for h in histograms]

        def loss(d: Fraction) -> Fraction:
            return 2 * d * rate if pure else (d * rate) ** 2 / 2

        return Measurement(space, measure, choose, loss, step=self)


def quantile_costs(
    histogram: tuple[NDArray[Any], NDArray[Any]], cells: int, q: Fraction, target: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the candidates as runs of equal cost: first cell, length and cost of each run.

    Args:
        histogram: the cells that occur, rising, and how often each does.
        cells: candidates are 0..cells.
        q: the quantile.
        target: what cost zero means; see the module.

    Example:
        >>> runs = quantile_costs((np.array([2, 5]), np.array([1, 2])), 6, Fraction(1, 2), 0)
        >>> [r.tolist() for r in runs]
        [[0, 2, 3, 5, 6], [2, 1, 2, 1, 1], [3, 1, 1, 0, 3]]
    """
    at = np.asarray(histogram[0], dtype=np.int64)
    count = np.asarray(histogram[1], dtype=np.int64)
    total = int(count.sum())
    a, b = q.numerator, q.denominator
    # Where products leave 64 bits, Python integers go on exactly.
    wide = object if b * total + abs(target) >= _FAR else np.int64
    count = count.astype(wide)
    upto = np.cumsum(count)
    # Runs alternate: the gap before a cell that occurs, the cell itself, ..., the gap at the end.
    starts = np.empty(2 * len(at) + 1, dtype=np.int64)
    starts[0], starts[1::2], starts[2::2] = 0, at, at + 1
    ends = np.append(starts[1:], cells + 1)
    below = np.zeros(2 * len(at) + 1, dtype=wide)
    below[1::2], below[2::2] = upto - count, upto
    equal = np.zeros_like(below)
    equal[1::2] = count
    low = b * below - a * total
    high = b * (below + equal) - a * total
    lengths = ends - starts
    held = lengths > 0
    starts, lengths, low, high = starts[held], lengths[held], low[held], high[held]
    starts, lengths, low, high = _open_ends(starts, lengths, low, high, target)
    cost = np.maximum(np.maximum(low - target, target - high), 0)
    # Held at a public ceiling, two costs are no farther apart than before.
    return starts, lengths, np.minimum(cost, _FAR).astype(np.int64)


def _open_ends(
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    target: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Let the end candidate on the target's side reach without end, in a run of its own."""
    if target < 0:
        if lengths[0] > 1:
            starts = np.insert(starts, 1, starts[0] + 1)
            lengths = np.insert(lengths, 1, lengths[0] - 1)
            lengths[0] = 1
            low, high = np.insert(low, 1, low[0]), np.insert(high, 1, high[0])
        low[0] = min(-_FAR, target)
    if target > 0:
        if lengths[-1] > 1:
            starts = np.append(starts, starts[-1] + lengths[-1] - 1)
            lengths[-1] -= 1
            lengths = np.append(lengths, 1)
            low, high = np.append(low, low[-1]), np.append(high, high[-1])
        high[-1] = max(_FAR, target)
    return starts, lengths, low, high


def _choose(histogram: Any, cells: int, q: Fraction, target: int, rate: Fraction) -> int:
    starts, lengths, cost = quantile_costs(histogram, cells, q, target)
    run = int(noise.exponential_choice(cost, rate, weights=lengths))
    return int(starts[run]) + int(noise.uniform(int(lengths[run])))


def error_in_cost(cells: int, scale: Fraction, beta: float) -> int:
    """Return x with ``P(cost >= x) <= beta``: ``scale ln(M / beta)``, rounded up."""
    return math.ceil(float(scale) * math.log((cells + 1) / beta) * (1 + 1e-9)) + 1
