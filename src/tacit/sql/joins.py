"""JOIN: other tables of the data set, beside the rows."""

from __future__ import annotations

from typing import Any

from tacit.expressions.expression import Expression, col
from tacit.sql.forms import forms
from tacit.sql.refusal import only, placed, refuse
from tacit.sql.scope import Scope, find

__all__ = ["joined"]

_ON = "say how the rows belong together: join patients on visits.person = patients.id"


def joined(scope: Scope, join: Any, names: tuple[str, ...]) -> Scope:
    """Return the rows with the columns of another table beside them.

    The columns of the other table stand for those that the join adds.  Its key is not added; in an
    inner join it stands for the column of the rows that is equal to it.

    Args:
        scope: the rows.
        join: the node.
        names: of the tables that can be joined.

    Raises:
        UnsupportedQueryError: another table, or rows that would not belong together by its key.
    """
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
    """Return the columns of the rows, each with the column of the other table that it equals."""
    using, condition = join.args.get("using"), join.args.get("on")
    if using:
        return {str(scope.named(each).parameters[0]): str(each.this) for each in using}
    if condition is None:
        refuse(join, _ON)
    found = {}
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
            found[here] = there
        else:
            refuse(node, f"tables are joined only where their keys are equal: {_ON}")
    return found


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
