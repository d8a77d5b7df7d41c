"""Sum of squares of a bounded column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.core import AbsoluteDistance, Number, Space, Transformation, register
from tacit.transformations.aggregates.sum_and_mean import exact_sum
from tacit.transformations.rows.bounded_grid import Gridded, GriddedStep, bounded_column
from tacit.transformations.rows.record_distance import linear_map

__all__ = ["SumOfSquares", "exact_sum_of_squares"]

RESOLUTION_BITS = 20
"""Squares of a column that is resolved into 2^20 units are added in 64 bits for 2^22 records."""


@register
@dataclass(frozen=True)
class SumOfSquares(GriddedStep):
    """Add up the squares of a bounded column, exactly, as integers on a public grid.

    Values are rounded to the grid as in :class:`~tacit.transformations.aggregates.sum_and_mean.Sum`
    (its default here is coarser: about 2^20 units); their squares are whole numbers of ``grid^2``.

    **Map.** Squares of values in [L, U] lie in [m, M] with ``M = max(L^2, U^2)`` and ``m = 0``
    where the interval contains zero (or values may be missing), else ``min(L^2, U^2)``.  So, as for
    a sum of values in [m, M]: ``d -> d M`` where records are added or removed, ``d -> d (M - m)``
    where they change, ``floor(d / 2) (M - m)`` under the symmetric distance where the size is
    public.

    Args:
        grid: the step of the grid, in the unit of the column; by default the bounds hold
            about 2^20 steps.

    Raises:
        UsageError: a grid that is not above zero, or too fine for the bounds.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> total = Space(Vector(int, bounds=(-2, 3)), SymmetricDistance()) >> SumOfSquares()
        >>> total([1, 2, 99]), total.map(1)
        (14, Fraction(9, 1))
    """

    name: ClassVar[str] = "sum_of_squares"

    def build(self, space: Space) -> Transformation:
        """Return the sum of squares of a bounded column.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no column of numbers, or no bounds.
        """
        element = bounded_column(space, self)
        gridded = Gridded.of(element, self.grid, RESOLUTION_BITS)  # type: ignore[arg-type]
        low, high = gridded.range
        unit = gridded.step**2
        most = max(gridded.low**2, gridded.high**2)
        least = 0 if low <= 0 <= high else min(low**2, high**2)
        kind = element.kind if unit.denominator == 1 else "float"
        return Transformation(
            space,
            Space(Number(kind, grid=unit), AbsoluteDistance()),
            lambda column: exact_sum_of_squares(gridded.units(column)),
            linear_map(space, most * unit, (most - least) * unit),
            step=self,
        )


def exact_sum_of_squares(units: object) -> int:
    """Add the squares of int64 units: in int64 where nothing overflows, else in Python integers."""
    column = np.asarray(units, dtype=np.int64)
    if len(column) == 0:
        return 0
    largest = max(abs(int(column.min())), abs(int(column.max())))
    if largest**2 < 1 << 62:
        return exact_sum(column * column)
    return sum(unit * unit for unit in column.tolist())
