"""Means and spreads of numbers: recovered, and missing numbers read as declared."""

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.errors import UsageError
from tacit.local import (
    Duchi,
    LaplaceMean,
    Piecewise,
    SquareWave,
)


def test_means_and_square_waves_recover_what_was_sent():
    source = np.random.default_rng(6)
    values = np.clip(source.normal(30, 10, 20_000), 0, 100)
    with reproducible(8):
        for oracle in (Duchi(0, 100, epsilon=1), Piecewise(0, 100, epsilon=1),
                       LaplaceMean(0, 100, epsilon=1)):  # fmt: skip
            e = oracle.estimate(oracle.perturb_many(values))
            assert abs(e.mean - values.mean()) < 5 * e.standard_error
            low, high = e.interval("0.999999")
            assert low < values.mean() < high
        wave = SquareWave(0, 100, epsilon=2, bins=50)
        found = wave.estimate(wave.perturb_many(values))
    real = np.histogram(values, 50, (0, 100))[0] / len(values)
    assert np.abs(np.cumsum(found.frequencies) - np.cumsum(real)).max() < 0.08
    assert "smoothed" in found.method


def test_missing_numbers_are_read_as_declared_or_refused():
    for kind in (Duchi, Piecewise, LaplaceMean, SquareWave):
        with pytest.raises(UsageError, match="missing"):
            kind(0, 1, epsilon=1).perturb(None)
        oracle = kind(0, 1, epsilon=1, missing="1/2")
        odd = [None, float("nan"), math.inf, -math.inf, 10**400, -5, 0.25]
        assert oracle.aggregate(oracle.perturb_many(odd)).n == len(odd)
        whole = oracle.read(odd).tolist()
        assert whole[0] == whole[1] == oracle.read([0.5])[0]
        assert whole[2] == whole[4] == oracle.read([1])[0]
