"""Non-negative least squares against scipy."""

import numpy as np
import pytest

from tacit.local.hashing import nonnegative_least_squares


def test_nonnegative_least_squares_is_optimal():
    scipy_nnls = pytest.importorskip("scipy.optimize").nnls
    source = np.random.default_rng(2)
    for rows, columns in ((5, 3), (30, 12), (60, 40)):
        for _ in range(20):
            design = source.integers(0, 3, (rows, columns)).astype(float)
            target = source.normal(size=rows)
            ours = nonnegative_least_squares(design, target)
            _, length = scipy_nnls(design, target)
            assert ours.min() >= 0
            assert np.linalg.norm(design @ ours - target) <= length + 1e-9
