"""The sum of a column alone, where nothing else is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.core import (
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.errors import UsageError
from tacit.expressions.grid import Grid
from tacit.report.text.vocabulary import clamped_column, for_each_group, say_step
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part, plain_estimate
from tacit.tables.chain.row_steps import VectorStep
from tacit.tables.query.requests import Request, Total

__all__ = ["SumByGroup", "SumPart"]


@register
@dataclass(frozen=True)
class SumByGroup(VectorStep):
    """Add up a column in each group.

    **Map.** ``d -> d max(|lower|, |upper|)`` in L1 and L2: the farthest from zero that one row's
    value can be.  Values are clamped to the bounds, on a grid of ``cells`` steps between them of
    which both bounds are multiples; a person's values are down-weighted to ``rows`` times that.
    """

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
class SumPart(Part):
    """The sum of a column of which nothing else is asked: its own sensitivity is the least."""

    column: str
    grid: Grid

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"sum of {self.column}"

    @property
    def reach(self) -> Fraction:
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
        return [(step, noise.mechanism(self.reach * noise.rows))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the total, each person's within the bound."""
        return Total(columns.value(self.column), self.grid)

    def estimates(
        self, released: Sequence[Any], noise: Noise, level: float = LEVEL
    ) -> dict[str, Estimate]:
        """Return the sum."""
        law = self._law(noise)
        return {"sum": plain_estimate(released[0], law, -np.inf, level)}

    def at_level(self, released: Sequence[Any], noise: Noise, level: float) -> dict[str, Estimate]:
        """Return the answers with intervals of another level."""
        return self.estimates(released, noise, level)

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(self._law(noise).variance ** 0.5)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval: the exact quantile of the noise."""
        return self._law(noise).half_width((1.0,), level)

    def _law(self, noise: Noise) -> NoiseLaw:
        return noise.law(self.reach * noise.rows, self.grid.step / noise.one)


def _step_words(step: Mapping[str, Any]) -> str:
    return f"Add up {clamped_column(step)}{for_each_group(step)}"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{shown} in the sum of {step['column']}, in all"


say_step("sum_by_group", _step_words, _moves)
