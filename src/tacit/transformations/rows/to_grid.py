"""To grid: numbers as whole units of a public grid, with the rounding charged to the distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import positive
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import (
    AbsoluteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
    register_join,
)
from tacit.errors import MismatchError
from tacit.transformations.rows.bounded_grid import Gridded, bounded_column
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["ToGrid"]

_LARGEST = Fraction(2) ** 1000


@register
@dataclass(frozen=True)
class ToGrid(Step):
    """Round numbers to the nearest multiple of ``grid`` (halves up) and carry them as whole units.

    **Map on records** (a bounded column): ``d -> d``; each record is rounded alone.

    **Map on aggregates.** Rounding is ``g floor(x / g + 1/2)``, and
    ``floor(a) - floor(b) <= ceil(a - b)``; so a difference of d becomes at most ``g ceil(d / g)``.
    With n numbers:

    - absolute and L-infinity distance: ``d -> g ceil(d / g)``, which is d itself on multiples of g;
    - L1: ``d -> g (ceil(d / g) + n - 1)``: the differences ``d_i`` add up to d, and
      ``sum ceil(d_i / g)`` is at most ``ceil(d / g) + n - 1``, as ``sum ceil(x_i) < sum x_i + n``;
    - L2: ``d -> d + g sqrt(n)`` rounded up: each number moves by at most g/2, twice.

    Zero goes to zero.  Missing numbers go to zero, infinities to plus or minus 2^1000.

    Args:
        grid: the step of the grid, above 0, in the unit of the numbers.

    Raises:
        UsageError: a grid that is not above zero, or too fine for the bounds.

    Example:
        >>> number = Space(Number("float"), AbsoluteDistance()) >> ToGrid("1/4")
        >>> number(0.6), number.map("0.3"), number.map("0.5")
        (0.5, Fraction(1, 2), Fraction(1, 2))
    """

    grid: NumberLike

    name: ClassVar[str] = "to_grid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", positive(self.grid, "grid"))

    def build(self, space: Space) -> Transformation:
        """Return the rounding of a bounded column, of a number, or of a vector of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no numbers; numbers on a grid already; a column without bounds.
        """
        domain, grid = space.domain, Fraction(self.grid)
        inner = domain.element if isinstance(domain, Vector) else domain
        if not isinstance(inner, Number) or inner.grid is not None or inner.kind == "int":
            raise MismatchError(f"to_grid works on floats, not on {domain}", space, self)
        if space.metric.counts_records:
            bounded_column(space, self)
            gridded = Gridded.of(inner, grid)
            low, high = gridded.range
            units = Number("float", low * grid, high * grid, grid=grid)
            output = Space(Vector(units, size=domain.size), space.metric)  # type: ignore[attr-defined]
            return row_by_row(self, space, output, gridded.units)
        target = Number("float", grid=grid)
        whole: Any = Vector(target, size=domain.size) if isinstance(domain, Vector) else target
        return Transformation(
            space,
            Space(whole, space.metric),
            self._units if isinstance(domain, Vector) else self._unit,
            _rounding(space, grid, self),
            step=self,
        )

    def _units(self, values: Any) -> list[int]:
        return [self._unit(value) for value in values]

    def _unit(self, value: Any) -> int:
        number = float(value)
        if math.isnan(number):
            return 0
        exact = Fraction(number) if math.isfinite(number) else math.copysign(1, number) * _LARGEST
        return math.floor(Fraction(exact) / Fraction(self.grid) + Fraction(1, 2))


def _rounding(space: Space, grid: Fraction, step: Step) -> Callable[[Fraction], Fraction]:
    metric, size = space.metric, getattr(space.domain, "size", 1)
    if isinstance(metric, (AbsoluteDistance, LInfinityDistance)):
        return lambda d: grid * math.ceil(d / grid)
    if size is None or not isinstance(metric, (L1Distance, L2Distance)):
        raise MismatchError(
            f"to_grid charges for each number under {metric}, so it needs a public size",
            space,
            step,
        )
    if isinstance(metric, L1Distance):
        return lambda d: grid * (math.ceil(d / grid) + max(size - 1, 0)) if d else Fraction(0)
    return lambda d: d + grid * sqrt_up(Fraction(size)) if d else Fraction(0)


register_join("to_grid(step)", ToGrid(Fraction(1, 1024)))
