"""Schedules of releases over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.service.client import Client, running
from support.service.clinic import FAST, write_clinic
from support.service.clock import Clock, at
from support.service.hosting import release_due
from tacit.report.odds import odds_words
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState

COUNT = {"sql": "select count(*) as n from visits", "epsilon": "1", "tag": "beds"}
MONTHLY = {"request": COUNT, "start": "2026-01-31", "every": "1mo", "times": 3, "title": "Beds"}
PLAN = {
    "questions": [
        {"sql": "select count(*) as n from visits"},
        {"sql": "select site, count(*) as by_site from visits group by site"},
    ],
    "epsilon": "1",
}


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-01-10"))


@pytest.fixture
def client(tmp_path: Path, clock: Clock) -> Iterator[Client]:
    with running(ServiceState(Settings.load(write_clinic(tmp_path)), clock)) as client:
        yield client


@pytest.fixture
def reviewed(tmp_path: Path, clock: Clock) -> Iterator[Client]:
    folder = write_clinic(tmp_path, FAST + "approval = true\n")
    with running(ServiceState(Settings.load(folder), clock)) as client:
        yield client


def begin(client: Client, token: str, **changes: Any) -> Any:
    return client.post("/v1/datasets/visits/schedules", json={**MONTHLY, **changes}, token=token)


def left(client: Client, token: str) -> str:
    budget = client.get("/v1/datasets/visits/budget", token=token).json()["remaining"]
    return str(budget["epsilon"])


def test_it_is_previewed_begun_and_made_by_the_clock(client: Client, clock: Clock) -> None:
    ada = client.token("analyst", name="ada")
    expected = client.post("/v1/datasets/visits/schedules/preview", json=MONTHLY, token=ada).json()
    assert (expected["cost"]["epsilon"], expected["total"]["epsilon"]) == ("1", "3")
    assert (expected["remaining"]["epsilon"], expected["affordable"]) == ("10", True)
    assert [one["tag"] for one in expected["calendar"]] == [
        *("beds 2026-01-31", "beds 2026-02-28", "beds 2026-03-31"),
    ]
    assert expected["preview"]["preview"]["errors"]["n"]
    assert left(client, ada) == "10"
    made = begin(client, ada)
    assert (made.status_code, made.json()["state"], made.json()["paid"]) == (201, "running", 3)
    assert begin(client, ada).json() == made.json()
    assert left(client, ada) == "7"
    release_due(client, clock, "2026-01-31")
    ada = client.token("analyst", name="ada")
    here = f"/v1/schedules/{made.json()['id']}"
    shown = client.get(here, token=ada).json()
    assert [one["state"] for one in shown["calendar"]] == ["done", "planned", "planned"]
    assert (shown["made"], shown["next"]) == (1, at("2026-02-28"))
    assert shown["next_when"] == shown["calendar"][1]["when"] == "2026-02-28T00:00:00Z"
    release = client.get(shown["calendar"][0]["href"], token=ada).json()
    assert release["request"]["tag"] == "beds 2026-01-31"
    assert release["links"]["schedule"] == here
    assert release["answer"]["columns"][0]["value"]
    (item,) = client.get("/v1/schedules", token=ada).json()["items"]
    assert (item["id"], item["made"], item["calendar"]) == (shown["id"], 1, None)
    assert "beds 2026-01-31" in client.get("/v1/feed", token=ada).text
    cancelled = client.delete(here, token=ada).json()
    assert [one["state"] for one in cancelled["calendar"]] == ["done", "cancelled", "cancelled"]
    assert client.delete(here, token=ada).status_code == 409
    assert begin(client, ada).json()["error"]["code"] == "conflict"
    assert left(client, ada) == "7"


@pytest.mark.full
def test_answers_stay_in_the_order_of_the_request(client: Client, clock: Clock) -> None:
    """In another order it is another question, which would not be released."""
    answers = {
        "visits": {"statistic": "count"},
        "cost": {"statistic": "mean", "column": "cost", "lower": 0, "upper": 99},
    }
    request = {"question": {"answers": answers}, "epsilon": "1/4"}
    made = begin(client, client.token("analyst", name="ada"), request=request).json()
    release_due(client, clock, "2026-01-31")
    ada = client.token("analyst", name="ada")
    shown = client.get(f"/v1/schedules/{made['id']}", token=ada).json()
    release = client.get(shown["calendar"][0]["href"], token=ada).json()
    assert [one["label"] for one in release["answer"]["columns"]] == list(answers)


@pytest.mark.full
def test_a_plan_is_released_under_one_charge_each_time(client: Client, clock: Clock) -> None:
    ada = client.token("analyst", name="ada")
    body = {**MONTHLY, "request": PLAN}
    expected = client.post("/v1/datasets/visits/schedules/preview", json=body, token=ada).json()
    assert len(expected["preview"]["plan"]["questions"]) == 2
    made = begin(client, ada, request=PLAN).json()
    assert (made["total"]["epsilon"], left(client, ada)) == ("3", "7")
    release_due(client, clock, "2026-01-31")
    ada = client.token("analyst", name="ada")
    shown = client.get(f"/v1/schedules/{made['id']}", token=ada).json()
    release = client.get(shown["calendar"][0]["href"], token=ada).json()
    assert len(release["answers"]) == 2
    assert release["request"]["tag"] == "2026-01-31"


@pytest.mark.full
def test_others_do_not_know_of_it(client: Client) -> None:
    ada = client.token("analyst", name="ada")
    made = begin(client, ada).json()["id"]
    eve, rita = client.token("reviewer", "births", "eve"), client.token("reviewer", name="rita")
    for token, status in ((rita, 409), (eve, 404)):  # it was started at once, and none may decide
        for method, what in (("GET", "review"), ("POST", "approve")):
            reply = client.request(method, f"/v1/schedules/{made}/{what}", token=token)
            assert reply.status_code == status, (what, reply.text)
    here = f"/v1/schedules/{made}"
    for role, name, status in (
        *(("analyst", "ada", 200), ("analyst", "eve", 404), ("reviewer", "rita", 200)),
        *(("auditor", "otto", 200), ("device", "box", 404)),
    ):
        token = client.token(role, name=name)
        assert client.get(here, token=token).status_code == status, role
        listed = client.get("/v1/schedules", token=token).json()["items"]
        assert [one["id"] for one in listed] == [made] * (status == 200)
    for role, name, status in (
        *(("analyst", "eve", 404), ("reviewer", "rita", 403), ("auditor", "otto", 403)),
        *(("device", "box", 403), ("curator", "cleo", 200)),
    ):
        assert client.delete(here, token=client.token(role, name=name)).status_code == status, role
    elsewhere = client.token("analyst", "births", name="ada")
    assert (
        client.get(here, token=elsewhere).json()
        == client.get("/v1/schedules/nothere", token=elsewhere).json()
    )


@pytest.mark.full
def test_the_same_schedule_of_someone_else_is_theirs_and_costs_nothing_more(
    client: Client,
) -> None:
    ada, eve = client.token("analyst", name="ada"), client.token("analyst", name="eve")
    first, second = begin(client, ada).json(), begin(client, eve).json()
    assert first["id"] != second["id"]
    assert second["asked_by"] == "eve"
    assert left(client, eve) == "7"


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"times": 0}, 400, "times"),
        ({"times": 10**9}, 400, "times"),
        ({"times": "3"}, 400, "times"),
        ({"start": "2026-01-09"}, 400, "start is in the past"),
        ({"start": "soon"}, 400, "start is a time such as"),
        ({"start": "9999-12-31"}, 400, "beyond the year 9999"),
        ({"every": "1h"}, 400, "every is how far apart"),
        ({"every": "1 fortnight"}, 400, "every is how far apart"),
        ({"times": 11}, 402, "these 11 releases cost epsilon 11 together"),
        ({"request": {"sql": COUNT["sql"], "free": True}}, 400, "leave free out"),
        ({"request": {**COUNT, "tag": "x" * 171}}, 400, "at most 170 characters"),
        ({"request": {**COUNT, "tag": "a\nb"}}, 400, "tag of the request is a line"),
        ({"request": {"sql": COUNT["sql"]}}, 400, "say what this release may spend"),
        ({"request": {**COUNT, "epsilon": "1e-400"}}, 400, "epsilon"),
        ({"request": {}}, 400, "ask in one way"),
        ({"request": {**COUNT, "sql": "select cost from visits"}}, 400, "private table"),
        ({"title": "a\x00b"}, 400, "title"),
        ({"more": 1}, 400, "no field of this name"),
    ],
)
def test_what_is_no_schedule_is_refused_and_costs_nothing(
    client: Client, changes: dict[str, Any], status: int, message: str
) -> None:
    ada = client.token("analyst", name="ada")
    reply = begin(client, ada, **changes)
    assert (reply.status_code, message in reply.text) == (status, True), reply.text
    assert client.get("/v1/schedules", token=ada).json()["items"] == []
    assert left(client, ada) == "10"


@pytest.mark.full
def test_a_preview_says_why_it_cannot_start(client: Client) -> None:
    ada = client.token("analyst", name="ada")
    for changes, affordable, message in (
        ({"times": 11}, False, "these 11 releases"),
        ({"start": "2026-01-01"}, True, "start is in the past"),
    ):
        body = {**MONTHLY, **changes}
        reply = client.post("/v1/datasets/visits/schedules/preview", json=body, token=ada)
        assert (reply.status_code, reply.json()["affordable"]) == (200, affordable)
        assert message in reply.json()["problem"]


@pytest.mark.full
def test_it_is_approved_once_and_each_release_runs_without(reviewed: Client, clock: Clock) -> None:
    ada, eve = reviewed.token("analyst", name="ada"), reviewed.token("analyst", name="eve")
    reply = begin(reviewed, ada)
    assert (reply.status_code, reply.json()["state"]) == (202, "waiting")
    assert (reply.json()["total"]["epsilon"], left(reviewed, ada)) == ("3", "10")
    assert begin(reviewed, ada).json() == reply.json()
    here = f"/v1/schedules/{reply.json()['id']}"
    assert reviewed.get(here, token=eve).status_code == 404
    assert reviewed.get("/v1/schedules", token=eve).json()["items"] == []
    assert reviewed.post(f"{here}/approve", token=ada).status_code == 403
    rita = reviewed.token("reviewer", name="rita")
    said = {"reason": "by week"}
    assert reviewed.post(f"{here}/refuse", json={"reason": " "}, token=rita).status_code == 400
    assert reviewed.post(f"{here}/refuse", json=said, token=rita).json()["state"] == "refused"
    assert reviewed.get(here, token=ada).json()["reason"] == "by week"
    assert reviewed.delete(here, token=ada).status_code == 409
    assert begin(reviewed, ada).json()["state"] == "waiting"
    approved = reviewed.post(f"{here}/approve", token=rita)
    assert (approved.status_code, approved.json()["state"]) == (200, "running")
    assert (approved.json()["asked_by"], left(reviewed, ada)) == ("ada", "7")
    assert begin(reviewed, ada).status_code == 201
    release_due(reviewed, clock, "2026-01-31")
    ada = reviewed.token("analyst", name="ada")
    made = reviewed.get(here, token=ada).json()["calendar"][0]
    assert made["state"] == "done"
    feed = reviewed.get("/v1/feed", token=ada).text
    assert f"urn:tacit:release:{made['release']}:done" in feed
    assert f"urn:tacit:schedule:{reply.json()['id']}:approved" in feed


def test_a_reviewer_sees_the_odds_and_who_asked_before(reviewed: Client) -> None:
    ada, rita = reviewed.token("analyst", name="ada"), reviewed.token("reviewer", name="rita")
    asked = {"sql": "select count(*) as n from visits", "epsilon": "1/8"}
    assert reviewed.post("/v1/datasets/visits/releases", json=asked, token=ada).status_code == 202
    here = f"/v1/schedules/{begin(reviewed, ada).json()['id']}"
    review = reviewed.get(f"{here}/review", token=rita).json()
    assert review["total"]["epsilon"] == "3"
    assert review["odds"] == odds_words(tc.epsilon(3), "all of them together")
    assert [one["asked_by"] for one in review["earlier"]] == ["ada"]


def test_a_title_can_be_seen(reviewed: Client) -> None:
    ada = reviewed.token("analyst", name="ada")
    for title in ("a\nb", "a\u202eb", "a\u200bb"):
        assert begin(reviewed, ada, title=title).status_code == 400


@pytest.mark.full
def test_what_waits_is_withdrawn_by_its_owner(reviewed: Client) -> None:
    ada, eve = reviewed.token("analyst", name="ada"), reviewed.token("analyst", name="eve")
    here = f"/v1/schedules/{begin(reviewed, ada).json()['id']}"
    assert reviewed.delete(here, token=eve).status_code == 404
    assert reviewed.delete(here, token=ada).json()["state"] == "cancelled"
    assert reviewed.get(here, token=ada).status_code == 404
    rita = reviewed.token("reviewer", name="rita")
    assert reviewed.post(f"{here}/approve", token=rita).status_code == 404
    assert left(reviewed, ada) == "10"


@pytest.mark.full
def test_nobody_approves_their_own_nor_what_is_over(reviewed: Client, clock: Clock) -> None:
    cleo = reviewed.token("curator", "visits", "cleo")
    here = f"/v1/schedules/{begin(reviewed, cleo).json()['id']}"
    assert reviewed.post(f"{here}/approve", token=cleo).status_code == 403
    clock.now = at("2026-02-01")
    rita = reviewed.token("reviewer", name="rita")
    late = reviewed.post(f"{here}/approve", token=rita)
    assert (late.status_code, "start is in the past" in late.text) == (400, True)
    assert reviewed.get(here, token=rita).json()["state"] == "waiting"


@pytest.mark.full
def test_two_of_one_name_in_two_teams_are_two(tmp_path: Path, clock: Clock) -> None:
    settings = FAST + 'approval = true\ncollusion = "teams apart"\n'
    folder = write_clinic(tmp_path, settings)
    with running(ServiceState(Settings.load(folder), clock)) as client:
        one = client.token("analyst", name="ada", team="oncology")
        other = client.token("analyst", name="ada", team="surgery")
        rita = client.token("reviewer", name="rita")
        for state in ("waiting", "running"):
            made, theirs = (begin(client, token).json() for token in (one, other))
            assert (made["state"], made["id"] != theirs["id"]) == (state, True)
            for token, own, foreign in ((one, made, theirs), (other, theirs, made)):
                for path in (f"/v1/schedules/{foreign['id']}",):
                    assert client.get(path, token=token).status_code == 404
                    assert client.delete(path, token=token).status_code == 404
                listed = client.get("/v1/schedules", token=token).json()["items"]
                assert [each["id"] for each in listed] == [own["id"]]
            if state == "waiting":
                for each in (made, theirs):
                    client.post(f"/v1/schedules/{each['id']}/approve", token=rita)
