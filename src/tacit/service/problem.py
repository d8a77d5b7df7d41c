"""Errors of the service: a code, a message and a remedy, in one shape for every status."""

# A message of an engine, of the database or of Python could quote a value, so only exceptions of
# Tacit, which are made of public facts, speak for themselves.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.errors import (
    BudgetError,
    DataSourceError,
    LedgerError,
    MissingExtraError,
    RefusedError,
    TacitError,
    UnsupportedQueryError,
    UsageError,
)

_OPERATOR = "try again later; the operator sees more with tacit serve check"

# The code of each error, and the status of HTTP that goes with it.
STATUS: dict[str, int] = {
    "invalid_request": 400,
    "unsupported_query": 400,
    "unauthenticated": 401,
    "budget_exceeded": 402,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "gone": 410,
    "too_large": 413,
    "not_ready": 425,
    "too_many": 429,
    "internal": 500,
    "unavailable": 503,
}


class Problem(TacitError):  # noqa: N818  (the word of RFC 9457)
    """A refused request; the caller sees all of its fields.

    >>> Problem("not_found", "there is no data set 'visit'", "did you mean 'visits'?").status
    404
    """

    def __init__(
        self, code: str, message: str, remedy: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUS[code]
        self.message = message
        self.remedy = remedy
        self.details = dict(details or {})

    def to_json(self) -> dict[str, Any]:
        """Return the one shape of every error.

        >>> Problem("gone", "the answer is gone").to_json()["error"]["code"]
        'gone'
        """
        body = {"code": self.code, "message": self.message, "remedy": self.remedy}
        return {"error": {**body, "details": self.details}}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.remedy, self.details)


def problem_of(error: BaseException) -> Problem:
    """Return what a caller is reported of an error.

    >>> problem_of(BudgetError("the budget does not cover it")).code
    'budget_exceeded'
    >>> problem_of(ValueError("ada has HIV")).message
    'something failed inside the service (ValueError); its details are withheld'
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnsupportedQueryError):
        line, column = error.position
        return Problem(
            "unsupported_query", str(error), "", {"position": {"line": line, "column": column}}
        )
    if isinstance(error, LedgerError):
        return Problem("unavailable", "the ledger of the data set cannot be used", _OPERATOR)
    if isinstance(error, DataSourceError):
        return Problem(
            "unavailable", "the tables of the data set cannot be read as declared", _OPERATOR
        )
    if isinstance(error, UsageError):
        return Problem("invalid_request", str(error))
    if isinstance(error, BudgetError):
        return Problem(
            "budget_exceeded",
            str(error),
            "ask for less, or ask a curator to raise the budget or the cap",
        )
    if isinstance(error, RefusedError):
        return Problem("conflict", str(error))
    if isinstance(error, MissingExtraError):
        return Problem("unavailable", "a part of the service is not installed", _OPERATOR)
    kind = type(error).__name__
    return Problem(
        "internal", f"something failed inside the service ({kind}); its details are withheld"
    )
