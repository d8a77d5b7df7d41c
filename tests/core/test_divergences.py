"""Divergences against closed forms and against the definition over all events."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.core import ApproximateDP, PureDP, RenyiDP, ZeroConcentratedDP
from tacit.core.divergences import hockey_stick, max_divergence, total_variation
from tacit.noise import DiscreteGaussian, DiscreteLaplace


def response(p):
    return {0: Fraction(p), 1: 1 - Fraction(p)}


def mirrored(p):
    return {0: 1 - Fraction(p), 1: Fraction(p)}


@pytest.mark.parametrize("p", ["3/4", "2/3", "99/100"])
def test_randomized_response(p):
    u, v = response(p), mirrored(p)
    share = float(Fraction(p))
    pure = PureDP().divergence(u, v)
    assert float(pure.upper) == pytest.approx(math.log(share / (1 - share)), rel=1e-14)
    assert pure.upper - pure.lower < Fraction(1, 2**80)
    assert float(total_variation(u, v).upper) == pytest.approx(2 * share - 1)
    for epsilon in ("0", "1/2", "1"):
        true = max(0.0, share - math.exp(float(Fraction(epsilon))) * (1 - share))
        assert float(hockey_stick(u, v, epsilon).upper) == pytest.approx(true, abs=1e-12)
    for alpha in (Fraction(3, 2), Fraction(2), Fraction(7)):
        a = float(alpha)
        terms = share**a * (1 - share) ** (1 - a) + (1 - share) ** a * share ** (1 - a)
        found = RenyiDP(alpha).divergence(u, v)
        assert found.lower <= found.upper
        assert float(found.upper) == pytest.approx(math.log(terms) / (a - 1), rel=1e-12)


probabilities = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(sum)


@pytest.mark.full
@given(probabilities, probabilities, st.fractions(0, 3, max_denominator=8))
@examples(1.5)
def test_the_hockey_stick_is_the_worst_event(a, b, epsilon):
    p = {i: Fraction(x, sum(a)) for i, x in enumerate(a)}
    q = {i: Fraction(x, sum(b)) for i, x in enumerate(b)}
    factor = Fraction(math.exp(float(epsilon)))
    worst = max(
        sum((p[i] for i in event), Fraction(0)) - factor * sum((q[i] for i in event), Fraction(0))
        for n in range(4)
        for event in itertools.combinations(range(3), n)
    )
    found = hockey_stick(p, q, epsilon)
    assert abs(float(found.upper - worst)) < 1e-12
    assert found.lower <= found.upper
    both = ApproximateDP().divergence(p, q)(epsilon)
    assert both.upper >= found.upper
    pure = max_divergence(p, q)
    if any(p[i] and not q[i] for i in p):
        assert pure == math.inf
    else:
        ratios = [math.log(p[i] / q[i]) for i in p if p[i]]
        assert float(pure.upper) == pytest.approx(max(ratios), abs=1e-12)


def shifted_laplace(scale, centre, reach=60):
    """A discrete Laplace law on a window, its far tails joined to the ends."""
    law = DiscreteLaplace(scale)
    found = {k: law.probability(k - centre, 160) for k in range(-reach + 1, reach)}
    found["low"] = law.cdf(-reach - centre, 160)
    found["high"] = law.cdf(-reach + centre, 160)
    return found


def test_the_discrete_laplace_is_tight():
    u, v = shifted_laplace(2, 0), shifted_laplace(2, 1)
    found = PureDP().divergence(u, v)
    assert found.lower <= Fraction(1, 2) <= found.upper
    assert found.upper - found.lower < Fraction(1, 10**9)
    profile = ApproximateDP().divergence(u, v)
    assert profile(Fraction(1, 2)).upper < Fraction(1, 10**12)
    assert profile(0).lower > 0
    # P(S) - e^eps Q(S) is greatest on the half line below: sum of 1 - e^(eps - 1/2) there
    true = 0.5 * (2 / (1 + math.exp(-0.5))) * (1 - math.exp(0.25 - 0.5))
    assert float(profile(Fraction(1, 4)).upper) == pytest.approx(true, rel=1e-9)
    epsilon = profile.epsilon(profile(Fraction(1, 4)).upper)
    assert float(epsilon) == pytest.approx(0.25, abs=1e-6)


def test_the_discrete_gaussian_is_concentrated_as_its_map_says():
    law, sigma = DiscreteGaussian(2), 2
    reach = 40
    # No tails: the window is renormalised for both by leaving 1e-80 outside of each.
    u = {k: law.probability(k, 400) for k in range(-reach, reach + 1)}
    v = {k: law.probability(k - 1, 400) for k in range(-reach, reach + 1)}
    for alpha in (Fraction(3, 2), Fraction(4)):
        total = sum(
            float(u[k].upper) ** float(alpha) * float(v[k].upper) ** float(1 - alpha)
            for k in range(-20, 21)
        )
        true = math.log(total) / float(alpha - 1)
        assert true <= float(alpha) / (2 * sigma**2) + 1e-12
        assert true == pytest.approx(float(alpha) / (2 * sigma**2), rel=1e-6)


def test_concentration_of_a_coin_is_enclosed():
    u, v = response("3/5"), mirrored("3/5")
    found = ZeroConcentratedDP().divergence(u, v)
    grid = [
        math.log(0.6**a * 0.4 ** (1 - a) + 0.4**a * 0.6 ** (1 - a)) / (a - 1) / a
        for a in [1.0001 + 0.01 * i for i in range(3000)]
    ]
    assert float(found.lower) <= float(found.upper)
    assert max(grid) <= float(found.upper) + 1e-9
    assert float(found.upper) <= max(grid) * 1.01
    # of what is epsilon-DP nothing has a larger one, and a coin of odds e^epsilon : 1 has it
    assert found.lower <= ZeroConcentratedDP().from_pure(PureDP().divergence(u, v).upper)
    assert found.upper >= ZeroConcentratedDP().from_pure(PureDP().divergence(u, v).lower)
    assert ZeroConcentratedDP().divergence(u, u).upper < Fraction(1, 10**12)
