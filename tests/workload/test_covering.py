"""Unions of marginals under Laplace noise: their error against least squares, written out."""

import itertools
import math
import random

import numpy as np
import pytest

from tacit.workload.marginals import MOST_SETS, Residuals, covering, marginals, total_of


def matrix_of(sizes, subset):
    """The marginal on some attributes as a matrix over all cells of the domain."""
    found = np.ones((1, 1))
    for place, n in enumerate(sizes):
        found = np.kron(found, np.eye(n) if place in subset else np.ones((1, n)))
    return found


def error_by_least_squares(sizes, asked, shares):
    """The total squared error of the asked marginals, from the whole matrices."""
    whole = np.concatenate([share * matrix_of(sizes, one) for one, share in shares.items()])
    covariance = np.linalg.pinv(whole.T @ whole, hermitian=True, rcond=1e-10)
    tables = [matrix_of(sizes, one) for one in asked]
    return sum(np.trace(one @ covariance @ one.T) for one in tables)


def counted(sizes, ways=(1, 2)):
    needed = marginals(list(sizes), ways).residuals
    return dict(zip(needed.subsets, needed.counts.tolist(), strict=True))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 2), (3, 2, 4, 2)])
def test_the_error_is_that_of_least_squares(sizes):
    asked = [s for w in (1, 2) for s in itertools.combinations(range(len(sizes)), w)]
    found = covering(sizes, counted(sizes))
    shares = dict(zip(found.sets, found.shares, strict=True))
    assert sum(found.shares) == pytest.approx(1)
    assert all(any(set(one) <= set(known) for known in found.sets) for one in asked)
    assert found.total == pytest.approx(error_by_least_squares(sizes, asked, shares))
    assert found.total == pytest.approx(total_of(sizes, counted(sizes), shares))


def test_pairs_of_bits_come_from_one_table():
    # eight bits: the whole table has 256 cells, 36 marginals apart have 36^2 times the variance
    found = covering((2,) * 8, counted((2,) * 8))
    assert found.sets == (tuple(range(8)),)
    assert found.total == pytest.approx(sum(math.comb(8, w) * 256 for w in (1, 2)))


@pytest.mark.parametrize("seed", range(10))
def test_it_is_never_worse_than_the_asked_marginals_alone(seed):
    source = random.Random(seed)
    sizes = tuple(source.randint(2, 9) for _ in range(source.randint(2, 6)))
    counts = counted(sizes, (1, 2))
    alone = Residuals.of(sizes, counts)
    before = alone.total(alone.laplace_variances(alone.laplace_shares()))
    assert covering(sizes, counts).total <= before * (1 + 1e-9)


def test_the_columns_of_adult():
    sizes = (7, 16, 7, 14, 6, 5, 2, 2)
    error = marginals(list(sizes), (1, 2)).expected_error(epsilon=1)
    assert error < 25.4  # 28.89 without unions
    assert error > marginals(list(sizes), (1, 2)).lower_bound(epsilon=1)


def test_too_many_are_not_tried():
    many = {(i,): 1.0 for i in range(MOST_SETS + 1)}
    assert covering((2,) * len(many), many) is None
    assert covering((2,), {}) is None
