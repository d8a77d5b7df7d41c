"""The pages of releases: waited for, decided, answered, with a certificate that is checked."""

from __future__ import annotations

import html
import re
from fractions import Fraction

import pytest

from support.clinic import DECLARED, make_clinic
from support.service.client import running
from support.service.pages import browser
from tacit.accounting.budget import Budget
from tacit.service.access import Caller

SQL = "select site, count(*) as n from visits group by site"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    make_clinic(folder)
    (folder / "service.toml").write_text("latency = 0.2\napproval = true\n")
    with running(folder) as client:
        yield client


@pytest.fixture(scope="module")
def ada(client):
    return browser(client, "analyst", "visits", name="ada")


@pytest.fixture(scope="module")
def rita(client):
    return browser(client, "reviewer", name="rita")


def asked(ada, amount):
    reply = ada.post("/datasets/visits/release", sql=SQL, amount=amount, key=amount)
    return reply.headers["location"].partition("?")[0]


def test_a_reviewer_approves_and_the_answer_comes(client, ada, rita):
    place = asked(ada, "1/2")
    assert "A reviewer decides first" in ada.get(place).text
    assert "Your decision" not in ada.get(place).text
    waiting = rita.get("/approvals").text
    assert place in waiting
    assert "Approve" in rita.get(place).text
    assert rita.post(f"{place}/approve").status_code == 303
    page = ada.get(f"{place}?wait=10").text
    assert "The answer" in page
    assert "Requested by" in page
    assert "The certificate holds" in page
    assert place not in rita.get("/approvals").text
    for address in re.findall(r'href="(/v1/releases/[^"]+)"', page):
        result = client.get(address.replace("&amp;", "&"), headers=ada.headers)
        assert result.status_code == 200, address
    shown = [html.unescape(one) for one in re.findall(r"<pre><code>(.*?)</code>", page, re.DOTALL)]
    (curl, r), token = shown, client.token("analyst", "visits", "ada")
    (address,) = re.findall(r'"(http://127.0.0.1:8000/v1/[^"]+)"', curl)
    assert f'url("{address}"' in r
    assert client.get(address, token=token).text.startswith("site,n,")
    assert "tacit_" not in page  # no token is shown
    for host, address in (("tacit.example:81", "http://tacit.example:81"), ("a`id`", "")):
        page = client.get(place, headers={**ada.headers, "Host": host}).text
        assert f"&#34;{address}/v1/releases/" in page or f'"{address}/v1/releases/' in page, host
        assert "`id`" not in page


def test_a_reviewer_sees_the_expected_errors_and_what_is_left(client, ada, rita):
    place = asked(ada, "1/6")
    page = rita.get(place).text
    decision = page[page.index("Your decision") : page.index(f'action="{place}/approve"')]
    assert "Expected error of each answer" in decision
    assert "10,000 rows" in decision
    assert "this costs epsilon" in decision
    assert re.search(r"of the epsilon [\d.]+ that is left", decision)
    assert "Expected error" not in ada.get(place).text
    budget = client.state.datasets.of("visits")
    caller = Caller("ada", None, (), "t", 0.0)
    budget.set_caps({"analyst:ada": Budget("pure", Fraction(1, 100))}, "less")
    try:
        decision = rita.get(place).text
        assert budget.left(caller).limits == ("the cap of analyst ada",)
        assert "that is left under the cap of analyst ada" in decision
        assert "The cap of analyst ada does not cover it" in decision
    finally:
        budget.set_caps({"analyst:ada": None}, "as before")


def test_a_reviewer_sees_who_asked_what_before_and_the_odds(client, ada, rita):
    first = asked(browser(client, "analyst", "visits", name="eve"), "1/16")
    place = asked(ada, "1/17")
    decision = rita.get(place).text.partition("Your decision")[2].partition("<form")[0]
    earlier = decision.partition("Asked before")[2]
    assert first in earlier
    assert "eve" in earlier
    assert place not in earlier
    assert "10% sure that a given person" in decision
    page = rita.get("/approvals").text
    assert page.count("10% sure that a given person") >= 2
    assert "eve" in page
    path = f"/v1{place}/review"
    reply = client.get(path, token=client.token("reviewer", name="rita"))
    assert reply.status_code == 200, reply.text
    result = reply.json()
    assert result["preview"]["limited_by"] == ["the budget of the data set"]
    assert result["odds"].startswith("The odds: someone who is 10% sure")
    assert result["earlier"][0]["asked_by"] == "eve"
    assert all(one["answer"] is None for one in result["earlier"])
    for role, status in (("analyst", 403), ("auditor", 403), ("curator", 200)):
        token = client.token(role, name="someone")
        assert client.get(path, token=token).status_code == status, role
    rita.post(f"{place}/refuse", reason="too fine")
    assert client.get(path, token=client.token("reviewer", name="rita")).status_code == 409


def test_a_release_is_headed_by_its_sql_and_said_in_words(ada, rita):
    place = asked(ada, "1/3")
    for page in (ada.get(place).text, rita.get(place).text):
        assert f"<h1>{SQL}</h1>" in page
        assert re.search(
            r"In words</dt>\s*<dd>The number of rows; .*for each site: 1, 2, 3</dd>", page
        ), page
    waiting = rita.get("/approvals").text
    assert f"{SQL}</a>" in waiting
    assert re.search(r"<span[^>]*>The number of rows; .*for each site: 1, 2, 3</span>", waiting)


def test_a_curator_sees_who_waits_also_where_another_decides(client):
    curator = client.token("curator", name="carl")
    grants = [{"role": "analyst", "dataset": "visits"}]
    made = client.post("/v1/tokens", json={"name": "tim", "grants": grants}, token=curator)
    assert made.status_code in (200, 201), made.text
    body = {"sql": SQL, "epsilon": "1/19"}
    token = made.json()["token"]
    place = client.post("/v1/datasets/visits/releases", json=body, token=token).json()["id"]
    page = browser(client, "curator", name="carl").get("/approvals").text
    others = page.partition("Waiting for someone else")[2]
    assert place in others
    assert "tim" in others


def test_a_certificate_is_a_page_that_only_its_own_style_touches(ada, rita, client):
    place = asked(ada, "1/3")
    rita.post(f"{place}/approve")
    ada.get(f"{place}?wait=10")
    page = ada.get(f"{place}/certificate")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_a_reviewer_refuses_with_a_reason(ada, rita):
    place = asked(ada, "1/5")
    assert 'role="alert"' in rita.post(f"{place}/refuse", reason=" ").text
    assert rita.post(f"{place}/refuse", reason="too <b>fine</b>").status_code == 303
    page = ada.get(place).text
    assert "too &lt;b&gt;fine&lt;/b&gt;" in page
    assert 'role="alert"' in rita.post(f"{place}/approve").text


def test_nobody_approves_what_they_asked(client):
    cleo = browser(client, "curator", name="cleo")
    place = asked(cleo, "1/7")
    assert "Your decision" not in cleo.get(place).text
    assert 'role="alert"' in cleo.post(f"{place}/approve").text
    page = cleo.get("/approvals").text
    assert page.index("Waiting for someone else") < page.index(place)


def test_a_question_is_given_up(ada):
    place = asked(ada, "1/9")
    assert ada.post(f"{place}/cancel").status_code == 303
    assert "It was cancelled before it was charged; nothing was spent" in ada.get(place).text


def test_who_approved_what_is_cancelled_stays(client, ada, rita):
    place = asked(ada, "1/23")
    assert rita.post(f"{place}/approve").status_code == 303
    ada.post(f"{place}/cancel")
    assert client.state.release_service.queue.find(place.rpartition("/")[2]).decided_by == "rita"


def test_releases_of_others_are_as_if_they_were_not_there(client, ada):
    place = asked(ada, "1/11")
    bob = browser(client, "analyst", "visits", name="bob")
    assert place not in bob.get("/releases").text
    assert bob.get(place).status_code == 404
    assert bob.post(f"{place}/cancel").status_code == 404
    assert place in ada.get("/releases?dataset=visits").text


def test_an_answer_of_many_groups_is_read_a_thousand_at_a_time(tmp_path):
    sites = list(range(1, 2346))
    make_clinic(tmp_path, DECLARED.replace("keys = [1, 2, 3]", f"keys = {sites}"))
    (tmp_path / "service.toml").write_text("latency = 0.2\n")
    with running(tmp_path) as client:
        ada = browser(client, "analyst", "visits", name="ada")
        asked = ada.post("/datasets/visits/release", sql=SQL, amount="1", key="many")
        place = asked.headers["location"].partition("?")[0]
        seen, pages, where = [], [], f"{place}?wait=30"
        while where:
            text = ada.get(where).text
            pages += set(re.findall(r"Groups ([\d,]+) to ([\d,]+) of 2,345", text))
            table = text.partition("All values")[2]
            seen += [int(n) for n in re.findall(r"<tr><td>(\d+)</td>", table)]
            after = re.search(r'rel="next" href="([^"]+)"', text)
            where = html.unescape(after[1]).partition("#")[0] if after else ""
        assert pages == [("1", "1,000"), ("1,001", "2,000"), ("2,001", "2,345")]
        assert seen == sites
        before = re.search(r'rel="prev" href="([^"]+)"', text)
        assert before
        assert html.unescape(before[1]) == f"{place}?part=1&first=1001#answer"
        assert "Groups 2,345 to 2,345" in ada.get(f"{place}?first=1000000").text
        for wrong, told in (("0", "write 1 or more"), ("abc", "write a whole number")):
            assert told in ada.get(f"{place}?first={wrong}").text
