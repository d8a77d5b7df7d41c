"""A question at its price: what a release takes now, and its one plan."""

import pyarrow
import pytest

import tacit as tc
from tacit.errors import BudgetError, UsageError
from tacit.tables.plan.plan import Plan
from tacit.tables.release.charge import fitted

ROWS = pyarrow.table({"site": [0, 1, 1], "age": [31, 45, 52]})


@pytest.fixture
def planned(monkeypatch):
    made, check = [], Plan.__post_init__

    def counted(plan):
        made.append(plan.request)
        check(plan)

    monkeypatch.setattr(Plan, "__post_init__", counted)
    return made


def asked(total=None):
    session = tc.Session(ROWS, unit=tc.one_row_each, budget=total or tc.epsilon(1))
    return session, session.agg(n=tc.count())


def test_a_release_that_was_priced_is_planned_once(planned):
    session, question = asked()
    assert question.cost(epsilon="1/2") == tc.epsilon("1/2")
    session.agg(n=tc.count()).release(epsilon="1/2")  # the same question, said anew
    assert planned == [tc.epsilon("1/2")]


def test_another_price_label_or_kind_is_another_plan(planned):
    session, question = asked()
    for other in (
        question,
        session.agg(m=tc.count()),
        session.filter(tc.col("age") > 40).agg(n=tc.count()),
        session.group_by("site", keys=[0, 1]).agg(n=tc.count()),
        session.group_by("site", keys=[1, 0]).agg(n=tc.count()),
    ):
        other.cost(epsilon="1/8")
        other.cost(epsilon="1/4")
    assert planned == [tc.epsilon("1/8"), tc.epsilon("1/4")] * 5


def test_what_is_charged_or_answered_costs_nothing_more(monkeypatch):
    session, question = asked()
    with monkeypatch.context() as broken:
        broken.setattr("tacit.tables.question.release_answer", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            question.release(epsilon=1)
    nothing = session.remaining
    assert question.cost(epsilon=1) == nothing
    question.release(epsilon=1)
    assert question.cost(epsilon=1) == nothing
    assert question.cost(epsilon=1, tag="again") == tc.epsilon(1)
    with pytest.raises(BudgetError):
        question.release(epsilon=1, tag="again")


def test_a_price_is_that_of_the_budget_that_pays():
    session, question = asked(tc.rho(1))
    cost = question.cost(epsilon="1/2")
    question.release(epsilon="1/2")
    assert cost == session.spent
    assert cost.kind == "concentrated"
    with pytest.raises(UsageError):
        asked()[1].cost(rho="1/10")
    with pytest.raises(UsageError, match="nothing is asked"):
        session.filter(tc.col("age") > 1).cost(epsilon=1)


def test_a_request_is_lowered_by_rounding_alone():
    third = tc.epsilon("1/3")
    assert fitted(tc.epsilon(1 / 3 + 1e-16), third) == third
    assert fitted(tc.epsilon("0.34"), third) == tc.epsilon("0.34")
    assert fitted(tc.epsilon(1), tc.epsilon_delta(2, 0)) == tc.epsilon_delta(1, 0)
    assert fitted(tc.epsilon(1), tc.rho(2)) == tc.epsilon(1)
