"""The exact integer plan: from a table, in its engine, to vectors of whole numbers.

``select`` the person, the group's code and every value's grid offset of the rows that the filter
keeps; bound each person's weight; add up weights and weighted offsets as wide integers.
Integer addition is associative, so row order, threads and the engine do not matter.  Codes are
those of the public keys; a group without rows is zeros, and the shape of an answer is public.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.errors import UsageError
from tacit.tables.bin_choice import bins_sql
from tacit.tables.contributions import OneRowEach, PersonUnit, few_groups, weighted
from tacit.tables.expression import Expression
from tacit.tables.grid import Grid
from tacit.tables.key_table import (
    check_keys,
    group_kind,
    keep_keys,
    key_part_sql,
    keys_sql,
    same_key,
)
from tacit.tables.requests import (
    Bins,
    Cells,
    ExactAggregates,
    Moments,
    People,
    Request,
    Rows,
    Total,
)
from tacit.tables.source import Source

__all__ = ["Query"]

_LISTED_KEYS = 200
"""Up to so many public keys stand in the query itself; more are kept in a table."""
_VALUE_KINDS = ("integer", "float", "decimal", "boolean", "missing")


class Query:
    """Rows of a source that a filter keeps, in groups, with the unit of privacy.

    All of it is checked here, on names and kinds alone; once made, no value in the data can make it
    fail.

    Args:
        source: the table.
        unit: whose contribution is bounded.
        where: the filter, or None.
        by: the group's columns, by name.
        keys: the public keys, one tuple a group (or one value, where ``by`` has one column); None
            for keys that are not known, which :meth:`people_by_key` counts.
            None within a key is the key of rows where the column is missing.
        part: ``(i, n)`` to answer for part i of n of the people only, by a hash of the person.

    Raises:
        UsageError: a column that does not exist, kinds that do not fit, keys that are none.
    """

    def __init__(
        self,
        source: Source,
        unit: OneRowEach | PersonUnit,
        *,
        where: Expression | None = None,
        by: Mapping[str, Expression] | None = None,
        keys: Iterable[Any] | None = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        self.source, self.unit, self._part = source, unit, part
        self._dialect = source.engine.dialect
        self._person = unit.person(source.schema, self._dialect)
        self._where = self._condition(where)
        self.by = dict(by or {})
        self._kinds = [group_kind(name, e, source.schema) for name, e in self.by.items()]
        kinds = zip(self.by.values(), self._kinds, strict=True)
        self._groups = [key_part_sql(e, kind, source.schema, self._dialect) for e, kind in kinds]
        self.keys: list[tuple[Any, ...]] | None = [()] if not self.by else None
        if keys is not None:
            self.keys = check_keys(keys, list(self.by), self._kinds)
        self._bounded: list[tuple[dict[str, str], str]] = []
        self._people_kept: list[tuple[dict[str, str], set[str], str]] = []
        self.tables: list[str] = []
        """What this query keeps in the engine, to be dropped when no one uses the query."""
        self._key_relation: tuple[str, list[str]] | None = None
        self._lock = threading.RLock()

    def forget(self) -> None:
        """Drop what this query keeps in the engine."""
        with self._lock:
            self._bounded, self._people_kept, self._key_relation = [], [], None
            while self.tables:
                self.source.engine.drop(self.tables.pop())

    def check(self, request: Request) -> None:
        """Refuse a request whose column is not a number or does not exist."""
        if not isinstance(request, (Rows, People)):
            self._offset(request.value, request.grid)

    def run(self, requests: Sequence[Request]) -> ExactAggregates:
        """Answer requests exactly.  What comes back is not private: add noise to it.

        Raises:
            UsageError: the keys are not known; or see :meth:`check`.
            DataSourceError: the engine failed.
        """
        if self.keys is None:
            raise UsageError("the keys are not known: give keys, or release them first")
        for request in requests:
            self.check(request)
        with self.source.engine.reading():
            return ExactAggregates(self._found(requests), len(self.keys))

    def _found(self, requests: Sequence[Request]) -> dict[Request, Any]:
        found: dict[Request, Any] = {}
        alone = not self._bounded and not any(isinstance(r, (Bins, Cells)) for r in requests)
        moments = [r for r in requests if isinstance(r, (Rows, Moments))]
        self._moments(moments, found, alone=alone)
        for request in requests:
            if isinstance(request, People):
                found[request] = self._people()
            elif isinstance(request, Total):
                found[request] = self._total(request)
            elif isinstance(request, Bins):
                found[request] = self._bins(request)
            elif isinstance(request, Cells):
                found[request] = self._cells(request)
        return found

    def people_by_key(self) -> dict[tuple[Any, ...], int]:
        """Return every key that occurs with its number of people: not private, nor are the keys.

        A person counts in at most ``unit.groups`` keys, drawn at random among their own.
        """
        if not self.by:
            raise UsageError("keys belong to group_by; this question has no groups")
        names = [f"g{i}" for i in range(len(self._groups))]
        columns = [f"{sql} as {n}" for sql, n in zip(self._groups, names, strict=True)]
        shown = ", ".join(names)
        base = self._select(columns, keyed=False)
        if self._person is not None:
            base = few_groups(base, names, self.unit.groups, self._dialect)
        counted = f"select {shown}, count(*) from ({base}) as pairs group by {shown}"
        return {row[:-1]: row[-1] for row in self.source.engine.rows(counted)}

    # ---- the parts of the plan

    def _condition(self, where: Expression | None) -> str | None:
        if where is None:
            return None
        kind = where.kind(self.source.schema)
        if kind not in ("boolean", "missing"):
            raise UsageError(f"a filter is a condition; {where} is of kind {kind}")
        return where.sql(self.source.schema, self._dialect)

    def _offset(self, value: Expression, grid: Grid) -> str:
        kind = value.kind(self.source.schema)
        if kind not in _VALUE_KINDS:
            raise UsageError(f"{value} is of kind {kind}; this statistic needs numbers")
        d = self._dialect
        if value.operation == "col" and kind == "float":
            return grid.sql(self._plain_float(value), kind, d)
        return grid.sql(value.sql(self.source.schema, d), kind, d)

    def _plain_float(self, value: Expression) -> str:
        """Return the SQL of a float column as it is, for the grid itself leaves NaN out."""
        d = self._dialect
        return d.cast(d.identifier(str(value.parameters[0])), "double")

    def _select(self, columns: list[str], *, keyed: bool = True) -> str:
        """Return the SQL of the rows that count, with the person as ``u`` and the code."""
        d = self._dialect
        chosen = list(columns)
        join = ""
        if keyed and self.by:
            values, names = self._keys_sql()
            same = same_key(self._groups, names, self._kinds, self.keys or [], d)
            join = f" join {values} on {same}"
            chosen.append("tacit_code as code")
        elif keyed:
            chosen.append(f"{d.literal(0)} as code")
        tests = [self._where] if self._where else []
        if self._person is not None:
            chosen.append(f"{self._person} as u")
            tests.append(f"{self._person} is not null")
            if self._part is not None and d.part is not None:
                tests.append(d.part.format(*self._part, x=self._person))
        where = " where " + " and ".join(tests) if tests else ""
        return f"select {', '.join(chosen)} from {self.source.relation} as tacit_rows{join}{where}"

    def _keys_sql(self) -> tuple[str, list[str]]:
        """Return a relation of the public keys, made once, and the names of its columns."""
        assert self.keys is not None
        with self._lock:
            if self._key_relation is None:
                if len(self.keys) <= _LISTED_KEYS:
                    self._key_relation = keys_sql(self.keys, self._kinds, self._dialect)
                else:
                    table = self._keep(keep_keys(self.keys, self._kinds, self.source.engine))
                    names = [f"tacit_key{i}" for i in range(len(self._kinds))]
                    self._key_relation = table, names
            return self._key_relation

    def _keep(self, table: str) -> str:
        self.tables.append(table)
        return table

    def _rows_sql(self, offsets: Sequence[str]) -> tuple[str, list[str]]:
        """Return a relation of weighted rows and the names of the offsets in it.

        With a person column the relation is made once and kept in the engine.
        """
        names = {sql: f"z{i}" for i, sql in enumerate(dict.fromkeys(offsets))}
        base = self._select([f"{sql} as {name}" for sql, name in names.items()])
        if self._person is None:
            return f"({base}) as kept", list(names.values())
        with self._lock:
            for known, table in self._bounded:
                if all(sql in known for sql in names):
                    return table, [known[sql] for sql in names]
            d = self._dialect
            rows = self._weighted(base, None, self.unit.rows, wide=False)
            kept = [f"{d.cast(name, 'small')} as {name}" for name in ["code", "w", *names.values()]]
            sql = f"select {', '.join(kept)} from ({rows}) as r"
            table = self._keep(self.source.engine.materialise(sql))
            self._bounded.append((names, table))
            return table, list(names.values())

    def _weighted(self, base: str, mass: str | None, limit: int, *, wide: bool) -> str:
        hint = self.source.engine.hint(self.unit.rows)
        return weighted(base, mass, limit, self.unit.one, self._dialect, wide=wide, hint=hint)

    def _by_person(self, offsets: Sequence[str], squared: set[str]) -> tuple[str, list[str]]:
        """Return a relation of people with their weight and sums: the plan without groups.

        Like the weighted rows it is made once and kept in the engine.
        """
        d = self._dialect
        names = {sql: f"z{i}" for i, sql in enumerate(dict.fromkeys(offsets))}
        with self._lock:
            for known, squares, table in self._people_kept:
                if names.keys() <= known.keys() and squared <= squares:
                    return table, [known[sql] for sql in names]
            base = self._select([f"{sql} as {name}" for sql, name in names.items()])
            sums = ["count(*) as c"]
            for sql, z in names.items():
                sums += [f"count({z}) as {z}n", f"{self._sum(z)} as {z}s"]
                sums += [f"{self._sum(f'{z} * {z}')} as {z}q"] if sql in squared else []
            people = f"select {', '.join(sums)} from ({base}) as r group by u"
            limit, one = d.literal(self.unit.rows), d.literal(self.unit.one)
            share = d.divide(d.literal(self.unit.one * self.unit.rows), "c", wide=False)
            weight = d.cast(f"case when c > {limit} then {share} else {one} end", "integer")
            sql = f"select *, {weight} as w, {d.literal(0)} as code from ({people}) as p"
            table = self._keep(self.source.engine.materialise(sql))
            self._people_kept.append((names, squared, table))
            return table, list(names.values())

    def _grouped(self, parts: str, relation: str) -> str:
        """Return the SQL of aggregates by code; without groups there is one code, and no work."""
        if not self.by:
            return f"select {self._dialect.literal(0)}, {parts} from {relation}"
        return f"select code, {parts} from {relation} group by code"

    def _sum(self, sql: str, *, wide: bool = False) -> str:
        return f"coalesce({self._dialect.sum(sql, wide=wide)}, 0)"

    def _moments(
        self, requests: Sequence[Rows | Moments], found: dict[Request, Any], *, alone: bool
    ) -> None:
        """Find the moments; ``alone``: no other request needs the weighted rows."""
        if not requests:
            return
        assert self.keys is not None
        moments = [r for r in requests if isinstance(r, Moments)]
        offsets = [self._offset(r.value, r.grid) for r in moments]
        alone = alone and not self.by and self._person is not None
        squared = {sql for sql, r in zip(offsets, moments, strict=True) if r.squares}
        relation, names = self._by_person(offsets, squared) if alone else self._rows_sql(offsets)
        place = dict(zip(dict.fromkeys(offsets), names, strict=True))
        cells = {sql: r.grid.cells for sql, r in zip(offsets, moments, strict=True)}
        parts = ["count(*)" if self._person is None else self._sum("w * c" if alone else "w")]
        for sql, name in place.items():
            powers = self._people_powers(name) if alone else self._powers(name, cells[sql])
            parts += [*powers[:2], powers[2] if sql in squared else "0"]
        rows = self.source.engine.rows(self._grouped(", ".join(parts), relation))
        table = np.zeros((len(self.keys), len(parts)), dtype=object)
        for code, *values in rows:
            table[code] = [int(v) for v in values]
        for request in requests:
            if isinstance(request, Rows):
                found[request] = table[:, 0].copy()
        for request, offset in zip(moments, offsets, strict=True):
            first = 1 + 3 * names.index(place[offset])
            present, total, squares = table[:, first : first + 3].T
            last = squares if request.squares else 0 * squares
            found[request] = np.stack([present, table[:, 0] - present, total, last], axis=1)

    def _powers(self, z: str, cells: int) -> list[str]:
        """Return the sums of the weight, of z and of z^2, where z is at most ``cells`` <= 2^31."""
        if self._person is None:
            return [f"count({z})", self._sum(z), self._sum(f"{z} * {z}")]
        long = self._dialect.cast(z, "integer")
        narrow = cells**2 * self.unit.one < 1 << 62
        wide = long if narrow else self._dialect.cast(z, "wide")
        return [
            self._sum(f"case when {z} is not null then w end"),
            self._sum(f"{long} * w"),
            self._sum(f"{wide} * {z} * w", wide=not narrow),
        ]

    def _people_powers(self, z: str) -> list[str]:
        return [self._sum(f"w * {z}{part}", wide=part != "n") for part in "nsq"]

    def _people(self) -> Any:
        assert self.keys is not None
        base, most = self._select([]), min(self.unit.groups, len(self.keys))
        if self._person is not None:
            base = few_groups(base, ["code"], most, self._dialect)
        sql = f"select code, count(*) from ({base}) as pairs group by code"
        return self._spread(self.source.engine.rows(sql))

    def _spread(self, rows: Iterable[tuple[Any, ...]]) -> Any:
        assert self.keys is not None
        counts = np.zeros(len(self.keys), dtype=object)
        for code, value in rows:
            counts[code] = int(value)
        return counts

    def _total(self, request: Total) -> Any:
        d, grid = self._dialect, request.grid
        most = max(abs(grid.first), abs(grid.last))
        wide = most * self.unit.one >= 1 << 62
        size = "wide" if wide else "integer"
        point = f"({d.cast('z0', size)} + {d.literal(grid.first)})"
        base = self._select([f"{self._offset(request.value, grid)} as z0"])
        limit = self.unit.rows * most
        if self._person is None:
            sql = self._grouped(self._sum(point, wide=wide), f"({base}) as kept")
        elif not self.by:
            top, low = d.literal(limit), d.literal(-limit)
            own = self._sum(point, wide=wide)
            people = f"select {own} as own from ({base}) as rows_of group by u"
            held = f"greatest(least({d.cast('own', 'wide')}, {top}), {low})"
            one = d.literal(self.unit.one)
            sql = f"select 0, {self._sum(held, wide=True)} * {one} from ({people}) as totals"
        else:
            rows = self._weighted(base, f"abs({point})", limit, wide=wide)
            total = self._sum(f"{point} * w", wide=wide)
            sql = f"select code, {total} from ({rows}) as kept group by code"
        return self._spread(self.source.engine.rows(sql))

    def _counted(self, cell: str, cells: int, relation: str, z: str) -> list[Any]:
        """Return the codes, cells and weights that occur, in order.

        Group and cell are one whole number in the engine, which groups by that far faster.
        """
        d = self._dialect
        weight = "count(*)" if self._person is None else d.cast("sum(w)", "integer")
        both = f"{d.cast('code', 'integer')} * {d.literal(cells)} + {d.cast(cell, 'integer')}"
        sql = (
            f"select {both} as place, {weight} as weight from {relation} "
            f"where {z} is not null group by place"
        )
        places, weights = self.source.engine.integers(sql)
        order = np.argsort(places)
        codes, found = np.divmod(places[order], cells)
        return [codes, found, weights[order]]

    def _bins(self, request: Bins) -> Any:
        assert self.keys is not None
        if request.value.operation == "col" and request.value.kind(self.source.schema) == "float":
            column = self._plain_float(request.value)
            offset = request.grid.sql(column, "float", self._dialect, clamp=False)
        else:
            offset = self._offset(request.inside(), request.grid)
        relation, (z,) = self._rows_sql([offset])
        bins = bins_sql(z, request.edges, self._dialect)
        codes, cells, weights = self._counted(bins, len(request.edges) - 1, relation, z)
        counts = np.zeros((len(self.keys), len(request.edges) - 1), dtype=np.int64)
        counts[codes, cells] = weights
        return counts

    def _cells(self, request: Cells) -> Any:
        assert self.keys is not None
        relation, z = request.relation(self)
        cell = self._dialect.shift(z, request.shift)
        size = (request.grid.cells >> request.shift) + 1
        codes, cells, weights = self._counted(cell, size, relation, z)
        ends = np.searchsorted(codes, np.arange(len(self.keys) * request.bins + 1))
        return [(cells[a:b].copy(), weights[a:b].copy()) for a, b in itertools.pairwise(ends)]
