"""Labels: what the answers of a question are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate, kind_of

__all__ = ["check_labels", "labels_of"]


def labels_of(aggregates: Mapping[str, Aggregate]) -> tuple[tuple[str, Aggregate], ...]:
    """Check what a question was given by label, and return it in order.

    Raises:
        UsageError: an empty label, or a value that is no aggregate.

    >>> from tacit.tables.answers.rows import count
    >>> [label for label, _ in labels_of({"n": count()})]
    ['n']
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


def check_labels(labels: Sequence[str], by: Sequence[str]) -> None:
    """Refuse labels that the columns of an answer could not be distinguished by.

    Raises:
        UsageError: a label given twice, that of a grouping column, or one that ends as the columns
            of another do.
    """
    if set(labels) & set(by) or len(set(labels)) < len(labels):
        raise UsageError("each answer needs a label of its own, other than the grouping columns")
    shown = [label + suffix for label in labels for suffix in ("", "_error", "_low", "_high")]
    if len({*shown, *by}) < len(shown) + len(by):
        raise UsageError(
            "an answer takes the columns label, label_error, label_low and label_high; choose "
            "labels (and grouping columns) that do not end so"
        )
