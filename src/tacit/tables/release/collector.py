"""From a plan's steps to the engine's requests, and back to vectors in grid units."""

from __future__ import annotations

import itertools
import operator
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NoReturn

from tacit.core import Step
from tacit.expressions.expression import Expression, col
from tacit.tables.open_source import Source
from tacit.tables.plan.per_person import person_values
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query as Asked
from tacit.tables.query.partitioned_query import PartedQuery
from tacit.tables.query.people_table import person_source
from tacit.tables.query.requests import ExactAggregates, Request
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["Collector", "Exact", "PeopleOfKeys", "requests_of"]

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
        name = asked.rows + repr(keys)
        with self._lock:
            if name not in self._queries:
                while len(self._queries) >= _KEPT:
                    del self._queries[next(iter(self._queries))]
                made = self._queries[name] = self._make(asked, keys)
                # Not dropped in the finaliser itself, which may run in the middle of a request.
                weakref.finalize(made, self._unused.append, made.tables).atexit = False
                self._drop_unused()
            return self._queries[name]

    def forget(self) -> None:
        """Drop what is cached, so that the next question reads the table anew."""
        with self._lock:
            self._queries.clear()
            self._drop_unused()

    def _drop_unused(self) -> None:
        while self._unused:
            for table in self._unused.popleft():
                self._source.engine.drop(table)

    def _make(self, asked: Asked, keys: Sequence[tuple[Any, ...]] | None) -> PartedQuery:
        derived = asked.resolved
        by = {name: derived.get(name, col(name)) for name in asked.by}
        source = rows_of(self._source, asked)
        where = _condition(asked, derived)
        return PartedQuery(source, asked.unit, where=where, by=by, keys=keys if by else None)

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
        self._people: PeopleOfKeys | None = None
        self._found: ExactAggregates | None = None
        if plan.keys is None:
            self._run(plan.query.keys)
        else:
            self._people = PeopleOfKeys(collector.query(plan.query, None), plan.keys.rounds)

    def _run(self, keys: Sequence[tuple[Any, ...]] | None) -> ExactAggregates:
        query = self._collector.query(self._plan.query, keys)
        self._found = query.run(requests_of(self._plan))
        return self._found

    @property
    def people(self) -> PeopleOfKeys:
        """The keys that occur and how many people each has."""
        assert self._people is not None
        return self._people

    def vectors(
        self, chains: Sequence[Sequence[tuple[Step, Step]]], keys: Sequence[tuple[Any, ...]]
    ) -> list[dict[Step, Any]]:
        """Return the exact vector of each step of each part, in whole units of its grid.

        Equal steps of two parts need not be of the same rows: groups by other keys have one name.
        """
        if not keys:
            return [{step: [] for step, _ in ends} for ends in chains]
        found = self._found if self._found is not None else self._run(keys)
        asked = zip(self._plan.parts, chains, self._plan.requests(len(keys)), strict=True)
        return [
            {
                step: part.vector(step, found.of(request))
                for (step, _), request in zip(ends, requests, strict=True)
            }
            for part, ends, requests in asked
        ]

    def __repr__(self) -> str:
        return "<exact answers of a plan, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact answers cannot be pickled: they are not private")


class PeopleOfKeys:
    """The keys that occur, met round by round, and how many people each has: not private.

    Args:
        query: of the rows.
        rounds: how often people are counted, each time without the keys that are shown by then.
    """

    def __init__(self, query: PartedQuery, rounds: int) -> None:
        self._query = query
        self.keys: list[tuple[Any, ...]] = []
        self.counts: Any = self if rounds > 1 else self.left([])

    def left(self, shown: Sequence[int | None]) -> list[int]:
        """Return the people of each key met so far, counted without the keys that are shown."""
        public = [key for key, n in zip(self.keys, shown, strict=True) if n is not None]
        people = self._query.people_by_key(public)
        known = set(self.keys)
        self.keys += [key for key in people if key not in known]
        return [people.get(key, 0) for key in self.keys]

    def __repr__(self) -> str:
        return "<exact counts of keys, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact counts cannot be pickled: they are not private")


def requests_of(plan: Plan) -> list[Request]:
    """Return what a plan asks of the engine, each once."""
    return list(dict.fromkeys(itertools.chain.from_iterable(plan.requests(plan.size))))


def rows_of(source: Source, asked: Asked) -> Source:
    """Return the table whose rows a question is about: people, where they are made first."""
    inner = asked.inner
    if inner is None:
        return source
    assert isinstance(inner.unit, PersonUnit)
    known = inner.resolved
    where, values = _condition(inner, known), person_values(inner)
    return person_source(rows_of(source, inner), inner.unit, where, known, values, asked.schema)


def _condition(asked: Asked, derived: Mapping[str, Expression]) -> Expression | None:
    """Return all filters as one condition on the table's own columns."""
    where = [condition.substitute(derived) for condition in asked.where]
    return reduce(operator.and_, where) if where else None
