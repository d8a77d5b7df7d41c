"""Totals per person: ``select person, sum(cost) as total from visits group by person``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.expressions.expression import Expression, col
from tacit.sql.aggregates import asked_of, has_aggregate
from tacit.sql.forms import class_of, form
from tacit.sql.refusal import only, placed, refuse
from tacit.sql.scope import Scope, plain_name
from tacit.sql.values import number
from tacit.tables.answers.aggregate import Aggregate

__all__ = ["PEOPLE", "people_of"]

PEOPLE: dict[str, Any] = {}


@form(
    "totals per person",
    PEOPLE,
    "people",
    examples={
        "select avg(n) from (select person, clamp(sum(cost), 0, 500) as n from visits group by "
        "person)": "session.per_person: one row a person, with count, sum, avg, min and max of "
        "their rows; a clamp around sum(...) is the bounds of the total"
    },
)
def people_of(select: Any, scope: Scope) -> Scope:
    """Return the table of people that a subquery grouped by the person makes.

    Raises:
        UnsupportedQueryError: it is grouped by something else, or asks what is not made of the rows
            of one person.
    """
    only(select, "expressions", "from_", "joins", "where", "with_", "group")
    group = select.args["group"]
    only(group, "expressions")
    person = scope.question.unit.column
    by = group.expressions
    if person is None or len(by) != 1 or not _is_person(by[0], scope, person):
        refuse(
            group,
            f"a subquery is grouped only by the person ({person or 'each row is another one'}): "
            "it is a total for each; ask other groups outside",
        )
    columns: dict[str, Expression] = {}
    aggregates: dict[str, Aggregate] = {}
    for node in select.expressions:
        alias = ""
        inner = node
        if type(node).__name__ == "Alias":
            only(node, "this", "alias")
            inner, alias = node.this, str(node.args["alias"].this)
        if _is_person(inner, scope, person):
            alias = alias or str(inner.this.this)
            columns[alias] = col(person)
            continue
        if not has_aggregate(inner):
            refuse(node, "a person's row holds the person and aggregates of their rows")
        if not alias:
            refuse(node, "name this aggregate: sum(cost) as total")
        if any(plain_name(alias) == plain_name(known) for known in (*aggregates, *columns)):
            refuse(node, f"two columns are called {alias!r}")
        aggregates[alias] = _total(inner, scope)
        columns[alias] = col(alias)
    with placed(select):
        return Scope(scope.question.per_person(**aggregates), {"": columns})


def _is_person(node: Any, scope: Scope, person: str) -> bool:
    if type(node).__name__ != "Column":
        return False
    found = scope.column(node, times=True)
    return found.operation == "col" and found.parameters[0] == person


def _total(node: Any, scope: Scope) -> Aggregate:
    """Return an aggregate of a person's rows, within bounds where a clamp stands around it."""
    if class_of(node) != "clamp":
        return asked_of(node, scope).aggregate(scope)
    given = node.expressions
    bounds = [number(each) for each in given[1:]]
    lower, upper = (*bounds, None, None)[:2]
    if len(given) != 3 or lower is None or upper is None:
        refuse(node, "clamp takes a value and two bounds: clamp(sum(cost), 0, 500)")
    asked = asked_of(given[0], scope)
    if asked.kind == "count":
        refuse(
            node,
            "the rows of a person are counted without clamp: write count(*) as n, and give the "
            "bounds outside, avg(clamp(n, 0, 500))",
        )
    if asked.kind != "sum":
        refuse(
            node,
            "put clamp around sum(...), or inside other aggregates: avg(clamp(cost, 0, 100))",
        )
    if asked.bounds is not None:
        refuse(node, "clamp the total or the values, not both: clamp(sum(cost), 0, 500)")
    return replace(asked, bounds=(lower, upper)).aggregate(scope)
