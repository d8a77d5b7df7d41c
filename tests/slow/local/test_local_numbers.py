"""Variances of means, sketches and RAPPOR against the formulas of the literature, within 2%."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.local import (
    CountMeanSketch,
    Duchi,
    HadamardCountMeanSketch,
    HybridMean,
    LaplaceMean,
    Piecewise,
    Rappor,
)

pytestmark = pytest.mark.slow
N = 1_000_000
EPSILONS = [0.5, 1, 2, 4]
ANSWERS = [-1, -0.4, 0, 0.75, 1]


def duchi(e, t):
    return ((e + 1) / (e - 1)) ** 2 - t * t


def piecewise(e, t):
    s = math.sqrt(e)
    return t * t / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)


def hybrid(e, t):
    if math.log(e) <= 0.61:
        return duchi(e, t)
    alpha = 1 - 1 / math.sqrt(e)
    return alpha * piecewise(e, t) + (1 - alpha) * duchi(e, t)


def laplace(e, t):
    return 8 / math.log(e) ** 2


MEANS = {
    "duchi": (Duchi, duchi), "piecewise": (Piecewise, piecewise),
    "hybrid": (HybridMean, hybrid), "laplace": (LaplaceMean, laplace),
}  # fmt: skip


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", MEANS)
def test_variances_of_means(name, epsilon):
    """The formula of the paper, what the mechanism tells, and a million reports agree."""
    kind, formula = MEANS[name]
    oracle = kind(-1, 1, epsilon=str(epsilon))
    scores = scores_of(oracle)
    for t in ANSWERS:
        expected = formula(math.exp(epsilon), t)
        assert float(oracle.variance(1, t)) == pytest.approx(expected, rel=0.02)
        drawn = scores[oracle.perturb_many(np.full(N, float(t))).astype(np.int64)]
        assert abs(drawn.mean() - t) < 5.5 * math.sqrt(expected / N) + 1e-3 / N
        assert drawn.var() == pytest.approx(expected, rel=0.02)


def scores_of(oracle):
    """The unbiased answer that each report stands for."""
    if isinstance(oracle, LaplaceMean):
        a, b = oracle.score()
        values = float(a) * np.arange(oracle.layout.limit) + float(b)
        return values * 2 - 1
    each = range(oracle.layout.limit)
    return np.array([float(oracle.exact_mean(oracle.aggregate([y]))) for y in each])


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
def test_variances_of_sketches(kind):
    """Counts of words that nobody has: noise alone, and the chance of sharing a column."""
    oracle = kind(epsilon=2, functions=64, buckets=256)
    e = math.exp(1 if kind is CountMeanSketch else 2)
    c = (e + 1) / (e - 1)
    noise = (c * c - 1) / 4 if kind is CountMeanSketch else c * c
    n, runs, words = 400, 250, [f"word {i}" for i in range(1000)]
    people = [f"person {i}" for i in range(n)]
    squares = [
        np.mean(oracle.estimate(oracle.perturb_many(people), words).counts ** 2)
        for _ in range(runs)
    ]
    assert np.mean(squares) == pytest.approx(n * noise, rel=0.04)  # the columns add about 1/256
    told = float(oracle.variance(n, squares=Fraction(1, n)))
    assert np.mean(squares) == pytest.approx(told, rel=0.02)


def test_rates_of_rappor():
    """p* and q* of one report, from the two stages drawn."""
    oracle = Rappor(bloom_bits=64, hashes=2, cohorts=4, f="1/2", p="1/8", q="3/4")
    reports = oracle.perturb_many(["red"] * 200_000)
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    cohorts = bits[:, 64:66].astype(np.int64) @ [1, 2]
    true = oracle.filters(np.repeat(oracle.read(["red"]), len(bits)), cohorts)
    zero, one = (float(v) for v in oracle.rates)
    assert zero == 0.5 * (0.125 + 0.75) / 2 + 0.5 * 0.125
    assert one == 0.5 * (0.125 + 0.75) / 2 + 0.5 * 0.75
    for value, rate in ((0, zero), (1, one)):
        seen = bits[:, :64][true == value]
        assert abs(seen.mean() - rate) < 5.5 * math.sqrt(rate * (1 - rate) / seen.size)
