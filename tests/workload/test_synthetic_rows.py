"""Rows fitted to marginals: exact where these are counts of a table, near where they are noisy."""

import itertools

import numpy as np
import pytest

from tacit.arithmetic.mixing import Repeatable
from tacit.workload.synthetic import counts_of, fitted_rows

SIZES = [3, 4, 2, 5]


def people(rows):
    stream = Repeatable(5)
    hidden = np.array([int(stream.random() * 4) for _ in range(rows)])
    turns = [np.array([int(stream.random() * 2) for _ in range(rows)]) for _ in SIZES]
    return np.stack([(hidden + t) % size for t, size in zip(turns, SIZES, strict=True)], axis=1)


def marginals(table, ways):
    sets = itertools.combinations(range(len(SIZES)), ways)
    return [(axes, counts_of(table, axes, [SIZES[i] for i in axes]).astype(float)) for axes in sets]


@pytest.mark.few(3)
@pytest.mark.parametrize(("ways", "most"), [(1, 1.01), (2, 6.0), (3, 12.0)])
def test_counts_of_a_table_are_kept_within_a_few_rows(ways, most):
    table = people(3000)
    wanted = marginals(table, ways)
    made = fitted_rows(SIZES, wanted, 3000, Repeatable(1))
    for axes, counts in wanted:
        assert np.abs(counts_of(made, axes, counts.shape) - counts).max() <= most


@pytest.mark.parametrize(
    ("rows", "scale"), [(2000, 10), pytest.param(20_000, 30, marks=pytest.mark.full)]
)
def test_noise_is_not_added_to(rows, scale):
    table, stream = people(rows), Repeatable(2)
    exact = marginals(table, 2)
    noisy = []
    for axes, counts in exact:
        noise = np.array([stream.gauss(0, scale) for _ in range(counts.size)])
        noisy.append((axes, counts + noise.reshape(counts.shape)))
    made = fitted_rows(SIZES, noisy, rows, Repeatable(3))
    found = [np.abs(counts_of(made, a, c.shape) - c).mean() for a, c in exact]
    direct = [np.abs(c - d).mean() for (_, c), (_, d) in zip(exact, noisy, strict=True)]
    assert np.mean(found) < 1.1 * np.mean(direct)


def test_odd_marginals():
    zero = [((0,), np.zeros(3)), ((1, 0), np.full((4, 3), -5.0)), ((), np.array(7.0))]
    made = fitted_rows(SIZES[:2], zero, 10, Repeatable(1))
    assert made.shape == (10, 2)
    one = fitted_rows([1, 2], [((0, 1), np.array([[0.0, 3.0]]))], 1, Repeatable(1))
    assert one.tolist() == [[0, 1]]
    again = [fitted_rows(SIZES, marginals(people(50), 2), 50, Repeatable(9)) for _ in range(2)]
    assert np.array_equal(*again)


def test_the_order_of_axes_is_that_of_the_counts():
    counts = np.array([[10.0, 0.0], [0.0, 0.0], [0.0, 20.0]])
    made = fitted_rows([2, 3], [((1, 0), counts)], 30, Repeatable(1))
    assert np.array_equal(counts_of(made, (1, 0), (3, 2)), counts)
