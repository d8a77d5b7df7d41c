"""Values on a public grid, and lists of a public size."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, as_integer, positive, show
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    HammingDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
    register_join,
)
from tacit.errors import UsageError
from tacit.transformations.rows import column_of_numbers, records_of, row_by_row

# A bounded column as whole units of a public grid.


RESOLUTION_BITS = 30  # a grid that no one chose resolves the bounds into about 2^30 units


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
    """Map from the elements of a bounded column to integer grid units."""

    step: Fraction  # the unit
    # low, high: the bounds, in units
    low: int
    high: int
    nullable: bool  # whether values may be missing
    units_already: bool = False  # whether the column holds units of this grid

    @classmethod
    def of(
        cls, element: Number, step: Fraction | None, resolution: int = RESOLUTION_BITS
    ) -> Gridded:
        """The grid of a bounded element domain; its own, the one asked for, or the default."""
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
    def sensitivity(self) -> Fraction:
        """Sensitivity of the sum to one added or removed record."""
        return max(abs(self.low), abs(self.high)) * self.step

    @property
    def span(self) -> Fraction:
        """Sensitivity of the sum to one changed record."""
        low, high = self.range
        return (high - low) * self.step


def bounded_column(space: Space, step: Step) -> Number:
    """Return the element domain of a bounded column of numbers."""
    element = column_of_numbers(space, step)
    records_of(space, step)
    if element.bounds is None:
        raise step.mismatch(
            space,
            "needs bounds, or one record could move it without limit; put "
            "clamp(lower, upper) before it",
        )
    return element


def _default_step(lower: Fraction, upper: Fraction, resolution: int) -> Fraction:
    """Return a power of two that resolves the bounds into about ``2^resolution`` units."""
    largest = max(abs(lower), abs(upper), Fraction(1, 1 << 400))
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    return Fraction(2) ** (exponent - resolution)


# To grid: numbers as whole units of a public grid, with the rounding charged to the distance.


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
        """Return the rounding of a bounded column, a number or a vector, on no grid before."""
        domain, grid = space.domain, Fraction(self.grid)
        inner = domain.element if isinstance(domain, Vector) else domain
        if not isinstance(inner, Number) or inner.grid is not None or inner.kind == "int":
            raise self.mismatch(space, f"works on floats, not on {domain}")
        if space.metric.counts_records:
            bounded_column(space, self)
            gridded = Gridded.of(inner, grid)
            low, high = gridded.range
            units = Number("float", low * grid, high * grid, grid=grid)
            output = Space(Vector(units, size=domain.size), space.metric)  # type: ignore[attr-defined]
            return row_by_row(self, space, output, gridded.units)
        target = Number("float", grid=grid)
        target_domain: Any = (
            Vector(target, size=domain.size) if isinstance(domain, Vector) else target
        )
        return Transformation(
            space,
            Space(target_domain, space.metric),
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
        raise step.mismatch(
            space, f"charges for each number under {metric}, so it needs a public size"
        )
    if isinstance(metric, L1Distance):
        return lambda d: grid * (math.ceil(d / grid) + max(size - 1, 0)) if d else Fraction(0)
    return lambda d: d + grid * sqrt_up(Fraction(size)) if d else Fraction(0)


register_join("to_grid(step)", ToGrid(Fraction(1, 1024)))


@register
@dataclass(frozen=True)
class Resize(Step):
    """Keep ``size`` records; where there are fewer, add copies of a public ``value``.

    Under Hamming and insert-delete distance the first ``size`` records are kept, in order.  Under
    the symmetric and change-one distance, which forget the order, that would not be stable (two
    orders of one multiset would lose different records).  There a multiset is a set of pairs
    (value, how many equal ones came before), and those ``size`` pairs are kept whose public hash is
    least: a choice as good as random that depends on the multiset alone.

    **Map.** Let S(A) be the ``size`` least of a set A (with enough copies of ``value`` behind
    them).

    - Symmetric distance, ``d -> 2 d``: one record that comes puts one pair into A, so it enters
      S(A) at most once and then pushes out one (a record or a copy of ``value``); and vice versa.
    - Change-one, ``d -> d``: let C be what u and v have in common but one.  S(C + a) and S(C + b)
      both hold the ``size - 1`` least of C, so they differ in at most one record.
    - Hamming, ``d -> d``: position by position.  Insert-delete, ``d -> 2 d``: an insertion shifts
      one record out at the end, a deletion shifts one in.

    Args:
        size: how many records the output has; public, at least 1.
        value: what is added where records are missing; a member of the column.

    Raises:
        UsageError: a size below one, or a value that the column cannot hold.

    Example:
        >>> column = Space(Vector(int), SymmetricDistance()) >> Resize(4, value=0)
        >>> sorted(column([5, 6]).tolist()), column.map(1)
        ([0, 0, 5, 6], Fraction(2, 1))
    """

    size: int
    value: object

    name: ClassVar[str] = "resize"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", as_integer(self.size, "size", minimum=1))

    def build(self, space: Space) -> Transformation:
        """Return the resizing of a column.

        Raises:
            UsageError: the value is outside the column's domain.
        """
        domain = records_of(space, self)
        if not isinstance(domain, Vector):
            raise self.mismatch(space, f"works on a column, not on {domain}")
        numbers = isinstance(domain.element, Number)
        value = as_fraction(self.value, "value") if numbers else self.value
        if not domain.element.contains(value):
            raise UsageError(f"the value of resize is not in the domain: {domain.element}")
        output = Vector(domain.element, size=self.size)
        filler = domain.element.read(value)
        unordered = isinstance(space.metric, (SymmetricDistance, ChangeOneDistance))

        def resize(column: Any) -> Any:
            listed = column.tolist() if hasattr(column, "tolist") else list(column)
            chosen = _smallest(listed, self.size) if unordered else listed[: self.size]
            filled = chosen + [filler] * (self.size - len(chosen))
            return _like(filled, column)

        fixed = isinstance(space.metric, (ChangeOneDistance, HammingDistance))
        factor = 1 if fixed or (domain.size is not None and unordered) else 2
        return Transformation(
            space, Space(output, space.metric), resize, lambda d: d * factor, step=self
        )


def _smallest(records: list[Any], size: int) -> list[Any]:
    """Keep the records whose hash, with the number of equals before them, is least."""
    seen: Counter[Any] = Counter()
    marked = []
    for record in records:
        key = _key(record)
        digest = hashlib.blake2b(f"{seen[key]} {key}".encode(), digest_size=16).digest()
        marked.append((digest, record))
        seen[key] += 1
    marked.sort(key=lambda pair: pair[0])
    return [record for _, record in marked[:size]]


def _key(record: Any) -> str:
    """Write a record so that equal ones are written the same (1, 1.0 and True; 0.0 and -0.0)."""
    if isinstance(record, (bool, int, float)):
        return repr(Fraction(record)) if math.isfinite(record) else str(float(record))
    if isinstance(record, tuple):
        return repr([_key(part) for part in record])
    return repr(record)


def _like(listed: list[Any], column: Any) -> Any:
    return np.array(listed, dtype=column.dtype) if hasattr(column, "dtype") else listed
