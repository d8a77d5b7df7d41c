"""Variances at 1,024 items, by formula and by simulation, and pooled over sets of items."""

import csv
import gc
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2, rankdata

from support.tables.shared_data import shared_file
from tacit.errors import UsageError
from tacit.local import (
    BinaryLocalHashing,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HybridMean,
    Items,
    LaplaceMean,
    OptimizedLocalHashing,
    Piecewise,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    SummationHistogram,
    ThresholdHistogram,
    TwoStage,
    UnaryEncoding,
)
from tacit.local.frequency.hadamard_response import hadamard_transform

K = 1024
REFERENCE = {
    "GRR": (DirectEncoding(K, epsilon=1), 347.07, 2_000),
    "SUE": (UnaryEncoding(K, epsilon=1, symmetric=True), 3.918, 2_000),
    "OUE": (UnaryEncoding(K, epsilon=1), 3.683, 2_000),
    "OLH": (OptimizedLocalHashing(K, epsilon=1), 3.692, 2_000),
    "BLH": (BinaryLocalHashing(K, epsilon=1), 4.683, 2_000),
    "HR": (HadamardResponse(K, epsilon=1, blocks=1), 4.683, 2_000),
    "SHE": (SummationHistogram(K, epsilon=1), 8.0, 200),
    "THE": (ThresholdHistogram(K, epsilon=1), 4.807, 2_000),
    "SS": (SubsetSelection(K, epsilon=1), 3.674, 2_000),
}


def small(name):
    return {"GRR": (DirectEncoding, 4.985), "SS": (SubsetSelection, 3.055)}[name]


@pytest.mark.parametrize("name", ["GRR", "SS"])
def test_variances_of_fourteen_items(name):
    kind, expected = small(name)
    assert float(kind(14, epsilon=1).variance(1)) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("name", REFERENCE)
def test_variances_by_formula(name):
    oracle, expected, _ = REFERENCE[name]
    assert float(oracle.variance(1)) == pytest.approx(expected, rel=1.5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCE)
def test_variances_by_simulation(name):
    """Items that nobody has: 1,000 of them over 300 runs, within 2% of the formula.

    The mean of so many squares has a relative error of 0.0026 by chance; 2% is seven times that.
    """
    oracle, _, n = REFERENCE[name]
    answers = np.arange(n) % 24
    runs = 300
    squares = [
        np.mean(oracle.estimate(oracle.perturb_many(answers)).counts[24:] ** 2) for _ in range(runs)
    ]
    assert np.mean(squares) == pytest.approx(float(oracle.variance(n)), rel=0.02)


SETS = [np.arange(K) // 128 == i for i in range(8)] + [np.arange(K) % 8 == i for i in range(8)]
"""Sets of 128 items: neighbours, and one in eight.  Two of them share 16 items or none."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GRR", "SUE", "OUE", "OLH", "BLH", "HR", "THE", "SS"])
def test_sums_of_items_vary_as_pooled_theory_says(name):
    """Sums of 128 counts: independent bits, or the covariance of a partition, within 2%.

    9,000 runs of 16 sums: a relative error of 0.0039 by chance, and 2% is five times that.
    """
    oracle, n, runs = REFERENCE[name][0], 256, 9000
    answers = np.arange(n) * 5 % K
    true = np.array([chosen[answers].sum() for chosen in SETS])
    expected = np.array([pooled(oracle, answers, chosen) for chosen in SETS])
    errors = np.empty((runs, len(SETS)))
    columns = np.array(SETS, np.float64).T
    for run in range(runs):
        counts = oracle.estimate(oracle.perturb_many(answers)).counts
        errors[run] = counts @ columns - true
    spread = np.sqrt(expected / runs)
    assert np.abs(errors.mean(axis=0) / spread).max() < 5.5
    assert np.mean(errors**2 / expected) == pytest.approx(1, abs=0.02)


def pooled(oracle, answers, chosen):
    """The variance of the summed counts of the chosen items."""
    n, size, share = len(answers), int(chosen.sum()), float(chosen[answers].mean())
    if isinstance(oracle, HadamardResponse):
        return _hadamard_pooled(oracle, answers, chosen)
    p, q = (float(v) for v in oracle.support)
    if isinstance(oracle, DirectEncoding):
        a = p + (size - 1) * q  # the report falls into the set
        b = size * q
        spread = share * a * (1 - a) + (1 - share) * b * (1 - b)
    elif isinstance(oracle, SubsetSelection):
        spread = _hypergeometric(oracle, share, size)
    else:
        spread = share * p * (1 - p) + (size - share) * q * (1 - q)
    return n * spread / (p - q) ** 2


def _hadamard_pooled(oracle, answers, chosen):
    """Two scores multiply to that of the product of their rows, which is the own one for some x."""
    rows = np.zeros(oracle.block_size, np.int64)
    rows[1 : K + 1] = chosen
    products = hadamard_transform(hadamard_transform(rows) ** 2) // oracle.block_size
    own, keep = float(np.mean(products[answers + 1])), float(oracle.keep)
    share = float(chosen[answers].mean())
    return len(answers) * ((rows.sum() + keep * own) / keep**2 - share)


def _hypergeometric(oracle, share, size):
    k, w, p = len(oracle.domain), oracle.size, float(oracle.p)
    total = 0.0
    for inside, weight in ((1, share), (0, 1 - share)):
        others = size - inside
        mean = square = 0.0
        for taken, chance in ((1, p), (0, 1 - p)):
            f = others / (k - 1)
            m = (w - taken) * f
            v = (w - taken) * f * (1 - f) * (k - 1 - (w - taken)) / (k - 2)
            value = m + taken * inside
            mean += chance * value
            square += chance * (v + value**2)
        total += weight * (square - mean**2)
    return total


# The census question over 500 runs: unbiased, and within its intervals as often as told.


RUNS = 500
N, MISSING, SALES = 32_561, 1_843, 3_650


@pytest.fixture(scope="module")
def jobs() -> list:
    """The occupation of everybody in the census table, None where it is missing."""
    path = shared_file("adult.csv")
    if path is None:
        pytest.skip("the shared adult.csv is not beside this checkout")
    with path.open(newline="") as file:
        told = [row["occupation"] for row in csv.DictReader(file)]
    found = [None if job in ("", "?") else job for job in told]
    assert (len(found), found.count(None), found.count("Sales")) == (N, MISSING, SALES)
    assert len(set(found)) == 14 + 1
    return found


@pytest.mark.slow
def test_two_coins_on_sales(jobs):
    """A sound mechanism fails one of these once in 300,000 times."""
    coins = RandomizedResponse(p="3/4")
    assert round(math.sqrt(coins.variance(N))) == 156
    sold = np.array([job == "Sales" for job in jobs])
    runs = [coins.estimate(coins.perturb_many(sold)) for _ in range(RUNS)]
    assert {e.n for e in runs} == {N}  # those whose job is missing answer "no" and stay counted
    counts = np.array([e[True] for e in runs])
    assert abs(counts.mean() - SALES) < 5 * 156.3 / math.sqrt(RUNS)
    ratio = ((counts - SALES) ** 2).sum() / float(coins.variance(N))
    assert chi2.ppf(5e-7, RUNS) < ratio < chi2.isf(5e-7, RUNS)
    assert 130 < counts.std() < 182
    check_coverage([inside(e, [N - SALES, SALES])[1] for e in runs])


@pytest.mark.slow
def test_unary_encoding_of_all_occupations(jobs):
    labels = sorted({job for job in jobs if job is not None})
    with pytest.raises(UsageError, match="not one of the listed items"):
        UnaryEncoding(labels, p="3/4", q="1/4").perturb_many(jobs)  # nobody is dropped in silence
    unary = UnaryEncoding(Items(labels, missing="missing"), p="3/4", q="1/4")
    assert unary.ratio == 9
    places = unary.domain.indices(jobs)
    true = np.bincount(places, minlength=15)
    by_place = UnaryEncoding(15, p="3/4", q="1/4")  # the same mechanism on the places
    runs = [by_place.estimate(by_place.perturb_many(places)) for _ in range(RUNS)]
    assert {e.n for e in runs} == {N}
    counts = np.array([e.counts for e in runs])
    errors = np.sqrt([float(unary.variance(N, f"{c}/{N}")) for c in true.tolist()])
    assert np.abs((counts - true).mean(axis=0) / errors).max() < 5.5 / math.sqrt(RUNS)
    ratio = (((counts - true) / errors) ** 2).sum()
    assert chi2.ppf(5e-7, 15 * RUNS) < ratio < chi2.isf(5e-7, 15 * RUNS)
    within = np.array([inside(e, true) for e in runs])
    for column in within.T:
        check_coverage(column)
    check_coverage(within.ravel())
    together = [bool(np.all((low <= true) & (true <= high)))
                for low, high in (e.simultaneous(0.95) for e in runs)]  # fmt: skip
    assert sum(together) >= binom.ppf(1e-7, RUNS, 0.95)


def inside(estimate, true):
    low, high = estimate.interval(0.95)
    return (low <= true) & (true <= high)


def check_coverage(held):
    """Intervals of 95% hold as often as 95% coins fall, but for a chance of 2e-7."""
    n = len(held)
    assert binom.ppf(1e-7, n, 0.95) <= np.sum(held) <= binom.isf(1e-7, n, 0.95)


# Variances of means, sketches and RAPPOR against the formulas of the literature, within 2%.


NUMBERS_N = 1_000_000
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


@pytest.mark.slow
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
        drawn = scores[oracle.perturb_many(np.full(NUMBERS_N, float(t))).astype(np.int64)]
        assert abs(drawn.mean() - t) < 5.5 * math.sqrt(expected / NUMBERS_N) + 1e-3 / NUMBERS_N
        assert drawn.var() == pytest.approx(expected, rel=0.02)


def scores_of(oracle):
    """The unbiased answer that each report stands for."""
    if isinstance(oracle, LaplaceMean):
        a, b = oracle.score()
        values = float(a) * np.arange(oracle.layout.limit) + float(b)
        return values * 2 - 1
    each = range(oracle.layout.limit)
    return np.array([float(oracle.exact_mean(oracle.aggregate([y]))) for y in each])


@pytest.mark.slow
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


@pytest.mark.slow
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


# How long a draw takes tells nothing of the answer: one buffer, answers in random order.


DRAWS = 8000
CASES = {
    "direct": (DirectEncoding(100_000, epsilon=1), 0, 99_999),
    "unary": (UnaryEncoding(4096, epsilon=1), 0, 4095),
    "hashing": (OptimizedLocalHashing(100_000, epsilon=1), 0, 99_999),
    "hadamard": (HadamardResponse(100_000, epsilon=1), 0, 99_999),
    "subset": (SubsetSelection(1024, epsilon=1), 0, 1023),
    "summation": (SummationHistogram(256, epsilon=1), 0, 255),
    "duchi": (Duchi(0, 1, epsilon=1), 0.0, 1.0),
    "piecewise": (Piecewise(0, 1, epsilon=1), 0.0, 1.0),
    "hybrid": (HybridMean(0, 1, epsilon=1), 0.0, 1.0),
    "laplace": (LaplaceMean(0, 1, epsilon=1), 0.0, 1.0),
    "square wave": (SquareWave(0, 1, epsilon=1), 0.0, 1.0),
    "sketch": (CountMeanSketch(epsilon=2), "a", "b"),
    "rappor": (Rappor(), "a", "b"),
    "two stages": (
        TwoStage(DirectEncoding(64, epsilon=2), UnaryEncoding(64, epsilon=1)), 0, 63
    ),
}  # fmt: skip


def larger_by_chance(one: np.ndarray, two: np.ndarray) -> float:
    """The chance that a time of the first kind is above one of the second: 1/2 tells nothing."""
    ranks = rankdata(np.concatenate([one, two]))[: len(one)]
    return float((ranks.sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(two)))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_times_of_draws_do_not_tell_answers_apart(name):
    """Each time is compared by rank, so that interruptions count no more than other times."""
    oracle, first, last = CASES[name]
    places = [int(oracle.read([answer])[0]) for answer in (first, last)]
    buffer, order = np.zeros(1, np.int64), np.random.default_rng(1).integers(0, 2, DRAWS)
    times = np.zeros(DRAWS, np.int64)
    gc.disable()
    try:
        for i, which in enumerate(order.tolist()):
            buffer[0] = places[which]
            start = time.perf_counter_ns()
            oracle._draw(buffer)
            times[i] = time.perf_counter_ns() - start
    finally:
        gc.enable()
    # by chance alone within 0.5 +- 0.0065; a table that ends at the place gives 0.8 and more
    assert 0.45 < larger_by_chance(times[order == 0], times[order == 1]) < 0.55
