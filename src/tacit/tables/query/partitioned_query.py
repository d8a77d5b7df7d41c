"""A query that is answered for one part of the people after another, where memory is short.

Every person belongs to one part, by a hash of the person, and every exact answer is a sum of whole
numbers over people: each person's weights read their own rows alone, and people are counted one by
one.  So the sum over the parts is the answer itself, with the same bits however many parts there
are.  (A hash that sends many people to one part costs memory, and never privacy: a part is a set of
whole people, whatever the hash.)  Different values are no such sum, for two people may share one:
they are counted for all people at once, and the engine itself puts what is too much on disk.

How many parts is decided from the number of rows and the memory that the engine may use; an engine
that runs out all the same is asked again in more parts.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from tacit.tables.engines.base import EngineMemoryError
from tacit.tables.open_source import Source
from tacit.tables.query.integer_query import Query
from tacit.tables.query.requests import (
    Bins,
    Cells,
    Distinct,
    ExactAggregates,
    Moments,
    People,
    Products,
    Request,
    Rows,
    Total,
)
from tacit.tables.spec.privacy_unit import OneRowEach, PersonUnit

__all__ = ["PartedQuery"]

_ROW_BYTES = 24
"""What a row of the data takes while its person is bounded, measured, with room to spare."""
_DRAWN_BYTES = 160
"""The same where a person's rows or groups are drawn from."""
_PLACE_BYTES = 96
"""What a cell of a group takes in this process while the cells are put in order, measured."""
_WEIGHTED = (Rows, People, Moments, Products, Total, Bins, Cells)
_FIXED = 96 << 20
"""What the engine takes whatever the number of rows."""
_MORE = 8
_MOST = 1 << 12


class PartedQuery:
    """A :class:`~tacit.tables.query.integer_query.Query` within the memory of its engine.

    Args:
        source: the table.
        unit: whose contribution is bounded.
        asked: as for :class:`~tacit.tables.query.integer_query.Query`.
    """

    def __init__(self, source: Source, unit: OneRowEach | PersonUnit, **asked: Any) -> None:
        self._source = source
        self._part = partial(Query, source, unit, **asked)
        self._whole = self._part()
        self._divisible = isinstance(unit, PersonUnit) and source.engine.dialect.part is not None
        self._least = 1
        self.tables = self._whole.tables

    def run(self, requests: Sequence[Request]) -> ExactAggregates:
        """Answer requests exactly; see :meth:`~tacit.tables.query.integer_query.Query.run`.

        Raises:
            DataSourceError: the engine failed, or has too little memory for the smallest parts.
        """
        groups = len(self._whole.keys or ())
        apart = [r for r in requests if isinstance(r, Distinct)]
        whole = self._whole.run(apart) if apart else ExactAggregates({}, groups)
        requests = [r for r in requests if not isinstance(r, Distinct)]
        counted = People if groups > 1 else ()
        drawn = any(isinstance(r, counted) or type(r) not in _WEIGHTED for r in requests)

        def answer(query: Query) -> dict[Request, Any]:
            exact = query.run(requests)
            return {request: exact.of(request) for request in requests}

        places = max((groups * _cells(r) for r in requests if isinstance(r, Cells)), default=0)
        row_bytes = _DRAWN_BYTES if drawn else _ROW_BYTES
        found = self._added(answer, _add_answers, row_bytes, places) if requests else {}
        return ExactAggregates({**found, **{r: whole.of(r) for r in apart}}, groups)

    def check(self, request: Request) -> None:
        """Refuse what cannot be asked.

        See :meth:`~tacit.tables.query.integer_query.Query.check`.
        """
        self._whole.check(request)

    def people_by_key(self, shown: Sequence[tuple[Any, ...]] = ()) -> dict[tuple[Any, ...], int]:
        """Count people by key, without those keys that are shown already.

        See :meth:`~tacit.tables.query.integer_query.Query.people_by_key`.
        """

        def answer(query: Query) -> dict[tuple[Any, ...], int]:
            return query.people_by_key(shown)

        return self._added(answer, _add_counts, _DRAWN_BYTES)  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Drop what the query keeps in the engine."""
        self._whole.forget()

    def _added(self, answer: Any, add: Any, row_bytes: int, places: int = 0) -> Any:
        parts = max(self._least, self._parts(row_bytes, places))
        while True:
            try:
                if parts == 1:
                    return answer(self._whole)
                return reduce(add, (answer(query) for query in self._queries(parts)))
            except EngineMemoryError:
                if not self._divisible or parts >= _MOST:
                    raise
            # asked again outside the handler: what failed is released first
            self._whole.forget()
            self._least = parts = parts * _MORE

    def _parts(self, row_bytes: int, places: int = 0) -> int:
        engine = self._source.engine
        if not self._divisible or engine.memory is None:
            return 1
        rows = int(engine.rows(f"select count(*) from {self._source.counted} as tacit_rows")[0][0])
        room = max(engine.memory - _FIXED, engine.memory // 4)
        need = -(-rows * row_bytes // room)
        half = engine.memory // 2
        if places * _PLACE_BYTES > half:  # a part has no more of them than rows
            need = max(need, -(-rows * _PLACE_BYTES // half))
        return min(1 << max(need - 1, 0).bit_length(), _MOST)

    def _queries(self, parts: int) -> Iterator[Query]:
        for number in range(parts):
            query = self._part(part=(number, parts))
            try:
                yield query
            finally:
                query.forget()


def _cells(request: Cells) -> int:
    """Return how many cells each group may have."""
    return request.bins * ((request.grid.cells >> request.shift) + 1)


def _add_answers(some: Mapping[Request, Any], other: Mapping[Request, Any]) -> dict[Request, Any]:
    return {
        request: list(map(_add_cells, value, other[request]))
        if isinstance(request, Cells)
        else operator.add(value, other[request])
        for request, value in some.items()
    }


def _add_cells(some: Any, other: Any) -> tuple[Any, Any]:
    """Return the cells that occur in either, rising, and the sums of their weights."""
    cells, places = np.unique(np.concatenate([some[0], other[0]]), return_inverse=True)
    weights = np.zeros(len(cells), dtype=np.int64)
    np.add.at(weights, places, np.concatenate([some[1], other[1]]))
    return cells, weights


def _add_counts(some: dict[Any, int], other: Mapping[Any, int]) -> dict[Any, int]:
    for key, count in other.items():
        some[key] = some.get(key, 0) + count
    return some
