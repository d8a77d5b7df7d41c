"""A question that a client builds is the one that a session builds."""

from __future__ import annotations

import json

import pytest

import tacit as tc
from support.clinic import make_clinic
from tables.test_described import QUESTIONS, without_facts
from tacit.client.remote_session import RemoteDataset, RemoteTable
from tacit.errors import UsageError
from tacit.tables.dataset.draft import shapes_of


class Hosted:
    """A service in this process, of one data set: what it is sent, a session is asked."""

    url = "https://statistics.example"

    def __init__(self, session, shapes):
        self.session, self.shapes, self.sent = session, shapes, []

    def get(self, path, **_query):
        session = self.session
        return {
            "identity": session.dataset,
            "table": "visits",
            "tables": {name: shape.to_json() for name, shape in self.shapes.items()},
            **{part: getattr(session, part).to_json() for part in ("budget", "spent", "remaining")},
        }

    def post(self, path, body, key=None):
        body = json.loads(json.dumps(body, allow_nan=False))
        self.sent.append(body)
        asked = self.session
        question = asked.sql(body["sql"]) if "sql" in body else asked.described(body["described"])
        price = {n: body.get(n) for n in ("epsilon", "delta", "rho", "total")}
        shown = {n: body[n] for n in ("rows", "confidence") if n in body}
        return {
            "preview": question.preview(**price, **shown).to_json(),
            "replay": question.is_answered(**price, tag=body.get("tag")),
            "open": False,
        }


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    path = make_clinic(tmp_path_factory.mktemp("clinic"))
    with tc.open(path, ledger=tc.in_memory) as session:
        yield Hosted(session, shapes_of(tc.Dataset.load(path)))


@pytest.fixture(scope="module")
def table(hosted):
    return RemoteTable(RemoteDataset(hosted, "visits"))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_describes_itself_as_that_of_a_session_does(hosted, table, name):
    here, there = QUESTIONS[name](table), QUESTIONS[name](hosted.session)
    assert without_facts(here.described()) == without_facts(there.described())
    assert hosted.session.described(without_facts(here.described())).described() == (
        there.described()
    )


def test_a_preview_is_that_of_a_session(hosted, table):
    asked = {"rows": [50, 500], "confidence": "0.9"}
    for price in ({"epsilon": 0.5}, {"epsilon": {"n": 1, "c": 3}, "total": "1/3"}):
        here = table.group_by("site").agg(n=tc.count(), c=tc.mean("cost"))
        there = hosted.session.group_by("site").agg(n=tc.count(), c=tc.mean("cost"))
        assert here.preview(**price, **asked) == there.preview(**price, **asked)


def test_a_float_is_sent_exactly(hosted, table):
    table.agg(n=tc.count()).preview(epsilon=0.1)
    assert hosted.sent[-1]["epsilon"] == "3602879701896397/36028797018963968"


def test_sql_is_sent_as_it_is(hosted, table):
    question = table.sql("select count(*) as n from visits")
    assert question.preview(epsilon=1) == hosted.session.agg(n=tc.count()).preview(epsilon=1)
    assert "select count(*)" in repr(question)


def test_what_it_takes_now(hosted, table):
    question = table.agg(n=tc.count(), p=tc.count_people())
    assert question.cost(epsilon="1/2") == tc.epsilon("1/2")
    assert not question.is_charged(epsilon="1/2")
    hosted.session.agg(n=tc.count(), p=tc.count_people()).release(epsilon="1/2")
    assert question.is_answered(epsilon="1/2")
    assert question.cost(epsilon="1/2").is_nothing
    assert question.cost(epsilon="1/2", tag="again") == tc.epsilon("1/2")


def test_the_least_epsilon_is_worked_out_here(hosted, table):
    here = table.agg(c=tc.mean("cost"), n=tc.count())
    there = hosted.session.agg(c=tc.mean("cost"), n=tc.count())
    asked = {"targets": {"c": 20}, "rows": 500}
    assert here.epsilon_for(**asked) == there.epsilon_for(**asked)


REFUSED = {
    "a column that is not there": lambda t: t.group_by("nothing"),
    "a table that is not there": lambda t: t.join("nothing"),
    "itself": lambda t: t.join("visits"),
    "a join by another column": lambda t: t.join("patients", on="site"),
    "a public table asked": lambda t: t.table("sites"),
    "a statistic without bounds": lambda t: t.agg(s=tc.sum("person")),
    "a loss of nothing": lambda t: t.agg(n=tc.count()).preview(epsilon=0),
    "a loss that is text": lambda t: t.agg(n=tc.count()).preview(epsilon="much"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused(table, name):
    with pytest.raises(UsageError):
        REFUSED[name](table)


def test_what_a_table_says_of_itself(hosted, table):
    session = hosted.session
    assert (table.dataset, table.unit, table.columns) == (
        session.dataset,
        session.unit,
        session.columns,
    )
    assert (table.budget, table.remaining) == (session.budget, session.remaining)
    assert table.spent == session.spent
    assert table.table("patients").unit.column == "id"
    assert "tables" not in table.about
