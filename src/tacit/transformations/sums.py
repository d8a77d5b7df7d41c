"""Sum and mean of a column, in whole units of a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    HammingDistance,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
)
from tacit.errors import MismatchError, UsageError
from tacit.exact import Number as NumberLike
from tacit.exact import positive

__all__ = ["Mean", "Sum"]

_RESOLUTION_BITS = 30


@dataclass(frozen=True)
class _Gridded:
    """How the elements of a bounded column become whole grid units."""

    step: Fraction
    low: int
    high: int
    nullable: bool

    @classmethod
    def of(cls, element: Number, step: Fraction | None) -> _Gridded:
        bounds = element.bounds
        if bounds is None:
            raise UsageError("the column has no bounds")
        if step is None:
            step = Fraction(1) if element.kind == "int" else _default_step(*bounds)
        low, high = (math.floor(bound / step + Fraction(1, 2)) for bound in bounds)
        if max(abs(low), abs(high)) >= 1 << 52:
            raise UsageError("this grid is too fine for the bounds; choose a coarser one")
        return cls(step, low, high, element.nullable)

    def units(self, column: Any) -> Any:
        """Round to whole units and clip again as integers; a missing value is no unit (zero)."""
        if column.dtype.kind == "i" and self.step == 1:
            return column.clip(self.low, self.high)
        missing = np.isnan(column.astype(np.float64))
        scaled = np.where(missing, 0.0, column / float(self.step))
        inside = scaled.clip(float(self.low), float(self.high))
        units = np.floor(inside + 0.5).astype(np.int64).clip(self.low, self.high)
        units[missing] = 0
        return units

    @property
    def reach(self) -> Fraction:
        """How far one record that comes or goes moves the sum."""
        return max(abs(self.low), abs(self.high)) * self.step

    @property
    def span(self) -> Fraction:
        """How far one record that changes moves the sum."""
        low, high = (
            (min(self.low, 0), max(self.high, 0)) if self.nullable else (self.low, self.high)
        )
        return (high - low) * self.step


def _default_step(lower: Fraction, upper: Fraction) -> Fraction:
    """Return a power of two that resolves the bounds into about 2^30 units."""
    largest = max(abs(lower), abs(upper), Fraction(1, 1 << 400))
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    return Fraction(2) ** (exponent - _RESOLUTION_BITS)


@register
@dataclass(frozen=True)
class Sum(Step):
    """Add up a bounded column, exactly, as integers on a public grid.

    Every value is rounded to the nearest multiple of ``grid`` (a power of two unless given; 1 for
    whole numbers), clipped once more as an integer, and added as an integer; so the sum does not
    depend on the order of the rows, and no rounding of floats can widen its sensitivity.  A missing
    value adds nothing.

    **Map.** With bounds [L, U] on the grid: one record that comes or goes moves the sum by at most
    ``max(|L|, |U|)``, so ``d -> d max(|L|, |U|)`` under the symmetric and insert-delete distance;
    where the size is public these come in pairs, ``d -> floor(d / 2) (U - L)``.  One record that
    changes moves it by at most ``U - L`` (where values may be missing: ``max(U, 0) - min(L, 0)``),
    so ``d -> d (U - L)`` under change-one and Hamming distance.

    Raises:
        UsageError: a grid that is not above zero, or too fine for the bounds.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> column = Vector(float, bounds=(0, 12))
        >>> total = Space(column, SymmetricDistance()) >> Sum()
        >>> total([0.5, 0.25, 100]), total.map(1)
        (12.75, Fraction(12, 1))
    """

    grid: NumberLike | None = None

    name: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))

    def build(self, space: Space) -> Transformation:
        """Return the sum of a bounded column.

        Raises:
            MismatchError: no column of numbers, or no bounds.
        """
        element = _bounded(space, self)
        gridded = _Gridded.of(element, self.grid)  # type: ignore[arg-type]
        kind = element.kind if gridded.step.denominator == 1 else "float"
        output = Space(Number(kind, grid=gridded.step), AbsoluteDistance())
        return Transformation(
            space,
            output,
            lambda column: _exact_sum(gridded.units(column)),
            _stability(space, gridded),
            step=self,
        )


@register
@dataclass(frozen=True)
class Mean(Step):
    """The mean of a bounded column whose size is public.

    The sum of :class:`Sum`, on a grid that is divided by the public size n: **map** that of the
    sum, over n.  Missing values count as zero in the sum and still count in n; impute first where
    that is not wanted.

    Example:
        >>> from tacit.core import ChangeOneDistance
        >>> column = Vector(int, bounds=(0, 10), size=4)
        >>> mean = Space(column, ChangeOneDistance()) >> Mean()
        >>> mean([1, 2, 3, 4]), mean.map(1)
        (2.5, Fraction(5, 2))
    """

    grid: NumberLike | None = None

    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))

    def build(self, space: Space) -> Transformation:
        """Return the mean of a bounded column of public size.

        Raises:
            MismatchError: no column of numbers, no bounds, or no public size.
        """
        element = _bounded(space, self)
        size = space.domain.size  # type: ignore[attr-defined]
        if not size:
            raise MismatchError(
                "the mean needs a public size; use Vector(..., size=n), or release a sum and a "
                "count and divide them",
                space,
                self,
            )
        gridded = _Gridded.of(element, self.grid)  # type: ignore[arg-type]
        moves = _stability(space, gridded)
        output = Space(Number("float", grid=gridded.step / size), AbsoluteDistance())
        return Transformation(
            space,
            output,
            lambda column: _exact_sum(gridded.units(column)),
            lambda d: moves(d) / size,
            step=self,
        )


def _bounded(space: Space, step: Step) -> Number:
    domain = space.domain
    if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
        raise MismatchError(
            f"{step.name} works on a column of numbers, not on {domain}", space, step
        )
    if not space.metric.counts_records:
        raise MismatchError(f"{step.name} works on records, not under {space.metric}", space, step)
    if domain.element.bounds is None:
        raise MismatchError(
            f"{step.name} needs bounds, or one record could move it without limit; put "
            "clamp(lower, upper) before it",
            space,
            step,
        )
    return domain.element


def _stability(space: Space, gridded: _Gridded) -> Any:
    if isinstance(space.metric, (ChangeOneDistance, HammingDistance)):
        return lambda d: d * gridded.span
    if space.domain.size is not None:  # type: ignore[attr-defined]
        return lambda d: (d // 2) * gridded.span
    return lambda d: d * gridded.reach


def _exact_sum(units: Any) -> int:
    """Add int64 units exactly: in int64 where that cannot overflow, else as Python integers."""
    if len(units) == 0:
        return 0
    largest = max(abs(int(units.min())), abs(int(units.max())))
    if largest * len(units) < 1 << 62:
        return int(units.sum())
    return sum(units.tolist())
