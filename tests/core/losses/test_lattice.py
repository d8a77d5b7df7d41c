"""Losses of noise in floats: each mass within the slack of the enclosures of the distribution."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.special_functions import normal_cdf
from tacit.core.losses import tilted_sum
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.lattice import (
    SLACK,
    ListedLosses,
    Side,
    SpreadLosses,
    above,
    below,
    gaussian_losses,
    laplace_losses,
    on_own_lattice,
    raised,
)
from tacit.core.losses.sampling import SampledLoss
from tacit.core.losses.summands import GaussianSum
from tacit.core.losses.tilted_sum import (
    LatticeSums,
    TiltedSum,
    ends,
    ends_weigh,
    moments,
    tilt_for_delta,
    tilt_for_epsilon,
)


def test_exponentials_of_floats_are_as_right_as_the_slack_needs():
    """The one assumption about numpy: far less than a relative 2^-50 is left to chance."""
    for x in np.random.default_rng(7).uniform(-600, 600, 300):
        truth = exp(Fraction(float(x)), 120).middle
        found = Fraction(float(np.exp(np.array([x, x]))[1]))
        assert abs(found / truth - 1) < Fraction(1, 1 << 50)
        less = Fraction(float(np.expm1(np.array([x, x]))[1]))
        assert abs(less / (truth - 1) - 1) < Fraction(1, 1 << 50)


@pytest.mark.parametrize(("scale", "shift"), [(Fraction(7, 2), 3), (Fraction(100), 40), (1, 1)])
def test_listed_laplace_losses_have_the_masses_of_the_distribution(scale, shift):
    loss, found = LaplaceShift(scale, shift), laplace_losses(Fraction(scale), shift)
    assert isinstance(found, ListedLosses)
    for place, value, least, most in zip(
        found.lattice_indices, found.low, found.min_mass, found.max_mass, strict=True
    ):
        x = int(place)
        truth = loss.tail(0) if x == 0 else loss.law.probability(x, 128)
        if x == -shift:
            truth = loss.tail(shift)
        assert least <= truth.lower <= truth.upper <= most
        assert abs(Fraction(float(value)) - loss.loss(x)) < Fraction(1, 10**14)


@pytest.mark.parametrize(("sigma", "shift"), [(Fraction(5, 2), 2), (Fraction(30), 7)])
def test_listed_gaussian_losses_have_the_masses_of_the_distribution(sigma, shift):
    loss, found = GaussianShift(sigma, shift), gaussian_losses(sigma, shift, 1e-30)
    assert isinstance(found, ListedLosses)
    rows = list(zip(found.lattice_indices, found.min_mass, found.max_mass, strict=True))
    for place, least, most in rows[1:]:
        truth = loss.law.probability(int(place), 200)
        assert least <= truth.lower <= truth.upper <= most
    beyond = loss.tail(int(found.lattice_indices[-1]) + 1, 200).upper
    assert beyond <= found.infinite[1]
    assert beyond + loss.law.probability(int(rows[0][0]), 200).upper <= rows[0][2]


@pytest.mark.parametrize(
    "loss",
    [
        LaplaceShift(10**6, 400_000),
        LaplaceShift(Fraction(3 << 40), 1 << 40),
        GaussianShift(20_001, 7),
        GaussianShift(20_001, 20_000),
    ],
)
def test_losses_between_have_the_masses_of_both_distributions(loss):
    """An outcome counts as a whole, and where its loss is."""
    found = loss.in_floats(1e-30)
    assert isinstance(found, SpreadLosses)
    low, high = found.ends
    ends = np.linspace(low + 0.4 * (high - low), low + 0.6 * (high - low), 8)
    fine = found.masses(np.linspace(ends[0], ends[-1], 7 * 64 + 1))
    p, q = (masses.reshape(7, 64).sum(axis=1) for masses in fine)
    for a, b, mass, other in zip(ends, ends[1:], p, q, strict=False):
        first, last = loss.first(Fraction(float(a))), loss.first(Fraction(float(b)))
        for shift, mine in ((0, mass), (loss.shift, other)):
            truth = loss.tail(first + shift) - loss.tail(last + shift)
            assert abs(truth.middle - Fraction(float(mine))) <= mine * found.slack


@pytest.mark.parametrize("width", [0.003, 0.15])
def test_masses_far_out_are_within_the_slack_where_outcomes_are_just_not_listed(width):
    """At 36 standard deviations; the smaller the noise, the more the integral is off there."""
    loss = GaussianShift((1 << 14) + 1, 5_000)
    found = loss.in_floats(1e-295)
    assert isinstance(found, SpreadLosses)
    ends = np.array([found.ends[1] - 0.2, found.ends[1] - 0.2 + width])
    assert 36 < (ends[0] - (5_000 / 16_385) ** 2 / 2) / (5_000 / 16_385) < 37
    first, last = (loss.first(Fraction(float(end))) for end in ends)
    assert last - first > 100
    with mpmath.workprec(200):
        sigma = mpmath.mpf((1 << 14) + 1)
        weights = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * sigma**2)) for x in range(first, last)]
        truth = mpmath.fsum(weights) / (sigma * mpmath.sqrt(2 * mpmath.pi))
        ((mass,), _) = found.masses(ends)
        assert abs(truth / mpmath.mpf(float(mass)) - 1) <= found.slack


def test_all_losses_of_a_spread_weigh_one():
    for loss in (LaplaceShift(1 << 40, 1 << 40), GaussianShift(1 << 40, 1 << 38)):
        found = loss.in_floats(1e-20)
        ends = np.linspace(*found.ends, 1 << 14)
        p, q = found.masses(ends)
        whole = math.fsum(p) + math.fsum(found.alone.min_mass)
        assert abs(whole - 1) < 1e-11
        assert math.fsum(q) <= 1 + 1e-11
        assert found.slack >= SLACK


# Losses on a lattice: from above never less, from below never more, at every epsilon.


LEVELS = np.linspace(-4, 4, 33)


def delta(losses, masses, infinite, level):
    return infinite + float(np.maximum(0, -np.expm1(level - losses)) @ masses)


def delta_of(side, level):
    losses = side.origin + side.step * (side.first + np.arange(len(side.masses)))
    return delta(losses, side.masses, side.infinite, level)


@st.composite
def lists(draw):
    size = draw(st.integers(1, 7))
    losses = np.array(draw(st.lists(st.floats(-3, 3), min_size=size, max_size=size)))
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)), float)
    return ListedLosses(
        losses, losses, weights / weights.sum(), weights / weights.sum(), (0.0, 0.0)
    )


@given(
    losses=lists(),
    step=st.sampled_from([2.0, 0.5, 0.1, 1 / 3, 0.01]),
    origin=st.floats(-1, 1),
    tilt=st.floats(0, 20),
)
def test_listed_losses_lie_between_both_sides(losses, step, origin, tilt):
    over, under = above(losses, step, origin), below(losses, step, origin, tilt)
    for level in LEVELS:
        truth = delta(losses.low, losses.min_mass, 0.0, level)
        assert delta_of(over, level - over.blur) >= truth - 1e-12
        assert delta_of(under, level + under.blur) <= truth + 1e-12
        assert delta_of(over, level) - truth <= 2 * step
    assert np.sum(over.masses) <= 1 + 1e-9


def test_from_above_losses_are_no_higher_than_they_must_be():
    """A loss on a point stays there; one between two points keeps the mean of e^-loss."""
    losses = np.array([0.0, 0.25])
    side = above(ListedLosses(losses, losses, np.array([0.5, 0.5]), np.array([0.5, 0.5])), 1.0)
    z = np.exp(-np.arange(2.0))
    assert abs(float(side.masses @ z) - float(np.exp(-losses).mean())) < 1e-9
    assert side.first == 0


@pytest.mark.parametrize("loss", [LaplaceShift(1 << 40, 1 << 41), GaussianShift(1 << 40, 1 << 40)])
@pytest.mark.parametrize("step", [0.125, 0.01])
def test_spread_losses_lie_between_both_sides(loss, step):
    found = loss.in_floats(1e-25)
    over, under = above(found, step), below(found, step, 0.0, 1.0)
    for level in np.linspace(-1.75, 5, 14):
        truth = loss.delta(float(level))
        assert delta_of(over, level - over.blur) >= float(truth.lower) - 1e-13
        assert delta_of(under, level + under.blur) <= float(truth.upper) + 1e-13
        width = delta_of(over, level) - delta_of(under, level)
        assert width <= step**2 + 1e-9  # of the second order


def test_losses_on_their_own_lattice_do_not_move():
    found = gaussian_losses(GaussianShift(10, 1).scale, 1, 1e-20)
    over = on_own_lattice(found, 1 / 100, 1 / 200)
    under = on_own_lattice(found, 1 / 100, 1 / 200, upper=False)
    losses = over.origin + over.step * (over.first + np.arange(len(over.masses)))
    assert np.allclose(losses, found.low, atol=over.blur)
    assert np.all(over.masses >= under.masses)
    assert over.infinite > under.infinite == 0


def test_losses_that_no_others_make_up_for_stand_on_the_floor():
    loss = GaussianShift(1 << 40, 1 << 40).in_floats(1e-20)
    for one in (loss, gaussian_losses(GaussianShift(10, 5).scale, 5, 1e-20)):
        floor = -0.75
        found = raised(one, floor)
        over, under = above(found, 0.01), below(found, 0.01, 0.0, 0.0)
        before = above(one, 0.01), below(one, 0.01, 0.0, 0.0)
        for level in (0.0, 1.0):
            assert delta_of(over, level) == pytest.approx(delta_of(before[0], level), abs=1e-4)
            assert delta_of(under, level) == pytest.approx(delta_of(before[1], level), abs=1e-4)
        assert over.masses.sum() >= 1
        assert over.step * over.first >= floor - 0.02


# Sums on one lattice: asked one by one and together.


@pytest.mark.full
def test_several_epsilons_at_once_are_enclosed_as_one_by_one():
    base = GaussianShift(Fraction(4000), 4000)
    whole = SampledLoss(base, base, Fraction(1, 10), adding=False).self_compose(40)
    levels = [Fraction(n, 4) for n in range(0, 24, 3)]
    together = whole.deltas(levels)
    for level, found in zip(levels, together, strict=True):
        alone = whole.delta(level)
        assert found.lower <= alone.upper
        assert alone.lower <= found.upper
        assert found.width <= found.upper / 20


def test_ends_and_what_they_weigh():
    one = np.ones(1)
    low, high = np.array([-1.0, 1.0]), np.array([-1.0, 2.0])
    sharp = ListedLosses(low, high, np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    assert ends(sharp).max() == 2
    assert ends_weigh(sharp)
    assert not ends_weigh(ListedLosses(one, one, one * 1e-9, one))
    sums = LatticeSums([(sharp, 3)], 0.5, [0.0])
    assert not sums.dusty
    (found,) = sums.log_deltas([(0.0, 0.0)])
    assert found[0] <= found[1] <= 0


# Sums by a tilted transform: the charged errors hold the truth, also where they are large.


WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any)


def side(weights, step, first=-2, infinite=0.0):
    total = sum(weights)
    return Side(step, 0.0, first, np.array(weights) / total, infinite)


def exact(sides, level):
    """Add up all losses, in rationals as far as they are."""
    found = {0: Fraction(1)}
    sure = Fraction(1)
    for one, k in sides:
        sure *= Fraction(1 - Fraction(one.infinite)) ** k
        for _ in range(k):
            after = {}
            for place, mass in found.items():
                for i, p in enumerate(one.masses):
                    at = place + one.first + i
                    after[at] = after.get(at, Fraction(0)) + mass * Fraction(float(p))
            found = after
    step = sides[0][0].step
    kept = math.fsum(
        float(mass) * -math.expm1(level - place * step)
        for place, mass in found.items()
        if place * step > level
    )
    return kept + float(1 - sure)


@given(
    first=WEIGHTS,
    second=WEIGHTS,
    counts=st.tuples(st.integers(1, 4), st.integers(0, 3)),
    step=st.sampled_from([0.5, 0.125, 2.0]),
    tilt=st.sampled_from([0.0, 0.5, 3.0, 40.0]),
    level=st.floats(-6, 6),
    infinite=st.sampled_from([0.0, 1e-3]),
)
def test_every_tilt_gives_bounds_on_both_sides(first, second, counts, step, tilt, level, infinite):
    parts = [(side(first, step, infinite=infinite), counts[0])]
    if counts[1]:
        parts.append((side(second, step), counts[1]))
    truth = exact(parts, level)
    high = TiltedSum(parts, tilt, upper=True).log_delta(level)
    low = TiltedSum(parts, tilt, upper=False).log_delta(level)
    assert math.exp(high) >= truth * (1 - 1e-12)
    assert math.exp(low) <= truth * (1 + 1e-12) + 1e-300


@pytest.mark.parametrize("deviations", [1, 2, 12])
@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_masses_outside_of_the_window_are_charged_for(monkeypatch, deviations, tilt):
    """With a window that is far too small the bounds are wide, and hold."""
    monkeypatch.setattr(tilted_sum, "_DEVIATIONS", deviations)
    monkeypatch.setattr(tilted_sum, "_MIN_PLACES", 1)
    monkeypatch.setattr(tilted_sum, "_MAX_PLACES", 1)
    weights = [1] * 9
    parts = [(side(weights, 0.25, first=-4), 40)]
    whole = np.array([1.0])
    for _ in range(40):
        whole = np.convolve(whole, np.array(weights) / 9)
    losses = 0.25 * (np.arange(len(whole)) - 160)
    for level in (-3.0, 0.0, 2.0, 9.0):
        truth = float(np.maximum(0, -np.expm1(level - losses)) @ whole)
        high = TiltedSum(parts, tilt, upper=True).log_delta(level)
        low = TiltedSum(parts, tilt, upper=False).log_delta(level)
        assert math.exp(low) <= truth * (1 + 1e-9)
        assert math.exp(high) >= truth * (1 - 1e-9)
        if deviations == 12 and tilt:
            assert high - low < 1e-6


@pytest.mark.full
def test_a_tail_is_as_right_as_the_middle():
    """A delta of 10^-150: ten thousand fair steps of 0.01, against a sum of binomials."""
    parts = [(Side(0.02, -0.01, 0, np.array([0.5, 0.5])), 10_000)]
    level = 25.0
    tilt = tilt_for_epsilon(parts, level)
    rows = [(0.02 * j - 100, math.comb(10_000, j)) for j in range(6200, 8200)]
    truth = sum(Fraction(n) * Fraction(max(0.0, -math.expm1(level - x))) for x, n in rows)
    log = math.log(truth.numerator) - math.log(truth.denominator) - 10_000 * math.log(2)
    high = TiltedSum(parts, tilt, upper=True).log_delta(level)
    low = TiltedSum(parts, tilt, upper=False).log_delta(level)
    assert low <= log + 1e-9
    assert log - 1e-9 <= high
    assert high - low < 1e-5


def test_tilts_put_the_mean_where_it_is_wanted():
    parts = [(side([3, 1, 2, 5], 0.1), 50)]
    tilt = tilt_for_epsilon(parts, 3.0)
    assert abs(moments(parts, tilt)[1] - 3.0) < 0.1
    assert tilt_for_epsilon(parts, -1e9) == pytest.approx(0.0, abs=1e-3)
    near = moments(parts, tilt_for_delta(parts, math.log(1e-6)))[1]
    found = TiltedSum(parts, tilt_for_delta(parts, math.log(1e-6)), upper=True)
    assert abs(found.log_delta(near) - math.log(1e-6)) < 2


@pytest.mark.parametrize("times", [(400, 0), (400, 30), (30, 400)])
def test_what_a_transform_takes_for_zero_is_charged_for(monkeypatch, times):
    """Values below e^-60 are left out; with far larger ones left out the error still holds."""
    parts = [(np.ones(9) / 9, times[0]), (np.array([0.25, 0.0, 0.75]), times[1])]
    whole = np.array([1.0])
    for a, k in parts:
        for _ in range(k):
            whole = np.convolve(whole, a)
    parts = [(a, k) for a, k in parts if k]
    truth = np.zeros(1 << 12)
    truth[: len(whole)] = whole
    small, _ = tilted_sum._transformed(parts, 1 << 12)
    assert float(np.abs(small - truth).max()) < 1e-14
    for least in (-8.0, -2.0, -0.5):
        monkeypatch.setattr(tilted_sum, "_NEGLIGIBLE", least)
        found, error = tilted_sum._transformed(parts, 1 << 12)
        assert 1e-14 < float(np.abs(found - truth).max()) <= error


@pytest.mark.parametrize("upper", [False, True])
def test_places_far_from_the_middle_say_what_those_near_it_do(monkeypatch, upper):
    """Powers of a tilt that are too large for floats are taken from each place on instead."""
    parts = [(side([1, 1, 2, 1], 0.5), 300)]
    near = TiltedSum(parts, 1.0, upper=upper)
    levels = [near.middle + away for away in (-20.0, -3.0, 0.0, 4.5, 30.0)]
    found = [near.log_delta(level) for level in levels]
    monkeypatch.setattr(tilted_sum, "_MAX_EXPONENT", 0.0)
    far = TiltedSum(parts, 1.0, upper=upper)
    assert [far.log_delta(level) for level in levels] == pytest.approx(found, abs=1e-9)
    monkeypatch.setattr(tilted_sum, "_MAX_EXPONENT", 600.0)
    steep = TiltedSum(parts, 40.0, upper=upper)
    assert steep.log_delta(steep.middle) < 0
    assert steep.log_delta(0.0) > -1e-3 or not upper


@pytest.mark.parametrize("sigma", [10**9 + 7, 10**12 + 39])
@pytest.mark.parametrize("start", [-3.3, 0.7, 6.1])
def test_masses_of_narrow_cells_are_as_right_as_they_claim(sigma, start):
    """Of 10^-5 deviations, against the normal distribution in 160 bits."""
    found = gaussian_losses(Fraction(sigma), sigma, 1e-30)
    ends = np.array([start, start + 1e-5])
    first = [Fraction(int(one)) for one in np.ceil((ends - 0.5) * sigma)]
    for mass, moved in zip(found.masses(ends), (0, sigma), strict=True):
        u = [(one - Fraction(1, 2) + moved) / sigma for one in first]
        truth = normal_cdf(Enclosure.of(-u[0]), 160) - normal_cdf(Enclosure.of(-u[1]), 160)
        assert abs(mass[0] / float(truth.middle) - 1) < found.slack


@pytest.mark.parametrize("ratio", [30, 40, 60])
def test_losses_too_large_for_floats_of_the_other_mass_are_not_lost(ratio):
    """Two releases lose no less than one of them does, by its closed form."""
    wide = GaussianShift(Fraction(1 << 15), ratio << 15)
    alone = GaussianSum.of([(wide.scale, wide.shift, 1)]).epsilon(math.log(1e-6))
    assert wide.compose(LaplaceShift(10, 1)).epsilon("1e-6").upper >= alone[0]
