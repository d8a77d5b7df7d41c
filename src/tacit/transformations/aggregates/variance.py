"""Variance of a bounded column of public size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import AbsoluteDistance, Number, Space, Transformation, register
from tacit.transformations.aggregates.sum_and_mean import exact_sum, public_size
from tacit.transformations.aggregates.sum_of_squares import RESOLUTION_BITS, exact_sum_of_squares
from tacit.transformations.rows.bounded_grid import Gridded, GriddedStep, bounded_column
from tacit.transformations.rows.record_distance import substitutions

__all__ = ["Variance"]


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
        """Return the variance of a bounded column of public size.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no column of numbers, no bounds, or no public size.
        """
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
