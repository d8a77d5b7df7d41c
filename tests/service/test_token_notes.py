"""What happens to tokens stands in the audit log, and nothing of a token's secret does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service.client import ADDRESS, Client, running
from tacit.service.access import Grant
from tacit.service.audit_log import AuditLog, noted_in
from tacit.service.database import Database
from tacit.service.problem import Problem
from tacit.service.tokens import ONCE, Tokens

GRANTS = [Grant("analyst", "visits")]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    yield made
    made.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(tmp_path) as client:
        yield client


def test_each_change_of_a_token(database: Database) -> None:
    audit = AuditLog(database)
    tokens = Tokens(database, bytes(32), note=noted_in(audit))
    text, made = tokens.create("ada", GRANTS, 60, team="oncology", issued_by="mia")
    narrowed = tokens.narrow(made, None, 60)[1]
    tokens.revoke(made.token_id, by="mia")
    link, _ = tokens.create("bob", GRANTS, 60, kind=ONCE)
    signed = tokens.use_once(link, 60)[1]
    tokens.revoke(signed.token_id, by="bob")
    seen = [event.to_json() for event in audit.read()]
    assert [(one["action"], one["who"]) for one in seen] == [
        ("token_made", "mia"),
        ("token_narrowed", "ada"),
        ("token_revoked", "mia"),
        ("token_made", "operator"),
        ("sign_in", "bob"),
        ("sign_out", "bob"),
    ]
    assert seen[0]["subject"] == made.token_id
    assert seen[0]["details"]["for"] == "ada"
    assert seen[0]["details"]["role"] == ["analyst"]
    assert seen[1]["subject"] == narrowed.token_id
    assert seen[2]["details"] == {"also": 1}
    assert seen[4]["details"]["way"] == "link"
    assert not any(secret in str(seen) for secret in (text, link))
    audit.verify()


def test_a_token_that_is_not_made_is_not_noted(database: Database) -> None:
    audit = AuditLog(database)
    tokens = Tokens(database, bytes(32), note=noted_in(audit))
    made = tokens.create("ada", GRANTS, 60)[1]
    tokens.revoke(made.token_id)
    before = audit.length()
    with pytest.raises(Problem):
        tokens.narrow(made, None, 60)
    assert tokens.revoke(made.token_id) == 0
    assert audit.length() == before


def test_a_token_that_cannot_be_noted_is_not_made(database: Database) -> None:
    def broken(*_: object) -> None:
        raise Problem("unavailable", "the log is full")

    tokens = Tokens(database, bytes(32), note=broken)
    with pytest.raises(Problem):
        tokens.create("ada", GRANTS, 60)
    assert tokens.listed() == []


def test_sign_ins_and_refusals_of_people(client: Client) -> None:
    token = client.token("analyst", name="ada")
    cookie = client.post("/sign-in", data={"token": token}).headers["set-cookie"].partition(";")[0]
    client.post("/sign-out", headers={"Cookie": cookie, "Origin": ADDRESS})
    assert client.get("/v1/tokens", token=token).status_code == 403
    auditor = client.token("auditor")
    seen = client.get("/v1/audit?limit=100", token=auditor).json()["items"]
    actions = [one["action"] for one in seen]
    for action in ("sign_in", "sign_out", "denied"):
        (one,) = [event for event in seen if event["action"] == action]
        assert one["who"] == "ada", actions
    (denied,) = [event for event in seen if event["action"] == "denied"]
    assert denied["outcome"] == "refused"
    assert denied["details"]["action"] == "GET /v1/tokens"
    assert token not in str(seen)


def test_one_token_fills_no_log(client: Client) -> None:
    token = client.token("analyst")
    before = client.state.audit.length()
    for _ in range(30):
        assert client.get("/v1/tokens", token=token).status_code == 403
    assert client.state.audit.length() - before == 20
