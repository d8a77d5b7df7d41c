"""Undeclared columns: the question says how their cells are read, never the rows.

A column of a CSV file, or one of Python objects, that nobody declared is text.  Where a question
needs something else of it, :func:`as_asked` writes down the reading as an operation of its own
(:mod:`tacit.expressions.cell_grammar`):

- in arithmetic, ``abs``, ``clamp`` and ``cut``, in a statistic of numbers, and beside a number, it
  is a number, or true or false as 1 or 0;
- beside a date, or beside text that is a date such as ``"2024-12-31"``, and in ``year`` and its
  like, it is a date, of which ``year`` and ``month`` need their part alone; in ``hour`` and its
  like, a time;
- beside true or false, in ``&``, ``|`` and ``~``, as a condition, it is a truth value;
- as a group, it is what the public keys are: whole numbers, dates (also those written as text),
  truth values or text;
- else it is the text itself.

The readings follow from the expression and the declared kinds alone.  A column that is declared as
text is never read as anything else by itself.

A column of doubles or decimals is grouped by public keys alone, and these are whole numbers: a
value is in the group of a key where it is that number exactly (``whole_key``).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tacit.errors import UsageError
from tacit.expressions.cell_grammar import GIVES, is_date
from tacit.expressions.functions.table import FUNCTIONS
from tacit.expressions.node import Node
from tacit.expressions.operations import kind
from tacit.expressions.schema import Schema

__all__ = ["as_asked", "as_keys", "has_undeclared", "key_reading", "read_as", "readings_in"]

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
    return _read(as_asked(node, schema), reading, schema)


def as_asked(node: _N, schema: Schema) -> _N:
    """Return the expression with the readings of undeclared columns written down.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column, Schema
    >>> people = Schema([Column(name, "undeclared", "VARCHAR") for name in ("age", "born", "sex")])
    >>> print(as_asked((col("age") >= 18) & (col("born") < "2000-01-01"), people))
    ((read_numeric(age) >= 18) & (read_date(born) < '2000-01-01'))
    >>> print(as_asked(col("sex") == "f", people))
    (read_text(sex) == 'f')
    """
    if not has_undeclared(node, schema) or not node.operands:
        return node
    sides = tuple(as_asked(o, schema) for o in node.operands)
    name = node.operation
    if name in _BESIDE:
        sides = _alike(node, sides, schema)
    elif name in ("when", "fill"):
        first = 1 if name == "when" else 0
        condition = tuple(_read(o, "read_boolean", schema) for o in sides[:first])
        sides = (*condition, *_alike(node, sides[first:], schema))
    elif name in _TAKES:
        sides = tuple(_read(o, _TAKES[name], schema) for o in sides)
    return type(node)(name, sides, node.parameters)


def as_keys(by: Mapping[str, _N], keys: Iterable[Any] | None, schema: Schema) -> dict[str, _N]:
    """Return grouping columns, those that are undeclared read as the public keys are.

    Args:
        by: the columns, by name.
        keys: one tuple per group, or one value where there is one column; None where they are
            unknown, which are text then.
        schema: the columns of the table.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column, Schema
    >>> as_keys({"y": col("year")}, [2020, 2021], Schema([Column("year", "undeclared", "VARCHAR")]))
    {'y': read_whole(year)}
    """
    rows = [key if isinstance(key, (tuple, list)) else (key,) for key in keys or ()]
    found = {}
    for place, (name, expression) in enumerate(by.items()):
        parts = [row[place] for row in rows if place < len(row)]
        group = _read(as_asked(expression, schema), key_reading(parts), schema)
        if parts and kind(group, schema) in ("float", "decimal"):
            group = type(group)("whole_key", (group,))
        found[name] = group
    return found


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
    """Yield each column that an expression reads, with the reading; see :func:`as_asked`."""
    for operand in node.operands:
        if node.operation in GIVES and operand.operation == "col":
            yield str(operand.parameters[0]), node.operation
        yield from readings_in(operand)


def _read(node: _N, reading: str, schema: Schema) -> _N:
    return type(node)(reading, (node,)) if kind(node, schema) == "undeclared" else node


def _alike(node: Node, sides: Sequence[Node], schema: Schema) -> tuple[Node, ...]:
    """Read what is undeclared as the values are that it stands beside."""
    known = [side for side in sides if kind(side, schema) not in ("undeclared", "missing")]
    kinds = {kind(side, schema) for side in known}
    compared = node.operation in _BESIDE
    if compared and known and all(map(_is_day, known)):
        kinds = {"date"}
    if node.operation in _ORDERED and not kinds:
        raise UsageError(
            f"{node} orders columns whose kind is not declared: declare it with types=, or say "
            "how to read them, as in tc.col(...).read_number()"
        )
    found = {_READINGS[kind] for kind in kinds if kind in _READINGS}
    if compared and not kinds:
        found = {"read_text"}
    if len(found) != 1:  # none is known, or they do not fit together, which is refused elsewhere
        return tuple(sides)
    reading = found.pop()
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
