"""The trade-off curve is that of the best test between two laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS, pairs
from support.examples import examples
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Measurement,
    Number,
    PureDP,
    RenyiDP,
    Space,
    Tradeoff,
    ZeroConcentratedDP,
    compose,
)
from tacit.core.divergences import (
    Curve,
    Pair,
    PrivacyProfile,
    distribution,
    excess,
    hockey_stick,
    largest_of_chords,
    largest_ratio,
    log_moments,
    max_divergence,
    renyi,
    total_variation,
)
from tacit.core.losses.distribution import dominating_pair
from tacit.core.tradeoff import (
    Concave,
    ProfilePoints,
    TradeoffFunction,
    epsilon_near,
    min_mu,
    power_of,
)
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import DiscreteGaussian, DiscreteLaplace


@given(pairs(), st.fractions(0, 1))
def test_the_tradeoff_is_the_best_test(pair, alpha):
    """Against the linear program's vertices: thresholds on the ratio, mixed two at a time."""
    p, q = pair
    curve = Tradeoff.of(p, q)
    outcomes = sorted({*p, *q}, key=lambda x: -(q.get(x, 0) / p[x]) if p.get(x) else -math.inf)
    left, beta = alpha, Fraction(1)
    for x in outcomes:
        a, b = p.get(x, Fraction(0)), q.get(x, Fraction(0))
        share = Fraction(1) if a <= left else left / a
        left, beta = left - share * a, beta - share * b
    assert curve(alpha).lower == curve(alpha).upper == beta


# The trade-off function of a profile is that of the best tests, made symmetric and convex.


NUMBERS = Space(Number("int"), AbsoluteDistance())


def of_pair(p, q):
    profile = PrivacyProfile(distribution(p), distribution(q))
    return TradeoffFunction(ProfilePoints(profile))


@given(pairs(), st.fractions(0, 1))
def test_it_is_the_convex_hull_of_the_best_tests_both_ways(p_and_q, alpha):
    """Against the corners of the two exact curves, joined by the lower hull."""
    p, q = p_and_q
    corners = sorted({*Tradeoff.of(p, q).points(), *Tradeoff.of(q, p).points()})
    hull = Fraction(1)
    for a, b in corners:
        for c, d in corners:
            if a <= alpha <= c:
                here = b if a == c else b + (d - b) * (alpha - a) / (c - a)
                hull = min(hull, here)
    found = of_pair(p, q).beta(alpha)
    assert found.lower <= hull <= found.upper
    assert alpha == 0 or found.width <= Fraction(1, 10**4)


@pytest.mark.full
@pytest.mark.parametrize("alpha", ["0.001", "0.5"])
def test_many_gaussians_are_one(alpha):
    """Against the closed form ``Phi(Phi^-1(1 - alpha) - mu)`` of the continuous one."""
    m = compose([NUMBERS >> Gaussian(60)] * 900)
    found = m.tradeoff().beta(alpha)
    normal = NormalDist()
    truth = normal.cdf(-normal.inv_cdf(float(alpha)) - 0.5)
    assert found.width < Fraction(1, 10**5)
    assert math.isclose(found.middle, truth, abs_tol=2e-5)


def test_the_ends_are_those_of_the_definition():
    pure = (NUMBERS >> Laplace(2)).tradeoff()
    assert pure.beta(0) == Enclosure.of(1)
    assert pure.beta(1) == Enclosure.of(0)
    with pytest.raises(UsageError, match="alpha must be from"):
        pure.beta("1.5")


def test_a_claim_alone_bounds_the_tests_from_below_only():
    """Pure DP: the closed form ``max(1 - e^eps alpha, e^-eps (1 - alpha))``; no attack is known."""
    m = Measurement(NUMBERS, PureDP(), lambda n: n, lambda d: d)
    found = m.tradeoff().beta("0.1")
    assert math.isclose(found.lower, 1 - math.e / 10, abs_tol=1e-6)
    assert found.upper == Fraction(9, 10)
    loose = Measurement(NUMBERS, ApproximateDP(), lambda n: n, lambda d: (d, Fraction(1, 10)))
    assert math.isclose(loose.tradeoff().beta(0).lower, 0.9, abs_tol=1e-6)


def test_zcdp_bounds_every_test():
    """The Gaussian release has this rho: its own curve lies above what rho says."""
    m = NUMBERS >> Gaussian(2)
    stated = Measurement(NUMBERS, ZeroConcentratedDP(), lambda n: n, m.privacy)
    own, claimed = m.tradeoff().beta("0.1").upper, stated.tradeoff().beta("0.1").lower
    assert 0 < claimed < own


def test_it_is_shown_in_words_and_as_a_table():
    f = (NUMBERS >> Laplace(1)).tradeoff()
    assert "misses at least 86.4%" in f.sentence("0.05")
    html = f._repr_html_()
    assert "false alarms (alpha)" in html
    assert "0.8640" in html
    assert ".beta(alpha)" in repr(f)


def test_a_picture_shades_what_no_test_reaches():
    pytest.importorskip("matplotlib")
    figure = (NUMBERS >> Laplace(1)).tradeoff().plot()
    line = figure.axes[0].lines[0]
    assert line.get_xdata()[0] == 0
    assert line.get_ydata()[0] == 1
    assert all(a >= b for a, b in zip(line.get_ydata(), line.get_ydata()[1:], strict=False))


def test_points_lie_on_the_curve():
    f = (NUMBERS >> Laplace(1)).tradeoff()
    for alpha, beta in f.points(11):
        assert abs(f.beta(alpha).upper - beta) <= Fraction(1, 500)


def test_the_drawn_curve_lies_below_every_test_also_at_kinks():
    pytest.importorskip("matplotlib")
    f = (NUMBERS >> Laplace(1)).tradeoff()
    line = f.plot().axes[0].lines[0]
    alphas, betas = line.get_xdata(), line.get_ydata()
    assert (alphas[0], betas[0], alphas[-1], betas[-1]) == (0, 1, 1, 0)
    assert list(alphas) == sorted(alphas)
    for i in range(0, 101, 9):
        alpha = Fraction(i, 100)
        drawn, found = np.interp(float(alpha), alphas, betas), f.beta(alpha)
        assert found.lower - 1e-3 <= drawn <= found.upper + 1e-12
    kink = 1 / (1 + math.e)  # of randomized response, where alpha is beta
    assert kink - 1e-6 <= np.interp(kink, alphas, betas) <= kink + 1e-12


# The mu of Gaussian differential privacy: against closed forms, and by its definition.


GAUSSIAN_MU_NUMBERS = Space(Number("int"), AbsoluteDistance())
NORMAL = NormalDist()


def gaussian(mu, epsilon):
    return NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(
        -mu / 2 - epsilon / mu
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_pure_dp_has_the_mu_of_randomized_response(epsilon):
    """Two answers with odds e^epsilon have one corner: ``mu = 2 Phi^-1(e^eps / (1 + e^eps))``."""
    found = min_mu(ProfilePoints(dominating_pair(epsilon).delta), epsilon, Fraction(0))
    truth = 2 * NORMAL.inv_cdf(1 / (1 + math.exp(-epsilon)))
    assert float(found.lower) <= truth * (1 + 1e-9)
    assert float(found.upper) >= truth * (1 - 1e-9)
    assert found.width < found.upper / 50


@pytest.mark.parametrize("scale", [1, 20])
def test_the_profile_lies_below_that_of_the_mu(scale):
    m = GAUSSIAN_MU_NUMBERS >> Laplace(scale)
    mu = float(m.gaussian_mu().upper)
    low = float(m.gaussian_mu().lower)
    levels = [i / (50 * scale) for i in range(50)]
    deltas = [float(m.delta(level).lower) for level in levels]
    assert all(delta <= gaussian(mu, e) + 1e-12 for e, delta in zip(levels, deltas, strict=True))
    # a mu below the lower end is too small at an epsilon
    small = [gaussian(low * 0.98, e) for e in levels]
    assert any(delta > other for delta, other in zip(deltas, small, strict=True))


@pytest.mark.full
def test_many_gaussians_have_the_mu_of_one():
    m = compose([GAUSSIAN_MU_NUMBERS >> Gaussian(60)] * 900)
    found = m.gaussian_mu("1e-9")
    assert found.lower <= Fraction(1, 2) + Fraction(1, 10**4)
    assert found.upper >= Fraction(1, 2) - Fraction(1, 10**4)
    assert found.width < Fraction(1, 100)


def test_noise_without_a_largest_loss_needs_a_delta():
    with pytest.raises(UsageError, match="give a larger delta"):
        (GAUSSIAN_MU_NUMBERS >> Gaussian(4)).gaussian_mu()


def test_what_needs_nothing_costs_nothing():
    assert (GAUSSIAN_MU_NUMBERS >> Laplace(1)).gaussian_mu(d_in=0) == Enclosure.of(0)


def test_an_epsilon_beyond_all_use_is_refused():
    m = Measurement(GAUSSIAN_MU_NUMBERS, PureDP(), lambda n: n, lambda d: 10_000 * d)
    with pytest.raises(InfeasibleError, match="more than 600"):
        m.gaussian_mu()


# What is known of a concave function at a few points bounds it between them.


TENTHS = [Fraction(i, 10) for i in range(11)]


@given(
    st.lists(st.sampled_from(TENTHS), min_size=1, max_size=5),
    st.lists(st.sampled_from(TENTHS), min_size=2, max_size=6, unique=True),
    st.sampled_from(TENTHS[:3]),
)
def test_no_value_of_a_concave_function_is_above_the_bound(kinks, places, width):
    """Concave: minus a mean of distances from kinks; values are known to a width only."""

    def value(t):
        return -sum((abs(t - kink) for kink in kinks), Fraction(0)) / len(kinks)

    function = Concave((Fraction(-1), Fraction(1)))
    for place in places:
        function.add(place, Enclosure(value(place) - width, value(place) + width))
    low, high = min(places), max(places)
    inside = [kink for kink in kinks if low <= kink <= high]
    largest = max(value(t) for t in [*places, *inside])
    assert function.lower_bound <= largest <= function.most()[0]


def test_points_that_are_many_and_exact_leave_no_room():
    function = Concave((Fraction(-2), Fraction(2)))
    for i in range(101):
        t = Fraction(i, 100)
        function.add(t, Enclosure.of(t * (1 - t)))
    assert Fraction(1, 4) <= function.most()[0] <= Fraction(1, 4) + Fraction(1, 10**4)
    assert function.lower_bound == Fraction(1, 4)


def test_the_slope_on_from_the_last_point_is_that_of_the_last_chord():
    function = Concave((Fraction(-1), Fraction(1)))
    function.add(Fraction(0), Enclosure.of(0))
    assert function.rising() == 1
    function.add(Fraction(2), Enclosure.of(1))
    assert function.rising() == Fraction(1, 2)


def test_a_profile_is_asked_once_at_an_epsilon():
    asked = []

    def delta(epsilon):
        asked.append(epsilon)
        return Enclosure(Fraction(-1, 10), Fraction(11, 10))

    points = ProfilePoints(delta)
    assert points.at(Fraction(1)) == points.at(Fraction(1)) == Enclosure(Fraction(0), Fraction(1))
    assert asked == [1] == points.epsilons


def test_a_power_is_within_its_distance_and_comes_back():
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(40)):
        x, off = power_of(epsilon)
        assert exp(epsilon, 256).lower >= x - off
        assert exp(epsilon, 256).upper <= x
        assert math.isclose(epsilon_near(x), epsilon, abs_tol=2.0**-23)


# Divergences against closed forms and against the definition over all events.


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


# Ratios and excesses of enclosed masses against their definition, in exact rationals.


ENDS = st.tuples(*[st.fractions(0, 1, max_denominator=12)] * 2).map(sorted)
MASSES = st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=5)


def pairs_of(masses: list[tuple[list[Fraction], list[Fraction]]]) -> list[Pair]:
    return [(Enclosure(*p), Enclosure(*q)) for p, q in masses]


@given(MASSES)
def test_every_ratio_that_the_masses_leave_open_lies_between_the_ends(masses):
    found = largest_ratio(pairs_of(masses))
    least = [p[0] / q[1] for p, q in masses if q[1]]
    assert found.lower == max([Fraction(0), *least])
    if found.index is not None:
        p, q = masses[found.index]
        assert p[0] / q[1] == found.lower
    impossible = [i for i, (p, q) in enumerate(masses) if p[0] > 0 and q[1] == 0]
    assert found.impossible == (impossible[0] if impossible else None)
    assert found.unsure == any(p[1] > 0 and q[0] == 0 < (q[1] or not p[0]) for p, q in masses)
    if not found.unsure and found.impossible is None:
        assert found.upper == max([Fraction(0), *(p[1] / q[0] for p, q in masses if p[1])])


@given(MASSES)
def test_the_excess_at_zero_is_the_sum_of_what_is_positive(masses):
    found, certain = excess(pairs_of(masses), Fraction(0), 64)
    least = [p[0] - q[1] for p, q in masses]
    assert found.lower == sum((d for d in least if d > 0), Fraction(0))
    assert found.upper == sum((max(Fraction(0), p[1] - q[0]) for p, q in masses), Fraction(0))
    assert certain == [i for i, d in enumerate(least) if d > 0]


def test_the_excess_falls_with_epsilon_and_the_ends_hold_it():
    pairs = [(Enclosure.of(1), Enclosure.of(Fraction(1, 4)))]
    found = [excess(pairs, Fraction(e), 96)[0] for e in range(4)]
    assert found[0].lower == found[0].upper == Fraction(3, 4)
    assert found[1].lower > found[2].lower == found[3].upper == 0


# Renyi moments in doubles against the certified ones, and against Gaussians in closed form.


@pytest.mark.parametrize("order", ["1/2", "3/2", 2, 17])
def test_they_agree_with_the_certified_divergence(order):
    p, q = ["1/6", "1/3", "1/2"], ["1/2", "1/4", "1/4"]
    logs = [np.log([float(Fraction(x)) for x in side]) for side in (p, q)]
    a = float(Fraction(order))
    found = log_moments(*logs, np.array([a]))[0] / (a - 1)
    assert found == pytest.approx(float(renyi(p, q, order)), rel=1e-9)


def test_tails_are_added_where_they_fall_and_refused_where_they_rise():
    x = np.arange(-60, 61.0)
    p, q = -(x**2) / 50, -((x - 1) ** 2) / 50
    p, q = (side - np.log(np.exp(side).sum()) for side in (p, q))
    found = log_moments(p, q, np.array([2.0]), tails=True)
    assert found[0] == pytest.approx(2 * 1 / 50, rel=1e-6)  # a (a - 1) d^2 / (2 sigma^2)
    with pytest.raises(UsageError, match="does not reach the peak"):
        log_moments(p, q, np.array([100.0]), tails=True)


def test_the_largest_of_a_chord_is_the_largest_of_many_points_on_it():
    x = np.array([0.1, 0.5, 2.0, 9.0])
    f = np.array([0.02, 0.3, 2.5, 30.0])
    found = largest_of_chords(x, f)
    for i in range(3):
        at = np.linspace(x[i], x[i + 1], 20_001)
        line = f[i] + (f[i + 1] - f[i]) * (at - x[i]) / (x[i + 1] - x[i])
        assert found[i] == pytest.approx((line / (at * (at + 1))).max(), rel=1e-7)


# The curve of delta over epsilon is the sum of the positive parts.


@given(st.lists(st.tuples(st.fractions(0, 1), st.fractions(0, 1)), max_size=5))
def test_the_curve_is_the_sum_of_positive_parts(masses):
    curve = Curve.of(masses)
    for level in LEVELS:
        factor = exp(level, 96)
        direct = sum((max(p - factor.upper * q, Fraction(0)) for p, q in masses), Fraction(0))
        assert curve.delta(level).lower == direct
