"""A curator makes a second name, which decides on nothing that the first one asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, hosted_clinic
from support.service.pages import Browser

HERE = "/v1/datasets/visits/releases"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path, "approval = true")) as client:
        yield client


def second(client: Client, maker: str, name: str, role: str = "curator") -> str:
    body = {"name": name, "grants": [{"role": role, "dataset": "visits"}], "days": 1}
    text: str = client.post("/v1/tokens", json=body, token=maker).json()["token"]
    return text


def asked(client: Client, token: str, tag: str) -> str:
    reply: Any = client.post(HERE, json={**COUNT, "tag": tag}, token=token).json()
    return str(reply["id"])


@pytest.mark.full
def test_a_second_name_decides_on_nothing_of_its_maker(client: Client) -> None:
    cleo = client.token("curator", "visits", "cleo")
    rita = client.token("reviewer", "visits", "rita")
    ada, hand = second(client, cleo, "ada", "analyst"), second(client, cleo, "hand")
    third = second(client, hand, "third")
    body = {"grants": [{"role": "curator", "dataset": "visits"}], "days": 1}
    narrowed = client.post("/v1/tokens/narrow", json=body, token=hand).json()["token"]
    release = asked(client, cleo, "1")
    of_ada = asked(client, ada, "2")
    for token in (hand, third, narrowed, cleo):
        for one in (release, of_ada):
            for act, said in (("approve", None), ("refuse", {"reason": "no"})):
                reply = client.post(f"/v1/releases/{one}/{act}", json=said, token=token)
                assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
        assert "Nothing waits" in Browser(client, token).get("/approvals").text
    by_hand = asked(client, third, "3")
    assert client.post(f"/v1/releases/{by_hand}/approve", token=cleo).status_code == 403
    assert "Nothing waits" not in Browser(client, rita).get("/approvals").text
    for one in (release, of_ada, by_hand):
        assert client.post(f"/v1/releases/{one}/approve", token=rita).status_code == 200
