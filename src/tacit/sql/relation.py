"""The rows of a query: tables, joins, conditions, one row per person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.expressions.expression import Expression, col
from tacit.sql.aggregates import (
    Scope,
    aggregate_of,
    column_name,
    columns_of,
    find,
    has_aggregate,
    names_person,
    plain_name,
)
from tacit.sql.conditions import conjuncts
from tacit.sql.parse import only, placed, refuse
from tacit.sql.values import class_of, form, forms, number, timed, truth
from tacit.tables.question import Question
from tacit.tables.statistics.base import TableStatistic

# JOIN: other tables of the data set, next to the rows.


_ON = "name the equal keys: join patients on visits.person = patients.id"


def joined(scope: Scope, join: Any, names: tuple[str, ...]) -> Scope:
    """Return the rows with the columns of another table."""
    # The columns of the other table are those that the join adds.  Its key is not added; in an
    # inner join it means the equal column of the rows.
    only(join, "this", "side", "kind", "on", "using")
    side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        refuse(join, f"a {f'{side} {kind}'.strip()} join has no translation: use JOIN or LEFT JOIN")
    table = join.this
    if type(table).__name__ != "Table" or type(table.this).__name__ != "Identifier":
        refuse(join, "JOIN names a table of the data set: join first, and compute outside")
    only(table, "this", "alias")
    if not names:
        refuse(join, "there is no other table: declare them in a data set, and open it")
    name = find(table.this, dict.fromkeys(names), "table to join")
    called = str(table.this.this)
    if table.args.get("alias") is not None:
        only(table.args["alias"], "this")
        called = str(table.args["alias"].this.this)
    pairs = _pairs(join, scope, called)
    before = set(scope.question.schema)
    how = "left" if side == "LEFT" else "inner"
    with placed(join):
        question = scope.question.join(name, on=pairs, how=how)
    columns: dict[str, Expression] = {
        each.removeprefix(f"{name}."): col(each) for each in question.schema if each not in before
    }
    if how == "inner" and join.args.get("using") is None:
        columns |= {there: col(here) for here, there in pairs.items()}
    if called in scope.tables:
        refuse(table, f"two tables are called {called!r}: name one with AS")
    both = Scope(question, {**scope.tables, called: columns})
    both.conditions = list(scope.conditions)
    return both


def _pairs(join: Any, scope: Scope, called: str) -> dict[str, str]:
    """Return the columns of the rows, each with its equal column of the other table."""
    using, condition = join.args.get("using"), join.args.get("on")
    if using:
        return {str(scope.named(each).parameters[0]): str(each.this) for each in using}
    if condition is None:
        refuse(join, _ON)
    pairs = {}
    left = [condition]
    while left:
        node = left.pop()
        name = type(node).__name__
        if name == "And":
            left += [node.expression, node.this]
        elif name == "Paren":
            left.append(node.this)
        elif name == "EQ":
            here, there = _sides(node, scope, called)
            pairs[here] = there
        else:
            refuse(node, f"tables are joined only where their keys are equal: {_ON}")
    return pairs


def _sides(node: Any, scope: Scope, called: str) -> tuple[str, str]:
    """Return the column of the rows and that of the other table which are equal."""
    sides = [node.this, node.expression]
    for side in sides:
        if type(side).__name__ != "Column" or side.args.get("table") is None:
            refuse(node, f"name both columns with their tables: {_ON}")
    ours = [str(side.args["table"].this).lower() != called.lower() for side in sides]
    if ours == [True, False]:
        here, there = sides
    elif ours == [False, True]:
        there, here = sides
    else:
        refuse(node, f"one side is a column of {called!r}, the other one of the rows: {_ON}")
    value = scope.column(here, times=True)
    if value.operation != "col":
        refuse(here, "tables are joined by their own columns, not by computed values")
    return str(value.parameters[0]), str(there.this.this)


forms(
    "tables",
    {
        "from visits, from visits as v": "a table that is private",
        "join patients on visits.person = patients.id": "session.join: another table of the same "
        "people, by the person",
        "join sites using (site), left join sites on visits.site = sites.site": "a public table, "
        "by its key; LEFT keeps rows without a match",
    },
)


# Totals per person: ``select person, sum(cost) as total from visits group by person``.


PEOPLE: dict[str, Any] = {}


@form(
    "totals per person",
    PEOPLE,
    "people",
    examples={
        "select avg(n) from (select person, clamp(sum(cost), 0, 500) as n from visits group by "
        "person)": "session.per_person: one row per person, with count, sum, avg, min and max of "
        "their rows; a clamp around sum(...) is the bounds of the total"
    },
)
def people_of(select: Any, scope: Scope) -> Scope:
    """Return the table of people of a subquery that groups by the person."""
    only(select, "expressions", "from_", "joins", "where", "with_", "group")
    group = select.args["group"]
    only(group, "expressions")
    person = scope.question.unit.columns
    if not names_person(group.expressions, scope):
        refuse(
            group,
            "a subquery is grouped only by the person "
            f"({', '.join(person) or 'each row is another one'}): "
            "it is a total for each; ask other groups outside",
        )
    columns: dict[str, Expression] = {}
    aggregates: dict[str, TableStatistic] = {}
    for node in select.expressions:
        alias = ""
        inner = node
        if type(node).__name__ == "Alias":
            only(node, "this", "alias")
            inner, alias = node.this, str(node.args["alias"].this)
        name = column_name(inner, scope)
        if name in person:
            alias = alias or str(inner.this.this)
            columns[alias] = col(name)
            continue
        if not has_aggregate(inner):
            refuse(node, "a person's row has the person and aggregates of their rows")
        if not alias:
            refuse(node, "name this aggregate: sum(cost) as total")
        if any(plain_name(alias) == plain_name(known) for known in (*aggregates, *columns)):
            refuse(node, f"two columns are called {alias!r}")
        aggregates[alias] = _total(inner, scope)
        columns[alias] = col(alias)
    with placed(select):
        return Scope(scope.question.per_person(**aggregates), {"": columns})


def _total(node: Any, scope: Scope) -> TableStatistic:
    """Return an aggregate of a person's rows, with the bounds of a clamp around it."""
    if class_of(node) != "clamp":
        return aggregate_of(node, scope).aggregate(scope)
    given = node.expressions
    bounds = [number(each) for each in given[1:]]
    lower, upper = (*bounds, None, None)[:2]
    if len(given) != 3 or lower is None or upper is None:
        refuse(node, "clamp takes a value and two bounds: clamp(sum(cost), 0, 500)")
    aggregate = aggregate_of(given[0], scope)
    if aggregate.kind == "count":
        refuse(
            node,
            "the rows of a person are counted without clamp: write count(*) as n, and give the "
            "bounds outside, avg(clamp(n, 0, 500))",
        )
    if aggregate.kind != "sum":
        refuse(
            node,
            "put clamp around sum(...), or inside other aggregates: avg(clamp(cost, 0, 100))",
        )
    if aggregate.bounds is not None:
        refuse(node, "clamp the total or the values, not both: clamp(sum(cost), 0, 500)")
    return replace(aggregate, bounds=(lower, upper)).aggregate(scope)


# FROM: the rows of a query, row by row.
#
# A subquery or a common table expression that filters and computes from single rows is a
# filter and names for values: nothing is stored between the two, and each row of it is a row of the
# table.  What is not row by row (LIMIT, DISTINCT, ORDER BY, UNION) has no translation there: which
# rows it keeps would depend on other people's.


_CLAUSES = {
    "distinct": "DISTINCT is not row by row",
    "having": "a condition on totals belongs in the WHERE of the outer query",
    "order": "ORDER BY in a subquery has no meaning",
    "limit": "LIMIT in a subquery is not row by row: which rows it keeps depends on the others",
    "offset": "OFFSET in a subquery is not row by row: which rows it keeps depends on the others",
}


@dataclass
class Tables:
    """The tables that a query can name."""

    open: Callable[[str], Question]  # returns the rows of a table by its name
    names: tuple[str, ...]  # of those tables
    joins: tuple[str, ...] = ()  # the names of tables that are next to them
    # the common table expressions so far, by their names in lower case
    views: Mapping[str, tuple[Any, Tables]] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)  # those that were named

    def with_views(self, clause: Any) -> Tables:
        """Return the tables with the views of WITH; each knows those before it."""
        if clause is None:
            return self
        only(clause, "expressions")
        tables = self
        for each in clause.expressions:
            only(each, "this", "alias")
            only(each.args["alias"], "this")
            name = plain_name(str(each.args["alias"].this.this))
            if name in tables.views:
                refuse(each, f"WITH names {name!r} twice")
            views = {**tables.views, name: (each.this, tables)}
            tables = replace(tables, views=views)
        return tables

    def check_used(self, clause: Any) -> None:
        """Raise for an unused common table expression: it would not be read."""
        for each in clause.expressions if clause is not None else ():
            if id(each.this) not in self.used:
                refuse(each, "this common table expression is never used: remove it")


def rows_of(select: Any, tables: Tables) -> Scope:
    """Return the rows of FROM, JOIN and WHERE of a query."""
    source = select.args.get("from_")
    if source is None:
        refuse(select, "name the table: select count(*) from visits")
    only(source, "this")
    scope = _table(source.this, tables)
    for join in select.args.get("joins") or ():
        if plain_name(str(join.this.this)) in tables.views:
            refuse(join, "a common table expression is not joined: join the tables inside of it")
        scope = joined(scope, join, tables.joins)
    where(select, scope)
    return scope


def where(select: Any, scope: Scope) -> None:
    """Filter by WHERE, each condition of an AND separately."""
    clause = select.args.get("where")
    if clause is None:
        return
    if has_aggregate(clause):
        refuse(clause, "WHERE is about single rows: put conditions on aggregates into HAVING")
    for each in conjuncts(clause.this):
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
            select, f"{type(select).__name__.upper()} has no translation: ask each query separately"
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
    """Return the values of the names of a select list."""
    selected: dict[str, Expression] = {}
    for node in select.expressions:
        for name, value in _item(node, scope):
            if plain_name(name) in map(plain_name, selected):
                refuse(node, f"the subquery has two columns called {name!r}: name one with AS")
            selected[name] = value
    return selected


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
