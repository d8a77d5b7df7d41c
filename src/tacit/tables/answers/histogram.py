"""How many rows there are in each bin of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import (
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.expressions.grid import Grid
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import Columns, Noise, Part, law_of_rows, plain_estimate
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.query.requests import Bins, Request

__all__ = ["HistogramByGroup", "HistogramPart"]


@register
@dataclass(frozen=True)
class HistogramByGroup(VectorStep):
    """Count the values of a column between edges, in each group.

    **Map.** ``d -> d`` in L1 and in L2: a row is in one bin of one group.
    """

    column: str
    edges: tuple[str, ...]
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "histogram"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), Fraction(1))


@dataclass(frozen=True)
class HistogramPart(Part):
    """The number of values between each two edges."""

    column: str
    grid: Grid
    edges: tuple[Fraction, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"histogram of {self.column}"

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = HistogramByGroup(
            size=size * self.bins,
            norm=noise.norm,
            column=self.column,
            edges=tuple(str(edge) for edge in self.edges),
            one=noise.one,
            by=by,
        )
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight between each two edges."""
        edges = tuple(self.grid.offset(edge) for edge in self.edges)
        return Bins(columns.value(self.column), self.grid, edges)

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts, shape (groups, bins)."""
        flat = plain_estimate(released[0], law_of_rows(noise))
        shape = (-1, self.bins)
        columns = (flat.value, flat.standard_error, flat.lower, flat.upper)
        return {"histogram": Estimate(*(column.reshape(shape) for column in columns))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error of one bin, the same for any data."""
        return float(law_of_rows(noise).variance ** 0.5)
