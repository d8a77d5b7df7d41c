"""Histogram: how many numbers lie between each two edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import float_up
from tacit.core import Number, Space, Step, Transformation
from tacit.core.spaces.witness import Witness
from tacit.transformations.aggregates.count_by_category import CountByCategory, norm_named
from tacit.transformations.rows.bin import Bin, place, rising_edges
from tacit.transformations.rows.record_distance import only_changes

__all__ = ["Histogram"]


@dataclass(frozen=True)
class Histogram(Step):
    """Count the values between each two edges: :class:`Bin`, then :class:`CountByCategory`.

    The last bin includes its upper edge; values outside and missing ones are in no bin, or in the
    last count where ``other=True``.  Maps: those of the two steps.

    Raises:
        UsageError: fewer than two edges, edges that do not rise, an unknown norm.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> h = Space(Vector(float), SymmetricDistance()) >> Histogram([0, 10, 20])
        >>> h([1.0, 2.0, 15.0, 99.0]).tolist(), h.map(2)
        ([2, 1], Fraction(2, 1))
    """

    edges: Any
    other: bool = False
    metric: str = "L1"

    name: ClassVar[str] = "bin_counts"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", rising_edges(self.edges))
        norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the histogram of a column of numbers.

        Raises:
            MismatchError: the space is not a column of numbers compared record by record.
        """
        counts = CountByCategory(other=self.other, metric=self.metric)
        chain: Transformation = Bin(self.edges).build(space) >> counts
        element: Number = space.domain.element  # type: ignore[attr-defined]
        cells, grid = len(self.edges) - 1, element.grid

        def count(column: Any) -> Any:
            """Count all at once what the two steps would count one by one."""
            found = place(column, self.edges, grid)
            found[found < 0] = cells
            return np.bincount(found, minlength=cells + 1)[: cells + self.other]

        chain.function = count
        coming = [] if only_changes(space) else self._values(element)
        found = [value for value in coming if value is not None]
        chain.attained, chain.witness = bool(found), Witness.of(found)
        chain.onto = self.metric == "L1" and len(found) == cells and not self.other
        return chain

    def _values(self, element: Number) -> list[Fraction | None]:
        """Return the least value that a record can have in each bin; None where there is none."""
        least = []
        unit = element.grid or (Fraction(1) if element.kind == "int" else None)
        for index, edge in enumerate(self.edges[:-1]):
            low = edge if element.lower is None else max(edge, element.lower)
            value = math.ceil(low / unit) * unit if unit else Fraction(float_up(low))
            inside = element.contains(value)
            inside = inside and place(element.read_many([value]), self.edges, element.grid) == index
            least.append(value if inside else None)
        return least
