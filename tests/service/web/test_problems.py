"""What a caller is told of an error: never what an engine, the database or Python says."""

from __future__ import annotations

import pytest

from support.service.client import Client
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
from tacit.service.problem import STATUS, Problem
from tacit.service.web.problems import problem_of, rendered

SECRET = "ada has 17"


@pytest.mark.parametrize(
    ("error", "code", "passed_on"),
    [
        (Problem("gone", SECRET), "gone", True),
        (UsageError(SECRET), "invalid_request", True),
        (BudgetError(SECRET), "budget_exceeded", True),
        (RefusedError(SECRET), "conflict", True),
        (UnsupportedQueryError(SECRET, (2, 3)), "unsupported_query", True),
        (LedgerError(SECRET), "unavailable", False),
        (DataSourceError(SECRET), "unavailable", False),
        (MissingExtraError(SECRET), "unavailable", False),
        (TacitError(SECRET), "internal", False),
        (ValueError(SECRET), "internal", False),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), "internal", False),
        (KeyboardInterrupt(SECRET), "internal", False),
    ],
)
def test_each_error(error: BaseException, code: str, passed_on: bool) -> None:
    found = problem_of(error)
    assert found.code == code
    assert (SECRET in str(found.to_json())) == passed_on
    reply = rendered(found)
    assert reply.status_code == STATUS[code]
    assert ("www-authenticate" in reply.headers) == (code == "unauthenticated")


def test_the_place_in_a_query_is_for_programs_too() -> None:
    found = problem_of(UnsupportedQueryError("no union", (2, 3)))
    assert found.details == {"position": {"line": 2, "column": 3}}


def test_who_may_try_again_learns_when() -> None:
    assert (
        rendered(Problem("too_many", "slowly", "", {"retry_after": 30})).headers["retry-after"]
        == "30"
    )
    assert rendered(problem_of(LedgerError("x"))).headers["retry-after"] == "5"


@pytest.mark.parametrize(
    ("method", "place", "said", "field", "near"),
    [
        ("POST", "preview", {"sql": "select 1", "epsilom": 1}, "body.epsilom", "'epsilon'"),
        ("POST", "releases", {"sqll": "select 1"}, "body.sqll", "'sql'"),
        (
            "PUT",
            "caps",
            {"caps": {"team:a": {"epsilo": 1}}, "reason": "x"},
            "body.caps.team:a.epsilo",
            "'epsilon'",
        ),
        ("PUT", "budget", {"epsilon": 5, "raison": "x"}, "body.raison", "'reason'"),
    ],
)
def test_a_misspelt_field_is_named_with_the_one_that_was_meant(
    client: Client, method: str, place: str, said: object, field: str, near: str
) -> None:
    token = client.token("curator")
    reply = client.request(method, f"/v1/datasets/visits/{place}", json=said, token=token)
    assert reply.status_code == 400
    error = reply.json()["error"]
    wrong = {one["field"]: one["wrong"] for one in error["details"]["fields"]}
    assert wrong[field] == f"there is no field of this name; did you mean {near}?"
    assert "Extra inputs" not in reply.text
