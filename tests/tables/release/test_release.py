"""A question at its price: what a release takes now, and its one plan."""

import pyarrow
import pyarrow.parquet
import pytest

import tacit as tc
from tacit.errors import BudgetError, UsageError
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import TableQuestion, fitted

ROWS = pyarrow.table({"site": [0, 1, 1], "age": [31, 45, 52]})


@pytest.fixture
def planned(monkeypatch):
    made, plan = [], TableQuestion.plan

    def counted(question, granted, like=None):
        made.append(granted)
        return plan(question, granted, like)

    monkeypatch.setattr(TableQuestion, "plan", counted)
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


@pytest.mark.parametrize(
    "questions",
    [
        {"n": tc.count()},
        {"m": tc.mean("age", 0, 99), "s": tc.sum("age", 0, 99), "v": tc.var("age", 0, 99)},
        {"q": tc.median("age", 0, 99), "p": tc.percentiles("age", [25, 75], 0, 99)},
        {"h": tc.histogram("age", [0, 50, 99]), "d": tc.count_distinct("age")},
        {"r": tc.interquartile_range("age", 0, 99), "c": tc.count_people()},
    ],
    ids=lambda questions: "-".join(questions),
)
@pytest.mark.parametrize("loss", [tc.epsilon, tc.rho])
def test_a_plan_at_another_price_is_that_of_the_question_planned_anew(questions, loss):
    session = tc.Session(ROWS, unit=tc.one_row_each, budget=loss(10))
    price = "epsilon" if loss is tc.epsilon else "rho"
    older = session.filter(tc.col("age") > 40)
    for rows in (session, older, older.group_by("site", keys=[0, 1])):
        question = rows.agg(**questions)
        charges = [question._priced(**{price: amount}) for amount in (1, "3/7", 2)]
        for charge in charges:
            kept, fresh = charge.on_paper(), Plan(charge.asked.query, charge.asked.request)
            assert (kept.cost, kept.noises) == (fresh.cost, fresh.noises)
            assert kept.describe(fresh.size) == fresh.describe(fresh.size)
            assert kept.requests(fresh.size) == fresh.requests(fresh.size)
            assert kept.chains(fresh.size) == fresh.chains(fresh.size)
        assert charges[1].on_paper()._reached is charges[0].on_paper()._reached
        assert charges[1].on_paper() is not charges[0].on_paper()


@pytest.mark.parametrize("per_person", [False, True])
def test_a_table_whose_columns_are_of_other_kinds_by_now_is_planned_anew(tmp_path, per_person):
    """A plan on whole numbers cut the parts of a whole off every value of the new table."""
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": [1, 2, 3] * 50, "p": [*range(150)]}), path)
    unit = tc.unit("p", rows=1) if per_person else tc.one_row_each
    with tc.Session(path, unit, tc.epsilon(2 * 10**4), ledger=tc.in_memory) as session:

        def ask():
            return session.agg(t=tc.sum("x", 0, 10))

        ask().cost(epsilon=5000)
        ask().cost(epsilon=4000)
        before = ask()
        rows = pyarrow.table({"x": [1.5, 2.5, 3.5] * 50, "p": [*range(150)]})
        pyarrow.parquet.write_table(rows, path)
        session.refresh()
        with pytest.raises(UsageError, match="'x' held integer when the question was made"):
            before.release(epsilon=4000)
        assert session.remaining == session.budget
        for price in (4000, 5000):
            assert abs(ask().release(epsilon=price).value("t") - 375) < 1
            assert ask()._priced(epsilon=price).on_paper().query.source_schema["x"].kind == "float"


def test_keys_or_values_that_only_look_equal_are_another_question():
    table = pyarrow.table({"yes": [True, False], "one": [1, 0]})
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(9))
    plans = [
        session.filter(tc.col(name) == value).agg(n=tc.count())._priced(epsilon=1).on_paper()
        for name, value in (("yes", True), ("one", 1))
    ]
    assert plans[0].query is not plans[1].query
    by_price = session.filter(tc.col("one") == 1).agg(n=tc.count())._priced(epsilon=2).on_paper()
    assert by_price.query is plans[1].query


@pytest.mark.parametrize("asked", ["unlisted", pytest.param("chosen", marks=pytest.mark.full)])
def test_a_price_that_decides_more_than_the_noise_plans_anew(asked):
    session = tc.Session(ROWS, unit=tc.one_row_each, budget=tc.epsilon_delta(9, "1e-6"))
    if asked == "unlisted":
        question, price = session.group_by("site").agg(n=tc.count()), {"delta": "1e-7"}
    else:
        question, price = session.agg(m=tc.median("age", 0, 99, method="auto")), {}
    one, two = (question._priced(epsilon=e, **price).on_paper() for e in (1, 2))
    assert one.query is two.query is question._query
    assert one._reached is not two._reached


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
