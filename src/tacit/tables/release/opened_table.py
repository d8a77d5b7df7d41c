"""The table of a session, as it is open now: what questions are asked of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from tacit.errors import DataSourceError, UsageError
from tacit.tables.open_source import Source, open_source
from tacit.tables.release.charge import KeptPlans
from tacit.tables.release.collector import Collector
from tacit.tables.release.other_table import OtherTable
from tacit.tables.release.rehearsal import Rehearsed

__all__ = ["OpenedTable", "SharedTable", "changed_columns", "settled"]

_T = TypeVar("_T")


class OpenedTable:
    """A table that can be opened anew, and what its engine keeps of earlier questions.

    Args:
        opened: what was opened, as :class:`tacit.Session` takes it.
        options: how, as :func:`tacit.tables.open_source.open_source` takes them.

    Attributes:
        called: the name that the user gave it; None where it has that of its file.
        plans, rehearsed: those of the latest questions, and what of them was tried on no rows.
        others: the tables of the same data set that it may be joined with, by name.
        joined: what it was joined with since it was opened last, as
            :mod:`tacit.tables.release.joined_table` keeps it.
    """

    def __init__(self, opened: Any, options: Mapping[str, Any]) -> None:
        self._opened, self._options = opened, options
        self.named = isinstance(opened, (str, os.PathLike, Source)) or any(
            options.get(option) is not None for option in ("name", "table")
        )
        self.called = options.get("name")
        self._source = open_source(opened, **options)
        self._collector = Collector(self._source)
        self.plans, self.rehearsed = KeptPlans(), Rehearsed()
        self.others: Mapping[str, OtherTable] = {}
        self.joined: dict[Any, Any] = {}

    @property
    def source(self) -> Source:
        """The table as it was opened last."""
        return self._source

    @property
    def collector(self) -> Collector:
        """What is asked of the table, and what of that is kept."""
        return self._collector

    def reopen(self) -> Source:
        """Return the table, opened after this was called; another thread may open it again."""
        fresh = open_source(self._opened, **self._options)
        if list(fresh.schema) != list(self.source.schema):
            raise DataSourceError(
                f"{self.source.name} has other columns than before"
                f"{changed_columns(self.source.schema, fresh.schema)}: close the session, and open "
                f"the table again with name={self.source.name!r}, which goes on with its ledger"
            )
        self._collector.forget()
        self.joined, self.rehearsed = {}, Rehearsed()
        # An engine that another thread still reads is closed when that thread releases it.
        if fresh is not self._source:
            self._source, self._collector = fresh, Collector(fresh)
        return fresh

    def beside(self, made: OpenedTable) -> OpenedTable:
        """Return the join of this table with another one, as who asks this table asks it."""
        return made

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            "a session cannot be pickled: open the table and the ledger where they are"
        )


class SharedTable(OpenedTable):
    """A table that somebody else holds open, for one of the many who ask it.

    The plans of the questions, and what of them was tried on no rows, are kept apart: a question
    that is answered faster because somebody asked the same a moment ago tells that they did.  What
    the table was joined with is shared: a public table is read once for all.

    Args:
        whole: the table, as it is open for all.
    """

    def __init__(self, whole: OpenedTable) -> None:
        self._whole, self.named, self.called = whole, whole.named, whole.called
        self.others, self.plans = whole.others, KeptPlans()
        self._tried: tuple[Source, Rehearsed] | None = None

    @property
    def source(self) -> Source:
        """The table as it was opened last."""
        return self._whole.source

    @property
    def collector(self) -> Collector:
        """What is asked of the table, and what of that is kept."""
        return self._whole.collector

    @property
    def joined(self) -> dict[Any, Any]:  # type: ignore[override]
        """What the table was joined with since it was opened."""
        return self._whole.joined

    @property
    def rehearsed(self) -> Rehearsed:  # type: ignore[override]
        """What was tried on no rows since the table was opened."""
        source, tried = self.source, self._tried
        if tried is None or tried[0] is not source:
            self._tried = tried = source, Rehearsed(apart=True)
        return tried[1]

    def reopen(self) -> Source:
        """Return the table, opened after this was called."""
        return self._whole.reopen()

    def beside(self, made: OpenedTable) -> OpenedTable:
        """Return a join of the table, with plans kept apart as well."""
        return SharedTable(made)


def changed_columns(before: Iterable[str], after: Iterable[str]) -> str:
    """Return how the columns of a table have changed, as a part of a sentence.

    >>> changed_columns(["a", "b"], ["b", "c"]), changed_columns(["a", "b"], ["b", "a"])
    (" (gone: 'a'; new: 'c')", ' (their order)')
    """
    old, new = list(before), list(after)
    parts = {
        "gone": [name for name in old if name not in new],
        "new": [name for name in new if name not in old],
    }
    told = [
        f"{word}: {', '.join(map(repr, names[:5]))}"
        + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        for word, names in parts.items()
        if names
    ]
    return f" ({'; '.join(told) or 'their order'})"


def settled(ask: Callable[[], _T], outcome: str) -> _T:
    """Return what ``ask`` returns; where the engine fails, say what became of the budget.

    >>> def ask():
    ...     raise DataSourceError("the connection was cut")
    >>> settled(ask, "nothing was spent")
    Traceback (most recent call last):
    tacit.errors.DataSourceError: the connection was cut; nothing was spent
    """
    try:
        return ask()
    except DataSourceError as error:
        failed, message = type(error), f"{error}; {outcome}"
    raise failed(message)
