"""Estimates: no bias, intervals that cover, pictures."""

import csv
import math

import numpy as np
import pytest

from local.local_laws import reproducible
from local.oracles import NAMES, ORACLES, truth
from support.tables.shared_data import shared_file
from tacit.local import (
    DirectEncoding,
    Items,
    RandomizedResponse,
    UnaryEncoding,
    choose,
    norm_sub,
)
from tacit.local.estimate import Estimate


@pytest.mark.few(9)
@pytest.mark.parametrize("oracle", ORACLES, ids=NAMES)
def test_intervals_cover_as_often_as_they_say(oracle):
    answers = truth(12, 2000)
    counts = np.bincount(answers, minlength=12)
    runs, inside, together, errors = 60, 0, 0, []
    with reproducible(11):
        for _ in range(runs):
            e = oracle.estimate(oracle.perturb_many(answers))
            low, high = e.interval("0.9")
            inside += int(((low <= counts) & (counts <= high)).sum())
            low, high = e.simultaneous("0.9")
            together += bool(((low <= counts) & (counts <= high)).all())
            errors.append((e.counts - counts) / e.standard_error)
    assert 0.9 - 0.05 < inside / (12 * runs) < 0.9 + 0.045
    assert together / runs >= 0.78
    assert abs(np.mean(errors)) < 5 / math.sqrt(12 * runs)
    assert 0.85 < np.std(errors) < 1.15


def test_estimates_are_not_clipped():
    """Clipping would bias: the mean of the counts of an item nobody has stays near zero."""
    oracle = UnaryEncoding(4, epsilon="1/2")
    with reproducible(3):
        found = [oracle.estimate(oracle.perturb_many([0] * 200)).counts[3] for _ in range(200)]
    assert min(found) < 0
    assert abs(np.mean(found)) < 5 * math.sqrt(oracle.variance(200) / 200)


def test_dropping_missing_answers_would_bias():
    """Counting only those who answered, as some code does, is off by far more than chance."""
    n, yes, missing = 30_000, 3_000, 10_000
    oracle = RandomizedResponse(p="3/4")
    answers = np.arange(n) < yes  # the missing answer "no": they are reports as well
    with reproducible(4):
        state = oracle.aggregate(oracle.perturb_many(answers))
    spread = math.sqrt(oracle.variance(n))
    assert abs(oracle.estimate(state)[True] - yes) < 5 * spread
    wrong = (state.sums[1] - (n - missing) / 4) * 2
    assert abs(wrong - yes) > 20 * spread


def test_figures_are_drawn():
    pytest.importorskip("matplotlib")
    oracle = DirectEncoding([f"item {i}" for i in range(60)], epsilon=3)
    e = oracle.estimate(oracle.perturb_many(["item 3"] * 500))
    for figure in (e.plot(), norm_sub(e).plot(), choose(4, n=10, epsilon=1).plot()):
        assert figure.axes


@pytest.mark.full
def test_two_coins_on_the_census():
    path = shared_file("adult.csv")
    if path is None:
        pytest.skip("the shared adult.csv is not beside this checkout")
    with path.open(newline="") as file:
        jobs = [row["occupation"] for row in csv.DictReader(file)]
    check_occupations(jobs, missing=1843, sales=3650)


@pytest.mark.full
def test_two_coins_on_generated_answers():
    counts = [3770, 4066, 1370, 4140, 3295, 3650, 4099, 1597, 994, 2002, 928, 649, 9, 149]
    jobs = [f"job {i}" for i, c in enumerate(counts) for _ in range(c)]
    check_occupations([*jobs, *[""] * 1843], missing=1843, sales=3650, name="job 5")


def check_occupations(jobs, missing, sales, name="Sales"):
    """Randomized response on one job, and unary encoding of all 14, with the missing as an item."""
    n = len(jobs)
    named = [None if job in ("", "?") else job for job in jobs]
    labels = sorted({job for job in named if job is not None})
    assert (n, len(labels), named.count(None)) == (32_561, 14, missing)
    coins = RandomizedResponse(p="3/4")
    assert round(math.sqrt(coins.variance(n))) == 156
    unary = UnaryEncoding(Items(labels, missing="missing"), p="3/4", q="1/4")
    assert unary.ratio == 9
    asked = np.array([job == name for job in named])
    places = unary.domain.indices(named)
    counts = np.bincount(places, minlength=15)
    with reproducible(12):
        yes = [coins.estimate(coins.perturb_many(asked))[True] for _ in range(60)]
        rows = [unary.estimate(unary.perturb_many(named)) for _ in range(25)]
    assert abs(np.mean(yes) - sales) < 4 * 156 / math.sqrt(60)
    assert 156 * 0.7 < np.std(yes) < 156 * 1.3
    z = np.array([(e.counts - counts) / e.standard_error for e in rows])
    assert np.abs(z.mean(axis=0)).max() < 4.5 / math.sqrt(25)
    assert 0.85 < z.std() < 1.15


def test_an_estimate_below_zero_is_drawn_within_its_interval():
    found = Estimate(("a", "b"), 100, np.array([-30.0, 130.0]), 25.0, 0.0)
    (one,) = found.plot().axes
    ends = [[point[0] for point in path.vertices] for path in one.collections[0].get_paths()]
    points = one.lines[0].get_xdata()
    assert sorted(points) == [-30, 130]
    assert all(any(low <= p <= high for low, high in ends) for p in points)
    (table, _) = found.card().parts
    assert [row[:3] for row in table.rows][1] == ["a", "-30.0", "-30.0 to 0.0"]
