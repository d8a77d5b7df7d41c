"""Strategies for bins in order: near the convex optimum, and steady linear algebra."""

import numpy as np
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.workload.range_strategies import best_strategy, check_bins, check_numbers
from tacit.workload.strategies import cholesky, inverse, product, square_root, trace_of_product


@pytest.mark.parametrize("made", [tc.workload.ranges, tc.workload.prefix_sums])
@pytest.mark.parametrize("bins", [1, 2, 7, 24])
def test_they_are_near_what_no_strategy_is_below(made, bins):
    asked = made(bins)
    gaussian = best_strategy(asked.gram, "L2")
    assert asked.error_of(gaussian, rho="1/2") <= 1.002 * asked.expected_error(rho="1/2")
    laplace = best_strategy(asked.gram, "L1")
    assert asked.error_of(laplace, epsilon=1) <= 1.01 * asked.expected_error(epsilon=1)
    assert laplace.sensitivity**2 == laplace.squared_sensitivity
    assert laplace.sensitivity == np.abs(laplace.matrix).sum(axis=0).max()


@pytest.mark.slow
def test_all_ranges_of_256_bins():
    asked = tc.workload.ranges(256)
    assert asked.error_of(best_strategy(asked.gram, "L2"), rho="1/2") <= 2.93
    assert asked.error_of(best_strategy(asked.gram, "L1"), epsilon=2**0.5) <= 5.8


def test_too_many_bins_are_refused_with_their_number():
    check_bins(1024)
    with pytest.raises(UsageError, match="2,000 bins of a column take matrices of 32 MB"):
        check_bins(2000)
    check_numbers(1 << 18, 1)
    with pytest.raises(UsageError, match="1,000 bins have 500,500 ranges"):
        check_numbers(500_500, 1000)


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_steady_linear_algebra_is_that_of_numpy(size):
    drawn = np.cos(np.arange(size * size) ** 1.5).reshape(size, size)
    matrix = drawn @ drawn.T + np.eye(size)
    assert np.allclose(product(drawn, matrix), drawn @ matrix)
    assert np.isclose(trace_of_product(drawn, matrix), np.trace(drawn @ matrix.T))
    assert np.allclose(cholesky(matrix), np.linalg.cholesky(matrix))
    assert np.allclose(inverse(matrix), np.linalg.inv(matrix))
    root = square_root(matrix)
    assert np.allclose(root @ root, matrix)
    assert np.allclose(root, root.T)
    assert np.linalg.eigvalsh(root).min() > 0
