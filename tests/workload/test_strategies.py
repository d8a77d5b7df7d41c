"""Strategies of whole numbers: their sensitivity against its definition, and what they answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.workload.strategies import Strategy, block_tree, identity, rounded, wavelet

MATRICES = st.integers(1, 5).flatmap(
    lambda cells: st.lists(
        st.lists(st.integers(-9, 9), min_size=cells, max_size=cells), min_size=1, max_size=6
    )
)


@given(MATRICES, st.lists(st.integers(0, 4), min_size=5, max_size=5))
def test_a_row_more_moves_the_combinations_by_the_sensitivity_at_most(
    matrix: list[list[int]], counts: list[int]
) -> None:
    whole = np.array(matrix, dtype=np.int64)
    before = np.array(counts[: whole.shape[1]])
    reached = {"L1": Fraction(0), "L2": Fraction(0)}
    for cell in range(whole.shape[1]):
        after = before.copy()
        after[cell] += 1
        moved = [int(v) for v in whole @ after - whole @ before]
        reached["L1"] = max(reached["L1"], Fraction(sum(map(abs, moved))) ** 2)
        reached["L2"] = max(reached["L2"], Fraction(sum(v * v for v in moved)))
    for norm, square in reached.items():
        found = Strategy("drawn", whole, norm)
        assert found.squared_sensitivity == square
        assert found.sensitivity**2 >= square
        assert found.sensitivity**2 <= square * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 8, 13, 16])
def test_hierarchies_tell_every_cell(cells: int) -> None:
    for norm in ("L1", "L2"):
        for found in (identity(cells, norm), block_tree(cells, 2, norm), wavelet(cells, norm)):
            assert np.allclose(found.inverse @ found.matrix, np.eye(cells))


def test_sensitivities_of_hierarchies() -> None:
    assert identity(9, "L1").sensitivity == 1
    assert block_tree(16, 2, "L1").sensitivity == 5
    assert block_tree(16, 4, "L2").squared_sensitivity == 3
    assert wavelet(16, "L1").sensitivity == 5


def test_the_covariance_is_that_of_least_squares() -> None:
    tree = block_tree(5, 2, "L2")
    square = math.isqrt(tree.squared_sensitivity**2)
    assert np.allclose(tree.covariance, square * tree.inverse @ tree.inverse.T)


def test_a_rounded_strategy_is_measured_as_it_is() -> None:
    found = rounded("example", np.array([[0.6, 0.1], [0.3, 0.4]]), "L1", 10)
    assert found.matrix.tolist() == [[6, 1], [3, 4]]
    assert found.sensitivity == 9


def test_entries_that_could_overflow_are_refused() -> None:
    with pytest.raises(UsageError, match="2\\^20"):
        Strategy("large", np.array([[1 << 21]]), "L1")
