"""Plans of a session: one charge, answers that agree, certificates that hold, free replays."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow
import pyarrow as pa
import pytest
from tests.tables.joint_plans.test_comparison import PEOPLE as PLAN_PAGE_PEOPLE
from tests.tables.joint_plans.test_comparison import plan_of

import tacit as tc
from tacit.errors import BudgetError, UsageError
from tacit.tables.cell_axis import Axis
from tacit.tables.joint_plans.merge import check_listed, merged

ROWS = 600
PEOPLE = {
    "person": [i // 2 for i in range(ROWS)],
    "sex": ["fmx"[i % 7 % 3] for i in range(ROWS)],
    "site": [i * i % 5 for i in range(ROWS)],
    "age": [(i * 37) % 97 for i in range(ROWS)],
}
UNITS = [tc.one_row_each, tc.unit("person", rows=2)]
PRICES = [(tc.rho(1000), {"rho": 100}), (tc.epsilon(1000), {"epsilon": 100})]


def opened(budget=None, unit=tc.one_row_each, ledger=tc.in_memory):
    whole = tc.rho(1000) if budget is None else budget
    return tc.Session(pa.table(PEOPLE), unit, whole, ledger, name="people")


def questions(session):
    keys = {"sex": ["m", "f"], "site": [0, 1, 4]}
    return [
        session.agg(n=tc.count()),
        session.group_by("sex", keys=["f", "m"]).agg(n=tc.count()),
        session.group_by("sex", "site", keys=keys).agg(
            n=tc.count(), ages=tc.histogram("age", [0, 20, 50, 90])
        ),
        session.filter(tc.col("age") >= 65).agg(old=tc.count()),
    ]


def counted(**wanted):
    rows = zip(PEOPLE["sex"], PEOPLE["site"], PEOPLE["age"], strict=True)
    names = ("sex", "site", "age")
    return sum(
        all(
            test(value)
            for name, value in zip(names, row, strict=True)
            if (test := wanted.get(name))
        )
        for row in rows
    )


@pytest.mark.few(4)
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize(("budget", "price"), PRICES, ids=["gaussian", "laplace"])
def test_answers_are_near_the_truth_and_the_certificate_holds(budget, price, unit):
    with opened(budget, unit) as session:
        plan = session.plan(questions(session))
        total, sexes, both, old = plan.release(**price)
        assert session.spent == budget - session.remaining == plan.preview(**price).cost
        assert abs(total.value("n") - ROWS) < 5
        assert abs(sexes.value("n", "f") - counted(sex=lambda v: v == "f")) < 5
        assert abs(old.value("old") - counted(age=lambda v: v >= 65)) < 5
        assert both.by == ("sex", "site")
        assert both.keys[:2] == [("m", 0), ("m", 1)]
        assert abs(both.value("n", "f", 4) - counted(sex="f".__eq__, site=(4).__eq__)) < 5
        bins = both.value("ages", "m", 1)
        truth = [
            counted(sex="m".__eq__, site=(1).__eq__, age=lambda v, a=a, b=b: a <= v < b)
            for a, b in ((0, 20), (20, 50), (50, 91))
        ]
        assert max(abs(x - y) for x, y in zip(bins, truth, strict=True)) < 5
        assert total.certificate == sexes.certificate
        found = total.certificate.verify(session.ledger)
        assert found, str(found)
        for answer in (total, sexes, both, old):
            assert answer.to_pandas().shape[0] == len(answer.keys)
            assert str(answer)
            assert answer.to_csv is not None
            assert answer.protects
        assert "sex" in total.certificate.to_html()


def test_a_plan_is_answered_once_and_replayed_free():
    with opened() as session:
        plan = session.plan(questions(session))
        first = plan.release(rho=1)
        spent = session.spent
        again = session.plan(questions(session)).release(rho=1)
        assert session.spent == spent
        assert all(answer.replayed for answer in again)
        assert [a.to_dict() for a in again] == [a.to_dict() for a in first]
        assert plan.cost(rho=1).amount == 0
        assert plan.cost(rho=2).amount > 0
        assert not plan.release(rho=1, tag="again")[0].replayed
        assert session.spent == spent + spent


def test_counts_agree_with_one_another():
    with opened() as session:
        keys, edges = [0, 1, 2, 3, 4], [0, 50, 97]
        asked = [
            session.agg(n=tc.count()),
            session.group_by("site", keys=keys).agg(n=tc.count(), h=tc.histogram("age", edges)),
            session.group_by("site", keys=keys[:2]).agg(few=tc.count()),
        ]
        _, sites, few = session.plan(asked).release(rho="1/10")
        assert few.column("few")["value"] == pytest.approx(sites.column("n")["value"][:2])


def test_it_is_never_worse_than_one_by_one_with_the_best_split():
    """The total squared error, over the cells that are asked."""
    with opened() as session:
        asked = questions(session)
        errors = session.plan(asked).preview(rho="1/2").errors
        cells = {"n_1": 1, "n_2": 2, "n_3": 6, "ages": 18, "old": 1}
        together = sum(cells[label] * errors[label][0] ** 2 for label in cells)
        assert together <= sum(map(math.sqrt, cells.values())) ** 2
    with opened(tc.epsilon(9)) as session:
        errors = session.plan(questions(session)).preview(epsilon=1).errors
        together = sum(cells[label] * errors[label][0] ** 2 for label in cells)
        assert together <= 2 * sum(np.cbrt(n) for n in cells.values()) ** 3 * (1 + 1e-3)


def test_means_and_medians_of_all_rows_join():
    with opened(tc.epsilon(100)) as session:
        asked = [
            session.agg(n=tc.count(), mean=tc.mean("age", 0, 100), mid=tc.median("age", 0, 100)),
            session.group_by("sex", keys=["f", "m"]).agg(by_sex=tc.count()),
        ]
        first, second = session.plan(asked).release(epsilon=50)
        assert abs(first.value("mean") - np.mean(PEOPLE["age"])) < 5
        assert abs(second.value("by_sex", "m") - counted(sex="m".__eq__)) < 9
        assert first.certificate.verify(session.ledger)


def test_a_weight_makes_an_answer_more_exact():
    with opened() as session:
        plain = session.plan(questions(session)).preview(rho=1)
        heavy = session.plan(questions(session), weights={"n_1": 1000}).preview(rho=1)
        assert heavy.errors["n_1"][0] < 0.6 * plain.errors["n_1"][0]
        assert heavy.errors["ages"][0] > plain.errors["ages"][0]


def test_the_strategy_says_what_gets_noise():
    with opened() as session:
        plan = session.plan(questions(session))
        told = plan.strategy
        assert sum(one["share"] for one in told) == 1
        assert {"columns": ["sex", "site"], "cells": 12} in [
            {name: one[name] for name in ("columns", "cells")} for one in told
        ]
        assert "all rows" in plan.card().text()
        assert "4 questions" in repr(plan)
        assert plan.labels == ("n_1", "n_2", "n_3", "ages", "old")


def test_a_plan_that_cannot_be_paid_says_by_how_much_and_spends_nothing():
    with opened(tc.rho("1/10")) as session:
        plan = session.plan(questions(session))
        with pytest.raises(BudgetError, match=r"costs rho\(1\), and rho\(0.1\) is left") as told:
            plan.release(rho=1)
        assert session.spent.amount == 0
        assert "takes 0.9 too much; release(rho='1/10') would fit" in str(told.value)
        assert f"n_1 {plan.preview(rho='1/10').errors['n_1'][0]:.3g}" in str(told.value)
        plan.release(rho="1/10")
        with pytest.raises(BudgetError) as told:
            plan.release(rho="1/10", tag="again")
        assert "would fit" not in str(told.value)


def test_what_is_no_plan_is_refused():
    with opened() as session, opened() as other:
        for wrong in ([], [1], 5, "n", [session]):
            with pytest.raises(UsageError, match="a plan takes a list of questions"):
                session.plan(wrong)
        with pytest.raises(UsageError, match="of one session"):
            session.plan([session.agg(n=tc.count()), other.agg(m=tc.count())])


@pytest.mark.full
def test_many_marginals_have_a_price_of_few_digits_within_what_is_granted():
    """The losses of 37 chains add up to a fraction that a ledger and a certificate can state."""
    import itertools

    names = [f"c{i}" for i in range(8)]
    table = pa.table({name: [i % (3 + j) for i in range(40)] for j, name in enumerate(names)})
    with tc.Session(table, tc.one_row_each, tc.rho(1), tc.in_memory, name="wide") as session:
        keys = {name: list(range(3 + j)) for j, name in enumerate(names)}
        asked = [
            session.group_by(*pair, keys={name: keys[name] for name in pair}).agg(n=tc.count())
            for ways in (1, 2)
            for pair in itertools.combinations(names, ways)
        ]
        plan = session.plan(asked)
        cost = plan.preview(rho="1/10").cost
        assert 0.0999999 < cost.amount <= 0.1
        assert len(str(cost.amount)) < 200
        first, *_ = plan.release(rho="1/10")
        assert session.spent == cost
        assert first.certificate.verify(session.ledger)


def test_several_sql_statements_are_answered_together():
    with opened() as session:
        asked = [
            "select count(*) as n from people",
            "select count(*) as old from people where age >= 65",
            "select sex, count(*) as n from people group by sex",
        ]
        with pytest.raises(UsageError, match="not listed"):
            session.plan([session.sql(each) for each in asked])
        plan = session.plan([session.sql(each) for each in asked[:2]])
        whole, old = plan.release(rho=100)
        assert abs(whole.value("n") - ROWS) < 5
        assert abs(old.value("old") - counted(age=lambda v: v >= 65)) < 5
        assert session.spent == plan.preview(rho=100).cost
        assert whole.certificate.verify(session.ledger)


@pytest.mark.full
@pytest.mark.parametrize(
    ("budget", "price"),
    [(tc.rho(9), {"rho": "1/10"}), (tc.epsilon(9), {"epsilon": "1/2"})],
    ids=["gaussian", "laplace"],
)
def test_the_worst_error_is_made_small(budget, price):
    with opened(budget) as session:
        asked = questions(session)

        def errors(plan):
            return [error for (error, *_) in plan.preview(**price).errors.values()]

        worst = max(errors(session.plan(asked, least="worst")))
        assert worst < max(errors(session.plan(asked)))
        for label in ("n_1", "ages", "old"):
            assert worst <= max(errors(session.plan(asked, {label: 2})))
        # no plan of all five is below the error of the largest question asked by itself
        alone = max(errors(session.plan([each]))[0] for each in asked)
        assert worst > alone
        assert session.plan(asked, least="worst").release(**price)[0].certificate.verify()
        for wrong in ({"least": "mean"}, {"least": "worst", "weights": {"n_1": 2}}):
            with pytest.raises(UsageError, match="least is"):
                session.plan(asked, **wrong)


def test_weights_of_equal_questions_stay_equal():
    with opened() as session:
        alike = [session.agg(n=tc.count()), session.agg(n=tc.count())]
        one, two = session.plan(alike, least="worst").preview(rho=1).errors.values()
        assert one == two


# The page of a plan: questions, strategy, errors.


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
    with pytest.raises(UsageError, match="below 1e-38"):
        plan.to_html(rho="1e-200")


def test_a_page_of_one_mean_has_no_strategy():
    session = tc.Session(
        PLAN_PAGE_PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people"
    )
    plan = session.plan([session.agg(age=tc.mean("age", 0, 100))])
    page = plan.to_html(epsilon=1)
    assert "What gets noise" not in page
    assert "<script>" not in page


def test_texts_of_a_question_are_escaped():
    session = tc.Session(
        PLAN_PAGE_PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people"
    )
    by_sex = session.group_by("sex", keys=["<b>f", "m"]).agg(n=tc.count())
    page = session.plan([by_sex]).to_html(epsilon=1)
    assert "&lt;b&gt;f" in page
    assert "<b>f" not in page


# From accuracy to cost: the least loss and its split, before a row is read.


CHEAPEST_PEOPLE = {"sex": ["f", "m"] * 50, "age": list(range(100))}


def cheapest_opened(budget):
    return tc.Session(
        pyarrow.table(CHEAPEST_PEOPLE), tc.one_row_each, budget, tc.in_memory, name="people"
    )


def cheapest_plan_of(session):
    return session.plan(
        [
            session.agg(n=tc.count(), age=tc.mean("age", 0, 100), mid=tc.median("age", 0, 100)),
            session.group_by("sex", keys=["f", "m"]).agg(by_sex=tc.count()),
        ]
    )


TARGETS = {"n": "9 people", "by_sex": 20, "age": "2 years", "mid": "40 rows"}


@pytest.mark.parametrize("budget", [tc.epsilon(100), tc.rho(100)], ids=["epsilon", "rho"])
def test_it_is_the_least_that_meets_every_target(budget):
    with cheapest_opened(budget) as session:
        found = cheapest_plan_of(session).cheapest(TARGETS, confidence="0.9")
        assert session.spent.amount == 0
        name = "rho" if budget.kind == "concentrated" else "epsilon"

        def reached(amount):
            shown = found.plan.preview(**{name: amount}, rows=[1000], confidence="0.9")
            return {label: halves[0] for label, halves in shown.intervals.items()}

        limits = {"n": 9, "by_sex": 20, "age": 2, "mid": 40}
        at_it, below = reached(found.loss.amount), reached(found.loss.amount * Fraction(97, 100))
        assert all(at_it[label] <= limit for label, limit in limits.items())
        assert below["n"] > 9
        assert below["age"] > 2
        # the counts share one part, so their share counts once
        assert found.shares["n"] == found.shares["by_sex"]
        assert found.shares["n"] + found.shares["age"] + found.shares["mid"] == 1
        first, second = found.release()
        assert session.spent.amount <= found.loss.amount
        assert first.certificate.verify(session.ledger)
        assert found.preview().cost.amount <= found.loss.amount
        assert len(second.keys) == 2


def test_targets_that_cannot_be_met_are_refused():
    with cheapest_opened(tc.rho(1)) as session:
        plan = cheapest_plan_of(session)
        for targets, told in [
            ({}, "name a target"),
            ({"x": 1}, "there is no answer 'x'"),
            ({"n": 0}, "above zero|positive"),
            ({"n": ""}, "is a number"),
            ({"n": 5}, "'age', 'mid' too"),
            ({**TARGETS, "age": "1e-9 years"}, "no loss brings 'age'"),
        ]:
            with pytest.raises(UsageError, match=told):
                plan.cheapest(targets)
        with pytest.raises(UsageError, match="rows is the size"):
            plan.cheapest(TARGETS, rows=0)
        assert session.spent.amount == 0


# Several questions as one: labels, axes, filters, and what cannot be planned together.


TABLE = {"sex": ["f", "m"], "site": [1, 2], "age": [20, 50]}


@pytest.fixture
def session():
    import pyarrow

    with tc.Session(pyarrow.table(TABLE), tc.one_row_each, tc.epsilon(9), name="people") as opened:
        yield opened


def whole(*questions, weights=None):
    return merged([question._query for question in questions], weights)


def axes(aggregate):
    return [axis.name for axis in aggregate.axes]


def test_groups_bins_and_filters_become_axes(session):
    by_sex = session.group_by("sex", keys=["f", "m"])
    old = by_sex.filter(tc.col("age") >= 18).agg(old=tc.count())
    found = whole(
        session.agg(n=tc.count()), by_sex.agg(h=tc.histogram("age", [0, 30, 90])), old
    ).query
    assert found.by == ()
    assert found.keys is None
    assert found.where == ()
    assert {label: axes(asked) for label, asked in found.aggregates} == {
        "n": [],
        "h": ["sex", "age in 2 bins"],
        "old": ["sex", "filter 1"],
    }
    assert [name for name, _ in found.derived] == ["filter 1"]


def test_one_filter_of_all_questions_stays_a_filter(session):
    old = session.filter(tc.col("age") >= 18)
    found = whole(old.agg(n=tc.count()), old.agg(m=tc.count())).query
    assert len(found.where) == 1
    assert found.derived == ()


def test_labels_that_two_questions_have_are_numbered(session):
    one = session.agg(n=tc.count(), only=tc.count())
    found = whole(one, session.agg(n=tc.count(), n_1=tc.count()))
    assert [dict(member.labels) for member in found.members] == [
        {"n": "n_1_2", "only": "only"},
        {"n": "n_2", "n_1": "n_1"},
    ]


def test_groups_that_are_not_all_combinations_are_one_axis(session):
    keys = [("f", 1), ("m", 2), ("m", 1)]
    ((_, asked),) = whole(
        session.group_by("sex", "site", keys=keys).agg(n=tc.count())
    ).query.aggregates
    assert [axis.columns for axis in asked.axes] == [("sex", "site")]
    full = [("m", 2), ("f", 1), ("m", 1), ("f", 2)]
    found = whole(session.group_by("sex", "site", keys=full).agg(n=tc.count()))
    assert axes(found.query.aggregates[0][1]) == ["sex", "site"]
    assert found.members[0].positions == (0, 3, 1, 2)


def test_weights_are_how_much_an_answer_counts(session):
    one = session.agg(n=tc.count(), m=tc.count())
    found = whole(one, weights={"n": 5}).query
    assert {label: asked.importance for label, asked in found.aggregates} == {"n": 5, "m": 1}
    for wrong in ({"x": 1}, {"n": 0}, {"n": "1/2"}):
        with pytest.raises(UsageError):
            whole(one, weights=wrong)


def test_what_cannot_be_planned_is_refused_before_anything_is_spent(session):
    n = session.agg(n=tc.count())
    with pytest.raises(UsageError, match="not listed"):
        whole(n, session.group_by("sex").agg(m=tc.count()))
    with pytest.raises(UsageError, match="by sex, and a plan answers by groups counts, histograms"):
        whole(n, session.group_by("sex", keys=["f"]).agg(a=tc.count_distinct("age")))
    with pytest.raises(UsageError, match="of other rows than other questions"):
        whole(n, session.filter(tc.col("site") == 1).agg(a=tc.count_distinct("age")))
    one = session.with_columns(z=tc.col("age") + 1).agg(h=tc.histogram("z", [0, 9]))
    two = session.with_columns(z=tc.col("age") + 2).agg(i=tc.histogram("z", [0, 9]))
    with pytest.raises(UsageError, match="in different ways"):
        whole(one, two)
    with pytest.raises(UsageError, match="nothing is asked"):
        whole(n, session.filter(tc.col("age") > 1))
    with pytest.raises(UsageError, match="needs numbers"):
        whole(n, session.agg(h=tc.histogram("sex", [0, 1])))
    assert session.spent == tc.epsilon(9) - session.remaining == session.budget - tc.epsilon(9)


def test_millions_of_keys_are_refused_with_their_number_before_they_are_looked_at(
    session, monkeypatch
):
    asked = session.group_by("site", keys=list(range(100_001))).agg(m=tc.count())
    monkeypatch.setattr("tacit.tables.joint_plans.merge.Plan", None)  # so it is refused before it
    with pytest.raises(UsageError, match=r"list 100,001 keys and ask for 100,002 numbers"):
        whole(session.agg(n=tc.count()), asked)
    monkeypatch.undo()
    many = [session.filter(tc.col("age") > i).agg(m=tc.count()) for i in range(401)]
    with pytest.raises(UsageError, match="401 filters and computed columns"):
        whole(*many)
    with pytest.raises(UsageError, match="list 451 keys of the columns site"):
        whole(session.group_by("site", keys=list(range(451))).agg(m=tc.count()))
    wide = session.group_by("site", keys=list(range(60_000)))
    with pytest.raises(UsageError, match=r"6,000,000 numbers"):
        whole(wide.agg(h=tc.histogram("age", list(range(101)))))


# What is too much to plan together is refused where it is planned, in a sentence.


def axis(*keys: int) -> Axis:
    return Axis(("site",), tuple((key,) for key in keys))


def test_the_keys_of_a_column_count_once_however_many_questions_list_them() -> None:
    check_listed([[axis(*range(450))]] * 2000)
    check_listed([[axis(*range(i, i + 3))] for i in range(448)])
    with pytest.raises(UsageError, match="list 451 keys of the columns site together"):
        check_listed([[axis(*range(i, i + 3))] for i in range(449)])
    with pytest.raises(UsageError, match="list 452 keys of the columns site, day together"):
        check_listed([[axis(*range(449)), Axis(("day",), ((1,),))], [Axis(("day",), ((2,), (3,)))]])
    check_listed([[axis(*range(400))], [Axis(("day",), tuple((i,) for i in range(400)))]])
    check_listed([[axis(1)], [axis(True)]])


def test_many_questions_with_a_key_each_are_refused_by_the_plan_and_not_at_the_release() -> None:
    rows = pa.table({"site": [1, 2, 3]})
    session = tc.Session(rows, tc.one_row_each, tc.epsilon(1), name="p", ledger=tc.in_memory)
    asked = [session.group_by("site", keys=[i]).agg(n=tc.count()) for i in range(451)]
    with pytest.raises(UsageError, match="at most 450 are planned together"):
        session.plan(asked)
