"""Impute: put a public constant where a number is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import Number, Space, Step, Transformation, Vector, register
from tacit.errors import MismatchError, UsageError
from tacit.transformations.rows.row_by_row import row_by_row

__all__ = ["Impute"]


@register
@dataclass(frozen=True)
class Impute(Step):
    """Replace missing numbers (NaN) by a public constant.

    **Map.** ``d -> d`` under every metric on records: each record is treated alone.

    Args:
        value: the constant, in the unit of the column.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> chain = Space(Vector(float), SymmetricDistance()) >> Impute(5)
        >>> chain([1.0, float("nan")]).tolist()
        [1.0, 5.0]
    """

    value: NumberLike

    name: ClassVar[str] = "impute"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_fraction(self.value, "the imputed value"))

    def build(self, space: Space) -> Transformation:
        """Return the imputation on a column of floats.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space is not a column of floats.
            UsageError: the constant is outside the column's bounds.
        """
        domain = space.domain
        if not isinstance(domain, Vector) or not isinstance(domain.element, Number):
            raise MismatchError(
                f"impute works on a column of numbers, not on {domain}", space, self
            )
        filled = replace(domain.element, nullable=False)
        constant = as_fraction(self.value)
        if not filled.contains(constant):
            raise UsageError(f"the imputed value {show(constant)} is not in the domain: {filled}")

        def fill(column: Any) -> Any:
            return np.where(np.isnan(column), float(constant), column)

        return row_by_row(self, space, Space(Vector(filled, size=domain.size), space.metric), fill)
