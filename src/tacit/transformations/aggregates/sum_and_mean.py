"""Sum and mean of a column, in whole units of a public grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import (
    AbsoluteDistance,
    Number,
    Space,
    Step,
    Transformation,
    register,
)
from tacit.core.spaces.witness import Witness
from tacit.errors import MismatchError
from tacit.transformations.rows.bounded_grid import Gridded, GriddedStep, bounded_column
from tacit.transformations.rows.record_distance import linear_map, only_changes

__all__ = ["Mean", "Sum", "exact_sum", "public_size"]


@register
@dataclass(frozen=True)
class Sum(GriddedStep):
    """Add up a bounded column, exactly, as integers on a public grid.

    Every value is rounded to the nearest multiple of ``grid`` (a power of two unless given; 1 for
    whole numbers), clipped once more as an integer, and added as an integer; so the sum does not
    depend on the order of the rows, and no rounding of floats can widen its sensitivity.  A missing
    value adds nothing.

    **Map.** With bounds [L, U] on the grid: one record that is added or removed moves the sum by at
    most ``max(|L|, |U|)``, so ``d -> d max(|L|, |U|)`` under the symmetric and insert-delete
    distance; where the size is public these come in pairs, ``d -> floor(d / 2) (U - L)``.  One
    record that changes moves it by at most ``U - L`` (where values may be missing,
    ``max(U, 0) - min(L, 0)``), so ``d -> d (U - L)`` under change-one and Hamming distance.

    Raises:
        UsageError: a grid that is not above zero, or too fine for the bounds.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> column = Vector(float, bounds=(0, 12))
        >>> total = Space(column, SymmetricDistance()) >> Sum()
        >>> total([0.5, 0.25, 100]), total.map(1)
        (12.75, Fraction(12, 1))
    """

    name: ClassVar[str] = "sum"

    def build(self, space: Space) -> Transformation:
        """Return the sum of a bounded column.

        Raises:
            MismatchError: no column of numbers, or no bounds.
        """
        element = bounded_column(space, self)
        gridded = Gridded.of(element, self.grid)  # type: ignore[arg-type]
        kind = element.kind if gridded.step.denominator == 1 else "float"
        output = Space(Number(kind, grid=gridded.step), AbsoluteDistance())
        farthest = [] if only_changes(space) else _farthest(element, gridded)
        return Transformation(
            space,
            output,
            lambda column: exact_sum(gridded.units(column)),
            linear_map(space, gridded.reach, gridded.span),
            step=self,
            attained=bool(farthest),
            witness=Witness.of(farthest),
        )


def _farthest(element: Number, gridded: Gridded) -> list[Fraction]:
    """Return the bounds of which d more move the sum as far as the map says.

    It is a value that a record can have, and that the grid does not move.
    """
    assert element.bounds is not None
    exact = element.kind == "int" or element.grid is not None
    return [
        end
        for end in element.bounds
        if abs(end) == gridded.reach
        and (exact or Fraction(float(end)) == end)
        and element.contains(end)
    ]


@register
@dataclass(frozen=True)
class Mean(GriddedStep):
    """The mean of a bounded column whose size is public.

    The sum of :class:`Sum`, on a grid that is divided by the public size n: **map** that of the
    sum, over n.  Missing values count as zero in the sum and still count in n; impute first where
    that is not wanted.

    Example:
        >>> from tacit.core import ChangeOneDistance, Vector
        >>> column = Vector(int, bounds=(0, 10), size=4)
        >>> mean = Space(column, ChangeOneDistance()) >> Mean()
        >>> mean([1, 2, 3, 4]), mean.map(1)
        (2.5, Fraction(5, 2))
    """

    name: ClassVar[str] = "mean"

    def build(self, space: Space) -> Transformation:
        """Return the mean of a bounded column of public size.

        Raises:
            MismatchError: no column of numbers, no bounds, or no public size.
        """
        gridded = Gridded.of(bounded_column(space, self), self.grid)  # type: ignore[arg-type]
        size = public_size(space, self)
        output = Space(Number("float", grid=gridded.step / size), AbsoluteDistance())
        return Transformation(
            space,
            output,
            lambda column: exact_sum(gridded.units(column)),
            linear_map(space, gridded.reach / size, gridded.span / size),
            step=self,
        )


def public_size(space: Space, step: Step) -> int:
    """Return the public size of a column, above zero.

    Raises:
        MismatchError: there is none.
    """
    size: int | None = space.domain.size  # type: ignore[attr-defined]
    if not size:
        raise MismatchError(
            f"the {step.name} needs a public size; use Vector(..., size=n) or resize(n, value), or "
            "release sums and a count and divide them",
            space,
            step,
        )
    return size


def exact_sum(units: Any) -> int:
    """Add int64 units exactly: in int64 where that cannot overflow, else as Python integers."""
    if len(units) == 0:
        return 0
    largest = max(abs(int(units.min())), abs(int(units.max())))
    if largest * len(units) < 1 << 62:
        return int(units.sum())
    return sum(units.tolist())
