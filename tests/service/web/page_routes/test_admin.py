"""The pages of tokens and of the audit log."""

from __future__ import annotations

import re

import pytest

from support.clinic import make_clinic
from support.service.client import running
from support.service.pages import browser


@pytest.fixture
def client(tmp_path):
    make_clinic(tmp_path)
    with running(tmp_path) as client:
        yield client


ADA = {"name": "ada", "role": "analyst", "dataset": "visits", "team": "oncology", "days": "7"}


def test_a_curator_makes_a_token_that_is_shown_once(client):
    cleo = browser(client, "curator")
    page = cleo.post("/tokens", **ADA)
    token = re.search(r"tacit_[A-Za-z0-9_-]{96}", page.text)
    assert token
    me = client.get("/v1/me", token=token[0]).json()
    assert (me["name"], me["team"], me["grants"]) == (
        "ada",
        "oncology",
        [{"role": "analyst", "dataset": "visits"}],
    )
    again = cleo.get("/tokens")
    assert token[0] not in again.text
    assert "analyst on visits" in again.text


def test_a_token_is_revoked(client):
    cleo = browser(client, "curator")
    text = client.token("analyst", "visits", name="ada")
    name = client.state.tokens.check(text).token_id
    reply = cleo.post(f"/tokens/{name}/revoke")
    assert (reply.status_code, reply.headers["location"]) == (303, "/tokens")
    assert client.get("/v1/me", token=text).status_code == 401
    assert 'role="alert"' in cleo.post(f"/tokens/{'0' * 32}/revoke").text


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "change",
    [{"name": ""}, {"role": "king"}, {"days": "x"}, {"days": "5000"}, {"dataset": ""}],
)
def test_a_token_that_cannot_be_is_refused_with_the_reason(client, change):
    page = browser(client, "curator").post("/tokens", **{**ADA, **change})
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)


def test_who_may_make_no_token_is_shown_none(client):
    page = browser(client, "analyst", name="bob")
    assert "Create a token" not in page.get("/tokens").text
    assert page.post("/tokens", **ADA).status_code == 403
    assert browser(client, "curator", "births").post("/tokens", **ADA).text.count("tacit_") == 0


def test_a_page_of_another_site_makes_no_token(client):
    cleo = browser(client, "curator")
    cleo.headers |= {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert cleo.post("/tokens", **ADA).status_code == 403


def test_the_audit_log_is_shown_to_auditors(client):
    browser(client, "curator").post("/tokens", **ADA)
    page = browser(client, "auditor").get("/audit")
    assert page.status_code == 200
    assert browser(client, "analyst").get("/audit").status_code == 403
