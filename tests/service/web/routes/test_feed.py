"""The Atom feed: what waits and was decided, for those who may see it, without values."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, finished, hosted_clinic
from support.service.pages import browser

ATOM = "{http://www.w3.org/2005/Atom}"
PATH = "/v1/datasets/visits/releases"


@pytest.fixture
def client(tmp_path: Any) -> Iterator[Client]:
    settings = 'url = "https://statistics.example"\n[datasets.visits]\napproval = true'
    with running(hosted_clinic(tmp_path, settings)) as client:
        yield client


def entries(client: Client, token: str) -> list[dict[str, str]]:
    reply = client.get("/v1/feed", token=token)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("application/atom+xml")
    root = ElementTree.fromstring(reply.content)
    assert root.tag == f"{ATOM}feed"
    for part in ("id", "title", "updated"):
        assert root.findtext(f"{ATOM}{part}")
    return [
        {
            **{p: str(one.findtext(f"{ATOM}{p}")) for p in ("id", "title", "updated", "summary")},
            "by": str(one.findtext(f"{ATOM}author/{ATOM}name")),
            "link": one.find(f"{ATOM}link").attrib["href"],  # type: ignore[union-attr]
        }
        for one in root.findall(f"{ATOM}entry")
    ]


def test_it_follows_a_release_from_state_to_state(client: Client) -> None:
    ada = client.token("analyst", "visits", "ada", team="oncology")
    rita, eve = client.token("reviewer", name="rita"), client.token("analyst", "visits", "eve")
    assert entries(client, ada) == []
    job, other = (
        client.post(PATH, json={**COUNT, "tag": f"a & <b> {n}"}, token=ada).json()["id"]
        for n in range(2)
    )
    waiting = entries(client, rita)
    assert {one["id"] for one in waiting} == {
        f"urn:tacit:release:{one}:waiting" for one in (job, other)
    }
    assert waiting[0]["by"] == "ada (oncology)"
    assert "a & <b> 1" in waiting[0]["title"]
    assert waiting[0]["summary"] == "visits; epsilon 0.5"
    time.sleep(1.1)  # the times of a feed are in seconds
    client.post(f"/v1/releases/{job}/approve", token=rita)
    client.post(f"/v1/releases/{other}/refuse", json={"reason": "too fine"}, token=rita)
    result = finished(client, ada, job)
    value = str(result["answer"]["columns"][0]["value"][0])
    shown = entries(client, ada)
    states = {one["id"].rpartition(":")[2]: one for one in shown}
    assert set(states) == {"done", "refused"}
    assert states["refused"]["summary"] == "visits; epsilon 0.5; decided by rita; too fine"
    assert states["refused"]["link"] == f"https://statistics.example/releases/{other}"
    assert states["done"]["updated"] > waiting[0]["updated"]
    assert states["done"]["summary"] == "visits; epsilon 0.5; decided by rita"
    assert not any(value in one["title"] for one in shown)
    assert entries(client, eve) == []


@pytest.mark.parametrize(
    ("kind", "body", "words", "price"),
    [
        (
            "schedule",
            {"request": COUNT, "start": "2126-01-01", "every": "1mo", "times": 3, "title": "beds"},
            "Schedule, 3 times, every 1mo: beds",
            "epsilon 1.5",
        ),
        (
            "dashboard",
            {"column": "day", "start": "2126-01-01", "every": "1d", "periods": 9, "epsilon": "1"},
            "Dashboard: rows by day, in 9 periods of 1d",
            "epsilon 1",
        ),
    ],
)
def test_it_has_what_waits_beside_releases(
    client: Client, kind: str, body: Any, words: str, price: str
) -> None:
    ada = client.token("analyst", "visits", "ada", team="oncology")
    rita, eve = client.token("reviewer", name="rita"), client.token("analyst", "visits", "eve")
    made = client.post(f"/v1/datasets/visits/{kind}s", json=body, token=ada).json()["id"]
    (waiting,) = entries(client, rita)
    assert waiting == {
        "id": f"urn:tacit:{kind}:{made}:waiting",
        "title": f"Waits for a reviewer: {words}",
        "updated": waiting["updated"],
        "summary": f"visits; {price}",
        "by": "ada (oncology)",
        "link": f"https://statistics.example/{kind}s/{made}",
    }
    assert entries(client, eve) == []
    page = browser(client, "reviewer", name="rob").get("/approvals").text
    assert f"/{kind}s/{made}" in page
    assert "asked by ada" in page
    mine = browser(client, "curator", name="ada").get("/approvals").text
    assert f"/{kind}s/{made}" in mine.partition("Waiting for someone else")[2]
    time.sleep(1.1)  # the times of a feed are in seconds
    client.post(f"/v1/{kind}s/{made}/refuse", json={"reason": "too often"}, token=rita)
    (refused,) = entries(client, ada)
    assert refused["title"] == f"Refused: {words}"
    assert refused["summary"] == f"visits; {price}; decided by rita; too often"
    assert refused["updated"] > waiting["updated"]
    client.post(f"/v1/datasets/visits/{kind}s", json=body, token=ada)
    (again,) = entries(client, ada)
    assert again["summary"] == f"visits; {price}"
    client.post(f"/v1/{kind}s/{made}/approve", token=rita)
    (approved,) = entries(client, ada)
    assert approved["title"] == f"Approved: {words}"


def test_text_that_xml_cannot_contain(client: Client) -> None:
    ada = client.token("analyst", "visits", "ada")
    sql = "select count(*) as n from visits where cost > 20 and 'a\x01\x0b\ufffe' = 'b'"
    reply = client.post(PATH, json={"sql": sql, "epsilon": 1}, token=ada)
    assert reply.status_code in (202, 400)
    assert len(entries(client, ada)) == (reply.status_code == 202)
