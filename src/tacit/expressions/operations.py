"""What each operation of an expression means: its kind, its SQL, and its value in Python.

The three tables stand side by side so that one page shows that they say the same.  Conditions
render as two-valued booleans: :func:`render` never lets a NULL truth value out.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.cell_grammar import GIVES, read_cell, reading_sql
from tacit.expressions.column_sql import (
    column_sql,
    compared_sql,
    has_time,
    is_wide,
    seconds_sql,
    whole_key,
    whole_key_sql,
)
from tacit.expressions.dialect import Dialect
from tacit.expressions.functions.table import FUNCTIONS
from tacit.expressions.node import FAR, NUMBERS, Node, constants_of, farthest, literal_kind
from tacit.expressions.schema import Schema

__all__ = ["evaluate", "kind", "known", "render"]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_TRUE_OR_FALSE = {name for name, f in FUNCTIONS.items() if f.gives == "boolean"}
_DECIDED = {*_COMPARE, "is_in", "is_null", "starts_with", "&", "|", "~", *_TRUE_OR_FALSE}
_ARITY = {
    **dict.fromkeys(("col", "literal"), (0, 1)),
    **dict.fromkeys((*_COMPARE, *_ARITHMETIC, "&", "|", "starts_with", "fill"), (2, 0)),
    **dict.fromkeys(("~", "is_null", "abs", "whole_key", *GIVES), (1, 0)),
    **{name: (f.operands, len(f.checks)) for name, f in FUNCTIONS.items()},
    "clamp": (1, 2),
    "cut": (1, 2),
    "when": (3, 0),
}


def known(node: Node) -> None:
    """Refuse an operation that does not exist, or one with operands missing."""
    arity = _ARITY.get(node.operation)
    shape = (len(node.operands), len(node.parameters))
    if node.operation == "is_in":
        arity = (max(shape[0], 1), 0)
    if arity != shape:
        raise UsageError(f"{node.operation!r} is not an operation, or its parts are missing")
    if node.operation in FUNCTIONS:
        FUNCTIONS[node.operation].check(node.operation, node.parameters)


def _date(text: object) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(str(text))
    except ValueError:
        return None


def _dated(node: Node, other: str) -> Node:
    """Read the text of a literal that stands against a date as a date."""
    if other == "date" and node.operation == "literal" and isinstance(node.parameters[0], str):
        day = _date(node.parameters[0])
        if day is None:
            raise UsageError(f"{node.parameters[0]!r} is not a date such as '2024-12-31'")
        return Node("literal", (), (day,))
    return node


def _family(kind: str) -> str:
    return "number" if kind in ("integer", "float", "decimal") else kind


def _fit(node: Node, wanted: tuple[str, ...], given: str) -> None:
    if given not in wanted and given != "missing":
        raise UsageError(
            f"{node.operation!r} in {node} needs a value of kind {' or '.join(wanted)}, not {given}"
        )


def _together(node: Node, kinds: list[str]) -> str:
    """Return the common kind of values that stand side by side, or refuse."""
    present = [k for k in kinds if k != "missing"]
    if len({_family(k) for k in present}) > 1 or "other" in present:
        raise UsageError(f"{node} mixes values of kind {' and '.join(present)}")
    if len(set(present)) == 1:
        return present[0]
    return "float" if present else "missing"


def _sides(node: Node, schema: Schema, found: dict[int, str]) -> list[Node]:
    """Return the operands, with the text of dates read as dates where they are compared."""
    compared = node.operation in _COMPARE or node.operation == "is_in"
    dates = compared and any(kind(o, schema, found) == "date" for o in node.operands)
    return [_dated(o, "date") if dates else o for o in node.operands]


def _of_any_type(node: Node, schema: Schema) -> bool:
    """Whether a node is a column that no statistic reads, of which it is known what is missing."""
    if node.operation != "col":
        return False
    column = schema.column(constants_of(node)[0])
    return column.kind == "other" and bool(column.reads)


def kind(node: Node, schema: Schema, found: dict[int, str] | None = None) -> str:
    """Return the kind of a node, checking every operand; ``found`` has what is known of some."""
    found = {} if found is None else found
    if not node.operands:
        return _kind(node, schema, found)
    if id(node) not in found:  # leaves are left out: those of dates do not live as long as this
        found[id(node)] = _kind(node, schema, found)
    return found[id(node)]


def _kind(node: Node, schema: Schema, found: dict[int, str]) -> str:
    name = node.operation
    if name == "col":
        column = schema.column(constants_of(node)[0])
        if column.kind == "other":
            problem = column.problem or (
                f"has the type {column.declared}, which has no place in a private statistic; cast "
                "it in the source"
            )
            raise UsageError(f"the column {column.name!r} {problem}")
        return "float" if column.kind == "decimal" else column.kind
    if name == "literal":
        return literal_kind(node.parameters[0])
    if name == "is_null" and _of_any_type(node.operands[0], schema):
        return "boolean"
    sides = _sides(node, schema, found)
    kinds = [kind(o, schema, found) for o in sides]
    if name in _COMPARE or name == "is_in":
        common = _together(node, kinds)
        if name not in ("==", "!=", "is_in"):
            _fit(node, ("integer", "float", "decimal", "date"), common)
        if name == "is_in" and "missing" in kinds[1:]:
            raise UsageError(f"{node}: is_in takes no None; use is_null()")
        return "boolean"
    if name in ("&", "|", "~"):
        for k in kinds:
            _fit(node, ("boolean",), k)
        return "boolean"
    if name == "is_null":
        return "boolean"
    if name in _ARITHMETIC or name in ("clamp", "abs"):
        for k in kinds:
            _fit(node, NUMBERS[:3], k)
        return "float"
    if name in ("cut", "whole_key"):
        _fit(node, NUMBERS[:4] if name == "cut" else NUMBERS[:3], kinds[0])
        return "text" if name == "cut" else "integer"
    if name in FUNCTIONS:
        for side, k in zip(sides, kinds, strict=True):
            if FUNCTIONS[name].form == "seconds":
                has_time(node, side, schema)
            else:
                _fit(node, FUNCTIONS[name].takes, k)
        return FUNCTIONS[name].gives
    if name in GIVES:
        _fit(node, ("text", "undeclared"), kinds[0])
        return GIVES[name]
    if name == "starts_with":
        for k in kinds:
            _fit(node, ("text",), k)
        return "boolean"
    if name == "when":
        _fit(node, ("boolean",), kinds[0])
        return _together(node, kinds[1:])
    return _together(node, kinds)  # fill


def render(node: Node, schema: Schema, d: Dialect, found: dict[int, str] | None = None) -> str:
    """Return the SQL of a node whose kinds were checked; ``found`` as in :func:`kind`."""
    name, found = node.operation, {} if found is None else found
    if name == "col":
        return column_sql(node, schema, d)
    if name == "literal":
        return d.literal(node.parameters[0])
    if name == "is_null" and _of_any_type(node.operands[0], schema):
        return f"({column_sql(node.operands[0], schema, d)} is null)"
    sides = _sides(node, schema, found)
    kinds = [kind(o, schema, found) for o in sides]
    parts = [render(o, schema, d, found) for o in sides]
    doubles = [
        d.to_double(p, wide=k == "integer" and is_wide(o, schema))
        for p, k, o in zip(parts, kinds, sides, strict=True)
    ]
    if name in _COMPARE or name == "is_in":
        if "missing" in kinds:
            return "false"
        exact = len(set(kinds)) == 1
        left, *right = compared_sql(sides, kinds[0], parts, schema, d) if exact else doubles
        if name == "is_in":
            return f"coalesce({left} in ({', '.join(right)}), false)" if right else "false"
        sign = {"==": "=", "!=": "<>"}.get(name, name)
        return f"coalesce({left} {sign} {right[0]}, false)"
    if name in ("&", "|"):
        left, last = map(_truth, node.operands, parts)
        return f"({left} {'and' if name == '&' else 'or'} {last})"
    if name == "~":
        return f"(not {_truth(node.operands[0], parts[0])})"
    if name == "is_null":
        return f"({parts[0]} is null)"
    if name in _ARITHMETIC:
        return _render_arithmetic(name, doubles, [farthest(o) <= FAR for o in node.operands], d)
    if name == "abs":
        return f"abs({doubles[0]})"
    if name == "clamp":
        return _clip(doubles[0], constants_of(node)[0], constants_of(node)[1], d)
    if name == "cut":
        number = doubles[0]
        if kinds[0] == "boolean":  # 0 or 1, as in a sum or a histogram
            number = d.to_double(d.zero_or_one.format(x=parts[0]))
        return _render_cut(number, constants_of(node)[0], constants_of(node)[1], d)
    if name == "whole_key":
        return whole_key_sql(sides[0], doubles[0], schema, d)
    if name in GIVES:
        return reading_sql(name, d.cast(parts[0], "text"), d)
    if name in FUNCTIONS:
        return _render_function(
            node, list(zip(sides, kinds, parts, doubles, strict=True)), schema, d
        )
    if name == "starts_with":
        return f"coalesce({d.starts_with.format(x=parts[0], y=parts[1])}, false)"
    chosen = parts[-2:]
    if len(set(kinds[-2:]) - {"missing"}) > 1:
        chosen = doubles[-2:]
    if name == "when":
        first = _truth(node.operands[0], parts[0])
        return f"(case when {first} then {chosen[0]} else {chosen[1]} end)"
    return f"coalesce({chosen[0]}, {chosen[1]})"


def _truth(node: Node, sql: str) -> str:
    """Return a condition that is never NULL, as most are by themselves."""
    return sql if node.operation in _DECIDED else f"coalesce({sql}, false)"


def _clip(sql: str, low: float, high: float, d: Dialect) -> str:
    def inside(x: str) -> str:
        held = f"greatest(least({x}, {d.literal(high)}), {d.literal(low)})"
        return f"(case when {x} is not null then {held} end)"

    return d.share(sql, inside)


def _render_function(
    node: Node, sides: list[tuple[Node, str, str, str]], schema: Schema, d: Dialect
) -> str:
    function = FUNCTIONS[node.operation]
    given = []
    for side, k, part, double in sides:
        if function.form == "seconds" and side.operation == "col":
            part = seconds_sql(side, schema, d)
        elif function.form in ("text", "date"):
            part = d.cast(part, function.form)
        elif function.form == "double":
            part = double
        elif k == "missing":
            part = d.cast(part, "integer")
        given.append(part)
    found = function.sql(d, given, node.parameters)
    return f"coalesce({found}, false)" if function.gives == "boolean" else found


def _render_arithmetic(name: str, doubles: list[str], near: list[bool], d: Dialect) -> str:
    if name in ("+", "-"):
        both = zip(doubles, near, strict=True)
        x, y = (side if small else _clip(side, -FAR, FAR, d) for side, small in both)
        return f"({x} {name} {y})"
    least, zero = d.literal(1 / FAR), d.literal(0.0)

    def held(x: str) -> str:
        inside = f"greatest(least({x}, {d.literal(FAR)}), {d.literal(-FAR)})"
        return f"(case when abs({x}) >= {least} then {inside} when {x} is not null then {zero} end)"

    x, y = (d.share(side, held) for side in doubles)
    return f"({x} * {y})" if name == "*" else f"({x} / nullif({y}, {zero}))"


def _render_cut(sql: str, edges: tuple[float, ...], labels: tuple[str, ...], d: Dialect) -> str:
    def cut(x: str) -> str:
        arms = [f"when {x} < {d.literal(edges[0])} then null"]
        for edge, label in zip(edges[1:-1], labels[:-1], strict=True):
            arms.append(f"when {x} < {d.literal(edge)} then {d.literal(label)}")
        arms.append(f"when {x} <= {d.literal(edges[-1])} then {d.literal(labels[-1])}")
        return f"(case {' '.join(arms)} end)"

    return d.share(sql, cut)


# ---- the same in Python


def _held(value: float, low: float, high: float) -> float:
    return max(min(value, high), low)


def _column(value: Any) -> Any:
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value != value:
        return None
    return value.date() if isinstance(value, datetime.datetime) else value


def _double(value: Any) -> float | None:
    return None if value is None else float(value)


def evaluate(node: Node, row: Mapping[str, Any]) -> Any:
    """Return the value of a node on one row of Python values; None is missing."""
    name = node.operation
    if name == "col":
        return _column(row[constants_of(node)[0]])
    if name == "literal":
        return node.parameters[0]
    values = [evaluate(o, row) for o in node.operands]
    compared = name in _COMPARE or name == "is_in"
    if compared and any(isinstance(v, datetime.date) for v in values):
        values = [_date(v) if isinstance(v, str) else v for v in values]
    x, y = values[0], values[1] if len(values) > 1 else None
    if compared and all(o.operation == "col" for o in node.operands) and None not in values:
        raw = [row[constants_of(o)[0]] for o in node.operands]
        if all(isinstance(v, Decimal) for v in raw):
            values, x, y = raw, raw[0], raw[1]
    if name in _COMPARE:
        return x is not None and y is not None and _COMPARE[name](*_same(x, y))
    if name == "is_in":
        return x is not None and any(operator.eq(*_same(x, v)) for v in values[1:])
    if name in ("&", "|"):
        return bool(x) and bool(y) if name == "&" else bool(x) or bool(y)
    if name in ("~", "is_null"):
        return not x if name == "~" else x is None
    if name in _ARITHMETIC:
        return _evaluate_arithmetic(name, _double(x), _double(y))
    if name == "abs":
        return None if x is None else abs(float(x))
    if name == "clamp":
        return None if x is None else _held(float(x), *constants_of(node))
    if name == "cut":
        return _evaluate_cut(_double(x), *constants_of(node))
    if name == "starts_with":
        return x is not None and y is not None and x.startswith(y)
    if name in FUNCTIONS:
        return _evaluate_function(node, values, row)
    if name == "whole_key":
        raw = row[constants_of(node.operands[0])[0]] if node.operands[0].operation == "col" else x
        return None if x is None else whole_key(raw)
    if name in GIVES:
        return read_cell(name, x)
    if name == "fill":
        return _alike(y if x is None else x, x, y)
    return _alike(y if x else values[2], y, values[2])


def _same(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two numbers of different kinds as doubles."""
    return (x, y) if type(x) is type(y) else (_number(x), _number(y))


def _number(x: Any) -> Any:
    return x if isinstance(x, (str, datetime.date)) else float(x)


def _alike(chosen: Any, x: Any, y: Any) -> Any:
    """Return the chosen of two values as a double where their kinds differ."""
    return chosen if x is None or y is None or type(x) is type(y) else _double(chosen)


def _evaluate_arithmetic(name: str, x: float | None, y: float | None) -> float | None:
    if x is None or y is None:
        return None
    x, y = _held(x, -FAR, FAR), _held(y, -FAR, FAR)
    if name in ("*", "/"):
        x, y = (0.0 if abs(side) < 1 / FAR else side for side in (x, y))
    if name == "/" and y == 0:
        return None
    return _ARITHMETIC[name](x, y)


def _evaluate_cut(x: float | None, edges: tuple[float, ...], labels: tuple[str, ...]) -> str | None:
    if x is None or x < edges[0] or x > edges[-1]:
        return None
    return labels[min(sum(x >= e for e in edges), len(labels)) - 1]


def _evaluate_function(node: Node, values: list[Any], row: Mapping[str, Any]) -> Any:
    function = FUNCTIONS[node.operation]
    if function.form == "seconds":
        values = [
            _seconds(row[constants_of(o)[0]]) if o.operation == "col" else v
            for o, v in zip(node.operands, values, strict=True)
        ]
    if None in values:
        return False if function.gives == "boolean" else None
    given = [float(v) for v in values] if function.form == "double" else values
    return function.value(*given, *node.parameters)


def _seconds(time: Any) -> int | None:
    """Return the whole seconds since 1970 of a time, rounded down; a date is its first second."""
    if not isinstance(time, datetime.date):
        return None
    if not isinstance(time, datetime.datetime):
        time = datetime.datetime(time.year, time.month, time.day)
    seconds: int = (time - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    return seconds
