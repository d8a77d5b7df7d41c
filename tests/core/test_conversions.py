"""Epsilon at delta from a loss in a measure alone, beside the formulas."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

import tacit as tc
from tacit import framework as fw
from tacit.core import ApproximateDP as ApproximateConcentratedApproximateDP
from tacit.core import ApproximateDP as MeasureApproximateDP
from tacit.core import (
    ApproximateZeroConcentratedDP,
    RenyiCurve,
    Space,
    SymmetricDistance,
    Vector,
    measure_from,
    renyi_divergence,
)
from tacit.core import PureDP as ApproximateConcentratedPureDP
from tacit.core import PureDP as MeasurePureDP
from tacit.core import PureDP as RenyiMeasuresPureDP
from tacit.core import RenyiDP as ApproximateConcentratedRenyiDP
from tacit.core import RenyiDP as MeasureRenyiDP
from tacit.core import RenyiDP as RenyiMeasuresRenyiDP
from tacit.core import ZeroConcentratedDP as ApproximateConcentratedZeroConcentratedDP
from tacit.core import ZeroConcentratedDP as MeasureZeroConcentratedDP
from tacit.core import ZeroConcentratedDP as RenyiMeasuresZeroConcentratedDP
from tacit.core.conversions import (
    composed_losses,
    delta_bound,
    epsilon_bound,
    implied_loss,
    log_moments,
    moments_of_range,
    of_range,
)
from tacit.core.divergences import distribution, renyi
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays, Dominating
from tacit.core.losses.distribution import BoundedRange, PrivacyLossDistribution, dominating_pair
from tacit.core.losses.sampling import sampled
from tacit.core.measures import (
    ApproximateDP,
    Measure,
    PureDP,
    ZeroConcentratedDP,
    pure_to_concentrated,
    pure_to_renyi,
)
from tacit.core.renyi import RenyiDP
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import user_measurement

HALF, SMALL = Fraction(1, 2), Fraction(1, 10**6)


def test_a_pure_loss_is_at_least_its_epsilon_at_delta():
    """Of randomized response at epsilon: delta = (e^epsilon - e^x) / (1 + e^epsilon) at x."""
    found = epsilon_bound(PureDP(), Fraction(1), Fraction(1, 10))
    wanted = math.log(math.e - (1 + math.e) / 10)
    assert found.lower == 0
    assert wanted <= float(found.upper) <= wanted + 1e-9
    assert float(epsilon_bound(PureDP(), Fraction(1), Fraction(0)).upper) == pytest.approx(1)


def test_a_delta_below_that_of_the_guarantee_is_refused():
    with pytest.raises(UsageError, match=r"delta 1e-06; no epsilon reaches a delta of"):
        epsilon_bound(ApproximateDP(), (HALF, SMALL), SMALL / 2)
    at = epsilon_bound(ApproximateDP(), (HALF, SMALL), SMALL)
    assert float(at.upper) == pytest.approx(0.5)


def test_a_rho_has_no_pure_epsilon_and_a_zero_loss_has_none_at_all():
    for measure in (ZeroConcentratedDP(), RenyiDP(2)):
        assert epsilon_bound(measure, HALF, Fraction(0)) == math.inf
        assert epsilon_bound(measure, Fraction(0), Fraction(0)).upper == 0
        assert implied_loss(measure, HALF) is None
    rho = epsilon_bound(ZeroConcentratedDP(), HALF, SMALL)
    assert 0 < float(rho.upper) <= 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))


def test_equal_parts_compose_and_an_unknown_one_makes_all_unknown():
    pure = (None, PureDP(), lambda d: d * HALF)
    losses = composed_losses([pure, pure])(Fraction(1))
    assert losses is not None
    single = implied_loss(PureDP(), HALF)
    assert single is not None
    assert losses.delta(Fraction(0)).upper > single.delta(Fraction(0)).upper
    assert losses.delta(Fraction(1)).upper < Fraction(1, 10**9)
    assert composed_losses([pure, (None, RenyiDP(2), lambda d: d)])(Fraction(1)) is None


@pytest.mark.parametrize(
    ("measure", "loss"),
    [
        (PureDP(), HALF),
        (ApproximateDP(), (HALF, SMALL)),
        (ZeroConcentratedDP(), HALF),
        (RenyiDP(6), Fraction(3)),
    ],
)
def test_delta_at_epsilon_is_the_other_side_of_epsilon_at_delta(measure, loss):
    for level in (Fraction(0), Fraction(1, 4), Fraction(2), Fraction(6)):
        delta = delta_bound(measure, loss, level)
        assert delta.lower == 0
        if not 0 < delta.upper < 1:
            continue
        assert epsilon_bound(measure, loss, delta.upper).upper <= level + Fraction(1, 10**9)
        if not isinstance(measure, ApproximateDP):
            assert epsilon_bound(measure, loss, delta.upper * Fraction(9, 10)).upper > level


def test_no_loss_has_no_delta():
    assert delta_bound(RenyiDP(2), Fraction(0), Fraction(0)).upper == 0
    assert delta_bound(ZeroConcentratedDP(), HALF, Fraction(0)).upper <= 1


def test_equal_parts_are_composed_with_each_other_wherever_they_stand():
    asked = []

    def part(loss):
        def privacy(d):
            asked.append(loss)
            return loss * d

        return None, PureDP(), privacy

    first, second = part(HALF), part(Fraction(1, 8))
    one = Fraction(1)
    apart = composed_losses([first] * 50 + [second] * 50)(one)
    assert len(asked) == 2
    assert composed_losses([first, second] * 50)(one) == apart
    equal = [part(Fraction(1, 8)) if i % 2 else part(HALF) for i in range(100)]
    assert composed_losses(equal)(one) == apart


# Approximate zCDP: what it implies, held against the true profile of small releases together.


BOTH = ApproximateZeroConcentratedDP()
COLUMN = Space(Vector(int), SymmetricDistance())


def leaking(epsilon, delta):
    """Return the two distributions of randomized response that says all with probability delta."""
    high = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    p = [delta, high, 1 - delta - high, 0.0]
    return p, p[::-1]


def gaussian(sigma):
    places = range(-30, 32)
    weights = [[math.exp(-((x - s) ** 2) / (2 * sigma**2)) for x in places] for s in (0, 1)]
    p, q = ([w / sum(row) for w in row] for row in weights)
    return p, q


def together(pairs):
    whole = ([1.0], [1.0])
    for pair in pairs:
        whole = tuple(
            [a * b for a, b in itertools.product(so_far, one)]
            for so_far, one in zip(whole, pair, strict=True)
        )
    return whole


def profile(p, q, epsilon):
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-4, 0.05])
@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_the_true_profile_is_within_what_is_implied(epsilon, delta, sigma):
    pair, noise = leaking(epsilon, delta), gaussian(sigma)
    rho = 1 / (2 * sigma**2)
    parts = [
        (ApproximateConcentratedApproximateDP(), (Fraction(epsilon), Fraction(delta))),
        (ApproximateConcentratedZeroConcentratedDP(), Fraction(rho)),
        (ApproximateConcentratedApproximateDP(), (Fraction(epsilon), Fraction(delta))),
    ]
    loss = BOTH.compose([BOTH.from_other(*part) for part in parts])
    p, q = together([pair, noise, pair])
    for level in (0, 0.5, 1, 2, 4, 8):
        true = max(profile(p, q, level), profile(q, p, level))
        bound = float(delta_bound(BOTH, loss, Fraction(level)).upper)
        assert true <= bound + 1e-12
        if bound < 1:
            found = epsilon_bound(BOTH, loss, Fraction(bound) + Fraction(1, 10**12))
            assert (
                float(found.upper) == pytest.approx(level, abs=1e-4) or float(found.upper) < level
            )
    assert 1 - (1 - delta) ** 2 <= loss[1] <= 2 * delta + 1e-15


def stated(measure, loss):
    return user_measurement(COLUMN, lambda data: 0, lambda d: loss, measure=measure)


def test_measurements_in_different_measures_compose():
    pure, pair = (
        stated(ApproximateConcentratedPureDP(), Fraction(1, 10)),
        stated(ApproximateConcentratedApproximateDP(), (Fraction(1, 2), TINY)),
    )
    rho, order = (
        stated(ApproximateConcentratedZeroConcentratedDP(), Fraction(1, 50)),
        stated(ApproximateConcentratedRenyiDP(8), Fraction(1, 3)),
    )
    whole = fw.compose([pure, pair, rho])
    assert whole.measure == BOTH
    least = sum(e * math.tanh(e / 2) for e in (0.1, 0.5)) + 0.02
    assert float(whole.map(1)[0]) == pytest.approx(least)
    assert whole.map(1)[1] == TINY
    assert fw.compose([whole, rho, pair]).map(1)[1] == 2 * TINY
    assert whole.check(1, (Fraction(least) + TINY, TINY))
    assert not whole.check(1, (Fraction(least), 0))
    assert fw.compose([order, rho, pure]).measure == ApproximateConcentratedRenyiDP(8)
    assert fw.compose([order, rho]).map(1) == Fraction(1, 3) + Fraction(8, 50)
    assert fw.convert(rho, ApproximateConcentratedRenyiDP(3)).map(1) == Fraction(3, 50)
    assert fw.convert(pair, BOTH).map(1)[1] == TINY
    for other in (pair, fw.convert(rho, BOTH)):
        with pytest.raises(MismatchError, match="no conversion joins"):
            fw.compose([order, other])
    with pytest.raises(MismatchError, match="without further choices"):
        fw.convert(whole, ApproximateConcentratedApproximateDP())


TINY = Fraction(1, 10**6)


def test_known_losses_are_used_where_all_are_known():
    count = COLUMN >> tc.count()
    noisy = count >> fw.gaussian(20)
    pair = fw.calibrate(count >> fw.gaussian, 1, (1, TINY))
    whole = fw.compose([noisy, pair])
    assert whole.measure == BOTH
    known = whole.epsilon(2 * TINY)
    blind = epsilon_bound(BOTH, whole.map(1), 2 * TINY)
    assert 0 < known.lower < known.upper < blind.upper


def test_what_cannot_be_said_is_refused():
    loss = (Fraction(1, 8), TINY)
    for delta in (TINY / 2, TINY):
        with pytest.raises(UsageError, match="no epsilon reaches"):
            epsilon_bound(BOTH, loss, delta)
    assert epsilon_bound(BOTH, (Fraction(0), TINY), TINY).upper == 0
    assert epsilon_bound(BOTH, (Fraction(1), Fraction(1)), Fraction(1)).upper < 1
    with pytest.raises(UsageError, match="privacy profile"):
        BOTH.divergence([0.5, 0.5], [0.4, 0.6])
    for wrong in (1, (1,), (-1, 0), (1, 2)):
        with pytest.raises(UsageError):
            BOTH.read(wrong)
    assert BOTH.show((Fraction(1, 8), TINY)) == "rho = 0.125 at delta = 1e-06"
    assert measure_from(BOTH.describe()) == BOTH


# Moments of losses, against their definition on explicit pairs and on nearby fine sums.


POWERS = [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(17)]


def both(p, q):
    return BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))


def test_listed_pairs_have_their_renyi_divergences_in_the_worse_direction():
    p, q = {0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"}
    found, nothing = log_moments(both(p, q), POWERS)
    assert nothing == 0
    for t, moment in zip(POWERS, found, strict=True):
        exact = t * max(renyi(*pair, 1 + t).upper for pair in ((p, q), (q, p)))
        assert exact <= moment <= exact * (1 + Fraction(1, 10**12))
    twice, _ = log_moments(both(p, q).self_compose(40), POWERS)
    assert all(abs(b - 40 * a) < 1e-9 for a, b in zip(found, twice, strict=True))


def test_what_only_one_has_is_left_out_with_its_probability():
    found, left_out = log_moments(dominating_pair(Fraction(1), Fraction(1, 100)), POWERS)
    plain, _ = log_moments(dominating_pair(Fraction(1)), POWERS)
    assert left_out == Fraction(1, 100)
    assert all(a <= b for a, b in zip(found, plain, strict=True))


@pytest.mark.parametrize("losses", [LaplaceShift(5, 3), GaussianShift(Fraction(3), 2)])
def test_noise_in_closed_form_and_on_a_lattice_from_above(losses):
    exact = [t * losses.renyi(1 + t).upper for t in POWERS]
    found, _ = log_moments(Dominating(losses), POWERS)
    for t, known, moment in zip(POWERS, exact, found, strict=True):
        assert known <= moment
        assert moment <= known * (1 + Fraction(1, 10**9)) or isinstance(losses, GaussianShift)
        assert (
            moment <= t * (t + 1) * losses.concentrated() * (1 + Fraction(1, 10**9))
            if (isinstance(losses, GaussianShift))
            else True
        )


def test_a_bounded_range_is_no_more_than_its_rho_and_its_pair():
    reach = Fraction(2)
    both_ways, _ = log_moments(of_range(reach), POWERS)
    pair, _ = log_moments(BoundedRange(reach), POWERS)
    for t, a, b, c in zip(POWERS, both_ways, moments_of_range(reach, POWERS), pair, strict=True):
        assert a == b == min(c, t * (t + 1) * reach**2 / 8)
        density = [math.exp(-2 + 4 * (i + 0.5) / 4000) for i in range(4000)]
        mean = sum(z ** float(t + Fraction(1, 2)) for z in density) / sum(z**0.5 for z in density)
        assert math.isclose(float(c), math.log(mean), rel_tol=1e-4)


def test_a_sample_is_enclosed_from_its_sums():
    """Poisson-sampled response: two outcomes, whose masses are known exactly."""
    rate, up = 0.1, math.e / (1 + math.e)
    found, left_out = log_moments(sampled(dominating_pair(Fraction(1)), Fraction(1, 10)), POWERS)
    assert left_out < 1e-30
    p, q = (up, 1 - up), (1 - up, up)
    mixed = tuple(rate * a + (1 - rate) * b for a, b in zip(p, q, strict=True))
    for t, moment in zip(POWERS, found, strict=True):
        ways = (
            math.log(math.fsum(a * (a / b) ** float(t) for a, b in zip(*pair, strict=True)))
            for pair in ((mixed, q), (q, mixed))
        )
        exact = max(ways)
        assert exact <= moment + 1e-15
        assert moment <= exact + 1e-5 * exact + 1e-9


# Renyi divergences: orders, ends, and what is missing from one side.


def test_renyi_rises_with_its_order_between_its_two_ends():
    p, q = {0: "1/2", 1: "1/3", 2: "1/6"}, {0: "1/4", 1: "1/4", 2: "1/2"}
    orders = ["1/10", "1/2", 1, "11/10", 2, 10, 1000, math.inf]
    found = [renyi_divergence(p, q, order) for order in orders]
    assert all(a.lower < b.upper for a, b in itertools.pairwise(found))
    direct = math.log(sum(float(Fraction(p[x])) ** 2 / float(Fraction(q[x])) for x in p))
    assert float(found[4].middle) == pytest.approx(direct, rel=1e-12)
    assert renyi_divergence({0: 1}, {1: 1}, "1/2") == math.inf
    assert renyi_divergence({0: "1/2", 1: "1/2"}, {0: 1}, 1) == math.inf
    for order in (0, -1, "nan", -math.inf):
        with pytest.raises(UsageError):
            renyi_divergence(p, q, order)


# The Renyi accountant, beside closed forms and the definition.


RENYI_MEASURES_COLUMN = fw.Space(fw.Vector(int), fw.SymmetricDistance())
RENYI_MEASURES_SMALL = Fraction(1, 10**6)
CURVE = RenyiCurve()
RENYI_MEASURES_BOTH = fw.ApproximateZeroConcentratedDP()


def renyi_measures_stated(measure, loss):
    return user_measurement(RENYI_MEASURES_COLUMN, lambda data: 0, lambda d: loss, measure=measure)


def formula(losses, delta, orders):
    """Canonne, Kamath and Steinke's conversion at each order, in 60 digits; the least."""

    def real(value):
        return mpmath.mpf(value.numerator) / value.denominator

    with mpmath.workdps(60):
        found = []
        for loss, order in zip(map(real, losses), map(real, orders), strict=True):
            tail = (mpmath.log(order) + mpmath.log(real(delta))) / (order - 1)
            found.append(loss + mpmath.log((order - 1) / order) - tail)
        return Fraction(mpmath.nstr(min(found), 50))


@pytest.mark.parametrize(("sigma", "times"), [(4, 1), (20, 7), (30, 60)])
def test_gaussian_noise_is_at_each_order_what_its_formula_says(sigma, times):
    """And the best order of the curve is within 1% of the best of all orders."""
    one = renyi_measures_stated(RenyiMeasuresZeroConcentratedDP(), Fraction(1, 2 * sigma**2))
    curve = fw.compose([fw.convert(one, CURVE)] * times)
    rho = Fraction(times, 2 * sigma**2)
    assert curve.measure == CURVE
    assert curve.map(1) == tuple(order * rho for order in CURVE.orders)
    found = curve.epsilon(RENYI_MEASURES_SMALL)
    wanted = formula(curve.map(1), RENYI_MEASURES_SMALL, CURVE.orders)
    assert found.lower == 0
    assert 0 <= found.upper - wanted < Fraction(1, 10**15)
    of_all = epsilon_bound(RenyiMeasuresZeroConcentratedDP(), rho, RENYI_MEASURES_SMALL).upper
    assert of_all <= found.upper < of_all * Fraction(101, 100)
    level = found.upper
    assert (
        RENYI_MEASURES_SMALL * Fraction(999, 1000)
        < curve.delta(level).upper
        <= RENYI_MEASURES_SMALL * (1 + RENYI_MEASURES_SMALL)
    )


def test_pure_loss_is_that_of_randomized_response_and_laplace_noise_its_own():
    order = Fraction(3)
    response = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    epsilon = RenyiMeasuresPureDP().divergence(*response).upper
    loss = fw.convert(
        renyi_measures_stated(RenyiMeasuresPureDP(), epsilon), RenyiCurve([2, order])
    ).map(1)[1]
    true = fw.renyi_divergence(*response, order)
    assert true.lower <= loss <= true.upper + RENYI_MEASURES_SMALL**2
    noisy = fw.Space(fw.Number("int"), fw.AbsoluteDistance()) >> fw.laplace(4)
    own = fw.convert(noisy, RenyiCurve([2, order])).map(4)[1]
    true = RenyiMeasuresRenyiDP(order).divergence(noisy.distribution(0), noisy.distribution(4))
    assert true.lower <= own <= true.upper + RENYI_MEASURES_SMALL**2
    assert own < RenyiMeasuresRenyiDP(order).from_pure(Fraction(1)) * Fraction(19, 20)
    assert fw.convert(noisy, RenyiMeasuresRenyiDP(order)).map(4) == own
    behind = RENYI_MEASURES_COLUMN >> fw.clamp(0, 4) >> tc.sum() >> fw.laplace(4)
    assert fw.convert(behind, RenyiMeasuresRenyiDP(order)).map(1) == own
    far = fw.convert(noisy, RenyiMeasuresRenyiDP(10**6)).map(4)
    assert 0.99 < far <= 1


def test_the_chord_lies_above_the_true_divergence_and_below_that_of_the_higher_order():
    p, q = [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]

    def divergence(order):
        found = RenyiMeasuresRenyiDP(order).divergence(p, q)
        return found.upper

    known = RenyiCurve(["3/2", 4, 9])
    losses = tuple(divergence(order) for order in known.orders)
    asked = RenyiCurve(["5/4", "3/2", 2, 3, 4, 6, "17/2", 9])
    for order, bound in zip(asked.orders, asked.from_other(known, losses), strict=True):
        assert divergence(order) <= bound * (1 + RENYI_MEASURES_SMALL**2)
        above = next(i for i, one in enumerate(known.orders) if one >= order)
        assert bound <= losses[above]
        assert RenyiMeasuresRenyiDP(order).from_other(known, losses) == bound
        if order in known.orders:
            assert bound == losses[above]


def test_parts_in_different_measures_compose_where_they_share_an_order():
    pure, rho = (
        renyi_measures_stated(RenyiMeasuresPureDP(), Fraction(1, 10)),
        renyi_measures_stated(RenyiMeasuresZeroConcentratedDP(), Fraction(1, 50)),
    )
    two, eight = (
        renyi_measures_stated(RenyiMeasuresRenyiDP(2), Fraction(1, 4)),
        renyi_measures_stated(RenyiMeasuresRenyiDP(8), Fraction(1, 3)),
    )
    several = renyi_measures_stated(
        RenyiCurve([3, 5, 32]), (Fraction(1, 10), Fraction(1, 5), Fraction(2))
    )
    assert fw.compose([two, eight]).measure == RenyiMeasuresRenyiDP(2)
    assert fw.compose([two, eight]).map(1) == Fraction(1, 4) + Fraction(1, 3)
    whole = fw.compose([pure, rho, several, eight])
    assert whole.measure == RenyiCurve([3, 5, 8])
    at_five = RenyiMeasuresRenyiDP(5).from_pure(Fraction(1, 10)) + Fraction(5, 50) + Fraction(1, 5)
    assert whole.map(1)[1] == at_five + Fraction(1, 3)
    singles = [
        epsilon_bound(RenyiMeasuresRenyiDP(order), loss, RENYI_MEASURES_SMALL).upper
        for order, loss in zip((3, 5, 8), whole.map(1), strict=True)
    ]
    assert whole.epsilon(RENYI_MEASURES_SMALL).upper == min(singles) < max(singles)
    assert whole.check(1, whole.map(1))
    assert not whole.check(1, (0, 1, 1))
    assert "Renyi DP of 3 orders from 3 to 8" in whole.explain()
    for other in (
        renyi_measures_stated(fw.ApproximateDP(), (Fraction(1), RENYI_MEASURES_SMALL)),
        fw.convert(rho, RENYI_MEASURES_BOTH),
    ):
        with pytest.raises(MismatchError, match="no conversion joins"):
            fw.compose([several, other])
    with pytest.raises(MismatchError, match="without further choices"):
        fw.convert(eight, RenyiCurve([2, 16]))


def test_the_true_epsilon_of_many_releases_is_within_what_the_accountant_says():
    noisy = RENYI_MEASURES_COLUMN >> tc.count() >> fw.laplace(20)
    known = fw.compose([noisy] * 20).epsilon(RENYI_MEASURES_SMALL)
    losses = fw.compose([fw.convert(noisy, CURVE)] * 20).map(1)
    bound = epsilon_bound(CURVE, losses, RENYI_MEASURES_SMALL).upper
    assert known.lower <= bound < known.upper * Fraction(13, 10)
    level = delta_bound(CURVE, losses, bound).upper
    assert (
        RENYI_MEASURES_SMALL * Fraction(99, 100)
        < level
        <= RENYI_MEASURES_SMALL * (1 + RENYI_MEASURES_SMALL)
    )


def test_renyi_measures_what_cannot_be_said_is_refused():
    for wrong in ([], [1], [2, "1/2"], 3, "23"):
        with pytest.raises(UsageError):
            RenyiCurve(wrong)
    curve = RenyiCurve([4, 2, 2])
    assert curve.orders == (2, 4)
    for loss in (1, (1,), (1, -1), (1, 2, 3)):
        with pytest.raises(UsageError):
            curve.read(loss)
    assert curve.read(("1/2", 1)) == (Fraction(1, 2), Fraction(1))
    assert curve.compose([]) == (0, 0)
    with pytest.raises(UsageError, match=r"tc.framework.RenyiDP\(2\).divergence"):
        curve.divergence([0.5, 0.5], [0.4, 0.6])
    noisy = RENYI_MEASURES_COLUMN >> tc.count() >> fw.laplace(1)
    with pytest.raises(UsageError, match="many divergences"):
        curve.divergence(noisy.distribution([]), noisy.distribution([1]))
    assert curve.show((Fraction(1, 4), Fraction(1, 2))) == (
        "epsilon = 0.25 at order 2 to 0.5 at order 4"
    )
    assert RenyiCurve([2]).show((Fraction(1, 4),)) == "epsilon = 0.25 at order 2"
    assert measure_from(curve.describe()) == curve
    assert epsilon_bound(curve, (Fraction(0), Fraction(0)), Fraction(0)).upper == 0
    assert epsilon_bound(curve, (Fraction(1), Fraction(2)), Fraction(0)) == math.inf
    assert delta_bound(curve, (Fraction(0), Fraction(0)), Fraction(0)).upper == 0


# Measures: how losses are read, compared, added up and converted.


def test_what_is_missing_from_one_side_is_infinite():
    u, v = {0: 1}, {0: "1/2", 1: "1/2"}
    assert MeasurePureDP().divergence(u, v) == math.inf
    assert MeasureZeroConcentratedDP().divergence(u, v) == math.inf
    assert MeasureRenyiDP(2).divergence(u, v) == math.inf
    assert MeasureApproximateDP().divergence(u, v)(0).upper == Fraction(1, 2)
    assert MeasureApproximateDP().divergence(u, v).epsilon("1/1000000") == math.inf


def test_bad_distributions_orders_and_losses_are_refused():
    for wrong in ({0: "1/2"}, {0: 2, 1: -1}, {0: math.nan}, {0: "x"}):
        with pytest.raises(UsageError):
            distribution(wrong)
    for alpha in (1, "1/2", 0, -3):
        with pytest.raises(UsageError, match="above one"):
            MeasureRenyiDP(alpha)
    with pytest.raises(UsageError, match="not negative"):
        MeasurePureDP().read(-1)
    for wrong in (1, (1,), (1, 2, 3), (-1, 0), (1, 2), (1, -1)):
        with pytest.raises(UsageError):
            MeasureApproximateDP().read(wrong)
    with pytest.raises(UsageError, match="no measure"):
        measure_from({"measure": "Renyi"})


def test_conversions_and_composition_of_losses():
    assert MeasureApproximateDP().compose([(1, Fraction(1, 2)), (2, Fraction(3, 4))]) == (3, 1)
    assert MeasureApproximateDP().from_pure(Fraction(1)) == (1, 0)
    assert MeasureRenyiDP(4).from_pure(Fraction(1)) == pure_to_renyi(Fraction(1), Fraction(4))
    assert MeasureZeroConcentratedDP().from_pure(Fraction(1)) == pure_to_concentrated(Fraction(1))
    for measure in (
        MeasurePureDP(),
        MeasureApproximateDP(),
        MeasureZeroConcentratedDP(),
        MeasureRenyiDP("5/2"),
    ):
        assert measure_from(measure.describe()) == measure
    with pytest.raises(MismatchError, match="no conversion"):
        Measure.from_pure(MeasurePureDP(), Fraction(1))
