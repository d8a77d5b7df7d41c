"""Columns of a table in SQL: as values that nothing fails on, and as what distinguishes values."""

from __future__ import annotations

import re
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.node import Node, constants_of
from tacit.expressions.schema import Schema

__all__ = [
    "EXACT",
    "column_sql",
    "compared_sql",
    "has_time",
    "is_wide",
    "seconds_sql",
    "whole_key",
    "whole_key_sql",
]

EXACT = 1 << 53
"""The whole number up to which all are doubles: the farthest key of a column of doubles."""
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
    """Refuse an operand of ``hour`` and its like that has no time of day.

    A column of times is one, or text that is read as such; a date that was computed has lost it.
    Where the engine's own type is not known (a certificate states kinds alone) any date is one.

    Raises:
        UsageError: it has none.
    """
    if side.operation in ("read_seconds", "in_zone") or side.parameters == (None,):
        return
    column = schema.column(constants_of(side)[0]) if side.operation == "col" else None
    if column is not None and column.kind == "missing":
        return
    if column is None or column.kind != "date":
        raise UsageError(
            f"{node} needs a column of times; read_time() reads text as times, and a date that "
            "was computed has no time of day"
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
    """Whether all of them are columns of one type of decimals, which an engine compares exactly.

    Those of different types have no common type that holds both, and are compared as doubles.
    """
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
    """Return the SQL of :func:`whole_key`: NULL where the number ``double`` is missing.

    A whole number is held within 2^53 before it is cast, and is a double then, so that no value can
    raise; it is equal to the double if and only if that is whole and within the same bounds.
    """
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
    """Return the same of a decimal, all of whose digits count: its remainder of 1 is exact.

    The literals fit its type by their digits, so that no cast can raise.
    """
    before = int(typed[1]) - int(typed[2]) if typed[1] else len(str(EXACT))
    far = min(EXACT, 10 ** max(before, 0) - 1)
    zero, one, low, high = (f"cast('{n}' as {declared})" for n in (0, 1, -far, far))
    whole = f"{sql} = {zero}" if far < 1 else f"{sql} % {one} = {zero}"
    inside = f"{sql} between {low} and {high} and {whole}"
    key = d.cast(sql, "integer")
    return f"(case when {inside} then {key} when {sql} is not null then {d.literal(_NO_KEY)} end)"
