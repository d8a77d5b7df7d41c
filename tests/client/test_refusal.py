"""What a service refuses is raised as a session raises it."""

from __future__ import annotations

import pytest

from tacit.client.transport import refusal
from tacit.errors import (
    AccessError,
    BudgetError,
    RefusedError,
    ServiceError,
    UnsupportedQueryError,
    UsageError,
)
from tacit.service.problem import STATUS, Problem
from tacit.service.web.problems import problem_of

KINDS = {
    "invalid_request": UsageError,
    "unsupported_query": UnsupportedQueryError,
    "unauthenticated": AccessError,
    "budget_exceeded": BudgetError,
    "forbidden": AccessError,
    "not_found": UsageError,
    "conflict": RefusedError,
    "gone": UsageError,
    "too_large": UsageError,
    "not_ready": ServiceError,
    "too_many": ServiceError,
    "internal": ServiceError,
    "unavailable": ServiceError,
}


def test_every_code_of_a_service_has_an_exception():
    assert set(KINDS) == set(STATUS)


@pytest.mark.parametrize("code", KINDS)
def test_the_sentence_and_the_remedy_arrive(code):
    sent = Problem(code, "it is wrong", "do this").to_json()["error"]
    found = refusal(sent)
    assert type(found) is KINDS[code]
    assert str(found) == "it is wrong; do this"


def test_the_place_in_a_query_arrives():
    here = UnsupportedQueryError("no window functions", (2, 7))
    found = refusal(problem_of(here).to_json()["error"])
    assert isinstance(found, UnsupportedQueryError)
    assert (str(found), found.reason, found.position) == (str(here), here.reason, (2, 7))


@pytest.mark.parametrize("sent", [{}, {"code": 7}, {"code": "odd", "details": []}])
def test_what_no_service_sends_is_a_refusal_all_the_same(sent):
    assert isinstance(refusal(sent), RefusedError)


def test_when_to_ask_again_arrives():
    found = refusal({"code": "too_many", "message": "slow", "details": {"retry_after": 7}})
    assert isinstance(found, ServiceError)
    assert found.retry_after == 7
    assert refusal({"code": "too_many", "details": {"retry_after": "x"}}).retry_after is None
