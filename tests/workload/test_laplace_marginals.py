"""Marginals under Laplace noise: their error against least squares and against wide descent."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from tacit.workload import marginals
from tacit.workload.marginals import cheapest_cover, total_of
from tacit.workload.strategies import minimise


def matrix_of(sizes, subset):
    """The marginal on some attributes as a matrix over all cells of the domain."""
    matrix = np.ones((1, 1))
    for index, n in enumerate(sizes):
        matrix = np.kron(matrix, np.eye(n) if index in subset else np.ones((1, n)))
    return matrix


def error_by_least_squares(sizes, requested, shares):
    """The total squared error of the requested marginals, from the whole matrices."""
    whole = np.concatenate([share * matrix_of(sizes, one) for one, share in shares.items()])
    covariance = np.linalg.pinv(whole.T @ whole, hermitian=True, rcond=1e-10)
    tables = [matrix_of(sizes, one) for one in requested]
    return sum(np.trace(one @ covariance @ one.T) for one in tables)


def counts_of(workload):
    needed = workload.residuals
    pairs = zip(needed.subsets, needed.counts.tolist(), strict=True)
    return {subset: count for subset, count in pairs if count}


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 2), (3, 2, 4, 2)])
def test_the_error_is_that_of_least_squares(sizes):
    workload = marginals(sizes, (1, 2))
    cover = cheapest_cover(sizes, counts_of(workload))
    shares = dict(zip(cover.sets, cover.shares, strict=True))
    assert sum(cover.shares) == pytest.approx(1)
    assert all(any(set(one) <= set(s) for s in cover.sets) for one in workload.subsets)
    assert cover.total == pytest.approx(error_by_least_squares(sizes, workload.subsets, shares))
    assert cover.total == pytest.approx(total_of(sizes, counts_of(workload), shares))


def test_pairs_of_bits_come_from_less_than_one_table():
    # eight bits: the whole table has 256 cells, 36 separate marginals have 36^2 times the variance
    sizes = (2,) * 8
    cover = cheapest_cover(sizes, counts_of(marginals(sizes, (1, 2))))
    assert len(cover.sets) < 5
    assert cover.total < sum(math.comb(8, w) * 256 for w in (1, 2))


@pytest.mark.full
def test_the_columns_of_adult():
    workload = marginals((7, 16, 7, 14, 6, 5, 2, 2), (1, 2))
    error = workload.expected_error(epsilon=1)
    assert error < 25.4  # 28.89 without unions
    assert error > workload.lower_bound(epsilon=1)


def test_nothing_needed_measures_nothing():
    assert cheapest_cover((2,), {}).sets == ()


@pytest.mark.parametrize(
    ("attributes", "ways", "cells"),
    [
        (8, 3, 8.0),
        *(pytest.param(*one, marks=pytest.mark.full) for one in [(8, 4, 2**2.5), (10, 3, 16.0)]),
    ],
)
def test_more_than_eighty_residuals_have_the_error_of_noise_on_the_cells(attributes, ways, cells):
    workload = marginals([2] * attributes, ways)
    assert len(workload.residuals.subsets) > 80
    assert workload.expected_error(epsilon=1) == pytest.approx(cells)


@pytest.mark.parametrize(
    ("attributes", "ways"),
    [(9, 4), *(pytest.param(*one, marks=pytest.mark.full) for one in [(9, 2), (12, 3), (19, 2)])],
)
def test_it_is_never_above_the_cells_or_the_marginals_alone(attributes, ways):
    workload = marginals([2] * attributes, ways)
    alone = math.sqrt(2) * len(workload.subsets)
    cells = math.sqrt(2 * 2 ** (attributes - ways))
    assert workload.expected_error(epsilon=1) <= min(alone, cells) * (1 + 1e-9)


@pytest.mark.full
def test_more_than_a_thousand_marginals_are_covered():
    workload = marginals([2] * 20, 3)  # 1,351 residuals; 620.5 where no unions are tried
    assert workload.expected_error(epsilon=1) < 200


def random_workload(source):
    sizes = [10**7]
    while math.prod(sizes) > 10**6:
        sizes = [source.choice([2, 2, 2, 3, 4, 5, 8, 12, 20]) for _ in range(source.randint(2, 6))]
    indices = range(len(sizes))
    subsets = [s for k in indices for s in itertools.combinations(indices, k + 1)]
    if source.random() < 0.4:
        width = source.randint(1, min(4, len(sizes)))
        chosen = [s for s in subsets if len(s) == width]
    else:
        chosen = source.sample(subsets, source.randint(1, min(8, len(subsets))))
    return sizes, marginals(sizes, [[str(i) for i in one] for one in chosen])


def smallest_by_descent(sizes, counts, tries, seed):
    """The smallest total that descent finds over shares of all marginals, from random starts."""
    every = [s for k in range(len(sizes) + 1) for s in itertools.combinations(range(len(sizes)), k)]
    matrix = np.zeros((len(every), len(counts)))
    for row, one in enumerate(every):
        for column, part in enumerate(counts):
            if set(part) <= set(one):
                matrix[row, column] = 1 / math.prod(sizes[i] for i in set(one) - set(part))
    weights = np.array(list(counts.values()))

    def value(t):
        precision = (t * t) @ matrix
        if precision.min() <= 1e-100:
            return math.inf, np.zeros_like(t)
        costs, total = weights / precision, float(t.sum())
        slope = 2 * total * costs.sum() - 2 * total**2 * t * (matrix @ (costs / precision))
        return float(total**2 * costs.sum()), slope

    rng = np.random.default_rng(seed)
    smallest = math.inf
    for attempt in range(tries):
        start = np.ones(len(every))
        if attempt:
            start = rng.exponential(size=len(every)) ** (1, 2, 4)[attempt % 3] + 1e-3
        best = minimise(value, start / start.sum(), 600, 1e-7)
        best = np.where(best > 1e-3 * best.max(), best, 0.0)
        smallest = min(smallest, value(best)[0])
    return smallest


@pytest.mark.parametrize(
    "seed",
    [
        *range(8),
        *(pytest.param(seed, marks=pytest.mark.full) for seed in range(8, 40)),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(40, 200)),
    ],
)
def test_random_workloads_are_within_two_percent_of_the_best_known(seed):
    """Of the root mean square error, and never above the cells or the marginals alone."""
    sizes, workload = random_workload(random.Random(seed))
    counts = counts_of(workload)
    error = workload.expected_error(epsilon=1)
    best = smallest_by_descent(sizes, counts, 5, seed)
    assert error <= math.sqrt(2 * best / workload.size) * 1.02
    cells = {tuple(sorted({i for one in workload.subsets for i in one})): 1.0}
    alone = dict.fromkeys(workload.subsets, 1 / len(workload.subsets))
    for shares in (cells, alone):
        total = total_of(sizes, counts, shares)
        assert error <= math.sqrt(2 * total / workload.size) * (1 + 1e-9)
