"""A join as it is asked for, from public facts alone: by which columns, and what it adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tacit.errors import UsageError, did_you_mean
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Query
from tacit.tables.release.other_table import OtherTable
from tacit.tables.spec.join import HOW, Join, names_beside

__all__ = ["On", "asked_join", "beside", "columns_beside"]

On: TypeAlias = str | Sequence[str] | Mapping[str, str] | None
"""Columns of the rows, or pairs of them with columns of the joined table."""


def asked_join(
    others: Mapping[str, OtherTable], query: Query, name: str, on: On, how: str | None
) -> tuple[OtherTable, str, tuple[tuple[str, str], ...]]:
    """Return the table to join, which rows stay, and the pairs of columns that are equal.

    Args:
        others: the other tables of the data set.
        query: what is asked so far.
        name: of the table to join.
        on: as :meth:`tacit.tables.question.Question.join` takes it.
        how: see there.

    Raises:
        UsageError: no such table, or one that cannot be joined so.
    """
    if query.by or query.aggregates or query.inner is not None:
        raise UsageError("join first: session.join('patients').group_by(...).agg(...)")
    if any(join.table == name and join.public is None for join in query.joins):
        raise UsageError(f"{name!r} is joined already: its columns are there")
    own, person = query.table, query.unit.column
    other = _other(others, own, name)
    if how is not None and how not in HOW:
        raise UsageError(f"how is {' or '.join(map(repr, HOW))}, not {how!r}")
    pairs = _public_pairs(other, on) if other.public else _person_pairs(other, own, person, on)
    return other, how or ("left" if other.public else "inner"), pairs


def columns_beside(
    taken: Iterable[str], table: str, added: Mapping[str, str]
) -> tuple[tuple[str, str, str], ...]:
    """Return of each column that a join adds its name here, its name there, and its kind.

    Args:
        taken: the names of the columns that are there.
        table: the joined table.
        added: the kinds of its columns, by name.

    Raises:
        UsageError: a name that is taken twice.

    >>> columns_beside(["person", "age"], "patients", {"age": "integer"})
    (('patients.age', 'age', 'integer'),)
    """
    names = names_beside(taken, table, added)
    return tuple((names[name], name, kind) for name, kind in added.items())


def beside(
    query: Query, declared: Declared, join: Join, other: OtherTable
) -> tuple[Query, Declared]:
    """Return a question with a join, and what is declared with the columns that it adds.

    Raises:
        UsageError: the question has computed a column of that name.
    """
    taken = {each for each, _ in query.derived} & {here for here, _, _ in join.columns}
    if taken:
        raise UsageError(
            f"join before with_column: {other.name!r} has a column {taken.pop()!r} too"
        )
    said = declared.with_columns(
        {here: other.bounds[there] for here, there, _ in join.columns if there in other.bounds},
        {here: other.keys[there] for here, there, _ in join.columns if there in other.keys},
        {here: other.told[there] for here, there, _ in join.columns if there in other.told},
    )
    return replace(query, joins=(*query.joins, join)), said


def _other(others: Mapping[str, OtherTable], own: str | None, name: str) -> OtherTable:
    if own is None:
        raise UsageError(
            "only tables of a data set are joined: declare both in one file, say whom they protect "
            "and which of them is public, and open that: tc.open('visits.toml').join('patients')"
        )
    if name == own:
        raise UsageError(
            f"{name!r} is the table that is asked: joined with itself, one row would hold rows "
            "of several people. Ask about each row, or about each person"
        )
    if name not in others:
        raise UsageError(f"the data set has no other table {name!r}; {did_you_mean(name, others)}")
    return others[name]


def _named(other: OtherTable, on: On) -> list[tuple[str, str]]:
    """Return the pairs that are said; a column alone is equal to the key in its place."""
    if isinstance(on, Mapping):
        return [(str(here), str(there)) for here, there in on.items()]
    columns = [on] if isinstance(on, str) else list(on or other.key)
    if len(columns) != len(other.key):
        raise UsageError(
            f"the key of {other.name!r} is {', '.join(other.key)}: give as many columns in on="
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
            "occurs once: on another column a row could match several"
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
            "and joined on anything else one row would hold rows of different people"
        )
    return by_person
