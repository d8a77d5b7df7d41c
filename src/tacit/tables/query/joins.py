"""Joins with tables of people and with public tables, in SQL."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.expression import Expression, col
from tacit.expressions.operations import key_part_sql, read_as
from tacit.expressions.schema import KINDS, Column, Schema, uuid_text
from tacit.tables.engines.base import Engine
from tacit.tables.open_source import Source
from tacit.tables.privacy_unit import (
    Person,
    is_text,
    part_sql,
    part_text,
    person_columns,
    whole_sql,
)
from tacit.tables.reading import DEFAULT_READING, Reading

# A join of a question's rows with another table of the same data set, from public facts alone.
#
# A public table is joined by its key, a protected one by the person, and nothing else is: see
# :mod:`tacit.tables.query.joins` for the proof that every row still belongs to one person.


HOW = ("left", "inner")  # whether rows without a match stay, with missing values, or go
# The most rows of a person in a protected table that is joined: who has more has no match there,
# so that the rows of a join are at most this many times those of the table that is asked.
MOST_ROWS = 1000


@dataclass(frozen=True)
class Join:
    """Another table whose columns are next to those of the rows that are asked.

    >>> sites = Join("sites", "left", (("site", "site"),), (("region", "region", "text"),), "ab12")
    >>> sites == Join.read(sites.describe())
    True
    """

    table: str  # its name in the data set
    how: str  # ``"left"`` or ``"inner"``, one of :data:`HOW`
    # pairs of a column of the rows and the column of the table that is equal to it
    on: tuple[tuple[str, str], ...]
    # of each column that is added its name here, its name there, and its kind
    columns: tuple[tuple[str, str, str], ...]
    public: str | None = None  # a digest of a public table's rows; None for a protected table
    # of a protected table, how many rows of a person are joined; who has more has no match
    most: int | None = None
    # how a protected table is read, where that is not the default
    reading: Reading = DEFAULT_READING

    def describe(self) -> dict[str, Any]:
        """Return the join as plain JSON values."""
        keys = (there for _, there in self.on)
        reading = self.reading.describe((there for _, there, _ in self.columns), keys)
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
        """Return the join that :meth:`describe` described."""
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
        """Return the columns of the rows with those that the join adds."""
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
    person: Person | None,
    tables: Sequence[tuple[str, Person | None]],
) -> tuple[Join, ...]:
    """Return joins as :meth:`Join.describe` described them, each one that a session allows."""
    joins = tuple(map(Join.read, described))
    people = dict(tables)
    names = [table, *(join.table for join in joins if join.public is None)]
    if joins and (table is None or len(set(names)) < len(names)):
        raise UsageError("a join is of a declared data set, with its tables of people once each")
    for join in joins:
        if join.public is not None and join.table in people:
            raise UsageError(f"{join.table!r} is joined as a public table, and is protected")
        if join.public is None and (
            person is None or join.on != by_person(person, people[join.table])
        ):
            raise UsageError(f"{join.table!r} is protected, and is not joined by the person")
    return joins


def by_person(person: Person, other: Person | None) -> tuple[tuple[str, str], ...] | None:
    """Return the pairs of columns by which tables of people are joined; None if there are none."""
    here, there = person_columns(person), person_columns(other)
    return tuple(zip(here, there, strict=True)) if len(here) == len(there) else None


def names_after_join(taken: Iterable[str], table: str, added: Iterable[str]) -> dict[str, str]:
    """Return what columns of a joined table are called: ``table.column`` where a name is taken.

    >>> names_after_join(["person", "age"], "patients", ["Age", "sex"])
    {'Age': 'patients.Age', 'sex': 'sex'}
    """
    used = {name.casefold() for name in taken}
    names = {}
    for name in added:
        names[name] = name if name.casefold() not in used else f"{table}.{name}"
        if names[name].casefold() in used:
            raise UsageError(
                f"{names[name]!r} names two columns of the join: rename one of them in its table"
            )
        used.add(names[name].casefold())
    return names


# The relation of a join, in which every row still belongs to one person.
#
# Let T be the table that is asked, with the person ``p(r)`` of each row r.
#
# *By the person.*  Let S be another protected table, with the person ``q(s)`` of each row s, whose
# values are those of p: r and s meet if ``p(r) = q(s)``, and the joined row has r's person.
#
# *Theorem.*  Removing a person x from all tables removes the rows of x from the join, and changes
# no other row.  *Proof.*  A joined row (r, s) has ``p(r) = q(s)``: it is made of rows of one
# person, and is in the join if and only if both are in their tables.  So the rows of the join whose
# person is x are those made of x's rows of T and S, and the rows of every other person are made of
# that person's own.  An outer row (r, nothing) is there if and only if no row of S has the person
# ``p(r)``: a function of that person's rows again.  A missing person equals no one: its rows meet
# nothing, and the unit leaves them out.
#
# *Persons with very many rows in S.*  Of S only the rows of people with at most ``most`` of them
# are joined; others have no match.  That leaves the theorem as it is, for whether q has this many
# rows is a function of q's own.  Without it one person with a million rows in both tables would
# make a million times as many in the join, and whether a release ends would reveal that there is
# such a person. With it the join has at most ``most`` rows for each row of T, whatever people are
# in the tables.
#
# So one person added or removed adds or removes one person's rows of the join (``d -> d``), and the
# limits, which are put on the joined rows, hold as they do for one table.  Many rows of one person
# on both sides are allowed for the same reason.  On any other column the theorem fails: two people
# with a visit on one day would have a row together, and each would change the other's.
#
# *What equality is.*  Two values are one person in the join if and only if they are one person for
# the unit (:meth:`tacit.tables.privacy_unit.PersonUnit.person`): texts by their characters,
# whatever the collation, floats with one zero and no NaN.  Columns of different kinds are refused.
# A column of a CSV file that no one declared is text: next to integers these are written out,
# and that is one to one.
#
# *By a public key.*  Let U be a public table whose key k is unique (checked on its rows, which
# everyone may know), and c columns of T.  A row r becomes r next to the row u of U with ``k(u) =
# c(r)``, of which there is at most one, or beside missing values (or goes, where ``how`` is inner).
# *Theorem.*  That is a function of r and of public values alone, and makes at most one row of one:
# the map is ``d -> d``, as that of a derived column and a filter.


# Kinds of which two columns hold the same people only if their types are the same.
_ALIKE = ("decimal", "date")


class JoinableTable:
    """A relation to be joined: its keys in ``tacit_k0``, ..., its columns in ``tacit_c0``, ..."""

    # keys: SQL of what is equal to each key, of the rows that are asked.

    def __init__(self, sql: str, columns: Sequence[Column], keys: Sequence[str]) -> None:
        self.sql, self.columns, self.keys = sql, tuple(columns), tuple(keys)


def joined(source: Source, join: Join, other: JoinableTable) -> Source:
    """Return the rows of a source with the columns of another relation next to them."""
    # One query, in which each of the two is read once.
    d = source.engine.dialect
    usable = {name: c for name, c in source.schema.items() if c.kind != "other" or c.reads}
    shown = [f"{d.column(name)} as {d.identifier(name)}" for name in usable]
    names = [here for here, _, _ in join.columns]
    shown += [f"tacit_other.tacit_c{i} as {d.identifier(n)}" for i, n in enumerate(names)]
    on = " and ".join(f"{key} = tacit_other.tacit_k{i}" for i, key in enumerate(other.keys))
    relation = (
        f"(select {', '.join(shown)} from {source.relation} as tacit_rows "
        f"{join.how} join ({other.sql}) as tacit_other on {on})"
    )
    added = [replace(c, name=n) for c, n in zip(other.columns, names, strict=True)]
    return Source(source.name, Schema([*source.schema.values(), *added]), source.engine, relation)


def of_people(source: Source, other: Source, join: Join) -> JoinableTable:
    """Return a protected table to be joined by the person, with what is equal to its people."""
    d = source.engine.dialect
    person, theirs = person_pair(source.schema, other.schema, join.on, d)
    taken = [other.schema.column(name) for _, name, _ in join.columns]
    shown = [f"{theirs} as tacit_k0"]
    shown += [f"{d.column(c.name)} as tacit_c{i}" for i, c in enumerate(taken)]
    sql = f"select {', '.join(shown)} from {other.relation} as tacit_rows"
    labels = ["tacit_k0", *(f"tacit_c{i}" for i in range(len(taken)))]
    return JoinableTable(_few_rows(sql, ", ".join(labels), join.most, d), taken, [person])


def _few_rows(sql: str, labels: str, limit: int | None, d: Dialect) -> str:
    """Return the rows of people ``tacit_k0`` with at most this many, of rows that are read once."""
    if limit is None:
        return sql
    if d.one_scan:
        known = f"select * from ({sql}) as tacit_read where tacit_k0 is not null"
        counted = f"select *, count(*) over (partition by tacit_k0) as tacit_n from ({known}) as k"
        return f"select {labels} from ({counted}) as tacit_counted where tacit_n <= {limit}"
    many = (
        "select tacit_k0 as tacit_v from tacit_read where tacit_k0 is not null "
        f"group by tacit_k0 having count(*) > {limit}"
    )
    return (
        f"with tacit_read as materialized ({sql}), tacit_many as ({many}) "
        f"select {labels} from tacit_read left join tacit_many on tacit_k0 = tacit_v "
        "where tacit_v is null"
    )


def person_pair(
    here: Schema, there: Schema, on: Sequence[tuple[str, str]], dialect: Dialect
) -> tuple[str, str]:
    """Return the SQL of the people of two tables, equal if and only if they are one person."""
    pairs = [_part_pair(here, column, there, other, dialect) for column, other in on]
    if len(pairs) == 1:
        return pairs[0]
    whole = []
    for side in (0, 1):
        parts = []
        for names, pair in zip(on, pairs, strict=True):
            columns = here.column(names[0]), there.column(names[1])
            # an integer next to a text is written out above, and is text on both sides
            text = any(map(is_text, columns))
            own = replace(columns[side], kind="text", declared="") if text else columns[side]
            parts.append(part_text(own, pair[side], dialect))
        whole.append(whole_sql(parts, dialect))
    return whole[0], whole[1]


def _part_pair(
    here: Schema, column: str, there: Schema, other: str, dialect: Dialect
) -> tuple[str, str]:
    sides = here.column(column), there.column(other)
    people = [part_sql(schema, name, dialect) for schema, name in ((here, column), (there, other))]
    kinds = [side.kind for side in sides]
    if sorted(kinds) == ["integer", "undeclared"]:
        written = [
            dialect.cast(sql, "text") if kind == "integer" else sql
            for sql, kind in zip(people, kinds, strict=True)
        ]
        return written[0], written[1]
    if not _same_people(*sides):
        raise UsageError(
            f"the person is {_kind_words(sides[0])} in {column!r} and {_kind_words(sides[1])} "
            f"in {other!r}: people are the same in two tables only where the columns are of one "
            f"kind. Declare it, such as {other} = {{ kind = 'integer' }}, or convert one of them"
        )
    return people[0], people[1]


def _same_people(one: Column, other: Column) -> bool:
    uuids = [c.declared.upper() == "UUID" for c in (one, other)]
    kinds = {"text" if c.kind == "undeclared" else c.kind for c in (one, other)}
    alike = one.declared == other.declared or not kinds & set(_ALIKE)
    return len(kinds) == 1 and kinds != {"missing"} and uuids[0] == uuids[1] and alike


def _kind_words(column: Column) -> str:
    kind = "text of no declared kind" if column.kind == "undeclared" else column.kind
    exact = column.kind in _ALIKE or column.declared.upper() == "UUID"
    return f"{kind} ({column.declared})" if exact else kind


def key_kind(here: Column, key: Column, table: str) -> str:
    """Return the kind by which a column and a public key are compared."""
    known = [c.kind for c in (here, key) if c.kind != "undeclared"] or ["text"]
    if set(known) - {"integer", "text", "boolean", "date"} or len(set(known)) > 1:
        raise UsageError(
            f"{here.name!r} holds {here.kind} values and the key {key.name!r} of {table!r} "
            f"{key.kind} ones: a key is whole numbers, text, dates or true and false, of one kind "
            "on both sides"
        )
    return known[0]


_READINGS = {
    "integer": "read_integer",
    "text": "read_text",
    "boolean": "read_boolean",
    "date": "read_date",
}


def key_sql(name: str, kind: str, schema: Schema, dialect: Dialect) -> str:
    """Return the SQL of a column as a key of a kind; what is no such key is missing."""
    part: Expression = read_as(col(name), _READINGS[kind], schema)
    return key_part_sql(part, kind, schema, dialect)


# The rows of a public table, brought out of their engine and into that of a protected one.
#
# Everyone may know them, so they are read freely, and before anything is charged.  What is read is
# kept: its digest is part of the question, and these very rows are joined, whatever becomes of the
# table meanwhile.


# Rows of a public table: all of them pass through this process, and into the engine as text.
_MAX_PUBLIC_ROWS = 1_000_000
_TYPES = {"text": "text", "undeclared": "text", "boolean": "boolean", "date": "date"}
_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"


@dataclass(frozen=True)
class PublicRows:
    """Rows of a public table as text, each with a key of its own."""

    keys: tuple[str, ...]  # the kind of each part of the key
    # the other columns, by name: how each is cast, and its kind
    columns: tuple[tuple[str, str, str], ...]
    # of each row the parts of its key and its values; None for what is missing
    rows: tuple[tuple[str | None, ...], ...]

    @cached_property
    def digest(self) -> str:
        """A digest of all that the rows say, in whatever order and engine they are."""
        hasher = hashlib.sha256(b"tacit public table 1\0")
        for line in ([list(self.keys), *map(list, self.columns)], *sorted(self.rows, key=repr)):
            hasher.update(json.dumps(line, ensure_ascii=True).encode() + b"\n")
        return hasher.hexdigest()

    def import_into(self, names: Sequence[str], here: Schema, engine: Engine) -> JoinableTable:
        """Put the rows into an engine, to be joined there."""
        d, parts = engine.dialect, len(self.keys)
        casts = [*(_key_type(k, i, self.rows) for i, k in enumerate(self.keys))]
        casts += [kind for _, kind, _ in self.columns]
        labels = [f"tacit_k{i}" for i in range(parts)]
        labels += [f"tacit_c{i}" for i in range(len(self.columns))]
        shown = [
            f"{d.cast(f'c{i}', kind)} as {label}"
            for i, (kind, label) in enumerate(zip(casts, labels, strict=True))
        ]
        texts = [[row[i] for row in self.rows] for i in range(len(casts))]
        _refuse_nul(texts, d)
        with engine.dry_run():  # nothing of a protected table is brought in for it
            raw = engine.store_text(texts)
            try:
                table = engine.materialise(f"select {', '.join(shown)} from {raw}")
            finally:
                engine.drop(raw)
        known = [key_sql(n, k, here, d) for n, k in zip(names, self.keys, strict=True)]
        columns = [
            Column(name, kind, getattr(d, cast).upper()) for name, cast, kind in self.columns
        ]
        return JoinableTable(f"select {', '.join(labels)} from {table}", columns, known)


def read_public(
    source: Source,
    name: str,
    key: Sequence[str],
    kinds: Sequence[str],
    uuids: Container[str] = (),
) -> PublicRows:
    """Read a public table; of the columns of its key some are joined with columns of UUIDs."""
    schema, d = source.schema, source.engine.dialect
    others = [c for n, c in schema.items() if n not in key and c.kind not in ("other", "missing")]
    chosen = [key_sql(n, k, schema, d) for n, k in zip(key, kinds, strict=True)]
    chosen += [_value_sql(c, schema, d) for c in others]
    shown = ", ".join(f"{sql} as c{i}" for i, sql in enumerate(chosen))
    rows = source.engine.rows(
        f"select {shown} from {source.relation} as tacit_rows limit {_MAX_PUBLIC_ROWS + 1}"
    )
    if len(rows) > _MAX_PUBLIC_ROWS:
        raise UsageError(
            f"the public table {name!r} has more than {_MAX_PUBLIC_ROWS:,} rows: join fewer"
        )
    parts = len(key)
    for index in (i for i, column in enumerate(key) if column in uuids):
        rows = [(*r[:index], r[index] and uuid_text(r[index]), *r[index + 1 :]) for r in rows]
    named = [row for row in rows if None not in row[:parts]]
    if len({row[:parts] for row in named}) < len(named):
        raise UsageError(
            f"two rows of the public table {name!r} have the same {', '.join(key)}, and a key "
            "identifies one row: remove the one that does not belong there, or declare the "
            "columns that are unique together, key = [...]"
        )
    columns = tuple(_carried(c, [row[parts + i] for row in named]) for i, c in enumerate(others))
    return PublicRows(tuple(kinds), columns, tuple(tuple(map(_text, row)) for row in named))


def _value_sql(column: Column, schema: Schema, d: Dialect) -> str:
    """Return the SQL of a value as this process reads it."""
    if column.kind == "date" and not column.declared.upper().startswith("DATE"):
        time = d.cast(d.time(column.value(d.column(column.name)), column.declared), "timestamp")
        ends = " and ".join(f"cast('{end}' as {d.timestamp})" for end in (_FIRST, _LAST))
        return d.cast(f"(case when {time} between {ends} then {time} end)", "text")
    if column.kind == "undeclared":
        # numbers with signs of their own become those that every column has
        text = column.number_text(col(column.name).sql(schema, d))
        return d.name_of(d.unicode.format(x=text))
    return key_part_sql(col(column.name), column.kind, schema, d)


def _carried(column: Column, values: Iterable[Any]) -> tuple[str, str, str]:
    """Return the name of a column, how its text is cast, and its kind."""
    if column.kind == "date" and not column.declared.upper().startswith("DATE"):
        return column.name, "timestamp", "date"
    if column.kind in ("float", "decimal"):
        return column.name, "double", "float"
    if column.kind == "integer":
        return column.name, _integer(values), "integer"
    return column.name, _TYPES[column.kind], column.kind


def _integer(values: Iterable[Any]) -> str:
    return "wide" if any(v is not None and abs(v) >= 1 << 63 for v in values) else "integer"


def _key_type(kind: str, index: int, rows: Iterable[Sequence[Any]]) -> str:
    if kind == "integer":
        return _integer(None if row[index] is None else int(row[index]) for row in rows)
    return _TYPES[kind]


def _text(value: Any) -> str | None:
    """Return a value as text that a cast reads back, one text for one value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return repr(value + 0.0) if math.isfinite(value) else "-Infinity"[value > 0 :]
    return str(value)


def _refuse_nul(texts: Iterable[Iterable[str | None]], d: Dialect) -> None:
    if not d.nul and any(text is not None and "\0" in text for column in texts for text in column):
        raise UsageError(
            f"text in {d.name} cannot hold the character NUL: remove it from the table"
        )
