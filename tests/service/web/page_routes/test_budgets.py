"""The page on which curators raise a budget, set caps, and see which charges have no answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, hosted_clinic
from support.service.pages import browser
from tacit.errors import DataSourceError
from tacit.tables.question import Question


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path)) as client:
        yield client


def cap(page: Any, whose: str, who: str, amount: str) -> Any:
    said = {"whose": whose, "who": who, "amount": amount, "reason": "a share", "action": "cap"}
    return page.post("/datasets/visits/budget", **said)


@pytest.mark.full
def test_a_curator_sets_caps_and_raises_the_budget(client: Client) -> None:
    cleo = browser(client, "curator", name="cleo")
    assert "Set its budget and caps" in cleo.get("/datasets/visits").text
    assert "is set" in cap(cleo, "team:*", "", "2").text
    page = cap(cleo, "team", "oncology", "1/2")
    assert "team oncology" in page.text
    ada = client.token("analyst", "visits", "ada", team="oncology")
    over = client.post("/v1/datasets/visits/releases", json={**COUNT, "epsilon": 1}, token=ada)
    assert "cap of team:oncology" in over.text
    assert "taken away" in cap(cleo, "team", "oncology", "").text
    raised = {"amount": "2000", "reason": "a yearly report", "action": "raise"}
    page = cleo.post("/datasets/visits/budget", **raised)
    assert "of epsilon 2,000" in page.text or "of epsilon 2000" in page.text
    for wrong in ({**raised, "amount": "1"}, {**raised, "reason": ""}, {**raised, "amount": "x"}):
        assert 'role="alert"' in cleo.post("/datasets/visits/budget", **wrong).text
    assert browser(client, "analyst").get("/datasets/visits/budget").status_code == 403


@pytest.mark.full
def test_what_was_charged_and_not_answered_is_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, cleo = client.token("analyst", name="ada"), browser(client, "curator")
    where = "/v1/datasets/visits/releases"

    def away(*_: Any, **__: Any) -> Any:
        raise DataSourceError("4711")

    with monkeypatch.context() as patch:
        patch.setattr(Question, "release", away)
        made = client.post(where, json=COUNT, token=ada).json()
        found = client.get(f"/v1/releases/{made['id']}?wait=30", token=ada).json()
    assert (found["state"], found["left_open"]) == ("failed", True)
    assert made["id"] in cleo.get("/datasets/visits/budget").text
    page = browser(client, "analyst", name="ada").get(f"/releases/{made['id']}")
    assert "it stays charged" in page.text
    listed = client.get("/v1/releases?left_open=true", token=client.token("curator")).json()
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    again = client.post(where, json=COUNT, token=ada).json()
    assert client.get(f"/v1/releases/{again['id']}?wait=30", token=ada).json()["state"] == "done"
    assert made["id"] not in cleo.get("/datasets/visits/budget").text
    assert client.get("/v1/releases?left_open=true", token=ada).json()["items"] == []
