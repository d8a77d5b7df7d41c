"""What a question is given: columns by name, and aggregates with the labels of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import Aggregate, kind_of, kinds

__all__ = ["INSTEAD", "check_labels", "columns_named", "labels_of", "refuse_brackets"]

_ASKED = 'ask for statistics in agg: agg(n=tc.count(), age=tc.mean("age", 0, 100))'
INSTEAD = {
    **dict.fromkeys((kind.name for kind in kinds()), _ASKED),
    **dict.fromkeys(("mode", "corr", "cov", "nunique"), _ASKED),
    **dict.fromkeys(("quantile", "describe", "value_counts", "select"), _ASKED),
    **dict.fromkeys(("where", "query"), 'keep rows with filter(tc.col("age") >= 18)'),
    **dict.fromkeys(("head", "sample", "show", "to_pandas"), "no row can be seen: ask with agg"),
    "assign": 'add a column with with_column("old", tc.col("age") >= 65)',
}
"""What to write for names of other libraries that people look for."""


def refuse_brackets(_table: object, name: object) -> NoReturn:
    """Say what to write in place of ``table["age"]``."""
    column = name if isinstance(name, str) and name.isidentifier() else "age"
    raise UsageError(
        "no column can be read out: ask for a statistic of it, as in "
        f'agg({column}=tc.mean("{column}", 0, 100)), or name it in an expression, '
        f'tc.col("{column}")'
    )


def columns_named(by: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """Return the columns that are given one by one, or in one list.

    Raises:
        UsageError: something that is no name.

    >>> columns_named(["site", "plan"]), columns_named([["site", "plan"]])
    (('site', 'plan'), ('site', 'plan'))
    """
    first = by[0] if len(by) == 1 else by
    names = (first,) if isinstance(first, str) else first
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            'group by columns, named by text: group_by("site", "year"); to group by an '
            'expression, make it a column first, with_column("old", tc.col("age") >= 65)'
        )
    return tuple(names)


def labels_of(
    unnamed: Sequence[Aggregate], named: Mapping[str, Aggregate]
) -> tuple[tuple[str, Aggregate], ...]:
    """Check what a question was given, and return it in order, each with its label.

    Raises:
        UsageError: an empty label, or a value that is no aggregate.

    >>> from tacit.tables.answers.rows import count
    >>> [label for label, _ in labels_of([count()], {"n": count()})]
    ['count', 'n']
    """
    for label, aggregate in [*(("it", each) for each in unnamed), *named.items()]:
        if not label:
            raise UsageError("an answer needs a label that is not empty: agg(n=tc.count())")
        if not isinstance(aggregate, Aggregate):
            name = getattr(aggregate, "__name__", "")
            called = f"call it: tc.{name}(...)" if name else "agg(n=tc.count()) names one answer n"
            raise UsageError(
                f"{label} must be an aggregate such as tc.count() or tc.mean('age', 0, 100), not "
                f"a {type(aggregate).__name__}; {called}"
            )
        if kind_of(aggregate.kind).fields:
            aggregate.require_column()
    return (*((kind_of(each.kind).label(each), each) for each in unnamed), *named.items())


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
            "labels (and grouping columns) without these endings"
        )
