"""Parameters of expressions as JSON carries them."""

from __future__ import annotations

import datetime
from typing import Any

__all__ = ["from_plain", "to_plain"]


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
