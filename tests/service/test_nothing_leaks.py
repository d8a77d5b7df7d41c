"""Everything that a service writes while it is used is searched for what must stand nowhere."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.client import Client, running
from support.service.clinic import FAST, SECRET_COST, SECRET_NAMES, write_clinic
from tacit import local
from tacit.service.telemetry import JsonLines, configure
from tacit.tables.release.release import Collector

PLANTED = "planted-secret-4711"
COLLECTION = """
[collections.colour]
mechanism = "DirectEncoding"
items = ["red", "green"]
epsilon = 1
"""
VALUES = (*SECRET_NAMES, str(SECRET_COST))


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    out = io.StringIO()
    configure(out, logging.DEBUG)
    yield out
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h.formatter, JsonLines)]:
        root.removeHandler(handler)
    logging.getLogger("uvicorn.access").disabled = False


def use(client: Client, replies: list[str]) -> list[str]:
    """Use all of it, rightly and wrongly; return the secrets that were in use."""
    tokens = {role: client.token(role, name=f"{role} one") for role in ROLES}

    def call(method: str, path: str, role: str | None = None, **more: Any) -> Any:
        reply = client.request(method, path, token=None if role is None else tokens[role], **more)
        replies.append(f"{reply.status_code} {reply.headers} {reply.text}")
        return reply

    sql = "select site, sum(cost) as s, count(*) as n from visits group by site"
    good = {"sql": sql, "epsilon": "1/2"}
    call("GET", "/openapi.json")
    call("GET", f"/v1/me?token={PLANTED}", headers={"Authorization": f"Bearer {PLANTED}"})
    call("GET", "/v1/me", headers={"Authorization": f"Basic {PLANTED}", "Cookie": f"a={PLANTED}"})
    call("GET", f"/v1/nothere/{PLANTED}", "curator")
    for role in ROLES:
        call("GET", "/v1/me", role)
        call("GET", "/v1/datasets/visits", role)
        call("POST", "/v1/datasets/visits/preview", role, json=good)
    call("POST", "/v1/datasets/visits/preview", "analyst", content=PLANTED.encode())
    call("POST", "/v1/datasets/visits/releases", "analyst", json={"sql": f"select {PLANTED}"})
    made = call("POST", "/v1/datasets/visits/releases", "analyst", json=good).json()
    dear = {**good, "epsilon": 1000}
    call("POST", "/v1/datasets/visits/releases", "analyst", json=dear)
    where = f"/v1/releases/{made['id']}"
    call("GET", f"{where}?wait=5", "analyst")
    for end in ("/answer", "/answer?format=csv", "/certificate"):
        call("GET", where + end, "analyst")
    call("POST", "/v1/datasets/visits/refresh", "curator")
    oracle = client.state.collections["colour"].oracle
    report = local.Wire(oracle).encode(oracle.perturb("red"))
    binary = {"content-type": "application/octet-stream"}
    for sent in (report, report, PLANTED.encode()):
        call("POST", "/v1/collections/colour/reports", "device", content=sent, headers=binary)
    call("GET", "/v1/collections/colour/estimate", "analyst")
    call("GET", "/v1/audit", "auditor")
    call("GET", "/metrics", "auditor")
    return [*tokens.values(), PLANTED]


ROLES = ("curator", "analyst", "reviewer", "auditor", "device")


def everywhere(folder: Path) -> dict[str, str]:
    """What the service wrote to disk: its store, ledgers and all else but the table and its key."""
    own = {"visits.csv", "visits.toml", "service.toml", "service.key"}
    files = [p for p in folder.rglob("*") if p.is_file() and p.name not in own]
    assert {p.suffix for p in files} >= {".db"}
    return {p.name: p.read_bytes().decode("latin-1") for p in files}


def test_no_secret_and_no_value_stands_in_what_is_written(tmp_path: Path, log: Any) -> None:
    folder, replies = write_clinic(tmp_path, FAST + COLLECTION), []
    with running(folder) as client:
        secrets = use(client, replies)
        texts = {"log": log.getvalue(), "metrics": client.state.metrics.text()}
        texts["audit"] = json.dumps([e.to_json() for e in client.state.audit.read(limit=1000)])
    texts |= everywhere(folder)
    for place, text in texts.items():
        for secret in (*secrets, *VALUES):
            # The text of a question is public: a ledger and a job hold it, and the log does not.
            assert secret not in text or (secret == PLANTED and place == "service.db"), place
    assert [json.loads(line)["when"] for line in texts["log"].splitlines()]
    for reply in replies:
        for secret in (*secrets[:-1], *VALUES, str(folder)):
            assert secret not in reply, reply
    assert "unexpected" not in texts["log"]


@pytest.mark.full
def test_an_engine_that_fails_with_a_value_in_its_message_tells_it_to_nobody(
    tmp_path: Path, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"Conversion Error: {SECRET_NAMES[0]} {SECRET_COST}")

    folder, replies = write_clinic(tmp_path), []
    monkeypatch.setattr(Collector, "collect", fails, raising=True)
    with running(folder) as client:
        analyst = client.token("analyst")
        body = {"sql": "select sum(cost) as s from visits", "epsilon": "1/2"}
        made = client.post("/v1/datasets/visits/releases", json=body, token=analyst)
        shown = client.get(f"/v1/releases/{made.json()['id']}?wait=20", token=analyst)
        replies += [made.text, shown.text]
        assert shown.json()["state"] == "failed"
        audit = json.dumps([e.to_json() for e in client.state.audit.read(limit=1000)])
    texts = {**everywhere(folder), "log": log.getvalue(), "audit": audit, "replies": str(replies)}
    for place, text in texts.items():
        for value in VALUES:
            assert value not in text, place
