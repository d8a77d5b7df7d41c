"""Bets on a fitted ratio, learned from rounds before alone."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.audit.bets import FittedBets, _fitted_chances
from tacit.audit.features import Design, FewFeatures

DRAW = np.random.default_rng(11)
GRID = np.array([0.0, 0.1, 0.5])


def normal(shift, runs):
    return DRAW.normal(shift, 1, (runs, 2))


def test_nothing_is_bet_before_anything_is_learned_or_where_nothing_differs():
    bets = FittedBets(GRID)
    bets.add(normal(0.5, 100), normal(0, 100))
    assert not bets.log_wealth().any()
    bets.learn(normal(0, 1000), normal(0, 1000))
    assert not bets.log_wealth().any()
    bets.add(normal(0, 1000), normal(0, 1000))
    assert (bets.log_wealth() < 4).all()
    assert (bets.log_wealth() > -4).all()


def test_rounds_are_bet_on_before_they_are_learned_from():
    """Rounds that differ the other way than all before lose, however many they are."""
    bets = FittedBets(GRID)
    bets.learn(normal(0.5, 1000), normal(0, 1000))
    bets.add(normal(0, 5000), normal(0.5, 5000))
    assert bets.log_wealth()[0] < -20
    bets.add(normal(0, 5000), normal(0.5, 5000))
    assert np.diff(bets.log_wealth()[:2]) < 0


def fit_to_the_end(rows, of_u, prior):
    """Return the weights of one precision, and the logarithm of the probability of what was seen.

    By Newton's method on all outputs at once, and Laplace's approximation at its end.
    """
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        scores = rows @ weights
        chance = 1 / (1 + np.exp(-scores))
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + prior * np.eye(len(weights))
        weights += np.linalg.solve(bend, rows.T @ (of_u - chance) - prior * weights)
    seen = -np.logaddexp(0, np.where(of_u, -scores, scores)).sum() - prior * weights @ weights / 2
    return weights, seen + (len(weights) * np.log(prior) - np.linalg.slogdet(bend)[1]) / 2


@pytest.mark.full
def test_one_step_from_the_pilot_is_as_good_as_a_fit_to_all():
    """The weights after three batches, against fits to all outputs, a mean over the precisions."""
    bets = FittedBets(GRID)
    sides = [normal(0.3, 3000), normal(0, 3000)]
    bets.learn(*(side[:1000] for side in sides))
    for start in (1000, 2000):
        bets.add(*(side[start : start + 1000] for side in sides))
    rows = np.concatenate([bets._rows(side) for side in sides]).astype(float)
    fits = [fit_to_the_end(rows, np.arange(6000) < 3000, len(rows.T) * 4.0**k) for k in range(10)]
    each, seen = (np.array(part) for part in zip(*fits, strict=True))
    likely = np.exp(seen - seen.max())
    weights = likely @ each / likely.sum()
    apart = rows @ weights - rows @ bets._weights()
    assert np.abs(apart).max() < 0.1 * np.abs(rows @ weights).max()


@pytest.mark.few(2)
@pytest.mark.parametrize("runs", [500, 20_000])
def test_outputs_that_tell_nothing_cost_nothing(runs):
    """After few runs and after many; a prior of one precision lost 1.5 and 7.8."""
    draw = np.random.default_rng(runs)
    u, v = (draw.normal(0, 1, (2 * runs, 6)) for _ in "uv")
    bets = FittedBets(GRID)
    bets.learn(u[:runs], v[:runs])
    bets.add(u[runs:], v[runs:])
    assert (bets.log_wealth() > -0.2).all()


def test_at_a_delta_the_bets_are_smaller_and_a_claim_with_it_true_is_left_alone():
    """Normal outputs half a deviation apart are (0, 0.2) apart."""
    ends = []
    for delta in (0.0, 0.05, 0.3):
        bets = FittedBets(GRID, delta)
        bets.learn(normal(0.5, 2000)[:, :1], normal(0, 2000)[:, :1])
        bets.add(normal(0.5, 2000)[:, :1], normal(0, 2000)[:, :1])
        ends.append(bets.log_wealth()[0])
    assert ends[0] > ends[1] > 5
    assert ends[2] == pytest.approx(0, abs=1e-6)


def test_a_cell_that_no_output_seen_fell_into_tells_nothing():
    p, q = _fitted_chances(np.array([1.0, 1.0], dtype=np.float32), np.array([0.5, 2.0]))
    assert p[[0, 2]] == pytest.approx(q[[0, 2]])
    assert p[1] > 2 * q[1]


def test_one_wild_score_moves_its_cell_by_no_more_than_itself():
    scores = np.array([0.1] * 50 + [1e6] + [-0.1] * 50, dtype=np.float32)
    with np.errstate(all="raise"):
        p, q = _fitted_chances(scores, np.array([0.0]))
    assert np.abs(np.log(p / q)).max() < 0.2


@pytest.mark.few(4)
@pytest.mark.parametrize("features", [Design.of, FewFeatures.of])
@pytest.mark.parametrize("odd", [np.nan, 40])
def test_what_one_output_of_many_shows_is_no_reason_to_bet_much(features, odd):
    """One output of u has a value that no other has, and then some of v have it."""
    draw = np.random.default_rng(3)
    first, then = ([draw.integers(0, 2, (n, 3)) * 1.0 for _ in "uv"] for n in (20_000, 2_000))
    first[0][7, 1] = odd
    then[1][:40, 1] = odd
    bets = FittedBets(GRID, features=features)
    bets.learn(*first)
    bets.add(*then)
    assert (bets.log_wealth() > -20).all()
