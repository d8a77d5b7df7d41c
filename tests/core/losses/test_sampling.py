"""Losses from samples without replacement, against data sets and samples one by one."""

import itertools
import math
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS, distribution
from support.examples import examples
from tacit.arithmetic.enclosure import exp
from tacit.core import PrivacyLossDistribution
from tacit.core.losses import composition as summed
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays, Dominating
from tacit.core.losses.distribution import BoundedRange, dominating_pair
from tacit.core.losses.sampling import ExchangedLoss, sampled, sampled_without_replacement

RATES = st.sampled_from([Fraction(1, 2), Fraction(1, 10), Fraction(7, 8)])
FOURTHS = PrivacyLossDistribution.of({0: "4/5", 1: "1/5"}, {0: "1/5", 1: "4/5"})
"""The losses of geometric noise, each next value a fourth as likely, on numbers one apart."""


def noisy_sum(total, most):
    """Return the distribution of such noise on a sum up to ``most``, exactly.

    What is at or below zero has one likelihood ratio for all sums, and so has what is at or above
    the largest.
    """
    low, high = Fraction(4, 5) / 4**total, Fraction(4, 5) / 4 ** (most - total)
    return [low, *(Fraction(3, 5) / 4 ** abs(x - total) for x in range(1, most)), high]


def from_samples(ones, n, m):
    """Return the distribution of the noisy sum of m of n records, of which so many are 1."""
    laws = [
        (Fraction(comb(ones, k) * comb(n - ones, m - k), comb(n, m)), noisy_sum(k, m))
        for k in range(m + 1)
        if k <= ones and m - k <= n - ones
    ]
    return [sum(weight * law[x] for weight, law in laws) for x in range(m + 1)]


def excess(pairs, level):
    """Return at most the least delta of independent releases together, by all their outcomes."""
    power = exp(level, 128).upper
    rows = [(Fraction(1), Fraction(1))]
    for p, q in pairs:
        rows = [(a * x, b * y) for a, b in rows for x, y in zip(p, q, strict=True)]
    return sum(max(a - power * b, Fraction(0)) for a, b in rows)


@pytest.mark.parametrize(("n", "m"), [(3, 1), (3, 2), (4, 1), (4, 3), (5, 1), (5, 2), (5, 3)])
def test_all_neighbours_and_their_compositions_stay_below(n, m):
    """Two questions may grow or fall with the record, beside others that are all 0 or all 1."""
    one = sampled_without_replacement(FOURTHS, Fraction(m, n))
    two, three = one.self_compose(2), one.self_compose(3)
    laws = [from_samples(ones, n, m) for ones in range(n + 1)]
    ways = [pair for k in range(n) for pair in ((laws[k + 1], laws[k]), (laws[k], laws[k + 1]))]
    ends = [*ways[:2], *ways[-2:]]
    for level in (Fraction(0), Fraction(1, 10), Fraction(2, 5), Fraction(1)):
        worst = max(excess([way], level) for way in ways)
        assert 0 <= one.delta(level).upper - worst < Fraction(1, 10**20)  # one release attains it
        for a, b in itertools.product(ends, repeat=2):
            assert excess([a, b], level) <= two.delta(level).upper
            assert excess([a, a, b], level) <= three.delta(level).upper


def test_the_losses_of_one_direction_would_be_too_few():
    """Of two questions one falls with the record, beside others that are all 0: they lose more."""
    level, rate = Fraction(2, 5), Fraction(1, 3)
    none, one = from_samples(0, 3, 1), from_samples(1, 3, 1)
    found = excess([(one, none), (none, one)], level)
    assert found > Fraction(13, 10) * sampled(FOURTHS, rate).self_compose(2).delta(level).upper
    assert found <= sampled_without_replacement(FOURTHS, rate).self_compose(2).delta(level).upper


@examples(0.3)
@given(
    weights=st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(
        lambda w: any(w) and all(a == b == 0 or a + b for a, b in zip(w, w[::-1], strict=True))
    ),
    rate=RATES,
)
def test_the_curve_of_a_symmetric_pair_is_that_of_the_theorem(weights, rate):
    p = distribution(weights)
    q = {len(weights) - 1 - x: mass for x, mass in p.items()}
    base = PrivacyLossDistribution.of(p, q)
    found = sampled_without_replacement(base, rate)
    for level in LEVELS:
        power = exp(level, 128)
        x = 1 + (power - 1) / rate
        above = [
            rate * max(p.get(i, 0) - side * q.get(i, 0), 0)
            for side in (x.upper, x.lower)
            for i in range(len(weights))
        ]
        low, high = sum(above[: len(weights)]), sum(above[len(weights) :])
        assert found.delta(level).lower <= high
        assert found.delta(level).upper >= low
        assert found.delta(level).width < Fraction(1, 10**20)
        mirrored = 1 - 1 / power + found.delta(level) / power
        assert found.delta(-level).lower <= mirrored.upper
        assert found.delta(-level).upper >= mirrored.lower


@pytest.mark.full
@pytest.mark.parametrize("shift", [3, 4])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sums_of_noise_enclose_those_of_the_list(monkeypatch, shift, k):
    monkeypatch.setattr(summed, "_FEWEST_PLACES", 1 << 12)
    base = LaplaceShift(5, shift)
    p = {x: base.law.probability(x, 200) for x in range(-shift + 1, 0)}
    p |= {-shift: base.tail(shift), 0: base.tail(0)}
    pair = PrivacyLossDistribution.of(p, {-shift - x: mass for x, mass in p.items()})
    rate = Fraction(1, 4)
    listed = sampled_without_replacement(pair, rate).self_compose(k)
    found = ExchangedLoss(base, rate).self_compose(k)
    for level in (*LEVELS, Fraction(1, 9)):
        truth, enclosed = listed.delta(level), found.delta(level)
        assert enclosed.lower <= truth.upper
        assert enclosed.upper >= truth.lower
        assert enclosed.width < Fraction(1, 10**3)
    assert found.epsilon("1/100").lower <= listed.epsilon("1/100").upper
    assert found.epsilon("1/100").upper >= listed.epsilon("1/100").lower


@pytest.mark.full
@pytest.mark.parametrize(
    ("few", "many"),
    [
        (GaussianShift(40, 40), [3000, 3001]),
        (LaplaceShift(400, 400), [1 << 19, (1 << 19) + 1]),
    ],
)
def test_noise_too_fine_to_be_listed_loses_as_its_list_does(few, many):
    rate = Fraction(1, 100)
    listed = ExchangedLoss(few, rate).self_compose(1000).epsilon("1e-6")
    for scale in many:
        fine = ExchangedLoss(type(few)(scale, scale), rate).self_compose(1000).epsilon("1e-6")
        assert abs(fine.lower - listed.lower) < listed.lower / 200
        assert abs(fine.upper - listed.upper) < listed.upper / 2000
        assert fine.lower <= fine.upper


@pytest.mark.full
@pytest.mark.parametrize("base", [BoundedRange(Fraction(1)), GaussianShift(3000, 3000)])
def test_sums_agree_with_the_curve_of_one(base):
    """Beside a release that loses next to nothing the sum is that of one release."""
    one = ExchangedLoss(base, Fraction(1, 4))
    whole = one.compose(dominating_pair(Fraction(1, 10**12)))
    for level in (Fraction(0), Fraction(1, 9)):
        truth, found = one.delta(level), whole.delta(level)
        assert found.upper >= truth.lower
        assert found.lower <= truth.upper + Fraction(1, 10**11)
        assert found.width < Fraction(1, 10**4)


def test_only_symmetric_losses_of_one_release_are_taken():
    rate = Fraction(1, 3)
    bound = sampled_without_replacement(Dominating(dominating_pair(Fraction(1))), rate)
    assert isinstance(bound, Dominating)
    assert abs(float(bound.epsilon(0)) - math.log(1 + (math.e - 1) / 3)) < 1e-12
    leak = sampled_without_replacement(dominating_pair(Fraction(1), Fraction(1, 10)), rate)
    assert leak.epsilon(Fraction(1, 31)) == math.inf
    assert leak.epsilon(Fraction(1, 29)) != math.inf
    one_sided = PrivacyLossDistribution.of({0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"})
    for losses in (one_sided, BothWays(one_sided, one_sided), Dominating(one_sided)):
        assert sampled_without_replacement(losses, rate) is None
    assert (
        sampled_without_replacement(dominating_pair(Fraction(1)).self_compose(5000), rate) is None
    )
    same = LaplaceShift(2, 0)
    assert sampled_without_replacement(same, rate) is same
    assert sampled_without_replacement(FOURTHS, Fraction(1)) is FOURTHS
    one = ExchangedLoss(LaplaceShift(2, 1), rate)
    assert one.directions() == (one, one)
