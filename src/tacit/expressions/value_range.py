"""The public range of an expression's values, from the bounds of its columns."""

# Interval arithmetic over what an expression really computes: doubles, each operation rounded to
# the nearest one (:mod:`tacit.expressions.operations`).
#
# *Theorem.*  Let every column that is read lie within its bounds on a row, or be missing.  Then the
# value of the expression is missing or within :func:`range_of`.
#
# *Proof*, by induction over the operations.  A column that is a decimal is the double nearest to
# it, so its range holds its bounds and their nearest doubles.  Rounding to the nearest double,
# ``fl``, is monotone: x <= y gives fl(x) <= fl(y).  So is what is done to an operand before an
# operation: it is rounded, clipped to +-2^500, and in a product or quotient made zero below 2^-500
# in size.  Hence an operand that lies in [a, b] lies in [f(a), f(b)] then.  On a box of operands, x
# + y, x - y and x y are monotone in each operand, and so is x / y where the divisors keep one sign;
# so their extremes over the box are taken at its corners, exactly, and fl of what lies between two
# numbers lies between their fl.  ``abs``, ``clamp``, ``floor``, ``ceil`` and ``round`` are
# monotone, or monotone on each side of zero.  A choice (``when``, ``fill``) is one of its two
# values, or the double nearest to it.  Parts of dates, and conditions as 0 and 1, have the range of
# their definition.
#
# No step rounds outward more than the doubles themselves do: the range of one operation on one row
# of columns is attained.  Where an operand stands twice, as in ``x - x``, it is wider than the
# truth.
#
# Source: R. E. Moore, *Interval Analysis*, 1966.

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.expressions.functions import FAR, FUNCTIONS, Node, Range, constants_of

_MOST_VALUES = 366

_FAR, _NEAR = Fraction(FAR), Fraction(1 / FAR)
_NEVER = Fraction(1), Fraction(0)  # the range of what is always missing: it holds nothing
_TRUTH = Fraction(0), Fraction(1)
_CONDITIONS = {
    *("==", "!=", "<", "<=", ">", ">=", "&", "|", "~"),
    *("is_null", "no_key", "is_in", "starts_with", "read_boolean"),
    *(name for name, function in FUNCTIONS.items() if function.gives == "boolean"),
}
_CORNERS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def range_of(expression: Node, bounds: Mapping[str, Range]) -> Range | None:
    """Return the least and the greatest value that an expression can have.

    >>> from tacit.expressions.expression import col
    >>> cost = {"cost": (Fraction(0), Fraction(1000)), "n": (Fraction(1), Fraction(4))}
    >>> print(*range_of(col("cost") * 2 - 50, cost))
    -50 1950
    >>> print(*range_of(col("cost") / col("n"), cost))
    0 1000
    >>> range_of(col("n") / col("cost"), cost) is None
    True
    """
    # Returns: both ends, exact, in the unit of the expression; None where nothing bounds it: it
    # reads a column without bounds, divides by what may be zero, holds text or a date, or is always
    # missing.
    ends = _range(expression, bounds)
    return None if ends is None or ends[0] > ends[1] else ends


def public_values(
    expression: Node, bounds: Mapping[str, Range], keys: Mapping[str, Sequence[Any]]
) -> list[Any] | None:
    """Return every value that an expression can have, where they are public and few.

    >>> from tacit.expressions.expression import col, when
    >>> public_values(col("day").dt.weekday(), {}, {})
    [1, 2, 3, 4, 5, 6, 7]
    >>> public_values(when(col("age") < 18).then("young").otherwise("old"), {}, {})
    ['young', 'old']
    """
    # They are the groups of a column that a question computes: the bins of a cut, true and false,
    # the values of a choice, whole numbers whose range is public (a weekday, an hour).
    #
    # Returns: at most 366 of them, without missing; None where they are more, or not public.
    name, operands = expression.operation, expression.operands
    values: list[Any] | None = None
    if name == "col":
        column = constants_of(expression)[0]
        values = list(keys[column]) if column in keys else None
    elif name == "literal":
        value = expression.parameters[0]
        values = None if isinstance(value, float) else [] if value is None else [value]
    elif name == "cut":
        values = list(constants_of(expression)[1])
    elif name in _CONDITIONS:
        values = [False, True]
    elif name in ("when", "fill"):
        sides = [public_values(o, bounds, keys) for o in operands[-2:]]
        known = [side for side in sides if side is not None]
        values = [value for side in known for value in side] if len(known) == 2 else None
    elif name in FUNCTIONS and FUNCTIONS[name].gives == "integer":
        ends = range_of(expression, bounds)
        if ends is not None and ends[1] - ends[0] < _MOST_VALUES:
            values = list(range(int(ends[0]), int(ends[1]) + 1))
    once = list(dict.fromkeys(values or ()))
    return once if 0 < len(once) <= _MOST_VALUES or values == [] else None


def _range(node: Node, bounds: Mapping[str, Range]) -> Range | None:
    name, operands = node.operation, node.operands
    if name == "col":
        return _near(bounds.get(constants_of(node)[0]))
    if name == "literal":
        return _constant(node.parameters[0])
    if name in _CONDITIONS:
        return _TRUTH
    if name in FUNCTIONS:
        return _function(node, bounds)
    if name == "clamp":
        return _clamped(_range(operands[0], bounds), *map(Fraction, constants_of(node)))
    if name in ("when", "fill"):
        return _either(*(_range(o, bounds) for o in operands[-2:]))
    if name in ("abs", "read_number", "read_integer"):
        inner = _range(operands[0], bounds)
        return _absolute(inner) if name == "abs" else inner
    if name in _CORNERS:
        return _corners(name, *(_range(o, bounds) for o in operands))
    return None


def _double(x: Fraction) -> Fraction:
    """Return the double nearest to a number within 2^500: Python divides integers exactly so."""
    return Fraction(x.numerator / x.denominator)


def _near(ends: Range | None) -> Range | None:
    """Return a range that holds the nearest doubles too; None for one beyond 2^500."""
    if ends is None or max(map(abs, ends)) > _FAR:
        return None
    low, high = ends
    return min(low, _double(low)), max(high, _double(high))


def _constant(value: Any) -> Range | None:
    if value is None:
        return _NEVER
    if not isinstance(value, (bool, int, float)) or abs(value) > FAR:
        return None
    return _near((Fraction(value), Fraction(value)))


def _either(x: Range | None, y: Range | None) -> Range | None:
    if x is None or y is None or x == _NEVER:
        return None if x is None else y
    return x if y == _NEVER else (min(x[0], y[0]), max(x[1], y[1]))


def _clamped(inner: Range | None, low: Fraction, high: Fraction) -> Range:
    if inner is None or inner == _NEVER:
        return inner or (low, high)
    start, end = (min(max(_double(side), low), high) for side in inner)
    return start, end


def _absolute(inner: Range | None) -> Range | None:
    if inner is None or inner == _NEVER:
        return inner
    low, high = map(_double, inner)
    sizes = abs(low), abs(high)
    return (Fraction(0) if low <= 0 <= high else min(sizes)), max(sizes)


def _function(node: Node, bounds: Mapping[str, Range]) -> Range | None:
    if node.operation == "length" and node.operands[0].operation == "substring":
        return Fraction(0), Fraction(constants_of(node.operands[0])[1])
    ends = FUNCTIONS[node.operation].range
    if ends is None or isinstance(ends, tuple):
        return None if ends is None else (Fraction(ends[0]), Fraction(ends[1]))
    inner = [_range(o, bounds) for o in node.operands]
    if _NEVER in inner:
        return _NEVER
    return ends(inner, node.parameters)


def _corners(name: str, x: Range | None, y: Range | None) -> Range | None:
    if x is None or y is None:
        return None
    if _NEVER in (x, y):
        return _NEVER
    whole = name in ("+", "-")
    lefts, rights = ([_operand(end, whole) for end in side] for side in (x, y))
    if name == "/" and rights[0] <= 0 <= rights[1]:
        return None
    corners = [_double(_CORNERS[name](left, right)) for left in lefts for right in rights]
    return min(corners), max(corners)


def _operand(end: Fraction, whole: bool) -> Fraction:
    """Return the operand that an operation really has: see the page on expressions."""
    clamped = min(max(_double(end), -_FAR), _FAR)
    return clamped if whole or abs(clamped) >= _NEAR else Fraction(0)
