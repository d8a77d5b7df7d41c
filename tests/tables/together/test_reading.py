"""Readings of bins agree with the matrix of their questions."""

import numpy as np
import pytest
from tests.tables.together.test_family import matrix

from tacit.tables.together.strategy import (
    READINGS,
    gram_of,
    magnitudes,
    names_of,
    size_of,
    squares,
    taken,
)


@pytest.mark.parametrize("bins", [1, 2, 5])
@pytest.mark.parametrize("reading", READINGS)
def test_by_the_matrix_of_its_questions(reading, bins):
    w = matrix(reading, bins).astype(float)
    cells = np.arange(1.0, 3 * bins + 1).reshape(3, bins)
    weights = np.cos(np.arange(4 * bins)).reshape(bins, 4)
    assert len(w) == size_of(reading, bins) == len(names_of(reading, range(bins + 1)))
    assert np.allclose(gram_of(reading, bins), w.T @ w)
    assert np.allclose(taken(reading, cells), cells @ w.T)
    assert np.allclose(
        squares(reading, weights @ weights.T), np.diag(w @ weights @ weights.T @ w.T)
    )
    assert np.allclose(magnitudes(reading, weights), np.abs(w @ weights).sum(axis=1))
