"""The nearest counts that are not below zero: against their definition, and against scipy."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import nnls

from tacit.arithmetic.mixing import Repeatable
from tacit.workload.cells import ranges
from tacit.workload.range_strategies import best_strategy
from tacit.workload.synthetic import nonnegative_cells, nonnegative_marginals

pytestmark = pytest.mark.full
SIZES = (3, 2, 4)
PAIRS = list(itertools.combinations(range(3), 2))
SETS = [(), (0,), (1,), (2,), *PAIRS]


def drawn(stream, shape, low=-3, high=6):
    return np.array([stream.uniform(low, high) for _ in range(math.prod(shape))]).reshape(shape)


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("bins", [1, 7, 40])
def test_cells_are_those_of_least_squares_above_zero(bins, norm):
    strategy, stream = best_strategy(ranges(bins).gram, norm), Repeatable(bins)
    noisy = [drawn(stream, (len(strategy.matrix),), -30, 50) for _ in range(5)]
    counts = np.array([strategy.inverse @ each for each in noisy])
    found = nonnegative_cells(counts, strategy.covariance, along=1)
    for each, one in zip(noisy, found, strict=True):
        right, _ = nnls(strategy.matrix.astype(float), each)
        assert np.abs(one - right).max() < 1e-6
    assert found.min() >= 0


def residuals(marginals):
    found = {}
    for part in SETS:
        subset = next(s for s in marginals if set(part) <= set(s))
        told = marginals[subset].sum(axis=tuple(p for p, i in enumerate(subset) if i not in part))
        told = np.asarray(told)
        for axis in range(told.ndim):
            told = told - told.mean(axis=axis, keepdims=True)
        found[part] = told
    return found


def pairs_of(table):
    return {s: table.sum(axis=next(i for i in range(3) if i not in s)) for s in PAIRS}


@pytest.mark.parametrize("seed", range(5))
def test_marginals_are_the_nearest_ones(seed):
    """A point is the nearest of a convex set where no direction into the set leads back."""
    stream = Repeatable(seed)
    variances = {part: float(drawn(stream, (1,), 1, 40)[0]) for part in SETS}
    noisy = pairs_of(drawn(stream, SIZES))
    found = nonnegative_marginals(noisy, variances)
    assert min(each.min() for each in noisy.values()) < 0 <= min(x.min() for x in found.values())
    for (s, a), (t, b) in itertools.combinations(found.items(), 2):  # they agree
        (same,) = set(s) & set(t)
        one, two = a.sum(axis=1 - s.index(same)), b.sum(axis=1 - t.index(same))
        assert np.abs(one - two).max() < 1e-6
    point, start = residuals(found), residuals(noisy)
    for _ in range(50):
        other = residuals(pairs_of(np.maximum(drawn(stream, SIZES, -4, 4), 0)))
        told = sum(
            float(((start[p] - point[p]) * (other[p] - point[p])).sum()) / variances[p]
            for p in SETS
        )
        assert told < 1e-6


def test_counts_above_zero_stay_as_they_are():
    table = np.array([[1.5, 2.0], [0.25, 3.0]])
    same = nonnegative_marginals({(0, 1): table}, dict.fromkeys([(), (0,), (1,), (0, 1)], 1.0))
    assert np.array_equal(same[0, 1], table)
    assert nonnegative_cells(np.array([0.0, 2.0]), np.eye(2)).tolist() == [0.0, 2.0]


def test_hopeless_counts_are_all_zero():
    table = -np.ones((3, 2))
    same = nonnegative_marginals({(0, 1): table}, dict.fromkeys([(), (0,), (1,), (0, 1)], 2.0))
    assert not same[0, 1].any()
    assert not nonnegative_cells(-np.ones(4), np.eye(4)).any()
