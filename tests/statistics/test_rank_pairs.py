"""The search for the best pair of ranks finds what listing all pairs finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.statistics.rank_pairs import FAR, Staircase, between


class Width:
    """A pair costs as many steps as there are ranks between its two, and more of later kinds."""

    def exact(self, kind, low, high):
        steps = high - low - 2 + kind
        return np.where(steps > 20, FAR, steps)

    def least(self, kind, i1, i2, r1, r2):
        return np.maximum(r1 - i2, 2) - 2 + kind


def search(ranks, c1, c3):
    ranks = np.asarray(ranks)
    last = len(ranks) - 1
    return Staircase(ranks, np.array(c1), np.array(c3), Width(), (0, last - 2), (2, last))


def pairs(found):
    """Every pair: its value and its steps, by the definition."""
    ranks, last = found.ranks.tolist(), len(found.ranks) - 1
    for kind, (c1, c3) in enumerate(zip(found.c1.tolist(), found.c3.tolist(), strict=True)):
        for low in range(last - 1):
            for high in range(low + 2, last + 1):
                steps = int(Width().exact(*map(np.array, (kind, low, high))))
                mid = ranks[high - 1] if c1 >= c3 else ranks[low + 1]
                value = c1 * (mid - ranks[low]) + c3 * (ranks[high] - mid)
                if steps < FAR:
                    yield value, steps


CASES = [
    (sorted(np.random.default_rng(seed).integers(0, spread, size).tolist()), c1, c3)
    for seed, size, spread in ((1, 5, 9), (2, 30, 50), (3, 60, 10**6), (4, 60, 4), (5, 3, 2))
    for c1, c3 in (([1], [2]), ([2, 1, 0], [1, 3, 0]), ([0, 1], [1, 0]))
]


@pytest.mark.parametrize(("ranks", "c1", "c3"), CASES)
def test_the_best_pair_within_some_steps_is_found(ranks, c1, c3):
    found = search(ranks, c1, c3)
    listed = list(pairs(found))
    for distance in (0, 1, 3, 10, 25):
        best = max((value for value, steps in listed if steps <= distance), default=0)
        assert found.within(distance) == max(best, 0)


@pytest.mark.parametrize(("ranks", "c1", "c3"), CASES)
def test_the_nearest_pair_above_a_bound_is_found(ranks, c1, c3):
    found = search(ranks, c1, c3)
    listed = list(pairs(found))
    for bound in (0, ranks[-1] // 3, ranks[-1], 10**9):
        nearest = min((steps for value, steps in listed if value > bound), default=None)
        assert found.nearest(bound) == nearest


@pytest.mark.parametrize(("ranks", "c1", "c3"), CASES)
@pytest.mark.parametrize("beta", [Fraction(1, 10), Fraction(2)])
def test_the_decayed_maximum_is_never_below_and_hardly_above(ranks, c1, c3, beta):
    found = search(ranks, c1, c3)
    truth = max(
        (v * float(np.exp(-float(beta) * max(s - 1, 0))) for v, s in pairs(found)), default=0.0
    )
    asked = found.decayed(beta, 1)
    assert truth * (1 - 1e-12) <= asked <= max(truth, 0) * (1 + 2.5e-7)
    assert found.decayed(beta, 1, best=10.0**12) == 10.0**12


def test_a_pair_is_the_gap_below_and_above_its_middle():
    ranks, one = np.array([0, 2, 5, 11]), np.array([1])
    below, above = np.array([0]), np.array([3])
    assert between(ranks, 2 * one, one, below, above).tolist() == [2 * 5 + 6]
    assert between(ranks, one, 2 * one, below, above).tolist() == [2 + 2 * 9]
