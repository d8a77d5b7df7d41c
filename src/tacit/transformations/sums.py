"""Sums, means and variances."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.core import AbsoluteDistance, Number, Space, Step, Transformation, register
from tacit.core.metrics import Witness
from tacit.errors import MismatchError
from tacit.transformations.grid import Gridded, GriddedStep, bounded_column
from tacit.transformations.rows import linear_map, only_changes, substitutions


@register
@dataclass(frozen=True)
class Sum(GriddedStep):
    """Add up a bounded column, exactly, as integers on a public grid.

    Every value is rounded to the nearest multiple of ``grid`` (a power of two unless given; 1 for
    integers), clipped once more as an integer, and added as an integer; so the sum does not
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
        """Return the sum of a bounded column of numbers."""
        element = bounded_column(space, self)
        gridded = Gridded.of(element, self.grid)  # type: ignore[arg-type]
        kind = element.kind if gridded.step.denominator == 1 else "float"
        output = Space(Number(kind, grid=gridded.step), AbsoluteDistance())
        farthest = [] if only_changes(space) else _farthest(element, gridded)
        return Transformation(
            space,
            output,
            lambda column: exact_sum(gridded.units(column)),
            linear_map(space, gridded.sensitivity, gridded.span),
            step=self,
            attained=bool(farthest),
            witness=Witness.of(farthest),
        )


def _farthest(element: Number, gridded: Gridded) -> list[Fraction]:
    """Return the bounds of which d more move the sum as far as the map says."""
    # It is a value that a record can have, and that the grid does not move.
    assert element.bounds is not None
    exact = element.kind == "int" or element.grid is not None
    return [
        end
        for end in element.bounds
        if abs(end) == gridded.sensitivity
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
        """Return the mean of a bounded column of public size."""
        gridded = Gridded.of(bounded_column(space, self), self.grid)  # type: ignore[arg-type]
        size = public_size(space, self)
        output = Space(Number("float", grid=gridded.step / size), AbsoluteDistance())
        return Transformation(
            space,
            output,
            lambda column: exact_sum(gridded.units(column)),
            linear_map(space, gridded.sensitivity / size, gridded.span / size),
            step=self,
        )


def public_size(space: Space, step: Step) -> int:
    """Return the public size of a column, above zero."""
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


# Sum of squares of a bounded column.


# Squares of a column that is resolved into 2^20 units are added in 64 bits for 2^22 records.
RESOLUTION_BITS = 20


@register
@dataclass(frozen=True)
class SumOfSquares(GriddedStep):
    """Add up the squares of a bounded column, exactly, as integers on a public grid.

    Values are rounded to the grid as in :class:`~tacit.transformations.sums.Sum`
    (its default here is coarser: about 2^20 units); their squares are integers of ``grid^2``.

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
        """Return the sum of squares of a bounded column."""
        element = bounded_column(space, self)
        gridded = Gridded.of(element, self.grid, RESOLUTION_BITS)  # type: ignore[arg-type]
        low, high = gridded.range
        unit = gridded.step**2
        maximum = max(gridded.low**2, gridded.high**2)
        minimum = 0 if low <= 0 <= high else min(low**2, high**2)
        kind = element.kind if unit.denominator == 1 else "float"
        return Transformation(
            space,
            Space(Number(kind, grid=unit), AbsoluteDistance()),
            lambda column: exact_sum_of_squares(gridded.units(column)),
            linear_map(space, maximum * unit, (maximum - minimum) * unit),
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


@register
@dataclass(frozen=True)
class Variance(GriddedStep):
    """The variance (divided by n) of a bounded column whose size n is public.

    Exact: with whole grid units x, ``n^2 var = n sum(x^2) - (sum x)^2`` is a whole number of
    ``grid^2``.  A missing value counts as zero; impute first where that is not wanted.

    **Map.** With k changed records and R the width of the bounds,
    ``R^2 k (n - k) / n^2`` for ``k <= n / 2`` and ``R^2 floor(n/2) ceil(n/2) / n^2`` beyond.

    Proof.  Write the variance as ``(1 / n^2) sum over pairs i < j of (x_i - x_j)^2``.  Let S be the
    n - k records that do not change.  Each of the k (k - 1) / 2 pairs of changed records and
    k (n - k) mixed pairs moves.  For fixed S the variance is convex in the changed records, so its
    largest value has them at the ends of the bounds; its smallest value, given S, is at least
    that where all of them lie at the mean m of S, which is ``W / n^2 * n / (n - k)`` with W the sum
    over the pairs inside S.  With a changed records at L, b at U (a + b = k), the sum of all
    squared pairs is ``W + (n - k)(a (m - L)^2 + b (U - m)^2) + W' + a b R^2`` where ``W' = k W / (n
    - k)`` (sum over S of (x - c)^2 is its own scatter ``W / (n - k)`` plus ``(n - k)(m - c)^2``).
    The difference of the two is ``((n - k)(a (m - L)^2 + b (U - m)^2) + a b R^2) / n^2``, convex
    in m, so largest with m at an end, say L:
    ``((n - k) b + (k - b) b) R^2 / n^2 = b (n - b) R^2 / n^2`` with ``b <= k``, which grows up to
    b = n/2.  Attained by all records at one end, and b of them moved to the other.

    Args:
        grid: the step of the grid, in the unit of the column; by default as for the sum of squares.

    Example:
        >>> from tacit.core import ChangeOneDistance, Vector
        >>> v = Space(Vector(int, bounds=(0, 10), size=4), ChangeOneDistance()) >> Variance()
        >>> v([0, 0, 10, 10]), v.map(1)
        (25.0, Fraction(75, 4))
    """

    name: ClassVar[str] = "variance"

    def build(self, space: Space) -> Transformation:
        """Return the variance of a bounded column of public size."""
        element = bounded_column(space, self)
        gridded = Gridded.of(element, self.grid, RESOLUTION_BITS)  # type: ignore[arg-type]
        size = public_size(space, self)
        unit = gridded.step**2 / size**2

        def variance(column: Any) -> int:
            units = gridded.units(column)
            return size * exact_sum_of_squares(units) - exact_sum(units) ** 2

        def stability(d: Fraction) -> Fraction:
            moved = min(int(substitutions(space, d)), size // 2)
            return gridded.span**2 * moved * (size - moved) / size**2

        output = Space(Number("float", grid=unit), AbsoluteDistance())
        return Transformation(space, output, variance, stability, step=self)
