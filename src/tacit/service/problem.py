"""Errors of the service: a code, a message and a remedy, in one shape for every status."""

# A message of an engine, of the database or of Python could quote a value, so only exceptions of
# Tacit, which are made of public facts, speak for themselves.

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacit.calls import rewritten
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
from tacit.tables.statistics.base import statistic_named

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

    def in_fields(self) -> Problem:
        """Return the problem for someone who writes requests, and no Python."""
        return Problem(self.code, in_fields(self.message), in_fields(self.remedy), self.details)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.remedy, self.details)


# Remedies in the words of a request: an error that shows a call shows fields of JSON instead.
#
# The packages below say what to do in Python.  What a question in SQL can write is said in SQL
# already; what has no shape here stays as it is.


_FIELDS = {
    r"\b(\w+) in \[\[question\]\] must be text in quotes": r"\1 must be text",
    r"give keys=\[\.\.\.\], or declare them in a data set": (
        'list them, "keys" of a question, or group by a column whose categories are declared'
    ),
    r"\[tables\.(\w+)\] key = '(\w+)'": r'"key": "\2" of "\1" in "tables"',
    r"\[tables\.(\w+)\]": r'"tables": {"\1": {"path": "\1.parquet"}}',
    r"lacks (name|unit): \1 = '(\w+)'": r'lacks \1: "\1": "\2"',
    r"must be a table of fields": "must be a JSON object",
    r",? session\.group_by\(\.\.\.\)\.agg\(\.\.\.\)\.release\(\.\.\.\)": "",
    r"release\((epsilon|rho)='([^']*)'\)": r'"\1": "\2"',
    r"release\((epsilon|rho)=\{'n': 1, 'cost': 3\}, total='1/2'\)": (
        r'"\1": {"n": 1, "cost": 3}, "total": "1/2"'
    ),
    r"\b(epsilon|rho)=\{\.\.\.\}": r'"\1": {...}',
    r"use a budget such as tc\.epsilon_delta\(1, '1e-6'\) and release\(epsilon=\.\.\., "
    r"delta=\.\.\.\)": 'ask with "epsilon" and "delta", which takes a budget that has a delta',
    r"release\(epsilon=\.\.\., delta='1e-7'\)": '"epsilon": ..., "delta": "1e-7"',
    r"tc\.col\([^()]*\)\.cut\(\[0, 10, 20\]\)": "width_bucket(x, 0, 20, 2) in SQL",
    r"with_columns\(\w+=(width_bucket\(x, 0, 20, 2\) in SQL)\)": r"\1",
    r"with_columns\(code=tc\.col\('([^']*)'\)\.cast\(int\)\)": r"cast(\1 as bigint) in SQL",
    r"declare it with types=": "declare its kind",
    r"tc\.col\(\.\.\.\)\.cast\(float\)": "cast(... as double) in SQL",
    r"tc\.unit\('([^']*)', rows=(\d+), groups=1\)": (
        r'"unit": {"person": "\1", "rows": \2, "groups": 1} of its declaration'
    ),
    r'cheapest\(\{"n": "5 people"\}\)': '"cheapest": {"n": "5 people"}',
    r"list them with keys=\[\.\.\.\], in SQL (where [^()]{1,60} in) \(": (
        r'list them, "keys" of a question, in SQL \1 ('
    ),
    r"list (?:them|the keys) with keys=\[\.\.\.\]": (
        "list them, \"keys\" of a question, or where health in ('good', 'poor') in SQL"
    ),
    r"the budget is (epsilon|rho|epsilon_delta)\(\.\.\.\)": r"the budget is in \1",
    r"\. Open it as (?:epsilon|rho|epsilon_delta)\(\.\.\.\).*": (
        ": give the price in the terms of the budget"
    ),
    r"(?<![\w.])epsilon_delta\('?(\d[^',()]*)'?, '?(\d[^',()]*)'?\)": r"epsilon \1, delta \2",
    r"(?<![\w.])(rho|epsilon)\('?(\d[^',()]*)'?\)": r"\1 \2",
}


def in_fields(message: str) -> str:
    """Return a message in which calls of Python are fields of a request.

    >>> in_fields("say what this release may spend: release(epsilon='1/2')")
    'say what this release may spend: "epsilon": "1/2"'
    >>> in_fields("give them, such as tc.mean('age', 0, 100)")
    'give them, such as {"statistic": "mean", "column": "age", "lower": 0, "upper": 100}'
    >>> in_fields("give them, such as tc.covariance(..., bounds={'age': (0, 100)})")
    'give them, such as {"statistic": "covariance", ..., "bounds": {"age": [0, 100]}}'
    >>> in_fields("declare whom it protects: unit = { person = 'id', rows = 5 }")
    'declare whom it protects: "unit": {"person": "id", "rows": 5}'
    """
    for call, fields in _FIELDS.items():
        message = re.sub(call, fields, message)
    return rewritten(_DECLARED.sub(_json, message), _answer)


# Fields as a file of TOML has them, such as ``unit = { person = 'id', rows = 5 }``.
_DECLARED = re.compile(r"(?:\b(\w+) = )?\{ ((?:statistic|person|epsilon|n) = [^{}]*) \}")


def _json(declared: re.Match[str]) -> str:
    name = f'"{declared[1]}": ' if declared[1] else ""
    fields = re.sub(r"(\w+) = ", r'"\1": ', declared[2].replace("'", '"'))
    return f"{name}{{{fields}}}"


def _answer(name: str, given: list[str], bounds: Mapping[str, tuple[str, str]]) -> str | None:
    """Return the fields of an answer that a call asks for."""
    try:
        names = statistic_named(name).fields
    except UsageError:
        return None
    if bounds:
        ends = ", ".join(f'"{one}": [{low}, {high}]' for one, (low, high) in bounds.items())
        return f'{{"statistic": "{name}", ..., "bounds": {{{ends}}}}}'
    if len(given) != len(names):
        given, names = [], ()
    values = [part if part[:1].isdigit() else f'"{part}"' for part in given]
    pairs = [f'"{field}": {value}' for field, value in zip(names, values, strict=True)]
    return "{" + ", ".join([f'"statistic": "{name}"', *pairs]) + "}"


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
