"""From accuracy to cost: the least loss and its split, before a row is read."""

from fractions import Fraction

import pyarrow
import pytest

import tacit as tc
from tacit.errors import UsageError

PEOPLE = {"sex": ["f", "m"] * 50, "age": list(range(100))}


def opened(budget):
    return tc.Session(pyarrow.table(PEOPLE), tc.one_row_each, budget, tc.in_memory, name="people")


def plan_of(session):
    return session.plan(
        [
            session.agg(n=tc.count(), age=tc.mean("age", 0, 100), mid=tc.median("age", 0, 100)),
            session.group_by("sex", keys=["f", "m"]).agg(by_sex=tc.count()),
        ]
    )


TARGETS = {"n": "9 people", "by_sex": 20, "age": "2 years", "mid": "40 rows"}


@pytest.mark.parametrize("budget", [tc.epsilon(100), tc.rho(100)], ids=["epsilon", "rho"])
def test_it_is_the_least_that_meets_every_target(budget):
    with opened(budget) as session:
        found = plan_of(session).cheapest(TARGETS, confidence="0.9")
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
    with opened(tc.rho(1)) as session:
        plan = plan_of(session)
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
