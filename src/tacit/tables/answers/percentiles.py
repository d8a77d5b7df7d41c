"""Several percentiles of a column together: the kind ``percentiles``.

**Mechanism.**  :mod:`tacit.tables.chain.percentile_choice`: points of the grid that the exponential
mechanism chooses among fewer and fewer rows, two more cells beside each, and noisy counts of the
rows between all of them.  The points take three fifths of the loss, the cells beside them and the
counts a fifth each.

**Interval.**  Of n rows let B(c) be those before a cell c, F(c) those up to it, and q a percentile
as a share.  With ``B(c) <= q n - 1`` no percentile is below c, interpolated between neighbouring
rows or not: its place among the rows in order, counted from zero, is ``q (n - 1)`` or more than
``q n - 1``, hence not before the whole number B(c).  In the same way none is above c when F(c) is
``q n + 1`` or more.  The counts give ``B(c) - q n`` plus ``1 - q`` of the noise before c less q of
the noise from there on, which is within t with probability ``level``, and on either side alone
with ``1 - (1 - level) / 2``, the noise being symmetric.  The cells are gone through from the lowest
on, as long as the noisy number plus t is at most -1, and the last is the lower end.  The first cell
that is no lower end is one cell, whatever the noise, since the cells were chosen before it; for a
wrong end it has to pass, which it does with probability ``(1 - level) / 2`` at most.  From the
highest cell down it is the same.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import Number, as_percent, show
from tacit.calls import calls_inside, public
from tacit.core import Step
from tacit.errors import UsageError, said
from tacit.expressions.grid import Grid
from tacit.report.text.words import column_words
from tacit.tables.answers.aggregate import (
    QUANTILE_BITS,
    Aggregate,
    Kind,
    Setting,
    only_global,
    register_kind,
)
from tacit.tables.answers.bounded_column import bounded
from tacit.tables.chain.estimate import Array, Estimate
from tacit.tables.chain.noise_forms import half_widths
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part
from tacit.tables.chain.percentile_choice import ChoosePercentiles, CountedCells
from tacit.tables.chain.percentile_costs import levels
from tacit.tables.query.requests import Cells, Request

__all__ = ["PercentilesPart", "percentiles"]

_MOST = 99
_RESOLUTION = 10**4
_POINTS, _ENDS, _COUNTS = Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)
_PIECES = Fraction(1, 8)
"""Of what a point takes, for the share of rows that are equal to it on either side."""


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
        found = {
            "points": point.split(1 - _PIECES).choice_scale(noise.one),
            "pieces": point.split(_PIECES).choice_scale(noise.one),
            "ends": end.choice_scale(noise.one),
        }
        return found | {"counts": noise.split(_COUNTS).scale(Fraction(noise.rows * noise.one))}

    def _law(self, noise: Noise) -> NoiseLaw:
        return noise.split(_COUNTS).law(Fraction(noise.rows), Fraction(1, noise.one))

    def _reach(self, noise: Noise, level: float) -> float:
        """Return how many rows the cells beside a point are to be from it.

        As far as the counts can say, and as the point and the cell itself are typically off.
        """
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
        found = [
            half_widths(self._law(noise), weights, level, np.broadcast_to(times, shape))
            for times in (
                np.stack((before, width - before), axis=-1) for before in (counted + 1, counted)
            )
        ]
        return found[0], found[1]

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
        scales, reach = self._scales(noise), math.ceil(self._reach(noise, LEVEL) * noise.one)
        measure = "PureDP" if noise.kind == "laplace" else "ZeroConcentratedDP"
        shares = tuple(str(share) for share in self.shares)
        return [(counted, ChoosePercentiles(shares, **scales, reach=reach, measure=measure))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the values that occur, on the grid, and how many of each."""
        return Cells(columns.value(self.column), self.grid)

    def vector(self, step: Step, found: Any) -> Any:
        """Return the counted values as they are."""
        return found

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
        """Return how far in rank an interval is expected to reach, in *rows*.

        Its end is a cell that was to be so many rows away, and is off by x or more with probability
        about ``exp(-x / scale)`` where the rows are spread evenly.
        """
        off = math.log(1 / (1 - level)) * float(self._scales(noise)["ends"]) / noise.one
        return self._reach(noise, level) + off


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
    interval; see :mod:`tacit.tables.answers.percentiles`.

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
        raise UsageError(f"percentages are a list such as [25, 50, 75], not {said(percentages)}")
    exact = tuple(as_percent(q).limit_denominator(_RESOLUTION // 100) for q in percentages)
    ends = (Fraction(0), *exact, Fraction(100))
    if not exact or len(exact) > _MOST or any(a >= b for a, b in pairwise(ends)):
        raise UsageError(
            f"percentages are from 1 to {_MOST} numbers that rise between 0 and 100, such as "
            "[25, 50, 75]; 0 and 100 are tc.min and tc.max"
        )
    if exact[-1] < 1:
        meant = ", ".join(show(100 * q) for q in exact)
        told = f"a percentile is from 0 to 100, not from 0 to 1; did you mean {meant}?"
        warnings.warn(told, UserWarning, stacklevel=calls_inside())
    if not isinstance(column, str):
        raise UsageError(f"a column is named by text, not by {said(column)}")
    return replace(bounded("percentiles", column, lower, upper), percentages=exact)


class _Percentiles(Kind):
    @property
    def bits(self) -> int:
        return QUANTILE_BITS

    def names(self, asked: Aggregate) -> list[str] | None:
        return [show(q) for q in asked.percentages or ()]

    def statistic(self, asked: Aggregate) -> Any:
        raise UsageError("percentiles is a question to a table; ask tc.percentile(q) for one")

    def words(self, described: Mapping[str, Any]) -> str:
        several = [show(Fraction(q)) for q in described.get("percentages", ())]
        told = self.noun.format(column=described.get("column"), several=", ".join(several))
        return column_words(told, described)

    def part(self, asked: Aggregate, setting: Setting, before: Part | None) -> Part:
        shares = tuple(q / 100 for q in asked.percentages or ())
        return PercentilesPart(asked.require_column(), setting.grid(asked, self.bits), shares)


register_kind(
    _Percentiles(
        name="percentiles",
        order=85,
        make=percentiles,
        help="Several percentiles together, each Q between 0 and 100.",
        noun="the percentiles {several} of {column}",
        fields=("column", "percentages", "lower", "upper"),
        each=("percentile", "value"),
    )
)
