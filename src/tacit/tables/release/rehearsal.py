"""What public facts decide fails before the charge: a plan is carried out on no rows first.

A release is charged before the first private byte is read, so whatever can be known beforehand
must be found out beforehand.  :func:`rehearse` runs the very statements of a plan, in the engine
that will run them, on ``select * from the table where false``: names, types, rights, a connection
that is gone and the sizes of the plan are all tried, and no row is asked for.  What fails here is a
function of the schema, the question and the machine, and nothing was spent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import UsageError
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import Engine
from tacit.tables.open_source import Source
from tacit.tables.plan.plan import Plan
from tacit.tables.query.keys_sql import sample_keys
from tacit.tables.query.requests import Request
from tacit.tables.release.collector import Collector, requests_of

__all__ = ["Rehearsed", "rehearse", "without_rows"]

_LAST = 32
_KEYS = 256
"""So many public keys stand for all: beyond a smaller number they go another way to the engine."""


class Rehearsed:
    """What was rehearsed of late on a table that nobody changes: it need not be again.

    Args:
        apart: whether what others asked of late, of this table or of one of its shape, is tried
            again: a question that is answered faster because of them tells that they asked it.
    """

    def __init__(self, *, apart: bool = False) -> None:
        self._apart = apart
        self._last: deque[tuple[list[Request], int, str, str, object]] = deque(maxlen=_LAST)

    def rehearse(self, source: Source, plan: Plan) -> None:
        """Carry a plan out up to the noise, on no rows; see :func:`rehearse`.

        Where the engine plans the queries of the table, of which another question has asked the
        very same, they were tried.

        Raises:
            UsageError: the columns are of other kinds than when the question was made, or as
                :func:`rehearse`.
            DataSourceError: as :func:`rehearse`.
        """
        query = plan.query
        _refuse_other_kinds(query.source_schema, source)
        rounds = 0 if plan.keys is None else plan.keys.rounds
        # keys last: where they are many, they are compared of the same requests alone
        known = requests_of(plan), rounds, source.relation, query.rows, query.keys
        if _planner_of(source, plan) is None or known not in self._last:
            rehearse(source, plan, anew=self._apart)
            self._last.append(known)


def _refuse_other_kinds(asked: Schema, source: Source) -> None:
    """Refuse a question that was made before the table was opened anew with columns that differ."""
    for name, column in () if asked is source.schema else asked.items():
        kind = source.schema[name].kind if name in source.schema else column.kind
        if kind != column.kind:
            raise UsageError(
                f"{name!r} held {column.kind} when the question was made, and holds {kind} since "
                "the table was opened again; nothing was spent. Make the question again"
            )


def _planner_of(source: Source, plan: Plan, anew: bool = False) -> Callable[[str], None] | None:
    return source.engine.planner(anew=anew) if plan.query.unit.column is None else None


def rehearse(source: Source, plan: Plan, *, anew: bool = False) -> None:
    """Carry a plan out up to the noise, on no rows.

    Args:
        source: the table.
        plan: of a question of it.
        anew: whether an engine that plans queries plans one again that was planned before.

    Raises:
        UsageError: the question does not fit the table.
        DataSourceError: the engine cannot be asked.
    """
    planner = _planner_of(source, plan, anew)
    collector = Collector(without_rows(source) if planner is None else _planned(source, planner))
    keys = plan.query.keys
    asked = requests_of(plan)
    whole = collector.query(plan.query, keys)  # each of the keys is looked at, and none asked for
    for request in asked:
        whole.check(request)
    if plan.keys is not None:
        keys = sample_keys([plan.query.columns.column(name).kind for name in plan.query.by])
        whole.people_by_key()
        if plan.keys.rounds > 1:
            whole.people_by_key(keys)
    query = collector.query(plan.query, None if keys is None else keys[:_KEYS])
    try:
        query.run(asked)
    finally:
        query.forget()


def without_rows(source: Source) -> Source:
    """Return the table without its rows, in the same engine."""
    nothing = f"(select * from {source.relation} as tacit_all where 1 = 0)"
    return Source(source.name, source.schema, _Rehearsed(source.engine), nothing)


def _planned(source: Source, planner: Callable[[str], None]) -> Source:
    """Return the table in an engine that plans queries of it, and runs none."""
    engine = _Planned(source.engine, planner)
    return Source(source.name, source.schema, engine, source.relation)


class _Rehearsed:
    """An engine that is asked for no row: nothing that would look at how many there are is done."""

    memory: int | None = None

    def __init__(self, engine: Engine) -> None:
        self.dialect = engine.dialect
        self._engine = engine
        self.drop = engine.drop

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query on no rows."""
        with self._engine.rehearsal():
            return self._engine.rows(sql)

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Run a query on no rows."""
        with self._engine.rehearsal():
            return self._engine.integers(sql)

    def materialise(self, sql: str) -> str:
        """Keep the result of a query on no rows."""
        with self._engine.rehearsal():
            return self._engine.materialise(sql)

    def keep_text(self, columns: Sequence[Sequence[str | None]]) -> str:
        """Keep public text."""
        with self._engine.rehearsal():
            return self._engine.keep_text(columns)

    def rehearsal(self) -> AbstractContextManager[object]:
        """Return an empty block: this is one."""
        return nullcontext()

    def reading(self) -> AbstractContextManager[object]:
        """Return an empty block: no rows, no state of them."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing: the engine goes on."""

    def planner(self, *, anew: bool = False) -> None:
        """Return None: what is rehearsed is not run."""


class _Planned(_Rehearsed):
    """An engine that plans what it is asked; public keys alone are kept in it, as they are."""

    def __init__(self, engine: Engine, planner: Callable[[str], None]) -> None:
        super().__init__(engine)
        self._planner = planner

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Plan a query."""
        self._planner(sql)
        return []

    def integers(self, sql: str) -> list[NDArray[np.int64]]:
        """Plan a query of places and their weights."""
        self._planner(sql)
        return [np.zeros(0, np.int64), np.zeros(0, np.int64)]
