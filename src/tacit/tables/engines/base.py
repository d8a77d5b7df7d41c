"""What the plan needs of an engine: the seam between the integer plan and where the rows are.

An engine is an object with the methods of :class:`Engine` and a dialect of its own; those that
there are stand in :mod:`tacit.tables.engines`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError, UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.schema import Schema

__all__ = [
    "Engine",
    "EngineMemoryError",
    "InPlaceEngine",
    "Opened",
    "checked_timeout",
    "closed_on_failure",
    "new_name",
    "refuse_like_names",
]

_serial = itertools.count()


class EngineMemoryError(DataSourceError):
    """The engine ran out of the memory that it may use: the data themselves may be sound."""


class Engine(Protocol):
    """What the plan needs of an engine; rows of the data never come out of it."""

    dialect: Dialect

    @property
    def memory(self) -> int | None:
        """How many bytes it may use, where the dialect divides the work by that."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows; whole numbers are exact Python integers."""

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query of 64-bit integer columns, none of them NULL, and return the columns."""

    def materialise(self, sql: str) -> str:
        """Return a relation with the rows of a query, to stand after ``from`` or ``join``.

        It is kept inside the engine, so that a later question need not make it again; an engine
        that may keep nothing returns the query itself, in parentheses and with a name.
        """

    def keep_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Return a relation with public text in the columns ``c0``, ``c1``, ..."""

    def drop(self, relation: str) -> None:
        """Remove what :meth:`materialise` or :meth:`keep_text` kept."""

    def reading(self) -> AbstractContextManager[object]:
        """Return a block in which all queries see the table in one state.

        An engine whose tables do not change while they are open has nothing to do there.
        """

    def planner(self, *, anew: bool = False) -> Callable[[str], None] | None:
        """Return what plans a query, and reads no row, so that it can be run next.

        None where a plan made now may not fit the table then.

        Args:
            anew: whether to plan a query again that was planned before.
        """

    def rehearsal(self) -> AbstractContextManager[object]:
        """Return a block of queries that ask for no row, before which nothing is brought in."""

    def close(self) -> None:
        """Close everything, on disk too."""


class InPlaceEngine:
    """What engines share that read a table where it is: nothing is brought in, and no row kept."""

    memory: int | None = None
    """The engine divides its work by its own memory."""

    def materialise(self, sql: str) -> str:
        """Return the query itself as a relation: each question reads the table anew."""
        return f"({sql}) as {new_name()}"

    def planner(self, *, anew: bool = False) -> None:
        """Return None: others may change the table at any time."""

    def rehearsal(self) -> AbstractContextManager[object]:
        """Return an empty block: nothing is brought in before a query."""
        return nullcontext()


def new_name() -> str:
    """Return a name that no other relation of this process has.

    >>> new_name() == new_name()
    False
    """
    return f"tacit_{os.getpid()}_{next(_serial)}"


class Opened(NamedTuple):
    """A table that an engine has found: what it is called there, its columns, and its SQL."""

    label: str
    schema: Schema
    engine: Engine
    relation: str


@contextmanager
def closed_on_failure(engine: Engine) -> Iterator[None]:
    """Return a block in which a table is looked for: whatever ends it early closes the engine."""
    try:
        yield
    except BaseException:
        engine.close()
        raise


def refuse_like_names(names: Collection[str]) -> None:
    """Refuse columns that an engine could take for each other.

    Raises:
        DataSourceError: none at all, or two whose names differ only in capital letters.

    >>> refuse_like_names(["age", "site"])
    """
    if not names:
        raise DataSourceError("the table has no columns")
    if len({name.casefold() for name in names}) < len(names):
        raise DataSourceError("two columns differ only in capital letters; rename one of them")


def checked_timeout(timeout: float | None) -> float | None:
    """Return the most seconds of a query, where they are a time.

    Raises:
        UsageError: they are none.
    """
    if timeout is not None:
        seconds = timeout if isinstance(timeout, (int, float)) else 0
        if isinstance(timeout, bool) or not 0.001 <= seconds <= 2_000_000:
            raise UsageError(f"timeout is a number of seconds above zero, not {timeout!r}")
    return timeout
