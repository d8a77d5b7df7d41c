"""Dashboards over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.clinic import FAST, write_clinic
from support.service.clock import Clock
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState

START = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
HOURLY = {
    "column": "arrived",
    "start": "2026-03-01",
    "every": "1h",
    "periods": 24,
    "epsilon": "5",
    "title": "Arrivals",
}


def opened(folder: Path, clock: Clock) -> ServiceState:
    return ServiceState(Settings.load(folder), clock)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def client(tmp_path: Path, clock: Clock) -> Iterator[Client]:
    with running(opened(write_clinic(tmp_path), clock)) as client:
        yield client


def begin(client: Client, token: str, **changes: Any) -> Any:
    body = {**HOURLY, **changes}
    return client.post("/v1/datasets/visits/dashboards", json=body, token=token)


def test_it_is_previewed_begun_once_and_grows(client: Client, clock: Clock) -> None:
    ada = client.token("analyst", name="ada")
    expected = client.post("/v1/datasets/visits/dashboards/preview", json=HOURLY, token=ada).json()
    assert expected["cost"]["epsilon"] == "5"
    assert expected["affordable"]
    assert expected["remaining"]["epsilon"] == "10"
    made = begin(client, ada)
    assert made.status_code == 201
    assert begin(client, ada).json() == made.json()
    where = f"/v1/dashboards/{made.json()['id']}"
    assert client.get(where, token=ada).json()["counts"] == {
        "periods": [],
        "columns": {
            "count": {"value": [], "standard_error": [], "low": [], "high": []},
            "total": {"value": [], "standard_error": [], "low": [], "high": []},
        },
    }
    assert begin(client, ada, epsilon=5).json() == made.json()
    left = client.get("/v1/datasets/visits/budget", token=ada).json()["remaining"]
    assert left["epsilon"] == "5"
    clock.now = START + 3 * 3600
    client.state.dashboards.update_due()
    clock.now += 0.2
    ada = client.token("analyst", name="ada")
    result = client.get(where, token=ada).json()
    assert result["periods_shown"] == 3
    assert result["counts"]["periods"][1] == "2026-03-01T01:00:00"
    count = result["counts"]["columns"]["count"]
    assert all(
        low <= n <= high
        for low, n, high in zip(count["low"], count["value"], count["high"], strict=True)
    )
    listed = client.get("/v1/dashboards", token=ada).json()["items"]
    assert [(one["id"], one["counts"]) for one in listed] == [(made.json()["id"], None)]


def test_a_preview_says_which_cap_leaves_the_least(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + "[caps]\neach_analyst = {epsilon = 4}\n")
    with running(opened(folder, clock)) as client:
        ada = client.token("analyst", name="ada")
        place = "/v1/datasets/visits/dashboards/preview"
        reply = client.post(place, json=HOURLY, token=ada).json()
        assert reply["remaining"]["epsilon"] == "4"
        assert reply["limited_by"] == ["the cap of analyst ada"]
        assert "epsilon(4) that is left" in reply["text"]
        assert not reply["affordable"]
        assert begin(client, ada).status_code == 402
        assert client.post(place, json={**HOURLY, "epsilon": "4"}, token=ada).json()["affordable"]


def test_a_reviewer_sees_errors_what_is_left_and_the_odds(tmp_path: Path, clock: Clock) -> None:
    with running(opened(write_clinic(tmp_path, FAST + "approval = true\n"), clock)) as client:
        ada, rita = client.token("analyst", name="ada"), client.token("reviewer", name="rita")
        asked = {"sql": "select count(*) as n from visits", "epsilon": "1/8"}
        assert client.post("/v1/datasets/visits/releases", json=asked, token=ada).status_code == 202
        here = f"/v1/dashboards/{begin(client, ada).json()['id']}"
        review = client.get(f"{here}/review", token=rita).json()
        assert review["preview"]["cost"]["epsilon"] == "5"
        assert review["preview"]["limited_by"] == ["the budget of the data set"]
        assert review["preview"]["count_half_width"] > 0
        assert review["odds"].startswith("The odds: someone who is 10% sure")
        assert [one["asked_by"] for one in review["earlier"]] == ["ada"]
        for role, status in (("analyst", 403), ("auditor", 403), ("curator", 200)):
            token = client.token(role, name="someone")
            assert client.get(f"{here}/review", token=token).status_code == status, role
        client.post(f"{here}/refuse", json={"reason": "by week"}, token=rita)
        assert client.get(f"{here}/review", token=rita).status_code == 409


def test_a_title_or_tag_is_a_line_that_can_be_seen(client: Client) -> None:
    ada = client.token("analyst", name="ada")
    for text in ("a\0b", "a\nb", "a\u202eb", "a\u200bb"):
        for field in ("title", "tag"):
            reply = begin(client, ada, **{field: text})
            assert reply.status_code == 400
            assert "invisible" in reply.json()["error"]["message"]


def test_it_costs_what_it_costs_or_nothing(client: Client) -> None:
    ada = client.token("analyst", name="ada")
    dear = begin(client, ada, epsilon="11")
    assert (dear.status_code, dear.json()["error"]["code"]) == (402, "budget_exceeded")
    left = client.get("/v1/datasets/visits/budget", token=ada).json()["remaining"]
    assert left["epsilon"] == "10"
    assert client.get("/v1/dashboards", token=ada).json()["items"] == []


def test_who_may_ask_sees_it_and_others_do_not_know_of_it(client: Client) -> None:
    made = begin(client, client.token("analyst", name="ada")).json()["id"]
    for role, status in (("analyst", 200), ("auditor", 200), ("reviewer", 200), ("device", 404)):
        reply = client.get(f"/v1/dashboards/{made}", token=client.token(role, name="eve"))
        assert reply.status_code == status, role
    elsewhere = client.token("analyst", "births", name="eve")
    missing = client.get("/v1/dashboards/nothere", token=elsewhere)
    assert client.get(f"/v1/dashboards/{made}", token=elsewhere).json() == missing.json()
    assert client.get("/v1/dashboards", token=elsewhere).json()["items"] == []


@pytest.mark.full
def test_where_questions_are_approved_there_is_no_way_around(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + "approval = true\n")
    with running(opened(folder, clock)) as client:
        ada, eve = client.token("analyst", name="ada"), client.token("analyst", name="eve")
        reply = begin(client, ada)
        assert (reply.status_code, reply.json()["state"]) == (202, "waiting")
        assert client.state.dashboards.all() == []
        budget = client.get("/v1/datasets/visits/budget", token=ada).json()
        assert budget["spent"]["epsilon"] == "0"
        assert begin(client, ada).json() == reply.json()
        here = f"/v1/dashboards/{reply.json()['id']}"
        assert client.get(here, token=eve).status_code == 404
        assert client.get("/v1/dashboards", token=eve).json()["items"] == []
        for token in (ada, client.token("analyst", name="x")):
            assert client.post(f"{here}/approve", token=token).status_code == 403
        rita = client.token("reviewer", name="rita")
        for wrong in ("", " ", "x" * 501):
            said = {"reason": wrong}
            assert client.post(f"{here}/refuse", json=said, token=rita).status_code == 400
        said = {"reason": "by week"}
        assert client.post(f"{here}/refuse", json=said, token=rita).json()["state"] == "refused"
        assert client.get(here, token=ada).json()["reason"] == "by week"
        assert client.post(f"{here}/approve", token=rita).status_code == 409
        assert begin(client, ada).json()["state"] == "waiting"
        approved = client.post(f"{here}/approve", token=rita)
        assert (approved.status_code, approved.json()["state"]) == (200, "running")
        assert approved.json()["asked_by"] == "ada"
        assert begin(client, ada).status_code == 201
        assert client.get(here, token=eve).json()["state"] == "running"
        left = client.get("/v1/datasets/visits/budget", token=ada).json()["remaining"]
        assert left["epsilon"] == "5"
        actions = [event.action for event in client.state.audit.read()]
        assert {"release_asked", "release_refused", "release_approved", "dashboard_begun"} <= set(
            actions
        )


@pytest.mark.full
def test_a_dashboard_that_waits_is_withdrawn_by_who_asked(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + "approval = true\n")
    with running(opened(folder, clock)) as client:
        ada, eve, rita = (
            client.token(role, name=name)
            for role, name in (("analyst", "ada"), ("analyst", "eve"), ("reviewer", "rita"))
        )
        here = f"/v1/dashboards/{begin(client, ada).json()['id']}"
        assert client.delete(here, token=eve).status_code == 404
        gone = client.delete(here, token=ada)
        assert (gone.status_code, gone.json()["state"]) == (200, "cancelled")
        for token in (ada, rita):
            assert client.get(here, token=token).status_code == 404
        assert client.delete(here, token=ada).status_code == 404
        begin(client, ada)
        assert client.post(f"{here}/approve", token=rita).status_code == 200
        started = client.delete(here, token=ada)
        assert started.status_code == 409
        assert "has started" in started.text
        assert client.get(here, token=ada).json()["state"] == "running"


@pytest.mark.full
def test_nobody_approves_a_dashboard_of_their_own(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + "approval = true\n")
    with running(opened(folder, clock)) as client:
        cleo = client.token("curator", "visits", "cleo")
        grants = [{"role": "curator", "dataset": "visits"}]
        hand = {"name": "hand", "grants": grants, "days": 1}
        second = client.post("/v1/tokens", json=hand, token=cleo).json()["token"]
        here = f"/v1/dashboards/{begin(client, cleo).json()['id']}"
        for token in (cleo, second):
            assert client.post(f"{here}/approve", token=token).status_code == 403
        dear = begin(client, cleo, epsilon="11")
        assert dear.status_code == 402
        tagged = begin(client, cleo, epsilon="10", tag="all").json()["id"]
        rita = client.token("reviewer", name="rita")
        assert client.post(f"/v1/dashboards/{tagged}/approve", token=rita).status_code == 200
        over = client.post(f"{here}/approve", token=rita)  # the budget went meanwhile
        assert over.status_code == 402
        assert client.get(here, token=rita).json()["state"] == "waiting"


@pytest.mark.full
def test_where_teams_stand_apart_each_sees_its_own(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + 'collusion = "teams apart"\n')
    with running(opened(folder, clock)) as client:
        ada = client.token("analyst", name="ada", team="oncology")
        eve = client.token("analyst", name="eve", team="surgery")
        made, other = (begin(client, token).json()["id"] for token in (ada, eve))
        assert made != other  # each is paid from its own budget, with noise of its own
        for token, own, foreign in ((ada, made, other), (eve, other, made)):
            assert client.get(f"/v1/dashboards/{own}", token=token).status_code == 200
            assert client.get(f"/v1/dashboards/{foreign}", token=token).status_code == 404
            listed = client.get("/v1/dashboards", token=token).json()["items"]
            assert [one["id"] for one in listed] == [own]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "changes",
    [
        {"column": "cost"},
        {"column": "nothere"},
        {"every": "1 fortnight"},
        {"periods": 0},
        {"periods": 10**7},
        {"periods": "24"},
        {"epsilon": True},
        {"epsilon": -5},
        {"epsilon": "1e400"},
        {"rho": "1"},
        {"table": "nothere"},
        {"more": 1},
        {"start": "yesterday"},
    ],
)
def test_what_does_not_fit_is_refused(client: Client, changes: dict[str, Any]) -> None:
    reply = begin(client, client.token("analyst"), **changes)
    assert reply.status_code in (400, 402), reply.text
    assert client.state.dashboards.all() == []
