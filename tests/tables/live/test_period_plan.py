"""The plan of a count over time: its noise is calibrated, and follows from its question alone."""

from __future__ import annotations

import json
import random

import pytest

import tacit as tc
from tacit.accounting.budgets.budget import Budget
from tacit.expressions.schema import Column, Schema
from tacit.expressions.timeline import Timeline
from tacit.noise.bits import injected
from tacit.tables.live.period_plan import PeriodPlan, counts_asked, question_of
from tacit.tables.plan.query import Query

LINE = Timeline("day", "integers", 0, 1, 9)
SAID = {"request": {"kind": "pure"}, "tag": None}
SCHEMA = Schema([Column("day", "integer", "BIGINT"), Column("who", "integer", "BIGINT")])
PEOPLE = Query(SCHEMA, tc.unit("who", rows=2), where=(tc.col("day") > 1,))


@pytest.mark.parametrize("granted", [tc.epsilon("1/2"), tc.rho("1/8")], ids=str)
def test_the_noise_costs_what_was_granted_and_no_coarser_one_would_do(granted: Budget) -> None:
    plan = PeriodPlan.calibrated(PEOPLE, LINE, 3, granted, SAID)
    assert granted.covers(plan.cost)
    assert float(plan.cost.amount) > 0.99 * float(granted.amount)
    assert plan.question["noise"]["step"] == ("gaussian" if granted.kind != "pure" else "laplace")


def test_a_plan_follows_from_its_question_as_a_ledger_has_it() -> None:
    made = PeriodPlan.calibrated(PEOPLE, LINE, 2, tc.epsilon(1), SAID)
    read = PeriodPlan(PEOPLE, json.loads(json.dumps(made.question)))
    assert read.step == made.step
    assert read.cost == made.cost
    assert read.chains.describe() == made.chains.describe()
    drawn = []
    for plan in (made, read):
        with injected(random.Random(1).randbytes):
            drawn.append(plan.released([3, 0, 10**6]))
    assert drawn[0] == drawn[1]
    assert abs(drawn[0][2] - 10**6) < 10**3


def test_a_key_is_the_question_without_what_was_chosen() -> None:
    asked = question_of(PEOPLE, LINE, None, None, SAID)
    assert list(asked) == ["query", "request", "tag", "noise"]
    assert asked["query"]["aggregates"] == counts_asked(LINE, None)
    made = PeriodPlan.calibrated(PEOPLE, LINE, 2, tc.epsilon(1), SAID).question
    assert {**made, "noise": None, "query": asked["query"]} == asked
    assert made["query"]["where"] == asked["query"]["where"] != []
