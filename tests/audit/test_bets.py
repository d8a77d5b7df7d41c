"""Bets on grades: a fair game against every true claim, and the fastest against a false one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.audit.bets import Bets, GradedBets, _chances, expected_bound, payoffs

DRAW = np.random.default_rng(5)


def corners(bins: int, epsilon: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (P, Q) at the border of the claim: each ratio is exp(epsilon) or its inverse.

    The mean of a factor is bilinear, and its worst case lies where the claim is tight: Q / P takes
    the values c and 1 / c, and one bin in between makes both sum to 1.
    """
    c, found = math.exp(epsilon), []
    for pattern in itertools.product((-1, 1), repeat=bins):
        for masses in DRAW.dirichlet(np.ones(bins), size=4):
            ratio = c ** np.array(pattern, dtype=float)
            up, down = masses[ratio > 1], masses[ratio <= 1]
            if not len(up) or not len(down):
                found.append((masses, masses))
                continue
            # scale both groups so that P and Q = P / ratio sum to 1
            share = (1 - 1 / c) / (c - 1 / c) if c > 1 else 0.5
            p = np.where(ratio > 1, masses / up.sum() * c * share, masses / down.sum())
            p = np.where(ratio > 1, p, p * (1 - c * share))
            found.append((p, p / ratio))
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_no_factor_has_a_mean_above_1_under_a_true_claim(epsilon):
    """Whatever was estimated: by the definition, over the pairs at the border of the claim."""
    truths = corners(4, epsilon)
    for p, q in truths:
        assert p.sum() == pytest.approx(1)
        assert q.sum() == pytest.approx(1)
        assert np.abs(np.log(p / q)).max() <= epsilon + 1e-9
    for _ in range(30):
        guess = DRAW.dirichlet(np.ones(4) / 2, size=2) + 1e-6
        a, b = payoffs(guess[0], guess[1], np.array([epsilon]))
        assert (a >= 0).all()
        assert (b >= 0).all()
        means = [float(a[0] @ p) * float(b[0] @ q) for p, q in truths]
        assert max(means) <= 1 + 1e-12


def test_the_payoffs_are_the_best_against_the_claim():
    """No other numbers r and s of the form of the proof let the wealth grow faster."""
    p, q, epsilon = np.array([0.6, 0.25, 0.15]), np.array([0.2, 0.2, 0.6]), 0.7
    c = math.exp(epsilon)
    a, b = payoffs(p, q, np.array([epsilon]))
    growth = float(p @ np.log(a[0]) + q @ np.log(b[0]))
    assert growth > 0
    for _ in range(3_000):
        share = DRAW.uniform(0.2, 1.8)
        r, s = DRAW.uniform(0, 0.8, (2, 3)) * (DRAW.random((2, 3)) < 0.5)
        one, other = share + r - c * s, 2 - share + s - c * r
        if (one > 0).all() and (other > 0).all():
            assert float(p @ np.log(one) + q @ np.log(other)) <= growth + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.2), (0.3, 0.01), (2.0, 0.1)])
def test_no_factor_has_a_mean_above_1_under_a_true_claim_at_a_delta(epsilon, delta):
    """Pairs within (epsilon, delta): a pair within epsilon, and delta of each on one output.

    P = (1 - delta) P0 + delta e_i <= exp(epsilon) (1 - delta) Q0 + delta, on every event.
    """
    truths = [
        ((1 - delta) * p + delta * np.eye(4)[i], (1 - delta) * q + delta * np.eye(4)[j])
        for p, q in corners(4, epsilon)[::3]
        for i in range(4)
        for j in range(4)
    ]
    loss = math.exp(epsilon)
    p, q = (np.array(side) for side in zip(*truths, strict=True))
    for one, other in ((p, q), (q, p)):
        assert np.maximum(one - loss * other, 0).sum(axis=1).max() <= delta + 1e-9
    for _ in range(60):
        guess = DRAW.dirichlet(np.ones(4) / 2, size=2) + 1e-6
        a, b = payoffs(guess[0], guess[1], np.array([epsilon]), delta)
        assert (a >= 0).all()
        assert (b >= 0).all()
        assert ((p @ a[0]) * (q @ b[0])).max() <= 1 + 1e-12


def test_what_tells_all_is_bet_on_at_a_small_delta_and_not_at_its_own():
    """An output in one run of ten tells all: (0, 0.1), and no finite epsilon below that delta."""
    p, q = np.array([0.1, 0.9, 1e-9]), np.array([1e-9, 0.9, 0.1])
    grows = []
    for delta in (0.0, 0.05, 0.09, 0.11):
        a, b = payoffs(p, q, np.array([1.0]), delta)
        grows.append(float(p @ np.log(np.maximum(a[0], 1e-9)) + q @ np.log(np.maximum(b[0], 1e-9))))
    assert grows[0] > grows[1] > grows[2] > 1e-4
    assert grows[3] == pytest.approx(0, abs=1e-12)


def test_within_the_claim_nothing_is_bet():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.35, 0.25])
    a, b = payoffs(p, q, np.array([1.0]))
    assert np.allclose(a, 1, atol=1e-9)
    assert np.allclose(b, 1, atol=1e-9)


def test_both_directions_count_and_a_bet_is_made_before_its_rounds():
    def score(outputs):
        return np.asarray(outputs, dtype=float)

    bets = GradedBets(np.array([0.1, 5.0]))
    bets.add([1] * 10, [0] * 10)
    assert not bets.log_wealth().any()
    left, right = [1] * 70 + [0] * 30, [1] * 30 + [0] * 70
    bets.learn(score, left, right)
    assert not bets.log_wealth().any()
    bets.add(left, right)
    both = bets.log_wealth()[0]
    assert both > 4
    assert bets.log_wealth()[1] < both
    bets.add([0] * 500, [1] * 500)
    assert bets.log_wealth()[0] < both


def test_the_expected_bound_rises_to_the_loss_and_is_smaller_at_a_delta():
    grades = np.repeat([0.0, 1.0], [1000, 3000]), np.repeat([0.0, 1.0], [3000, 1000])
    bounds = [expected_bound(grades, runs, 0.0, 0.99) for runs in (5, 100, 10_000, 10**7)]
    assert bounds[0] == 0
    assert sorted(bounds) == bounds
    assert 0.95 * math.log(3) < bounds[-1] <= math.log(3)
    assert 0.4 < expected_bound(grades, 10_000, 0.1, 0.99) < bounds[2]


def test_ratios_rise_with_the_score_and_bins_against_the_order_are_joined():
    counts = np.array([[10.0, 30.0, 20.0, 90.0], [90.0, 50.0, 60.0, 10.0]])
    p, q = _chances(counts)
    ratio = p / q
    assert (np.diff(ratio) >= -1e-12).all()
    assert ratio[1] == pytest.approx(ratio[2])
    assert (p + q).sum() == pytest.approx(2)


def test_beside_other_bets_no_more_than_log_2_is_given_away():
    alone, mixed = (Bets(0.0, 0.99, np.array([0.5])) for _ in range(2))
    left, right = [True] * 30 + [False] * 10, [True] * 4 + [False] * 36
    alone.add(left, right)
    mixed.add(left, right, np.array([-1e9]))
    assert alone.lower == 0.5 == mixed.lower
    only = Bets(0.0, 0.99, np.array([0.5]))
    only.add([], [], np.array([math.log(2 * 100) + 0.1]))
    assert only.refutes(0.5)
    less = Bets(0.0, 0.99, np.array([0.5]))
    less.add([], [], np.array([math.log(2 * 100) - 0.1]))
    assert not less.refutes(0.0)
