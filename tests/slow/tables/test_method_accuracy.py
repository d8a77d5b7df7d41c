"""Errors of every method of a session, measured against what its preview says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.tables.shared_data import shared_file
from tacit.tables.plan.plan import Plan
from tacit.tables.steps import Answers

pytestmark = pytest.mark.slow

RUNS, ROWS = 400, 4000
EVEN = pd.DataFrame({"x": (np.arange(ROWS) + 0.5) * 100 / ROWS})
METHODS: list[dict[str, Any]] = [
    {"method": "smooth", "distribution": "laplace"},
    {"method": "smooth", "distribution": "student_t"},
    {"method": "ptr"},
    {"method": "sample_and_aggregate", "bins": 40},
]
KINDS = {
    "mean": (tc.mean, np.mean, 1),
    "var": (tc.var, np.var, 60),
    "std": (tc.std, np.std, 1),
    "median": (tc.median, np.median, 2),
}


def released(question: Any, runs: int, price: Any) -> list[float]:
    """Answer again and again from one reading of the table, as fresh sessions would."""
    plan = Plan(question._query, price)
    (part,), chains = plan.parts, plan.chains(1)
    (exact,) = question._table.collector.collect(plan).vectors(chains, [()])
    answers = Answers(exact)
    drawn = [plan.measurement(end, part.on_people) for end in chains[0]]
    kind = question._query.aggregates[0][1].kind
    values = [
        float(part.estimates([m(answers) for m in drawn], plan.noises[0])[kind].value[0])
        for _ in range(runs)
    ]
    return [value for value in values if not math.isnan(value)]


def spread(errors: list[float]) -> float:
    """Five standard errors of the mean of these: missed by chance once in a million times."""
    return 5 * float(np.std(errors)) / math.sqrt(len(errors))


@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
@pytest.mark.parametrize("kind", KINDS)
def test_the_measured_error_is_the_one_that_preview_says(kind: str, how: dict[str, Any]) -> None:
    ask, true, bound = KINDS[kind]
    more = {"bound": bound} if how["method"] == "ptr" else {}
    session = tc.Session(EVEN, unit=tc.one_row_each, budget=tc.epsilon_delta(10, "1e-3"))
    question = session.agg(x=ask("x", 0, 100, **how, **more))
    preview = question.preview(epsilon=1, delta="1e-4", rows=[ROWS])
    values = released(question, RUNS, tc.epsilon_delta(1, "1e-4"))
    errors = [abs(value - float(true(EVEN["x"]))) for value in values]
    expected = preview.errors["x"][0]
    # of bins, preview averages a few divisions, to a percent
    room = 0.03 if how["method"] == "sample_and_aggregate" else 0.01
    assert abs(float(np.mean(errors)) - expected) < spread(errors) + room * expected
    if how["method"] == "ptr":
        refusals = 1 - len(values) / RUNS
        assert abs(refusals - preview.refusals["x"][0]) < 0.13


@pytest.mark.parametrize("kind", ["mean", "median"])
def test_preview_counts_that_answers_are_held_within_the_bounds(kind: str) -> None:
    """Noise of scale 25 around the middle of 0 to 100: a seventh of its mean size is cut off."""
    ask, true, _ = KINDS[kind]
    session = tc.Session(EVEN, unit=tc.one_row_each, budget=tc.epsilon(10))
    question = session.agg(x=ask("x", 0, 100, method="sample_and_aggregate", bins=40))
    (expected,) = question.preview(epsilon="1/10", rows=[ROWS]).errors["x"]
    assert expected == pytest.approx(25 * (1 - math.exp(-2)), rel=0.01)
    values = released(question, RUNS, tc.epsilon("1/10"))
    errors = [abs(value - float(true(EVEN["x"]))) for value in values]
    assert abs(float(np.mean(errors)) - expected) < spread(errors)


@pytest.mark.parametrize("kind", [*KINDS])
def test_auto_is_no_worse_than_the_global_method(kind: str) -> None:
    ask, true, _ = KINDS[kind]
    session = tc.Session(EVEN, unit=tc.one_row_each, budget=tc.epsilon_delta(10, "1e-3"))
    errors = {}
    for name in ("global", "auto"):
        how = {} if name == "global" else {"rows": ROWS}
        question = session.agg(x=ask("x", 0, 100, method=name, **how))
        values = released(question, RUNS, tc.epsilon_delta(1, "1e-4"))
        errors[name] = [abs(value - float(true(EVEN["x"]))) for value in values]
    allowed = float(np.mean(errors["global"])) + spread(errors["global"]) + spread(errors["auto"])
    assert float(np.mean(errors["auto"])) < allowed


def test_ages_of_a_census() -> None:
    path = shared_file("adult.csv")
    if path is None:
        pytest.skip("the shared data folder has no adult.csv")
    session = tc.Session(
        str(path), tc.one_row_each, tc.epsilon_delta(10, "1e-3"), ledger=tc.in_memory
    )
    ages = pd.read_csv(path)["age"]
    for ask, true in ((tc.mean, ages.mean()), (tc.std, ages.std(ddof=0))):
        errors = {}
        for how in ({}, {"method": "smooth"}):
            question = session.agg(x=ask("age", 0, 100, **how))
            values = released(question, RUNS, tc.epsilon_delta(1, "1e-6"))
            errors[len(how)] = float(np.mean([abs(v - true) for v in values]))
        assert max(errors.values()) < 0.01
