"""The least epsilon for a target: met there, not met below, and no data touched."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tables.answers.released import enough
from tacit.accounting.budget import Budget
from tacit.cli import run
from tacit.errors import UsageError
from tacit.tables.plan.plan import Plan
from tacit.tables.release.release import Collector

GROUPS, SIZE = 200, 100
TARGETS = {
    "n": (tc.count(), 3),
    "people": (tc.count_people(), "2.5"),
    "total": (tc.sum("x", -5, 20), 100),
    "mean": (tc.mean("x", 0, 100), 1),
    "var": (tc.var("x", 0, 100), 60),
    "std": (tc.std("x", 0, 100), "1/2"),
    "bins": (tc.histogram("x", [0, 50, 100]), 7),
    "middle": (tc.median("x", 0, 100), 25),
    "most": (tc.max("x", 0, 100), 40),
    "spread": (tc.interquartile_range("x", 0, 100), 60),
    "kinds": (tc.count_distinct("x"), 9),
}


@pytest.fixture(scope="module")
def table():
    place = np.arange(GROUPS * SIZE)
    return pd.DataFrame(
        {"g": place // SIZE, "x": (place % SIZE) + 0.5, "y": place % 7, "p": place // 2}
    )


@pytest.fixture
def session(table, monkeypatch):
    def refuse(*args):
        raise AssertionError("no row is read for a target")

    monkeypatch.setattr(Collector, "collect", refuse)
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as opened:
        yield opened


@pytest.mark.parametrize("label", TARGETS)
def test_the_preview_meets_the_target_and_a_hundredth_less_does_not(session, label):
    asked, target = TARGETS[label]
    question = session.agg(**{label: asked})
    for confidence, rows in (("0.95", 1000), (0.8, 5000)):
        least = question.epsilon_for({label: target}, confidence, rows=rows)
        assert isinstance(least, Fraction)
        digits = least / Fraction(10) ** math.floor(math.log10(least)) * 1000
        assert digits.denominator == 1  # four digits
        seen = [
            question.preview(epsilon, rows=[rows], confidence=confidence)
            for epsilon in (least, least * Fraction(99, 100))
        ]
        met, missed = (each.intervals[label][0] for each in seen)
        assert met <= Fraction(target) < missed
        assert f"{label}: within" in str(seen[0])
        assert session.remaining == session.budget


def test_several_targets_are_met_together_and_weights_change_the_total(session):
    question = session.agg(n=tc.count_people(), x=tc.mean("x", 0, 100))
    alone = [question.epsilon_for({"n": 5}), question.epsilon_for({"x": 1})]
    assert question.epsilon_for({"n": 5, "x": 1}) == max(alone)
    weights = {"n": 1, "x": 9}
    split = question.epsilon_for({"n": 5, "x": 1}, weights=weights)
    found = question.preview(weights, total=split, rows=[1000], confidence="0.95").intervals
    assert found["n"][0] <= 5
    assert found["x"][0] <= 1
    even = question.epsilon_for({"n": 5}, weights={"n": 2, "x": 2})
    assert even == alone[0]


def test_a_count_is_as_near_as_the_quantile_of_its_noise(session):
    question = session.agg(n=tc.count())
    least = float(question.epsilon_for({"n": 3}, "0.95"))

    def beyond(epsilon):  # of discrete Laplace noise: P(|X| > 3)
        r = math.exp(-epsilon)
        return 2 * r**4 / (1 + r)

    assert beyond(least) <= 0.05 < beyond(least * 0.999)


@pytest.mark.parametrize("kind", ["pure", "concentrated"])
def test_intervals_never_grow_with_what_may_be_spent(session, kind):
    asked = {label: each for label, (each, _) in TARGETS.items()} | {"y": tc.mean("y", 0, 6)}
    query = session.agg(**asked)._query
    losses = [Fraction(n, 16) for n in (1, 3, 4, 9, 40, 200, 4000)]
    plans = [Plan(query, Budget(kind, loss)) for loss in losses]
    for each in asked.values():
        halves = [plan.half_width(each, 800, 0.9) for plan in plans]
        assert halves == sorted(halves, reverse=True)
        assert halves[-1] < halves[0]


@pytest.mark.parametrize(
    ("asked", "target"), [(tc.mean("x", 0, 100), 8), (tc.count(), 12)], ids=["mean", "count"]
)
def test_releases_are_within_the_target_as_often_as_was_said(table, asked, target):
    """Each group holds the 100 values 0.5, 1.5, ..., 99.5, spread evenly over the bounds."""
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as session:
        question = session.group_by("g", keys=list(range(GROUPS))).agg(it=asked)
        least = question.epsilon_for({"it": target}, "0.9", rows=SIZE)
        values = question.release(least).to_dict()["it"]
    truth = 50 if asked.kind == "mean" else SIZE
    near = sum(abs(value - truth) <= target for value in values)
    assert enough(GROUPS, 0.9) <= near


def test_targets_that_are_none(session):
    question = session.agg(
        n=tc.count(), x=tc.mean("x", 0, 100), s=tc.median("x", 0, 9, method="smooth")
    )
    for targets, more, message in (
        ({}, {}, "name a target"),
        ({"nn": 1}, {}, "no answer 'nn'.*did you mean 'n'"),
        ({"n": 0}, {}, "target of 'n' must be above zero"),
        ({"n": "-1"}, {}, "target of 'n' must be above zero"),
        ({"n": 1}, {"confidence": 1}, "confidence must be above 0 and below 1"),
        ({"n": 1}, {"confidence": 0}, "confidence must be above 0 and below 1"),
        ({"x": 1}, {"rows": 0}, "size of a group"),
        ({"x": 1}, {"rows": True}, "size of a group"),
        ({"x": "1e-12"}, {}, "no epsilon brings 'x' within 1e-12 in 95 of 100 releases"),
        ({"s": 1}, {}, "depends on the data"),
        ({"n": 1}, {"weights": {"n": 1}}, "'x', 's' has none"),
    ):
        with pytest.raises(UsageError, match=message):
            question.epsilon_for(targets, **more)
    with pytest.raises(UsageError, match="confidence must be above"):
        question.preview(epsilon=1, confidence=2)


@pytest.mark.full
def test_on_the_command_line(table, tmp_path, capsys):
    path = str(tmp_path / "t.csv")
    table.head(50).to_csv(path, index=False)
    flags = ["preview", path, "--one-row-each", "--mean", "x:0:100", "--count"]
    target = ["--target", "mean_x=1,count=20", "--confidence", "0.95"]
    assert run([*flags, *target, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["previews"][0]
    with tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(99), name="t") as session:
        question = session.agg(mean_x=tc.mean("x", 0, 100), count=tc.count())
        least = question.epsilon_for({"mean_x": 1, "count": 20})
    assert found["epsilon"] == str(least)
    assert found["intervals"]["mean_x"][1] <= 1
    assert run([*flags, *target, "--target-rows", "10000", "--sizes", "10000"]) == 0
    told = capsys.readouterr().out
    assert "This takes --epsilon 0." in told
    assert "in 95 of 100 releases" in told
    assert "that is left" not in told
    for wrong, message in (
        ([*target, "--epsilon", "1"], "leave --epsilon out"),
        (["--target", "mean=1"], "did you mean 'mean_x'"),
        (["--target", "1"], "a target is like"),
        (["--target", "count=1", "--confidence", "95"], "above 0 and below 1"),
    ):
        assert run([*flags, *wrong]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
