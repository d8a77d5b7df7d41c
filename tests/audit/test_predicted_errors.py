"""Predicted errors are those of the exact law of what is released; and 200 runs can show it.

The laws are listed by the mechanisms themselves, in enclosures, on grids so coarse and ends so near
that rounding and clipping matter.  Nothing is drawn but for the last test.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.by_hand.exact_errors import (
    ErrorLaw,
    choice_error,
    error_law,
    moments_error,
    sum_over_count_error,
    tail_of,
)
from support.by_hand.stratified_runs import spread_laplace, spread_smooth
from tacit.audit.compare import _asked, _range, candidates
from tacit.mechanisms.aggregators import coordinates
from tacit.mechanisms.propose_test_release import propose_test_release
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, sample_and_aggregate
from tacit.mechanisms.smooth import CONCENTRATED, DISTRIBUTIONS, smooth_noise
from tacit.mechanisms.smooth_distributions import (
    LaplaceLaw,
    StudentLaw,
    UniformLogNormalLaw,
    mean_distance,
)
from tacit.statistics import Median

FEW = [0.5, 1.0, 2.0, 2.5, 4.0, 9.0]
CLOSE = 1e-7


def mean_of(law: Any, truth: float) -> float:
    """Return the mean distance from a truth of the outcomes of a listed law."""
    return sum(float(p.middle) * abs(float(x) - truth) for x, p in law.table.items())


def budget(distribution: str, epsilon: Fraction) -> dict[str, Any]:
    if distribution in CONCENTRATED:
        return {"rho": epsilon**2 / 2}
    return {"epsilon": epsilon} | ({"delta": "1e-6"} if distribution == "laplace" else {})


@pytest.mark.few(18)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("statistic", "epsilon", "grid", "clip"),
    [
        ("median", 1, 1, True),
        ("median", 40, "1/3", (1, 3)),
        ("mean", 8, 1, True),
        ("std", 20, "1/2", True),
        ("sum", 3, 6, (-30, 60)),
        ("max", 2, 1, True),
    ],
)
def test_smooth_noise(
    distribution: str, statistic: str, epsilon: int, grid: Any, clip: Any
) -> None:
    """The standard deviation is a root; the least grid is a thousandth of a scale wide, or ten."""
    given = budget(distribution, Fraction(epsilon))
    m = smooth_noise(statistic, (0, 10), distribution=distribution, grid=grid, clip=clip, **given)
    value = m.local.value(m.local.read(np.array(FEW)))
    truth = float(value if isinstance(value, Fraction) else sum(value.enclose(60)) / 2)
    assert m.expected_error(FEW) == pytest.approx(mean_of(m.distribution(FEW), truth), rel=CLOSE)


@pytest.mark.few(4)
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 0.3, 7.0, 500.0, 3e3, 1e7, 1e12])
@pytest.mark.parametrize(
    "law",
    [
        LaplaceLaw(Fraction(1), Fraction(1, 9)),
        StudentLaw(Fraction(1), 1),
        StudentLaw(Fraction(1), 3),
        UniformLogNormalLaw(Fraction(1), Fraction(1, 2)),
    ],
)
def test_errors_are_sums_of_tails_at_every_scale(law: Any, scale: float) -> None:
    """Against the sum of all 2^15 tails, one by one."""
    low, high, off, target = -(1 << 14), 1 << 14, 0.2, -3.75
    found = mean_distance(law, scale, off, target, low, high)
    tail = tail_of(law)
    k = np.arange(low + 1, high + 1)

    def beyond(edge: Any) -> Any:
        z = np.maximum(np.abs(edge), 1e-300)
        return np.where(edge < 0, 1 - tail(z), tail(z))

    above = (beyond((k - 0.5 - off) / scale) * np.clip(k - target, 0, 1)).sum()
    below = (beyond((off + 0.5 - k) / scale) * np.clip(target - k + 1, 0, 1)).sum()
    assert found == pytest.approx(above + below, rel=CLOSE)


@pytest.mark.parametrize("bound", ["1/3", 2])
def test_tested_releases(bound: Any) -> None:
    data = [3.0] * 300 + [4.0] * 160
    m: Any = propose_test_release("mean", (0, 10), bound, 20, "1e-6", grid="1/7")
    law = m.distribution(data)
    answers = {x: p for x, p in law.table.items() if x is not None}
    truth = float(np.mean(data))
    share = sum(float(p.middle) for p in answers.values())
    error = sum(float(p.middle) * abs(float(x) - truth) for x, p in answers.items()) / share
    assert m.answer_probability(data) == pytest.approx(share, rel=CLOSE)
    assert m.expected_error(data) == pytest.approx(error, rel=CLOSE)
    held = sum(
        float(p.middle) * abs(min(max(float(x), 3.2), 3.5) - truth) for x, p in answers.items()
    )
    assert m.expected_error(data, ends=(3.2, 3.5)) == pytest.approx(held / share, rel=CLOSE)


def test_the_search_for_a_bound() -> None:
    from tacit.mechanisms.local_statistic import column_space
    from tacit.mechanisms.propose_test_release import BoundSearch

    space = column_space((0, 10), "unbounded", None)
    m: Any = space >> BoundSearch("mean", 300, "1e-6", split="1/100", ratio=40, rungs=2)
    data = [3.0] * 30 + [4.1] * 16
    law, truth = m.distribution(data), float(np.mean(data))
    error = sum(float(p.middle) * abs(float(x) - truth) for (x, _), p in law.table.items())
    assert m.expected_error(data) == pytest.approx(error, rel=CLOSE)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("epsilon", [2, 12])
def test_aggregates_of_bins(aggregate: str, epsilon: Any) -> None:
    """Given the answers of bins, the mean over the noise; quartiles are taken at 128 shares."""
    close = 0.02 if aggregate == "winsorized_mean" else CLOSE
    (where,) = coordinates((0, 10), None, 2, 0)
    pair = {"delta": Fraction(1, 10**6)} if aggregate == "smooth" else {}
    for given in [{}, pair][: 1 + bool(pair)]:
        centre = AGGREGATES[aggregate](5, where, Fraction(epsilon), **given)
        for units in ([1, 2, 2, 3, 5], [5, 5, 0, 0, 0]):
            law = centre.law(units)
            if aggregate == "mean":
                listed = stats.dlaplace(float(centre.epsilon) / 5)
                k = np.arange(-600, 601)
                error = float(listed.pmf(k) @ np.abs((sum(units) + k) * 2 / 5 - 2.3))
            else:
                error = mean_of(law, 2.3)
            assert centre.mean_error(units, 2.3) == pytest.approx(error, rel=close)


@pytest.mark.few(3)
@pytest.mark.parametrize("aggregate", ["mean", "median", "winsorized_mean"])
def test_sample_and_aggregate(aggregate: str) -> None:
    """Over every way to bin three records; the prediction draws bins, to a percent of five."""
    m = sample_and_aggregate(Median(), 2, (0, 4), 3, aggregate=aggregate, grid=1)
    records = np.array([0.0, 1.0, 4.0])
    error = 0.0
    for weight, law in m.distribution(records).parts:
        if aggregate == "mean":
            units = np.arange(-60, 80)
            mass = [float(law.probability(Fraction(int(k)) * law.grid).middle) for k in units]
            part = float(np.array(mass) @ np.abs(units * float(law.grid) - 1))
        else:
            part = mean_of(law, 1.0)
        error += float(weight.middle) * part
    assert m.expected_error(records) == pytest.approx(error, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["median", "mean", "std", "max"])
def test_two_hundred_stratified_runs_are_within_five_percent(
    statistic: str, monkeypatch: Any
) -> None:
    """Real releases whose uniforms are spread evenly: see :mod:`stratified_runs`."""
    ages = np.random.default_rng(7).gamma(8, 5, 900).clip(0, 100)
    asked = _asked(statistic, (0, 100), 1, "1e-6", None, ages, "unbounded", [30], None)
    for one in candidates(asked)[0]:
        if one.method == "exponential mechanism":  # a choice: no noise whose uniforms can be spread
            error, deviation = choice_error(one, asked)
            assert one.predicted == pytest.approx(error, rel=1e-6)
            mean = np.abs(np.array(one.simulate(200)) - asked.truth).mean()
            assert mean == pytest.approx(error, abs=5 * deviation / math.sqrt(200)), one.setting
            continue
        name = one.setting.split(",")[0].lower().replace(" ", "_")
        if one.method == "smooth":
            with spread_smooth(monkeypatch, name, 200, 1) as weights:
                errors = np.abs(np.array(one.simulate(200)) - asked.truth)
            mean = float(errors @ weights) / 200
        else:
            with spread_laplace(monkeypatch, 200, 1):
                answers = [a for a in one.simulate(200) if a is not None]
            assert 1 - len(answers) / 200 == pytest.approx(one.refused, abs=0.01)
            mean = float(np.mean([abs(a - asked.truth) for a in answers] or [math.nan]))
        if one.refused < 0.1:
            assert mean == pytest.approx(one.predicted, rel=0.05), (one.method, one.setting)
        law = error_law(one, asked, _range(asked))
        if isinstance(law, ErrorLaw):
            assert one.predicted == pytest.approx(law.moment(1), rel=1e-5), one.setting
        elif one.method == "sum over count":
            assert one.predicted == pytest.approx(sum_over_count_error(asked), rel=0.005)
        elif one.method == "noisy moments":
            error, unsure = moments_error(asked)
            assert one.predicted == pytest.approx(error, rel=0.002, abs=5 * unsure)
