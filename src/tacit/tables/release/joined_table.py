"""A table with the columns of another one beside it, opened where the table is.

A public table is read when it is joined, which costs nothing; what was read then is joined by every
question of this table.  A protected one is read by the questions alone, in the statement that reads
the table (:mod:`tacit.tables.query.join_sql`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tacit.errors import UsageError, did_you_mean
from tacit.tables.open_source import Source
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Query
from tacit.tables.query.join_sql import joined, key_kind, of_people, person_pair
from tacit.tables.query.public_rows import PublicRows, read_public
from tacit.tables.release.charge import KeptPlans
from tacit.tables.release.collector import Collector
from tacit.tables.release.opened_table import OpenedTable
from tacit.tables.release.other_table import OtherTable
from tacit.tables.spec.join import HOW, MOST_ROWS, Join, names_beside

__all__ = ["JoinedTable", "On", "join_table"]

On: TypeAlias = str | Sequence[str] | Mapping[str, str] | None
"""Columns of the rows, or pairs of them with columns of the joined table."""


class JoinedTable(OpenedTable):
    """A table beside which another one stands; it is opened anew when the table is.

    Args:
        base: the table.
        other: the one beside it.
        join: how they are joined.
        rows: the rows of the other, where it is public.
    """

    def __init__(
        self, base: OpenedTable, other: OtherTable, join: Join, rows: PublicRows | None
    ) -> None:
        self._base, self._other, self._join, self._rows = base, other, join, rows
        self._lock = threading.RLock()
        self._of: Source | None = None
        self.others, self.joined, self.plans = base.others, {}, KeptPlans()
        self.named = base.named

    @property
    def source(self) -> Source:
        """The rows of the join, of the table as it was opened last."""
        return self._at(self._base.source)[0]

    @property
    def collector(self) -> Collector:
        """What is asked of the join, and what of that is kept."""
        return self._at(self._base.source)[1]

    def reopen(self) -> Source:
        """Return the join of the table, opened after this was called."""
        return self._at(self._base.reopen())[0]

    def _at(self, base: Source) -> tuple[Source, Collector]:
        """Return the join of the table as it was opened then, and its collector."""
        with self._lock:
            if self._of is not base:
                made = self._made(base)
                self._of, self._found = base, (made, Collector(made))
            return self._found

    def _made(self, base: Source) -> Source:
        join = self._join
        if self._rows is not None:
            names = [here for here, _ in join.on]
            return joined(base, join, self._rows.beside(names, base.schema, base.engine))
        # what is opened for it is closed with it
        self._opened = other = self._other.opened(base)
        if [[t, other.schema[t].kind] for _, t, _ in join.columns] != [
            [t, kind] for _, t, kind in join.columns
        ]:
            raise UsageError(
                f"{join.table!r} has other columns than before: open the data set anew"
            )
        return joined(base, join, of_people(base, other, join))


def join_table(
    table: OpenedTable, query: Query, declared: Declared, name: str, on: On, how: str | None
) -> tuple[OpenedTable, Query, Declared]:
    """Return a table with another one of its data set beside it, the question, what is declared.

    Args:
        table: the table, or the join of it with others.
        query: what is asked of it so far.
        declared: what is declared of it.
        name: of the table to join.
        on: as :meth:`tacit.tables.question.Question.join` takes it.
        how: see there.

    Raises:
        UsageError: no such table, or one that cannot be joined so.
        DataSourceError: it cannot be opened.
    """
    if query.by or query.aggregates or query.inner is not None:
        raise UsageError("join first: session.join('patients').group_by(...).agg(...)")
    if any(join.table == name and join.public is None for join in query.joins):
        raise UsageError(f"{name!r} is joined already: its columns are there")
    own, person = query.table, query.unit.column
    other = _other(table, own, name)
    if how is not None and how not in HOW:
        raise UsageError(f"how is {' or '.join(map(repr, HOW))}, not {how!r}")
    how = how or ("left" if other.public else "inner")
    pairs = _public_pairs(other, on) if other.public else _person_pairs(other, own, person, on)
    known = (name, how, pairs)
    if known not in table.joined:
        table.joined[known] = _join(table, other, how, pairs)
    made, join = table.joined[known]
    taken = {each for each, _ in query.derived} & {here for here, _, _ in join.columns}
    if taken:
        raise UsageError(f"join before with_column: {name!r} has a column {taken.pop()!r} too")
    said = declared.with_columns(
        {here: other.bounds[there] for here, there, _ in join.columns if there in other.bounds},
        {here: other.keys[there] for here, there, _ in join.columns if there in other.keys},
        {here: other.told[there] for here, there, _ in join.columns if there in other.told},
    )
    return made, replace(query, joins=(*query.joins, join)), said


def _join(
    table: OpenedTable, other: OtherTable, how: str, pairs: tuple[tuple[str, str], ...]
) -> tuple[OpenedTable, Join]:
    base, rows = table.source, None
    with base.engine.rehearsal():  # it is looked at, and opened for good once it fits
        opened = other.opened(base)
    for here, there in pairs:
        base.schema.column(here), opened.schema.column(there)
    if other.public:
        sides = [(base.schema[here], opened.schema[there]) for here, there in pairs]
        kinds = [key_kind(*side, other.name) for side in sides]
        with opened:
            rows = read_public(opened, other.name, other.key, kinds)
        added = {name: kind for name, _, kind in rows.columns}
    else:
        ((here, there),) = pairs
        person_pair(base.schema, here, opened.schema, there, base.engine.dialect)
        added = {
            name: column.kind
            for name, column in opened.schema.items()
            if name not in other.key and column.kind not in ("other", "missing")
        }
    names = names_beside(base.schema, other.name, added)
    columns = tuple((names[name], name, kind) for name, kind in added.items())
    if rows is None:
        join = Join(other.name, how, pairs, columns, most=MOST_ROWS)
    else:
        join = Join(other.name, how, pairs, columns, rows.digest)
    made = JoinedTable(table, other, join, rows)
    made.source  # noqa: B018  (refuses now what does not fit)
    return made, join


def _other(table: OpenedTable, own: str | None, name: str) -> OtherTable:
    if own is None:
        raise UsageError(
            "only tables of a data set are joined: declare both in one file, say whom they protect "
            "and which of them is public, and open that: tc.open('visits.toml').join('patients')"
        )
    if name == own:
        raise UsageError(
            f"{name!r} is the table that is asked: joined with itself, rows of several people "
            "would stand in one. Ask about each row, or about each person"
        )
    if name not in table.others:
        raise UsageError(
            f"the data set has no other table {name!r}; {did_you_mean(name, table.others)}"
        )
    return table.others[name]


def _named(other: OtherTable, on: On) -> list[tuple[str, str]]:
    """Return the pairs that are said; a column alone is equal to the key in its place."""
    if isinstance(on, Mapping):
        return [(str(here), str(there)) for here, there in on.items()]
    columns = [on] if isinstance(on, str) else list(on or other.key)
    if len(columns) != len(other.key):
        raise UsageError(
            f"the key of {other.name!r} is {', '.join(other.key)}: say as many columns in on="
        )
    return list(zip(map(str, columns), other.key, strict=True))


def _public_pairs(other: OtherTable, on: On) -> tuple[tuple[str, str], ...]:
    if not other.key:
        raise UsageError(
            f"the public table {other.name!r} has no key: declare the column that names its rows, "
            f"[tables.{other.name}] key = 'site', each value of it once"
        )
    pairs = {there: here for here, there in _named(other, on)}
    if set(pairs) != set(other.key):
        raise UsageError(
            f"{other.name!r} is joined by its key, {', '.join(other.key)}, of which each value "
            "stands once: on another column a row could meet several"
        )
    return tuple((pairs[there], there) for there in other.key)


def _person_pairs(
    other: OtherTable, own: str | None, person: str | None, on: On
) -> tuple[tuple[str, str], ...]:
    if person is None:
        raise UsageError(
            f"{other.name!r} is protected, and each row of {own!r} is a person of its own: tables "
            "of people are joined by the person, unit = { person = 'person_id', rows = 5 }. A "
            "table that everyone may know is joined by its key: public = true"
        )
    by_person = ((person, other.key[0]),)
    if on is not None and tuple(_named(other, on)) != by_person:
        raise UsageError(
            f"{own!r} and {other.name!r} are tables of people, and are joined by the person, "
            f"{person} = {other.key[0]}, alone: every row of the join must belong to one person, "
            "and joined on anything else rows of different people would stand in one"
        )
    return by_person
