"""The way in, the checking of certificates, why noise protects, and pages that refuse."""

from __future__ import annotations

import json
import re

import pytest

import tacit as tc
from support.clinic import make_clinic
from support.service.client import running
from support.service.pages import browser
from tacit.service.access import Grant
from tacit.service.tokens import ONCE


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    make_clinic(folder)
    with running(folder) as client:
        yield client


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("other")), ledger=tc.in_memory) as session:
        yield session.agg(n=tc.count()).release(epsilon=1).certificate


def test_the_first_page_leads_in(client):
    nobody, ada = browser(client, None), browser(client, "analyst")
    assert nobody.get("/").headers["location"] == "/sign-in"
    assert ada.get("/").headers["location"] == "/datasets"
    assert ada.get("/sign-in").headers["location"] == "/datasets"
    page = nobody.get("/sign-in")
    assert page.status_code == 200
    assert 'type="password"' in page.text


def test_a_page_without_a_sign_in_leads_to_it(client):
    reply = browser(client, None).get("/tokens")
    assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in")


def test_a_token_that_is_none_is_said_where_it_was_written(client):
    page = browser(client, None).post("/sign-in", token="tacit_" + "A" * 96)
    assert (page.status_code, 'role="alert"' in page.text) == (401, True)
    assert 'type="password"' in page.text


@pytest.mark.parametrize("code", ["of nothing", "used"])
def test_a_link_that_does_not_sign_in_says_why(client, code):
    if code == "used":
        code, _ = client.state.tokens.create("ada", [Grant("analyst", "*")], 60, kind=ONCE)
        assert browser(client, None).get(f"/sign-in/once?code={code}").status_code == 303
    page = browser(client, None).get(f"/sign-in/once?code={code}")
    assert page.status_code == 401
    said = re.search(r'role="alert"><p><strong>(.*?)</strong>', page.text)
    assert said
    assert said[1] in ("this link was opened before", "the token is not one of this service")
    assert 'type="password"' in page.text


def test_a_page_with_a_wrong_address_says_what_and_leads_back(client):
    page = browser(client, "analyst").get(f"/releases/{'0' * 32}?first=0&wait=x")
    assert page.status_code == 400
    assert "first in the address: write 1 or more" in page.text
    assert f'href="/releases/{"0" * 32}"' in page.text
    assert "evil.example" not in browser(client, "analyst").get("//evil.example?first=0").text


def test_what_is_refused_is_a_page_with_the_reason(client):
    ada = browser(client, "analyst")
    for path, status, told in (("/audit", 403, "Not for you"), ("/nowhere", 404, "Not found")):
        reply = ada.get(path)
        assert (reply.status_code, told in reply.text) == (status, True)
    assert client.get("/v1/nowhere", headers={"Accept": "text/html"}).json()["error"]
    assert "<b>" not in ada.get("/audit?x=<b>").text


def test_static_files_are_those_and_no_others(client):
    for name, kind in (("tacit.css", "text/css"), ("icon.svg", "image/svg+xml")):
        reply = client.get(f"/static/{name}")
        assert (reply.status_code, reply.headers["content-type"].split(";")[0]) == (200, kind)
    for name in ("templating.py", "..%2ftemplating.py", "%2e%2e/templating.py", "x"):
        assert client.get(f"/static/{name}").status_code == 404


def test_the_explorer_shows_how_far_a_statistic_moves(client):
    page = browser(client, None).get("/explorer?statistic=mean&values=1,2,5,7,9")
    assert "<strong>1.05</strong>" in page.text
    assert "<strong>2</strong>" in page.text


@pytest.mark.parametrize("query", ["statistic=exec", "values=1", "values=a,b", "values=nan,1"])
def test_the_explorer_says_what_it_cannot_show(client, query):
    page = browser(client, None).get(f"/explorer?{query}")
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)


def test_a_certificate_is_checked(client, certificate):
    ada = browser(client, "analyst")
    assert "It holds" in ada.post("/verify", certificate=certificate.to_json()).text
    forged = json.loads(certificate.to_json())
    forged["spent"]["cost"]["epsilon"] = "1/1000"
    assert "It does not hold" in ada.post("/verify", certificate=json.dumps(forged)).text


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 5000, '{"format": 1}'])
def test_what_is_no_certificate_is_said(client, text):
    page = browser(client, "analyst").post("/verify", certificate=text)
    assert page.status_code == 200
    assert "It holds" not in page.text
