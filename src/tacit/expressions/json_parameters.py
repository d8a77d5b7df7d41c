"""Parameters of expressions as JSON carries them, and the names of bins."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import show

__all__ = ["bin_names", "from_plain", "to_plain"]


def bin_names(marks: Sequence[Fraction]) -> list[str]:
    """Return the names of bins between edges."""
    shown = [show(m) for m in marks]
    names = [f"[{a}, {b})" for a, b in itertools.pairwise(shown)]
    return [*names[:-1], names[-1][:-1] + "]"]


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
