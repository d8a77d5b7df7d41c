"""Operations of expressions, their SQL, and columns without a declared kind."""

from __future__ import annotations

import datetime
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from tacit.errors import UsageError
from tacit.expressions.dialect import (
    GIVES,
    LONGEST_NAME,
    Dialect,
    is_date,
    is_unicode,
    read_cell,
    reading_sql,
)
from tacit.expressions.functions import (
    FAR,
    FUNCTIONS,
    NUMBERS,
    Node,
    constants_of,
    farthest,
    literal_kind,
    written,
)
from tacit.expressions.schema import Schema

# Columns of a table in SQL: as values that nothing fails on, and as what distinguishes values.


# The whole number up to which all are doubles: the farthest key of a column of doubles.
EXACT = 1 << 53
_NO_KEY = 1 << 62
_DECIMAL = re.compile(r"(?:decimal|numeric)(?:\((\d+),\s*(-?\d+)\))?", re.IGNORECASE)


def column_sql(node: Node, schema: Schema, d: Dialect) -> str:
    """Return the SQL of a column's value: NaN and NULL are missing, a decimal is a double."""
    column = schema.column(constants_of(node)[0])
    sql = column.value(d.column(column.name))
    if column.kind == "float":
        return d.not_nan(d.cast(sql, "double"))
    if column.kind == "decimal":
        return d.decimal_to_double(sql, column.declared)
    if column.kind == "missing":
        return "null"
    if column.kind == "date":
        return d.cast(d.time(sql, column.declared), "date")
    return d.cast(sql, "text") if column.kind in ("text", "undeclared") else sql


def has_time(node: Node, side: Node, schema: Schema) -> None:
    """Refuse an operand of ``hour`` and its like that has no time of day."""
    # A column of times is one, or text that is read as such; a date that was computed has lost it.
    # Where the engine's own type is not known (a certificate states kinds alone) any date is one.
    if side.operation in ("read_seconds", "in_zone") or side.parameters == (None,):
        return
    column = schema.column(constants_of(side)[0]) if side.operation == "col" else None
    if column is not None and column.kind == "missing":
        return
    if column is None or column.kind != "date":
        raise UsageError(
            f"{node} needs a column of times; str.to_datetime() reads text as times, and a date "
            "that was computed has no time of day"
        )
    if column.declared != column.kind and not column.declared.upper().startswith("TIMESTAMP"):
        raise UsageError(f"{node} needs a column of times, and {column.name!r} holds only dates")


def seconds_sql(node: Node, schema: Schema, d: Dialect) -> str:
    """Return the SQL of the whole seconds since 1970 of a column of times."""
    column = schema.column(constants_of(node)[0])
    if column.kind == "missing":
        return d.cast("null", "integer")
    value = d.time(column.value(d.column(column.name)), column.declared)
    return d.cast(d.seconds.format(x=value), "integer")


def is_wide(node: Node, schema: Schema) -> bool:
    """Whether a whole number may take more than 64 bits: a choice may take what is chosen."""
    if node.operation == "col":
        declared = schema.column(constants_of(node)[0]).declared.upper()
        return "INT" not in declared.replace("HUGEINT", "")
    if node.operation == "literal":
        return isinstance(node.parameters[0], int) and abs(node.parameters[0]) >= 1 << 63
    chosen = node.operands[-2:] if node.operation in ("when", "fill") else ()
    return any(is_wide(o, schema) for o in chosen)


def compared_sql(
    sides: list[Node], kind: str, parts: list[str], schema: Schema, d: Dialect
) -> list[str]:
    """Return values of one kind so that two of them are equal if and only if they are one value."""
    if kind == "text":
        return [d.as_is.format(x=part) for part in parts]
    if kind != "integer" and not _one_decimal(sides, schema):
        return parts
    return [
        schema.column(constants_of(o)[0]).itself(d.column(constants_of(o)[0]))
        if o.operation == "col"
        else part
        for o, part in zip(sides, parts, strict=True)
    ]


def _one_decimal(sides: list[Node], schema: Schema) -> bool:
    """Whether all of them are columns of one type of decimals, which an engine compares exactly."""
    # Those of different types have no common type that holds both, and are compared as doubles.
    if any(o.operation != "col" for o in sides):
        return False
    columns = [schema.column(constants_of(o)[0]) for o in sides]
    return columns[0].kind == "decimal" and len({c.declared for c in columns}) == 1


def whole_key(value: Any) -> int:
    """Return a number as the key that it is exactly, or one that nobody can list.

    >>> whole_key(3.0), whole_key(3.5) == whole_key(float("inf")) == 1 << 62
    (3, True)
    """
    return int(value) if abs(value) <= EXACT and value % 1 == 0 else _NO_KEY


def whole_key_sql(node: Node, double: str, schema: Schema, d: Dialect) -> str:
    """Return the SQL of :func:`whole_key`: NULL where the number ``double`` is missing."""
    # A whole number is held within 2^53 before it is cast, and is a double then, so that no value
    # can raise; it is equal to the double if and only if that is whole and within the same bounds.
    column = schema.column(constants_of(node)[0]) if node.operation == "col" else None
    typed = _DECIMAL.fullmatch(column.declared) if column and column.kind == "decimal" else None
    if column is not None and typed is not None:
        return _decimal_key(column.itself(d.column(column.name)), column.declared, typed, d)
    low, high = d.literal(-float(EXACT)), d.literal(float(EXACT))

    def key(x: str) -> str:
        whole = d.cast(f"floor(greatest(least({x}, {high}), {low}))", "integer")
        same = f"{d.cast(whole, 'double')} = {x}"
        return f"(case when {same} then {whole} when {x} is not null then {d.literal(_NO_KEY)} end)"

    return d.share(double, key)


def _decimal_key(sql: str, declared: str, typed: re.Match[str], d: Dialect) -> str:
    """Return the same of a decimal, all of whose digits count: its remainder of 1 is exact."""
    # The literals fit its type by their digits, so that no cast can raise.
    before = int(typed[1]) - int(typed[2]) if typed[1] else len(str(EXACT))
    far = min(EXACT, 10 ** max(before, 0) - 1)
    zero, one, low, high = (f"cast('{n}' as {declared})" for n in (0, 1, -far, far))
    whole = f"{sql} = {zero}" if far < 1 else f"{sql} % {one} = {zero}"
    inside = f"{sql} between {low} and {high} and {whole}"
    key = d.cast(sql, "integer")
    return f"(case when {inside} then {key} when {sql} is not null then {d.literal(_NO_KEY)} end)"


def key_part_sql(
    node: Node, part_kind: str, schema: Schema, d: Dialect, *, listed: bool = False
) -> str:
    """Return the SQL of a part of the key: what cannot be written as a key is missing."""
    # listed: whether it is only compared with keys that are listed, none of them None: a text that
    #   is too long for a key equals none of them as it is.
    #
    # A date outside the years 1 to 9999 (or infinite), a whole number of more than 126 bits, bytes
    # that are no Unicode and a text of more than 65,536 bytes would come out of the engine as
    # another key, or as none that a query can be asked for.  What remains is carried to Python as
    # it is: two values are one key in the engine if and only if they are in Python.
    read = with_readings(node, schema)
    kind(read, schema)
    sql = render(read, schema, d)
    if part_kind == "text":
        sql = d.unicode.format(x=sql)
        return d.as_is.format(x=sql) if listed and d.compares_any_length else d.name_of(sql)
    if node.operation in {*GIVES, "whole_key"}:  # within these ends on its own
        return sql
    if part_kind == "date":
        ends: tuple[Any, Any] = (datetime.date.min, datetime.date.max)
    elif part_kind == "integer" and not is_narrow(node, schema):
        ends = (1 - (1 << 126), (1 << 126) - 1)
    else:
        return sql
    low, high = map(d.literal, ends)
    return f"case when {sql} between {low} and {high} then {sql} end"


def is_narrow(node: Node, schema: Schema) -> bool:
    """True if an integer is a column of an engine's type of at most 64 bits."""
    if node.operation != "col":
        return False
    declared = schema.column(constants_of(node)[0]).declared.upper()
    return declared.removeprefix("U") in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")


def holds_only_keys(node: Node, schema: Schema) -> bool:
    """Return whether each value of a column that is not missing can be written as a key."""
    column = schema.column(constants_of(node)[0]) if node.operation == "col" else None
    simple = column is not None and column.kind in ("boolean", "float", "decimal", "missing")
    return simple or is_narrow(node, schema)


def is_key(value: Any) -> bool:
    """Return whether a value can be written as a key; see :func:`key_part_sql`.

    >>> is_key("a"), is_key(1 << 126), is_key(None)
    (True, False, False)
    """
    if isinstance(value, str):
        return is_unicode(value) and len(value.encode()) <= LONGEST_NAME
    if isinstance(value, int):
        return abs(value) < 1 << 126
    return value is not None


# What each operation of an expression means: its kind, its SQL, and its value in Python.
#
# The three tables stand side by side so that one page shows that they say the same.  Conditions
# render as two-valued booleans: :func:`render` never lets a NULL truth value out.


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
# Kinds that a cast leaves as they are: the double nearest to a number, and truth values.
_ALREADY = {"read_number": NUMBERS[:3], "read_boolean": ("boolean",)}
_DECIDED = {*_COMPARE, "is_in", "is_null", "no_key", "starts_with", "&", "|", "~", *_TRUE_OR_FALSE}
_ARITY = {
    **dict.fromkeys(("col", "literal"), (0, 1)),
    **dict.fromkeys((*_COMPARE, *_ARITHMETIC, "&", "|", "starts_with", "fill"), (2, 0)),
    **dict.fromkeys(("~", "is_null", "no_key", "abs", "whole_key", *GIVES), (1, 0)),
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
            f"{written(node.operation)!r} in {node} needs a value of kind {' or '.join(wanted)}, "
            f"not {given}"
        )


def _together(node: Node, kinds: list[str]) -> str:
    """Return the common kind of values that stand side by side, or refuse."""
    present = [k for k in kinds if k != "missing"]
    if len({_family(k) for k in present}) > 1 or "other" in present:
        remedy = ""
        if {_family(k) for k in present} == {"number", "text"}:
            remedy = ": write a number without quotes and a text in them, or read a column of text "
            remedy += "as numbers, cast(float)"
        raise UsageError(f"{node} mixes values of kind {' and '.join(present)}{remedy}")
    if len(set(present)) == 1:
        return present[0]
    return "float" if present else "missing"


def _sides(node: Node, schema: Schema, cache: dict[int, str]) -> list[Node]:
    """Return the operands, with the text of dates read as dates where they are compared."""
    compared = node.operation in _COMPARE or node.operation == "is_in"
    dates = compared and any(kind(o, schema, cache) == "date" for o in node.operands)
    return [_dated(o, "date") if dates else o for o in node.operands]


def _of_any_type(node: Node, schema: Schema) -> bool:
    """Whether a node is a column that no statistic reads, of which it is known what is missing."""
    if node.operation != "col":
        return False
    column = schema.column(constants_of(node)[0])
    return column.kind == "other" and bool(column.reads)


def kind(node: Node, schema: Schema, cache: dict[int, str] | None = None) -> str:
    """Return the kind of a node, checking every operand; ``found`` has what is known of some."""
    cache = {} if cache is None else cache
    if not node.operands:
        return _kind(node, schema, cache)
    if id(node) not in cache:  # leaves are left out: those of dates do not live as long as this
        cache[id(node)] = _kind(node, schema, cache)
    return cache[id(node)]


def _kind(node: Node, schema: Schema, cache: dict[int, str]) -> str:
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
    sides = _sides(node, schema, cache)
    kinds = [kind(o, schema, cache) for o in sides]
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
    if name in ("is_null", "no_key"):
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
        _fit(node, ("text", "undeclared", *_ALREADY.get(name, ())), kinds[0])
        return GIVES[name]
    if name == "starts_with":
        for k in kinds:
            _fit(node, ("text",), k)
        return "boolean"
    if name == "when":
        _fit(node, ("boolean",), kinds[0])
        return _together(node, kinds[1:])
    return _together(node, kinds)  # fill


def render(node: Node, schema: Schema, d: Dialect, cache: dict[int, str] | None = None) -> str:
    """Return the SQL of a node whose kinds were checked; ``found`` as in :func:`kind`."""
    name, cache = node.operation, {} if cache is None else cache
    if name == "col":
        return column_sql(node, schema, d)
    if name == "literal":
        return d.literal(node.parameters[0])
    if name == "is_null" and _of_any_type(node.operands[0], schema):
        return f"({column_sql(node.operands[0], schema, d)} is null)"
    sides = _sides(node, schema, cache)
    kinds = [kind(o, schema, cache) for o in sides]
    parts = [render(o, schema, d, cache) for o in sides]
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
    if name == "no_key":
        return f"({key_part_sql(sides[0], kinds[0], schema, d)} is null)"
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
    if kinds[0] in _ALREADY.get(name, ()):
        return doubles[0] if name == "read_number" else parts[0]
    if name in GIVES:
        return reading_sql(name, _cell(name, sides[0], d.cast(parts[0], "text"), schema), d)
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


def _cell(reading: str, node: Node, text: str, schema: Schema) -> str:
    """Return the text that is read: of a column with signs of its own, a number with a point."""
    if node.operation != "col" or reading not in _OF_NUMBERS:
        return text
    return schema.column(constants_of(node)[0]).number_text(text)


_OF_NUMBERS = ("read_number", "read_integer", "read_numeric", "read_whole")


def _truth(node: Node, sql: str) -> str:
    """Return a condition that is never NULL, as most are by themselves."""
    return sql if node.operation in _DECIDED else f"coalesce({sql}, false)"


def _clip(sql: str, low: float, high: float, d: Dialect) -> str:
    def inside(x: str) -> str:
        clamped = f"greatest(least({x}, {d.literal(high)}), {d.literal(low)})"
        return f"(case when {x} is not null then {clamped} end)"

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
    call = function.sql(d, given, node.parameters)
    return f"coalesce({call}, false)" if function.gives == "boolean" else call


def _render_arithmetic(name: str, doubles: list[str], near: list[bool], d: Dialect) -> str:
    if name in ("+", "-"):
        both = zip(doubles, near, strict=True)
        x, y = (side if small else _clip(side, -FAR, FAR, d) for side, small in both)
        return f"({x} {name} {y})"
    smallest, zero = d.literal(1 / FAR), d.literal(0.0)

    def clipped(x: str) -> str:
        inside = f"greatest(least({x}, {d.literal(FAR)}), {d.literal(-FAR)})"
        return (
            f"(case when abs({x}) >= {smallest} then {inside} when {x} is not null then {zero} end)"
        )

    x, y = (d.share(side, clipped) for side in doubles)
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


def _clamp(value: float, low: float, high: float) -> float:
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
    if name == "no_key":
        return not is_key(x)
    if name in _ARITHMETIC:
        return _evaluate_arithmetic(name, _double(x), _double(y))
    if name == "abs":
        return None if x is None else abs(float(x))
    if name == "clamp":
        return None if x is None else _clamp(float(x), *constants_of(node))
    if name == "cut":
        return _evaluate_cut(_double(x), *constants_of(node))
    if name == "starts_with":
        return x is not None and y is not None and x.startswith(y)
    if name in FUNCTIONS:
        return _evaluate_function(node, values, row)
    if name == "whole_key":
        raw = row[constants_of(node.operands[0])[0]] if node.operands[0].operation == "col" else x
        return None if x is None else whole_key(raw)
    if name in _ALREADY and x is not None and not isinstance(x, str):
        return float(x) if name == "read_number" else x
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
    x, y = _clamp(x, -FAR, FAR), _clamp(y, -FAR, FAR)
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


# Undeclared columns: the question says how their cells are read, never the rows.
#
# A column of a CSV file, or one of Python objects, that nobody declared is text.  Where a question
# needs something else of it, :func:`with_readings` writes down the reading as an operation of its
# own (:mod:`tacit.expressions.dialect`):
#
# - in arithmetic, ``abs``, ``clamp`` and ``cut``, in a statistic of numbers, and beside a number,
#   it is a number, or true or false as 1 or 0;
# - beside a date, or beside text that is a date such as ``"2024-12-31"``, and in ``year`` and its
#   like, it is a date, of which ``year`` and ``month`` need their part alone; in ``hour`` and its
#   like, a time;
# - beside true or false, in ``&``, ``|`` and ``~``, as a condition, it is a truth value;
# - as a group, it is what the public keys are: whole numbers, dates (also those written as text),
#   truth values or text;
# - else it is the text itself.
#
# The readings follow from the expression and the declared kinds alone.  A column that is declared
# as text is never read as anything else by itself.
#
# A column of doubles or decimals is grouped by public keys alone, and these are whole numbers: a
# value is in the group of a key where it is that number exactly (``whole_key``).


_N = TypeVar("_N", bound=Node)

_READINGS = {
    "text": "read_text",
    **dict.fromkeys(("integer", "float", "decimal"), "read_numeric"),
    "boolean": "read_boolean",
    "date": "read_date",
}
_ORDERED = {"<", "<=", ">", ">="}
_BESIDE = {"==", "!=", "is_in", *_ORDERED}
_TAKES = {
    **dict.fromkeys(("+", "-", "*", "/", "abs", "clamp", "cut"), "read_numeric"),
    **dict.fromkeys(("&", "|", "~"), "read_boolean"),
    "starts_with": "read_text",
    **{name: function.reading for name, function in FUNCTIONS.items()},
    "year": "read_year",
    **dict.fromkeys(("month", "quarter"), "read_month"),
}
_EXACT = 1 << 53
_KEY_READINGS: tuple[tuple[Any, str], ...] = (
    (bool, "read_boolean"),
    ((int, float), "read_whole"),
)


def has_undeclared(node: Node, schema: Schema) -> bool:
    """Whether an expression reads a column that nobody declared."""
    return any(n in schema and schema[n].kind == "undeclared" for n in node.columns())


def read_as(node: _N, reading: str, schema: Schema) -> _N:
    """Return an expression with its reading, where it is undeclared."""
    return _read(with_readings(node, schema), reading, schema)


def with_readings(node: _N, schema: Schema) -> _N:
    """Return the expression with the readings of undeclared columns written down.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column, Schema
    >>> people = Schema([Column(name, "undeclared", "VARCHAR") for name in ("age", "born", "sex")])
    >>> print(with_readings((col("age") >= 18) & (col("born") < "2000-01-01"), people))
    ((read_numeric(age) >= 18) & (born.str.to_date() < '2000-01-01'))
    >>> print(with_readings(col("sex") == "f", people))
    (read_text(sex) == 'f')
    """
    if not has_undeclared(node, schema) or not node.operands:
        return node
    sides = tuple(with_readings(o, schema) for o in node.operands)
    name = node.operation
    if name in _BESIDE:
        sides = _undeclared_columns_alike(node, sides, schema)
    elif name in ("when", "fill"):
        first = 1 if name == "when" else 0
        condition = tuple(_read(o, "read_boolean", schema) for o in sides[:first])
        sides = (*condition, *_undeclared_columns_alike(node, sides[first:], schema))
    elif name in _TAKES:
        sides = tuple(_read(o, _TAKES[name], schema) for o in sides)
    return type(node)(name, sides, node.parameters)


def as_keys(by: Mapping[str, _N], keys: Iterable[Any] | None, schema: Schema) -> dict[str, _N]:
    """Return grouping columns, those that are undeclared read as the public keys are.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column, Schema
    >>> as_keys({"y": col("year")}, [2020, 2021], Schema([Column("year", "undeclared", "VARCHAR")]))
    {'y': read_whole(year)}
    """
    # keys: one tuple per group, or one value where there is one column; None where they are
    #   unknown, which are text then.
    rows = [key if isinstance(key, (tuple, list)) else (key,) for key in keys or ()]
    groups = {}
    for index, (name, expression) in enumerate(by.items()):
        parts = [row[index] for row in rows if index < len(row)]
        group = _read(with_readings(expression, schema), key_reading(parts), schema)
        if parts and kind(group, schema) in ("float", "decimal"):
            group = type(group)("whole_key", (group,))
        groups[name] = group
    return groups


def key_reading(parts: Iterable[Any]) -> str:
    """Return how cells are read that are compared with public keys.

    >>> key_reading([1, None]), key_reading(["2024-01-31"]), key_reading(["a", "2024-01-31"])
    ('read_whole', 'read_date', 'read_text')
    """
    plain = [part.item() if hasattr(part, "item") else part for part in parts]
    given = [part for part in plain if part is not None and part == part]
    for kinds, reading in _KEY_READINGS:
        if given and all(isinstance(part, kinds) for part in given):
            return reading
    days = (isinstance(part, datetime.date) or _is_day_text(part) for part in given)
    return "read_date" if given and all(days) else "read_text"


def readings_in(node: Node) -> Iterator[tuple[str, str]]:
    """Yield each column that an expression reads, with the reading; see :func:`with_readings`."""
    for operand in node.operands:
        if node.operation in GIVES and operand.operation == "col":
            yield str(operand.parameters[0]), node.operation
        yield from readings_in(operand)


def equals_in(node: Node) -> Iterator[tuple[str, object]]:
    """Yield each column that an expression compares for equality, with the public value."""
    if node.operation in ("==", "!=", "is_in"):
        columns = [constants_of(o)[0] for o in node.operands if o.operation == "col"]
        values = [constants_of(o)[0] for o in node.operands if o.operation == "literal"]
        yield from itertools.product(columns[:1], values)
    for operand in node.operands:
        yield from equals_in(operand)


def _read(node: _N, reading: str, schema: Schema) -> _N:
    return type(node)(reading, (node,)) if kind(node, schema) == "undeclared" else node


def _undeclared_columns_alike(
    node: Node, sides: Sequence[Node], schema: Schema
) -> tuple[Node, ...]:
    """Read what is undeclared as the values are that it stands beside."""
    known = [side for side in sides if kind(side, schema) not in ("undeclared", "missing")]
    kinds = {kind(side, schema) for side in known}
    compared = node.operation in _BESIDE
    if compared and known and all(map(_is_day, known)):
        kinds = {"date"}
    if node.operation in _ORDERED and not kinds:
        raise UsageError(
            f"{node} orders columns whose kind is not declared: declare it with types=, or say "
            "how to read them, as in tc.col(...).cast(float)"
        )
    readings = {_READINGS[kind] for kind in kinds if kind in _READINGS}
    if compared and not kinds:
        readings = {"read_text"}
    if len(readings) != 1:  # none is known, or they do not fit together, which is refused elsewhere
        return tuple(sides)
    reading = readings.pop()
    if compared and reading == "read_numeric" and any(map(_is_far, known)):
        raise UsageError(
            f"{node} compares a column whose kind is not declared with a whole number above "
            "2^53, which doubles cannot represent exactly: declare it with types=, as an integer"
        )
    return tuple(_read(side, reading, schema) for side in sides)


def _is_day(node: Node) -> bool:
    return node.operation == "literal" and _is_day_text(node.parameters[0])


def _is_day_text(value: Any) -> bool:
    return isinstance(value, str) and is_date(value)


def _is_far(node: Node) -> bool:
    value = node.parameters[0] if node.operation == "literal" else None
    return isinstance(value, int) and abs(value) > _EXACT
