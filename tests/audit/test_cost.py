"""What draws cost follows from how far the numbers under them moved, by the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit import noise
from tacit.audit.replay import Tape, coins, cost_of
from tacit.noise.bits import watched


def tapes(mechanism, u, v):
    found = []
    for data in (u, v):
        found.append(Tape(found[0] if found else None))
        with watched(found[-1].watch):
            mechanism(data)
    return found


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(25)])
@pytest.mark.parametrize("moved", [0, 1, -4])
def test_laplace_noise_costs_the_largest_ratio_of_probabilities(scale, moved):
    cost = cost_of(*tapes(lambda x: x + noise.discrete_laplace(scale), 10, 10 + moved))
    law = noise.DiscreteLaplace(scale)
    ratios = [
        math.log(float(law.probability(k)) / float(law.probability(k - moved)))
        for k in range(-6, 7)
    ]
    assert float(cost.epsilon) == pytest.approx(max(ratios), abs=1e-9)


def test_gaussian_noise_costs_its_renyi_divergence():
    moved, sigma, alpha = 3, 4, 2
    cost = cost_of(*tapes(lambda x: x + noise.discrete_gaussian(sigma), 0, moved))
    law = noise.DiscreteGaussian(sigma)
    total = sum(
        float(law.probability(k)) ** alpha * float(law.probability(k - moved)) ** (1 - alpha)
        for k in range(-60, 61)
    )
    assert math.log(total) / (alpha - 1) == pytest.approx(alpha * float(cost.rho), rel=1e-6)
    assert cost.epsilon == math.inf


def test_draws_add_up_and_one_draw_under_equal_moves_counts_once():
    cost = cost_of(
        *tapes(lambda x: [x + noise.discrete_laplace(4), x + noise.discrete_laplace(2)], 0, 1)
    )
    assert cost.epsilon == Fraction(3, 4)

    def shared(x):
        drawn = noise.discrete_laplace(4)
        return x + drawn, x + 5 + drawn

    assert cost_of(*tapes(shared, 0, 1)).epsilon == Fraction(1, 4)


def test_parts_of_a_step_texts_and_other_lengths_are_not_hidden():
    for u, v in ((0, 0.5), (0, math.nan), (0, math.inf)):
        cost = cost_of(*tapes(lambda x: x + noise.discrete_laplace(9), u, v))
        assert cost.epsilon == math.inf
        assert cost.lines
    same = cost_of(*tapes(lambda x: x + noise.discrete_laplace(9), math.nan, math.nan))
    assert same.epsilon == 0


def test_coins_of_one_law_are_told_from_those_of_the_data():
    public = tapes(lambda x: noise.bernoulli("1/2"), 0, 1)
    private = tapes(lambda x: noise.bernoulli(Fraction(1 + x, 4)), 0, 1)
    assert len(coins(*public)) == 1
    assert coins(*private) == []
    assert cost_of(*private).epsilon == pytest.approx(math.log(2))
