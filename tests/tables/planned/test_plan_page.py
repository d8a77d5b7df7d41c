"""The page of a plan: questions, strategy, errors."""

import pytest
from tests.tables.planned.test_comparison import PEOPLE, plan_of

import tacit as tc
from tacit.errors import UsageError


@pytest.mark.full
def test_the_page_holds_questions_strategy_and_errors():
    plan = plan_of(tc.rho(1))
    page = plan.to_html(rho="1/10")
    for told in (
        "The number of rows; only rows where age",
        "one by one",
        "sex and site",
        "rho 0.1",
    ):
        assert told in page
    assert "<script" not in page
    assert page.count("<tr>") == 2 + len(plan.labels) + len(plan.strategy)
    with pytest.raises(UsageError):
        plan.to_html()


def test_a_page_of_one_mean_has_no_strategy():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")
    plan = session.plan([session.agg(age=tc.mean("age", 0, 100))])
    page = plan.to_html(epsilon=1)
    assert "What gets noise" not in page
    assert "<script>" not in page


def test_texts_of_a_question_are_escaped():
    session = tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")
    by_sex = session.group_by("sex", keys=["<b>f", "m"]).agg(n=tc.count())
    page = session.plan([by_sex]).to_html(epsilon=1)
    assert "&lt;b&gt;f" in page
    assert "<b>f" not in page
