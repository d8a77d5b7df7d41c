"""The convex optimum: feasible, between its bound and every strategy that is tried."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.workload import ranges
from tacit.workload.strategies import convex_optimum


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 9))
def test_it_is_feasible_and_near_its_bound(seed: int, cells: int, questions: int) -> None:
    rows = np.random.default_rng(seed).integers(-2, 3, (questions, cells)).astype(float)
    gram = rows.T @ rows
    if not gram.any():
        return
    found = convex_optimum(gram)
    assert np.diag(found.square).max() <= 1 + 1e-9
    whole = gram + np.eye(cells) * (1e-9 * np.trace(gram) / cells)
    error = float(np.trace(np.linalg.solve(found.square, whole)))
    assert found.bound * (1 - 1e-6) <= error <= found.bound * 1.01 + 1e-3 * np.trace(gram)
    assert found.bound <= np.trace(gram) * (1 + 1e-9)  # the cells themselves are a strategy


def test_the_factor_is_one() -> None:
    found = convex_optimum(ranges(12).gram)
    assert np.allclose(found.factor().T @ found.factor(), found.square)
