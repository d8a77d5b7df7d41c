"""Functions of numbers: whole ones near them, remainders, and their text.

*Total.*  A double of 2^52 or more in size is whole, so that it stays as it is; a smaller one is
rounded as a whole number of 64 bits, exactly.  ``floor``, ``ceil`` and ``round`` give doubles.  The
difference of a double and its floor is a double again, so a half is seen as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tacit.expressions.dialect import Dialect
from tacit.expressions.functions.row_function import Ends, Range, RowFunction

__all__ = ["NUMBERS_OF"]

_WHOLE = 2.0**52
_EXACT = 1 << 53


def _floor_sql(x: str, d: Dialect) -> str:
    """Return the whole number of 64 bits below a double, of one of at most 2^53 in size."""
    held = f"greatest(least({x}, {d.literal(float(_EXACT))}), {d.literal(-float(_EXACT))})"
    return d.cast(f"floor({held})", "integer")


def _floor(x: str, d: Dialect) -> str:
    return d.cast(_floor_sql(x, d), "double")


def _ceil(x: str, d: Dialect) -> str:
    return f"(- {_floor(f'(- {x})', d)})"


def _round(x: str, d: Dialect) -> str:
    size, half = f"abs({x})", d.literal(0.5)
    below = _floor(size, d)
    up = f"(case when {size} - {below} >= {half} then {d.literal(1.0)} else {d.literal(0.0)} end)"
    return f"(case when {x} < {d.literal(0.0)} then - ({below} + {up}) else {below} + {up} end)"


def _near(body: Callable[[str, Dialect], str]) -> Callable[..., str]:
    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        limit = d.literal(_WHOLE)
        return d.share(
            operands[0], lambda x: f"(case when abs({x}) < {limit} then {body(x, d)} else {x} end)"
        )

    return sql


def _rounded(value: float) -> float:
    below = math.floor(abs(value))
    return math.copysign(below + (abs(value) - below >= 0.5), value)


def _of_small(rule: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: float(rule(x)) if abs(x) < _WHOLE else x


def _ends(rule: Callable[[Fraction], int]) -> Ends:
    """Return the range of a rule that rises with its operand, and keeps whole numbers."""

    def ends(ranges: Sequence[Range | None], parameters: Sequence[Any]) -> Range | None:
        (found,) = ranges
        return found and (Fraction(rule(found[0])), Fraction(rule(found[1])))

    return ends


def _half_up(x: Fraction) -> int:
    size = math.floor(abs(x) + Fraction(1, 2))
    return size if x >= 0 else -size


def _to_integer(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    limit, zero = d.literal(float(_EXACT)), d.literal(0.0)

    def whole(x: str) -> str:
        below, above = _floor_sql(x, d), f"(- {_floor_sql(f'(- {x})', d)})"
        near = f"(case when {x} < {zero} then {above} else {below} end)"
        return f"(case when abs({x}) < {limit} then {near} end)"

    return d.share(operands[0], whole)


def _truncated(x: Fraction) -> int:
    return min(max(math.trunc(x), 1 - _EXACT), _EXACT - 1)


def _modulo(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    by = d.literal(parameters[0])
    rest = d.cast(f"({operands[0]} % {by})", "integer")
    return d.share(rest, lambda r: f"(case when {r} < {d.literal(0)} then {r} + {by} else {r} end)")


def _to_text(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return d.cast(operands[0], "text")


def _text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_divisor(value: Any) -> bool:
    return type(value) is int and 1 <= value <= _EXACT


NUMBERS_OF = {
    "floor": RowFunction(
        "double", "float", _near(_floor), _of_small(math.floor), range=_ends(math.floor)
    ),
    "ceil": RowFunction(
        "double", "float", _near(_ceil), _of_small(math.ceil), range=_ends(math.ceil)
    ),
    "round": RowFunction(
        "double", "float", _near(_round), _of_small(_rounded), range=_ends(_half_up)
    ),
    "to_integer": RowFunction(
        *("double", "integer", _to_integer),
        lambda x: math.trunc(x) if abs(x) < _EXACT else None,
        range=_ends(_truncated),
    ),
    "modulo": RowFunction(
        *("integer", "integer", _modulo, lambda x, by: x % by),
        checks=(_is_divisor,),
        range=lambda ranges, parameters: (Fraction(0), Fraction(parameters[0] - 1)),
    ),
    "to_text": RowFunction("exact", "text", _to_text, _text_of),
}
