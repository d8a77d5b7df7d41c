"""Estimates of square waves: linear ones with errors, the likeliest without."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.errors import RefusedError, UsageError
from tacit.local import (
    SquareWave,
)


def coverage(held: list, level: float) -> None:
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share


@pytest.mark.full
def test_the_linear_estimate_of_a_square_wave():
    wave = SquareWave(0, 1, epsilon=2, bins=12)
    values = np.minimum(np.random.default_rng(5).beta(2, 5, 3000), 0.999)
    places = wave.read(values)
    for edges in (None, [0, 3, 6, 12], [2, 5]):
        cuts = list(range(13)) if edges is None else edges
        true = np.histogram(values, np.array(cuts) / 12)[0]
        z, held = [], []
        with reproducible(31):
            for _ in range(120):
                e = wave.estimate(wave._draw(places), unbiased=True, edges=edges)
                low, high = e.interval("0.9")
                z.append((e.counts - true) / e.standard_error)
                held.append((low <= true) & (true <= high))
        assert e.method == "unbiased"
        assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(120)
        assert 0.85 < np.std(z) < 1.15
        coverage(held, 0.9)
        assert np.mean(held) < 0.95
    assert len(wave.estimate(wave.perturb_many(values), unbiased=True).items) == 12


def test_the_likeliest_square_wave_says_that_it_has_no_errors():
    wave = SquareWave(0, 1, epsilon=2, bins=12)
    state = wave.aggregate(wave.perturb_many([0.2] * 500))
    for smooth in (True, False):
        with pytest.raises(RefusedError, match="no known error"):
            wave.estimate(state, smooth=smooth).interval()
    for edges in ([0], [3, 3], [5, 2], [0, 13], [-1, 5], [0.5, 2]):
        with pytest.raises(UsageError):
            wave.estimate(state, unbiased=True, edges=edges)
    with pytest.raises(UsageError, match="unbiased=True"):
        wave.estimate(state, edges=[0, 12])
    with pytest.raises(UsageError, match="zero reports"):
        wave.estimate(wave.empty(), unbiased=True)
