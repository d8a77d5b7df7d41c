"""Filter: keep the records that satisfy a condition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from tacit.core import (
    ChangeOneDistance,
    HammingDistance,
    InsertDeleteDistance,
    Metric,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    register,
)
from tacit.errors import UsageError
from tacit.transformations.rows.record_distance import records_of
from tacit.transformations.rows.record_functions import keep_records, records, total

__all__ = ["Filter"]


@register
@dataclass(frozen=True)
class Filter(Step):
    """Keep the records for which a Python function is true.

    Args:
        predicate: a function of one value of a column, or of one row of a table (a dict); it must
            depend on nothing else.  Where it raises, the record is left out.

    **Map.** Each record is kept or not by itself, so equal records share their fate: ``d -> d``
    under the symmetric and insert-delete distance.  How many are kept is private from here on, so
    the metrics of a public size do not apply any more: from change-one to symmetric distance, and
    from Hamming to insert-delete, ``d -> 2 d`` (a record that changes may go and another come).

    Raises:
        UsageError: a predicate that cannot be called.

    Example:
        >>> from tacit.core import Vector
        >>> adults = Space(Vector(int), SymmetricDistance()) >> Filter(lambda age: age >= 18)
        >>> adults([15, 20, 40]).tolist(), adults.map(2)
        ([20, 40], Fraction(2, 1))
    """

    predicate: Callable[..., object]

    name: ClassVar[str] = "keep_where"

    def __post_init__(self) -> None:
        if not callable(self.predicate):
            raise UsageError(
                "filter takes a function of one record, such as lambda age: age >= 18; a chain "
                "with a function of yours cannot be rebuilt from a certificate"
            )

    def build(self, space: Space) -> Transformation:
        """Return the filter on a column or a table.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the space does not hold records.
        """
        domain = records_of(space, self)
        metric, factor = _unsized(space.metric)
        holds = total(lambda record: bool(self.predicate(record)), default=False)
        return Transformation(
            space,
            Space(replace(domain, **_without_size(domain)), metric),
            lambda data: keep_records(data, [holds(r) for r in records(domain, data)]),
            lambda d: d * factor,
            step=self,
        )


def _without_size(domain: Any) -> dict[str, Any]:
    return {"size": None, "bounds": None} if hasattr(domain, "bounds") else {"size": None}


def _unsized(metric: Metric) -> tuple[Metric, Fraction]:
    if isinstance(metric, ChangeOneDistance):
        return SymmetricDistance(), Fraction(2)
    if isinstance(metric, HammingDistance):
        return InsertDeleteDistance(), Fraction(2)
    return metric, Fraction(1)
