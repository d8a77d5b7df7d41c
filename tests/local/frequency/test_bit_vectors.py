"""Histogram encodings: noise on each entry, summed exactly or cut at a threshold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit import noise
from tacit.errors import UsageError
from tacit.local import SummationHistogram, ThresholdHistogram, UnaryEncoding


@pytest.mark.parametrize("far", [10**9, -(10**9)])
def test_an_entry_is_of_a_fixed_size_whatever_the_noise(far, monkeypatch):
    """Noise that is far out is cut, and the report stays in its layout."""
    oracle = SummationHistogram(3, epsilon=4, units=2)
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, size: np.full(size, far))
    report = oracle.perturb(1)
    assert set(report.tolist()) == {oracle.layout.limit - 1 if far > 0 else 0}


def test_sums_count_whole_units_and_merge_without_error():
    oracle = SummationHistogram(4, epsilon=1)
    reports = oracle.perturb_many([0, 1, 1, 3] * 50)
    whole = oracle.aggregate(reports)
    assert whole == oracle.aggregate(reports[:70]) + oracle.aggregate(reports[70:])
    by_hand = [sum(int(r[i]) - oracle.bound for r in reports) for i in range(4)]
    assert oracle.exact_counts(whole) == [Fraction(s, oracle.units) for s in by_hand]


def test_the_variance_is_that_of_the_noise_rounded_up():
    oracle = SummationHistogram(4, epsilon=2, units=64)
    q = math.exp(-1 / float(oracle.scale))
    assert float(oracle.variance(10)) == pytest.approx(10 * 2 * q / (1 - q) ** 2 / 64**2)
    assert oracle.variance(10, "1/2") == oracle.variance(10)  # whatever the share
    assert oracle.epsilon == 2
    assert float(oracle.ratio) == pytest.approx(math.exp(2))


def test_a_finer_grid_changes_the_error_hardly_and_the_loss_not():
    coarse, fine = (SummationHistogram(4, epsilon=1, units=units) for units in (4, 64))
    assert coarse.epsilon == fine.epsilon
    assert float(coarse.variance(1)) == pytest.approx(float(fine.variance(1)), rel=0.01)


@pytest.mark.parametrize("parameters", [{}, {"epsilon": 0}, {"epsilon": 25}, {"epsilon": 1,
    "units": 0}, {"epsilon": "1/1000000", "units": 1 << 40}])  # fmt: skip
def test_sums_that_cannot_be_are_refused(parameters):
    with pytest.raises(UsageError):
        SummationHistogram(4, **parameters)
    with pytest.raises(UsageError, match="OptimizedLocalHashing"):
        SummationHistogram(65_537, epsilon=1)


@pytest.mark.parametrize("threshold", ["1/2", "3/5", 1])
def test_a_threshold_makes_unary_encoding_of_a_smaller_loss(threshold):
    oracle = ThresholdHistogram(6, epsilon=2, threshold=threshold)
    t = float(Fraction(threshold))
    assert float(oracle.q) == pytest.approx(math.exp(-t) / 2, rel=1e-5)
    assert float(oracle.p) == pytest.approx(1 - math.exp(t - 1) / 2, rel=1e-5)
    assert float(oracle.q) >= math.exp(-t) / 2  # rounded toward each other: never more loss
    assert float(oracle.p) <= 1 - math.exp(t - 1) / 2
    assert oracle.epsilon.upper if hasattr(oracle.epsilon, "upper") else oracle.epsilon < 2
    assert oracle.distribution(2) == UnaryEncoding(6, p=oracle.p, q=oracle.q).distribution(2)


def test_the_threshold_of_least_variance_is_taken():
    own = ThresholdHistogram(6, epsilon=2)
    others = [ThresholdHistogram(6, epsilon=2, threshold=Fraction(i, 20)) for i in range(10, 21)]
    assert own.variance(1) <= min(o.variance(1) for o in others) * Fraction(10001, 10000)
    for wrong in ("1/4", "5/4"):
        with pytest.raises(UsageError, match="threshold"):
            ThresholdHistogram(6, epsilon=2, threshold=wrong)


@pytest.mark.parametrize("kind", [SummationHistogram, ThresholdHistogram])
def test_counts_are_found_again(kind):
    oracle = kind(8, epsilon=2)
    with reproducible(5):
        found = oracle.estimate(oracle.perturb_many(np.arange(6000) % 3))
    real = np.where(np.arange(8) < 3, 2000, 0)
    assert np.abs((found.counts - real) / found.standard_error).max() < 5
