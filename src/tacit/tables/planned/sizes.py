"""How much can be planned together: refused with its number before anything is made of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tacit.errors import UsageError
from tacit.tables.answers.aggregate import kind_of
from tacit.tables.plan.query import Query
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.reading import size_of
from tacit.tables.together.strategy import MOST_CELLS

__all__ = ["check_listed", "check_size"]

_MOST_KEYS = 100_000
"""So many keys all questions may list together."""
_MOST_LISTED = 450
"""So many keys the columns of a question may have together: the cell of a row is an expression."""


def check_size(queries: Sequence[Query]) -> None:
    """Refuse more keys and cells than can be planned, before anything is made of them.

    Args:
        queries: the questions.

    Raises:
        UsageError: there are too many.
    """
    keys = sum(len(query.keys or ()) for query in queries)
    numbers = sum(
        len(query.keys or ((),))
        * size_of(kind_of(asked.kind).reading, max(len(asked.edges or ()) - 1, 1))
        for query in queries
        for _, asked in query.aggregates
    )
    if keys > _MOST_KEYS or numbers > MOST_CELLS:
        raise UsageError(
            f"the questions list {keys:,} keys and ask for {numbers:,} numbers; at most "
            f"{_MOST_KEYS:,} keys and {MOST_CELLS:,} numbers are planned together: list fewer "
            "keys, use wider bins, or ask the largest question by itself, "
            "session.group_by(...).agg(...).release(...)"
        )


def check_listed(groups: Sequence[Sequence[Axis]]) -> None:
    """Refuse groups whose columns list more keys than can be distinguished in one expression.

    The questions share their cells: of a column, the keys of all of them count.

    Args:
        groups: of each question the axes of its groups.

    Raises:
        UsageError: there are too many.
    """
    known: dict[tuple[str, ...], set[Any]] = {}
    for axis in itertools.chain.from_iterable(groups):
        known.setdefault(axis.columns, set()).update(axis.exact_places)
    for axes in groups:
        keys = sum(len(known[axis.columns]) * len(axis.columns) for axis in axes)
        if keys > _MOST_LISTED:
            columns = ", ".join(name for axis in axes for name in axis.columns)
            raise UsageError(
                f"the questions list {keys:,} keys of the columns {columns} together, and at most "
                f"{_MOST_LISTED} are planned together: list fewer keys, or ask it by itself, "
                "session.group_by(...).agg(...).release(...)"
            )
