"""A join of a question's rows with another table of the same data set, from public facts alone.

A public table is joined by its key, a protected one by the person, and nothing else is: see
:mod:`tacit.tables.query.join_sql` for the proof that every row still belongs to one person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.schema import KINDS, Column, Schema
from tacit.tables.reading import DEFAULT_READING, Reading

__all__ = ["HOW", "MOST_ROWS", "Join", "joins_from", "names_beside"]

HOW = ("left", "inner")
"""Whether rows without a match stay, with missing values, or go."""
MOST_ROWS = 1000
"""The most rows of a person in a protected table that is joined: who has more has no match there,
so that the rows of a join are at most so many times those of the table that is asked."""


@dataclass(frozen=True)
class Join:
    """Another table whose columns stand beside those of the rows that are asked.

    Attributes:
        table: its name in the data set.
        how: ``"left"`` or ``"inner"``, one of :data:`HOW`.
        on: pairs of a column of the rows and the column of the table that is equal to it.
        columns: of each column that is added its name here, its name there, and its kind.
        public: a digest of a public table's rows; None for a protected table.
        most: of a protected table, how many rows of a person are joined; who has more has no match.
        reading: how a protected table is read, where that is not the default.

    >>> sites = Join("sites", "left", (("site", "site"),), (("region", "region", "text"),), "ab12")
    >>> sites == Join.read(sites.describe())
    True
    """

    table: str
    how: str
    on: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str, str], ...]
    public: str | None = None
    most: int | None = None
    reading: Reading = DEFAULT_READING

    def describe(self) -> dict[str, Any]:
        """Return the join as plain JSON values."""
        reading = self.reading.describe(there for _, there, _ in self.columns)
        return {**self.added(), **({"reading": reading} if reading else {})}

    def added(self) -> dict[str, Any]:
        """Return what the join does to the rows, however the other table is read."""
        return {
            "table": self.table,
            "how": self.how,
            "on": [list(pair) for pair in self.on],
            "columns": [list(column) for column in self.columns],
            "public": self.public,
            "most": self.most,
        }

    @classmethod
    def read(cls, described: Mapping[str, Any]) -> Join:
        """Return the join that :meth:`describe` described.

        Raises:
            UsageError: it is none.
        """
        on = tuple((str(here), str(there)) for here, there in described["on"])
        columns = tuple((str(h), str(t), str(kind)) for h, t, kind in described["columns"])
        public, most = described["public"], described["most"]
        if described["how"] not in HOW or not on or any(c[2] not in KINDS for c in columns):
            raise UsageError(f"a join is {' or '.join(HOW)}, on columns, and adds columns")
        if public is not None and not isinstance(public, str):
            raise UsageError("a public table is known by a digest of its rows")
        if most != (MOST_ROWS if public is None else None):
            raise UsageError(f"of each person at most {MOST_ROWS} rows of a table are joined")
        reading = Reading.read(described["reading"]) if "reading" in described else DEFAULT_READING
        return cls(str(described["table"]), described["how"], on, columns, public, most, reading)

    def after(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Return the columns of the rows with those that the join adds.

        Raises:
            UsageError: a column that the rows do not have, or have already.
        """
        known = Schema(list(columns.values()))
        for here, _ in self.on:
            known.column(here)
        added = {here: Column(here, kind, kind) for here, _, kind in self.columns}
        if len({**columns, **added}) < len(columns) + len(self.columns):
            raise UsageError(f"the join with {self.table!r} adds a column that is there already")
        return {**columns, **added}


def joins_from(
    described: Iterable[Mapping[str, Any]],
    table: str | None,
    person: str | None,
    tables: Sequence[tuple[str, str | None]],
) -> tuple[Join, ...]:
    """Return joins as :meth:`Join.describe` described them, each one that a session allows.

    Args:
        described: the joins, in their order.
        table: the table that is asked.
        person: its person column.
        tables: the protected tables of the data set, each with its person column.

    Raises:
        UsageError: a join that is not by the person, or not of the data set.
    """
    found = tuple(map(Join.read, described))
    people = dict(tables)
    names = [table, *(join.table for join in found if join.public is None)]
    if found and (table is None or len(set(names)) < len(names)):
        raise UsageError("a join is of a declared data set, with its tables of people once each")
    for join in found:
        if join.public is not None and join.table in people:
            raise UsageError(f"{join.table!r} is joined as a public table, and is protected")
        if join.public is None and (person is None or join.on != ((person, people[join.table]),)):
            raise UsageError(f"{join.table!r} is protected, and is not joined by the person")
    return found


def names_beside(taken: Iterable[str], table: str, added: Iterable[str]) -> dict[str, str]:
    """Return what columns of a joined table are called: ``table.column`` where a name is taken.

    Raises:
        UsageError: that is taken too.

    >>> names_beside(["person", "age"], "patients", ["Age", "sex"])
    {'Age': 'patients.Age', 'sex': 'sex'}
    """
    used = {name.casefold() for name in taken}
    found = {}
    for name in added:
        found[name] = name if name.casefold() not in used else f"{table}.{name}"
        if found[name].casefold() in used:
            raise UsageError(
                f"{found[name]!r} names two columns of the join: rename one of them in its table"
            )
        used.add(found[name].casefold())
    return found
