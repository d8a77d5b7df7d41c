"""Count distinct: how many different records there are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import (
    AbsoluteDistance,
    Category,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
)
from tacit.core.spaces.metric import records_of as listed_records
from tacit.transformations.rows.record_distance import linear_map, records_of

__all__ = ["CountDistinct"]


@register
@dataclass(frozen=True)
class CountDistinct(Step):
    """Count the different records; missing values are one kind, unknown labels another.

    **Map.** ``d -> d``, and ``floor(d / 2)`` under the symmetric distance where the size is public.
     One record that comes adds at most one kind, one that goes takes at most one away; one that
    changes does both at worst, which still moves the count by at most one.  Over c known labels
    and n records of public size the count moves by no more than c + 1 (the unknown ones are a kind
    too) or n - 1.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> kinds = Space(Vector(str), SymmetricDistance()) >> CountDistinct()
        >>> kinds(["a", "b", "a"]), kinds.map(3)
        (2, Fraction(3, 1))
    """

    name: ClassVar[str] = "count_distinct"

    def build(self, space: Space) -> Transformation:
        """Return the count of distinct values of a column, or of distinct rows of a table.

        Raises:
            MismatchError: the space does not hold records.
        """
        limit = _most(records_of(space, self))
        moves = linear_map(space, 1, 1)
        output = Space(Number("int", Fraction(0), grid=Fraction(1)), AbsoluteDistance())

        def stability(d: Fraction) -> Fraction:
            return moves(d) if limit is None else min(moves(d), Fraction(limit))

        return Transformation(space, output, _kinds, stability, step=self)


def _kinds(data: Any) -> int:
    kinds: set[Hashable] = set(listed_records(data))
    return len(kinds)


def _most(domain: Any) -> int | None:
    limits = []
    if domain.size is not None:
        limits.append(max(domain.size - 1, 0))
    if isinstance(domain, Vector) and isinstance(domain.element, Category):
        known = domain.element.categories
        limits += [] if known is None else [len(known) + 1]
    return min(limits, default=None)
