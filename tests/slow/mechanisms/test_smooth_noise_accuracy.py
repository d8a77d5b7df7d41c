"""Errors of smooth noise and propose-test-release, measured against what they predict."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.tables.shared_data import shared_file
from tacit.mechanisms.local_statistic import LocalStatistic
from tacit.mechanisms.propose_test_release import propose_test_release
from tacit.mechanisms.smooth import DISTRIBUTIONS, smooth_noise
from tacit.mechanisms.smooth_distributions import (
    ArsinhNormalLaw,
    LaplaceLaw,
    StudentLaw,
    UniformLogNormalLaw,
)

pytestmark = pytest.mark.slow

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


def test_the_least_sure_test_passes_as_often_as_it_says() -> None:
    data = [50] * 330
    m: Any = propose_test_release("mean", (0, 100), "1/6", 1, "1e-6")
    chance = m.answer_probability(data)
    assert 0.02 < chance < 0.98
    passed = sum(m(data) is not None for _ in range(4000)) / 4000
    assert abs(passed - chance) < 5 * math.sqrt(chance * (1 - chance) / 4000)


@pytest.mark.parametrize(
    "law",
    [
        LaplaceLaw(Fraction(1), Fraction(1, 9)),
        StudentLaw(Fraction(1), 1),
        StudentLaw(Fraction(1), 3),
        StudentLaw(Fraction(1), 4),
        ArsinhNormalLaw(Fraction(1), Fraction(1)),
        UniformLogNormalLaw(Fraction(1), Fraction(1, 2)),
    ],
)
def test_draws_follow_their_distribution_function(law: Any) -> None:
    draws = np.sort([float(law.draw().enclose().middle) for _ in range(8000)])
    ranks = np.arange(199, 8000, 200)
    expected = np.array([float(law.cdf(Fraction(float(draws[r]))).middle) for r in ranks])
    gap = np.abs(expected - (ranks + 0.5) / 8000).max()
    assert stats.kstwobign.sf(gap * math.sqrt(8000)) > 1e-6
