"""What an analyst with a token of their own learns of the others: nothing beyond the budget.

Of each law there is an outsider who asks, and somebody else whose work must not show.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.clinic import write_clinic
from support.service.hosting import COUNT, released
from tacit import local

ASK = "/v1/datasets/visits/releases"
FAST = 'latency = "1/20"\n'
COLLECTION = """
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
per_token = 3
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = write_clinic(tmp_path_factory.mktemp("clinic"), FAST + COLLECTION)
    with running(folder) as client:
        yield client


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = write_clinic(tmp_path_factory.mktemp("apart"), f"{FAST}collusion = 'teams apart'\n")
    with running(folder) as client:
        yield client


def listed(client: Client, token: str, query: str = "") -> Any:
    return client.get(f"/v1/releases?{query}", token=token).json()


def asked(client: Client, token: str, tag: str, **more: Any) -> Any:
    found = released(client, token, {**COUNT, "epsilon": "1/1000", "tag": tag}, **more)
    assert found["state"] == "done", found
    return found


def test_a_cursor_does_not_tell_how_much_the_others_asked(client: Client) -> None:
    eve, ada = (client.token("analyst", name=name) for name in ("eve pages", "ada pages"))
    seen = []
    for k in range(3):
        mine = asked(client, eve, f"pages {k}")["id"]
        page = listed(client, eve, "limit=1")
        assert page["items"][0]["id"] == mine
        assert page["next"] == mine  # and no place among the releases of all
        seen.append(mine)
        for other in range(k):
            asked(client, ada, f"pages of ada {k} {other}")
    rest = listed(client, eve, f"limit=5&cursor={seen[-1]}")
    assert [one["id"] for one in rest["items"]] == seen[-2::-1]


def test_the_release_of_another_is_no_cursor(client: Client) -> None:
    eve, ada = (client.token("analyst", name=name) for name in ("eve cursor", "ada cursor"))
    other = asked(client, ada, "cursor")["id"]
    replies = [
        client.get(f"/v1/releases?cursor={cursor}", token=eve) for cursor in (other, "0" * 32)
    ]
    assert [reply.status_code for reply in replies] == [400, 400]
    assert replies[0].json() == replies[1].json()


LIKE_ADA = (
    "Ada",
    "ad\u0430",  # the last letter is Cyrillic
    "\uff41da",  # the first one is as wide as two
    unicodedata.normalize("NFD", "ad\u00e1"),
    unicodedata.normalize("NFC", "ad\u00e1"),
    "ada2",
)


@pytest.mark.parametrize("name", LIKE_ADA)
def test_a_name_that_looks_like_anothers_is_another(name: str, client: Client) -> None:
    ada, other = (client.token("analyst", name=who) for who in ("ada", name))
    once = {"headers": {"Idempotency-Key": "same for both"}}
    ask = {**COUNT, "epsilon": "1/1000"}
    of_ada = client.post(ASK, json={**ask, "tag": "names"}, token=ada, **once)
    assert of_ada.status_code == 202, of_ada.text
    # The key of another person stands for nothing of one's own.
    mine = client.post(ASK, json={**ask, "tag": f"names of {name}"}, token=other, **once)
    assert mine.status_code == 202, mine.text
    assert mine.json()["id"] != of_ada.json()["id"]
    reply = client.get(of_ada.json()["href"], token=other)
    missing = client.get(f"/v1/releases/{'0' * 32}", token=other)
    assert (reply.status_code, reply.json()) == (404, missing.json())
    assert of_ada.json()["id"] not in [one["id"] for one in listed(client, other)["items"]]


@pytest.mark.parametrize(
    "name", ["ada\u200b", "ada\u202e", "ada\n", " ada", "ada ", "", "*", "ada:*"]
)
def test_no_token_has_a_name_that_cannot_be_told_from_another(name: str, client: Client) -> None:
    body = {"name": name, "grants": [{"role": "analyst", "dataset": "visits"}], "days": 1}
    reply = client.post("/v1/tokens", json=body, token=client.token("curator"))
    assert reply.status_code == 400, reply.text


def test_replies_about_what_is_anothers_have_the_size_and_headers_of_nothing(
    client: Client,
) -> None:
    eve, ada = (client.token("analyst", name=name) for name in ("eve sizes", "ada sizes"))
    made = asked(client, ada, "sizes")
    for end in ("", "?wait=1", "/answer", "/answer?format=csv", "/certificate"):
        there, missing = (
            client.get(f"/v1/releases/{name}{end}", token=eve) for name in (made["id"], "0" * 32)
        )
        assert there.content == missing.content
        drop = {"x-request-id", "date"}
        heads = [{k: v for k, v in r.headers.items() if k not in drop} for r in (there, missing)]
        assert heads[0] == heads[1]
    own = client.get(f"/v1/releases/{made['id']}", token=ada)
    assert own.headers["cache-control"] == "no-store"
    assert not {"etag", "last-modified"} & set(own.headers)  # nothing to ask for by its digest


def test_ada_of_another_team_is_another_person_where_teams_stand_apart(apart: Client) -> None:
    here, there = (apart.token("analyst", name="ada", team=team) for team in ("a", "b"))
    once = {"headers": {"Idempotency-Key": "mine"}}
    made = asked(apart, here, "teams", **once)
    assert made["id"] in [one["id"] for one in listed(apart, here)["items"]]
    assert listed(apart, there) == {"items": [], "next": None}
    missing = apart.get(f"/v1/releases/{'0' * 32}", token=there).json()
    for end in ("", "/answer", "/certificate"):
        reply = apart.get(f"/v1/releases/{made['id']}{end}", token=there)
        assert (reply.status_code, reply.json()) == (404, missing)
    assert apart.post(f"/v1/releases/{made['id']}/cancel", token=there).status_code == 404
    ask = {**COUNT, "epsilon": "1/1000", "tag": "teams"}
    again = apart.post(ASK, json=ask, token=there, **once)
    assert again.status_code == 409
    assert made["id"] not in again.text
    fresh = asked(apart, there, "teams")  # the same question, paid by this team
    assert not fresh["replayed"]


def test_in_one_budget_for_all_ada_is_ada_in_any_team(client: Client) -> None:
    before, after = (client.token("analyst", name="moved", team=team) for team in ("a", "b"))
    made = asked(client, before, "moved")
    assert client.get(f"/v1/releases/{made['id']}", token=after).json()["answer"] == made["answer"]


def test_a_device_does_not_multiply_its_share_by_narrowing_its_token(client: Client) -> None:
    oracle = local.DirectEncoding(["red", "green"], epsilon=1)
    wire = local.Wire(oracle)

    def post(token: str, n: int) -> Any:
        sent = b"".join(wire.encode(oracle.perturb("red")) for _ in range(n))
        kind = {"content-type": "application/octet-stream"}
        return client.post(
            "/v1/collections/colour/reports", content=sent, headers=kind, token=token
        ).json()

    device = client.token("device", "colour", name="one device")
    narrow = "/v1/tokens/narrow"
    child = client.post(narrow, json={"days": 0.01}, token=device).json()["token"]
    grandchild = client.post(narrow, json={"days": 0.005}, token=child).json()["token"]
    assert post(child, 2)["accepted"] == 2
    assert post(device, 2) == {"accepted": 1, "refused": {"limit": 1}}
    assert post(grandchild, 1) == {"accepted": 0, "refused": {"limit": 1}}
    other = client.token("device", "colour", name="another device")
    assert post(other, 4) == {"accepted": 3, "refused": {"limit": 1}}
