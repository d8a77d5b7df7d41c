"""Everything is denied that is not granted, and a refusal explains itself."""

from __future__ import annotations

import pytest

from tacit.service.access import (
    ACTIONS,
    RIGHTS,
    WITHOUT_DATASET,
    Caller,
    Grant,
    decide,
    demand,
    visible,
)
from tacit.service.problem import Problem


def caller(*grants: Grant) -> Caller:
    return Caller("ada", None, grants, "t", 0)


@pytest.mark.parametrize("role", RIGHTS)
@pytest.mark.parametrize("action", ACTIONS)
def test_the_table(role: str, action: str) -> None:
    here, everywhere = caller(Grant(role, "visits")), caller(Grant(role, "*"))
    right = action in RIGHTS[role]
    alone = right and action not in WITHOUT_DATASET
    assert decide(here, action, "visits").allowed is alone
    assert decide(here, action).allowed is alone
    assert decide(here, action, "births").allowed is False
    assert decide(everywhere, action, "births").allowed is right


def test_every_right_is_an_action_and_every_action_is_somebodys() -> None:
    assert set().union(*RIGHTS.values()) == set(ACTIONS)


def test_who_reads_all_changes_nothing() -> None:
    changing = {"ask", "approve", "declare", "set_budget", "refresh", "tokens", "report", "preview"}
    assert not RIGHTS["auditor"] & changing
    assert RIGHTS["device"] == {"report"}
    assert not RIGHTS["reviewer"] & {"ask", "declare", "set_budget", "tokens"}


def test_nobody_may_do_nothing() -> None:
    assert not any(decide(None, action, "visits").allowed for action in ACTIONS)
    assert not any(decide(caller(), action, "visits").allowed for action in ACTIONS)


def test_a_refusal_says_why_and_what_to_do() -> None:
    found = decide(caller(Grant("analyst", "visits")), "approve", "visits")
    assert found.because == "'ada' is analyst on 'visits'; approve is for curator or reviewer"
    assert "ask a curator" in found.remedy
    assert "tacit token create" in decide(None, "ask").remedy


def test_a_refusal_is_the_same_whether_there_is_such_a_data_set_or_not() -> None:
    told = []
    for name in ("births", "nothere"):
        with pytest.raises(Problem) as caught:
            demand(caller(Grant("analyst", "visits")), "ask", name)
        told.append(str(caught.value.to_json()).replace(name, "X"))
    assert told[0] == told[1]


def test_an_action_that_does_not_exist() -> None:
    with pytest.raises(Problem) as caught:
        decide(None, "aks")
    assert (caught.value.code, caught.value.remedy) == ("invalid_request", "did you mean 'ask'?")


def test_visible() -> None:
    assert visible(caller(Grant("device", "visits")), "visits")
    assert not visible(caller(Grant("device", "visits")), "births")
