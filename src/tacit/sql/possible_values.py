"""Values that an expression can have, where its text alone lists them.

A group by such an expression needs no keys: they are constants of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.expressions.expression import Expression
from tacit.expressions.node import Node, constants_of

__all__ = ["listed_keys", "possible_values"]

_MOST = 10_000
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


def possible_values(found: Node) -> list[Any] | None:
    """Return every value that an expression can have, None for a missing one; None if unknown.

    >>> from tacit.expressions.expression import col, when
    >>> possible_values(when(col("age") < 18).then("minor").otherwise("adult"))
    ['minor', 'adult']
    >>> possible_values(col("day").month())[-2:], possible_values(col("age"))
    ([12, None], None)
    """
    name, operands = found.operation, found.operands
    if name == "literal":
        return [found.parameters[0]]
    if name in _DECIDED:
        return [True, False]
    if name in _PARTS:
        first, last = _PARTS[name]
        return [*range(first, last + 1), None]
    if name == "modulo":
        size = constants_of(found)[0]
        return [*range(int(size)), None] if size <= _MOST else None
    if name == "cut":
        return [*constants_of(found)[1], None]
    if name in ("when", "fill"):
        one, other = map(possible_values, operands[-2:])
        if one is None or other is None:
            return None
        if name == "fill":
            one = [each for each in one if each is not None]
        both = list(dict.fromkeys([*one, *other]))
        return both if len(both) <= _MOST else None
    return None


def listed_keys(name: str, conditions: Sequence[Expression]) -> list[Any] | None:
    """Return the values of a column that the conditions let through, where they list them.

    Rows with another value are filtered out before anything is counted, so that the list, which is
    a constant of the question, holds the value of every row that is left.

    >>> from tacit.expressions.expression import col
    >>> listed_keys("site", [col("site").is_in([1, 2]), col("cost") < 3])
    [1, 2]
    """
    found: list[Any] | None = None
    for condition in conditions:
        if condition.operation not in ("==", "is_in"):
            continue
        left, *right = condition.operands
        if left.operation != "col" or left.parameters[0] != name:
            continue
        if any(each.operation != "literal" for each in right):
            continue
        given = list(dict.fromkeys(each.parameters[0] for each in right))
        found = given if found is None else [each for each in found if each in given]
    return found or None
