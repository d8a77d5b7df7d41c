"""Variances at 1,024 items, by formula and by simulation, and pooled over sets of items."""

import math

import numpy as np
import pytest

from tacit.local import (
    BinaryLocalHashing,
    DirectEncoding,
    HadamardResponse,
    OptimizedLocalHashing,
    SubsetSelection,
    SummationHistogram,
    ThresholdHistogram,
    UnaryEncoding,
)
from tacit.local.hadamard import hadamard_transform

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
    """Items that nobody has: 1,000 of them over many runs, within 2% of the formula."""
    oracle, _, n = REFERENCE[name]
    answers = np.arange(n) % 24
    runs = 40
    squares = [
        np.mean(oracle.estimate(oracle.perturb_many(answers)).counts[24:] ** 2) for _ in range(runs)
    ]
    assert np.mean(squares) == pytest.approx(float(oracle.variance(n)), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH", "BLH", "HR", "SS"])
def test_sums_of_items_vary_as_pooled_theory_says(name):
    """The sum of 512 counts: independent bits, or the covariance of a partition, as worked out."""
    oracle, _, n = REFERENCE[name]
    answers = np.arange(n) % K
    chosen = np.arange(K) % 2 == 0
    runs = 1000
    sums = [oracle.estimate(oracle.perturb_many(answers)).counts[chosen].sum() for _ in range(runs)]
    true = int(chosen[answers].sum())
    expected = pooled(oracle, n, true / n, int(chosen.sum()))
    assert abs(np.mean(sums) - true) < 5 * math.sqrt(expected / runs)
    assert np.var(sums) == pytest.approx(expected, rel=5 * math.sqrt(2 / runs))


def pooled(oracle, n, share, size):
    """The variance of the summed counts of ``size`` items that a ``share`` of the people have."""
    if isinstance(oracle, HadamardResponse):
        return _hadamard_pooled(oracle, n, share, size)
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


def _hadamard_pooled(oracle, n, share, size):
    """Two scores multiply to that of the product of their rows, which is the own one for some x."""
    chosen = np.zeros(oracle.block_size, np.int64)
    chosen[1 : K + 1 : 2] = 1
    products = hadamard_transform(hadamard_transform(chosen) ** 2) // oracle.block_size
    own = float(np.mean(products[np.arange(n) % K + 1]))
    keep = float(oracle.keep)
    assert chosen.sum() == size
    return n * ((size + keep * own) / keep**2 - share)


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
