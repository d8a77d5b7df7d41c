"""Releases, as pages show them."""

from __future__ import annotations

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.report import Certificate
from tacit.service.pages.views import answered, row, shown_release

ONE = {
    "id": "ab",
    "dataset": "visits",
    "state": "running",
    "progress": 0.4,
    "asked_by": "ada",
    "team": "oncology",
    "asked_at": 0.0,
    "question": "count of rows",
    "cost": {"kind": "pure", "epsilon": "1/2"},
    "replayed": False,
    "error": None,
}
MAY = {"may_cancel": True, "may_decide": True}


def test_a_row_says_who_asked_what_when_at_which_price():
    shown = row(ONE)
    assert (shown["when"], shown["cost"]) == ("1970-01-01 00:00 UTC", "epsilon 0.5")
    assert row({**ONE, "question": ""})["question"] == "ab"


@pytest.mark.parametrize(
    ("state", "running", "cancel", "decide"),
    [
        ("waiting", False, True, True),
        ("running", True, True, False),
        ("done", False, False, False),
        ("refused", False, False, False),
        ("cancelled", False, False, False),
    ],
)
def test_what_can_be_done_follows_the_state(state, running, cancel, decide):
    shown = shown_release({**ONE, "state": state}, **MAY)
    assert (shown["running"], shown["cancel"], shown["decide"]) == (running, cancel, decide)


def test_an_error_is_told_in_the_one_shape():
    error = {"code": "unavailable", "message": "not now", "remedy": "later", "details": {}}
    for said in (error, {"error": error}):
        assert shown_release({**ONE, "state": "failed", "error": said}, **MAY)["wrong"] == error


def test_an_answer_is_shown_as_it_was_arranged_and_its_certificate_checked(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        whole = session.sql("select site, count(*) as n from visits group by site")
        first = session.sql(
            "select site, count(*) as n from visits group by site order by site limit 1"
        )
        answer, top = whole.release(epsilon=1), first.release(epsilon=1)
    found = {"by": ["site"], "keys": top.keys, "columns": [{"label": "n", **top.column("n")}]}
    shown = answered({**ONE, "answer": found}, answer.certificate)
    assert len(shown["answers"]["table"]) == 1
    assert shown["seal"]["words"].startswith("The certificate holds")
    forged = Certificate({**answer.certificate.body, "dataset": "other"})
    assert "does not hold" in answered({**ONE, "answer": found}, forged)["seal"]["words"]


def test_an_answer_of_very_many_groups_is_cut_and_says_so(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        keys = [*range(1, 1501)]
        answer = session.group_by("person", keys=keys).agg(n=tc.count()).release(epsilon=1)
    found = {
        "by": ["person"],
        "keys": answer.keys,
        "columns": [{"label": "n", **answer.column("n")}],
    }
    shown = answered({**ONE, "answer": found}, answer.certificate)
    assert (len(shown["answers"]["table"]), shown["more"]) == (1000, 500)
