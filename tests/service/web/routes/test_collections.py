"""Reports and live estimates over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from tacit import local

COLOURS = local.DirectEncoding(["red", "green", "blue"], epsilon=4)
AGE = local.Duchi(0, 100, epsilon=4)
SETTINGS = """
[limits]
report_bytes = 20000
[collections.colour]
purpose = "which colour people like"
mechanism = "DirectEncoding"
items = ["red", "green", "blue"]
epsilon = 4
[collections.age]
mechanism = "Duchi"
bounds = [0, 100]
epsilon = 4
per_token = 50
[collections.words]
mechanism = "CountMeanSketch"
epsilon = 4
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "service.toml").write_text(SETTINGS)
    with running(tmp_path) as client:
        yield client


def wires(oracle: Any, answers: list[Any]) -> list[bytes]:
    wire = local.Wire(oracle)
    return [wire.encode(report) for report in oracle.perturb_many(answers)]


def post(client: Client, name: str, sent: bytes, kind: str = "octet-stream", **more: Any) -> Any:
    token = more.pop("token", None) or client.token("device", name)
    headers = {"content-type": f"application/{kind}"}
    return client.post(
        f"/v1/collections/{name}/reports", content=sent, headers=headers, token=token
    )


def test_a_device_asks_what_to_report_reports_and_the_estimate_holds(client: Client) -> None:
    device = client.token("device", "colour")
    told = client.get("/v1/collections/colour/question", token=device).json()
    oracle = local.oracle_from(told["oracle"])
    assert oracle == COLOURS
    sent = wires(oracle, ["red"] * 300 + ["blue"] * 100)
    assert post(client, "colour", b"".join(sent), token=device).json() == {
        "accepted": 400,
        "refused": {},
    }
    result = client.get(
        "/v1/collections/colour/estimate?level=0.999999&together=true&poisoned=5",
        token=client.token("analyst", "colour"),
    ).json()
    assert result["n"] == 400
    by_item = {row["item"]: row for row in result["results"][0]["items"]}
    for item, people in (("red", 300), ("green", 0), ("blue", 100)):
        assert by_item[item]["low"] <= people <= by_item[item]["high"]
    assert 0 < result["poisoned"]["moved"][""] < 0.1


def test_a_replay_and_junk_are_counted_by_reason(client: Client) -> None:
    good = wires(COLOURS, ["red", "blue"])
    texts = [base64.b64encode(one).decode() for one in good]
    sent = json.dumps([*texts, texts[0], "junk", {"tacit_report": 1}]).encode()
    done = post(client, "colour", sent, "json").json()
    assert done == {"accepted": 2, "refused": {"replay": 1, "not a report": 1, "mechanism": 1}}
    assert client.state.reports.state(client.state.collections["colour"])[1] == done["refused"]
    counted = client.state.metrics.text()
    assert 'tacit_reports_total{collection="colour",outcome="replay"} 1.0' in counted


def test_a_number_and_any_text_have_their_estimates(client: Client) -> None:
    analyst = client.token("analyst")
    post(client, "age", b"".join(wires(AGE, [50] * 40)))
    result = client.get("/v1/collections/age/estimate", token=analyst).json()["results"][0]
    assert result["low"] <= result["mean"] <= result["high"]
    words = client.state.collections["words"].oracle
    post(client, "words", b"".join(wires(words, ["tea"] * 50)))
    asked = client.get("/v1/collections/words/estimate?candidates=tea&candidates=x", token=analyst)
    assert asked.status_code == 200, asked.text
    assert [row["item"] for row in asked.json()["results"][0]["items"]] == ["tea", "x"]
    without = client.get("/v1/collections/words/estimate", token=analyst)
    assert without.status_code == 400
    assert "candidates" in without.json()["error"]["message"]


def test_a_token_has_its_share(client: Client) -> None:
    device = client.token("device", "age")
    done = post(client, "age", b"".join(wires(AGE, [50] * 60)), token=device).json()
    assert done == {"accepted": 50, "refused": {"limit": 10}}


def test_without_a_report_there_is_no_estimate(client: Client) -> None:
    reply = client.get("/v1/collections/colour/estimate", token=client.token("analyst"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (425, "not_ready")


@pytest.mark.parametrize(
    ("sent", "kind", "status"),
    [
        (b"x" * 20_001, "octet-stream", 413),
        (b"[" * 300, "json", 400),
        (b'"text"', "json", 400),
        (b"{", "json", 400),
        (b"[1]", "xml", 400),
        (b'{"a": 1, "a": 2}', "json", 400),
    ],
)
def test_hostile_bodies_are_refused(client: Client, sent: bytes, kind: str, status: int) -> None:
    reply = post(client, "colour", sent, kind)
    assert reply.status_code == status
    assert client.state.reports.state(client.state.collections["colour"])[0].n == 0


def test_who_may_do_what(client: Client) -> None:
    elsewhere = client.token("device", "age")
    assert post(client, "colour", b"", token=elsewhere).status_code == 403
    assert post(client, "colour", b"", token=client.token("curator")).status_code == 403
    for address in ("estimate", "question"):
        reply = client.get(f"/v1/collections/colour/{address}", token=elsewhere)
        assert reply.status_code == 403
    seen = client.get("/v1/collections", token=elsewhere).json()["items"]
    assert [one["name"] for one in seen] == ["age"]
    assert post(client, "nothere", b"", token=client.token("device")).status_code == 404


def test_no_report_is_told_in_the_audit_log(client: Client) -> None:
    """Who sent what is nobody's business: the sums are enough."""
    token = client.token("device")
    before = client.state.audit.length()
    post(client, "colour", b"".join(wires(COLOURS, ["red"])), token=token)
    assert client.state.audit.length() == before
