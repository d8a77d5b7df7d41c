"""Which rows a question is about, column by column: what filters, groups and bins ask of each.

A row is counted where each of some columns has one of some values, or lies within some bounds.
Filters that say this (``==``, ``is_in``, ``is_null``, ``between``, bounds, and all of these with
``&``) are read so; any other filter is one condition as a whole, which is equal to itself alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from tacit.accounting.ledger.hash_chain import canonical
from tacit.arithmetic.exact import as_fraction
from tacit.expressions.node import Node
from tacit.tables.plan.query import Query, plain_key

__all__ = [
    "Between",
    "Condition",
    "Listed",
    "Whole",
    "column_name",
    "conditions_of",
    "rows_of",
    "same_kinds",
    "text_of",
    "typed",
]


@dataclass(frozen=True)
class Listed:
    """A column has one of some values."""

    column: str
    values: frozenset[tuple[type, Any]]


@dataclass(frozen=True)
class Between:
    """A column lies from a lower bound on up to an upper one, which it may reach where closed."""

    column: str
    low: Fraction
    high: Fraction
    closed: bool


@dataclass(frozen=True)
class Whole:
    """A condition that is not taken apart."""

    text: str


Condition: TypeAlias = Listed | Between | Whole


def typed(value: Any) -> tuple[type, Any]:
    """Return a value of which 1 and true are two."""
    plain = plain_key(value)
    return type(plain), plain


def text_of(expression: Node) -> str:
    """Return an expression as text: equal text, the same condition."""
    return canonical(expression.to_json())


def column_name(query: Query, name: str) -> str:
    """Return what a column is, whatever it is called: a derived one by its expression."""
    derived = query.resolved
    return text_of(derived[name]) if name in derived else name


def conditions_of(query: Query) -> dict[str, Condition]:
    """Return what the filters of a question ask for, by the text of each.

    >>> import tacit as tc
    >>> from tacit.expressions.schema import Column, Schema
    >>> ages = Query(Schema([Column("age", "integer", "integer")]), tc.one_row_each)
    >>> asked = ages.asking(where=(tc.col("age").between(0, 65),))
    >>> list(conditions_of(asked).values())
    [Between(column='age', low=Fraction(0, 1), high=Fraction(65, 1), closed=True)]
    """
    found: dict[str, Condition] = {}
    bounds: dict[str, list[tuple[str, Fraction]]] = {}
    said: dict[str, list[Node]] = {}
    for one in _apart(condition.substitute(query.resolved) for condition in query.where):
        bound = _bound(one)
        if bound is None:
            found[text_of(one)] = _listed(one) or Whole(text_of(one))
            continue
        column, kind, value = bound
        bounds.setdefault(column, []).append((kind, value))
        said.setdefault(column, []).append(one)
    for column, both in bounds.items():
        texts = [text_of(one) for one in said[column]]
        lower = [low for kind, low in both if kind == ">="]
        upper = [(high, kind == "<=") for kind, high in both if kind != ">="]
        if len(lower) == len(upper) == 1:
            between = Between(column, lower[0], *upper[0])
            found[canonical(sorted(texts))] = between
        else:
            found |= {text: Whole(text) for text in texts}
    return found


def _apart(conditions: Iterable[Node]) -> list[Node]:
    """Return the conditions that all must hold, each once."""
    found: dict[str, Node] = {}
    for condition in conditions:
        if condition.operation == "&":
            found |= {text_of(one): one for one in _apart(condition.operands)}
        else:
            found[text_of(condition)] = condition
    return list(found.values())


def _bound(condition: Node) -> tuple[str, str, Fraction] | None:
    if condition.operation not in (">=", "<", "<=") or len(condition.operands) != 2:
        return None
    held, bound = condition.operands
    value = bound.parameters[0] if bound.operation == "literal" else None
    if (
        held.operation == "literal"
        or isinstance(value, bool)
        or not isinstance(value, (int, float))
    ):
        return None
    return _name(held), condition.operation, as_fraction(value)


def _listed(condition: Node) -> Listed | None:
    if not condition.operands:
        return None
    held, *values = condition.operands
    if held.operation == "literal" or any(v.operation != "literal" for v in values):
        return None
    if condition.operation == "is_null" and not values:
        return Listed(_name(held), frozenset([typed(None)]))
    if condition.operation == "is_in" or (condition.operation == "==" and len(values) == 1):
        told = [value.parameters[0] for value in values]
        if told and not any(value is None or isinstance(value, float) for value in told):
            return Listed(_name(held), frozenset(map(typed, told)))
    return None


def _name(held: Node) -> str:
    return str(held.parameters[0]) if held.operation == "col" else text_of(held)


def rows_of(query: Query) -> str:
    """Return which rows a question is about before its filters: the same text, the same rows."""
    every = replace(query, where=(), derived=(), by=(), keys=None, aggregates=(), weights=())
    said: Mapping[str, Any] = every.describe()
    names: Sequence[str] = ("table", "tables", "joins", "unit", "inner")
    same = {name: said[name] for name in names if name in said}
    return canonical({**same, "reading": query.reading.describe(())})


def same_kinds(query: Query, other: Query) -> bool:
    """Return whether two questions read the columns that both of them read as the same kinds."""
    both = query.columns_read & other.columns_read
    return query.reading.describe(both) == other.reading.describe(both)
