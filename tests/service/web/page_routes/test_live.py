"""The pages of dashboards and of collections."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.service.client import Client, running
from support.service.clinic import FAST, write_clinic
from support.service.clock import Clock
from support.service.pages import browser
from tacit import local
from tacit.service.settings import Settings
from tacit.service.web.state import ServiceState

START = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
SETTINGS = (
    FAST
    + """
[collections.colour]
purpose = "which colour people like"
mechanism = "DirectEncoding"
items = ["red", "green", "<b>blue</b>"]
epsilon = 4
[collections.words]
mechanism = "CountMeanSketch"
epsilon = 4
[collections.age]
mechanism = "Duchi"
bounds = [0, 100]
epsilon = 4
"""
)
FORM = {
    "column": "arrived",
    "start": "2026-03-01",
    "every": "1h",
    "periods": "24",
    "amount": "5",
    "title": "Arrivals",
}


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def client(tmp_path: Path, clock: Clock) -> Iterator[Client]:
    folder = write_clinic(tmp_path, SETTINGS)
    with running(ServiceState(Settings.load(folder), clock)) as client:
        yield client


def test_a_dashboard_is_previewed_begun_and_looked_at(client: Client, clock: Clock) -> None:
    ada = browser(client, "analyst", name="ada")
    assert "/datasets/visits/count" in ada.get("/dashboards").text
    assert "<option>arrived</option>" in ada.get("/datasets/visits/count").text
    seen = ada.post("/datasets/visits/count", **FORM, action="preview")
    assert "together cost epsilon 5 of the epsilon 10" in seen.text
    made = ada.post("/datasets/visits/count", **FORM, action="begin")
    assert made.status_code == 303
    where = made.headers["location"]
    assert "No period has ended yet" in ada.get(where).text
    clock.now = START + 3 * 3600
    client.state.dashboards.update_due()
    clock.now += 0.2
    ada = browser(client, "analyst", name="ada")
    page = ada.get(where)
    assert page.text.count("<svg") == 2
    assert "2026-03-01 02:00:00" in page.text
    assert "3 of 24 are over" in page.text
    assert "Arrivals" in ada.get("/dashboards").text
    assert browser(client, "analyst", "births").get(where).status_code == 404


def test_a_dashboard_of_whole_numbers_asks_what_they_count(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, SETTINGS)
    declared = (folder / "visits.toml").read_text()
    (folder / "visits.toml").write_text(declared.replace('kind = "float"', 'kind = "integer"'))
    with running(ServiceState(Settings.load(folder), clock)) as client:
        ada = browser(client, "analyst", name="ada")
        assert "days since 1970" in ada.get("/datasets/visits/count").text
        form = {**FORM, "column": "cost", "start": "1970-01-01", "every": "1w", "periods": "100"}
        reply = ada.post("/datasets/visits/count", **form, action="begin")
        assert "name with clock what they count" in reply.text
        made = ada.post("/datasets/visits/count", **form, clock="days", action="begin")
        assert made.status_code == 303
        clock.now += 1
        client.state.dashboards.update_due()
        clock.now += 1
        page = browser(client, "analyst", name="ada").get(made.headers["location"]).text
        assert "100 of 100 are over" in page
        assert "1970-01-08" in page


@pytest.mark.full
@pytest.mark.parametrize(
    "change", [{"periods": "x"}, {"amount": "11"}, {"start": "soon"}, {"column": "site"}]
)
def test_what_is_no_dashboard_is_said(client: Client, change: dict[str, str]) -> None:
    page = browser(client, "analyst").post(
        "/datasets/visits/count", **{**FORM, **change}, action="begin"
    )
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)
    assert client.state.dashboards.all() == []


@pytest.mark.full
def test_who_may_not_ask_begins_none(client: Client) -> None:
    assert browser(client, "reviewer").get("/datasets/visits/count").status_code == 403
    page = browser(client, "auditor").get("/dashboards")
    assert "/datasets/visits/count" not in page.text


@pytest.mark.full
def test_the_live_estimate_of_a_collection(client: Client) -> None:
    ada = browser(client, "analyst", name="ada")
    page = ada.get("/collections")
    assert "which colour people like" in page.text
    assert "No reports yet" in ada.get("/collections/colour").text
    oracle = local.DirectEncoding(["red", "green", "<b>blue</b>"], epsilon=4)
    wire = local.Wire(oracle)
    sent = b"".join(map(wire.encode, oracle.perturb_many(["red"] * 300)))
    device = client.token("device", "colour")
    client.post(
        "/v1/collections/colour/reports",
        content=sent,
        headers={"content-type": "application/octet-stream"},
        token=device,
    )
    page = ada.get("/collections/colour?poisoned=5")
    assert "<strong>300</strong> reports" in page.text
    assert page.text.count("<svg") == 1
    assert "&lt;b&gt;blue" in page.text
    assert "5 " in page.text.partition("</form>")[2]
    assert 'role="alert"' in ada.get("/collections/colour?poisoned=many").text
    assert browser(client, "device", "colour").get("/collections/colour").status_code == 403


@pytest.mark.full
def test_a_mean_and_answers_that_are_looked_for(client: Client) -> None:
    ada = browser(client, "analyst", name="ada")
    for name, oracle, answers in (
        ("age", local.Duchi(0, 100, epsilon=4), [40.0] * 200),
        ("words", local.CountMeanSketch(epsilon=4), ["yes"] * 500),
    ):
        wire = local.Wire(oracle)
        sent = b"".join(map(wire.encode, oracle.perturb_many(answers)))
        client.post(
            f"/v1/collections/{name}/reports",
            content=sent,
            headers={"content-type": "application/octet-stream"},
            token=client.token("device", name),
        )
    assert '<th scope="row">mean</th>' in ada.get("/collections/age").text
    assert '<th scope="row">yes</th>' in ada.get("/collections/words?candidates=yes,no").text


@pytest.mark.full
def test_a_reviewer_decides_on_a_dashboard(tmp_path: Path, clock: Clock) -> None:
    folder = write_clinic(tmp_path, FAST + "approval = true\n")
    with running(ServiceState(Settings.load(folder), clock)) as client:
        ada, rita = browser(client, "analyst", name="ada"), browser(client, "reviewer", name="rita")
        where = ada.post("/datasets/visits/count", **FORM, action="begin").headers["location"]
        assert "A reviewer decides first" in ada.get(where).text
        assert "Your decision" not in ada.get(where).text
        listed = rita.get("/approvals").text.partition(where)[2]
        assert "asked by ada, epsilon 5 for all periods" in listed
        assert "at most 94.3% sure from all periods together" in listed
        decision = rita.get(where).text.partition("Your decision")[2]
        assert "All 24 periods together cost epsilon" in decision
        assert "in 95 of 100 periods" in decision
        assert "10% sure that a given person" in decision
        assert "10% sure" not in ada.get(where).text
        assert 'role="alert"' in rita.post(f"{where}/refuse", reason=" ").text
        assert rita.post(f"{where}/refuse", reason="by week").status_code == 303
        assert "by week" in ada.get(where).text
        assert "Withdraw" not in ada.get(where).text
        ada.post("/datasets/visits/count", **FORM, action="begin")
        assert "Withdraw" in ada.get(where).text
        assert "Withdraw" not in rita.get(where).text
        assert ada.post(f"{where}/withdraw").headers["location"] == "/dashboards"
        assert where not in rita.get("/approvals").text
        ada.post("/datasets/visits/count", **FORM, action="begin")
        assert rita.post(f"{where}/approve").status_code == 303
        assert "No period has ended yet" in ada.get(where).text
        assert "Nothing waits" in rita.get("/approvals").text
