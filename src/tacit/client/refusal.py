"""What a service refuses, as the exception that a session would raise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacit.errors import (
    AccessError,
    BudgetError,
    RefusedError,
    ServiceError,
    TacitError,
    UnsupportedQueryError,
    UsageError,
)

__all__ = ["LATER", "refusal"]

_WRONG = ("invalid_request", "not_found", "too_large", "gone")
_LATER = ("not_ready", "too_many", "unavailable", "internal")
LATER = ("not_ready", "too_many", "unavailable")
"""The codes after which the same request may be sent again."""
_PLACE = re.compile(r"line \d+, column \d+: ")


def refusal(error: Mapping[str, Any]) -> TacitError:
    """Return the exception of an error in the one shape that a service sends.

    >>> refusal({"code": "budget_exceeded", "message": "too much", "remedy": "ask for less"})
    BudgetError('too much; ask for less')
    """
    code, details = str(error.get("code")), error.get("details")
    details = details if isinstance(details, Mapping) else {}
    said = [str(error.get(part) or "").strip() for part in ("message", "remedy")]
    message = "; ".join(part for part in said if part) or f"the service refused ({code})"
    if code == "unsupported_query":
        return UnsupportedQueryError(_PLACE.sub("", message, count=1), _position(details))
    if code == "budget_exceeded":
        return BudgetError(message)
    if code in ("unauthenticated", "forbidden"):
        return AccessError(message)
    if code in _WRONG:
        return UsageError(message)
    if code in _LATER:
        return ServiceError(message, _seconds(details.get("retry_after")))
    return RefusedError(message)


def _position(details: Mapping[str, Any]) -> tuple[int, int] | None:
    place = details.get("position")
    if not isinstance(place, Mapping):
        return None
    line, column = place.get("line"), place.get("column")
    return (line, column) if isinstance(line, int) and isinstance(column, int) else None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 86_400 else None
