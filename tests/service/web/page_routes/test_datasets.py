"""The pages of data sets: what they hold, a question by clicking or in SQL, what to expect."""

from __future__ import annotations

import re
import time

import pytest

import tacit as tc
from support.clinic import DECLARED, make_clinic
from support.service.client import running
from support.service.pages import browser
from tacit.errors import LedgerError
from tacit.service.pages.views import sql_of

SQL = "select site, count(*) as n, avg(cost) as c from visits group by site"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    make_clinic(folder)
    (folder / "service.toml").write_text("latency = 0.2\ncaps = { each_team = { epsilon = 3 } }\n")
    with running(folder) as client:
        yield client


@pytest.fixture(scope="module")
def ada(client):
    return browser(client, "analyst", "visits", name="ada", team="oncology")


def test_the_list_shows_what_one_may_see(client, ada):
    page = ada.get("/datasets")
    assert '<a href="/datasets/visits">visits</a>' in page.text
    assert "left of epsilon 1,000" in page.text or "left of epsilon 1000" in page.text
    assert "visits" not in browser(client, "analyst", "births").get("/datasets").text


def test_a_ledger_that_is_away_hides_no_other_data_set(client, ada, monkeypatch):
    def away(_hosted, _caller):
        raise LedgerError("of a secret place")

    monkeypatch.setattr("tacit.service.hosting.datasets.Hosted.ledger_shown", away)
    page = ada.get("/datasets")
    assert page.status_code == 200
    assert "Not available now: the ledger of the data set cannot be used." in page.text
    assert "secret" not in page.text


def test_a_data_set_says_whom_it_protects_and_what_it_holds(ada):
    page = ada.get("/datasets/visits").text
    for told in ("How the clinic is used", "The statistics office", "where the visit was"):
        assert told in page
    for told in ("0 to 1000", "1, 2, 3", "Table sites (public)", "team oncology"):
        assert told in page


def test_a_data_set_leads_to_its_schedules_and_counts(client, ada):
    page = ada.get("/datasets/visits").text
    for address in ("/datasets/visits/schedule", "/datasets/visits/count"):
        assert f'href="{address}"' in page
        assert ada.get(address).status_code == 200
        assert f'href="{address}"' not in browser(client, "auditor").get("/datasets/visits").text


def test_what_is_not_for_somebody_is_refused(client):
    other = browser(client, "analyst", "births")
    for path in ("/datasets/visits", "/datasets/visits/ask", "/datasets/nothing"):
        assert other.get(path).status_code == 403
    auditor = browser(client, "auditor")
    assert auditor.get("/datasets/visits").status_code == 200
    assert auditor.get("/datasets/visits/ask").status_code == 403
    assert auditor.post("/datasets/visits/release", sql=SQL, amount="1").status_code == 403


def test_a_question_by_clicking_becomes_sql(ada):
    page = ada.post(
        "/datasets/visits/ask", action="write", statistic="avg", column="cost", by="site"
    )
    assert "avg(&#34;cost&#34;)" in page.text
    assert "What to expect" not in page.text


def test_a_choice_is_previewed_without_writing_it_as_sql(ada):
    chosen = {"statistic": "avg", "column": "cost", "by": "site", "sql": "", "amount": "1"}
    page = ada.post("/datasets/visits/ask", action="preview", **chosen)
    assert "What to expect" in page.text
    assert "select &#34;site&#34;, count(*) as n, avg(&#34;cost&#34;)" in page.text


def test_a_choice_that_changes_changes_what_it_was_written_as(ada):
    written = sql_of("visits", "avg", "cost", "site")
    again = {"statistic": "sum", "column": "cost", "by": "", "amount": "1", "written": written}
    page = ada.post(
        "/datasets/visits/ask", action="preview", sql=written.replace("\n", "\r\n"), **again
    )
    assert "sum(&#34;cost&#34;)" in page.text
    assert "<details open>" in page.text
    own = ada.post("/datasets/visits/ask", action="preview", sql=SQL, **again)
    assert "sum(&#34;cost&#34;)" not in own.text
    assert "What to expect" in own.text


def test_a_statistic_of_no_column_is_refused(ada):
    for action in ("write", "preview"):
        page = ada.post("/datasets/visits/ask", action=action, statistic="avg", amount="1")
        assert "choose the column" in page.text
        assert "What to expect" not in page.text


def test_a_page_of_an_error_has_the_menu(client, ada):
    for address in ("/datasets/nothing", "/nothing", "/releases/" + 32 * "0", "/releases/foo"):
        page = ada.get(address)
        assert page.status_code in (403, 404)
        assert '<nav aria-label="Pages">' in page.text
        assert "ada" in page.text
    nobody = client.get("/nothing", headers={"Accept": "text/html"})
    assert "<nav" not in nobody.text


def test_a_preview_says_the_price_the_errors_and_the_odds(client, ada):
    before = client.state.datasets.of("visits").ledger(None).spent
    page = ada.post("/datasets/visits/ask", action="preview", sql=SQL, amount="1/2")
    assert "this costs epsilon 0.5" in page.text
    assert "10,000 rows" in page.text
    assert "at most 15.5% sure" in page.text
    assert page.text.count("<svg") == 2
    assert "Release, and spend epsilon 0.5" in page.text
    assert client.state.datasets.of("visits").ledger(None).spent == before


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"sql": "drop table visits", "amount": "1"}, "changes something"),
        ({"sql": SQL, "amount": "much"}, "must be a number"),
        ({"sql": SQL, "amount": ""}, "fill in epsilon: what this release may spend"),
        ({"sql": "", "amount": "1"}, "ask in one way"),
        ({"sql": SQL, "amount": "1", "tag": "x" * 300}, "tag"),
    ],
)
def test_what_cannot_be_asked_is_said_beside_what_was_written(ada, fields, told):
    page = ada.post("/datasets/visits/ask", action="preview", **fields)
    assert (page.status_code, 'role="alert"' in page.text) == (200, True)
    assert told in page.text


def test_what_is_typed_is_escaped(ada):
    page = ada.post("/datasets/visits/ask", action="preview", sql="<script>alert(1)</script>")
    assert "<script>alert" not in page.text


def test_a_cap_is_shown_before_it_refuses(ada):
    page = ada.post("/datasets/visits/ask", action="preview", sql=SQL, amount="50")
    assert "does not cover it" in page.text
    assert "Release, and spend" not in page.text
    forced = ada.post("/datasets/visits/release", sql=SQL, amount="50")
    assert 'role="alert"' in forced.text


def test_a_preview_says_which_cap_leaves_the_least(tmp_path):
    make_clinic(tmp_path, DECLARED)
    caps = (
        "[datasets.visits.caps]\nteams = { oncology = { epsilon = 2 } }\n"
        'analysts = { ada = { epsilon = "1/4" } }\n'
    )
    (tmp_path / "service.toml").write_text(caps)
    with running(tmp_path) as client:
        for name, left, under in (
            ("ada", "epsilon 0.25", "the cap of analyst ada"),
            ("eve", "epsilon 2", "the cap of team oncology"),
        ):
            token = client.token("analyst", name=name, team="oncology")
            asked = {"sql": SQL, "epsilon": "1/2"}
            told = client.post("/v1/datasets/visits/preview", json=asked, token=token).json()
            assert told["remaining"]["epsilon"] == {"ada": "1/4", "eve": "2"}[name]
            assert told["limited_by"] == [under]
            assert told["affordable"] == (name == "eve")
            assert f"{left} is left under {under}; of the whole budget" in " ".join(told["notes"])
            browsed = browser(client, "analyst", "visits", name=name, team="oncology")
            page = browsed.post("/datasets/visits/ask", action="preview", sql=SQL, amount="1/2")
            assert f"this costs epsilon 0.5 of the {left} that is left under {under}." in page.text
            assert ("The cap of analyst ada does not cover it" in page.text) == (name == "ada")
        free = client.token("analyst", name="bob")
        told = client.post("/v1/datasets/visits/preview", json=asked, token=free).json()
        assert told["limited_by"] == ["the budget of the data set"]
        assert told["remaining"]["epsilon"] == "1000"


def test_a_release_is_asked_once_and_answered(client, ada):
    asked = {"sql": SQL, "amount": "1/4", "key": "once"}
    first, again = (ada.post("/datasets/visits/release", **asked) for _ in range(2))
    assert first.status_code == 303
    assert first.headers["location"] == again.headers["location"]
    page = ada.get(first.headers["location"])
    assert "The answer" in page.text
    assert re.search(r"Digest <code>[0-9a-f]{64}", page.text)
    free = ada.post("/datasets/visits/ask", action="preview", sql=SQL, amount="1/4")
    assert "Show the answer, free" in free.text


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("budget", "fields", "told"),
    [
        ('{ rho = "1/2" }', {"amount": "1/8"}, "this costs rho 0.125"),
        (
            '{ epsilon = 2, delta = "1e-5" }',
            {"amount": "1", "delta": "1e-6"},
            "this costs epsilon 1",
        ),
    ],
)
def test_other_kinds_of_budgets_are_asked_in_their_own_words(tmp_path, budget, fields, told):
    make_clinic(tmp_path, DECLARED.replace("{ epsilon = 1000 }", budget))
    query = "select person, count(*) as n from visits group by person"
    query = SQL if "rho" in budget else query
    with running(tmp_path) as client:
        ada = browser(client, "analyst")
        assert ada.get("/datasets").status_code == 200
        page = ada.post("/datasets/visits/ask", action="preview", sql=query, **fields)
        assert told in page.text
        assert "at most" in page.text


# Several questions together.

PLAN = {
    "sql": [
        "select count(*) as n from visits",
        "select site, count(*) as k from visits group by site",
        "",
    ],
    "amount": "0.25",
    "least": "total",
}


def test_several_questions_are_previewed_together_and_released_once(client, ada):
    page = ada.post("/datasets/visits/plan", action="preview", **PLAN).text
    for told in ("What to expect", "In the plan", "One by one", "The strategy", "100.0%", "site"):
        assert told in page
    assert re.search(
        r"2 questions together: this costs epsilon 0.25 of the epsilon \S+ that is left", page
    )
    key = re.search(r'name="key" value="([^"]+)"', page)[1]
    before = ada.client.state.datasets.of("visits").ledger(None).spent
    for _ in range(2):  # a form that is sent twice is one release
        reply = ada.post("/datasets/visits/plan/release", key=key, **PLAN)
        assert reply.status_code == 303
    spent = ada.client.state.datasets.of("visits").ledger(None).spent
    assert spent.amount - before.amount == tc.epsilon("1/4").amount
    done = ada.get(reply.headers["location"].replace("wait=5", "wait=20")).text
    assert done.count("<h3>All values</h3>") == 2
    heading = '<h2 id="answer-1">1. The number of rows; of the table visits</h2>'
    assert heading in done  # not how it is read
    assert "The answers" in done
    assert "question=2&amp;format=csv" in done
    again = ada.post("/datasets/visits/plan", action="preview", **PLAN).text
    assert "this was asked before, and is free" in again
    assert "n with a standard error of" not in again  # what is paid needs no other way


def test_a_question_of_a_plan_that_follows_is_shown_as_free(client, ada):
    ada.post("/datasets/visits/plan/release", **PLAN, tag="t")
    other = {**PLAN, "sql": [PLAN["sql"][0], "select avg(cost) as c from visits"], "tag": "t"}
    page = ""
    for _ in range(50):
        page = ada.post("/datasets/visits/plan", action="preview", **other).text
        if "<strong>Free:</strong>" in page:
            break
        time.sleep(0.1)
    assert "<strong>Free:</strong> n with a standard error of" in page
    assert page.count("<strong>Free:</strong>") == 1


def test_the_form_of_a_plan_grows_and_states_mistakes(ada):
    assert ada.get("/datasets/visits/plan").text.count("<textarea") == 2
    page = ada.post("/datasets/visits/plan", action="add", **PLAN).text
    assert page.count("<textarea") == 4
    empty = ada.post("/datasets/visits/plan", action="preview", sql=["", " "], amount="1").text
    assert "there is no question" in empty
    wrong = {**PLAN, "sql": [*PLAN["sql"][:2], "select nothing(cost) from visits"]}
    assert (
        "question 3 of the plan: "
        in ada.post("/datasets/visits/plan", action="preview", **wrong).text
    )
    many = {**PLAN, "sql": [PLAN["sql"][0]] * 30}
    assert (
        "the service plans 20 at once"
        in ada.post("/datasets/visits/plan", action="preview", **many).text
    )
