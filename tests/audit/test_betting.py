"""The bets are a fair game against a true claim, and win against a false one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.audit.bets import Bets, grid_up_to


@pytest.mark.parametrize(
    ("epsilon", "delta", "q"), [(0.0, 0.0, 0.5), (1.0, 0.0, 0.1), (0.5, 0.2, 0.3)]
)
def test_the_wealth_never_grows_on_average_at_the_border_of_the_claim(epsilon, delta, q):
    """By the definition: over all outcomes of four rounds, weighted by their probabilities."""
    p = math.exp(epsilon) * q + delta
    rounds = list(itertools.product((False, True), repeat=2))
    mass = {(x, y): (p if x else 1 - p) * (q if y else 1 - q) for x, y in rounds}
    total = 0.0
    for history in itertools.product(rounds, repeat=4):
        bets = Bets(delta, 0.99, np.array([epsilon]))
        bets.add([x for x, _ in history], [y for _, y in history])
        total += math.prod(mass[r] for r in history) * math.exp(bets.log_wealth()[0])
    assert total <= 1 + 1e-9  # the way back, v against u, loses on average


def test_the_wealth_at_the_border_is_fair_when_both_ways_are():
    """At epsilon 0 the claim is equality: each way is a fair game, so the mean is 1 exactly."""
    rounds = list(itertools.product((False, True), repeat=2))
    total = 0.0
    for history in itertools.product(rounds, repeat=3):
        bets = Bets(0.0, 0.99, np.array([0.0]))
        bets.add([x for x, _ in history], [y for _, y in history])
        total += 0.25**3 * math.exp(bets.log_wealth()[0])
    assert total == pytest.approx(1, abs=1e-9)


def test_claims_are_refuted_in_order_and_stay_refuted():
    bets = Bets(0.0, 0.99, grid_up_to(10))
    seen = []
    for _ in range(40):
        bets.add([True] * 5, [False] * 5)
        seen.append(bets.lower)
    assert seen == sorted(seen)
    assert seen[-1] > 3
    bets.add([False] * 500, [True] * 500)
    assert bets.lower >= seen[-1]


def test_either_way_counts_and_equal_shares_show_nothing():
    one, other, equal = (Bets(0.0, 0.99) for _ in range(3))
    one.add([True] * 50, [False] * 50)
    other.add([False] * 50, [True] * 50)
    assert one.lower == other.lower > 1
    equal.add([True, False] * 500, [False, True] * 500)
    assert equal.lower == 0
    assert equal.shares == (0.5, 0.5)


def test_a_delta_pays_for_what_is_rare():
    strict, lenient = Bets(0.0, 0.99), Bets(0.3, 0.99)
    for bets in (strict, lenient):
        bets.add([True] * 20 + [False] * 80, [False] * 100)
    assert strict.lower > 0
    assert lenient.lower == 0
    assert strict.refutes(strict.lower)
    assert not lenient.refutes(0.0)


@pytest.mark.slow
def test_a_true_claim_is_refuted_in_no_more_than_its_share_of_audits():
    """2,000 audits of an event with p = exp(1) q, looked at 40 times: 1 in 100 may fail.

    Failing by chance needs more than 45 of 2,000 at 0.01: probability below 1e-6.
    """
    source = np.random.default_rng()
    wrong = 0
    for _ in range(2000):
        bets = Bets(0.0, 0.99, grid_up_to(3, 60))
        for _ in range(40):
            bets.add(source.random(25) < 0.1 * math.e, list(source.random(25) < 0.1))
        wrong += bets.lower >= 1
    assert wrong <= 45
