"""Coverage of every interval of planned answers, over thousands of releases of one table.

Every cell of every answer is held to its level over all releases: with non-negative answers too,
and for what follows from them at no cost.  A test fails by chance once in 10^6.
"""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc

pytestmark = pytest.mark.slow

RELEASES = 2000
AGES = list(range(0, 101, 10))
SITES, KINDS = ["a", "b", "c"], [0, 1]
PERCENT = [10, 50, 90]


def table():
    """Ages with ties and empty bins, sites with few rows and one with none, rows of nobody."""
    source = np.random.default_rng(5)
    n = 400
    return pd.DataFrame(
        {
            "age": np.clip(source.normal(35, 9, size=n).round(), 0, 99).astype(int),
            "site": source.choice(["a", "b", "other"], p=[0.9, 0.07, 0.03], size=n),
            "kind": source.integers(0, 2, size=n),
        }
    )


def questions(session):
    by_site = session.group_by("site", keys=SITES)
    return {
        "n": session.agg(n=tc.count()),
        "ages": session.agg(ages=tc.histogram("age", AGES)),
        "sites": by_site.agg(sites=tc.count()),
        "pairs": session.group_by("site", "kind", keys={"site": SITES, "kind": KINDS}).agg(
            pairs=tc.count()
        ),
        "ages by site": by_site.agg(ages_by_site=tc.histogram("age", AGES)),
        "ranges": session.agg(ranges=tc.ranges("age", AGES)),
        "sums": session.agg(sums=tc.prefix_sums("age", AGES)),
        "cdf": session.agg(cdf=tc.cdf("age", AGES)),
    }


def truths(data):
    """What each answer estimates, a list of cells for each group."""
    bins = np.histogram(data["age"], [*AGES[:-1], 100.5])[0]
    upto = bins.cumsum()
    sites = [data[data["site"] == site] for site in SITES]
    pairs = Counter(zip(data["site"], data["kind"], strict=True))
    starts = [0, *upto]
    found = {
        "n": [[len(data)]],
        "ages": [bins],
        "sites": [[len(each)] for each in sites],
        "pairs": [[pairs[site, kind]] for site in SITES for kind in KINDS],
        "ages by site": [np.histogram(each["age"], AGES)[0] for each in sites],
        "ranges": [
            [starts[j] - starts[i] for i in range(len(bins)) for j in range(i + 1, len(starts))]
        ],
        "sums": [upto],
        "cdf": [upto / upto[-1]],
    }
    return {name: np.array(cells, dtype=float).ravel() for name, cells in found.items()}


def held(column, truth):
    low, high = (np.array(column[end], dtype=float).ravel() for end in ("low", "high"))
    assert low.shape == truth.shape
    return (low - 1e-9 <= truth) & (truth <= high + 1e-9)


def check(hits, runs):
    """Every cell of every answer; the bound is a union over all of them."""
    cells = sum(len(each) for each in hits.values())
    enough = binom.ppf(1e-6 / cells, runs, 0.95)
    for name, each in hits.items():
        assert each.min() >= enough, (name, each / runs)


@pytest.mark.parametrize("nonnegative", [False, True], ids=["signed", "nonnegative"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_of_plans_cover(noise, nonnegative):
    data = table()
    budget = tc.epsilon(10**6) if noise == "laplace" else tc.rho(10**6)
    price = {"epsilon": 1} if noise == "laplace" else {"rho": "1/8"}
    truth = truths(data)
    with tc.Session(data, tc.one_row_each, budget, tc.in_memory) as session:
        asked = questions(session)
        plan = session.plan(list(asked.values()), nonnegative=nonnegative)
        hits = {name: np.zeros(len(cells)) for name, cells in truth.items()}
        for i in range(RELEASES):
            for (name, _), answer in zip(
                asked.items(), plan.release(**price, tag=str(i)), strict=True
            ):
                (label,) = answer.labels
                hits[name] += held(answer.column(label), truth[name])
    check(hits, RELEASES)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_of_free_answers_cover(noise):
    data = table()
    kind = tc.epsilon if noise == "laplace" else tc.rho
    coarse = [0, 30, 50, 100]
    all_truths = truths(data)
    truth = {
        "coarse": np.histogram(data["age"], coarse)[0].astype(float),
        "sums": all_truths["sums"],
        "ranges": all_truths["ranges"],
        "kinds of a": all_truths["pairs"][:2],
        "listed": all_truths["pairs"].sum(keepdims=True),
    }
    hits = {name: np.zeros(len(cells)) for name, cells in truth.items()}
    for _ in range(RELEASES):
        with tc.Session(data, tc.one_row_each, kind(1), tc.in_memory) as session:
            fine = session.agg(ages=tc.histogram("age", AGES))
            pairs = session.group_by("site", "kind", keys={"site": SITES, "kind": KINDS})
            for question in (fine, pairs.agg(n=tc.count())):
                question.release(**{kind.__name__: "1/2"})
            of_a = session.filter(tc.col("site") == "a")
            listed = tc.col("site").is_in(SITES) & tc.col("kind").is_in(KINDS)
            follows = {
                "coarse": session.agg(n=tc.histogram("age", coarse)),
                "sums": session.agg(n=tc.prefix_sums("age", AGES)),
                "ranges": session.agg(n=tc.ranges("age", AGES)),
                "kinds of a": of_a.group_by("kind", keys=KINDS).agg(n=tc.count()),
                "listed": session.filter(listed).agg(n=tc.count()),
            }
            for name, question in follows.items():
                hits[name] += held(question.free_answer().column("n"), truth[name])
    check(hits, RELEASES)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("ties", [False, True], ids=["spread", "ties"])
def test_intervals_of_percentiles_cover(noise, ties):
    source = np.random.default_rng(3)
    values = source.normal(40, 12, size=1500).clip(0, 99)
    groups = 40
    data = pd.DataFrame(
        {
            "x": np.tile(values.round() if ties else values, groups),
            "g": np.repeat(np.arange(groups), 1500),
        }
    )
    truth = np.tile(np.percentile(data["x"][:1500], PERCENT), groups)
    budget = tc.epsilon(10**6) if noise == "laplace" else tc.rho(10**6)
    price = {"epsilon": 1} if noise == "laplace" else {"rho": "1/8"}
    hits = np.zeros(len(PERCENT))
    runs = RELEASES // groups
    with tc.Session(data, tc.one_row_each, budget, tc.in_memory) as session:
        question = session.group_by("g", keys=list(range(groups))).agg(
            p=tc.percentiles("x", PERCENT, 0, 100)
        )
        for i in range(runs):
            column = question.release(**price, tag=str(i)).column("p")
            low, high = (np.array(column[end], dtype=float).ravel() for end in ("low", "high"))
            inside = (low - 1e-3 <= truth) & (truth <= high + 1e-3)
            hits += inside.reshape(groups, -1).sum(axis=0)
    check({"percentiles": hits}, runs * groups)
