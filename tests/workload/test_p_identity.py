"""p-identities: the gradient against differences, the columns, and less error than the cells."""

from __future__ import annotations

import numpy as np

from tacit.workload import ranges
from tacit.workload import strategies as module
from tacit.workload.strategies import p_identity


def test_the_gradient_is_that_of_the_value() -> None:
    gram = ranges(7).gram
    point = np.random.default_rng(1).random((2, 7))
    blocks = module.__dict__["_Blocks"](gram, np.diag(gram), np.ones(7))  # of one cell each
    value_of = module.__dict__["_error"]

    def error(point, _):
        return value_of(point, blocks)

    value, slope = error(point, gram)
    matrix = np.vstack([np.eye(7), point]) / (1 + point.sum(axis=0))
    assert np.isclose(value, np.trace(np.linalg.solve(matrix.T @ matrix, gram)))
    for place in np.ndindex(2, 7):
        moved = point.copy()
        moved[place] += 1e-6
        assert np.isclose(
            (error(moved, gram)[0] - value) / 1e-6, slope[place], rtol=1e-3, atol=1e-3
        )


def test_it_beats_the_cells_on_ranges() -> None:
    gram = ranges(32).gram
    found = p_identity(gram, 2)
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=0), 1)
    assert np.trace(np.linalg.solve(found.T @ found, gram)) < 0.9 * np.trace(gram)
