"""A bounded column as whole units of a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import positive, show
from tacit.core import Number, Space, Step, Vector
from tacit.errors import MismatchError, UsageError
from tacit.transformations.rows.record_distance import records_of

__all__ = ["Gridded", "GriddedStep", "bounded_column"]

RESOLUTION_BITS = 30
"""A grid that nobody chose resolves the bounds into about 2^30 units."""


@dataclass(frozen=True)
class GriddedStep(Step):
    """A step that reads a bounded column in whole units of a grid, its own or one that is given.

    Raises:
        UsageError: a grid that is not above zero.
    """

    grid: NumberLike | None = None

    def __post_init__(self) -> None:
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))


@dataclass(frozen=True)
class Gridded:
    """How the elements of a bounded column become whole grid units.

    Attributes:
        step: the unit.
        low, high: the bounds, in units.
        nullable: whether values may be missing.
        units_already: whether the column holds units of this grid.
    """

    step: Fraction
    low: int
    high: int
    nullable: bool
    units_already: bool = False

    @classmethod
    def of(
        cls, element: Number, step: Fraction | None, resolution: int = RESOLUTION_BITS
    ) -> Gridded:
        """Return the grid of a bounded element domain; its own, the one asked for, or the default.

        Raises:
            UsageError: no bounds, another grid than the column's own, or one too fine for it.
        """
        bounds = element.bounds
        if bounds is None:
            raise UsageError("the column has no bounds")
        if element.grid is not None:
            if step not in (None, element.grid):
                raise UsageError(
                    f"the column is on a grid of {show(element.grid)} already, not of {step}"
                )
            low, high = math.ceil(bounds[0] / element.grid), math.floor(bounds[1] / element.grid)
            return cls(element.grid, low, high, nullable=False, units_already=True)
        if step is None:
            step = Fraction(1) if element.kind == "int" else _default_step(*bounds, resolution)
        low, high = (math.floor(bound / step + Fraction(1, 2)) for bound in bounds)
        if max(abs(low), abs(high)) >= 1 << 52:
            raise UsageError("this grid is too fine for the bounds; choose a coarser one")
        return cls(step, low, high, element.nullable)

    def units(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """Round to whole units and clip again as integers; a missing value is no unit (zero)."""
        if self.units_already or (column.dtype.kind == "i" and self.step == 1):
            return column.clip(self.low, self.high)
        missing = np.isnan(column.astype(np.float64))
        scaled = np.where(missing, 0.0, column / float(self.step))
        inside = scaled.clip(float(self.low), float(self.high))
        units = np.floor(inside + 0.5).astype(np.int64).clip(self.low, self.high)
        units[missing] = 0
        return units

    @property
    def range(self) -> tuple[int, int]:
        """The least and the largest unit a record can contribute, a missing one among them."""
        if self.nullable:
            return min(self.low, 0), max(self.high, 0)
        return self.low, self.high

    @property
    def reach(self) -> Fraction:
        """How far one record that is added or removed moves the sum."""
        return max(abs(self.low), abs(self.high)) * self.step

    @property
    def span(self) -> Fraction:
        """How far one record that changes moves the sum."""
        low, high = self.range
        return (high - low) * self.step


def bounded_column(space: Space, step: Step) -> Number:
    """Return the element domain of a bounded column of numbers.

    Raises:
        MismatchError: no column of numbers compared record by record, or no bounds.
    """
    domain = space.domain
    if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
        raise MismatchError(
            f"{step.name} works on a column of numbers, not on {domain}", space, step
        )
    records_of(space, step)
    if domain.element.bounds is None:
        raise MismatchError(
            f"{step.name} needs bounds, or one record could move it without limit; put "
            "clamp(lower, upper) before it",
            space,
            step,
        )
    return domain.element


def _default_step(lower: Fraction, upper: Fraction, resolution: int) -> Fraction:
    """Return a power of two that resolves the bounds into about ``2^resolution`` units."""
    largest = max(abs(lower), abs(upper), Fraction(1, 1 << 400))
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    return Fraction(2) ** (exponent - resolution)
