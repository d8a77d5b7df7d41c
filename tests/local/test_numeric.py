"""Means and spreads of numbers: recovered, and missing numbers read as declared."""

import math
from dataclasses import replace

import numpy as np
import pytest

from local.local_laws import coverage, reproducible
from tacit.errors import RefusedError, UsageError
from tacit.local import (
    Duchi,
    LaplaceMean,
    Piecewise,
    SquareWave,
)


def test_means_and_square_waves_recover_what_was_sent():
    source = np.random.default_rng(6)
    values = np.clip(source.normal(30, 10, 8_000), 0, 100)
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


# Estimates of square waves: linear ones with errors, the likeliest without.


@pytest.mark.full
def test_the_linear_estimate_of_a_square_wave():
    wave = SquareWave(0, 1, epsilon=2, bins=12)
    values = np.minimum(np.random.default_rng(5).beta(2, 5, 3000), 0.999)
    places = wave.read(values)
    for edges in (None, [0, 3, 6, 12], [2, 5]):
        cuts = list(range(13)) if edges is None else edges
        true = np.histogram(values, np.array(cuts) / 12)[0]
        z, held, wide = [], [], []
        with reproducible(31):
            for _ in range(120):
                e = wave.estimate(wave._draw(places), unbiased=True, edges=edges)
                low, high = e.interval("0.9")
                z.append((e.counts - true) / e.standard_error)
                held.append((low <= true) & (true <= high))
                wide.append((high - low) / e.standard_error)
        assert e.method == "unbiased"
        assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(120)
        assert 0.85 < np.std(z) < 1.15
        coverage(held, 0.9)
        # a bound of Chernoff's is at most sqrt(2 ln(2 / 0.1)) / 1.645 = 1.49 times as wide
        assert np.mean(wide) < 1.52 * 2 * 1.645
    assert len(wave.estimate(wave.perturb_many(values), unbiased=True).items) == 12


@pytest.mark.parametrize("level", [0.95, 0.999999])
def test_intervals_hold_their_level_by_the_exact_distribution(level: float):
    """Normal ones missed a bin of 80 of 600 in 2.5% (95% of eight at once) and 0.16% of reports."""
    wave = SquareWave(0, 80, epsilon=4, bins=8)
    p, q = wave.window.matrix()[0, :2]
    assert wave.reach == 0  # so that a count depends on how many reports are of its bin
    for true in (0, 3, 80):
        law = np.convolve(binomial(true, p), binomial(600 - true, q))
        missed = 0.0
        for k in np.flatnonzero(law > 1e-12):
            rest = np.full(8, (600 - k) // 8, np.int64)
            rest[-1] = k
            rest[0] += 600 - rest.sum()
            state = replace(wave.empty(), n=600, sums=rest)
            low, high = wave.estimate(state, unbiased=True).simultaneous(level)
            missed += law[k] * (not low[-1] <= true <= high[-1])
        assert missed < (1 - level) / 8


def binomial(n: int, p: float) -> np.ndarray:
    made = np.ones(1)
    for _ in range(n):
        made = np.convolve(made, [1 - p, p])
    return made


def test_intervals_of_wide_windows_hold_together():
    wave = SquareWave(0, 80, epsilon=2, bins=8)
    true = np.array([0, 20, 100, 100, 100, 100, 100, 80])
    source, missed = np.random.default_rng(7), 0
    assert wave.reach == 1
    for _ in range(60):
        sums = [source.multinomial(t, m) for t, m in zip(true, wave.window.matrix(), strict=True)]
        state = replace(wave.empty(), n=600, sums=np.sum(sums, axis=0))
        low, high = wave.estimate(state, unbiased=True).simultaneous(0.9)
        missed += not ((low <= true) & (true <= high)).all()
    assert missed <= 6


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
