"""Losses from a secret sample: those of the mixtures themselves, in both directions."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS, pairs
from support.examples import examples
from tacit.core import PrivacyLossDistribution
from tacit.core.losses import composition as summed
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays, Dominating
from tacit.core.losses.composition import Sum
from tacit.core.losses.distribution import dominating_pair
from tacit.core.losses.sampling import SampledLoss, sampled

RATES = st.sampled_from([Fraction(1, 2), Fraction(1, 10), Fraction(7, 8)])
GRID = 2**40
GAPS = [-0.01, -1e-3, -1e-6, -1e-12, 1e-12, 1e-6, 1e-3, 0.01]


def mixed(p, q, rate):
    both = {x: (1 - rate) * q.get(x, 0) + rate * p.get(x, 0) for x in {**p, **q}}
    return {x: mass for x, mass in both.items() if mass}


def losses_of(pair, rate):
    """Return the sampled losses of a pair, and those of the mixture itself, by direction."""
    p, q = pair
    base = BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))
    found = sampled(base, rate)
    other = mixed(p, q, rate)
    direct = PrivacyLossDistribution.of(other, q), PrivacyLossDistribution.of(q, other)
    return (found.forward, found.backward), direct


@examples(0.3)
@given(pair=pairs(), rate=RATES)
def test_one_release_from_a_sample_loses_what_the_mixture_does(pair, rate):
    found, direct = losses_of(pair, rate)
    for one, truth in zip(found, direct, strict=True):
        for level in (*LEVELS, Fraction(-1), Fraction(-1, 9)):
            assert one.delta(level).lower <= truth.delta(level).upper
            assert one.delta(level).upper >= truth.delta(level).lower
            assert one.delta(level).width < Fraction(1, 10**20)
        for delta in (Fraction(1, 50), Fraction(1, 3)):
            wanted, enclosed = truth.epsilon(delta), one.epsilon(delta)
            if wanted == math.inf:
                assert enclosed == math.inf
            else:
                assert enclosed.lower <= wanted.upper
                assert enclosed.upper >= wanted.lower
                assert enclosed.width < Fraction(1, 10**9)


@pytest.mark.full
@examples(0.02)
@given(pair=pairs(), rate=RATES, k=st.integers(2, 3))
def test_sums_from_samples_enclose_the_sums_of_the_mixtures(pair, rate, k):
    found, direct = losses_of(pair, rate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summed, "_FEWEST_PLACES", 1 << 12)
        for one, truth in zip(found, direct, strict=True):
            whole = truth.self_compose(k)
            assume(isinstance(whole, PrivacyLossDistribution))
            for level in LEVELS:
                enclosed = Sum(((one, k),)).delta(level)
                assert enclosed.lower <= whole.delta(level).upper
                assert enclosed.upper >= whole.delta(level).lower
                assert enclosed.width < Fraction(1, 20)


@pytest.mark.full
def test_ten_thousand_sampled_gaussians_against_a_published_value():
    base = GaussianShift(GRID, GRID)
    whole = sampled(base, Fraction(1, 100)).self_compose(10_000)
    found, reference = whole.epsilon("1e-6"), 6.907384495
    assert reference * (1 - 1e-4) <= found.lower <= reference * (1 + 1e-9)
    assert reference * (1 - 1e-9) <= found.upper <= reference * (1 + 1e-6)
    assert float(whole.backward.epsilon("1e-6")) < reference


@pytest.mark.full
@pytest.mark.parametrize(
    "base", [LaplaceShift(3, 3), LaplaceShift(GRID, GRID), GaussianShift(9, 5)]
)
def test_sums_of_sampled_noise_agree_with_the_curve_of_one(base):
    """Beside a release that loses next to nothing the sum is that of one release."""
    silent = dominating_pair(Fraction(1, 10**12))
    for way in (sampled(base, Fraction(1, 4)).forward, sampled(base, Fraction(1, 4)).backward):
        whole = way.compose(silent)
        assert isinstance(whole, Sum)
        for level in (Fraction(0), Fraction(1, 9)):
            truth, found = way.delta(level), whole.delta(level)
            assert found.upper >= truth.lower
            assert found.lower <= truth.upper + Fraction(1, 10**11)
            assert found.width < Fraction(1, 10**4)


@pytest.mark.full
@pytest.mark.parametrize("k", [1, 9, 2])
def test_a_pair_that_never_agrees_is_seen_as_often_as_it_is_sampled(k):
    found, _ = losses_of(({0: Fraction(1)}, {1: Fraction(1)}), Fraction(1, 4))
    for one in found:
        whole = Sum(((one, k),)) if k > 1 else one
        enclosed = whole.delta(0)
        assert enclosed.lower <= 1 - Fraction(3, 4) ** k <= enclosed.upper
        assert enclosed.upper - (1 - Fraction(3, 4) ** k) < Fraction(1, 500)
    base = PrivacyLossDistribution.of({0: Fraction(1)}, {1: Fraction(1)})
    assert base.compose(LaplaceShift(2, 1)).epsilon("1/2") == math.inf


def test_what_is_a_bound_stays_one_and_sums_are_not_sampled():
    bound = sampled(Dominating(dominating_pair(Fraction(1))), Fraction(1, 3))
    assert isinstance(bound, Dominating)
    assert bound.epsilon(0).lower == 0
    assert abs(float(bound.epsilon(0)) - math.log(1 + (math.e - 1) / 3)) < 1e-12
    assert sampled(dominating_pair(Fraction(1)).self_compose(5000), Fraction(1, 2)) is None
    loss = LaplaceShift(2, 1)
    assert sampled(loss, Fraction(1)) is loss
    both = SampledLoss(loss, loss, Fraction(1, 2), adding=True).directions()
    assert [way.adding for way in both] == [False, True]


@pytest.mark.full
@pytest.mark.parametrize(("scale", "times", "rate"), [(1, 100, "1/100"), ("1/2", 50, "1/50")])
def test_delta_falls_smoothly_past_the_largest_loss_of_one_direction(scale, times, rate):
    """There the sum of the other direction was bounded by a tilt that nothing could serve: 1."""
    shift = GaussianShift(Fraction(scale), 1)
    together = sampled(BothWays(shift, shift), Fraction(rate)).self_compose(times)
    end = -times * math.log1p(-float(Fraction(rate)))
    deltas = [together.delta(Fraction(end * (1 + gap))).upper for gap in GAPS]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] < deltas[-1] * Fraction(5, 4)


@pytest.mark.full
@pytest.mark.parametrize("scale", [1, 20, 1000, 100_000])
def test_the_references_of_the_sampled_gaussian_are_enclosed_within_a_few_parts_in_a_million(scale):
    """10,000-fold at rate 1/100 and sigma 1, with so many units in a sigma: listed, or added up."""
    whole = sampled(GaussianShift(Fraction(scale), scale), Fraction(1, 100)).self_compose(10_000)
    for delta, reference in (("1e-6", 6.907384495), ("1e-15", 11.7599764)):
        found = whole.epsilon(delta)
        low, high = float(found.lower), float(found.upper)
        assert low <= reference * (1 + 1e-6)  # the grid moves it by less
        assert reference * (1 - 1e-9) <= high
        assert low >= reference * (1 - 2e-5)
        assert high <= reference * (1 + 1e-6)


@pytest.mark.full
def test_a_sampled_gaussian_has_an_epsilon_at_the_tiniest_deltas():
    whole = sampled(GaussianShift(Fraction(1), 1), Fraction(1, 100)).self_compose(100)
    before = Fraction(0)
    for delta in ("1e-6", "1e-60", "1e-250"):
        found = whole.epsilon(delta)
        assert before < found.lower <= found.upper
        assert found.width <= found.upper / 1000
        before = found.upper
