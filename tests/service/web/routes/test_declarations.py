"""Declarations over HTTP: looked at, checked, and whose they are to change."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service.client import Client, running
from support.service.declaring import HERE, body, columns, declaring_clinic, put, table
from support.service.hosting import COUNT


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(declaring_clinic(tmp_path)) as client:
        yield client


def test_what_the_operator_declared_is_the_operators_to_change(client: Client) -> None:
    curator = client.token("curator")
    stands = client.get("/v1/datasets/visits/declaration", token=curator).json()
    assert (stands["number"], stands["declared_by"]) == (None, "operator")
    assert stands["declaration"]["budget"] == {"epsilon": 1000}
    for replaces in (None, 1):
        assert put(client, curator, "/v1/datasets/visits", replaces=replaces).status_code == 409


@pytest.mark.full
def test_a_share_in_the_budget_of_people_is_given_by_a_curator_of_all_of_them(
    client: Client,
) -> None:
    folder, curator = client.state.settings.folder, client.token("curator")
    shutil.copy(folder / "visits.csv", folder / "data" / "more.csv")
    of_people = {"people": "patients"}
    assert put(client, curator, hosting=of_people).status_code == 201
    more = body(None, of_people, tables=table(path="data/more.csv"))
    part = client.token("curator", "more")
    assert client.put("/v1/datasets/more", json=more, token=part).status_code == 403
    assert client.put("/v1/datasets/more", json=more, token=curator).status_code == 201
    spent = client.post("/v1/datasets/more/releases", json=COUNT, token=curator)
    assert spent.status_code == 202
    assert client.get(HERE, token=curator).json()["spent"]["epsilon"] == "1/2"


@pytest.mark.full
def test_nothing_changes_under_questions_on_their_way(client: Client) -> None:
    curator = client.token("curator")
    assert put(client, curator, hosting={"latency": 30}).status_code == 201
    assert client.post(f"{HERE}/releases", json=COUNT, token=curator).status_code == 202
    reply = put(client, curator, hosting={"latency": 31}, replaces=1)
    assert (reply.status_code, reply.json()["error"]["details"]) == (409, {"running": 1})


@pytest.mark.full
def test_a_check_says_what_to_think_about(client: Client) -> None:
    said = body(
        None, {"approval": True}, budget={"epsilon": 50}, tables=columns(cost={"kind": "float"})
    )
    result = client.post(f"{HERE}/declaration/check", json=said, token=client.token("curator"))
    assert result.status_code == 200, result.text
    assert result.json()["protects"].startswith("protects: each person")
    notes = " ".join(result.json()["notes"])
    for told in ("budget is large", "cost of visits have no bounds", "approves it"):
        assert told in notes
    assert client.state.datasets.names == ["visits"]
