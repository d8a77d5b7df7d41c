"""The plan of a count over time: its noise is calibrated, and follows from its question alone."""

from __future__ import annotations

import json
import random

import pytest

import tacit as tc
from tacit.accounting import key_of
from tacit.accounting.budget import Budget
from tacit.expressions.schema import Column, Schema
from tacit.expressions.timeline import Timeline
from tacit.noise.bits import injected
from tacit.tables.live.periods import (
    PeriodPlan,
    PeriodQuestion,
    best_branching,
    counts_asked,
    question_of,
)
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


@pytest.mark.parametrize(
    ("branching", "key"),
    [
        (None, "b6fbf4a1db5247aabab6c66b0b48c67d83067fcc8423f6b332f2697bd59c2dcc"),
        (3, "8f64670b47e31515637c6432589d4a5d5c8fa9ad41cb0f5b3a070d5586d98037"),
    ],
)
def test_a_question_at_its_price_is_known_by_the_key_of_ledgers_written_before(
    branching: int | None, key: str
) -> None:
    half = tc.epsilon("1/2")
    asked = PeriodQuestion(PEOPLE, LINE, half, "again", branching)
    assert key_of(asked.public) == key
    said = {"request": half.to_json(), "tag": "again"}
    for granted in (half, tc.rho("1/8")):
        chosen = asked.plan(granted).question["query"]["aggregates"][0][1]["branching"]
        assert chosen == (branching or best_branching(9, squared=granted.kind == "pure"))
        same = PeriodPlan.calibrated(PEOPLE, LINE, chosen, granted, said)
        assert asked.plan(granted).question == same.question
