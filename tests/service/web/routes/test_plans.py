"""Several questions together over HTTP: previewed, released, replayed, decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.service.client import Client, running
from support.service.hosting import finished, hosted_clinic
from tacit.report import Certificate

PLANS = "/v1/datasets/visits/plans"
QUESTIONS: list[dict[str, Any]] = [
    {"sql": "select count(*) as n from visits"},
    {"sql": "select site, count(*) as k from visits group by site order by k desc limit 2"},
    {
        "question": {
            "answers": {
                "dear": {"statistic": "count"},
                "cost": {"statistic": "mean", "column": "cost"},
            },
            "where": "cost > 20",
        }
    },
]
BAD = [
    ({"questions": []}, "invalid_request"),
    ({"questions": QUESTIONS[:1] * 101}, "invalid_request"),
    ({"questions": QUESTIONS[:1] * 21}, "too_large"),
    ({"questions": [{"sql": "select 1", "described": {}}]}, "invalid_request"),
    ({"questions": [{"sql": "select count(*) as n from visits", "epsilon": 1}]}, "invalid_request"),
    ({"questions": QUESTIONS[:1], "free": True}, "invalid_request"),
    ({"questions": QUESTIONS[:1], "least": "most"}, "invalid_request"),
    ({"questions": QUESTIONS[:1], "weights": {"m": 2}}, "invalid_request"),
    ({"questions": QUESTIONS[:1], "nonnegative": 1}, "invalid_request"),
    ({"questions": QUESTIONS[:1], "cheapest": {"targets": {"m": 2}}}, "invalid_request"),
    ({"questions": QUESTIONS[:1], "epsilon": 2000}, "budget_exceeded"),
]


def plan(**more: Any) -> dict[str, Any]:
    return {"questions": QUESTIONS[:2], "epsilon": "1/2", **more}


@pytest.fixture(scope="module")
def ada(client: Client) -> str:
    return client.token("analyst", "visits", "ada")


@pytest.fixture(scope="module")
def done(client: Client, ada: str) -> dict[str, Any]:
    reply = client.post(PLANS, json=plan(), token=ada)
    assert reply.status_code == 202, reply.text
    result = finished(client, ada, reply.json()["id"])
    assert result["state"] == "done", result
    return result


def test_a_plan_is_answered_for_each_question(
    client: Client, ada: str, done: dict[str, Any]
) -> None:
    assert done["answer"] is None
    assert done["request"] == plan()
    whole, sites = done["answers"]
    assert (whole["by"], whole["keys"], whole["columns"][0]["label"]) == ([], [[]], "n")
    assert (sites["by"], len(sites["keys"])) == (["site"], 2)  # arranged as SQL asked
    assert "2 questions together" in done["question"]
    certificate = Certificate(client.get(done["links"]["certificate"], token=ada).json())
    assert certificate.verify()
    labels = [column["label"] for column in certificate.body["answer"]["columns"]]  # type: ignore[index,call-overload]
    assert labels == ["n", "k"]


def test_a_plan_costs_once_and_replays(client: Client, ada: str, done: dict[str, Any]) -> None:
    def spent() -> Any:
        return client.get("/v1/datasets/visits/budget", token=ada).json()["spent"]

    before = spent()
    preview = client.post(f"{PLANS}/preview", json=plan(), token=ada).json()
    assert (preview["replay"], preview["cost"]["epsilon"]) == (True, "0")
    again = client.post(PLANS, json=plan(), token=ada).json()
    result = finished(client, ada, again["id"])
    assert (again["replayed"], result["answers"]) == (True, done["answers"])
    assert spent() == before


def test_one_idempotency_key_is_one_plan(client: Client, ada: str) -> None:
    once = {"Idempotency-Key": "plan-1"}
    first, same = (
        client.post(PLANS, json=plan(tag="once"), token=ada, headers=once) for _ in range(2)
    )
    assert first.json()["id"] == same.json()["id"]
    other = client.post(PLANS, json=plan(tag="other"), token=ada, headers=once)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    finished(client, ada, first.json()["id"])


def test_a_preview_has_the_plan_next_to_its_questions_one_by_one(client: Client, ada: str) -> None:
    body = {"questions": QUESTIONS, "epsilon": "1/4", "rows": [500]}
    reply = client.post(f"{PLANS}/preview", json=body, token=ada)
    assert reply.status_code == 200, reply.text
    result = reply.json()
    assert result["cost"] == {"kind": "pure", "epsilon": "1/4"}
    assert [one["labels"] for one in result["plan"]["questions"]] == [
        ["n"],
        ["k"],
        ["dear", "cost"],
    ]
    answers = result["plan"]["answers"]
    assert [(one["label"], one["question"]) for one in answers] == [
        ("n", 1), ("k", 2), ("dear", 3), ("cost", 3)
    ]  # fmt: skip
    assert all(0 < one["planned"] <= one["alone"] * 1.5 for one in answers)
    assert [one["planned"] for one in answers] == [
        pytest.approx(result["preview"]["errors"][one["label"]][0]) for one in answers
    ]
    counts, others = answers[:3], answers[3:]
    assert len({one["share"] for one in counts}) == 1
    assert float_of(counts[0]["share"]) + float_of(others[0]["share"]) == 1
    assert sum(float_of(one["share"]) for one in result["plan"]["strategy"]) == 1
    assert result["limited_by"] == ["the budget of the data set"]


def float_of(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


def test_a_preview_names_the_questions_that_follow_from_ones_own_releases(
    client: Client, done: dict[str, Any]
) -> None:
    # ada's plan counted the rows: their number follows for her, and for no one else
    body = {"questions": [QUESTIONS[0], QUESTIONS[2]], "epsilon": "1/3"}
    for name, free in (("ada", ["n"]), ("eve", [])):
        token = client.token("analyst", "visits", name)
        result = client.post(f"{PLANS}/preview", json=body, token=token).json()
        assert sorted(result["free"]) == free
        assert [one["free"] for one in result["plan"]["questions"]] == [bool(free), False]
        if free:
            assert result["free"]["n"]["release"] == done["id"]


@pytest.mark.full
def test_what_cheapest_needs_is_planned_there_too(client: Client, ada: str, tmp_path: Path) -> None:
    with tc.open(hosted_clinic(tmp_path) / "visits.toml", ledger=tc.in_memory) as session:
        local = session.plan([session.sql(one["sql"]) for one in QUESTIONS[:2]])
        cheapest = local.cheapest({"n": "40 rows", "k": 50})
        body = plan(
            epsilon=str(cheapest.loss.amount), cheapest={"targets": {"n": "40 rows", "k": 50}}
        )
        expected = cheapest.preview()
    result = client.post(f"{PLANS}/preview", json=body, token=ada).json()
    assert result["preview"]["errors"] == {k: list(v) for k, v in expected.errors.items()}
    at_any_price = client.post(f"{PLANS}/preview", json={**body, "epsilon": "1/7"}, token=ada)
    for reply in (result, at_any_price.json()):
        assert reply["plan"]["least_loss"] == cheapest.loss.to_json()


@pytest.mark.parametrize(("body", "code"), BAD, ids=[str(n) for n in range(len(BAD))])
@pytest.mark.parametrize("path", [PLANS, f"{PLANS}/preview"])
def test_what_is_no_plan_is_refused_and_costs_nothing(
    client: Client, ada: str, path: str, body: dict[str, Any], code: str
) -> None:
    reply = client.post(path, json={"epsilon": "1/2", **body}, token=ada)
    if path.endswith("preview") and code == "budget_exceeded":
        assert reply.json()["affordable"] is False
        return
    assert reply.json()["error"]["code"] == code, reply.text


def test_a_mistake_names_its_question(client: Client, ada: str) -> None:
    body = plan(questions=[QUESTIONS[0], {"sql": "select\n nothing(cost) from visits"}])
    error = client.post(PLANS, json=body, token=ada).json()["error"]
    assert error["code"] == "unsupported_query"
    assert "question 2 of the plan: " in error["message"]
    assert error["details"]["position"]["line"] == 2


def test_the_answers_in_files(client: Client, ada: str, done: dict[str, Any]) -> None:
    path = done["links"]["answer"]
    every = client.get(path, token=ada).json()
    assert [one["by"] for one in every["answers"]] == [[], ["site"]]
    text = client.get(f"{path}?format=csv&question=2", token=ada).text
    assert text.splitlines()[0].startswith("site,k")
    for query in ("?format=csv", "?question=3", "?question=0&format=csv"):
        reply = client.get(f"{path}{query}", token=ada)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_request")


@pytest.fixture(scope="module")
def approving(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = hosted_clinic(tmp_path_factory.mktemp("clinic"), "approval = true")
    with running(folder) as client:
        yield client


def test_a_plan_is_approved_as_one_question(approving: Client) -> None:
    ada, rita = approving.token("analyst", name="ada"), approving.token("reviewer", name="rita")
    made = approving.post(PLANS, json=plan(), token=ada).json()
    assert made["state"] == "waiting"
    ledger = approving.state.datasets.of("visits").ledger(None)
    assert ledger.spent.is_nothing
    page = approving.get(f"/releases/{made['id']}", token=rita).text
    assert "2 questions together" in page
    reply = approving.post(f"/v1/releases/{made['id']}/approve", token=rita)
    assert reply.status_code == 200, reply.text
    result = finished(approving, ada, made["id"])
    assert (result["state"], len(result["answers"])) == ("done", 2)
    assert ledger.spent == tc.epsilon("1/2")


def test_those_who_may_not_see_a_plan_see_none_of_it(client: Client, done: dict[str, Any]) -> None:
    eve = client.token("analyst", "visits", "eve")
    value = json.dumps(done["answers"][0]["columns"][0]["value"][0])
    for path in (done["links"]["self"], done["links"]["answer"], f"/releases/{done['id']}"):
        reply = client.get(path, token=eve)
        assert reply.status_code == 404
        assert value not in reply.text
