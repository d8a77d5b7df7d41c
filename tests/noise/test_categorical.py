"""Draws with given weights."""

from fractions import Fraction

import numpy as np
import pytest

import tacit.noise as tn
from tacit.errors import UsageError


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "weights", [[1, 0, 2, 7], ["1/3", "1/7", 0], [0.1] * 30, [5, 0, 0], [0, 9]]
)
def test_categorical_frequency(stream, fits, weights):
    exact = [Fraction(w) for w in weights]
    total = sum(exact)
    with stream(36):
        many = tn.categorical(weights, size=(100, 500))
        single = [tn.categorical(weights) for _ in range(2000)]
    assert many.shape == (100, 500)
    for found in (many.ravel(), np.array(single)):
        assert all(exact[i] > 0 for i in set(found.tolist()))
        if sum(w > 0 for w in exact) > 1:
            assert fits(found, lambda k: exact[k] / total, 0, len(exact) - 1) > 1e-3


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [float("nan")], ["x"], [1, float("inf")]])
def test_bad_weights(weights):
    with pytest.raises(UsageError, match="weight"):
        tn.categorical(weights)
