"""The pages of schedules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service.client import Client, running
from support.service.clinic import FAST, write_clinic
from support.service.clock import Clock, at
from support.service.hosting import release_due
from support.service.pages import browser
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState

FORM = {
    "sql": "select count(*) as n from visits",
    "start": "2026-01-31",
    "every": "1mo",
    "times": "3",
    "amount": "1",
    "title": "Beds <b>",
    "tag": "beds",
}
HERE = "/datasets/visits/schedule"


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-01-10"))


@pytest.fixture
def client(tmp_path: Path, clock: Clock) -> Iterator[Client]:
    with running(ServiceState(Settings.load(write_clinic(tmp_path)), clock)) as client:
        yield client


def test_the_form_previews_a_schedule(client: Client) -> None:
    seen = browser(client, "analyst").post(HERE, **FORM, action="preview").text
    assert "All 3 releases together cost epsilon 3" in seen
    assert client.state.schedules.all() == []


@pytest.mark.full
def test_it_is_previewed_begun_looked_at_and_cancelled(client: Client, clock: Clock) -> None:
    ada = browser(client, "analyst", name="ada")
    assert HERE in ada.get("/schedules").text
    assert 'href="/schedules"' in ada.get("/datasets").text
    assert 'placeholder="2026-01-31"' in ada.get(HERE).text
    seen = ada.post(HERE, **FORM, action="preview").text
    assert "All 3 releases together cost epsilon 3 of the epsilon 10" in seen
    assert "beds 2026-02-28" in seen
    assert "Expected error of each answer" in seen
    assert "Start, and spend epsilon 3" in seen
    made = ada.post(HERE, **FORM, action="begin")
    assert made.status_code == 303
    where = made.headers["location"]
    assert "<dd>2026-01-31 00:00 UTC</dd>" in ada.get(where).text
    release_due(client, clock, "2026-03-01")  # the first was missed
    ada = browser(client, "analyst", name="ada")
    page = ada.get(where).text
    assert "A missed release was due while the service did not run" in page
    assert "Beds &lt;b&gt;" in page
    release = page.partition('href="/releases/')[2].partition('"')[0]
    shown = ada.get(f"/releases/{release}").text
    assert where in shown
    assert "<dt>Tag</dt><dd>beds 2026-02-28</dd>" in shown
    assert "1 of 3 made" in ada.get("/schedules").text
    assert ada.post(f"{where}/cancel").headers["location"] == where
    page = ada.get(where).text
    assert "No further release is made" in page
    assert "3 of 3" in page
    assert f"{where}/cancel" not in page
    assert 'role="alert"' in ada.post(f"{where}/cancel").text
    assert browser(client, "analyst", name="eve").get(where).status_code == 404
    assert ada.post("/schedules/nothere/cancel").status_code == 404


@pytest.mark.full
def test_several_questions_are_a_plan(client: Client) -> None:
    ada = browser(client, "analyst", name="ada")
    more = ada.post(HERE, **FORM, action="add").text
    assert more.count("<textarea") == 2
    questions = [FORM["sql"], "select avg(cost) as m from visits"]
    fields = {**FORM, "sql": questions, "action": "preview"}
    reply = client.post(HERE, headers=ada.headers, data=fields)
    assert "Of question" in reply.text
    assert "One by one" in reply.text


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"times": "x"}, "How many times: write a whole number, such as 12"),
        ({"times": "0"}, "times: write 1 or more"),
        ({"times": "401"}, "times: write 400 or less"),
        ({"amount": "11"}, "cost epsilon 33 together"),
        ({"start": "soon"}, "From: a time such as"),
        ({"start": ""}, "From: it is empty, or too short"),
        ({"sql": " "}, "there is no question"),
    ],
)
def test_what_is_no_schedule_is_said(client: Client, change: dict[str, str], said: str) -> None:
    page = browser(client, "analyst").post(HERE, **{**FORM, **change}, action="begin")
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)
    assert said in page.text
    assert client.state.schedules.all() == []


@pytest.mark.full
def test_a_preview_names_what_is_in_the_way(client: Client) -> None:
    ada = browser(client, "analyst")
    page = ada.post(HERE, **{**FORM, "times": "11"}, action="preview").text
    assert "It cannot start now: these 11 releases cost epsilon 11 together" in page
    assert 'value="begin"' not in page
    assert browser(client, "reviewer").get(HERE).status_code == 403
    assert HERE not in browser(client, "auditor").get("/schedules").text


@pytest.mark.full
def test_a_reviewer_decides_once(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + "approval = true\n")
    with running(ServiceState(Settings.load(folder), clock)) as client:
        ada, rita = browser(client, "analyst", name="ada"), browser(client, "reviewer", name="rita")
        assert "Ask for it" in ada.post(HERE, **FORM, action="preview").text
        where = ada.post(HERE, **FORM, action="begin").headers["location"]
        asked = {"sql": "select count(*) as n from visits", "epsilon": "1/8"}
        eve = client.token("analyst", name="eve")
        other = client.post("/v1/datasets/visits/releases", json=asked, token=eve).json()["href"]
        assert "eve" in rita.get(where).text.partition("Asked before")[2]
        client.post(f"{other}/cancel", token=eve)
        assert "A reviewer decides once" in ada.get(where).text
        assert "Your decision" not in ada.get(where).text
        listed = rita.get("/approvals").text.partition(where)[2]
        assert "asked by ada, epsilon 3 for all releases" in listed
        assert "at most 69.1% sure from all of them together" in listed
        page = rita.get(where).text
        assert "Your decision" in page
        assert "All 3 releases together cost epsilon 3" in page
        assert "Withdraw" not in page
        assert 'role="alert"' in rita.post(f"{where}/refuse", reason=" ").text
        assert rita.post(f"{where}/refuse", reason="by week").status_code == 303
        assert "by week" in ada.get(where).text
        ada.post(HERE, **FORM, action="begin")
        assert "Withdraw" in ada.get(where).text
        assert ada.post(f"{where}/cancel").headers["location"] == "/schedules"
        ada.post(HERE, **FORM, action="begin")
        assert rita.post(f"{where}/approve").status_code == 303
        assert "All releases are paid for" in ada.get(where).text
        assert "Nothing waits" in rita.get("/approvals").text
