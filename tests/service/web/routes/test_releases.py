"""Releases over HTTP."""

from __future__ import annotations

import csv
import io
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from support.service.client import Client, running
from support.service.hosting import COUNT, finished, hosted_clinic, released
from tacit.report import Certificate

BY_SITE = {"sql": "select site, avg(cost) as cost from visits group by site", "epsilon": 2}
ASK = "/v1/datasets/visits/releases"


@pytest.fixture(scope="module")
def ada(client: Client) -> str:
    return client.token("analyst", "visits", "ada", team="oncology")


@pytest.fixture(scope="module")
def done(client: Client, ada: str) -> dict[str, Any]:
    """A release of ada's."""
    result: dict[str, Any] = released(client, ada, BY_SITE)
    return result


def test_a_release_from_the_question_to_its_certificate(
    client: Client, ada: str, done: dict[str, Any]
) -> None:
    assert (done["state"], done["progress"], done["error"]) == ("done", 1.0, None)
    assert done["request"] == {**BY_SITE}
    assert done["answer"]["keys"] == [[1], [2], [3]]
    (column,) = done["answer"]["columns"]
    ends = zip(column["low"], column["value"], column["high"], strict=True)
    assert all(low <= value <= high for low, value, high in ends)
    certificate = Certificate(client.get(done["links"]["certificate"], token=ada).json())
    assert certificate.verify()
    assert certificate.body["answer"]["keys"] == done["answer"]["keys"]


def test_a_submission_is_accepted_and_says_when_to_look(client: Client, ada: str) -> None:
    before = time.time()
    reply = client.post(ASK, json={**COUNT, "epsilon": 3}, token=ada)
    assert reply.status_code == 202
    said = reply.json()
    assert said["href"] == f"/v1/releases/{said['id']}"
    assert (said["state"], said["replayed"]) == ("running", False)
    assert before < said["ready_at"] < before + 10
    assert finished(client, ada, said["id"])["state"] == "done"


@pytest.mark.parametrize("form", ["wide", "long"])
def test_the_answer_in_every_format(
    client: Client, ada: str, done: dict[str, Any], form: str
) -> None:
    def get(format: str) -> Any:
        reply = client.get(f"{done['links']['answer']}?format={format}&form={form}", token=ada)
        assert reply.status_code == 200
        link = done["links"]["certificate"]
        assert reply.headers["link"] == f'<{link}>; rel="describedby"; type="application/json"'
        return reply

    reply = get("csv")
    assert reply.headers["content-type"].startswith("text/csv")
    assert "attachment" in reply.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    arrow = pa.ipc.open_file(get("arrow").content).read_all()
    parquet = pa.parquet.read_table(io.BytesIO(get("parquet").content))
    assert arrow.equals(parquet)
    assert arrow.column_names == list(rows[0])
    assert arrow.num_rows == len(rows) == 3
    assert get("json").headers["content-type"] == "application/json"


def test_the_formats_of_official_statistics(client: Client, ada: str, done: dict[str, Any]) -> None:
    link, answer = done["links"]["answer"], done["answer"]
    (column,) = answer["columns"]

    def get(query: str, accept: str = "*/*", status: int = 200) -> Any:
        reply = client.get(f"{link}?{query}", token=ada, headers={"Accept": accept})
        assert reply.status_code == status
        return reply

    named = "structure=ME:S(1.0)&ids=site=REF_AREA&constants=FREQ=A"
    for accept in ("application/vnd.sdmx.data+csv", "application/vnd.sdmx.data+csv;version=2.0.0"):
        reply = get(named, accept)
        assert "version=2.0.0" in reply.headers["content-type"]
        rows = list(csv.DictReader(io.StringIO(reply.text)))
        assert [float(row["OBS_VALUE"]) for row in rows] == column["value"]
        assert [row["REF_AREA"] for row in rows] == [str(key) for (key,) in answer["keys"]]
    older = get("dataflow=ME:S(1.0)", "application/vnd.sdmx.data+csv; version=1.0.0")
    assert older.text.startswith("DATAFLOW,")
    data = get("format=json-stat&time=site&labels=" + column["label"]).json()
    assert data["value"][::4] == column["value"]
    assert get("format=px").headers["content-disposition"].endswith('.px"')
    reply = get("format=csvw")
    assert reply.content == get("format=csvw").content
    with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
        assert archive.namelist() == ["answer.csv", "answer.csv-metadata.json"]
    for wrong in ("format=sdmx-csv", "format=px&names=true", "format=json-stat&time=no"):
        assert get(wrong, status=400).json()["error"]["code"] == "invalid_request"


def test_the_accept_header_chooses_and_what_is_unknown_is_refused(
    client: Client, ada: str, done: dict[str, Any]
) -> None:
    link = done["links"]["answer"]
    reply = client.get(link, token=ada, headers={"Accept": "text/csv"})
    assert reply.text.startswith("site,cost")
    assert client.get(f"{link}?format=xlsx", token=ada).status_code == 400
    assert client.get(f"{link}?form=round", token=ada).status_code == 400


def test_answers_and_derived_columns_stay_in_the_order_of_the_request(
    client: Client, ada: str
) -> None:
    """In another order it is another question, which the worker would not release."""
    answers = {
        "visits": {"statistic": "count"},
        "age": {"statistic": "mean", "column": "doubled", "lower": 0, "upper": 200},
    }
    derived = {"plus": "cost + 1", "doubled": "plus * 2"}
    for names in (list(answers), list(answers)[::-1]):
        asked = {"answers": {name: answers[name] for name in names}, "with": derived}
        result = released(client, ada, {"question": asked, "epsilon": 2})
        assert result["state"] == "done"
        assert [column["label"] for column in result["answer"]["columns"]] == names


def test_a_replay_is_free_and_there_at_once(client: Client, ada: str, done: dict[str, Any]) -> None:
    eve = client.token("analyst", "visits", "eve")
    reply = client.post(ASK, json=BY_SITE, token=eve).json()
    assert (reply["state"], reply["replayed"], reply["cost"]["epsilon"]) == ("done", True, "0")
    assert client.get(reply["href"], token=eve).json()["answer"] == done["answer"]


def test_releases_of_others_are_not_there(client: Client, done: dict[str, Any]) -> None:
    here = f"/v1/releases/{done['id']}"
    eve = client.token("analyst", "visits", "eve")
    for path in (here, f"{here}/answer", f"{here}/certificate", "/v1/releases/" + "0" * 32):
        reply = client.get(path, token=eve)
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
    assert client.post(f"{here}/cancel", token=eve).status_code == 404
    elsewhere = client.token("auditor", "births", "bob")
    assert client.get(here, token=elsewhere).status_code == 404
    for role in ("reviewer", "auditor", "curator"):
        assert client.get(here, token=client.token(role, "visits")).json()["state"] == "done"


def test_lists_in_pages(client: Client, ada: str) -> None:
    for k in range(3):
        released(client, ada, {**COUNT, "tag": str(k)})
    every = client.get("/v1/releases?dataset=visits&limit=100", token=ada).json()["items"]
    result: list[Any] = []
    cursor = ""
    while True:
        page = client.get(f"/v1/releases?limit=2&cursor={cursor}", token=ada).json()
        result += page["items"]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert [one["id"] for one in result] == [one["id"] for one in every]
    assert all(one["asked_by"] == "ada" and one["answer"] is None for one in every)
    others = client.get("/v1/releases", token=client.token("analyst", "visits", "new")).json()
    assert others == {"items": [], "next": None}
    done = client.get("/v1/releases?state=done", token=ada).json()["items"]
    assert {one["state"] for one in done} == {"done"}


@pytest.mark.parametrize("query", ["state=over", "cursor=x", "cursor=-1", "limit=0", "limit=9999"])
def test_a_list_that_is_none(client: Client, ada: str, query: str) -> None:
    reply = client.get(f"/v1/releases?{query}", token=ada)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_request")


def test_a_request_sent_twice_is_one_release(client: Client, ada: str) -> None:
    once = {"headers": {"Idempotency-Key": "abc"}}
    ask = {**COUNT, "tag": "once"}
    first, again = (client.post(ASK, json=ask, token=ada, **once).json() for _ in range(2))
    assert first["id"] == again["id"]
    other = client.post(ASK, json={**ask, "tag": "twice"}, token=ada, **once)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    eve = client.token("analyst", "visits", "eve")
    assert client.post(ASK, json=ask, token=eve, **once).json()["id"] != first["id"]
    assert client.post(ASK, json=ask, token=ada, headers={"Idempotency-Key": ""}).status_code == 400


@pytest.mark.parametrize(
    ("ask", "status", "code"),
    [
        ({"epsilon": 1}, 400, "invalid_request"),
        ({"sql": "drop table visits", "epsilon": 1}, 400, "unsupported_query"),
        ({"sql": "select count(*) from visits"}, 400, "invalid_request"),
        ({"sql": "select count(*) from visits", "epsilon": -1}, 400, "invalid_request"),
        ({"sql": "select count(*) from visits", "epsilon": "1e999999"}, 400, "invalid_request"),
        ({"sql": "select count(*) from visits", "epsilon": True}, 400, "invalid_request"),
        ({"sql": "select count(*) from visits", "epsilon": 1, "seed": 3}, 400, "invalid_request"),
        ({"sql": 3, "epsilon": 1}, 400, "invalid_request"),
        ({"sql": "select count(*) from visits", "epsilon": 1e6}, 402, "budget_exceeded"),
        ([], 400, "invalid_request"),
    ],
)
def test_what_is_refused_at_once(
    client: Client, ada: str, ask: Any, status: int, code: str
) -> None:
    reply = client.post(ASK, json=ask, token=ada)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert set(reply.json()["error"]) == {"code", "message", "remedy", "details"}
    assert ("raise the budget or the cap" in str(reply.json()["error"]["remedy"])) == (
        status == 402
    )


def test_json_that_python_alone_reads_is_no_number(client: Client, ada: str) -> None:
    for text in ("NaN", "Infinity", "1e400"):
        body = f'{{"sql": "select count(*) from visits", "epsilon": {text}}}'
        reply = client.post(
            ASK, content=body, token=ada, headers={"Content-Type": "application/json"}
        )
        assert reply.status_code == 400


@pytest.mark.full
def test_a_failure_in_the_engine_is_shown_at_the_tick_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.tables.release.release import PlanRunner

    def fail(*_: object) -> None:
        raise ValueError("ada has HIV")

    with running(hosted_clinic(tmp_path)) as client:
        token = client.token("analyst", "visits")
        with monkeypatch.context() as patched:
            patched.setattr(PlanRunner, "collect", fail)
            result = released(client, token)
        assert result["state"] == "failed"
        assert result["error"]["code"] == "internal"
        assert "HIV" not in str(result)
        assert "answer" not in result["links"]
        budget = client.get("/v1/datasets/visits/budget", token=token).json()
        assert budget["spent"]["epsilon"] == "1/2"
        again = released(client, token)  # goes on under the charge that stands
        assert (again["state"], again["cost"]["epsilon"]) == ("done", "0")
        budget = client.get("/v1/datasets/visits/budget", token=token).json()
        assert budget["spent"]["epsilon"] == "1/2"


def test_approval_over_http(tmp_path: Path) -> None:
    with running(hosted_clinic(tmp_path, "approval = true")) as client:
        ada = client.token("analyst", "visits", "ada")
        curator = client.token("curator", "visits", "carl")
        said = client.post(ASK, json=COUNT, token=ada).json()
        assert (said["state"], said["ready_at"]) == ("waiting", None)
        here = said["href"]
        assert client.post(f"{here}/approve", token=ada).status_code == 403
        own = client.post(ASK, json={**COUNT, "tag": "own"}, token=curator).json()["href"]
        reply = client.post(f"{own}/approve", token=curator)
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
        elsewhere = client.token("reviewer", "births", "eve")
        assert client.post(f"{here}/approve", token=elsewhere).status_code == 404
        waiting = client.get("/v1/releases?state=waiting", token=curator).json()["items"]
        assert [one["href"] if "href" in one else one["links"]["self"] for one in waiting] == [
            own,
            here,
        ]
        assert client.get(f"{here}/answer", token=ada).status_code == 425
        assert client.post(f"{here}/approve", token=curator).json()["state"] == "running"
        result = finished(client, ada, said["id"])
        assert (result["state"], result["decided_by"]) == ("done", "carl")
        rita = client.token("reviewer", "visits", "rita")
        for reason in (" ", "a\0b", "a\u202eb"):
            refused = client.post(f"{own}/refuse", json={"reason": reason}, token=rita)
            assert refused.status_code == 400, reason
        refused = client.post(f"{own}/refuse", json={"reason": "no"}, token=rita).json()
        assert (refused["state"], refused["reason"]) == ("refused", "no")
        assert client.get(f"{own}/answer", token=curator).status_code == 410
        assert client.post(f"{own}/cancel", token=curator).status_code == 409


def test_a_wait_ends_at_the_tick_or_when_it_is_over(tmp_path: Path) -> None:
    folder = hosted_clinic(tmp_path, "")
    (folder / "service.toml").write_text('latency = "1/2"')
    with running(folder) as client:
        token = client.token("analyst", "visits")
        said = client.post(ASK, json=COUNT, token=token).json()
        first = client.get(said["href"], token=token).json()
        assert (first["state"], first["answer"]) == ("running", None)
        assert 0 <= first["progress"] < 1
        result = client.get(f"{said['href']}?wait=60", token=token).json()
        assert result["state"] == "done"
        assert time.time() >= said["ready_at"]
        assert client.get(f"{said['href']}?wait=61", token=token).status_code == 400


@pytest.mark.full
def test_a_token_that_is_revoked_in_a_wait_sees_nothing(tmp_path: Path) -> None:
    (tmp_path / "visits").mkdir()
    with running(hosted_clinic(tmp_path / "visits", "approval = true")) as client:
        token = client.token("analyst", "visits", "ada")
        made = client.post(ASK, json=COUNT, token=token).json()
        name = client.state.tokens.check(token).token_id
        later = threading.Timer(0.5, client.state.tokens.revoke, (name,))
        later.start()
        started = time.monotonic()
        reply = client.get(f"{made['href']}?wait=30", token=token)
        later.join()
        assert (reply.status_code, reply.json()["error"]["code"]) == (401, "unauthenticated")
        assert time.monotonic() - started < 10
