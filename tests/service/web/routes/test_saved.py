"""Saved questions over HTTP and in the pages: their owner's alone, valid, and never charged."""

from __future__ import annotations

import re
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, hosted_clinic
from support.service.pages import browser
from tacit.service.hosting import saved as saved_questions

PATH = "/v1/datasets/visits/saved"
PLAN = {"questions": [{"sql": COUNT["sql"]}, {"sql": "select avg(cost) as c from visits"}]}


@pytest.fixture
def ada(client: Client) -> str:
    return client.token("analyst", "visits", "ada")


def save(client: Client, token: str, title: str, request: Any) -> Any:
    return client.post(PATH, json={"title": title, "request": request}, token=token)


def test_a_question_is_saved_listed_asked_and_deleted(client: Client, ada: str) -> None:
    before = client.state.datasets.of("visits").ledger(None).spent
    one, two = (save(client, ada, t, r) for t, r in (("rows", COUNT), ("both", PLAN)))
    assert (one.status_code, two.status_code) == (201, 201), (one.text, two.text)
    items = client.get(PATH, token=ada).json()["items"]
    assert [(item["title"], item["request"]) for item in items] == [("both", PLAN), ("rows", COUNT)]
    assert items[0]["question"].startswith("2 questions together: ")
    preview = client.post("/v1/datasets/visits/preview", json=items[1]["request"], token=ada).json()
    assert preview["cost"] == {"kind": "pure", "epsilon": "1/2"}
    assert client.state.datasets.of("visits").ledger(None).spent == before
    for item in items:
        assert client.delete(f"{PATH}/{item['id']}", token=ada).status_code == 204
        assert client.delete(f"{PATH}/{item['id']}", token=ada).status_code == 404
    assert client.get(PATH, token=ada).json() == {"items": []}


def test_it_is_its_owners_alone(client: Client, ada: str) -> None:
    made = save(client, ada, "mine", COUNT).json()
    for role, name in (("analyst", "eve"), ("curator", "cleo")):
        token = client.token(role, name=name)
        assert client.get(PATH, token=token).json() == {"items": []}
        assert client.delete(f"{PATH}/{made['id']}", token=token).status_code == 404
    assert client.delete(f"{PATH}/{made['id']}", token=ada).status_code == 204


@pytest.mark.parametrize(
    ("title", "request_", "code"),
    [
        ("", COUNT, "invalid_request"),
        (" ", COUNT, "invalid_request"),
        ("a\nb", COUNT, "invalid_request"),
        ("a\u202eb", COUNT, "invalid_request"),
        ("x", {"sql": "select nothing(cost) from visits"}, "unsupported_query"),
        ("x", {"epsilon": 1}, "invalid_request"),
        ("x", {"sql": COUNT["sql"], "epsilon": "abc"}, "invalid_request"),
        ("x", {"sql": COUNT["sql"], "epsilon": 1e-300}, "invalid_request"),
        ("x", {"questions": [{"sql": COUNT["sql"]}], "epsilon": -1}, "invalid_request"),
        ("x", {"questions": []}, "invalid_request"),
        ("x", {"questions": [{"sql": COUNT["sql"]}] * 21}, "too_large"),
    ],
)
def test_what_cannot_be_asked_is_not_saved(
    client: Client, ada: str, title: str, request_: Any, code: str
) -> None:
    error = save(client, ada, title, request_).json()["error"]
    assert error["code"] == code
    assert "pattern" not in error["message"]
    assert client.get(PATH, token=ada).json() == {"items": []}


def test_there_is_a_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_questions, "MAX_SAVED", 2)
    token = client.token("analyst", "visits", "max")
    replies = [save(client, token, str(n), COUNT).status_code for n in range(3)]
    assert replies == [201, 201, 429]


def test_the_pages_save_open_and_delete(client: Client) -> None:
    ada = browser(client, "analyst", "visits", name="ava")
    sql = "select count(*) as n from visits where cost > 20"
    reply = ada.post("/datasets/visits/saved", title="dear <b>", sql=sql, amount="0.5", kind="ask")
    assert reply.status_code == 303
    page = ada.get("/datasets/visits/ask").text
    assert "dear &lt;b&gt;" in page
    (address,) = re.findall(r'href="(/datasets/visits/ask\?saved=[0-9a-f]{32})"', page)
    assert "where cost &gt; 20</textarea>" in ada.get(address).text
    assert 'value="1/2"' in ada.get(address).text or 'value="0.5"' in ada.get(address).text
    token = client.token("analyst", "visits", "ava")
    free = save(client, token, "of what is known", {"sql": COUNT["sql"], "free": True}).json()["id"]
    assert f'<a href="/datasets/visits/ask?saved={free}">' in ada.get("/datasets/visits/ask").text
    assert COUNT["sql"] in ada.get(f"/datasets/visits/ask?saved={free}").text
    assert client.delete(f"{PATH}/{free}", token=token).status_code == 204
    both = {"title": "both", "sql": [sql, "select avg(cost) as c from visits"], "amount": "1"}
    assert ada.post("/datasets/visits/saved", kind="plan", **both).status_code == 303
    page = ada.get("/datasets/visits/plan").text
    (address,) = re.findall(r'href="(/datasets/visits/plan\?saved=[0-9a-f]{32})"', page)
    assert "select avg(cost) as c from visits</textarea>" in ada.get(address).text
    for _ in range(2):
        page = ada.get("/datasets/visits/ask").text
        action = re.findall(r'action="(/datasets/visits/saved/[0-9a-f]{32}/delete)"', page)[0]
        assert ada.post(action).status_code == 303
    assert "Saved questions" not in ada.get("/datasets/visits/ask").text
    wrong = ada.post("/datasets/visits/saved", title="x", sql="select 1", amount="1", kind="ask")
    assert 'role="alert"' in wrong.text
    eve = browser(client, "analyst", "visits", name="eve")
    assert 'role="alert"' in eve.get(address).text or eve.get(address).status_code == 404


def test_a_team_of_its_own_sees_its_own(tmp_path: Any) -> None:
    with running(hosted_clinic(tmp_path, "collusion = 'teams apart'")) as client:
        one, other = (client.token("analyst", "visits", "ada", team=team) for team in "ab")
        assert save(client, one, "mine", COUNT).status_code == 201
        assert len(client.get(PATH, token=one).json()["items"]) == 1
        assert client.get(PATH, token=other).json() == {"items": []}
