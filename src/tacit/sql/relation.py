"""FROM: the rows that a query asks, row by row.

A subquery or a common table expression that keeps, leaves out and computes from single rows is a
filter and names for values: nothing is stored between the two, and each row of it is a row of the
table.  What is not row by row (LIMIT, DISTINCT, ORDER BY, UNION) has no translation there: which
rows it keeps would depend on other people's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.expressions.expression import Expression
from tacit.sql.aggregates import has_aggregate
from tacit.sql.conditions import conjuncts
from tacit.sql.forms import forms, timed, truth
from tacit.sql.joins import joined
from tacit.sql.people import people_of
from tacit.sql.refusal import only, placed, refuse
from tacit.sql.scope import Scope, columns_of, find, plain_name
from tacit.tables.question import Question

__all__ = ["Tables", "rows_of", "where"]

_CLAUSES = {
    "distinct": "DISTINCT is not row by row",
    "having": "a condition on totals belongs in the WHERE of the outer query",
    "order": "ORDER BY in a subquery has no meaning",
    "limit": "LIMIT in a subquery is not row by row: which rows it keeps depends on the others",
    "offset": "OFFSET in a subquery is not row by row: which rows it keeps depends on the others",
}


@dataclass
class Tables:
    """The tables that a query can name.

    Attributes:
        open: returns the rows of a table by its name.
        names: of those tables.
        joins: the names of tables that stand beside them.
        views: the common table expressions before this place, by their names in small letters.
        used: those that were named.
    """

    open: Callable[[str], Question]
    names: tuple[str, ...]
    joins: tuple[str, ...] = ()
    views: Mapping[str, tuple[Any, Tables]] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    def with_views(self, said: Any) -> Tables:
        """Return the tables with the views that WITH names, each knowing those before it."""
        if said is None:
            return self
        only(said, "expressions")
        tables = self
        for each in said.expressions:
            only(each, "this", "alias")
            only(each.args["alias"], "this")
            name = plain_name(str(each.args["alias"].this.this))
            if name in tables.views:
                refuse(each, f"WITH names {name!r} twice")
            views = {**tables.views, name: (each.this, tables)}
            tables = replace(tables, views=views)
        return tables

    def check_used(self, said: Any) -> None:
        """Refuse a common table expression that nothing names: it would not be read."""
        for each in said.expressions if said is not None else ():
            if id(each.this) not in self.used:
                refuse(each, "this common table expression is never used: remove it")


def rows_of(select: Any, tables: Tables) -> Scope:
    """Return the rows that FROM, JOIN and WHERE of a query give.

    Raises:
        UnsupportedQueryError: a table that is not there, or what is not row by row.
    """
    source = select.args.get("from_")
    if source is None:
        refuse(select, "say which table is asked: select count(*) from visits")
    only(source, "this")
    scope = _table(source.this, tables)
    for join in select.args.get("joins") or ():
        if plain_name(str(join.this.this)) in tables.views:
            refuse(join, "a common table expression is not joined: join the tables inside of it")
        scope = joined(scope, join, tables.joins)
    where(select, scope)
    return scope


def where(select: Any, scope: Scope) -> None:
    """Keep the rows that WHERE keeps, each condition that AND joins by itself."""
    said = select.args.get("where")
    if said is None:
        return
    if has_aggregate(said):
        refuse(said, "WHERE is about single rows: put conditions on aggregates into HAVING")
    for each in conjuncts(said.this):
        scope.filter(truth(each, scope).true, each)


def _table(node: Any, tables: Tables) -> Scope:
    name = type(node).__name__
    if name == "Subquery":
        only(node, "this", "alias")
        return _named(_inner(node.this, tables), node.args.get("alias"), "")
    if name != "Table" or type(node.this).__name__ != "Identifier":
        refuse(node, "FROM names a table or a subquery; functions that make tables are not run")
    only(node, "this", "alias")
    wanted = str(node.this.this)
    view = None if node.this.args.get("quoted") else tables.views.get(plain_name(wanted))
    if view is not None:
        tables.used.add(id(view[0]))
        return _named(_inner(*view), node.args.get("alias"), wanted)
    table = _base(node.this, tables)
    with placed(node):
        question = tables.open(table)
    scope = Scope(question, {wanted: columns_of(question)})
    return _named(scope, node.args.get("alias"), wanted)


def _base(identifier: Any, tables: Tables) -> str:
    return find(identifier, dict.fromkeys(tables.names), "table")


def _named(scope: Scope, alias: Any, name: str) -> Scope:
    """Return the same rows, called by their alias."""
    if alias is not None:
        only(alias, "this")
        name = str(alias.this.this)
    merged: dict[str, Expression] = {}
    for columns in scope.tables.values():
        merged.update(columns)
    return scope.renamed({name: merged})


def _inner(select: Any, tables: Tables) -> Scope:
    """Return the rows of a subquery or a common table expression."""
    while type(select).__name__ in ("Subquery", "Paren"):
        only(select, "this")
        select = select.this
    if type(select).__name__ != "Select":
        refuse(
            select, f"{type(select).__name__.upper()} has no translation: ask each query by itself"
        )
    for clause, reason in _CLAUSES.items():
        if select.args.get(clause):
            refuse(select.args[clause], f"{reason}: leave it out, or ask it outside")
    only(select, "expressions", "from_", "joins", "where", "with_", "group")
    within = tables.with_views(select.args.get("with_"))
    scope = rows_of(select, within)
    within.check_used(select.args.get("with_"))
    if select.args.get("group") is not None:
        people: Scope = people_of(select, scope)
        return people
    return scope.renamed({"": _selected(select, scope)})


def _selected(select: Any, scope: Scope) -> dict[str, Expression]:
    """Return what the names of a select list stand for."""
    found: dict[str, Expression] = {}
    for node in select.expressions:
        for name, value in _item(node, scope):
            if plain_name(name) in map(plain_name, found):
                refuse(node, f"the subquery has two columns called {name!r}: name one with AS")
            found[name] = value
    return found


def _item(node: Any, scope: Scope) -> list[tuple[str, Expression]]:
    kind = type(node).__name__
    if kind == "Star":
        only(node)
        return [item for columns in scope.tables.values() for item in columns.items()]
    if kind == "Column" and type(node.this).__name__ == "Star":
        only(node, "this", "table")
        return list(scope.tables[find(node.args["table"], scope.tables, "table")].items())
    inner = node
    if kind == "Alias":
        only(node, "this", "alias")
        inner = node.this
    if has_aggregate(inner):
        refuse(inner, "a subquery works row by row: aggregate outside, or group it by the person")
    with placed(inner):
        value = timed(inner, scope)
        scope.kind(value)
    if kind == "Alias":
        return [(str(node.args["alias"].this), value)]
    if kind != "Column":
        refuse(node, "name this value: ... as cost2")
    return [(str(node.this.this), value)]


forms(
    "subqueries",
    {
        "from (select cost * 2 as twice, site from visits where cost > 0)": "row by row: names for "
        "values, and filters",
        "with dear as (select * from visits where cost > 9) select count(*) from dear": "the same",
    },
)
