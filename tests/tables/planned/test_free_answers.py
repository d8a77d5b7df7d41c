"""Which questions of a plan follow from earlier releases, and the answers that cost nothing."""

import cProfile
from functools import partial

import pyarrow as pa
import pytest

import tacit as tc

PEOPLE = pa.table({"sex": ["f", "m"] * 50, "age": [i % 80 for i in range(100)]})


def test_those_that_follow_are_answered_and_the_others_are_not():
    with tc.Session(PEOPLE, tc.one_row_each, tc.rho(3), tc.in_memory, name="p") as session:
        by = session.group_by("sex", keys=["f", "m"])
        plan = session.plan(
            [
                session.agg(ages=tc.histogram("age", [0, 40, 80])),
                by.agg(n=tc.count(), age=tc.mean("age", 0, 80)),
                by.agg(n=tc.count()),
                session.filter(tc.col("age") < 7).agg(few=tc.count()),
            ]
        )
        assert plan.free_answers() == [None] * 4
        fine = by.agg(ages=tc.ranges("age", [0, 20, 40, 80]))
        counts = by.agg(cells=tc.count())
        session.plan([fine, counts]).release(rho=1)
        before, spent = len(session.history()), session.spent
        errors = plan.free_errors()
        assert [error is None for error in errors] == [False, True, False, True]
        ages, _, n, _ = found = plan.free_answers()
        assert [answer is None for answer in found] == [False, True, False, True]
        assert errors[2]["n"] == n.column("n")["standard_error"][0]
        squares = [error**2 for error in ages.column("ages")["standard_error"][0]]
        assert errors[0]["ages"] == (sum(squares) / 2) ** 0.5
        assert ages.cost.is_nothing
        assert ages.certificate.verify(session.ledger)
        assert (len(session.history()), session.spent) == (before, spent)
        assert plan.free_answers(tag="another") == [None] * 4


def test_a_preview_of_a_plan_says_which_answers_are_free():
    with tc.Session(PEOPLE, tc.one_row_each, tc.rho(3), tc.in_memory, name="p") as session:
        by = session.group_by("sex", keys=["f", "m"])
        asked = [session.agg(n=tc.count()), by.agg(n=tc.count()), by.agg(age=tc.mean("age", 0, 9))]
        plan = session.plan(asked)
        assert plan.preview(rho=1).free == {}
        by.agg(n=tc.count()).release(rho=1)
        errors = plan.free_errors()
        assert [error is None for error in errors] == [True, False, True]
        found = plan.preview(rho=1)
        assert found.free == {"n_2": errors[1]["n"]}
        assert str(found).count("n_2: follows from earlier releases at no cost") == 1


def calls(many, what):
    """How many calls it takes to plan so many questions, or to answer them from their plan."""
    with tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(3), tc.in_memory, name="p") as session:
        keys = [[(7 * i + j) % 60 for j in range(3)] for i in range(many)]
        asked = [session.group_by("age", keys=each).agg(n=tc.count()) for each in keys]
        plan, profile = session.plan(asked), cProfile.Profile()
        if what == "free":
            plan.release(epsilon=1)
        profile.runcall(plan.free_answers if what == "free" else partial(session.plan, asked))
        return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.full
@pytest.mark.parametrize("what", ["plan", "free"])
def test_twice_as_many_questions_are_twice_as_many_calls(what):
    calls(5, what)  # what is loaded and kept
    assert calls(120, what) < 2.2 * calls(60, what)
