"""Count: the number of records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import (
    AbsoluteDistance,
    Frame,
    InsertDeleteDistance,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
)
from tacit.core.spaces.witness import EVERY
from tacit.errors import MismatchError

__all__ = ["Count"]


@register
@dataclass(frozen=True)
class Count(Step):
    """Count the records.

    **Map.** ``d -> d`` under the symmetric and the insert-delete distance: one record added or
    removed moves the count by one, and ``|len(u) - len(v)| <= d(u, v)``.  ``d -> 0`` wherever the
    size is public (change-one and Hamming distance, or a domain with a size).

    No records against d of them attain it.

    Example:
        >>> from tacit.core import ChangeOneDistance
        >>> unbounded = Space(Vector(float), SymmetricDistance()) >> Count()
        >>> unbounded([4, 5, 6]), unbounded.map(2)
        (3, Fraction(2, 1))
        >>> (Space(Vector(float), ChangeOneDistance()) >> Count()).map(2)
        Fraction(0, 1)
    """

    name: ClassVar[str] = "count"

    def build(self, space: Space) -> Transformation:
        """Return the count on a column or a table.

        Raises:
            MismatchError: the space does not hold records.
        """
        domain = space.domain
        if not isinstance(domain, (Vector, Frame)) or not space.metric.counts_records:
            raise MismatchError(f"count works on records, not on ({space})", space, self)
        moves = isinstance(space.metric, (SymmetricDistance, InsertDeleteDistance))
        stretch = Fraction(int(moves and domain.size is None))
        output = Space(Number("int", Fraction(0), grid=Fraction(1)), AbsoluteDistance())
        return Transformation(
            space,
            output,
            _size,
            lambda d: d * stretch,
            step=self,
            attained=True,
            onto=stretch == 1,  # of any two counts, the smaller one's records and as many more
            witness=EVERY,
        )


def _size(data: Any) -> int:
    return len(next(iter(data.values()))) if isinstance(data, dict) else len(data)
