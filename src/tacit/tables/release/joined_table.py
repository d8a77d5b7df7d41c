"""A table with the columns of another one beside it, opened where the table is.

A public table is read when it is joined, which costs nothing; what was read then is joined by every
question of this table.  A protected one is read by the questions alone, in the statement that reads
the table (:mod:`tacit.tables.query.join_sql`).
"""

from __future__ import annotations

import threading

from tacit.errors import UsageError
from tacit.tables.open_source import Source
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Query
from tacit.tables.query.join_sql import joined, key_kind, of_people, person_pair
from tacit.tables.query.public_rows import PublicRows, read_public
from tacit.tables.release.asked_join import On, asked_join, beside, columns_beside
from tacit.tables.release.charge import KeptPlans
from tacit.tables.release.collector import Collector
from tacit.tables.release.opened_table import OpenedTable, changed_columns
from tacit.tables.release.other_table import OtherTable
from tacit.tables.release.rehearsal import Rehearsed
from tacit.tables.spec.join import MOST_ROWS, Join

__all__ = ["JoinedTable", "join_table"]


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
        self.others, self.joined = base.others, {}
        self.plans, self.rehearsed = KeptPlans(), Rehearsed()
        self.named, self.called = base.named, base.called

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
        kinds = {name: column.kind for name, column in other.schema.items()}
        if any(kinds.get(there) != kind for _, there, kind in join.columns):
            known = [there for _, there, _ in join.columns]
            changed = changed_columns(known, [name for name in known if name in kinds])
            raise UsageError(
                f"{join.table!r} has other columns or kinds than before{changed}: open the data "
                "set again"
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
    other, how, pairs = asked_join(table.others, query, name, on, how)
    known = (name, how, pairs)
    if known not in table.joined:
        table.joined[known] = _join(table, other, how, pairs)
    made, join = table.joined[known]
    return table.beside(made), *beside(query, declared, join, other)


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
    columns = columns_beside(base.schema, other.name, added)
    if rows is None:
        reading = opened.reading
        join = Join(other.name, how, pairs, columns, most=MOST_ROWS, reading=reading)
    else:
        join = Join(other.name, how, pairs, columns, rows.digest)
    made = JoinedTable(table, other, join, rows)
    made.source  # noqa: B018  (refuses now what does not fit)
    return made, join
