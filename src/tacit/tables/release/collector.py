"""From a plan's steps to the engine's requests, and back to vectors in grid units."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tacit.arithmetic.exact import as_fraction
from tacit.core import Step
from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col
from tacit.tables.answers.histogram import HistogramByGroup
from tacit.tables.answers.moments import MomentsByGroup
from tacit.tables.answers.people import PeopleByGroup
from tacit.tables.answers.quantile import QuantileCosts
from tacit.tables.answers.rows import RowsByGroup
from tacit.tables.answers.total import SumByGroup
from tacit.tables.data_dependent.records import RecordsByGroup
from tacit.tables.data_dependent.sample_steps import PeopleInBins
from tacit.tables.open_source import Source
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.plan import Query as Asked
from tacit.tables.query.partitioned_query import PartedQuery
from tacit.tables.query.requests import (
    Bins,
    Cells,
    ExactAggregates,
    Moments,
    People,
    Request,
    Rows,
    Total,
)
from tacit.tables.query.sampled_rows import WholeCells

__all__ = ["Collector", "Exact", "requests_of"]

_KEPT = 8
"""How many questions' bounded tables stay in the engine for the next one."""


class Collector:
    """Runs plans on a source, and keeps what bounding people cost for the next question.

    Threads may share one.  The tables of a query are dropped once no one holds the query: neither
    this cache nor a release that is still at work in another thread.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._queries: dict[str, PartedQuery] = {}
        self._lock = threading.Lock()
        self._unused: deque[list[str]] = deque()

    def query(self, asked: Asked, keys: Sequence[tuple[Any, ...]] | None) -> PartedQuery:
        """Return the engine's query for a question, the same one for the same rows and groups."""
        described = asked.describe()
        name = repr([described[part] for part in ("unit", "where", "derived", "by")] + [keys])
        with self._lock:
            if name not in self._queries:
                while len(self._queries) >= _KEPT:
                    del self._queries[next(iter(self._queries))]
                made = self._queries[name] = self._make(asked, keys)
                # Not dropped in the finaliser itself, which may run in the midst of a request.
                weakref.finalize(made, self._unused.append, made.tables).atexit = False
                self._drop_unused()
            return self._queries[name]

    def forget(self) -> None:
        """Let go of what is kept, so that the next question reads the table anew."""
        with self._lock:
            self._queries.clear()
            self._drop_unused()

    def _drop_unused(self) -> None:
        while self._unused:
            for table in self._unused.popleft():
                self._source.engine.drop(table)

    def _make(self, asked: Asked, keys: Sequence[tuple[Any, ...]] | None) -> PartedQuery:
        derived = resolved(asked)
        where = [condition.substitute(derived) for condition in asked.where]
        condition = where[0] if where else None
        for other in where[1:]:
            condition = condition & other if condition is not None else other
        by = {name: derived.get(name, col(name)) for name in asked.by}
        return PartedQuery(
            self._source, asked.unit, where=condition, by=by, keys=keys if by else None
        )

    def collect(self, plan: Plan) -> Exact:
        """Run the plan in the engine, up to where noise is needed.

        The first private byte is read here: charge the ledger before.

        Raises:
            DataSourceError: the engine failed.
        """
        return Exact(self, plan)


class Exact:
    """The exact answers of a plan: not private, never shown, gone with the release."""

    def __init__(self, collector: Collector, plan: Plan) -> None:
        self._collector = collector
        self._plan = plan
        self._people: dict[tuple[Any, ...], int] | None = None
        self._found: ExactAggregates | None = None
        if plan.keys is None:
            self._run(plan.query.keys)
        else:
            self._people = collector.query(plan.query, None).people_by_key()

    def _run(self, keys: Sequence[tuple[Any, ...]] | None) -> ExactAggregates:
        query = self._collector.query(self._plan.query, keys)
        self._found = query.run(requests_of(self._plan))
        return self._found

    def people_by_key(self) -> tuple[list[tuple[Any, ...]], list[int]]:
        """Return the keys that occur and how many people each has."""
        assert self._people is not None
        return list(self._people), list(self._people.values())

    def vectors(
        self, chains: Sequence[Sequence[tuple[Step, Step]]], keys: Sequence[tuple[Any, ...]]
    ) -> dict[Step, Any]:
        """Return the exact vector of each step, in whole units of its grid."""
        if not keys:
            return {step: [] for ends in chains for step, _ in ends}
        found = self._found if self._found is not None else self._run(keys)
        return {
            step: self._units(step, found.of(_request(self._plan, step, part)))
            for part, ends in zip(self._plan.parts, chains, strict=True)
            for step, _ in ends
        }

    def _units(self, step: Step, found: Any) -> Any:
        if isinstance(step, MomentsByGroup):
            return bernstein(np.asarray(found, dtype=object), step)
        if isinstance(step, (QuantileCosts, RecordsByGroup, PeopleInBins)):
            return found
        return [int(value) for value in np.asarray(found, dtype=object).ravel()]

    def __repr__(self) -> str:
        return "<exact answers of a plan, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact answers are not pickled: they are not private")


def requests_of(plan: Plan) -> list[Request]:
    """Return what a plan asks of the engine, each once.

    Raises:
        UsageError: a step that no engine knows.
    """
    requests = [
        _request(plan, step, part)
        for part, ends in zip(plan.parts, plan.chains(1), strict=True)
        for step, _ in ends
    ]
    return list(dict.fromkeys(requests))


def _request(plan: Plan, step: Step, part: Any) -> Request:
    if isinstance(step, RowsByGroup):
        return Rows()
    if isinstance(step, PeopleByGroup):
        return People()
    value = resolved(plan.query).get(part.column, col(part.column))
    if isinstance(step, MomentsByGroup):
        return Moments(value, part.grid, squares=step.degree > 1)
    if isinstance(step, SumByGroup):
        return Total(value, part.grid)
    if isinstance(step, HistogramByGroup):
        edges = tuple(part.grid.offset(as_fraction(edge)) for edge in step.edges)
        return Bins(value, part.grid, edges)
    if isinstance(step, QuantileCosts):
        return Cells(value, part.grid)
    if isinstance(step, PeopleInBins):
        groups = step.groups if step.by else None
        return WholeCells(value, part.grid, parts=step.bins, groups=groups)
    if isinstance(step, RecordsByGroup):
        alone = plan.query.unit.column is None
        return Cells(value, part.grid) if alone else WholeCells(value, part.grid)
    raise UsageError(f"the engine knows no request for {step.name}")


def bernstein(moments: Any, step: MomentsByGroup) -> list[int]:
    """Return the Bernstein sums, in units, from the weights, the sum of z and that of its square.

    With Q cells: ``sum (Q - z)`` and ``sum z`` for degree 1; ``sum (Q - z)^2``, ``sum 2 z (Q - z)``
    and ``sum z^2`` for degree 2; then Q^degree times the weight of the missing rows.

    >>> step = MomentsByGroup(
    ...     size=3, norm="L1", column="x", lower="0", upper="2", cells=2, degree=2, missing=False
    ... )
    >>> bernstein(np.array([[2, 0, 3, 5]], dtype=object), step)  # z = 1 and z = 2
    [1, 2, 5]
    """
    top = step.cells
    present, absent, first, second = moments.T
    if step.degree == 1:
        columns = [present * top - first, first]
    else:
        columns = [
            present * top**2 - 2 * top * first + second,
            2 * top * first - 2 * second,
            second,
        ]
    if step.missing:
        columns.append(absent * top**step.degree)
    return [int(value) for value in np.stack(columns, axis=1).ravel()]


def resolved(asked: Asked) -> dict[str, Expression]:
    """Return the derived columns in terms of the table's own."""
    known: dict[str, Expression] = {}
    for name, expression in asked.derived:
        known[name] = expression.substitute(known)
    return known
