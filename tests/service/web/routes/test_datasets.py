"""Data sets over HTTP: what is public of them, their budgets, previews."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, DECLARED, hosted_clinic, released
from support.service.pages import browser
from tacit.accounting import epsilon
from tacit.report import Certificate
from tacit.report.issued import digest
from tacit.report.text import listed
from tacit.tables.dataset.draft import TableShape
from tacit.tables.plan.preview import Preview

HERE = "/v1/datasets/visits"


@pytest.fixture(scope="module")
def ada(client: Client) -> str:
    return client.token("analyst", "visits", "ada", team="oncology")


def test_a_list_shows_what_the_caller_may_see(client: Client, ada: str) -> None:
    result = client.get("/v1/datasets", token=ada).json()
    assert [(one["name"], one["href"]) for one in result["items"]] == [("visits", HERE)]
    assert result["next"] is None
    assert result["items"][0]["protects"].startswith("protects: each person")
    other = client.get("/v1/datasets", token=client.token("analyst", "births")).json()
    assert other["items"] == []


def test_a_data_set_says_what_it_protects_and_what_is_left(client: Client, ada: str) -> None:
    result = client.get(HERE, token=ada).json()
    assert result["purpose"] == "How the clinic is used"
    assert (result["table"], list(result["tables"])) == ("visits", ["visits", "patients", "sites"])
    shapes = client.state.datasets.of("visits").shapes()
    for name, one in result["tables"].items():
        assert TableShape.from_json(name, one).to_json() == shapes[name].to_json()
    assert result["budget"] == epsilon(1000).to_json()
    assert result["unit"] == {"person": "person", "rows": 5, "groups": 2}
    assert (result["latency"], result["approval"]) == (0.05, False)
    assert "even if all of them compare" in result["collusion"]
    assert "share one budget" in result["refreshes"]
    assert str(client.state.settings.folder) not in str(result)


def test_there_is_no_such_data_set(client: Client) -> None:
    everywhere = client.token("analyst")
    for path in ("/v1/datasets/visit", "/v1/datasets/..%2Fvisits", "/v1/datasets/visit/budget"):
        assert client.get(path, token=everywhere).status_code in (404,)


def test_a_preview_is_free_and_reads_nothing(client: Client, ada: str) -> None:
    before = client.get(f"{HERE}/budget", token=ada).json()["spent"]
    reply = client.post(
        f"{HERE}/preview", json={**COUNT, "rows": [10], "confidence": 0.9}, token=ada
    )
    result = reply.json()
    assert reply.status_code == 200, result
    assert result["cost"] == epsilon("1/2").to_json()
    assert (result["affordable"], result["replay"], result["open"]) == (True, False, False)
    assert result["rows"] == [10]
    assert result["preview"]["confidence"] == "9/10"
    assert any("compare" in note for note in result["notes"])
    assert client.get(f"{HERE}/budget", token=ada).json()["spent"] == before


@pytest.mark.parametrize(
    "more", [{"rows": []}, {"rows": [0]}, {"rows": list(range(1, 12))}, {"confidence": 2}]
)
def test_a_preview_that_is_none(client: Client, ada: str, more: dict[str, Any]) -> None:
    reply = client.post(f"{HERE}/preview", json={**COUNT, **more}, token=ada)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_request")


def test_a_preview_says_where_sql_has_no_translation(client: Client, ada: str) -> None:
    reply = client.post(f"{HERE}/preview", json={"sql": "select\n cost from visits"}, token=ada)
    error = reply.json()["error"]
    assert error["code"] == "unsupported_query"
    assert error["details"]["position"] == {"line": 2, "column": 2}


def test_a_budget_is_raised_by_a_curator_in_the_open(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path)) as client:
        curator, ada = client.token("curator", "visits"), client.token("analyst", "visits")
        more = {"epsilon": 1001, "reason": "a yearly report"}
        assert client.put(f"{HERE}/budget", json=more, token=ada).status_code == 403
        reply = client.put(f"{HERE}/budget", json=more, token=curator)
        assert reply.json()["budget"] == epsilon(1001).to_json()
        for wrong in (
            {"epsilon": 1000},
            {"epsilon": 0},
            {"rho": 2000},
            {"epsilon": 2000, "delta": 0.1},
        ):
            said = {**wrong, "reason": "why"}
            assert client.put(f"{HERE}/budget", json=said, token=curator).status_code == 400
        assert (
            client.put(f"{HERE}/budget", json={"epsilon": 2000}, token=curator).status_code == 400
        )
        ledger = client.state.datasets.of("visits").ledger(None)
        assert [e.body.get("reason") for e in ledger.events() if e.event == "extend"] == [
            "a yearly report"
        ]


def test_caps_under_caps(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path, "caps = { each_analyst = { epsilon = 2 } }")) as client:
        curator = client.token("curator", "visits", "carl")
        ada, eve = (client.token("analyst", "visits", n, team="a") for n in ("ada", "eve"))
        caps = {"team:a": {"epsilon": 3}, "analyst:eve": {"epsilon": "5/2"}}
        said = {"caps": caps, "reason": "a share"}
        assert client.put(f"{HERE}/caps", json=said, token=ada).status_code == 403
        assert client.put(f"{HERE}/caps", json=said, token=curator).status_code == 200
        assert released(client, ada, {**COUNT, "epsilon": 2})["state"] == "done"
        over = client.post(f"{HERE}/releases", json={**COUNT, "epsilon": "1/9"}, token=ada)
        assert over.status_code == 402
        assert "cap of analyst:ada" in over.json()["error"]["message"]
        over = client.post(f"{HERE}/releases", json={**COUNT, "epsilon": "3/2"}, token=eve)
        assert "cap of team:a" in over.json()["error"]["message"]
        for price in (3, 2000):  # of all that does not cover it, what leaves least is named
            over = client.post(f"{HERE}/releases", json={**COUNT, "epsilon": price}, token=eve)
            assert "epsilon 1 is left of epsilon 3, the cap of team:a" in over.text
        raised = {"epsilon": 2000, "team": "a", "reason": "all share one"}
        assert client.put(f"{HERE}/budget", json=raised, token=curator).status_code == 400
        own = client.get(f"{HERE}/budget", token=ada).json()["accounts"]
        assert [one["name"] for one in own] == ["team:a", "analyst:ada"]
        every = client.get(f"{HERE}/budget", token=curator).json()["accounts"]
        assert {one["name"] for one in every} >= {
            "analyst:*",
            "analyst:eve",
            "analyst:ada",
            "team:a",
        }
        none = {"caps": {"team:a": {"epsilon": 0}, "analyst:eve": None}, "reason": "enough"}
        assert client.put(f"{HERE}/caps", json=none, token=curator).status_code == 200
        over = client.post(f"{HERE}/releases", json={**COUNT, "epsilon": "1/9"}, token=eve)
        assert over.status_code == 402
        for wrong in ({"oncology": {"epsilon": 1}}, {"team:a": {"rho": 1}}, {}, {"teem:a": None}):
            said = {"caps": wrong, "reason": "why"}
            assert client.put(f"{HERE}/caps", json=said, token=curator).status_code == 400


@pytest.mark.full
def test_teams_apart_have_a_budget_each(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path, "collusion = 'teams apart'")) as client:
        one, other = (client.token("analyst", "visits", n, team=n) for n in ("one", "other"))
        assert released(client, one, {**COUNT, "epsilon": 900})["state"] == "done"
        assert client.get(HERE, token=one).json()["remaining"]["epsilon"] == "100"
        assert client.get(HERE, token=other).json()["remaining"]["epsilon"] == "1000"
        auditor = client.token("auditor", "visits")
        shown = client.get(HERE, token=auditor).json()
        assert shown["remaining"]["epsilon"] == "100"
        assert "one team is answered" in shown["collusion"]
        result = released(client, other, {**COUNT, "epsilon": 900})
        assert result["replayed"] is False
        text = client.get(result["links"]["certificate"], token=other).json()
        assert text["protects"]["assumes"]["analysts"] == "teams apart"
        ledger = client.state.datasets.of("visits").ledger("other")
        report = Certificate(text).verify(ledger)
        assert report, report.failures
        assert any("do not compare their answers" in told for told in report.unchecked)
        assert "What is assumed" in Certificate(text).to_html()
        for assumes in (None, {"analysts": "nobody", "meaning": "nobody"}, {"analysts": "x"}):
            changed = {**text, "protects": {**text["protects"], "assumes": assumes}}
            if assumes is None:
                del changed["protects"]["assumes"]
            changed["digest"] = digest(changed)
            assert not Certificate(changed).verify(ledger)
        alone = client.token("analyst", "visits", "alone")  # whom no team's spending concerns
        for path in (HERE, f"{HERE}/budget"):
            assert client.get(path, token=alone).json()["remaining"]["epsilon"] == "1000"
        reply = client.post(f"{HERE}/releases", json=COUNT, token=alone)
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")


def test_data_sets_of_the_same_people_spend_one_budget_of_all_their_curators(
    tmp_path: Path,
) -> None:
    folder = hosted_clinic(tmp_path)
    text = (folder / "visits.toml").read_text().replace('name = "visits"', 'name = "twin"')
    (folder / "twin.toml").write_text(text)
    people = "".join(f'[datasets.{n}]\npeople = "patients"\n' for n in ("visits", "twin"))
    (folder / "service.toml").write_text(f'latency = "1/20"\n{people}')
    with running(folder) as client:
        token = client.token("analyst")
        first = released(client, token, {**COUNT, "epsilon": 600})
        assert first["state"] == "done"
        shown = client.get("/v1/datasets/twin", token=token).json()
        assert (shown["people"], shown["remaining"]["epsilon"]) == ("patients", "400")
        reply = client.post(
            "/v1/datasets/twin/releases", json={**COUNT, "epsilon": 600}, token=token
        )
        assert reply.status_code == 402
        certificate = client.get(first["links"]["certificate"], token=token).json()
        assert certificate["dataset"].startswith("visits (")
        # and its budget is changed by a curator of all of them
        asked = client.token("analyst", "twin", "ada")
        assert released(client, client.token("analyst", "visits", "bob"))["state"] == "done"
        part, whole = client.token("curator", "visits"), client.token("curator")
        raised = {"epsilon": 2000, "reason": "more people"}
        capped = {"caps": {"dataset:twin": {"epsilon": "1/4"}}, "reason": "a share"}
        for path, said in ((f"{HERE}/budget", raised), (f"{HERE}/caps", capped)):
            reply = client.put(path, json=said, token=part)
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
            assert "twin" not in reply.text
        assert client.get(HERE, token=whole).json()["budget"]["epsilon"] == "1000"
        twin = client.token("curator", "twin")
        shown = client.get("/v1/datasets/twin/budget", token=twin).json()
        assert "analyst:bob" not in [one["name"] for one in shown["accounts"]]
        for path, said in ((f"{HERE}/budget", raised), (f"{HERE}/caps", capped)):
            reply = client.put(path, json=said, token=whole)
            assert reply.status_code == 200
        assert "analyst:bob" in [one["name"] for one in reply.json()["accounts"]]
        over = client.post("/v1/datasets/twin/releases", json=COUNT, token=asked)
        assert over.status_code == 402


@pytest.mark.full
def test_a_cap_holds_for_a_team_that_comes_later(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path, "collusion = 'teams apart'")) as client:
        curator = client.token("curator")
        for path in (HERE, f"{HERE}/budget"):  # before any team has asked
            assert client.get(path, token=curator).json()["remaining"]["epsilon"] == "1000"
        assert client.get("/datasets", token=curator).status_code == 200
        alone = client.token("analyst", "visits", "alone")
        assert client.get(f"{HERE}/budget", token=alone).json()["accounts"] == []
        capped = {"caps": {"analyst:*": {"epsilon": 1}}, "reason": "a share"}
        assert client.put(f"{HERE}/caps", json=capped, token=curator).status_code == 404
        assert released(client, client.token("analyst", name="ada", team="one"))["state"] == "done"
        assert client.put(f"{HERE}/caps", json=capped, token=curator).status_code == 200
        late = client.token("analyst", name="eve", team="two")
        reply = client.post(f"{HERE}/releases", json={**COUNT, "epsilon": 2}, token=late)
        assert (reply.status_code, "cap of analyst:eve" in reply.text) == (402, True)
        assert released(client, late)["state"] == "done"


# A preview tells the least of all limits that apply, and which of them it is.


SHARED = """
caps = { each_analyst = { epsilon = 4 }, each_team = { epsilon = 6 } }
[datasets.visits]
people = "patients"
[datasets.again]
people = "patients"
"""
# what is released before: by whom, of which data set, how much, and the caps that are set; then
# what is left for ada in oncology, and what binds
BINDING: dict[str, tuple[list[tuple[str, str, str, int]], dict[str, int], str, list[str]]] = {
    "the person": ([], {}, "4", ["the cap of analyst ada"]),
    "the person who spent": (
        [("ada", "oncology", "visits", 1)],
        {},
        "3",
        ["the cap of analyst ada"],
    ),
    "the team": ([("eve", "oncology", "visits", 3)], {}, "3", ["the cap of team oncology"]),
    "the person and the team": (
        [("eve", "oncology", "visits", 2)],
        {},
        "4",
        ["the cap of team oncology", "the cap of analyst ada"],
    ),
    "the data set": ([], {"dataset:visits": 2}, "2", ["the cap of dataset visits"]),
    "other data sets of the same people": (
        [("bob", "surgery", "again", 3), ("tim", "heart", "again", 4), ("kim", "skin", "again", 3)],
        {},
        "2",
        ["the budget of the people 'patients'"],
    ),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("name", BINDING)
def test_a_preview_tells_what_binds(tmp_path: Path, name: str) -> None:
    before, caps, left, limits = BINDING[name]
    folder = hosted_clinic(tmp_path, SHARED, DECLARED.replace("epsilon = 1000", "epsilon = 12"))
    text = (folder / "visits.toml").read_text().replace('name = "visits"', 'name = "again"')
    (folder / "again.toml").write_text(text)
    with running(folder) as client:
        if caps:
            body = {"caps": {n: {"epsilon": c} for n, c in caps.items()}, "reason": "a test"}
            reply = client.put(
                "/v1/datasets/visits/caps", json=body, token=client.token("curator", name="cleo")
            )
            assert reply.status_code == 200, reply.text
        for who, team, dataset, spent in before:
            token = client.token("analyst", name=who, team=team)
            released(client, token, {**COUNT, "epsilon": spent, "tag": who}, dataset)
        ada = client.token("analyst", name="ada", team="oncology")
        plan = {"questions": [{"sql": COUNT["sql"]}], "epsilon": 5}
        for path, body in (("preview", {**COUNT, "epsilon": 5}), ("plans/preview", plan)):
            result = client.post(f"/v1/datasets/visits/{path}", json=body, token=ada).json()
            assert result["remaining"] == {"kind": "pure", "epsilon": left}
            assert (result["limited_by"], result["affordable"]) == (limits, False)
            shown = Preview.from_json(result["preview"])
            assert (shown.limited_by, shown.affordable) == (tuple(limits), False)
            assert f"that is left under {listed(limits)}" in str(shown)
        page = browser(client, "analyst", name="ada", team="oncology").post(
            "/datasets/visits/ask", action="preview", sql=COUNT["sql"], amount="5"
        )
        words = html.unescape(page.text)
        assert f"epsilon {left} that is left under {listed(limits)}" in words
        assert "not cover it" in words
        # what is told is what is granted: as much is, and no more
        more = client.post(
            "/v1/datasets/visits/releases", json={**COUNT, "epsilon": f"{left}.001"}, token=ada
        )
        assert more.json()["error"]["code"] == "budget_exceeded"
        assert released(client, ada, {**COUNT, "epsilon": left})["state"] == "done"
