"""No plan has more expected error than its questions one by one with the best split of the loss."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest

import tacit as tc
from tacit.tables.answers.base import kind_of
from tacit.tables.plan.plan import Plan
from tacit.tables.planned import comparison
from tacit.tables.together.cell_counts import CellsPart

PEOPLE = pa.table({"sex": ["f"], "site": [1], "kind": ["a"], "age": [31], "pay": [1.5]})
KEYS = {"sex": ["f", "m"], "site": [1, 2, 3, 4, 5], "kind": list("abcdefghij")}
EDGES = [[0, 50, 100], list(range(0, 101, 10)), list(range(0, 101, 4))]
BUDGETS = {"rho": tc.rho(1), "epsilon": tc.epsilon(2), "delta": tc.epsilon_delta(2, "1e-6")}


def asked(rng, edges):
    return {
        "n": tc.count(),
        "bins": tc.histogram("age", edges),
        "within": tc.ranges("age", edges),
        "up_to": tc.prefix_sums("age", edges),
        "shares": tc.cdf("age", edges),
        "sum": tc.sum("pay", 0, 10),
        "mean": tc.mean("pay", 0, 10),
        "var": tc.var("age", 0, 100),
        "std": tc.std("age", 0, 100),
        "low": tc.percentile("age", rng.choice([5, 10, 25]), 0, rng.choice([100, 5000])),
        "mid": tc.median("age", 0, rng.choice([100, 5000])),
        "high": tc.percentile("age", rng.choice([75, 90, 99]), 0, rng.choice([100, 5000])),
        "least": tc.min("pay", 0, 10),
        "several": tc.percentiles("pay", [25, 50, 75], 0, 10),
    }


def total_of_counts(one, loss):
    """The total squared error of an answer that counts, with its share by itself."""
    total, paid = comparison.__dict__["_total"], replace(loss, amount=loss.amount * one.share)
    return total(one.query, paid, one.numbers, 1000)


def question(rng, session):
    rows = session.filter(tc.col("age") >= rng.choice([18, 65])) if rng.random() < 0.25 else session
    by = rng.sample(list(KEYS), rng.choice([0, 0, 1, 1, 2, 3]))
    if by:
        rows = rows.group_by(*by, keys={name: KEYS[name] for name in by})
    known = asked(rng, rng.choice(EDGES))
    picked = rng.sample(list(known), rng.choice([1, 1, 2, 3, 5]))
    return rows.agg(**{name: known[name] for name in picked})


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(60))
def test_no_total_is_above_that_of_one_by_one(seed):
    rng = random.Random(seed)
    name = rng.choice(list(BUDGETS))
    with tc.Session(PEOPLE, tc.one_row_each, BUDGETS[name], tc.in_memory, name="p") as session:
        questions = [question(rng, session) for _ in range(rng.randint(1, 5))]
        plan = session.plan(questions, unlisted=rng.choice(["count", "drop"]))
        loss = tc.rho("1/10") if name == "rho" else tc.epsilon(1)
        found = plan._compared(loss, 1000).answers
    assert sum(one.share for one in found) == 1
    counts = [one for one in found if kind_of(one.asked.kind).counts]
    whole = Plan(plan._plan.query, loss)
    parts = zip(whole.parts, whole.noises, strict=True)
    planned = sum(part.total(noise) for part, noise in parts if isinstance(part, CellsPart))
    # of shares in whole units, and of multipliers rounded to twelve bits
    assert planned <= sum(total_of_counts(one, loss) for one in counts) * (1 + 1e-4)
    together = {label for several in plan._plan.percentiles.values() for label in several}
    for one in found:
        if one not in counts and one.label not in together:
            assert one.planned <= one.alone * (1 + 1e-9)
    for several in plan._plan.percentiles.values():
        own = [one for one in found if one.label in several]
        assert sum(one.planned**2 for one in own) <= sum(one.alone**2 for one in own)
