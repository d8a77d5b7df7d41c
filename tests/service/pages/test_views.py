"""Asking, as pages show it."""

from __future__ import annotations

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.service.pages.views import STATISTICS, expected, sql_of


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with tc.open(make_clinic(tmp_path_factory.mktemp("clinic")), ledger=tc.in_memory) as opened:
        yield opened


def told(question, **more):
    preview = question.preview(epsilon="1/2", confidence="0.95")
    said = {"cost": preview.cost, "remaining": preview.remaining}
    return {
        **{name: one.to_json() for name, one in said.items()},
        "limited_by": ["the budget of the data set"],
        "affordable": True,
        "replay": False,
        "open": False,
        "text": "count of rows",
        "free": {},
        "preview": preview.to_json(),
        **more,
    }


ASKED = {"approval": False, "may_ask": True, "key": "k"}


@pytest.mark.few(3)
@pytest.mark.parametrize("statistic", [name for name, _ in STATISTICS])
@pytest.mark.parametrize("by", ["", "site"])
def test_every_choice_by_clicking_can_be_asked(session, statistic, by):
    question = session.sql(sql_of("visits", statistic, "cost", by))
    assert question.preview(epsilon=1)


def test_names_are_quoted_and_nothing_else_is_taken():
    assert 'from "a""b"' in sql_of('a"b', "count", "", "")
    assert sql_of("t", "drop", "c", "") == 'select count(*) as n\nfrom "t"'


def test_what_to_expect(session):
    shown = expected(told(session.agg(n=tc.count(), m=tc.mean("cost"))), **ASKED)
    assert (
        shown["verdict"]
        == "count of rows: this costs epsilon 0.5 of the epsilon 1000 that is left."
    )
    assert [row["label"] for row in shown["rows"]] == ["n", "m"]
    assert [label for label, _ in shown["charts"]] == ["n", "m"]
    assert shown["button"] == "Release, and spend epsilon 0.5"
    assert "15.5% sure" in shown["odds"][0]


def test_what_is_free_is_said(session):
    question = session.agg(n=tc.count())
    shown = expected(told(question, replay=True), **{**ASKED, "approval": True})
    assert "asked before, and is free" in shown["verdict"]
    assert (shown["button"], shown["approval"]) == ("Show the answer, free", False)
    assert "at no further cost" in expected(told(question, open=True), **ASKED)["verdict"]


def test_what_follows_from_earlier_releases_is_said_and_offered_to_those_who_may_ask(session):
    question = session.agg(n=tc.count())
    follows = {"n": {"standard_error": 2.8284, "release": "0" * 32}}
    shown = expected(told(question, free=follows), **ASKED)
    assert shown["free"] == (
        "It follows from releases that you can see, at no cost: n with a standard error of 2.83."
    )
    assert shown["may_free"]
    assert not expected(told(question, free=follows), **{**ASKED, "may_ask": False})["may_free"]
    assert expected(told(question), **ASKED)["free"] == ""


def test_who_may_not_or_cannot_afford_it_gets_no_button(session):
    question = session.agg(n=tc.count())
    assert not expected(told(question, affordable=False), **ASKED)["may_release"]
    assert not expected(told(question), **{**ASKED, "may_ask": False})["may_release"]


def test_notes_and_a_weak_guarantee_are_told(session):
    computed = session.with_column("twice", tc.col("cost") * 2).agg(t=tc.mean("twice"))
    found = computed.preview(epsilon=20, confidence="0.95")
    shown = expected({**told(computed), "preview": found.to_json()}, **ASKED)
    assert any("clamped to" in note for note in shown["notes"])
    assert any("epsilon" in note for note in shown["notes"])
