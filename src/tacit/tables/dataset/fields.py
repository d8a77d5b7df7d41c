"""Fields of a declaration, read with care: unknown ones, wrong kinds, and open questions."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from tacit.errors import UsageError, did_you_mean

__all__ = ["OPEN", "Declared", "Open", "flag", "known_fields", "line", "mapping", "text", "whole"]


class _Open(Enum):
    """A question that a draft leaves to a person: written as a question mark."""

    OPEN = "?"

    @property
    def sign(self) -> str:
        """How a file writes it."""
        return self.value

    def __repr__(self) -> str:
        return "OPEN"


Declared: TypeAlias = (
    "bool | int | float | str | Fraction | datetime.date | datetime.time | _Open"
    " | Sequence[Declared] | Mapping[str, Declared] | None"
)
"""What a file of TOML holds at a name, or a program says there."""
Open: TypeAlias = Literal[_Open.OPEN]
OPEN: Open = _Open.OPEN
_LONGEST = 300


def known_fields(said: Mapping[str, Any], fields: Iterable[str], where: str) -> None:
    """Refuse a field that does not exist, with the nearest one that does."""
    known = tuple(fields)
    for name in said:
        if name not in known:
            raise UsageError(f"{where} has {name!r}; {did_you_mean(name, known)}")


def mapping(said: object, where: str) -> Mapping[str, Any]:
    """Return a table of fields, or refuse what is none."""
    if not isinstance(said, Mapping):
        raise UsageError(f"{where} must be a table of fields")
    return said


def text(said: Mapping[str, Any], name: str, where: str) -> str | Open | None:
    """Return a text, the open question, or None where nothing is said."""
    value = said.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f"{name} of {where} must be text in quotes")
    if value == OPEN.sign:
        return OPEN
    if not value:
        raise UsageError(f"{name} of {where} is empty: leave it out, or give it")
    if "\0" in value:
        raise UsageError(f"{name} of {where} holds the character NUL: remove it")
    return value


def line(said: Mapping[str, Any], name: str, where: str) -> str | Open | None:
    """Return a line of text for readers, the open question, or None where nothing is said."""
    value = text(said, name, where)
    if isinstance(value, str) and (len(value) > _LONGEST or not value.isprintable()):
        raise UsageError(f"{name} of {where} is one line of at most {_LONGEST} characters")
    return value


def flag(said: Mapping[str, Any], name: str, where: str) -> bool | Open:
    """Return true or false, or the open question; false where nothing is said."""
    value = said.get(name, False)
    if value == OPEN.sign:
        return OPEN
    if not isinstance(value, bool):
        raise UsageError(f"{name} of {where} must be true or false")
    return value


def whole(said: Mapping[str, Any], name: str, where: str) -> int | Open | None:
    """Return a whole number above zero, the open question, or None where nothing is said."""
    value = said.get(name)
    if value is None:
        return None
    if value == OPEN.sign:
        return OPEN
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} of {where} must be a whole number of at least 1")
    return value
