"""Errors of smooth noise and propose-test-release, measured against what they predict."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from laws.test_measurement_laws import CASES, name_of
from support.by_hand.noise_by_hand import WholeLaplace, too_far
from support.by_hand.proposal_by_hand import HIGH, LOW, Ladder, Proposal
from support.by_hand.proposal_by_hand import Case as EveryClaimProposedCase
from support.by_hand.smooth_by_hand import SLACK, Case, offered
from support.tables.shared_data import shared_file
from tacit.audit import verify
from tacit.audit.verify import members
from tacit.core.divergences import outcome
from tacit.mechanisms.local_statistic import LocalStatistic
from tacit.mechanisms.propose_test_release import propose_test_release
from tacit.mechanisms.smooth import DISTRIBUTIONS, smooth_noise
from tacit.mechanisms.smooth_distributions import (
    ArsinhNormal,
    LaplaceDistribution,
    StudentDistribution,
    UniformLogNormal,
)

RUNS = 200
CONCENTRATED = ("laplace_log_normal", "uniform_log_normal", "arsinh_normal")


def ages() -> np.ndarray[Any, Any]:
    """Whole ages of 32,561 people, made up: of the spread of a census."""
    rng = np.random.default_rng(1994)
    return np.clip(np.rint(17 + rng.gamma(2.4, 9.2, size=32_561)), 17, 90)


def spread_ages() -> np.ndarray[Any, Any]:
    """Two thousand ages with their months and days: no ties."""
    return ages()[:2000] + np.random.default_rng(7).random(2000)


def adult() -> np.ndarray[Any, Any]:
    path = shared_file("adult.csv")
    if path is None:
        pytest.skip("the shared data folder has no adult.csv")
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    name = next(n for n in table.dtype.names if n.lower() == "age")
    return np.asarray(table[name], dtype=np.float64)


def budgets(distribution: str, epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    """The budget of a noise; rho = epsilon^2 / 2 for those that have one."""
    if distribution == "laplace":
        return {"epsilon": epsilon, "delta": delta}
    return {"rho": epsilon**2 / 2} if distribution in CONCENTRATED else {"epsilon": epsilon}


def keep_smooth_sensitivity(m: Any) -> None:
    """Compute what depends on the data once: the runs then differ in the noise alone."""
    local: LocalStatistic = m.local
    for name in ("read", "value", "smooth"):
        setattr(local, name, first_of(getattr(local, name)))


def first_of(function: Any) -> Any:
    """The first result, for ever: arguments are the same in all runs of a test."""
    known: list[Any] = []

    def remembered(*given: Any) -> Any:
        if not known:
            known.append(function(*given))
        return known[0]

    return remembered


@pytest.mark.slow
@pytest.mark.parametrize("source", ["generated", "adult"])
@pytest.mark.parametrize("epsilon", ["1", "0.1"])
def test_smooth_medians_are_far_better_than_global_ones(source: str, epsilon: str) -> None:
    """The median of ages up to 100 by its global sensitivity: Laplace noise of scale 100/epsilon,
    clipped to the range just as ours is."""
    data = ages() if source == "generated" else adult()
    truth = float(np.median(data))
    scale = 100 / float(epsilon)
    rooms = truth, 100 - truth
    by_global = sum(scale * (1 - math.exp(-room / scale)) / 2 for room in rooms)
    delta = Fraction(1, len(data) ** 2)
    for distribution in DISTRIBUTIONS:
        m = smooth_noise(
            "median",
            (0, 100),
            distribution=distribution,
            **budgets(distribution, Fraction(epsilon), delta),
        )
        keep_smooth_sensitivity(m)
        error = np.mean([abs(m(data) - truth) for _ in range(RUNS)])
        assert error < by_global / 5, distribution


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("statistic", ["median", "percentile(90)", "mean", "var"])
def test_measured_errors_are_those_predicted(statistic: str, distribution: str) -> None:
    data = spread_ages()
    budget = budgets(distribution, Fraction(1), Fraction(1, 10**6))
    m = smooth_noise(statistic, (0, 100), distribution=distribution, **budget)
    predicted = m.expected_error(data)
    assert m.expected_error(data, n=len(data)) == pytest.approx(predicted)
    keep_smooth_sensitivity(m)
    truth = float(m.local.value(m.local.read(data)))
    errors = np.array([abs(m(data) - truth) for _ in range(4000)])
    spread = float(errors.std() / math.sqrt(len(errors)))
    assert abs(errors.mean() - predicted) < max(0.05 * predicted, 4 * spread)
    assert distribution == "cauchy" or 4 * spread < 0.15 * predicted


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["median", "mean", "var"])
def test_tested_releases_err_as_predicted(statistic: str) -> None:
    data = spread_ages()
    bound = {"median": 5, "mean": Fraction(1, 10), "var": 10}[statistic]
    m: Any = propose_test_release(statistic, (0, 100), bound, 1, "1e-6")
    chance, predicted = m.answer_probability(data), m.expected_error(data)
    sample = m.local.read(m.input.domain.read(data))
    distance, value = m._distance(sample), m.local.value(sample)
    m.local.distance = lambda *_: distance
    m.local.value = lambda _: value
    answers = [m(data) for _ in range(4000)]
    given = [a for a in answers if a is not None]
    assert abs(len(given) / 4000 - chance) < 0.04
    error = np.mean([abs(a - float(value)) for a in given])
    assert abs(error - predicted) < 0.05 * predicted


@pytest.mark.slow
def test_the_least_sure_test_passes_as_often_as_it_says() -> None:
    data = [50] * 330
    m: Any = propose_test_release("mean", (0, 100), "1/6", 1, "1e-6")
    chance = m.answer_probability(data)
    assert 0.02 < chance < 0.98
    passed = sum(m(data) is not None for _ in range(4000)) / 4000
    assert abs(passed - chance) < 5 * math.sqrt(chance * (1 - chance) / 4000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [
        LaplaceDistribution(Fraction(1), Fraction(1, 9)),
        StudentDistribution(Fraction(1), 1),
        StudentDistribution(Fraction(1), 3),
        StudentDistribution(Fraction(1), 4),
        ArsinhNormal(Fraction(1), Fraction(1)),
        UniformLogNormal(Fraction(1), Fraction(1, 2)),
    ],
)
def test_draws_follow_their_distribution_function(law: Any) -> None:
    draws = np.sort([float(law.draw().enclose().middle) for _ in range(8000)])
    ranks = np.arange(199, 8000, 200)
    expected = np.array([float(law.cdf(Fraction(float(draws[r]))).middle) for r in ranks])
    gap = np.abs(expected - (ranks + 0.5) / 8000).max()
    assert stats.kstwobign.sf(gap * math.sqrt(8000)) > 1e-6


# Smooth noise: certified enumeration of every law, and the enumeration by hand on more records.


DOMAINS = [(relation, known) for relation in ("unbounded", "bounded") for known in (False, True)]
SHAPES = [
    ("student_t", {"degrees": 1}),
    ("student_t", {"degrees": 2, "epsilon": "1/10"}),
    ("student_t", {"degrees": 5, "epsilon": 4}),
    ("cauchy", {"beta": "1/50"}),
    ("laplace", {"epsilon": 3, "delta": "1/1000"}),
    ("laplace", {"epsilon": "1/5", "delta": "1/5", "beta": "1/20"}),
    ("arsinh_normal", {"rho": "1/50", "sigma": "1/2"}),
    ("uniform_log_normal", {"rho": 2, "sigma": "7/4"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
@pytest.mark.parametrize(("relation", "known"), DOMAINS)
def test_certified_enumeration_of_every_law(relation: str, known: bool, noise: str) -> None:
    few = "log_normal" in noise  # slow to enclose: fewer cells, fewer records
    given = {"grid": 6, "clip": (-6, 18)} if few else {}
    for one in offered([noise]):
        if (one.relation, one.known) != (relation, known) or (few and known):
            continue
        case = Case(
            one.name, noise, relation, known, most=2 if few else 3, given=tuple(given.items())
        )
        verdict = verify(case.mechanism, [list(map(float, d)) for d in case.listed]).or_raise()
        assert verdict.kind == "exact"


@pytest.mark.slow
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
@pytest.mark.parametrize(("relation", "known"), DOMAINS)
def test_no_pair_exceeds_the_claim_with_up_to_four_records(
    relation: str, known: bool, noise: str
) -> None:
    for one in offered([noise]):
        if (one.relation, one.known) == (relation, known):
            case = Case(one.name, noise, relation, known, most=4)
            for data in case.listed:
                ours, truth = case.computed(data), case.smooth(data)
                assert ours >= truth * (1 - 1e-12)
                if known or (one.name != "var" and case.is_exact(data)):
                    assert ours <= truth * (1 + SLACK) + 1e-100
            for apart in (1, 2):
                assert case.loss(apart=apart) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "shape"), SHAPES, ids=str)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_other_budgets_degrees_sigmas_and_rates(relation: str, noise: str, shape: dict) -> None:
    for name in ("median", "percentile(90)", "var", "std"):
        case = Case(name, noise, relation, most=3, given=tuple(shape.items()))
        listed = [list(map(float, data)) for data in case.listed]
        verdict = verify(case.mechanism, listed, d_in=2).or_raise()
        assert verdict.kind == "exact"


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("noise", DISTRIBUTIONS)
def test_many_releases_have_the_law_by_hand(noise: str, relation: str) -> None:
    for name in ("median", "mean"):
        case = Case(name, noise, relation)
        data = (Fraction(0), Fraction(4), Fraction(10))
        records = list(map(float, data))
        drawn = Counter(Fraction(case.mechanism(records)) for _ in range(1500))
        assert too_far(drawn, case.cells(data, case.smooth(data))) > 1e-9
        wrong = case.cells(data, case.smooth(data) * 0.5)
        assert too_far(drawn, wrong) < 1e-9


# The search for a bound as it is called: 32 rungs, 1024 units a bound, more records.


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("name", ["median", "mean", "var", "max"])
def test_the_search_as_it_is_called_by_hand(name: str, relation: str) -> None:
    """Values by their place on the grid of each rung; rungs that are drawn have the law by hand."""
    case = EveryClaimProposedCase(name, relation, most=2)
    ours = Ladder(case, 4.0, 0.2, rungs=32, ratio=Fraction(3, 2))
    m: Any = propose_test_release(name, (LOW, HIGH), "search", 4, "1/5", relation)
    threshold = ours.threshold(ours.delta / ours.rungs)
    assert (m.threshold, m.ladder) == (threshold, ours.bounds)
    noise = WholeLaplace(1024 / 2.0)
    k = np.arange(-16_000, 16_001)
    rungs = {data: ours.rung_law(data, threshold) for data in case.listed}
    for one, other in case.pairs():
        total = 0.0
        for bound, p, q in zip(ours.bounds, rungs[one], rungs[other], strict=True):
            here, there = (
                math.floor(Fraction(case.value(data)) / (bound / 1024) + Fraction(1, 2))
                for data in (one, other)
            )
            moved = noise.at(np.minimum(np.abs(k - (there - here)), 1 << 20))
            total += float(np.maximum(p * noise.at(k) - math.exp(4.0) * q * moved, 0).sum())
        assert total <= 0.2 * (1 + 1e-9)
    seen = Counter(m([4.0, 4.0]).bound for _ in range(400))
    law = dict(zip(ours.bounds, ours.rung_law((Fraction(4),) * 2, threshold), strict=True))
    assert too_far(seen, law) > 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize(
    "name", ["median", "percentile(30)", "mean", "var", "std", "interquartile_range"]
)
def test_no_pair_exceeds_the_claim_with_up_to_five_records(name: str, relation: str) -> None:
    for bound in (Fraction(1), Fraction(5, 2)):
        case = EveryClaimProposedCase(name, relation, most=5, bound=bound)
        for apart in (1, 2, 3):
            assert Proposal(case).worst(apart) <= 1 + 1e-9


# Goodness of fit: what every mechanism releases follows the exact law that it states.


DRAWS = 40_000
LIMIT = 1e-7
"""Of a p-value: all cases together are then wrongly refused less than once in 10^5 runs."""

LISTED = [
    (space, step, how)
    for space, step, _, how in CASES
    if step.name not in ("continual_count", "release_keys", "laplace", "gaussian", "geometric")
]


def first_member(space, how):
    if how.get("domain"):
        return how["domain"][1]
    if how.get("pairs"):
        return how["pairs"][1][0]
    found = members(space.domain)
    return found[len(found) // 2]


@pytest.mark.slow
@pytest.mark.parametrize(("space", "step", "how"), LISTED, ids=name_of)
def test_releases_follow_the_stated_law(space, step, how):
    stats = pytest.importorskip("scipy.stats")
    m = space >> step
    data = first_member(space, how)
    law = m.distribution(data)
    counts = {}
    for _ in range(DRAWS):
        shown = outcome(m(data))
        counts[shown] = counts.get(shown, 0) + 1
    likely = {x: float(law.probability(x).middle) for x in counts}
    often = [x for x in counts if DRAWS * likely[x] >= 10]
    seen = [counts[x] for x in often]
    wanted = [DRAWS * likely[x] for x in often]
    rest = DRAWS - sum(wanted)
    if rest > 10:
        seen, wanted = [*seen, DRAWS - sum(seen)], [*wanted, rest]
    else:
        wanted = [w * sum(seen) / sum(wanted) for w in wanted]
    assert len(seen) == 1 or stats.chisquare(seen, wanted).pvalue > LIMIT


@pytest.mark.slow
def test_the_fit_sees_a_wrong_law():
    stats = pytest.importorskip("scipy.stats")
    assert stats.chisquare([5200, 4800], [5000, 5000]).pvalue < 1e-3
