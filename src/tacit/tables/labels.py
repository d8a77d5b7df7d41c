"""The labels of what is asked, checked as they are given."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate, kind_of

__all__ = ["labels_of"]


def labels_of(aggregates: Mapping[str, Aggregate]) -> tuple[tuple[str, Aggregate], ...]:
    """Check what ``.agg`` was given, and return it in order.

    Raises:
        UsageError: an empty label, or a value that is no aggregate.
    """
    for label, aggregate in aggregates.items():
        if not label:
            raise UsageError("an answer needs a label that is not empty: agg(n=tc.count())")
        if not isinstance(aggregate, Aggregate):
            raise UsageError(
                f"{label} must be an aggregate such as tc.count() or tc.mean('age', 0, 100), not "
                f"a {type(aggregate).__name__}"
            )
        if kind_of(aggregate.kind).fields:
            aggregate.require_column()
    return tuple(aggregates.items())
