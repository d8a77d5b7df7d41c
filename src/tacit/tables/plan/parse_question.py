"""Questions read back from their stored form."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

from tacit.accounting.ledger_chain import canonical
from tacit.arithmetic.exact import as_fraction
from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json
from tacit.expressions.grid import Grid
from tacit.expressions.schema import KINDS, Column, Schema
from tacit.tables.plan.plan import check_rounds, read_rounds
from tacit.tables.plan.price import read_weights
from tacit.tables.plan.query import Declared, Query
from tacit.tables.privacy_unit import OneRowEach, Person, PersonUnit, person_or_none
from tacit.tables.query.joins import joins_from
from tacit.tables.query.keys import PersonValue, Statistic, fit_keys, person_column, units_of
from tacit.tables.reading import Reading
from tacit.tables.statistics.base import (
    QUANTILE_BITS,
    SQUARE_BITS,
    SUM_BITS,
    TableStatistic,
    statistic_named,
)
from tacit.tables.statistics.counts import count_distinct

# A question about people rather than rows: one row a person is made first, of all of their rows.
#
# What can be made of a person's rows is a count, of rows or of different values, a sum, a mean, a
# least and a greatest value: each is the same on every engine, for any rows, in integers
# (:mod:`tacit.tables.query.keys`).


_DIFFERENT = count_distinct("column").kind
_STATISTICS = ("count", _DIFFERENT, "sum", "mean", "min", "max")
_INTEGER_KINDS = ("integer", "boolean")
_NUMBERS = (*_INTEGER_KINDS, "float", "decimal", "undeclared", "missing")
_DECLARED = {"integer": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "date": "DATE"}
_DISTINCT = (*_NUMBERS, "text", "date")  # kinds whose values can be distinguished
_ORDERED = ("text", "date")  # kinds that have a least and a greatest value without bounds


def per_person_question(
    query: Query, declared: Declared, aggregates: Sequence[tuple[str, TableStatistic]]
) -> tuple[Query, Declared]:
    """Return the question about people, and what is declared of the columns that it has."""
    if query.by or query.aggregates:
        raise UsageError(
            "one row a person is made before anything is grouped or asked: "
            "session.filter(...).per_person(...).group_by(...).agg(...)"
        )
    bounded = [(label, _bounded(a, query, declared)) for label, a in aggregates]
    inner = replace(query, aggregates=tuple(bounded), table=None, tables=())
    people = Query(
        people_schema(inner), _unit_of_people(inner), table=query.table, tables=query.tables
    )
    known = {
        label: (a.lower, a.upper)
        for label, a in bounded
        if a.lower is not None and a.upper is not None
    }
    return replace(people, inner=inner), replace(declared, bounds=known, keys={}, labels={})


def _bounded(aggregate: TableStatistic, query: Query, declared: Declared) -> TableStatistic:
    """Return a statistic with the bounds that are declared, where it needs some and names none."""
    # Those of a total are the bounds of one row times the most rows of a person that the unit
    # allows.
    if aggregate.column is None or query.columns.column(aggregate.column).kind in _ORDERED:
        return aggregate
    bounded = declared.bounded(aggregate, query.derived, query.columns.values())
    if (
        bounded is aggregate
        or aggregate.kind != "sum"
        or bounded.lower is None
        or bounded.upper is None
    ):
        return bounded
    low, high = bounded.lower, bounded.upper
    return replace(
        bounded, lower=min(low, low * query.unit.rows), upper=max(high, high * query.unit.rows)
    )


def _unit_of_people(inner: Query) -> PersonUnit:
    """Return the unit of the table of people: the same person, who has one row."""
    if not isinstance(inner.unit, PersonUnit):
        raise UsageError(
            "each row is another person here, so there is one row a person already: ask it as it "
            "is, or open the session with unit=tc.unit('person', rows=...)"
        )
    return PersonUnit(inner.unit.column, 1, 1)


def people_schema(inner: Query) -> Schema:
    """Return the columns of the table of people: the person, and what is made of their rows."""
    person = _unit_of_people(inner).columns
    if inner.inner is not None:
        raise UsageError("this table has one row a person already")
    if inner.by or inner.table is not None or inner.tables or inner.weights:
        raise UsageError("one row a person is made of rows without groups")
    values = person_values(inner)
    names = [*person, *(value.name for value in values)]
    if not values or len({name.casefold() for name in names}) < len(names):
        raise UsageError(
            "name each value that is made of a person's rows, with names that differ from each "
            f"other and from {' and '.join(map(repr, person))} in more than capital letters: "
            "per_person(n=tc.count())"
        )
    columns = [Column(v.name, v.kind, _DECLARED.get(v.kind, v.kind)) for v in values]
    people = [person_column(inner.schema.column(name)) for name in person]
    return Schema([*people, *columns])


def person_values(inner: Query) -> list[PersonValue]:
    """Return what is made of a person's rows."""
    return [_value(label, aggregate, inner.columns) for label, aggregate in inner.aggregates]


def _value(label: str, aggregate: TableStatistic, columns: Schema) -> PersonValue:
    if aggregate.kind not in _STATISTICS or aggregate.method is not None:
        *others, last = _STATISTICS
        how = "" if aggregate.method is None else f", without method={aggregate.method.name!r}"
        raise UsageError(
            f"{label}: {aggregate.kind} cannot be made of the rows of one person; "
            f"{', '.join(others)} and {last} can{how}. They are exact for each person, and the "
            "same on every engine"
        )
    statistic = cast(Statistic, "distinct" if aggregate.kind == _DIFFERENT else aggregate.kind)
    if statistic == "count":
        return PersonValue(label, statistic, "integer")
    column = aggregate.require_column()
    kind = columns.column(column).kind
    col(column).kind(columns)  # refuses what has no use, and says why
    if statistic == "distinct":
        if kind not in _DISTINCT:
            raise UsageError(f"{label}: the values of {column!r} ({kind}) cannot be distinguished")
        return PersonValue(label, statistic, "integer", column)
    if kind in _ORDERED and statistic in ("min", "max"):
        if aggregate.lower is not None:
            raise UsageError(
                f"{label}: {column!r} holds {kind}, which has no bounds: leave them out"
            )
        return PersonValue(label, statistic, kind, column)
    if kind not in _NUMBERS:
        raise UsageError(f"{label}: {statistic} needs numbers, and {column!r} holds {kind}")
    if aggregate.lower is None or aggregate.upper is None:
        raise UsageError(f"{label}: {statistic} of {column!r} needs public bounds")
    integers = kind in _INTEGER_KINDS and statistic != "mean"
    if integers and not aggregate.lower.denominator == aggregate.upper.denominator == 1:
        raise UsageError(
            f"{label}: {statistic} of {column!r} is a whole number; its bounds must be whole too"
        )
    grid, digits = units_of(aggregate.lower, aggregate.upper, integers=integers)
    return PersonValue(label, statistic, "integer" if integers else "float", column, grid, digits)


def check_people(query: Query) -> None:
    """Raise if the columns or the unit of a question about people are not those of its people."""
    if query.inner is not None and query.unit != _unit_of_people(query.inner):
        raise UsageError("a table of one row a person protects that person, with one row")


# A question read back from its public description: what :meth:`Query.describe` wrote.
#
# Everything goes through the doors that a user's question goes through, so what cannot be asked
# cannot be read back either.  The caller compares the description of what was read with the text it
# was read from, so that nothing can be left over.


_Tables: TypeAlias = tuple[str | None, tuple[tuple[str, Person | None], ...]]
_MAX_STEPS = 1000  # filters and derived columns
_MAX_AGGREGATES = 10_000
_BITS = (SUM_BITS, SQUARE_BITS, QUANTILE_BITS)


def schema_from(table: Sequence[Sequence[str]]) -> Schema:
    """Return the columns that :meth:`Schema.kinds` described."""
    for name, kind in table:
        if not isinstance(name, str) or kind not in KINDS:
            raise UsageError(f"a column is a name and one of {', '.join(KINDS)}")
    columns = [Column(name, kind, kind) for name, kind in table]
    if len(Schema(columns)) < len(columns):
        raise UsageError("the table has two columns of one name")
    return Schema(columns)


def query_from(
    described: Mapping[str, Any],
    schema: Schema,
    derived: Schema | None = None,
    of: _Tables | None = None,
    timed: str | None = None,
) -> Query:
    """Return the question that :meth:`Query.describe` described, to a table of such columns."""
    # timed: the column of the times, of a count over time.
    steps = [*described["where"], *described["derived"], *described.get("joins", ())]
    if len(steps) > _MAX_STEPS:
        raise UsageError(f"more than {_MAX_STEPS} filters and columns are too many to plan again")
    if len(described["aggregates"]) > _MAX_AGGREGATES:
        raise UsageError(f"more than {_MAX_AGGREGATES} answers are too many to plan again")
    of = _tables(described) if of is None else of
    table, tables = of if "tables" in described else (None, ())
    inner = None
    if "inner" in described:
        inner = _inner(described["inner"], schema, of)
        schema = people_schema(inner)
    unit = _unit(described["unit"], schema)
    parts = (
        schema,
        unit,
        tuple(from_json(expression) for expression in described["where"]),
        tuple((str(name), from_json(expression)) for name, expression in described["derived"]),
        tuple(map(str, described["by"])),
        _keys(described["keys"], len(described["by"])),
        tuple((str(label), aggregate_from(one)) for label, one in described["aggregates"]),
        table,
        tables,
    )
    joins = joins_from(described.get("joins", ()), of[0], unit.column, of[1])
    more: dict[str, Any] = {"inner": inner, "joins": joins, "weights": _weights(described)}
    more |= {"rounds": _rounds(described), "timed": timed}
    if "reading" in described:
        more["reading"] = Reading.read(described["reading"])
    query = Query(*parts, **more) if derived is None else _Stated(*parts, **more, stated=derived)
    _fits(query)
    check_people(query)
    if canonical(query.describe()) != canonical(described):
        raise UsageError(
            "the description of the question has unknown parts, or is not in the form that "
            "Tacit writes"
        )
    return query


def _inner(described: Mapping[str, Any], schema: Schema, of: _Tables) -> Query:
    """Return the rows that people are made of."""
    if "inner" in described or "weights" in described:
        raise UsageError("one row a person is made once, and spends nothing by itself")
    return query_from(described, schema, of=of)


@dataclass(frozen=True)
class _Stated(Query):
    """A question whose columns are of the kinds that are stated, derived ones too."""

    stated: Schema | None = None

    @cached_property
    def columns(self) -> Schema:
        """The columns with the derived ones."""
        assert self.stated is not None
        return self.stated


def _fits(query: Query) -> None:
    """Raise where a session would: see :class:`~tacit.tables.question.Question`."""
    names = [name for name, _ in query.derived]
    names += [name for join in query.joins for name, _, _ in join.columns]
    if len({*query.schema, *names}) < len(query.schema) + len(names):
        raise UsageError("a derived or joined column has the name of another column")
    if query.joins and query.inner is not None:
        raise UsageError("tables are joined before one row a person is made")
    checked = () if isinstance(query, _Stated) else query.where
    if any(c.kind(query.columns) not in ("boolean", "missing") for c in checked):
        raise UsageError("a filter is true or false on each row")
    if query.keys is not None:
        fit_keys(query.keys, query.by, query.columns)
    labels = [label for label, _ in query.aggregates]
    shown = [label + suffix for label in labels for suffix in ("", "_error", "_low", "_high")]
    if len({*shown, *query.by}) < len(shown) + len(query.by) or "" in labels:
        raise UsageError("each answer, and each grouping column, needs a name of its own")


def _tables(described: Mapping[str, Any]) -> _Tables:
    """Return which table of a declared data set was asked, and all that are protected."""
    if "tables" not in described:
        return None, ()
    tables = tuple((str(name), person_or_none(person)) for name, person in described["tables"])
    request = described["table"], person_or_none(described["unit"]["column"])
    if len(dict(tables)) < len(tables) or request not in tables:
        raise UsageError("a data set has other tables, or other people, than the question asks")
    return str(described["table"]), tables


def _weights(described: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Return what each label counts where the loss is split."""
    given = dict(described.get("weights", ()))
    return read_weights(given, [label for label, _ in described["aggregates"]]) if given else ()


def _rounds(described: Mapping[str, Any]) -> int:
    """Return how often people are counted to release unknown keys."""
    rounds = read_rounds(described.get("rounds", 1))
    if rounds > 1:
        check_rounds(described["by"], described["keys"], described["unit"]["column"])
    return rounds


def _unit(described: Mapping[str, Any], schema: Schema) -> OneRowEach | PersonUnit:
    person = person_or_none(described["column"])
    if person is None:
        return OneRowEach()
    unit = PersonUnit(person, described["rows"], described["groups"])
    for column in unit.columns:
        schema.column(column)
    return unit


def _keys(listed: Any, parts: int) -> tuple[tuple[Any, ...], ...] | None:
    """Return public keys, which were checked against their columns when they were asked for."""
    if listed is None:
        return None
    keys = tuple(tuple(map(_key_part, key)) for key in listed)
    known = (str, int, bool, datetime.date)
    plain = all(part is None or isinstance(part, known) for key in keys for part in key)
    if not keys or not plain or any(len(key) != parts for key in keys):
        raise UsageError("a key is text, a number, a date or nothing for each grouping column")
    if len(set(keys)) < len(keys):
        raise UsageError("a key is given twice")
    return keys


def _key_part(part: Any) -> Any:
    """Return a part of a key; one of a column that no one declared says that it is a date."""
    if isinstance(part, dict) and set(part) == {"date"}:
        return datetime.date.fromisoformat(part["date"])
    return part


def aggregate_from(described: Mapping[str, Any]) -> TableStatistic:
    """Return the statistic that :meth:`Aggregate.to_json` described."""
    known = statistic_named(described["kind"])
    if known.fields == ("column", "lower", "upper") and set(described) == {"kind", "column", "q"}:
        made: TableStatistic = known.make(str(described["column"]))  # of text or dates: no bounds
        return made
    return known.read(described)


def first_schemas(
    described: Mapping[str, Any], chains: Sequence[Mapping[str, Any]]
) -> tuple[Schema, Schema]:
    """Return the columns that a certificate of the first format is about, which names no kinds."""
    # Nothing is computed from a kind but whether a column holds integers (its grid is one of
    # ones then), and its chains state that.  Of a derived column they state the kind.
    #
    # Returns: the columns of the table, and the same with the derived ones.
    names = [str(name) for name in chains[0]["space"]["domain"]["columns"]]
    steps = [step for chain in chains for step in chain["steps"]]
    on_grid = [step for step in steps if "cells" in step]
    kinds = {name: "integer" if _whole(name, on_grid) else "missing" for name in names}
    derived = {s["column"]: s["kind"] for s in steps if s["step"] == "derive"}
    both = {**kinds, **{name: derived[name] for name, _ in described["derived"]}}
    return schema_from(list(kinds.items())), schema_from(list(both.items()))


def _whole(name: str, steps: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether every grid of a column is one of integers."""
    grids = [step for step in steps if step["column"] == name]
    return bool(grids) and all(map(_is_whole, grids))


def _is_whole(step: Mapping[str, Any]) -> bool:
    low, high = as_fraction(step["lower"]), as_fraction(step["upper"])
    tried = [Grid.for_bounds(low, high, bits=bits, whole=True) for bits in _BITS]
    return step["cells"] in [grid.cells for grid in tried]
