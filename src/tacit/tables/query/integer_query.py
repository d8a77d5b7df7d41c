"""The query of a question: integers before noise."""

from __future__ import annotations

import itertools
import operator
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect, bins_sql
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Whole, product
from tacit.expressions.operations import as_keys, key_part_sql
from tacit.tables.engines.base import AddByPlace, Engine, EngineMemoryError, Part
from tacit.tables.open_source import Source
from tacit.tables.privacy_unit import (
    MAX_BITS,
    OneRowEach,
    PersonUnit,
    few_groups,
    people_of_few,
)
from tacit.tables.query.contribution_bounding import (
    BoundedRows,
    MomentSums,
    PeopleFirst,
    RowCells,
    Term,
    clamped_total_sql,
    column_names,
    heavy_people,
    people_sql,
    weight_sql,
    weighted,
)
from tacit.tables.query.keys import (
    byte_of_key,
    check_keys,
    condition_sql,
    distinct_sql,
    group_kind,
    identity_sql,
    left_out,
    offset_sql,
    offset_where,
    relation_of,
    same_key,
)
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
    Sums,
    Total,
    unread_bits,
)

# Counts of the rows of each group, by bin or by cell of a grid.


def bins(rows: BoundedRows, z: str, edges: Sequence[int], groups: int, engine: Engine) -> Any:
    """Return the weights between the edges: integers of shape (groups, bins)."""
    size = len(edges) - 1
    codes, occurring, weights = _counted(
        bins_sql(z, edges, engine.dialect), size + 1, groups, rows, z, engine
    )
    counts = np.zeros((groups, size + 1), dtype=np.int64)
    counts[codes, occurring] = weights
    counts[:, size - 1] += counts[:, size]  # of the last edge itself
    return counts[:, :size].copy()


def cells(
    rows: BoundedRows, z: str, size: int, shift: int, lists: int, engine: Engine
) -> list[tuple[Any, Any]]:
    """Return the cells ``z >> shift`` that occur, rising, and their weights, for each list."""
    cell = engine.dialect.shift(z, shift)
    codes, occurring, weights = _counted(cell, (size >> shift) + 1, lists, rows, z, engine)
    ends = np.searchsorted(codes, np.arange(lists + 1))
    return [(occurring[a:b].copy(), weights[a:b].copy()) for a, b in itertools.pairwise(ends)]


_INDEXED = 1 << 24  # more places than this no engine groups by their index in an array
_GROUPED_BY_ARRAY = 1 << 12  # up to so many places an engine groups as fast as they are added up
# Bytes of memory for each place of an array of them; with more places a part has fewer rows.
_PLACE_SHARE = 64


def check_cell_indices(lists: int, cells: int) -> None:
    """Raise if there are more cells than 64 bits distinguish."""
    if lists * cells > 1 << 63:
        raise UsageError(
            f"{lists} groups or bins of {cells} cells each are more than can be distinguished: "
            "list fewer keys, or ask for fewer bins"
        )


def _counted(
    cell: str, cells: int, lists: int, rows: BoundedRows, z: str, engine: Engine
) -> list[Any]:
    """Return the codes, cells and weights that occur, in order."""
    check_cell_indices(lists, cells)
    d = engine.dialect
    index = d.cast(cell, "integer")
    column = "u" if rows.heavy else rows.weight
    indexed = d.below is not None and lists * cells <= _INDEXED
    in_bytes = d.byte is not None and max(lists, cells) <= 1 << 8
    if type(rows) is BoundedRows and not column and (in_bytes or not indexed):
        code = "code"
        if d.byte and cells <= 1 << 8:
            index = d.byte.format(x=index)
        if d.byte and in_bytes:
            code = d.byte.format(x=code)
        by, also = (f"{code}, ", f"{d.cast(code, 'integer')} as list, ") if lists > 1 else ("", "")
        # rows without a value are a place of their own, which is left out once all are counted
        count, having = (
            ("count(*)", "") if rows.valued else (f"count({z})", f" having count({z}) > 0")
        )
        own = f"select {also}{index} as cell, {count} as weight from ({rows.base}) as r"
        own += f" group by {by}{index}{having}"
        *several, occurring, numbers = engine.integers(own)
        codes = several[0] if several else np.zeros_like(occurring)
        order = (codes * cells + occurring).argsort()  # each comes once
        return [codes[order], occurring[order], rows.one * numbers[order]]
    # group and cell are one integer
    number, known = index, "" if rows.valued else f"{z} is not null"
    if lists > 1:
        first = product([Whole("code", 0, lists - 1), Whole(d.literal(cells), cells, cells)], d)
        number = f"{first.sql} + {index}"
    few = lists * cells <= (engine.memory or 0) // _PLACE_SHARE
    add = rows.add
    if few and not rows.heavy and lists * cells > _GROUPED_BY_ARRAY:
        add = add or engine.add_by_place
    if add and indexed and few:
        shown = f", {column}" if column else ""
        test = f" where {known}" if known else ""
        sql = f"select {number} as place{shown} from ({rows.base}) as r{test}"
        numbers, weights = add(sql, column, lists * cells)
        return [*np.divmod(numbers, cells), weights if column else rows.one * weights]
    # an engine groups by it fastest that knows how far the numbers reach: by the form of the
    # number, or from a table with the number of each row
    if d.byte and lists * cells <= 1 << 8:
        number = d.byte.format(x=number)
    elif indexed and d.below:
        number = d.below.format(x=number, n=lists * cells)
    if rows.add and indexed:
        sql = f"select {d.cast(number, 'integer')} as place, {column} from ({rows.base}) as r"
        numbers, weights = engine.integers(f"{sql} where {z} is not null")
        return _in_order(numbers, weights, cells)
    if not (d.keeps and column) or (indexed and not rows.heavy):
        return _read(rows.sums(number, [Term()], known), cells, engine)
    sql = f"select case when {z} is not null then {number} end as place, {column}"
    sql += f" from ({rows.base}) as r"
    read = engine.in_arrays(sql) if rows.of_rows and few and indexed else nullcontext()
    with read as part:
        if part is not None and part.add:
            sql = f"select place, {rows.of_rows} as w from {part.relation} where place is not null"
            numbers, weights = part.add(sql, "w", lists * cells)
            return [*np.divmod(numbers, cells), weights]
        table = engine.materialise(sql if part is None else f"select * from {part.relation}")
        try:
            again = replace(rows, base=f"select place, {column} from {table}", stored=True)
            return _read(again.sums("place", [Term()], "place is not null"), cells, engine)
        finally:
            engine.drop(table)


def _read(lines: str, cells: int, engine: Engine) -> list[Any]:
    d = engine.dialect
    weight = d.cast(f"scale * {d.cast('s0', 'integer')}", "integer")
    sql = f"select place, {weight} as weight from ({lines}) as lines"
    numbers, weights = engine.integers(sql)
    return _in_order(numbers, weights, cells)


def _in_order(numbers: Any, weights: Any, cells: int) -> list[Any]:
    # a place with rows of heavy people comes twice: with all its rows, and with what they lose
    numbers, weights = _together(numbers, weights)
    return [*np.divmod(numbers, cells), weights]


_DENSE = 4  # an array of so many places a number takes no more than to put the numbers in order


def _together(numbers: Any, weights: Any) -> tuple[Any, Any]:
    """Return the numbers of at least zero that occur, rising, and the sums of their weights."""
    places = int(numbers.max(initial=0)) + 1
    if places <= _DENSE * len(numbers):  # in an array of them nothing is put in order
        occurs, sums = np.zeros(places, dtype=bool), np.zeros(places, dtype=np.int64)
        occurs[numbers] = True
        np.add.at(sums, numbers, weights)
        found = np.flatnonzero(occurs)
        return found, sums[found]
    order = np.argsort(numbers, kind="stable")  # in one pass where they are in order already
    numbers, weights = numbers[order], weights[order]
    del order  # these are as long as there are places, next to the memory that the engine may use
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return numbers[first], np.add.reduceat(weights, first) if len(first) else weights


# The exact integer plan: from a table, in its engine, to vectors of integers.
#
# ``select`` the person, the group's code and every value's grid offset of the rows that the filter
# keeps; bound each person's weight; add up weights and weighted offsets as wide integers.
# Integer addition is associative, so row order, threads and the engine do not matter.  Codes are
# those of the public keys; a group without rows is zeros, and the shape of an answer is public.


def has_few_groups(size: int, dialect: Dialect) -> bool:
    """Return whether the groups of a person are counted as a set of bits."""
    return size <= MAX_BITS and dialect.set_of is not None


class StoredRows(NamedTuple):
    """Rows of a part of the people that were written to be read from there."""

    reads: Mapping[str, str]  # SQL of what is read of a row, by its SQL in the table
    relation: str  # which has the code, and what stands for the person ``u``, as well
    person: str  # SQL there of the person that was ``u``
    add: AddByPlace | None  # where its ``n`` is how many rows the row's person has


_MAX_CACHED = 64  # the SQL of the values of this many requests is remembered


class IntegerQuery:
    """Rows of a source that a filter keeps, in groups, with the unit of privacy."""

    # All of it is checked here, on names and kinds alone; once made, no value in the data can make
    # it fail.
    #
    # keys: the public keys, one tuple per group (or one value, where ``by`` has one column); None
    #   for keys that are not known, which :meth:`people_by_key` counts.  None within a key is the
    #   key of rows where the column is missing.
    # part: ``(i, n)`` to answer for part i of n of the people only, by a hash of the person.
    # stored: where the rows of the part are stored, if they are.

    def __init__(
        self,
        source: Source,
        unit: OneRowEach | PersonUnit,
        *,
        where: Expression | None = None,
        by: Mapping[str, Expression] | None = None,
        keys: Iterable[Any] | None = None,
        part: tuple[int, int] | None = None,
        stored: StoredRows | None = None,
    ) -> None:
        self.source, self.unit, self._part, self._stored = source, unit, part, stored
        self._dialect = source.engine.dialect
        self._person = unit.person(source.schema, self._dialect)
        self._spelled = unit.spelled(source.schema, self._dialect)
        if stored is not None and stored.person != "u":  # a whole number, of the same text as any
            self._spelled = stored.person
        self._where = condition_sql(where, source.schema, self._dialect)
        keys = None if keys is None else keys if isinstance(keys, (str, bytes)) else list(keys)
        self.by = as_keys(by or {}, keys, source.schema)
        self._kinds = [group_kind(name, e, source.schema) for name, e in self.by.items()]
        parts = list(zip(self.by.values(), self._kinds, strict=True))
        self._groups = [key_part_sql(e, kind, source.schema, self._dialect) for e, kind in parts]
        self.keys: list[tuple[Any, ...]] | None = [()] if not self.by else None
        if keys is not None:
            self.keys = check_keys(keys, list(self.by), self._kinds)
            for part in itertools.chain.from_iterable(self.keys):
                self._dialect.literal(part)  # refuses what the engine has no place for, now
        self._compared = [
            key_part_sql(e, kind, source.schema, self._dialect, listed=None not in values)
            for (e, kind), values in zip(parts, zip(*(self.keys or ()), strict=True), strict=False)
        ]
        self._byte = byte_of_key(self.by, self.keys, source.schema, self._dialect)
        self._written: dict[Request, list[str]] = {}
        self._read_before: set[str] = set()
        self._stored_rows: list[tuple[dict[str, str], str]] = []
        self._stored_people: list[tuple[dict[str, str], set[str], str]] = []
        self._keep_people = False
        self.tables: list[str] = []
        """Tables of this query in the engine, to be dropped when it is no longer used."""
        self._key_relation: tuple[str, list[str]] | None = None
        self._lock = threading.RLock()

    def forget(self) -> None:
        """Drop the tables of this query in the engine."""
        with self._lock:
            self._stored_rows, self._stored_people, self._key_relation = [], [], None
            while self.tables:
                self.source.engine.drop(self.tables.pop())

    def check(self, request: Request) -> None:
        """Raise for a column that is missing or does not fit, or too many cells (2^20 keys)."""
        if isinstance(request, Distinct):
            identity_sql(request.value, self.source.schema, self._dialect)
        self._offsets_sql(request)
        if isinstance(request, Cells):
            lists = (1 << 20 if self.keys is None else self._size) * request.bins
            check_cell_indices(lists, (request.grid.cells >> request.shift) + 1)

    def run(self, requests: Sequence[Request]) -> ExactAggregates:
        """Answer requests exactly.  What comes back is not private: add noise to it."""
        if self.keys is None:
            raise UsageError("the keys are not known: give keys, or release them first")
        for request in requests:
            self.check(request)
        try:
            with self.source.engine.reading():
                return ExactAggregates(self._answers(requests), self._size)
        finally:
            if len(self._written) > _MAX_CACHED:  # not before: each is asked for three times
                self._written.clear()

    def _answers(self, requests: Sequence[Request]) -> dict[Request, Any]:
        answers: dict[Request, Any] = {}
        sums = [r for r in requests if isinstance(r, Sums)]
        counts = [r for r in requests if isinstance(r, (Bins, Cells)) and r.weighted]
        self._keep_rows(sums, counts)
        if sums:
            answers |= self._moments(sums)
        for request in requests:
            if isinstance(request, People):
                answers[request] = self._people()
            elif isinstance(request, Distinct):
                answers[request] = self._distinct(request)
            elif isinstance(request, Total):
                answers[request] = self._total(request)
            elif isinstance(request, Bins):
                rows, z, cut = self._counted_rows(request)
                edges = [edge >> cut for edge in request.edges]
                answers[request] = bins(rows, z, edges, self._size, self.source.engine)
            elif isinstance(request, Cells):
                rows, z, cut = self._counted_rows(request)
                size, lists = request.grid.cells >> cut, self._size * request.bins
                shift = request.shift - cut
                answers[request] = cells(rows, z, size, shift, lists, self.source.engine)
        return answers

    def _counted_rows(self, request: Bins | Cells) -> tuple[BoundedRows, str, int]:
        """Return rows, the name of their offset, and how many of its last bits are left out."""
        d = self._dialect
        if isinstance(request, RowCells):
            base = self._select([(self._offsets_sql(request)[0], "z0")])
            return request.bounded_rows(base, self.unit.rows, d, self._spelled), "z0", 0
        if self._person is None:  # whose rows without a value count for nothing
            cut, clamp = unread_bits(request), not isinstance(request, Bins)
            ((value, grid),) = request.columns
            where = offset_where(value, grid, self.source.schema, d, clamp=clamp, cut=cut)
            if where is not None:
                base = self._select([(where[1], "z0")], test=where[0])
                return BoundedRows(base, d, self.unit.one, valued=True), "z0", cut
        rows, names = self._bounded(self._offsets_sql(request))
        return rows, names[0], 0

    def read_rows(self, requests: Sequence[Request]) -> tuple[str, dict[str, str]]:
        """Return the SQL of what requests read of the rows, and how it is read there."""
        # An offset of which no request reads the last bits is stored without them: the next reader
        # has them as zeros.
        d, unread = self._dialect, dict[str, int]()
        for request in requests:
            for sql in self._offsets_sql(request):
                unread[sql] = min(unread.get(sql, 63), unread_bits(request))
        names = column_names(unread)
        columns = [(d.shift(sql, unread[sql]), name) for sql, name in names.items()]
        reads = {
            sql: f"({name} * {d.literal(1 << unread[sql])})" if unread[sql] else name
            for sql, name in names.items()
        }
        return self._select(columns), reads

    def people_by_key(self, shown: Sequence[tuple[Any, ...]] = ()) -> dict[tuple[Any, ...], int]:
        """Return every key that occurs with its number of people: not private, nor are the keys."""
        # A person counts in at most ``unit.groups`` keys, drawn at random among their own.
        if not self.by:
            raise UsageError("keys belong to group_by; this question has no groups")
        names = [f"g{i}" for i in range(len(self._groups))]
        columns = list(zip(self._groups, names, strict=True))
        engine, kinds = self.source.engine, self._kinds
        with left_out(shown, self._groups, kinds, engine) as without:
            return self._people_of_keys(self._select(columns, keyed=False, without=without), names)

    def _people_of_keys(self, base: str, names: list[str]) -> dict[tuple[Any, ...], int]:
        shown = ", ".join(names)
        if self._person is not None:
            base = few_groups(base, names, self.unit.groups, self._dialect, self._spelled)
        counted = f"select {shown}, count(*) from ({base}) as pairs group by {shown}"
        people: dict[tuple[Any, ...], int] = {}
        for *key, number in self.source.engine.rows(counted):
            people[tuple(key)] = people.get(tuple(key), 0) + number
        return people

    # ---- the parts of the plan

    @property
    def _size(self) -> int:
        """The number of groups."""
        return len(self.keys or ())

    def _offsets_sql(self, request: Request) -> list[str]:
        """Return the SQL of where a row's values are on the grids of a request."""
        known = self._written.get(request)
        if known is None:
            schema, d, clamp = self.source.schema, self._dialect, not isinstance(request, Bins)
            known = [offset_sql(x, grid, schema, d, clamp=clamp) for x, grid in request.columns]
            self._written[request] = known
        return known

    def _select(
        self,
        columns: Sequence[tuple[str, str]],
        *,
        keyed: bool = True,
        without: tuple[str, str] | None = None,
        weighing: str = "",
        test: str = "",
    ) -> str:
        """Return the SQL of the rows that count, with the person as ``u`` and the code."""
        # columns: what is read of a row, as SQL, and the name of each.
        # test: one more that rows must pass, where each is a person.
        # weighing: what is shown next to them of rows that are stored and counted.
        d = self._dialect
        if self._stored is not None and keyed:
            chosen = [f"{self._stored.reads[sql]} as {name}" for sql, name in columns]
            shown = [*chosen, "code", "u", *([weighing] if weighing else [])]
            return f"select {', '.join(shown)} from {self._stored.relation}"
        chosen = [f"{sql} as {name}" for sql, name in columns]
        code, join, tests = d.literal(0), "", [f"({t})" for t in (self._where, test) if t]
        if keyed and self._byte is not None:
            code = self._byte[0]
            tests.append(self._byte[1])
        elif keyed and self.by:
            values, names = self._keys_sql()
            same = same_key(self._compared, names, self._kinds, self.keys or [], d)
            code, join = "tacit_keys.tacit_code", f" join {values} on {same}"
        if without is not None:
            join = f" left join {without[0]} on {without[1]}"
            tests.append("tacit_keys.tacit_code is null")
        chosen += [f"{code} as code"] if keyed else []
        chosen += [f"{self._person} as u"] if self._person is not None else []
        where = " where " + " and ".join(tests) if tests else ""
        rows = f"{self.source.relation} as tacit_rows{join}{where}"
        sql = f"select {', '.join(chosen)} from {rows}"
        if self._person is None:
            return sql
        # asked of what was read as the person, which a column that is computed may not say again
        owned = ["u is not null"]
        if self._part is not None and d.part is not None:
            number, parts = self._part
            owned.append(f"{d.part.format(x='u', n=parts)} = {number}")
        sql = d.fence.format(sql=sql)
        return f"select * from ({sql}) as tacit_owned where {' and '.join(owned)}"

    def _keys_sql(self) -> tuple[str, list[str]]:
        """Return a relation of the public keys, made once, and the names of its columns."""
        assert self.keys is not None
        with self._lock:
            if self._key_relation is None:
                values, names, table = relation_of(self.keys, self._kinds, self.source.engine)
                self.tables += [] if table is None else [table]
                self._key_relation = values, names
            return self._key_relation

    @property
    def _numbers(self) -> bool:
        """True if people are distinguished by numbers."""
        assert isinstance(self.unit, PersonUnit)
        return self.unit.numeric(self.source.schema)

    def _keep(self, table: str) -> str:
        self.tables.append(table)
        return table

    # ---- rows whose people are bounded

    def _bounded(self, offsets: Sequence[str]) -> tuple[BoundedRows, list[str]]:
        """Return the rows with the offsets, and the names of these in them."""
        with self._lock:
            for known, table in self._stored_rows:
                if all(sql in known for sql in offsets):
                    rows = BoundedRows(f"select * from {table}", self._dialect, weight="w")
                    return replace(rows, one=self.unit.one), [known[sql] for sql in offsets]
        names = column_names(offsets)
        return self._rows_of(names), [names[sql] for sql in offsets]

    def _rows_of(self, names: Mapping[str, str]) -> BoundedRows:
        if self._adds is None:
            rows = self._bound(self._select(list(names.items())), None, self.unit.rows)
            known = rows.heavy and self._numbers
            return replace(rows, of_rows=weight_sql("n", self.unit, self._dialect) if known else "")
        weight = weight_sql("n", self.unit, self._dialect)
        base = self._select(list(names.items()), weighing=f"{weight} as w")
        return BoundedRows(base, self._dialect, self.unit.one, weight="w", add=self._adds)

    @property
    def _adds(self) -> AddByPlace | None:
        """What adds up stored rows; None if those of each person were not counted."""
        return None if self._stored is None else self._stored.add

    def _bound(self, base: str, mass: Whole | None, limit: int) -> BoundedRows:
        one, d = self.unit.one, self._dialect
        if self._person is None:
            return BoundedRows(base, d, one)
        if d.one_scan:
            return PeopleFirst(base, d, one, limit=limit, mass=mass)
        heavy = heavy_people(mass, limit, one, d, numbers=self._numbers)
        return BoundedRows(base, d, one, heavy=heavy)

    @contextmanager
    def _read_once(self, rows: BoundedRows) -> Iterator[BoundedRows]:
        """Return rows that all scans of a statement agree on, kept by the engine if need be."""
        # A table of them is faster than a named subquery where the engine may make one, for it
        # knows how far the numbers in it reach.
        if not (self._dialect.keeps and rows.heavy):
            yield rows
            return
        engine = self.source.engine
        table = engine.materialise(rows.base)
        try:
            yield replace(rows, base=f"select * from {table}", stored=True)
        finally:
            engine.drop(table)

    def _keep_rows(self, sums: Sequence[Sums], counts: Sequence[Bins | Cells]) -> None:
        """Keep the weighted rows in the engine, where several queries will read them."""
        # A question of one query is answered without, which takes no memory; to bound people once
        # and keep the rows pays from the second query on.
        if self._person is None or not self._dialect.keeps or not (sums or counts):
            return
        if self._adds is not None:  # read with their weights as quickly as they would be kept
            return
        offsets = [sql for r in (*sums, *counts) for sql in self._offsets_sql(r)]
        columns = {"", *offsets}
        with self._lock:
            again, self._read_before = columns <= self._read_before, self._read_before | columns
            if not again and len(counts) + bool(sums) < 2:
                return
            if any(known.keys() >= set(offsets) for known, _ in self._stored_rows):
                return
            if not (self.by or counts or any(isinstance(r, Products) for r in sums)):
                self._keep_people = True
                return
            d, names = self._dialect, column_names(offsets)
            stored = [
                f"{d.cast(name, 'small')} as {name}" for name in ["code", "w", *names.values()]
            ]
            with self._read_once(self._rows_of(names)) as rows:
                sql = f"select {', '.join(stored)} from ({weighted(rows)}) as r"
                self._stored_rows.append((names, self._keep(self.source.engine.materialise(sql))))

    def _moments(self, requests: Sequence[Sums]) -> dict[Request, Any]:
        sums = MomentSums(requests, [self._offsets_sql(r) for r in requests])
        rows, names = self._bounded(sums.offsets)
        named = dict(zip(sums.offsets, names, strict=True))
        if self.by or not rows.heavy or not sums.by_people:
            terms = sums.row_terms(named)
        else:
            assert isinstance(self.unit, PersonUnit)
            rows, named = self._by_person(sums, self.unit)
            terms = sums.people_terms(named, self.unit, self._dialect)
        with self._read_once(rows) as read:
            lines = self.source.engine.rows(read.sums("code" if self.by else "", terms))
        return sums.read(lines, self._size)

    def _by_person(self, sums: MomentSums, unit: PersonUnit) -> tuple[BoundedRows, dict[str, str]]:
        """Return people with their weight and sums, and the names of the offsets: no groups."""
        d, one = self._dialect, unit.one
        with self._lock:
            for known, squares, table in self._stored_people:
                if known.keys() >= set(sums.offsets) and squares >= sums.squared:
                    return BoundedRows(f"select * from {table}", d, one, "w"), known
            names = column_names(sums.offsets)
            base = self._select(list(names.items()))
            squared = [names[sql] for sql in sums.squared]
            offsets = list(names.values())
            people = people_sql(base, offsets, squared, unit, d, numbers=self._numbers)
            if self._keep_people:
                table = self._keep(self.source.engine.materialise(people))
                self._stored_people.append((names, sums.squared, table))
                people = f"select * from {table}"
            return BoundedRows(people, d, one, "w"), names

    def _people(self) -> Any:
        base, limit = self._select([]), min(self.unit.groups, self._size)
        if self._person is not None and has_few_groups(self._size, self._dialect):
            return self._spread(
                people_of_few(base, self._size, limit, self._dialect, self._spelled)
            )
        if self._person is not None:
            base = few_groups(base, ["code"], limit, self._dialect, self._spelled)
        return self._spread(f"select code, 1, count(*) from ({base}) as pairs group by code")

    def _distinct(self, request: Distinct) -> Any:
        value, digest = identity_sql(request.value, self.source.schema, self._dialect)
        base, person = self._select([(value, "z0")]), self._spelled
        spelled = None if self._person is None else person
        return self._spread(distinct_sql(base, spelled, self.unit.rows, digest, self._dialect))

    def _total(self, request: Total) -> Any:
        grid = request.grid
        point = Whole("z0", 0, grid.cells).plus(grid.first, self._dialect)
        base = self._select([(self._offsets_sql(request)[0], "z0")])
        if isinstance(self.unit, PersonUnit) and not self.by:
            return self._spread(clamped_total_sql(base, point, self.unit, self._dialect))
        rows = self._bound(base, point.size(), self.unit.rows * point.most)
        with self._read_once(rows) as read:
            return self._spread(read.sums("code" if self.by else "", [Term((point,))]))

    def _spread(self, sql: str) -> Any:
        """Return one number of each group, from lines ``code, scale, number``."""
        counts = np.zeros(self._size, dtype=object)
        for code, scale, value in self.source.engine.rows(sql):
            counts[code] += int(scale) * int(value)
        return counts


# A query that is answered for one part of the people after another, where memory is short.
#
# Every person belongs to one part, by a hash of the person, and every exact answer is a sum of
# integers over people: each person's weights read their own rows alone, and people are counted
# one by one.  So the sum over the parts is the answer itself, with the same bits however many parts
# there are.  (A hash that sends many people to one part costs memory, and never privacy: a part is
# a set of whole people, whatever the hash.)  Different values are no such sum, for two people may
# share one: they are counted for all people at once, and the engine itself puts what is too much on
# disk.
#
# How many parts is decided from the number of rows and the memory that the engine may use; an
# engine that runs out all the same is asked again in more parts.
#
# *One reading.*  What a question reads of the rows is written once, each row to its part, and each
# part is read for itself alone.  Where two parts share a file, both read it; where more would, it
# is divided again.  Where an engine cannot write, or two parts suffice, each part reads the whole
# table.  A part has all rows of its people, so it alone says how many rows each of them has: where
# the engine counts them as it reads the part back, their weights follow.
#
# *People who are whole numbers* belong to the part of the rest of a division by a prime, and within
# it the quotient stands for them.  *Theorem.*  The exact answers are the same.  *Proof.*  ``u = n q
# + r`` with ``0 <= r < n`` has one solution, so r is a function of the person, and two people of
# one part have two quotients; the sums ask only which rows are of one person.  Where people are
# drawn from, which digests them, they stay as they are.  Numbers that follow one another have
# quotients that do, which the engine counts by their index in an array; and a prime, since numbers
# that are given out in steps have few rests by a divisor of the step.


# What a row of the data takes while its person is bounded, measured, with room to spare.
_ROW_BYTES = 24
_DRAWN_BYTES = 160  # the same where a person's rows or groups are drawn from
# What a cell of a group takes in this process while the cells are put in order, measured.
_CELL_BYTES = 96
_WEIGHTED = (Rows, People, Moments, Products, Total, Bins, Cells)
_FIXED = 96 << 20  # what the engine takes whatever the number of rows
_MORE = 8
_MAX_PARTS = 1 << 12
_READINGS = 2  # so often to read the table costs less than to divide its rows
# Files that rows are divided into at once: powers of two, as the parts are, and primes near them.
_FILES = {1: 1, 2: 3, 4: 3, 8: 7, 16: 17, 32: 31, 64: 61}
_FILE_BYTES = 5 << 20  # what the engine takes for each while it writes, measured
# Types of whole numbers that 64 bits with a sign hold.
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


class PartedQuery:
    """A :class:`~tacit.tables.query.integer_query.IntegerQuery` within the memory of its engine."""

    def __init__(self, source: Source, unit: OneRowEach | PersonUnit, **options: Any) -> None:
        self._source = source
        self._part = partial(IntegerQuery, source, unit, **options)
        self._undivided = self._part()
        self._divisible = isinstance(unit, PersonUnit) and source.engine.dialect.part is not None
        columns = [source.schema.column(name) for name in unit.columns]
        whole = [c.kind == "integer" and c.declared.upper() in _WHOLE for c in columns]
        self._whole = whole == [True]
        self._min_parts = 1
        self._rows: int | None = None  # how many there are, where that cannot change
        self.tables = self._undivided.tables

    def run(self, requests: Sequence[Request]) -> ExactAggregates:
        """Answer requests exactly; see :meth:`IntegerQuery.run`."""
        groups, dialect = len(self._undivided.keys or ()), self._source.engine.dialect
        distinct = [r for r in requests if isinstance(r, Distinct)]
        counts_of_values = (
            self._undivided.run(distinct) if distinct else ExactAggregates({}, groups)
        )
        requests = [r for r in requests if not isinstance(r, Distinct)]
        counted = People if groups > 1 and not has_few_groups(groups, dialect) else ()
        drawn = any(isinstance(r, counted) or type(r) not in _WEIGHTED for r in requests)

        def answer(query: IntegerQuery) -> dict[Request, Any]:
            exact = query.run(requests)
            return {request: exact.of(request) for request in requests}

        indices = max((groups * _cells(r) for r in requests if isinstance(r, Cells)), default=0)
        row_bytes = _DRAWN_BYTES if drawn else _ROW_BYTES
        answers: dict[Request, Any] = {}
        if requests:
            by_number = self._whole and not drawn
            answers = self._added(answer, _add_answers, row_bytes, indices, requests, by_number)
        return ExactAggregates({**answers, **{r: counts_of_values.of(r) for r in distinct}}, groups)

    def check(self, request: Request) -> None:
        """Raise if a request is invalid."""
        # See :meth:`~tacit.tables.query.integer_query.IntegerQuery.check`.
        self._undivided.check(request)

    def people_by_key(self, shown: Sequence[tuple[Any, ...]] = ()) -> dict[tuple[Any, ...], int]:
        """Count people by key, without those keys that are shown already."""
        # See :meth:`~tacit.tables.query.integer_query.IntegerQuery.people_by_key`.

        def answer(query: IntegerQuery) -> dict[tuple[Any, ...], int]:
            return query.people_by_key(shown)

        return self._added(answer, _add_counts, _DRAWN_BYTES)  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Drop the tables of the query in the engine."""
        self._undivided.forget()

    def _added(
        self,
        answer: Any,
        add: Any,
        row_bytes: int,
        cell_count: int = 0,
        requests: Sequence[Request] = (),
        by_number: bool = False,
    ) -> Any:
        """Return the sum of the answers of all parts."""
        # requests: what is read of the rows, to be divided once; empty to read all for each part.
        # by_number: whether people are whole numbers, of which only who is who matters.
        parts = max(self._min_parts, self._parts(row_bytes, cell_count))
        while True:
            try:
                if parts == 1:
                    return answer(self._undivided)
                with closing(self._queries(parts, requests, by_number)) as queries:
                    return reduce(add, map(answer, queries))
            except EngineMemoryError:
                if not self._divisible or parts >= _MAX_PARTS:
                    raise
            # asked again outside the handler: what failed is released first
            self._undivided.forget()
            self._min_parts = parts = parts * _MORE

    def _parts(self, row_bytes: int, cell_count: int = 0) -> int:
        engine = self._source.engine
        if not self._divisible or engine.memory is None:
            return 1
        rows = self._rows
        if rows is None:
            counted = f"select count(*) from {self._source.counted} as tacit_rows"
            rows = int(engine.rows(counted)[0][0])
            self._rows = rows if engine.owns_rows else None
        available = max(engine.memory - _FIXED, engine.memory // 4)
        need = -(-rows * row_bytes // available)
        half = engine.memory // 2
        if cell_count * _CELL_BYTES > half:  # a part has no more of them than rows
            need = max(need, -(-rows * _CELL_BYTES // half))
        return min(1 << max(need - 1, 0).bit_length(), _MAX_PARTS)

    def _queries(
        self, parts: int, requests: Sequence[Request], by_number: bool
    ) -> Generator[IntegerQuery]:
        """Return a query for each part, each to be used before the next."""
        divides = self._source.engine.dialect.part is not None
        if not requests or parts <= _READINGS or not divides:
            yield from self._reading_all(parts)
            return
        sql, names = self._undivided.read_rows(requests)
        stored = False
        for number, (part, person) in enumerate(self._divided(sql, parts, by_number)):
            stored = True
            rows = StoredRows(names, part.relation, person, part.add)
            query = self._part(part=(number, parts), stored=rows)
            try:
                yield query
            finally:
                query.forget()
        if not stored:
            yield from self._reading_all(parts)

    def _reading_all(self, parts: int) -> Iterator[IntegerQuery]:
        """Return queries that read the whole table, each for its part."""
        for number in range(parts):
            query = self._part(part=(number, parts))
            try:
                yield query
            finally:
                query.forget()

    def _divided(
        self, sql: str, parts: int, by_number: bool, person: str = "u", before: int = 1
    ) -> Iterator[tuple[Part, str]]:
        """Return each part of the rows of a query, and the person there: or none."""
        # person: SQL of the person of the table, from what the query has as ``u``.
        # before: how many parts the rows were divided into before.
        engine = self._source.engine
        most = max(n for n in _FILES if n * _FILE_BYTES <= max(engine.memory or 0, _FILE_BYTES))
        files, shares = min(parts, most), max(parts // most, 1)
        if by_number:  # in as many as may be: the fewer quotients, the smaller the array
            files = _FILES[files if before > 1 else most]
        number, kept = self._part_sql(files, by_number, before)
        with engine.divided(sql, number, files, kept) as divided:
            for i, part in enumerate(divided or ()):
                owner = self._owner(person, files, i) if by_number else person
                written = False
                if shares > _READINGS:
                    shown = "* exclude (n)" if part.counted else "*"
                    rows = f"select {shown} from {part.relation}"
                    for share in self._divided(rows, shares, by_number, owner, before * files):
                        written = True
                        yield share
                if not written:
                    yield from self._shares(part, shares, by_number, owner, before * files)

    def _shares(
        self, part: Part, shares: int, by_number: bool, person: str, before: int
    ) -> Iterator[tuple[Part, str]]:
        """Return the parts that share a file, each of which reads all of it."""
        if shares == 1:
            yield part, person
            return
        number, kept = self._part_sql(shares, by_number, before)
        rows = f"select * replace ({kept} as u) from {part.relation} where {number}"
        for i in range(shares):
            owner = self._owner(person, shares, i) if by_number else person
            yield Part(f"({rows} = {i})", part.add), owner

    def _part_sql(self, parts: int, by_number: bool, before: int) -> tuple[str, str]:
        """Return the SQL of the part of a row with the person ``u``, and of its ``u`` there."""
        d = self._source.engine.dialect
        if by_number:
            return d.rest.format(x="u", n=parts), d.quotient.format(x="u", n=parts)
        return f"{(d.part or '').format(x='u', n=before * parts)} // {before}", "u"

    def _owner(self, person: str, parts: int, part: int) -> str:
        """Return the SQL of a person from the quotient that ``u`` is in a part."""
        quotient = self._source.engine.dialect.cast("u", "wide")  # which times ``parts`` may be far
        return re.sub(r"\bu\b", f"({quotient} * {parts} + {part})", person)


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
    cells, weights = (np.concatenate(pair) for pair in zip(some, other, strict=True))
    return _together(cells, weights)


def _add_counts(some: dict[Any, int], other: Mapping[Any, int]) -> dict[Any, int]:
    for key, count in other.items():
        some[key] = some.get(key, 0) + count
    return some
