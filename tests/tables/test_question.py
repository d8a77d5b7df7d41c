"""A question to a session: tried, paid, released, looked up."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tacit as tc
from tacit.accounting.ledger import on_account_of
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.tables.release.release import Collector, Rehearsed
from tacit.tables.session import PaidSession


@pytest.fixture
def session() -> tc.Session:
    rows = pa.table({"person": [1, 2, 3], "age": [20, 30, 40]})
    return tc.Session(rows, tc.unit("person", rows=2), tc.epsilon(1), tc.in_memory)


def test_what_is_tried_on_no_rows_is_refused_and_costs_nothing(
    session: tc.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = session.agg(n=tc.count())
    question.rehearse(epsilon="1/2")
    with pytest.raises(BudgetError):
        question.rehearse(epsilon=2)
    with pytest.raises(UsageError):
        question.rehearse()

    def refuse(*_: object) -> None:
        raise DataSourceError("no such column")

    monkeypatch.setattr(Rehearsed, "rehearse", refuse)
    for ask in (question.rehearse, question.release):
        with pytest.raises(DataSourceError, match="no such column; nothing was spent"):
            ask(epsilon="1/2")
    assert session.spent.is_nothing


def test_what_is_paid_is_released_later_under_that_charge(session: tc.Session) -> None:
    question = session.agg(n=tc.count())
    question.pay(epsilon="1/2")
    question.pay(epsilon="1/2")
    assert session.spent == tc.epsilon("1/2")
    assert (question.is_charged(epsilon="1/2"), question.is_answered(epsilon="1/2")) == (
        True,
        False,
    )
    question.rehearse(epsilon="1/2")
    assert question.recorded(epsilon="1/2") is None
    answer = question.release(epsilon="1/2")
    assert session.spent == tc.epsilon("1/2")
    with pytest.raises(BudgetError):
        question.pay(epsilon=1)
    found = question.recorded(epsilon="1/2")
    assert found is not None
    assert (found.to_dict(), found.replayed) == (answer.to_dict(), True)
    assert question.recorded(epsilon="1/2", tag="other") is None


def test_what_is_recorded_is_looked_up_without_the_table(
    session: tc.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = session.agg(n=tc.count())
    answer = question.release(epsilon="1/2")

    def read(*_: Any) -> None:
        raise AssertionError("the table was read")

    monkeypatch.setattr(Collector, "collect", read)
    monkeypatch.setattr(Rehearsed, "rehearse", read)
    found = question.recorded(epsilon="1/2")
    assert found is not None
    assert found.value("n") == answer.value("n")


def test_a_key_is_of_the_question_and_its_price(session: tc.Session) -> None:
    count, ages = session.agg(n=tc.count()), session.agg(age=tc.mean("age", 0, 99))
    keys = {
        count.release_key(epsilon=1),
        count.release_key(epsilon="1/2"),
        count.release_key(epsilon=1, tag="may"),
        ages.release_key(epsilon=1),
    }
    assert len(keys) == 4
    assert session.agg(n=tc.count()).release_key(epsilon="2/2") in keys


def test_on_account_of_somebody_the_balance_is_that_of_the_charge(session: tc.Session) -> None:
    ada = PaidSession(session, on_account_of(session.ledger, "analyst:ada"), {})
    question = ada.agg(n=tc.count())
    question.pay(epsilon="1/2")
    session.agg(n=tc.count()).release(epsilon="1/4")
    certificate = question.release(epsilon="1/2").certificate
    assert certificate.body["spent"]["remaining"] == tc.epsilon("1/2").to_json()
    assert certificate.verify(session.ledger)
    own = session.agg(n=tc.count_people()).release(epsilon="1/8").certificate
    assert own.body["spent"]["remaining"] == session.remaining.to_json()
