"""The census question over 500 runs: unbiased, and within its intervals as often as told."""

import csv
import math

import numpy as np
import pytest
from scipy.stats import binom, chi2

from support.tables.shared_data import shared_file
from tacit.errors import UsageError
from tacit.local import Items, RandomizedResponse, UnaryEncoding

pytestmark = pytest.mark.slow
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
