"""The part of a release that answers a quantile, a minimum or a maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.core import Step
from tacit.expressions.grid import Grid
from tacit.tables.answers.quantile import ChooseQuantile, QuantileCosts, error_in_cost
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part
from tacit.tables.query.requests import Cells, Request

__all__ = ["QuantilePart"]

_KINDS = ("median", "percentile", "min", "max")

_RESOLUTION = 10**4
"""Quantiles are resolved to a ten-thousandth."""


@dataclass(frozen=True)
class QuantilePart(Part):
    """A quantile of a column, with an interval of two further choices.

    The point takes half of the loss and each end a quarter.  The ends aim at so many rows below
    and above the quantile that each is on its side with probability ``1 - (1 - level) / 2``; for
    the minimum and the maximum the point itself is such an end, and the other end is the bound.
    """

    column: str
    grid: Grid
    kind: str
    quantile: Fraction

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"{self.kind} of {self.column}"

    @property
    def _q(self) -> Fraction:
        return self.quantile.limit_denominator(_RESOLUTION)

    @property
    def _extreme(self) -> bool:
        return self._q in (0, 1)

    def _costs(self, size: int, by: tuple[str, ...], one: int) -> QuantileCosts:
        low, high = self.grid.value(0), self.grid.value(self.grid.cells)
        return QuantileCosts(
            column=self.column,
            lower=str(low),
            upper=str(high),
            cells=self.grid.cells,
            q=str(self._q),
            size=size,
            one=one,
            by=by,
        )

    def _choices(self, noise: Noise) -> list[ChooseQuantile]:
        stretch = self._costs(1, (), noise.one).stretch
        kind = "PureDP" if noise.kind == "laplace" else "ZeroConcentratedDP"
        q = self._q

        def choice(share: Fraction, side: int) -> ChooseQuantile:
            scale = noise.split(share).choice_scale(stretch)
            slack = error_in_cost(self.grid.cells, scale, (1 - LEVEL) / 2)
            slack += q.denominator * noise.one
            return ChooseQuantile(scale, side * slack, str(q), kind)

        if self._extreme:
            return [choice(Fraction(1), 1 if q == 0 else -1)]
        return [choice(Fraction(1, 2), 0), choice(Fraction(1, 4), -1), choice(Fraction(1, 4), 1)]

    def scale(self, noise: Noise) -> Fraction:
        """Return the scale of the choice of the value."""
        return Fraction(self._choices(noise)[0].scale)

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chains: the costs, and a choice, for the point and for each end."""
        costs = self._costs(size, by, noise.one)
        return [(costs, choice) for choice in self._choices(noise)]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the values that occur, on the grid, and how many of each."""
        return Cells(columns.value(self.column), self.grid)

    def vector(self, step: Step, found: Any) -> Any:
        """Return the counted values as they are: the costs follow from them."""
        return found

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the quantile; it has an interval and no standard error."""
        first, step = float(self.grid.value(0)), float(self.grid.step)
        numbers = [first + step * np.asarray(cells, dtype=np.float64) for cells in released]
        point = numbers[0]
        unknown = np.full_like(point, np.nan)
        bottom = np.full_like(point, first)
        top = np.full_like(point, first + step * self.grid.cells)
        if self._extreme:
            low, high = (bottom, point) if self._q == 0 else (point, top)
        else:
            low, high = np.minimum(numbers[1], point), np.maximum(numbers[2], point)
        # A median and the 50th percentile of one column are one answer, whatever it is called.
        return dict.fromkeys(_KINDS, Estimate(point, unknown, low, high))

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the error in *rows*: how far off in rank the answer is, at the level."""
        choice = self._choices(noise)[0]
        slack = error_in_cost(self.grid.cells, Fraction(choice.scale), 1 - LEVEL)
        return (slack + abs(choice.target)) / (self._q.denominator * noise.one)
