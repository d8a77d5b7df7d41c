"""Sensitivity sampling: how many samples are needed, and that it is no guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit.statistics as ts
from tacit.errors import UsageError
from tacit.statistics.lower_bounds import samples_needed


@pytest.mark.parametrize("gamma", [0.4, 0.1, 0.05, 0.01])
def test_the_number_of_samples_is_enough_and_close_to_least(gamma: float) -> None:
    count, rank = samples_needed(gamma)
    assert rank <= count

    def failure(m: int, k: int, rho: float) -> float:
        return rho + 1 - k / m + math.sqrt(math.log(1 / rho) / (2 * m))

    rhos = np.geomspace(1e-9, 0.5, 4000)
    assert min(failure(count, rank, rho) for rho in rhos) <= gamma * (1 + 1e-6)
    fewer = int(count * 0.99)
    assert min(failure(fewer, fewer, rho) for rho in rhos) > gamma


def test_sampled_sensitivity() -> None:
    draw = np.random.default_rng(3).random
    found = ts.sampled_sensitivity("mean", draw, 20, samples=500)
    assert 0 < found.value <= 1 / 20
    assert found.rank == found.samples == 500
    assert 0.05 < found.gamma < 0.1
    assert not found.is_guarantee
    assert "random differential privacy" in found.why_no_guarantee
    for wrong in ({}, {"gamma": 0.1, "samples": 5}, {"gamma": 1}, {"gamma": 0}):
        with pytest.raises(UsageError):
            ts.sampled_sensitivity("mean", draw, 20, **wrong)
    with pytest.raises(UsageError, match="must return that many"):
        ts.sampled_sensitivity("mean", lambda count: [1.0], 20, samples=5)
