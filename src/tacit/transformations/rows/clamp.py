"""Clamp: bring every number into public bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction
from tacit.core import Number, Space, Step, Transformation, Vector, register
from tacit.errors import MismatchError
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["Clamp"]


@register
@dataclass(frozen=True)
class Clamp(Step):
    """Clamp numbers to [lower, upper].

    **Map.** ``d -> d`` under every metric on records: a record is clamped without looking at the
    others, so records that were equal stay equal, and no change of one touches another.
    The bounds must be public: bounds read off the data would move with one person.

    Missing values (NaN) stay missing; infinities are clamped.

    Args:
        lower, upper: the public bounds, in the unit of the column.

    Raises:
        UsageError: bounds that are not numbers, infinite, or reversed.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> chain = Space(Vector(float), SymmetricDistance()) >> Clamp(0, 12)
        >>> chain([3.5, 99]).tolist(), chain.map(1)
        ([3.5, 12.0], Fraction(1, 1))
    """

    lower: NumberLike
    upper: NumberLike

    name: ClassVar[str] = "clamp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", as_fraction(self.lower, "lower bound"))
        object.__setattr__(self, "upper", as_fraction(self.upper, "upper bound"))
        Number("float", self.lower, self.upper)  # type: ignore[arg-type]

    def build(self, space: Space) -> Transformation:
        """Return the clamp on a column of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of numbers.
        """
        domain = space.domain
        if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
            raise MismatchError(
                f"clamp works on a column of numbers, not on {domain}; start from "
                "Vector(float) or Vector(int), or select a column first",
                space,
                self,
            )
        inside = replace(
            domain.element, lower=as_fraction(self.lower), upper=as_fraction(self.upper)
        )
        output = Space(Vector(inside, size=domain.size), space.metric)
        ends = (inside.lower, inside.upper)
        # members of the new domain that are members of the old one are left as they are
        kept = all(domain.element.contains(end) for end in ends)
        return row_by_row(self, space, output, inside.read_many, onto=kept)
