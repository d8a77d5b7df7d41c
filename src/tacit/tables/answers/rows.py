"""How many rows there are."""

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
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.part import Columns, Noise, Part, law_of_rows, plain_estimate
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.query.requests import Request, Rows

__all__ = ["RowsByGroup", "RowsPart"]


@register
@dataclass(frozen=True)
class RowsByGroup(VectorStep):
    """Count the rows of each group.

    **Map.** ``d -> d`` in L1 and in L2: a row is in one group, where it counts one; so d rows move
    the vector by at most d in L1, and in L2 by at most the same (all of them in one group).
    """

    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "count_rows"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), Fraction(1))


@dataclass(frozen=True)
class RowsPart(Part):
    """The number of rows."""

    @property
    def title(self) -> str:
        """Say what the part is."""
        return "count of rows"

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return the chain: the counts, and additive noise."""
        step = RowsByGroup(size=size, norm=noise.norm, one=noise.one, by=by)
        return [(step, noise.mechanism(Fraction(noise.rows)))]

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight of the rows."""
        return Rows()

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the count."""
        return {"count": plain_estimate(released[0], law_of_rows(noise))}

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error, the same for any data."""
        return float(law_of_rows(noise).variance ** 0.5)
