"""Losses from samples without replacement, against data sets and samples one by one."""

import itertools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS, distribution, pairs
from support.examples import examples
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.special_functions import normal_cdf
from tacit.core import PrivacyLossDistribution
from tacit.core.losses import composition as summed
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays, Dominating
from tacit.core.losses.composition import ComposedLosses
from tacit.core.losses.distribution import BoundedRange, dominating_pair
from tacit.core.losses.sampling import (
    ExchangedLoss,
    SampledLoss,
    sampled,
    sampled_without_replacement,
)

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


# Losses from a secret sample: those of the mixtures themselves, in both directions.


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
                enclosed = ComposedLosses(((one, k),)).delta(level)
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
        assert isinstance(whole, ComposedLosses)
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
        whole = ComposedLosses(((one, k),)) if k > 1 else one
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


# Sums of losses: held against products of distributions, closed forms and published values.


@pytest.fixture
def coarse(monkeypatch):
    """Cells so wide that their errors are seen."""
    monkeypatch.setattr(summed, "_FEWEST_PLACES", 1 << 12)
    monkeypatch.setattr(summed, "_PLACES", 1 << 12)


@examples(0.02)
@given(first=pairs(), second=pairs(), k=st.integers(1, 3))
@pytest.mark.usefixtures("coarse")
def test_a_sum_encloses_the_product_of_its_distributions(first, second, k):
    one, two = (PrivacyLossDistribution.of(*pair) for pair in (first, second))
    exact = one.self_compose(k).compose(two)
    if not isinstance(exact, PrivacyLossDistribution):
        return
    found = ComposedLosses(((one, k), (two, 1)))
    for level in LEVELS:
        truth, enclosed = exact.delta(level), found.delta(level)
        assert enclosed.lower <= truth.upper
        assert enclosed.upper >= truth.lower
        assert enclosed.width < Fraction(1, 50)
    for delta in (Fraction(1, 3), Fraction(1, 10**4)):
        truth, enclosed = exact.epsilon(delta), found.epsilon(delta)
        if truth == math.inf:
            assert enclosed == math.inf
        elif enclosed != math.inf:
            assert enclosed.lower <= truth.upper
            assert enclosed.upper >= truth.lower


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("loss", "reference"),
    [
        (dominating_pair(Fraction(1, 100)), 4.885515601),
        (LaplaceShift(100, 1), 4.885515601),
        (LaplaceShift(100 * GRID, GRID), 4.876257579),
        (GaussianShift(100, 1), 4.886554117),
        (GaussianShift(100 * GRID, GRID), 4.886554117),
    ],
    ids=["pure", "laplace of whole numbers", "laplace", "gauss of whole numbers", "gauss"],
)
def test_ten_thousand_releases_against_published_values(loss, reference):
    """Kairouz, Oh, Viswanath; Gaussian and Laplace in closed form; epsilon at 10^-6."""
    found = loss.self_compose(10_000).epsilon("1e-6")
    assert reference * (1 - 1e-4) <= found.lower <= reference * (1 + 1e-9)
    assert reference * (1 - 1e-9) <= found.upper <= reference * (1 + 1e-6)


def gaussian_delta(mu, epsilon):
    """The delta of the continuous Gaussian (Balle and Wang 2018)."""
    low = normal_cdf(Enclosure.of(mu / 2 - epsilon / mu), 400)
    high = normal_cdf(Enclosure.of(-mu / 2 - epsilon / mu), 400)
    return low - exp(epsilon, 400) * high


@pytest.mark.few(4)
@pytest.mark.parametrize("delta", ["1e-6", "1e-10", "1e-15", "1e-40"])
def test_gaussians_add_up_at_tiny_deltas(delta):
    """Never on the wrong side: at the ends of the enclosure the closed form is above and below."""
    found = GaussianShift(100 * GRID, GRID).self_compose(10_000).epsilon(delta)
    slack = Fraction(1, 10**9)  # the grid is finite
    assert gaussian_delta(Fraction(1), found.upper + slack).lower <= Fraction(delta)
    assert gaussian_delta(Fraction(1), found.lower - slack).upper >= Fraction(delta)
    assert found.upper - found.lower <= found.upper * Fraction(1, 10**4)


@pytest.mark.full
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("loss", [LaplaceShift(8, 8), GaussianShift(6, 6)])
def test_a_fine_lattice_and_a_coarse_one_agree_with_themselves(loss, k):
    """The sum on the losses' own lattice lies within the one on cells."""
    own = ComposedLosses(((loss, k),)).epsilon("1e-6")
    other = type(loss)(loss.scale, loss.shift - 1)
    mixed = ComposedLosses(((loss, k - 1), (other, 1))).epsilon("1e-6")
    assert mixed.lower <= own.upper
    assert own.width < Fraction(1, 10**6)
    assert mixed.width < Fraction(1, 50)


@pytest.mark.full
def test_releases_of_many_kinds_are_counted_each():
    parts = [LaplaceShift(100 * GRID, GRID), GaussianShift(50 * GRID, GRID), GaussianShift(80, 1)]
    whole = parts[0].self_compose(300).compose(parts[1].self_compose(200)).compose(parts[2])
    assert isinstance(whole, ComposedLosses)
    assert [k for _, k in whole.parts] == [300, 200, 1]
    found = whole.epsilon("1e-6")
    # as Gaussians of the same variance: 300 (1/100)^2 + 200 (1/50)^2 + (1/80)^2
    mu = Fraction(math.sqrt(300 / 1e4 + 200 / 2500 + 1 / 6400))
    assert abs(gaussian_delta(mu, found.upper).middle / Fraction("1e-6") - 1) < Fraction(1, 5)
    assert found.width < Fraction(1, 50)
    assert whole.self_compose(2).parts[0][1] == 600


def test_epsilon_and_delta_of_a_sum_invert_each_other():
    whole = GaussianShift(20, 1).self_compose(100)
    for delta in ("1/10", "1e-3", "1e-9", "1e-30"):
        epsilon = whole.epsilon(delta)
        assert whole.delta(epsilon.upper + Fraction(1, 10**7)).lower <= Fraction(delta)
        back = whole.delta(epsilon.lower).upper
        assert abs(back / Fraction(delta) - 1) < Fraction(1, 10**4)


def test_what_loses_nothing_adds_nothing():
    loss = LaplaceShift(4, 1)
    assert loss.compose(LaplaceShift(4, 0)) == loss
    assert loss.compose(LaplaceShift(4, 0)).compose(loss) == loss.self_compose(2)
    silent = GaussianShift(3, 0).self_compose(5)
    assert silent.epsilon("1e-9") == Enclosure.of(0)


def test_the_ends_of_the_scale():
    whole = dominating_pair(Fraction(1, 2)).self_compose(200)
    assert abs(whole.epsilon(0).upper - 100) < Fraction(1, 10**20)
    assert whole.epsilon(1).upper == 0
    assert whole.delta(101) == Enclosure.of(0)
    assert whole.delta(100).upper < Fraction(1, 10**40)
    assert float(whole.delta(-1000)) == pytest.approx(1.0)
    failing = dominating_pair(Fraction(1, 2), Fraction(1, 10**4)).self_compose(200)
    assert failing.epsilon(Fraction(1, 100)) == math.inf
    assert failing.epsilon(Fraction(1, 40)).upper < 60


@pytest.mark.full
@examples(0.05)
@given(pair=pairs(), k=st.integers(2, 40))
@pytest.mark.usefixtures("coarse")
def test_both_directions_are_summed_apart(pair, k):
    ways = [PrivacyLossDistribution.of(*sides) for sides in (pair, pair[::-1])]
    both = BothWays(*ways).self_compose(k)
    assert both.forward == ways[0].self_compose(k)
    for delta in ("1/100", "1/3"):
        each = [way.self_compose(k).epsilon(delta) for way in ways]
        assert float(both.epsilon(delta)) == max(float(e) for e in each)


def test_more_releases_lose_more():
    loss = LaplaceShift(20, 3)
    found = [float(loss.self_compose(k).epsilon("1e-6")) for k in (1, 2, 5, 20, 100, 1000)]
    assert all(a < b for a, b in itertools.pairwise(found))


_SCALES = ("1/1000", "1/10", "3/10", 1, 3, 5, 30, 10**4, 10**8, 10**12, 10**15)


@pytest.mark.few(9)
@pytest.mark.parametrize("scale", _SCALES)
@pytest.mark.parametrize("count", [5, 10_000])
def test_gaussian_sums_answer_for_every_scale_and_delta(scale, count):
    """No warning, no infinity, in order, and between what one and what all in one shift lose."""
    whole = GaussianShift(Fraction(scale), 1).self_compose(count)
    last = Enclosure.of(1)
    for epsilon in (0, 1, 10**6):
        found = whole.delta(epsilon)
        assert 0 <= found.lower <= found.upper <= last.upper
        last = found
    before = Enclosure.of(0)
    for delta in ("1/10", "1e-6", "1e-300"):
        found = whole.epsilon(delta)
        assert found.lower <= found.upper < math.inf
        assert before.upper <= found.upper * (1 + Fraction(1, 10**9))
        if found.upper > 10**-12 and Fraction(scale) > Fraction(1, 100):  # of one: no more
            one = GaussianShift(Fraction(scale), 1).epsilon(delta)
            assert one.lower <= found.upper * (1 + Fraction(1, 10**9))
        before = found


@pytest.mark.parametrize("scale", ["1/10", "3/10", 1, 3])
def test_narrow_gaussian_sums_are_those_of_a_convolution(scale):
    """Masses in floats of the whole places of five releases."""
    sigma = float(Fraction(scale))
    x = np.arange(-30, 31)
    p = np.exp(-(x**2) / (2 * sigma**2))
    p /= p.sum()
    masses = np.ones(1)
    for _ in range(5):
        masses = np.convolve(masses, p)
    losses = (np.arange(len(masses)) - 150 + 2.5) / sigma**2
    whole = GaussianShift(Fraction(scale), 1).self_compose(5)
    for epsilon in (0.0, 1.0, 3.0, 40.0, 240.0):
        over = np.minimum(epsilon - losses, 0.0)
        truth = float(masses @ -np.expm1(over))
        found = whole.delta(epsilon)
        slack = 1e-12 * truth + 1e-18
        assert float(found.lower) - slack <= truth <= float(found.upper) + slack
        assert float(found.width) <= 1e-9 * truth + 1e-18
