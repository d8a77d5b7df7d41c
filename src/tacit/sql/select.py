"""The select list: statistics, names and groups; a query translated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tacit.arithmetic.exact import show
from tacit.errors import UnsupportedQueryError
from tacit.expressions.expression import Expression, col
from tacit.expressions.functions import Node, constants_of
from tacit.expressions.schema import Column, Schema
from tacit.report.text import formula_words, listed
from tacit.sql.aggregates import (
    AGGREGATES,
    Scope,
    SqlAggregate,
    aggregate_of,
    aggregates_of,
    has_aggregate,
    is_aggregate,
    own_name,
    plain_name,
)
from tacit.sql.parse import only, parse, placed, refuse
from tacit.sql.relation import Tables, rows_of
from tacit.sql.values import class_of, forms, number, refuse_unknown, truth, value
from tacit.tables.joint_plans.merge import shared_percentiles
from tacit.tables.plan.query import check_labels
from tacit.tables.question import Question, question_parts
from tacit.tables.release.answer import Arrangement, Order

# Possible values of an expression, as far as its text lists them.
#
# A group by such an expression needs no keys: they are constants of the question.


_MAX_VALUES = 10_000
_DECIDED = {
    *("==", "!=", "<", "<=", ">", ">=", "&", "|", "~", "is_null", "is_in"),
    *("starts_with", "ends_with", "contains", "like"),
}
_PARTS = {
    "month": (1, 12),
    "quarter": (1, 4),
    "weekday": (1, 7),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}


def possible_values(expression: Node) -> list[Any] | None:
    """Return every value that an expression can have, None for a missing one; None if unknown.

    >>> from tacit.expressions.expression import col, when
    >>> possible_values(when(col("age") < 18).then("minor").otherwise("adult"))
    ['minor', 'adult']
    >>> possible_values(col("day").dt.month())[-2:], possible_values(col("age"))
    ([12, None], None)
    """
    name, operands = expression.operation, expression.operands
    if name == "literal":
        return [expression.parameters[0]]
    if name in _DECIDED:
        return [True, False]
    if name in _PARTS:
        first, last = _PARTS[name]
        return [*range(first, last + 1), None]
    if name == "modulo":
        size = constants_of(expression)[0]
        return [*range(int(size)), None] if size <= _MAX_VALUES else None
    if name == "cut":
        return [*constants_of(expression)[1], None]
    if name in ("when", "fill"):
        one, other = map(possible_values, operands[-2:])
        if one is None or other is None:
            return None
        if name == "fill":
            one = [each for each in one if each is not None]
        both = list(dict.fromkeys([*one, *other]))
        return both if len(both) <= _MAX_VALUES else None
    return None


def listed_keys(name: str, conditions: Sequence[Expression]) -> list[Any] | None:
    """Return the values of a column that the conditions list, or None.

    >>> from tacit.expressions.expression import col
    >>> listed_keys("site", [col("site").is_in([1, 2]), col("cost") < 3])
    [1, 2]
    """
    # Rows with another value are filtered out before anything is counted, so that the list, which
    # is a constant of the question, has the value of every remaining row.
    keys: list[Any] | None = None
    for condition in conditions:
        if condition.operation not in ("==", "is_in"):
            continue
        left, *right = condition.operands
        if left.operation != "col" or left.parameters[0] != name:
            continue
        if any(each.operation != "literal" for each in right):
            continue
        given = list(dict.fromkeys(each.parameters[0] for each in right))
        keys = given if keys is None else [each for each in keys if each in given]
    return keys or None


# A whole query: groups, aggregates, and the arrangement of the answer.


# A certificate states each answer's chain whole, with all computed columns, so it grows by the
# square of the items: 2 MB for 100 of them.
_MAX_ITEMS, _MAX_BY, _MAX_GROUPS = 100, 20, 100_000


@dataclass(frozen=True)
class _Item:
    """One item of the select list."""

    node: Any
    alias: str


@dataclass(frozen=True)
class _Group:
    """A grouping column: its node, its value, its name in the question."""

    node: Any
    value: Expression
    name: str


def question_of_select(select: Any, tables: Tables) -> Question:
    """Return the question of a query."""
    only(
        select,
        *("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"),
        "with_",
    )
    within = tables.with_views(select.args.get("with_"))
    scope = rows_of(select, within)
    within.check_used(select.args.get("with_"))
    items = _items(select)
    groups = _groups(select, items, scope)
    answers, parts, names = _answers(items, groups, scope)
    question = scope.question
    notes = [f"{label} {answer.note}" for label, answer in answers.items() if answer.note]
    if groups:
        keys, from_where = _keys(groups, scope)
        notes += [f"the groups of {name} are those that WHERE lists" for name in from_where]
        with placed(groups[0].node):
            question = question.group_by(*(group.name for group in groups), keys=keys)
    for label, answer in answers.items():
        with placed(answer.node):
            question = question.agg(**{label: answer.made})
    notes += list(_better_together(question))
    shown = _Shown(scope, groups, {label: each.aggregate for label, each in answers.items()}, items)
    nodes, derived = _labelled(parts, shown, names)
    notes += [
        f"{label} is {formula_words(one)}, computed from the answers" for label, one in derived
    ]
    labels = tuple(nodes) if derived else ()
    made = Arrangement(notes=tuple(notes), derived=derived, labels=labels)
    return _arranged(question, select, replace(shown, nodes=nodes), names, made)


@dataclass(frozen=True)
class _Answer:
    """An aggregate of the text, and of the question."""

    aggregate: SqlAggregate
    made: Any

    @property
    def node(self) -> Any:
        return self.aggregate.node

    @property
    def note(self) -> str:
        return self.aggregate.note


def _items(select: Any) -> list[_Item]:
    items = []
    for node in select.expressions:
        if type(node).__name__ == "Alias":
            only(node, "this", "alias")
            items.append(_Item(node.this, str(node.args["alias"].this)))
        else:
            items.append(_Item(node, ""))
    if len(items) > _MAX_ITEMS:
        refuse(select, f"a select list has at most {_MAX_ITEMS} items")
    if not any(has_aggregate(item.node) for item in items):
        where = items[0].node if items else select
        for item in items:
            refuse_unknown(item.node)
        refuse(
            where,
            "rows of a private table are never shown: ask for aggregates, such as "
            "select site, count(*) from visits group by site",
        )
    return items


def _groups(select: Any, items: Sequence[_Item], scope: Scope) -> list[_Group]:
    clause = select.args.get("group")
    if clause is None:
        return []
    only(clause, "expressions")
    if len(clause.expressions) > _MAX_BY:
        refuse(clause, f"a query has at most {_MAX_BY} grouping columns")
    grouping: list[_Group] = []
    for node in clause.expressions:
        inner, alias = _group_of(node, items, scope)
        if has_aggregate(inner):
            refuse(node, "an aggregate cannot be a grouping column")
        with placed(node):
            grouped = value(inner, scope)
            kind = scope.kind(grouped)
        if kind in ("float", "decimal") and not _has_keys(grouped, scope):
            refuse(
                node,
                f"{kind} values are too many to be groups: cut them, width_bucket(x, 0, 100, 10), "
                "or case when x < 18 then 'minor' else 'adult' end",
            )
        if scope.has_times(grouped):
            refuse(
                node, "days of a column with times cannot be groups: use year(t), month(t), day(t)"
            )
        if grouped.operation == "literal":
            refuse(node, "a constant cannot be a grouping column: name a column")
        wanted = alias or next((i.alias for i in items if i.node == inner), "") or own_name(inner)
        name = scope.name_of(grouped, wanted, node)
        if any(name == other.name for other in grouping):
            refuse(node, "a grouping column is given twice")
        grouping.append(_Group(inner, grouped, name))
    return grouping


def _has_keys(grouped: Expression, scope: Scope) -> bool:
    """True for a column whose whole numbers are listed, by WHERE or by its declaration."""
    name = str(grouped.parameters[0]) if grouped.operation == "col" else None
    keys = name in scope.question.declared.keys
    return keys or (name is not None and bool(listed_keys(name, scope.conditions)))


def _group_of(node: Any, items: Sequence[_Item], scope: Scope) -> tuple[Any, str]:
    """Return the node of a grouping column: an index in the select list, a name, an expression."""
    # A name is that of a column; of an item of the select list where no column has it.
    position = number(node)
    if position is not None:
        if position.denominator != 1 or not 1 <= position <= len(items):
            refuse(node, f"the select list has no item {node.this}")
        return items[int(position) - 1].node, items[int(position) - 1].alias
    if type(node).__name__ == "Column" and node.args.get("table") is None:
        name = plain_name(str(node.this.this))
        known = {plain_name(each) for columns in scope.tables.values() for each in columns}
        alike = [item for item in items if item.alias and plain_name(item.alias) == name]
        if name not in known and alike:
            return alike[0].node, alike[0].alias
    return node, ""


def _answers(
    items: Sequence[_Item], groups: Sequence[_Group], scope: Scope
) -> tuple[dict[str, _Answer], list[tuple[str, _Item]], dict[str, str]]:
    """Return the answers by label, the items with their labels, and the names of groups."""
    # The aggregates in a computed item are answers too.  An item without a name has an empty label.
    answers: dict[str, _Answer] = {}
    parts: list[tuple[str, _Item]] = []
    names: dict[str, str] = {}
    for item in items:
        if not has_aggregate(item.node):
            group = _group_among(item.node, groups, scope)
            if item.alias and item.alias != group.name:
                names[group.name] = item.alias
            continue
        label = item.alias
        if is_aggregate(item.node):
            aggregate = aggregate_of(item.node, scope)
            made = aggregate.aggregate(scope)
            label = label or aggregate.name(made)
            if plain_name(label) in map(plain_name, answers):
                refuse(item.node, f"two items are called {label!r}: name one with AS")
            answers[label] = _Answer(aggregate, made)
        parts.append((label, item))
    known = {each.aggregate.key for each in answers.values()}
    shown = [names.get(group.name, group.name) for group in groups]
    taken = {plain_name(each) for each in (*shown, *(label for label, _ in parts))}
    for label, item in parts:
        for node in () if label in answers else aggregates_of(item.node):
            aggregate = aggregate_of(node, scope)
            if aggregate.key not in known:
                made = aggregate.aggregate(scope)
                own = _free_name(aggregate.name(made), taken)
                answers[own] = _Answer(aggregate, made)
                known.add(aggregate.key)
                taken.add(plain_name(own))
    if len(answers) > _MAX_ITEMS:
        refuse(items[0].node, f"a query has at most {_MAX_ITEMS} aggregates")
    return answers, parts, names


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a free name whose columns, such as ``name_low``, are free too."""
    for nth in itertools.count(1):
        candidate = name if nth == 1 else f"{name}_{nth}"
        if not {plain_name(candidate + end) for end in ("", "_error", "_low", "_high")} & {*taken}:
            return candidate
    raise AssertionError


def _labelled(
    parts: Sequence[tuple[str, _Item]], shown: _Shown, names: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[tuple[str, Expression], ...]]:
    """Return the items by label, and the formulas of those computed from answers."""
    nodes: dict[str, Any] = {}
    derived = []
    for label, item in parts:
        if label not in shown.answers:
            formula = _formula(item.node, shown)
            label = label or formula_words(formula)
            derived.append((label, formula))
        if plain_name(label) in map(plain_name, nodes):
            refuse(item.node, f"two items are called {label!r}: name one with AS")
        nodes[label] = item.node
    by = [names.get(group.name, group.name) for group in shown.groups]
    if {*map(plain_name, nodes)} & {*map(plain_name, by)}:
        refuse(parts[0][1].node, "an answer and a grouping column have one name: name one with AS")
    if derived:
        with placed(parts[0][1].node):
            check_labels([*shown.answers, *(label for label, _ in derived)], by)
    return nodes, tuple(derived)


def _formula(node: Any, shown: _Shown) -> Expression:
    """Return the formula of an item that is computed from answers."""
    with placed(node):
        formula = value(node, shown)
        kind = shown.kind(formula)
    if kind not in ("integer", "float", "decimal"):
        refuse(
            node,
            f"an item that computes with aggregates is a number, and this is of kind {kind}: "
            "conditions on answers belong into HAVING",
        )
    return formula


def _group_among(node: Any, groups: Sequence[_Group], scope: Scope) -> _Group:
    if type(node).__name__ == "Star":
        refuse(node, "* has no translation: rows of a private table are never shown")
    wanted = repr(value(node, scope).to_json())
    for group in groups:
        if repr(group.value.to_json()) == wanted:
            return group
    return refuse(node, "this is neither an aggregate nor a grouping column: put it into GROUP BY")


def _better_together(question: Question) -> Iterator[str]:
    """Yield notes on percentiles of one column that have shorter intervals together."""
    parts = question_parts(question)
    noise: Literal["laplace", "gaussian"] = (
        "gaussian" if parts.ledger.kind == "concentrated" else "laplace"
    )
    aggregates = dict(parts.query.aggregates)
    for labels in shared_percentiles(parts.query.aggregates, parts.query, noise).members.values():
        shares = ", ".join(show(aggregates[label].q / 100) for label in labels)  # type: ignore[operator]
        yield (
            f"{listed(list(labels))} have shorter intervals if they are chosen together: "
            f"quantile_cont({aggregates[labels[0]].column}, [{shares}])"
        )


def _keys(groups: Sequence[_Group], scope: Scope) -> tuple[Any, list[str]]:
    """Return the public keys, and the columns whose keys WHERE lists."""
    # None leaves them to the data set, or to partition selection if it declares none.
    keys: dict[str, Any] = {}
    listed, declared = [], scope.question.declared.keys
    for group in groups:
        conditions = listed_keys(group.name, scope.conditions)
        possible = possible_values(group.value)
        if conditions is not None:
            keys[group.name] = conditions
            listed.append(group.name)
        elif possible is not None:
            keys[group.name] = possible
        elif group.name in declared:
            keys[group.name] = list(declared[group.name])
        else:
            return None, []
    if math.prod(map(len, keys.values())) > _MAX_GROUPS:
        refuse(groups[0].node, f"these are more than {_MAX_GROUPS} groups: group by fewer columns")
    if all(group.name in declared and group.name not in listed for group in groups):
        return None, []
    return keys, listed


@dataclass(frozen=True)
class _Shown:
    """Names in HAVING and ORDER BY: the columns of the answer."""

    scope: Scope
    groups: Sequence[_Group]
    answers: Mapping[str, SqlAggregate]
    items: Sequence[_Item]
    nodes: Mapping[str, Any] = field(default_factory=dict)

    def column(self, node: Any, times: bool = False) -> Expression:
        """Return the column of the answer with a name: a label, or a group."""
        name = node.this
        if type(name).__name__ == "Identifier" and node.args.get("table") is None:
            wanted = str(name.this)
            quoted = name.args.get("quoted")
            for label in self.nodes:
                if label == wanted or (not quoted and plain_name(label) == plain_name(wanted)):
                    return self._one(label, node)
            for item in self.items:
                if item.alias and plain_name(item.alias) == plain_name(wanted):
                    return col(_group_among(item.node, self.groups, self.scope).name)
            for group in self.groups:
                if group.name == wanted:
                    return col(group.name)
        return col(_group_among(node, self.groups, self.scope).name)

    def meaning_of(self, node: Any) -> Expression | None:
        """Return the answer of an aggregate, or the grouping column of an expression."""
        if class_of(node) in AGGREGATES:
            wanted = aggregate_of(node, self.scope).key
            for label, aggregate in self.answers.items():
                if aggregate.key == wanted:
                    return self._one(label, node)
            refuse(node, "put this aggregate into the select list too: each one takes a share")
        for label, known in self.nodes.items():
            if node == known:
                return col(label)
        for group in self.groups:
            if node == group.node:
                return col(group.name)
        return None

    def _one(self, label: str, node: Any) -> Expression:
        """Return the column of an answer that is one number per group."""
        if label in self.answers and self.answers[label].fractions:
            refuse(
                node,
                "groups are ordered and chosen, and answers computed, by one number: ask for one "
                "percentile too",
            )
        return col(label)

    def kind(self, value: Expression) -> str:
        """Return the kind of a value of the answer."""
        kinds = {group.name: self._kind_of(group) for group in self.groups}
        kinds |= dict.fromkeys([*self.answers, *self.nodes], "float")
        return value.kind(Schema([Column(name, kind, kind) for name, kind in kinds.items()]))

    def _kind_of(self, group: _Group) -> str:
        kind = self.scope.question.schema[group.name].kind
        return "text" if kind in ("undeclared", "missing") else kind

    def has_times(self, value: Expression) -> bool:
        """Return False: an answer has no times of day."""
        return False


def _arranged(
    question: Question,
    select: Any,
    shown: _Shown,
    names: Mapping[str, str],
    made: Arrangement,
) -> Question:
    having = select.args.get("having")
    condition = None
    if having is not None:
        only(having, "this")
        with placed(having):
            condition = truth(having.this, shown).true
            shown.kind(condition)
    arrangement = replace(
        made,
        names=tuple(names.items()),
        having=condition,
        order=_order(select.args.get("order"), shown),
        offset=_integer(select.args.get("offset"), "OFFSET") or 0,
        limit=_integer(select.args.get("limit"), "LIMIT"),
    )
    clauses = (
        arrangement.names,
        having,
        arrangement.order,
        arrangement.offset,
        arrangement.limit is not None,
    )
    return question.arranged(arrangement) if any((*clauses, made.notes, made.derived)) else question


def _order(clause: Any, shown: _Shown) -> tuple[Order, ...]:
    if clause is None:
        return ()
    only(clause, "expressions")
    orders = []
    for each in clause.expressions:
        only(each, "this", "desc", "nulls_first")
        node, position = each.this, number(each.this)
        if position is not None:
            if position.denominator != 1 or not 1 <= position <= len(shown.items):
                refuse(each, f"the select list has no item {node.this}")
            node = shown.items[int(position) - 1].node
        with placed(each):
            by = value(node, shown)
            shown.kind(by)
        orders.append(Order(by, bool(each.args.get("desc")), bool(each.args.get("nulls_first"))))
    return tuple(orders)


def _integer(clause_node: Any, clause: str) -> int | None:
    if clause_node is None:
        return None
    only(clause_node, "expression")
    integer = number(clause_node.expression)
    if integer is None or integer.denominator != 1 or not 0 <= integer < 1 << 53:
        refuse(clause_node, f"{clause} takes a whole number, such as {clause} 10")
    return int(integer)


forms(
    "clauses",
    {
        "select site, count(*) as n": "grouping columns and aggregates",
        "select sum(cost) / count(*) as mean, coalesce(round(avg(age), 1), 0) as age": (
            "computed from the noisy answers to the aggregates in it, which are what is released "
            "and paid; with an interval where one follows"
        ),
        "where age >= 18": "session.filter",
        "group by site, month(day) / group by 1 / group by name": "group_by: columns, expressions, "
        "indices in the select list and its names",
        "having count(*) > 10": "groups of the noisy answer; the aggregate is in the select list",
        "order by n desc nulls last, 2": "the order of the noisy answer",
        "limit 10 offset 5": "that many of its groups",
    },
)


# From the text of a query to its question.
#
# The text is never executed: it is parsed, every node and every argument of a node is looked up
# among the forms that are understood, and the question is built through the methods that a user
# calls in Python.  What is not understood is refused before anything is spent.


def question_of(
    text: str,
    names: Sequence[str],
    joins: Sequence[str],
    open: Callable[[str], Question],
) -> Question:
    """Return the question of a query."""
    try:
        return _translated(parse(text), Tables(open, tuple(names), tuple(joins)))
    except RecursionError:
        raise UnsupportedQueryError(
            "the query is nested too deep: name its parts with WITH"
        ) from None


def _translated(tree: Any, tables: Tables) -> Question:
    while type(tree).__name__ == "Subquery":
        only(tree, "this")
        tree = tree.this
    name = type(tree).__name__
    if name in ("Union", "Intersect", "Except"):
        refuse(tree, f"{name.upper()} has no translation: ask each query separately")
    if name != "Select":
        refuse(tree, f"{name.upper()} is not a question: write select count(*) from ...")
    return question_of_select(tree, tables)
