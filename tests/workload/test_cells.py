"""Workloads over cells: their sums, published errors, bounds, and drawn noise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.workload import prefix_sums, queries, ranges
from tacit.workload.strategies import block_tree, identity, wavelet


def all_ranges(cells: int) -> np.ndarray:
    """Every range as a row, by its definition."""
    found = [
        [int(start <= cell <= end) for cell in range(cells)]
        for start, end in itertools.combinations_with_replacement(range(cells), 2)
    ]
    return np.array(found)


@pytest.mark.parametrize("cells", [1, 2, 5, 9])
def test_sums_of_ranges_and_prefixes_are_those_of_their_rows(cells: int) -> None:
    rows = all_ranges(cells)
    assert np.array_equal(ranges(cells).gram, rows.T @ rows)
    assert ranges(cells).size == len(rows)
    rows = np.array([[int(c <= end) for c in range(cells)] for end in range(cells)])
    assert np.array_equal(prefix_sums(cells).gram, rows.T @ rows)


@pytest.mark.full
def test_published_errors_of_hierarchies() -> None:
    """All ranges of 256 cells at unit budget, as the authors of the matrix mechanism have them."""
    asked = ranges(256)
    assert asked.error_of(identity(256, "L2"), rho="1/2") == pytest.approx(9.274, abs=0.001)
    assert asked.lower_bound(rho="1/2") == pytest.approx(2.876, abs=0.001)
    assert asked.error_of(wavelet(256, "L2"), rho="1/2") == pytest.approx(3.505, abs=0.001)
    assert asked.error_of(block_tree(256, 2, "L2"), rho="1/2") == pytest.approx(3.835, abs=0.001)


@pytest.mark.full
def test_all_ranges_of_256_cells_are_near_the_published_optimum() -> None:
    assert ranges(256).expected_error(rho="1/2") <= 2.91  # the optimum is 2.902


@pytest.mark.slow
def test_all_ranges_of_256_cells_by_a_p_identity() -> None:
    assert ranges(256).expected_error(epsilon=2**0.5) <= 5.75  # the cells themselves: 9.27


@pytest.mark.parametrize("loss", [{"rho": "1/2"}, {"epsilon": 1}])
def test_the_chosen_strategy_is_no_worse_than_any_that_is_tried(loss: dict[str, object]) -> None:
    asked = ranges(20)
    best = asked.expected_error(**loss)
    for other in (identity(20, "L2"), block_tree(20, 2, "L2"), wavelet(20, "L2")):
        assert best <= asked.error_of(other, **loss) * (1 + 1e-9)
    assert asked.lower_bound(**loss) <= best


def test_noise_on_the_combinations_gives_the_expected_error() -> None:
    asked = queries(all_ranges(8).tolist())
    plan = asked.strategy(rho="1/2")
    sigma = plan.sensitivity  # at rho 1/2
    assert asked.rows is not None
    noise = np.array(tc.noise.discrete_gaussian(sigma, 4000 * len(plan.matrix)), dtype=float)
    answers = noise.reshape(4000, -1) @ (asked.rows @ plan.inverse).T
    measured = float(np.sqrt((answers**2).mean()))
    assert measured == pytest.approx(asked.expected_error(rho="1/2"), rel=0.06)


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(UsageError, match=r"10,000 cells takes matrices of 0\.8 GB"):
        ranges(10_000)
    with pytest.raises(UsageError, match="a matrix of numbers"):
        queries([[1, 2], [3]])
    with pytest.raises(UsageError, match="weight above zero"):
        queries([[1, 2], [3, 4]], weights=[1, 0])
    with pytest.raises(UsageError, match="say the privacy loss"):
        ranges(4).expected_error()


def test_a_question_that_counts_more_is_answered_better() -> None:
    rows = np.eye(4).tolist()
    even, heavy = queries(rows), queries(rows, weights=[9, 1, 1, 1])

    def variance(asked: tc.workload.Workload) -> float:
        return float(asked.strategy(rho=1).covariance[0, 0])

    assert variance(heavy) <= variance(even)
