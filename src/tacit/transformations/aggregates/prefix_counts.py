"""Counts of all that is at or below public points: the distribution function of a column."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, float_down, float_up
from tacit.core import Number, Space, Step, Transformation, Vector, register
from tacit.errors import UsageError
from tacit.transformations.aggregates.count_by_category import norm_named
from tacit.transformations.rows.bin import column_of_numbers
from tacit.transformations.rows.record_distance import linear_map, records_of, root_map

__all__ = ["PrefixCounts", "below_and_above", "read_points"]


@register
@dataclass(frozen=True)
class PrefixCounts(Step):
    """Count the values at or below each of m public points: ``#{x <= points[i]}``.

    Args:
        points: public numbers, in rising order.
        metric: the norm in which the answer moves: ``"L1"``, ``"L2"`` or ``"LInfinity"``.

    **Map.** A record is in all m counts at worst, and it leaves all of them at worst when it
    changes. So whether records come, go or change: L1 ``d -> m d``, L2 ``d -> sqrt(m) d`` rounded
    up, L-infinity ``d -> d`` (``floor(d / 2)`` for d under the symmetric distance with a public
    size). Many points need much noise that way; the noise of a tree
    (:class:`~tacit.transformations.aggregates.tree_counts.TreeCounts`) grows only with its levels.

    Raises:
        UsageError: points that do not rise, or an unknown norm.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> counts = Space(Vector(float), SymmetricDistance()) >> PrefixCounts([0, 5, 10])
        >>> counts([1.0, 6.0, 7.0]).tolist(), counts.map(1)
        ([0, 1, 3], Fraction(3, 1))
    """

    points: Sequence[NumberLike]
    metric: str = "L1"

    name: ClassVar[str] = "prefix_counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", read_points(self.points, "points"))
        norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the counts on a column of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of numbers compared record by record.
        """
        points = cast("Sequence[Fraction]", self.points)
        element = column_of_numbers(space, self)
        records_of(space, self)
        m = len(self.points)
        counts = Vector(Number("int", Fraction(0), grid=Fraction(1)), size=m)

        def count(column: Any) -> Any:
            known = len(column) - int(np.isnan(np.asarray(column, dtype=np.float64)).sum())
            _, above = below_and_above(np.asarray(column), points, element.grid)
            return counts.read([known - a for a in above])

        reach = {"L1": (linear_map, m), "L2": (root_map, m), "LInfinity": (linear_map, 1)}
        kind, most = reach[self.metric]
        return Transformation(
            space,
            Space(counts, norm_named(self.metric)),
            count,
            kind(space, most, most),
            step=self,
        )


def read_points(points: Any, name: str) -> tuple[Fraction, ...]:
    """Read public numbers in rising order, at least one.

    Raises:
        UsageError: none, or some that do not rise.
    """
    if isinstance(points, (str, bytes)) or not hasattr(points, "__iter__"):
        raise UsageError(f"{name} are increasing numbers, such as [0, 20, 40]")
    exact = tuple(as_fraction(point, f"one of the {name}") for point in points)
    if not exact or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError(f"{name} are increasing numbers, at least one, such as [0, 20, 40]")
    return exact


def below_and_above(
    column: NDArray[Any], points: Sequence[Fraction], grid: Fraction | None
) -> tuple[list[int], list[int]]:
    """Count, for each point, the values below it and those above it; missing ones are neither."""
    unit = grid or Fraction(1)
    if column.dtype.kind == "i":
        ordered: NDArray[Any] = np.sort(column)
        least = [_int64(math.ceil(p / unit)) for p in points]
        most = [_int64(math.floor(p / unit)) for p in points]
        ends: tuple[Any, Any] = (np.array(least, np.int64), np.array(most, np.int64))
    else:
        ordered = np.sort(column[~np.isnan(column)])
        ends = ([float_up(p) for p in points], [float_down(p) for p in points])
    below = np.searchsorted(ordered, ends[0], side="left")
    above = len(ordered) - np.searchsorted(ordered, ends[1], side="right")
    return below.tolist(), above.tolist()


def _int64(value: int) -> int:
    return min(max(value, -(1 << 63)), (1 << 63) - 1)
