"""The relation of a join, in which every row still belongs to one person.

Let T be the table that is asked, with the person ``p(r)`` of each row r.

*By the person.*  Let S be another protected table, with the person ``q(s)`` of each row s, whose
values are those of p: r and s meet if ``p(r) = q(s)``, and the joined row has r's person.

*Theorem.*  Removing a person x from all tables removes the rows of x from the join, and changes no
other row.  *Proof.*  A joined row (r, s) has ``p(r) = q(s)``: it is made of rows of one person,
and is in the join if and only if both are in their tables.  So the rows of the join whose person
is x are those made of x's rows of T and S, and the rows of every other person are made of that
person's own.  An outer row (r, nothing) is there if and only if no row of S has the person
``p(r)``: a function of that person's rows again.  A missing person equals nobody: its rows meet
nothing, and the unit leaves them out.

*Persons with very many rows in S.*  Of S only the rows of people with at most ``most`` of them are
joined; others have no match.  That leaves the theorem as it is, for whether q has so many rows is a
function of q's own.  Without it one person with a million rows in both tables would make a million
times as many in the join, and whether a release ends would reveal that there is such a person.
With it the join has at most ``most`` rows for each row of T, whatever people are in the tables.

So one person added or removed adds or removes one person's rows of the join (``d -> d``), and the
limits, which are put on the joined rows, hold as they do for one table.  Many rows of one person on
both sides are allowed for the same reason.  On any other column the theorem fails: two people with
a visit on one day would have a row together, and each would change the other's.

*What equality is.*  Two values are one person in the join if and only if they are one person for
the unit (:meth:`tacit.tables.spec.privacy_unit.PersonUnit.person`): texts by their characters,
whatever the collation, floats with one zero and no NaN.  Columns of different kinds are refused.
A column of a CSV file that nobody declared is text: beside whole numbers these are written out, and
that is one to one.

*By a public key.*  Let U be a public table whose key k is unique (checked on its rows, which
everyone may know), and c columns of T.  A row r becomes r beside the row u of U with ``k(u) =
c(r)``, of which there is at most one, or beside missing values (or goes, where ``how`` is inner).
*Theorem.*  That is a function of r and of public values alone, and makes at most one row of one:
the map is ``d -> d``, as that of a derived column and a filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.expression import Expression, col
from tacit.expressions.schema import Column, Schema
from tacit.expressions.undeclared_columns import read_as
from tacit.tables.open_source import Source
from tacit.tables.query.keys_sql import key_part_sql
from tacit.tables.spec.join import Join
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["Beside", "joined", "key_kind", "key_sql", "of_people", "person_pair"]

_ALIKE = ("decimal", "date")
"""Kinds of which two columns hold the same people only if their types are the same."""


class Beside:
    """A relation to be joined: its keys in ``tacit_k0``, ..., its columns in ``tacit_c0``, ...

    Attributes:
        sql: a query of it.
        columns: its columns, as the engine has them.
        keys: SQL of what is equal to each key, of the rows that are asked.
    """

    def __init__(self, sql: str, columns: Sequence[Column], keys: Sequence[str]) -> None:
        self.sql, self.columns, self.keys = sql, tuple(columns), tuple(keys)


def joined(source: Source, join: Join, beside: Beside) -> Source:
    """Return the rows of a source with the columns of another relation beside them.

    One query, in which each of the two is read once.
    """
    d = source.engine.dialect
    usable = {name: c for name, c in source.schema.items() if c.kind != "other" or c.reads}
    shown = [f"{d.column(name)} as {d.identifier(name)}" for name in usable]
    names = [here for here, _, _ in join.columns]
    shown += [f"tacit_other.tacit_c{i} as {d.identifier(n)}" for i, n in enumerate(names)]
    on = " and ".join(f"{key} = tacit_other.tacit_k{i}" for i, key in enumerate(beside.keys))
    relation = (
        f"(select {', '.join(shown)} from {source.relation} as tacit_rows "
        f"{join.how} join ({beside.sql}) as tacit_other on {on})"
    )
    added = [replace(c, name=n) for c, n in zip(beside.columns, names, strict=True)]
    return Source(source.name, Schema([*source.schema.values(), *added]), source.engine, relation)


def of_people(source: Source, other: Source, join: Join) -> Beside:
    """Return a protected table to be joined by the person, with what is equal to its people.

    Raises:
        UsageError: the two columns do not hold the same people.
    """
    ((here, there),) = join.on
    d = source.engine.dialect
    person, theirs = person_pair(source.schema, here, other.schema, there, d)
    taken = [other.schema.column(name) for _, name, _ in join.columns]
    shown = [f"{theirs} as tacit_k0"]
    shown += [f"{d.column(c.name)} as tacit_c{i}" for i, c in enumerate(taken)]
    sql = f"select {', '.join(shown)} from {other.relation} as tacit_rows"
    labels = ["tacit_k0", *(f"tacit_c{i}" for i in range(len(taken)))]
    return Beside(_few_rows(sql, ", ".join(labels), join.most, d), taken, [person])


def _few_rows(sql: str, labels: str, most: int | None, d: Dialect) -> str:
    """Return the rows of people ``tacit_k0`` with at most so many, of rows that are read once."""
    if most is None:
        return sql
    if d.one_scan:
        known = f"select * from ({sql}) as tacit_read where tacit_k0 is not null"
        counted = f"select *, count(*) over (partition by tacit_k0) as tacit_n from ({known}) as k"
        return f"select {labels} from ({counted}) as tacit_counted where tacit_n <= {most}"
    many = (
        "select tacit_k0 as tacit_v from tacit_read where tacit_k0 is not null "
        f"group by tacit_k0 having count(*) > {most}"
    )
    return (
        f"with tacit_read as materialized ({sql}), tacit_many as ({many}) "
        f"select {labels} from tacit_read left join tacit_many on tacit_k0 = tacit_v "
        "where tacit_v is null"
    )


def person_pair(
    here: Schema, column: str, there: Schema, other: str, dialect: Dialect
) -> tuple[str, str]:
    """Return the SQL of the people of two columns, equal if and only if they are one person.

    Raises:
        UsageError: columns whose kinds differ, which hold no people in common.
    """
    sides = here.column(column), there.column(other)
    people = [
        str(PersonUnit(name, rows=1).person(schema, dialect))
        for schema, name in ((here, column), (there, other))
    ]
    kinds = [side.kind for side in sides]
    if sorted(kinds) == ["integer", "undeclared"]:
        written = [
            dialect.cast(sql, "text") if kind == "integer" else sql
            for sql, kind in zip(people, kinds, strict=True)
        ]
        return written[0], written[1]
    if not _same_people(*sides):
        raise UsageError(
            f"the person is {_said(sides[0])} in {column!r} and {_said(sides[1])} in {other!r}: "
            "people are the same in two tables only where the columns are of one kind. Declare "
            f"it, such as {other} = {{ kind = 'integer' }}, or convert one of them"
        )
    return people[0], people[1]


def _same_people(one: Column, other: Column) -> bool:
    uuids = [c.declared.upper() == "UUID" for c in (one, other)]
    kinds = {"text" if c.kind == "undeclared" else c.kind for c in (one, other)}
    alike = one.declared == other.declared or not kinds & set(_ALIKE)
    return len(kinds) == 1 and kinds != {"missing"} and uuids[0] == uuids[1] and alike


def _said(column: Column) -> str:
    kind = "text of no declared kind" if column.kind == "undeclared" else column.kind
    exact = column.kind in _ALIKE or column.declared.upper() == "UUID"
    return f"{kind} ({column.declared})" if exact else kind


def key_kind(here: Column, key: Column, table: str) -> str:
    """Return the kind by which a column and a public key are compared.

    Raises:
        UsageError: kinds that are no keys, or differ.
    """
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
