"""The bound on the trade-off curve: on the right side at all times, for events that change."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from tacit.audit.sampled import TradeOff, mean_below

DRAW = np.random.default_rng(3)


@pytest.mark.full
def test_the_bound_fails_at_no_more_than_alpha_over_all_times_and_all_plans():
    """Exactly: the most that a gambler reaches who sets each chance by all that came before."""
    rounds, alpha, chances = 8, 0.3, (0.02, 0.4, 0.9)
    table = {
        n: mean_below(np.arange(n + 1.0), np.full(n + 1, float(n)), alpha)
        for n in range(1, rounds + 1)
    }

    def worst(n, count, total):
        """The largest probability that the mean is above its bound at some time from now on."""
        if n and total / n > table[n][count]:
            return 1.0
        if n == rounds:
            return 0.0
        return max(
            m * worst(n + 1, count + 1, total + m) + (1 - m) * worst(n + 1, count, total + m)
            for m in chances
        )

    assert 0.01 < worst(0, 0, 0.0) <= alpha


def test_the_bound_is_near_the_mean_after_many_runs():
    runs = np.full(3, 1e6)
    above = mean_below(np.array([1e3, 1e5, 5e5]), runs, 1e-3)
    assert above[0] == pytest.approx(1e-3, rel=0.2)
    assert above[1] == pytest.approx(0.1, rel=0.02)
    assert above[2] == pytest.approx(0.5, rel=0.01)
    assert (above > np.array([1e-3, 0.1, 0.5])).all()


def test_the_curve_is_above_the_true_one_for_thresholds_that_move():
    """Laplace noise of scale 1 and a shift of 1: type II error max of two exponentials (Dong)."""
    curve = TradeOff(3)
    for _ in range(40):
        cuts = DRAW.uniform(-1, 2, 3)
        u, v = DRAW.laplace(1, 1, 500), DRAW.laplace(0, 1, 500)
        inside = np.array([(side[:, None] > cuts).sum(axis=0) for side in (u, v)])
        curve.add(slice(0, 3), inside, 500)
    corners = curve.corners(1 - 1e-6)
    for type_i, type_ii in corners:
        if type_i < math.exp(-1) / 2:
            least = 1 - math.e * type_i
        elif type_i <= 0.5:
            least = math.exp(-1) / (4 * type_i)
        else:
            least = math.exp(-1) * (1 - type_i)
        assert type_ii >= least - 1e-12
    assert corners[0] == (0, 1)
    assert corners[-1] == (1, 0)
    slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(corners)]
    assert slopes == sorted(slopes)
    assert min(a + b for a, b in corners) < 0.8


def test_nothing_counted_says_nothing_and_the_shares_are_of_what_shows_the_most():
    curve = TradeOff(2)
    assert curve.corners(0.99) == ((0, 1), (1, 0))
    assert curve.shares(0.99, 0.0) == (0, 0)
    curve.add(slice(0, 1), np.array([[520], [500]]), 1000)
    curve.add(slice(1, 2), np.array([[990], [700]]), 1000)
    assert curve.shares(0.99, 0.0) == pytest.approx((0.3, 0.01))
