"""Bin: numbers into the intervals between public edges."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, float_up
from tacit.core import Category, Number, Space, Step, Transformation, Vector, register
from tacit.errors import MismatchError, UsageError
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["Bin", "place", "rising_edges"]


@register
@dataclass(frozen=True)
class Bin(Step):
    """Replace each number by the index of its bin; bin i is ``[edges[i], edges[i + 1])``.

    The last bin includes its upper edge.  A number outside all bins, or a missing one, has no bin
    (None).

    **Map.** ``d -> d`` under every metric on records: each record is placed alone.

    Args:
        edges: public and rising, at least two, in the unit of the column.

    Raises:
        UsageError: fewer than two edges, edges that do not rise, infinite ones.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> bins = Space(Vector(float), SymmetricDistance()) >> Bin([0, 10, 20])
        >>> bins([3.0, 10.0, 20.0, 99.0])
        [0, 1, 1, None]
    """

    edges: Sequence[NumberLike]

    name: ClassVar[str] = "bin"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", rising_edges(self.edges))

    def build(self, space: Space) -> Transformation:
        """Return the binning of a column of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of numbers.
        """
        edges = cast("Sequence[Fraction]", self.edges)
        element = column_of_numbers(space, self)
        bins = Category(tuple(range(len(self.edges) - 1)))
        output = Space(Vector(bins, size=space.domain.size), space.metric)  # type: ignore[attr-defined]

        def to_bins(column: Any) -> list[int | None]:
            found = place(column, edges, element.grid).tolist()
            return [None if index < 0 else index for index in found]

        return row_by_row(self, space, output, to_bins)


def rising_edges(edges: Any) -> tuple[Fraction, ...]:
    """Read at least two numbers that rise.

    Raises:
        UsageError: anything else.
    """
    if isinstance(edges, (str, bytes)) or not hasattr(edges, "__iter__"):
        raise UsageError("edges are at least two increasing numbers, such as [0, 20, 40]")
    exact = tuple(as_fraction(edge, "an edge") for edge in edges)
    if len(exact) < 2 or any(b <= a for a, b in itertools.pairwise(exact)):
        raise UsageError("edges are at least two increasing numbers, such as [0, 20, 40]")
    return exact


def column_of_numbers(space: Space, step: Step) -> Number:
    """Return the element domain of a column of numbers.

    Raises:
        MismatchError: the space is something else.
    """
    domain = space.domain
    if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
        raise MismatchError(
            f"{step.name} works on a column of numbers, not on {domain}", space, step
        )
    return domain.element


def place(
    column: NDArray[Any], edges: Sequence[Fraction], grid: Fraction | None = None
) -> NDArray[np.int64]:
    """Return the bin of every number, -1 for those outside and for missing ones.

    Exact: a float is below a rational edge exactly when it is below the least float that is not
    below the edge.
    """
    unit = grid or Fraction(1)
    if column.dtype.kind == "i":
        floors = np.array([_first_unit(edge / unit) for edge in edges], dtype=np.int64)
        last = bool((edges[-1] / unit).denominator == 1)
        inside = _place_whole(column, floors)
        on_top = (column == floors[-1]) & last
    else:
        floors = np.array([float_up(edge) for edge in edges])
        inside = np.searchsorted(floors, column, side="right") - 1
        on_top = (column == floors[-1]) & (Fraction(float(floors[-1])) == edges[-1])
    found = np.where(inside >= len(edges) - 1, np.where(on_top, len(edges) - 2, -1), inside)
    if column.dtype.kind == "f":
        found = np.where(np.isnan(column), -1, found)
    return found.astype(np.int64)


def _place_whole(column: NDArray[Any], floors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many edges are at or below each whole number, less one: by a table if short."""
    low, high = int(floors[0]) - 1, int(floors[-1]) + 1
    if high - low >= 1 << 16 or max(abs(low), abs(high)) >= 1 << 62:
        return np.searchsorted(floors, column, side="right") - 1
    table = np.searchsorted(floors, np.arange(low, high + 1), side="right") - 1
    return np.asarray(table[column.clip(low, high) - low])


def _first_unit(edge: Fraction) -> int:
    """Return the least whole unit that is not below the edge, held inside 64 bits."""
    return min(max(-(-edge.numerator // edge.denominator), -(1 << 63)), (1 << 63) - 1)
