"""Coverage of every interval of planned answers, over thousands of releases of one table.

Every cell of every answer is held to its level over all releases: with non-negative answers too,
and for what follows from them at no cost.  A test fails by chance once in 10^6."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import tacit as tc
from support.by_hand.methods_by_hand import (
    CONCENTRATED,
    EDGES,
    GROUPS,
    HOWS,
    UNITS,
    Release,
    renyi,
    rows_of,
    table_of,
    tables,
    worst,
)
from support.by_hand.noise_by_hand import too_far
from support.tables.engine_tables import ENGINES
from support.tables.neighbour_fuzz import try_questions
from support.tables.shared_data import shared_file
from tacit.tables import privacy_unit as contributions
from tacit.tables.plan.plan import Plan
from tacit.tables.steps import Answers

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


# Errors of every method of a session, measured against what its preview says.


RUNS, ROWS = 400, 4000
EVEN = pd.DataFrame({"x": (np.arange(ROWS) + 0.5) * 100 / ROWS})
METHODS: list[dict[str, Any]] = [
    {"method": "smooth", "distribution": "laplace"},
    {"method": "smooth", "distribution": "student_t"},
    {"method": "ptr"},
    {"method": "sample_and_aggregate", "bins": 40},
]
METHOD_ACCURACY_KINDS = {
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


@pytest.mark.slow
@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
@pytest.mark.parametrize("kind", METHOD_ACCURACY_KINDS)
def test_the_measured_error_is_the_one_that_preview_says(kind: str, how: dict[str, Any]) -> None:
    ask, true, bound = METHOD_ACCURACY_KINDS[kind]
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mean", "median"])
def test_preview_counts_that_answers_are_held_within_the_bounds(kind: str) -> None:
    """Noise of scale 25 around the middle of 0 to 100: a seventh of its mean size is cut off."""
    ask, true, _ = METHOD_ACCURACY_KINDS[kind]
    session = tc.Session(EVEN, unit=tc.one_row_each, budget=tc.epsilon(10))
    question = session.agg(x=ask("x", 0, 100, method="sample_and_aggregate", bins=40))
    (expected,) = question.preview(epsilon="1/10", rows=[ROWS]).errors["x"]
    assert expected == pytest.approx(25 * (1 - math.exp(-2)), rel=0.01)
    values = released(question, RUNS, tc.epsilon("1/10"))
    errors = [abs(value - float(true(EVEN["x"]))) for value in values]
    assert abs(float(np.mean(errors)) - expected) < spread(errors)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*METHOD_ACCURACY_KINDS])
def test_auto_is_no_worse_than_the_global_method(kind: str) -> None:
    ask, true, _ = METHOD_ACCURACY_KINDS[kind]
    session = tc.Session(EVEN, unit=tc.one_row_each, budget=tc.epsilon_delta(10, "1e-3"))
    errors = {}
    for name in ("global", "auto"):
        how = {} if name == "global" else {"rows": ROWS}
        question = session.agg(x=ask("x", 0, 100, method=name, **how))
        values = released(question, RUNS, tc.epsilon_delta(1, "1e-4"))
        errors[name] = [abs(value - float(true(EVEN["x"]))) for value in values]
    allowed = float(np.mean(errors["global"])) + spread(errors["global"]) + spread(errors["auto"])
    assert float(np.mean(errors["auto"])) < allowed


@pytest.mark.slow
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


# The memory limit of a session holds for the whole process, whatever is asked.


LIMIT = 256
MEMORY_LIMIT_ROWS = 10_000_000
ASK = """
import re, sys
from pathlib import Path
import tacit as tc

def peak():
    # that of getrusage counts the process which started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

session = tc.Session(
    sys.argv[1], unit=tc.unit("person", rows=5, groups=2), budget=tc.epsilon(100),
    memory_limit="256MB", threads=2,
)
before = peak()
keys = [f"g{i}" for i in range(20)]
grouped = session.group_by("place", keys=keys)
grouped.agg(n=tc.count(), m=tc.mean("value", 0, 100), p=tc.count_people()).release(epsilon=1)
grouped.agg(s=tc.sum("value", 0, 100), q=tc.median("value", 0, 100)).release(epsilon=1)
session.agg(v=tc.var("value", 0, 100)).release(epsilon=1)
session.agg(h=tc.histogram("value", range(0, 101, 10))).release(epsilon=1)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_a_table_larger_than_the_limit_is_answered_within_it(tmp_path):
    path = tmp_path / "visits.parquet"
    duckdb.sql(
        f"""copy (select hash(i) % {MEMORY_LIMIT_ROWS // 10} as person,
        hash(i + 1) % 1000000 / 10000 as value,
        'g' || (hash(i + 2) % 20) as place from range({MEMORY_LIMIT_ROWS}) t(i)) to '{path}'"""
    )
    ran = subprocess.run([sys.executable, "-c", ASK, path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) <= LIMIT


# Releases by ``method=``, end to end: every method, unit and kind of keys, and real sessions.


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["public keys", "unknown keys"])
@pytest.mark.parametrize("unit", [tc.one_row_each, *UNITS], ids=str)
@pytest.mark.parametrize("how", HOWS, ids=lambda how: "-".join(map(str, how.values())))
def test_no_pair_of_tables_exceeds_what_is_charged(
    how: dict[str, Any], unit: Any, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for statistic, salt in (("median", "one"), ("mean", "another")):
        monkeypatch.setattr(contributions, "new_salt", lambda salt=salt: salt)
        assert worst(Release(statistic, tuple(how.items()), unit, known)) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("unit", [tc.one_row_each, *UNITS], ids=str)
@pytest.mark.parametrize("distribution", CONCENTRATED)
def test_no_pair_of_tables_exceeds_the_rho_that_is_charged(
    distribution: str, unit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contributions, "new_salt", lambda: "salt of this test")
    how = (("method", "smooth"), ("distribution", distribution))
    release = Release("mean", how, unit, known=True, budget=tc.rho(1))
    for pair in tables(unit):
        laws = [release.counted(rows)[1][GROUPS] for rows in pair]
        for one, other in (laws, laws[::-1]):
            for order in (1.01, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0):
                loss = sum(
                    renyi(release.law(p), release.law(q), order)
                    for p, q in zip(one, other, strict=True)
                )
                assert loss <= float(release.plan.cost.amount) * order + 1e-9


EVERY_CLAIM_ROWS = rows_of((("a", 0), ("a", 4)), (("a", 0),), (("a", 4), ("a", 4)))
"""Whatever the salt, all of them are kept."""


@pytest.mark.slow
@pytest.mark.parametrize("how", [HOWS[0], HOWS[1], HOWS[3]], ids=lambda how: how["method"])
def test_answers_of_real_sessions_have_the_law_by_hand(how: dict[str, Any]) -> None:
    """With unknown keys, people of several rows, the salt and the noise of the session itself.

    Answers are held within the range, so the outer cells are told together.
    """
    release = Release("median", tuple(how.items()), UNITS[1])
    laws = release.joint(EVERY_CLAIM_ROWS)
    law = laws[GROUPS[:1]]
    drawn: Counter[Any] = Counter()
    for _ in range(250):
        session = tc.Session(table_of(EVERY_CLAIM_ROWS), unit=UNITS[1], budget=release.budget)
        asked = session.group_by("g").agg(x=release.aggregate)
        answer = asked.release(epsilon=4, delta="1/5")
        if not answer.keys:
            drawn["no key"] += 1
            continue
        value = answer.value("x", "a")
        drawn["refused" if value is None else cell_of(value)] += 1
    chances: dict[Any, float] = {"no key": float(laws[()].sum())}
    refused = how["method"] == "ptr"
    if refused:
        chances["refused"] = float(law[0])
    for i, chance in enumerate(law[int(refused) :].tolist()):
        place = min(max(i, cell_of(0.0)), cell_of(4.0))
        chances[place] = chances.get(place, 0.0) + chance
    assert too_far(drawn, chances) > 1e-9


def cell_of(value: float) -> int:
    """The place of the cell of an answer within the range."""
    return int(np.searchsorted(EDGES, value, side="right"))


# Neighbouring tables of hostile values meet the same fate on every engine: a long hunt.


PAIRS = {"duckdb": 400, "postgresql": 120, "spark": 20}


@pytest.mark.slow
@pytest.mark.parametrize("engine", list(ENGINES))
def test_neighbours_meet_the_same_fate(engine, request):
    first = random.randrange(1 << 30)  # told by the failure, in the case that is shown
    pairs = PAIRS[engine]
    seeds = range(first, first + pairs)
    assert sum(try_questions(engine, request, seed, questions=4) for seed in seeds) > 2 * pairs


# Coverage of every interval of a session, over thousands of releases of groups of all sizes.
#
# Each group of a release is a run of its own.  A test fails by chance once in 10^7.


COVERAGE_OF_ANSWERS_GROUPS = 250
COVERAGE_OF_ANSWERS_RELEASES = 12
SHAPES = {
    "gamma": lambda source, n: source.gamma(2, 8, size=n).clip(0, 100),
    "two points": lambda source, n: source.choice([0.0, 100.0], p=[0.8, 0.2], size=n),
    "narrow": lambda source, n: source.normal(70, 0.01, size=n),
}


def enough(runs):
    return int(binom.ppf(1e-7, runs, 0.95))


def data_of(shape, size):
    """Groups with the same rows, so that the truth is one; four rows a person, no group shared."""
    values = SHAPES[shape](np.random.default_rng(11), size)
    return pd.DataFrame(
        {
            "x": np.tile(values, COVERAGE_OF_ANSWERS_GROUPS),
            "g": np.repeat(np.arange(COVERAGE_OF_ANSWERS_GROUPS), size),
            "person": np.arange(COVERAGE_OF_ANSWERS_GROUPS * size) // 4,
        }
    ), values


ASKED = {
    "n": (lambda: tc.count(), len),
    "total": (lambda: tc.sum("x", 0, 100), np.sum),
    "mean": (lambda: tc.mean("x", 0, 100), np.mean),
    "var": (lambda: tc.var("x", 0, 100), np.var),
    "std": (lambda: tc.std("x", 0, 100), np.std),
    "median": (lambda: tc.median("x", 0, 100), np.median),
    "p90": (lambda: tc.percentile("x", 90, 0, 100), lambda v: np.quantile(v, 0.9)),
    "least": (lambda: tc.min("x", 0, 100), np.min),
    "most": (lambda: tc.max("x", 0, 100), np.max),
    "people": (lambda: tc.count_people(), lambda v: len(v) / 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [4, 40, 2000])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_intervals_of_a_session_cover(size, shape, noise, people):
    data, values = data_of(shape, size)
    unit = tc.unit("person", rows=4) if people else tc.one_row_each
    budget = tc.epsilon(10**6) if noise == "laplace" else tc.rho(10**6)
    price = {"epsilon": 8} if noise == "laplace" else {"rho": 4}
    asked = {k: make() for k, (make, _) in ASKED.items() if people or k != "people"}
    held = dict.fromkeys(asked, 0)
    errors = {k: [] for k in ("n", "total")}
    claimed = {}
    with tc.Session(data, unit=unit, budget=budget) as s:
        question = s.group_by("g", keys=list(range(COVERAGE_OF_ANSWERS_GROUPS))).agg(**asked)
        for i in range(COVERAGE_OF_ANSWERS_RELEASES):
            answer = question.release(**price, tag=str(i))
            for label in asked:
                true = float(ASKED[label][1](values))
                column = answer.column(label)
                slack = 1e-3  # half a cell of the grid of quantiles
                held[label] += sum(
                    low - slack <= true <= high + slack
                    for low, high in zip(column["low"], column["high"], strict=True)
                )
                if label in errors:
                    errors[label] += [v - true for v in column["value"]]
                    claimed[label] = column["standard_error"][0]
    runs = COVERAGE_OF_ANSWERS_GROUPS * COVERAGE_OF_ANSWERS_RELEASES
    for label, hits in held.items():
        assert hits >= enough(runs), (label, hits / runs)
    for label, wrong in errors.items():
        measured = float(np.sqrt(np.mean(np.square(wrong))))
        assert measured == pytest.approx(claimed[label], rel=0.12, abs=0.3), label
        assert abs(np.mean(wrong)) < 6 * max(claimed[label], 0.3) / np.sqrt(runs), label
