"""A node of an expression: an operation, its operands, its parameters.

What an expression means (:mod:`tacit.expressions.operations`) asks a node for these alone; how one
is written in Python is :class:`~tacit.expressions.expression.Expression`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from tacit.calls import public
from tacit.errors import UsageError
from tacit.outside import Json

__all__ = [
    "FAR",
    "LONGEST",
    "LOWER",
    "NUMBERS",
    "UPPER",
    "Constant",
    "Node",
    "constants_of",
    "farthest",
    "from_plain",
    "literal_kind",
    "to_plain",
]

NUMBERS = ("integer", "float", "decimal", "boolean", "missing")
FAR = 2.0**500
"""Arithmetic clips its operands to this on either side."""
LONGEST = 1 << 20
"""The most characters of a text that a computed text has, so that no engine runs out of room."""
UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_DEEPEST, _MOST = 50, 1000

Constant: TypeAlias = "bool | int | float | str | datetime.date | tuple[Constant, ...] | None"
"""What an operation has beside its operands."""

_N = TypeVar("_N", bound="Node")


@public
@dataclass(frozen=True, eq=False)
class Node:
    """An operation, its operands and its public parameters."""

    operation: str
    operands: tuple[Node, ...] = ()
    parameters: tuple[Constant, ...] = ()
    _size: tuple[int, int] = field(default=(0, 0), init=False, repr=False)

    def __post_init__(self) -> None:
        inner = [o._size for o in self.operands if o.operands]
        deep, many = 1 + max((d for d, _ in inner), default=0), 1 + sum(n for _, n in inner)
        if deep > _DEEPEST or many > _MOST:
            raise UsageError(
                f"the expression is too large, its computed columns written out: at most {_MOST} "
                f"operations, nested at most {_DEEPEST} deep; a list of values belongs in is_in"
            )
        object.__setattr__(self, "_size", (deep, many))

    def columns(self) -> set[str]:
        """Return the names of the columns that are read."""
        if self.operation == "col":
            return {constants_of(self)[0]}
        return set().union(*(o.columns() for o in self.operands)) if self.operands else set()

    def substitute(self: _N, derived: Mapping[str, _N]) -> _N:
        """Return the expression with columns of these names replaced by what they stand for."""
        if self.operation == "col":
            return derived.get(constants_of(self)[0], self)
        operands = tuple(o.substitute(derived) for o in self.operands)
        return type(self)(self.operation, operands, self.parameters)

    def to_json(self) -> list[Json]:
        """Return a description that JSON can carry, and ``from_json`` can read."""
        return [
            self.operation,
            [o.to_json() for o in self.operands],
            [to_plain(p) for p in self.parameters],
        ]

    def __str__(self) -> str:
        parts = [str(o) for o in self.operands]
        name, known = self.operation, constants_of(self)
        if name == "col":
            return str(known[0]) if known[0].isidentifier() else f"col({known[0]!r})"
        if name == "literal":
            return str(known[0]) if isinstance(known[0], datetime.date) else repr(known[0])
        if name == "is_null":
            return f"({parts[0]} is missing)"
        if name == "~":
            return f"~{parts[0]}"
        if len(parts) == 2 and not name.isidentifier():
            return f"({parts[0]} {name} {parts[1]})"
        told = known[:1] if name == "in_zone" else known  # the name says it for people
        return f"{name}({', '.join(parts + [repr(p) for p in told])})"

    __repr__ = __str__


def constants_of(node: Node) -> tuple[Any, ...]:
    """Return the parameters of a node, for who knows from its operation of which kinds they are."""
    return node.parameters


def literal_kind(value: object) -> str:
    """Return the kind of a public value.

    >>> literal_kind(True), literal_kind(None)
    ('boolean', 'missing')
    """
    if value is None:
        return "missing"
    names = {bool: "boolean", int: "integer", float: "float", str: "text"}
    return names.get(type(value), "date")


def farthest(node: Node) -> float:
    """Return how far from zero a value is at most; infinite where literals alone do not decide it.

    >>> five, two = Node("literal", (), (5,)), Node("literal", (), (-2.0,))
    >>> chosen = Node("when", (Node("col", (), ("is_old",)), five, two))
    >>> farthest(Node("+", (chosen, two))), farthest(Node("col", (), ("age",)))
    (7.0, inf)
    """
    if node.operation == "literal":
        value = node.parameters[0]
        known = value is None or isinstance(value, (bool, int, float))
        return abs(float(value or 0)) if known else math.inf  # type: ignore[arg-type]
    if node.operation in ("when", "fill"):
        return max(map(farthest, node.operands[node.operation == "when" :]))
    return sum(map(farthest, node.operands)) if node.operation in ("+", "-") else math.inf


# ---- parameters as JSON carries them


def to_plain(value: Any) -> Any:
    """Return a parameter as JSON can carry it."""
    if isinstance(value, tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def from_plain(value: Any) -> Any:
    """Return the parameter that :func:`to_plain` wrote."""
    if isinstance(value, list):
        return tuple(from_plain(v) for v in value)
    if isinstance(value, dict):
        return (
            datetime.date.fromisoformat(value["date"])
            if "date" in value
            else float.fromhex(value["float"])
        )
    return value
