"""Ranges: sums of few intervals, with errors that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.errors import UsageError
from tacit.local import (
    HierarchicalRanges,
)


def coverage(held: list, level: float) -> None:
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share


@pytest.mark.full
def test_ranges_have_errors_that_hold():
    oracle = HierarchicalRanges(64, epsilon=1)
    values = (np.arange(6000) ** 2 // 7) % 50
    ranges = [(0, 63), (0, 0), (10, 20), (3, 58), (50, 63)]
    true = np.array([np.sum((values >= a) & (values <= b)) for a, b in ranges])
    z, held = [], []
    with reproducible(32):
        for _ in range(100):
            e = oracle.estimate_ranges(oracle.perturb_many(values), ranges)
            low, high = e.interval("0.9")
            z.append((e.counts - true) / e.standard_error)
            held.append((low <= true) & (true <= high))
    assert e.items == tuple(ranges)
    assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(100)
    assert 0.6 < np.std(z, axis=0).min() <= np.std(z, axis=0).max() < 1.3
    coverage(held, 0.9)
    state = oracle.aggregate(oracle.perturb_many(values))
    assert oracle.share(state, 10, 20) == oracle.estimate_ranges(state, [(10, 20)]).frequencies[0]
    with pytest.raises(UsageError, match="at least one range"):
        oracle.estimate_ranges(state, [])


def test_ranges_are_sums_of_few_intervals():
    oracle = HierarchicalRanges(100, epsilon=2, branching=3)
    for low in range(0, 100, 7):
        for high in range(low + 1, 101, 3):
            leaves = []
            for level, place in oracle._cover(low, high):
                step = 3 ** int(level)
                leaves += range(place * step, min((place + 1) * step, 100))
            assert sorted(leaves) == list(range(low, high))
    values = [i % 50 for i in range(40_000)]
    with reproducible(25):
        state = oracle.aggregate(oracle.perturb_many(values))
    assert oracle.share(state, 0, 24) == pytest.approx(0.5, abs=0.08)
    assert oracle.share(state, 50, 99) == pytest.approx(0, abs=0.08)
    with pytest.raises(UsageError):
        oracle.share(state, 3, 2)
