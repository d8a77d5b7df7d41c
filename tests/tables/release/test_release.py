"""A question at its price: what a release takes now, and its one plan."""

from __future__ import annotations

import itertools
import json
import threading
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

import tacit as tc
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.tables.plan.plan import Plan
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.release import release as collect
from tacit.tables.release import release as releases
from tacit.tables.release.release import (
    PlanRunner,
    TableQuestion,
    answer_of,
    fitted,
    in_order,
    release_answer,
)

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
            kept = charge.requested_plan()
            fresh = Plan(charge.question.query, charge.question.request)
            assert (kept.cost, kept.noises) == (fresh.cost, fresh.noises)
            assert kept.describe(fresh.size) == fresh.describe(fresh.size)
            assert kept.requests(fresh.size) == fresh.requests(fresh.size)
            assert kept.chains(fresh.size) == fresh.chains(fresh.size)
        assert charges[1].requested_plan()._reached is charges[0].requested_plan()._reached
        assert charges[1].requested_plan() is not charges[0].requested_plan()


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
            assert (
                ask()._priced(epsilon=price).requested_plan().query.source_schema["x"].kind
                == "float"
            )


def test_keys_or_values_that_only_look_equal_are_another_question():
    table = pyarrow.table({"yes": [True, False], "one": [1, 0]})
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(9))
    plans = [
        session.filter(tc.col(name) == value).agg(n=tc.count())._priced(epsilon=1).requested_plan()
        for name, value in (("yes", True), ("one", 1))
    ]
    assert plans[0].query is not plans[1].query
    by_price = (
        session.filter(tc.col("one") == 1).agg(n=tc.count())._priced(epsilon=2).requested_plan()
    )
    assert by_price.query is plans[1].query


@pytest.mark.parametrize("asked", ["unlisted", pytest.param("chosen", marks=pytest.mark.full)])
def test_a_price_that_decides_more_than_the_noise_plans_anew(asked):
    session = tc.Session(ROWS, unit=tc.one_row_each, budget=tc.epsilon_delta(9, "1e-6"))
    if asked == "unlisted":
        question, price = session.group_by("site").agg(n=tc.count()), {"delta": "1e-7"}
    else:
        question, price = session.agg(m=tc.median("age", 0, 99, method="auto")), {}
    one, two = (question._priced(epsilon=e, **price).requested_plan() for e in (1, 2))
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


# Exact integers in, a published answer out: what is recorded is what the answer follows from.


FRAME = pd.DataFrame({"g": ["a", "b"] * 40, "x": range(80), "p": [i // 4 for i in range(80)]})
MUCH = 10**6


def made(*, keys: Any = ("a", "b", "nobody"), price: Any = None, **asked: Any) -> Any:
    """A plan, and the exact answers to it."""
    session = tc.Session(FRAME, unit=tc.unit("p", rows=4), budget=tc.epsilon_delta(10**9, "1e-6"))
    question = session.group_by("g", keys=list(keys)) if keys else session.group_by("g")
    plan = Plan(question.agg(**asked)._query, price or tc.epsilon(MUCH))
    return plan, PlanRunner(session.source).collect(plan)


def test_with_much_budget_the_numbers_are_those_of_the_table() -> None:
    plan, exact = made(n=tc.count(), m=tc.mean("x", 0, 79), q=tc.median("x", 0, 79))
    answer = release_answer(plan, exact)
    assert answer["keys"] == [["a"], ["b"], ["nobody"]]
    count, mean, median = answer["columns"]
    assert [c["label"] for c in answer["columns"]] == ["n", "m", "q"]
    assert count["value"] == [40, 40, 0]
    assert mean["value"][:2] == pytest.approx([39, 40], abs=0.01)
    assert median["value"][:2] == pytest.approx([39, 40], abs=1.1)
    assert json.loads(json.dumps(answer)) == answer  # plain JSON values and nothing else


def test_the_answer_follows_from_what_was_released_and_nothing_else() -> None:
    plan, exact = made(n=tc.count(), v=tc.var("x", 0, 79), h=tc.histogram("x", [0, 40, 79]))
    answer = release_answer(plan, exact)
    again = answer_of(plan, answer["keys"], answer["released"])
    assert {name: again[name] for name in again} == {name: answer[name] for name in again}
    assert set(again) == {"keys", "columns", "released"}


def test_each_release_draws_its_own_noise() -> None:
    plan, exact = made(n=tc.count(), price=tc.epsilon("1/100"))
    drawn = {json.dumps(release_answer(plan, exact)["released"]) for _ in range(4)}
    assert len(drawn) == 4


def test_whole_counts_have_whole_ends_that_hold_them() -> None:
    plan, exact = made(n=tc.count(), price=tc.epsilon("1/10"))
    (column,) = release_answer(plan, exact)["columns"]
    for value, low, high in zip(column["value"], column["low"], column["high"], strict=True):
        assert all(type(number) is int for number in (value, low, high))
        assert low <= value <= high


def test_groups_that_are_found_come_in_the_order_of_what_is_shown() -> None:
    plan, exact = made(keys=None, n=tc.count(), price=tc.epsilon_delta(1000, "1e-9"))
    assert release_answer(plan, exact)["keys"] == [["a"], ["b"]]


KEYS = [(None,), ("a",), ("b",), (2,), (10,), (True,)]


def test_released_keys_have_one_order_however_they_were_found() -> None:
    orders = {tuple(in_order(chosen)) for chosen in itertools.permutations(KEYS)}
    (order,) = orders
    assert order[-1] == (None,)
    numbers = [key for key in order if type(key[0]) is int]
    assert numbers == [(2,), (10,)]


# What a session keeps in its engine stays while another thread uses it.


def tables_in(source):
    return {row[0] for row in source.engine.rows("select table_name from duckdb_tables()")}


def person_plan(session, i, aggregate):
    asked = session.filter(tc.col("x") >= i).group_by("g", keys=["a"]).agg(v=aggregate)
    return Plan(asked._query, tc.epsilon(1))


@pytest.mark.full
def test_tables_of_an_old_question_stay_while_another_thread_uses_them(monkeypatch):
    """One thread stops between making its table and reading it; others fill the cache."""
    frame = pd.DataFrame({"x": range(100), "g": "a", "person": [i // 2 for i in range(100)]})
    session = tc.Session(frame, unit=tc.unit("person", rows=1), budget=tc.epsilon(1))
    collector = PlanRunner(session.source)
    session.source.engine.rows(f"select count(*) from {session.source.relation}")
    own = tables_in(session.source)  # the frame itself, which the first query brings in
    made, go_on = threading.Event(), threading.Event()
    original, failures = IntegerQuery._bounded, []

    def paused(self, offsets):
        found = original(self, offsets)
        if threading.current_thread().name == "slow" and self.tables:
            made.set()
            assert go_on.wait(20)
        return found

    def ask_twice(i):  # rows are kept from the second time on
        for _ in range(2):
            collector.collect(person_plan(session, i, tc.mean("x", 0, 100)))

    def slow():
        try:
            ask_twice(0)
        except DataSourceError as error:
            failures.append(error)

    monkeypatch.setattr(IntegerQuery, "_bounded", paused)
    thread = threading.Thread(target=slow, name="slow")
    thread.start()
    assert made.wait(20)
    for i in range(1, 3 * collect._MAX_COLLECTED):
        ask_twice(i)
    during = tables_in(session.source)
    go_on.set()
    thread.join()
    assert not failures
    ask_twice(99)
    after = tables_in(session.source)
    assert len(during - after) >= 1  # the slow one's table went when it was done
    assert len(after - own) <= collect._MAX_COLLECTED
    session.close()


# What can fail is tried before the charge, on no rows; and once where it cannot change.


PEOPLE = pyarrow.table({"site": [0, 1, 1], "age": [31, 45, 52], "who": [1, 1, 2]})


@pytest.fixture
def tried(monkeypatch):
    """Return what was tried, as it grows."""
    found = []
    genuine = releases.dry_run
    monkeypatch.setattr(
        releases, "dry_run", lambda *asked, **how: found.append(asked) or genuine(*asked, **how)
    )
    return found


def test_what_was_tried_on_a_table_in_memory_is_not_tried_again(tried):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(10**6))
    older, groups = session.filter(tc.col("age") > 40), session.group_by("site", keys=[0, 1])
    for epsilon in (1, 2):
        older.agg(n=tc.count()).release(epsilon=epsilon)
        groups.agg(age=tc.mean("age", 0, 99)).release(epsilon=epsilon)
    assert len(tried) == 2
    groups.agg(age=tc.mean("age", 0, 98)).release(epsilon=1)
    session.group_by("site", keys=[1, 0]).agg(age=tc.mean("age", 0, 99)).release(epsilon=1)
    assert len(tried) == 4
    session.refresh()
    older.agg(n=tc.count()).release(epsilon=3)
    assert len(tried) == 5


def test_what_others_may_change_is_tried_each_time(tried, tmp_path):
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(PEOPLE, path)
    for unit in (tc.one_row_each, tc.unit("who", rows=2)):
        session = tc.Session(path, unit=unit, budget=tc.epsilon(9), ledger=tc.in_memory)
        tried.clear()
        for epsilon in (1, 2):
            session.agg(n=tc.count()).release(epsilon=epsilon)
        assert len(tried) == 2


def test_what_an_engine_took_in_is_tried_once(tried, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("site,age\n0,31\n1,45\n")
    session = tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(9), ledger=tc.in_memory)
    people = tc.Session(PEOPLE, tc.unit("who", rows=2), budget=tc.epsilon(9))
    for asked in (session, people):
        tried.clear()
        for epsilon in (1, 2):
            asked.agg(n=tc.count()).release(epsilon=epsilon)
        assert len(tried) == 1


def test_a_table_that_was_closed_is_found_out_before_the_charge(tried):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(9))
    session.agg(n=tc.count()).release(epsilon=1)
    session.source.close()
    with pytest.raises(DataSourceError, match="closed; open it again; nothing was spent"):
        session.agg(n=tc.count()).release(epsilon=2)
    assert (len(tried), session.spent) == (2, tc.epsilon(1))
