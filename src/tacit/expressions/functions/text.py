r"""Functions of text, by its characters (code points), whatever a collation says.

What is computed from a text is of its first 2^20 characters, so that no engine runs out of room:
PostgreSQL takes eight times the room of a text that it trims, and Spark twice that of one that it
matches.

*Patterns.*  ``like`` knows ``%`` (any characters, also none) and ``_`` (any one), and nothing
else.  Whether a text fits is decided in time proportional to its length and the pattern's: between
two ``%`` the first place that fits is as good as any later one, for what follows it has the most
room then; so nothing is tried twice.  PostgreSQL's LIKE gives up where the text ends, and so never
tries a place again; DuckDB matches by automaton; for Spark each part is an atomic group of the
regular expression, which is never entered again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tacit.expressions.dialect import Dialect, is_unicode
from tacit.expressions.functions.row_function import RowFunction
from tacit.expressions.node import LONGEST, LOWER, UPPER

__all__ = ["TEXT"]

_LONGEST_PATTERN = 100


def _first(text: str) -> str:
    return f"substr({text}, 1, {LONGEST})"


def _letters(found: str, given: str) -> RowFunction:
    table = str.maketrans(found, given)

    def sql(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
        return f"translate({_first(operands[0])}, '{found}', '{given}')"

    return RowFunction("text", "text", sql, lambda x: x[:LONGEST].translate(table))


def _strip(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return f"trim(both ' ' from {_first(operands[0])})"


def _substring(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    start, length = parameters
    return f"substr({operands[0]}, {start}, {length})"


def _length(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return d.cast(f"length({operands[0]})", "integer")


def _contains(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    return d.contains.format(x=operands[0], y=d.literal(parameters[0]))


def _ends_with(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    (end,) = parameters
    return d.ends_with.format(x=operands[0], y=d.literal(end), n=len(end))


def _like(d: Dialect, operands: Sequence[str], parameters: Sequence[Any]) -> str:
    (pattern,) = parameters
    text = _first(operands[0])
    if not d.like_any:
        return f"({text} like {d.literal(pattern)} escape '')"
    return d.matches.format(x=text, p=d.literal(d.whole.format(p=_regular(pattern, d.like_any))))


def _regular(pattern: str, anything: str) -> str:
    """Return a regular expression for a pattern; ``anything`` is any text, then ``{s}``."""
    first, *rest = ("".join(map(_one, part)) for part in re.split("%+", pattern))
    inner = "".join(anything.replace("{s}", part) for part in rest[:-1])
    return f"(?s:{first}{inner}{f'.*{rest[-1]}' if rest else ''})"


def _one(character: str) -> str:
    if character == "_":
        return "."
    plain = character.isalnum() or not character.isascii()
    return (
        character if plain else f"[{character}]" if character not in r"\^[]" else f"\\{character}"
    )


def fits(text: str, pattern: str) -> bool:
    """Whether the first 2^20 characters of a text fit a pattern of ``%`` and ``_``.

    >>> fits("green apple", "gr__n%p%e"), fits("a", "a_"), fits("100%", "1%")
    (True, False, True)
    """
    text = text[:LONGEST]
    first, *rest = re.split("%+", pattern)
    if not _stands(text, first, 0) or (not rest and len(text) != len(first)):
        return False
    if not rest:
        return True
    place = len(first)
    for part in rest[:-1]:
        found = (i for i in range(place, len(text) - len(part) + 1) if _stands(text, part, i))
        start = next(found, None)
        if start is None:
            return False
        place = start + len(part)
    last = len(text) - len(rest[-1])
    return last >= place and _stands(text, rest[-1], last)


def _stands(text: str, part: str, place: int) -> bool:
    seen = text[place : place + len(part)]
    return len(seen) == len(part) and all(p in ("_", c) for c, p in zip(seen, part, strict=True))


def _is_text(value: Any) -> bool:
    short = isinstance(value, str) and len(value) <= _LONGEST_PATTERN
    return short and "\0" not in value and is_unicode(value)


def _is_place(value: Any) -> bool:
    return type(value) is int and 1 <= value <= LONGEST


TEXT = {
    "lower": _letters(UPPER, LOWER),
    "upper": _letters(LOWER, UPPER),
    "strip": RowFunction("text", "text", _strip, lambda x: x[:LONGEST].strip(" ")),
    "substring": RowFunction(
        *("text", "text", _substring, lambda x, start, length: x[start - 1 : start - 1 + length]),
        checks=(_is_place, _is_place),
    ),
    "length": RowFunction("text", "integer", _length, len),
    "ends_with": RowFunction(
        "text", "boolean", _ends_with, lambda x, end: x.endswith(end), checks=(_is_text,)
    ),
    "contains": RowFunction(
        "text", "boolean", _contains, lambda x, part: part in x, checks=(_is_text,)
    ),
    "like": RowFunction("text", "boolean", _like, fits, checks=(_is_text,)),
}
