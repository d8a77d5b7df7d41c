"""A question about people rather than rows: one row a person is made first, of all of their rows.

What can be made of a person's rows is a count, of rows or of different values, a sum, a mean, a
least and a greatest value: each is the same on every engine, for any rows, in whole numbers
(:mod:`tacit.tables.query.people_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.schema import Column, Schema
from tacit.tables.answers.aggregate import Aggregate
from tacit.tables.answers.count_distinct import count_distinct
from tacit.tables.plan.declared import Declared
from tacit.tables.plan.query import Query
from tacit.tables.query.people_table import PersonValue, Statistic, person_column, units_of
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["asked_per_person", "check_people", "people_schema", "person_values"]

_DIFFERENT = count_distinct("column").kind
_STATISTICS = ("count", _DIFFERENT, "sum", "mean", "min", "max")
_WHOLE = ("integer", "boolean")
_NUMBERS = (*_WHOLE, "float", "decimal", "undeclared", "missing")
_DECLARED = {"integer": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "date": "DATE"}
_DISTINCT = (*_NUMBERS, "text", "date")
"""Kinds whose values can be distinguished."""
_ORDERED = ("text", "date")
"""Kinds that have a least and a greatest value without bounds."""


def asked_per_person(
    query: Query, declared: Declared, asked: Sequence[tuple[str, Aggregate]]
) -> tuple[Query, Declared]:
    """Return the question about people, and what is declared of the columns that it has.

    Args:
        query: of which rows the people are made.
        declared: what is declared of the table.
        asked: the columns beside the person, by label.

    Raises:
        UsageError: a question that has groups or answers already, no person, or a statistic that
            is not made of a person's rows.
    """
    if query.by or query.aggregates:
        raise UsageError(
            "one row a person is made before anything is grouped or asked: "
            "session.filter(...).per_person(...).group_by(...).agg(...)"
        )
    bounded = [(label, _bounded(a, query, declared)) for label, a in asked]
    inner = replace(query, aggregates=tuple(bounded), table=None, tables=())
    people = Query(
        people_schema(inner), _unit_of_people(inner), table=query.table, tables=query.tables
    )
    known = {
        label: (a.lower, a.upper)
        for label, a in bounded
        if a.lower is not None and a.upper is not None
    }
    return replace(people, inner=inner), replace(declared, bounds=known, keys={})


def _bounded(asked: Aggregate, query: Query, declared: Declared) -> Aggregate:
    """Return a statistic with the bounds that are declared, where it needs some and names none.

    Those of a total are the bounds of one row times the most rows of a person that the unit allows.
    """
    if asked.column is None or query.columns.column(asked.column).kind in _ORDERED:
        return asked
    found = declared.bounded(asked, query.derived)
    if found is asked or asked.kind != "sum" or found.lower is None or found.upper is None:
        return found
    low, high = found.lower, found.upper
    return replace(
        found, lower=min(low, low * query.unit.rows), upper=max(high, high * query.unit.rows)
    )


def _unit_of_people(inner: Query) -> PersonUnit:
    """Return the unit of the table of people: the same person, who has one row.

    Raises:
        UsageError: each row is a person of its own.
    """
    if not isinstance(inner.unit, PersonUnit):
        raise UsageError(
            "each row is another person here, so there is one row a person already: ask it as it "
            "is, or open the session with unit=tc.unit('person', rows=...)"
        )
    return PersonUnit(inner.unit.column, 1, 1)


def people_schema(inner: Query) -> Schema:
    """Return the columns of the table of people: the person, and what is made of their rows.

    Raises:
        UsageError: as :func:`asked_per_person`.
    """
    person = _unit_of_people(inner).column
    if inner.inner is not None:
        raise UsageError("this table has one row a person already")
    if inner.by or inner.table is not None or inner.tables or inner.weights:
        raise UsageError("one row a person is made of rows without groups")
    values = person_values(inner)
    names = [person, *(value.name for value in values)]
    if not values or len({name.casefold() for name in names}) < len(names):
        raise UsageError(
            "name each value that is made of a person's rows, with names that differ from each "
            f"other and from {person!r} in more than capital letters: per_person(n=tc.count())"
        )
    columns = [Column(v.name, v.kind, _DECLARED.get(v.kind, v.kind)) for v in values]
    return Schema([person_column(inner.schema.column(person)), *columns])


def person_values(inner: Query) -> list[PersonValue]:
    """Return what is made of a person's rows.

    Raises:
        UsageError: a statistic that is not made of them, a column that does not fit it, or bounds
            that are missing or too far.
    """
    return [_value(label, asked, inner.columns) for label, asked in inner.aggregates]


def _value(label: str, asked: Aggregate, columns: Schema) -> PersonValue:
    if asked.kind not in _STATISTICS or asked.method is not None:
        *most, last = _STATISTICS
        how = "" if asked.method is None else f", without method={asked.method.name!r}"
        raise UsageError(
            f"{label}: {asked.kind} cannot be made of the rows of one person; {', '.join(most)} "
            f"and {last} can{how}. They are exact for each person, and the same on every engine"
        )
    statistic = cast(Statistic, "distinct" if asked.kind == _DIFFERENT else asked.kind)
    if statistic == "count":
        return PersonValue(label, statistic, "integer")
    column = asked.require_column()
    kind = columns.column(column).kind
    col(column).kind(columns)  # refuses what has no use, and says why
    if statistic == "distinct":
        if kind not in _DISTINCT:
            raise UsageError(f"{label}: the values of {column!r} ({kind}) cannot be distinguished")
        return PersonValue(label, statistic, "integer", column)
    if kind in _ORDERED and statistic in ("min", "max"):
        if asked.lower is not None:
            raise UsageError(
                f"{label}: {column!r} holds {kind}, which has no bounds: leave them out"
            )
        return PersonValue(label, statistic, kind, column)
    if kind not in _NUMBERS:
        raise UsageError(f"{label}: {statistic} needs numbers, and {column!r} holds {kind}")
    if asked.lower is None or asked.upper is None:
        raise UsageError(f"{label}: {statistic} of {column!r} needs public bounds")
    whole = kind in _WHOLE and statistic != "mean"
    if whole and not asked.lower.denominator == asked.upper.denominator == 1:
        raise UsageError(
            f"{label}: {statistic} of {column!r} is a whole number; its bounds must be whole too"
        )
    grid, places = units_of(asked.lower, asked.upper, whole=whole)
    return PersonValue(label, statistic, "integer" if whole else "float", column, grid, places)


def check_people(query: Query) -> None:
    """Refuse a question about people whose columns or unit are not those of its people.

    Raises:
        UsageError: it is another person's, or more than one row is theirs.
    """
    if query.inner is not None and query.unit != _unit_of_people(query.inner):
        raise UsageError("a table of one row a person protects that person, with one row")
