"""Variances at 1,024 items, by formula and by simulation, and pooled over sets of items."""

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
