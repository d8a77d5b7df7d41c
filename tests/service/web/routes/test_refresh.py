"""Refreshes over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, released

VISITS = """
name = "visits"
unit = { person = "person", rows = 5 }
budget = { epsilon = 1 }
[tables.visits]
path = "visits.csv"
[tables.visits.columns]
cost = { kind = "float", bounds = [0, 100] }
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "visits.toml").write_text(VISITS)
    (tmp_path / "visits.csv").write_text("person,cost\n1,20\n")
    with running(tmp_path) as client:
        yield client


def test_a_call_is_a_refresh_and_is_told(client: Client) -> None:
    made = client.post("/v1/datasets/visits/refresh", token=client.token("curator"))
    assert made.status_code == 202
    assert made.json()["number"] == 1
    result = client.get("/v1/datasets/visits/refreshes", token=client.token("analyst")).json()
    assert [one["way"] for one in result["items"]] == ["first", "call"]
    assert "refreshed once" in result["text"]
    assert "share one budget of epsilon 1" in result["text"]
    assert "refreshed" in [event.action for event in client.state.audit.read()]
    assert 'tacit_refreshes_total{dataset="visits"} 1.0' in client.state.metrics.text()


def test_a_data_set_that_is_not_there(client: Client) -> None:
    reply = client.post("/v1/datasets/visit/refresh", token=client.token("curator"))
    assert reply.status_code == 404
    assert reply.json()["error"]["remedy"] == "did you mean 'visits'?"


def test_who_may_only_ask_does_not_refresh(client: Client) -> None:
    for role in ("analyst", "auditor", "reviewer", "device"):
        reply = client.post("/v1/datasets/visits/refresh", token=client.token(role))
        assert reply.status_code == 403
    assert client.state.refreshes.current("visits").number == 0


@pytest.mark.full
def test_an_answer_says_which_refresh_its_data_are_from(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_text("latency = '1/20'")
    (tmp_path / "visits.toml").write_text(VISITS)
    (tmp_path / "visits.csv").write_text("person,cost\n1,20\n")
    with running(tmp_path) as client:
        ada, bob = (client.token("analyst", name=name) for name in ("ada", "bob"))
        first = released(client, ada)
        opened = client.state.refreshes.history("visits")[0].at
        assert first["data_from"] == opened
        made = client.post("/v1/datasets/visits/refresh", token=client.token("curator")).json()
        again = released(client, bob)
        assert (again["replayed"], again["data_from"]) == (True, opened)
        fresh = released(client, bob, {**COUNT, "epsilon": "1/4", "tag": "new"})
        assert fresh["data_from"] == made["at"] > opened


@pytest.mark.full
def test_files_that_two_data_sets_come_to_share_are_noticed_at_a_refresh(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_text("latency = '1/20'\nrefresh = 'every minute'")
    for name in ("visits", "births"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text("person,cost\n1,20\n")
        said = VISITS.replace('name = "visits"', f'name = "{name}"')
        (tmp_path / f"{name}.toml").write_text(said.replace("visits.csv", f"{name}/*.csv"))
    with running(tmp_path) as client:
        curator = client.token("curator")
        assert client.post("/v1/datasets/visits/refresh", token=curator).status_code == 202
        (tmp_path / "births" / "b.csv").hardlink_to(tmp_path / "visits" / "a.csv")
        reply = client.post("/v1/datasets/births/refresh", token=curator)
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "conflict")
        assert "same table" in reply.json()["error"]["message"]
        numbers = [client.state.refreshes.current(n).number for n in ("visits", "births")]
        client.state.scheduler.look()
        assert [client.state.refreshes.current(n).number for n in ("visits", "births")] == numbers
