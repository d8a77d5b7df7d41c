"""The Renyi accountant, beside closed forms and the definition."""

import math
from fractions import Fraction

import mpmath
import pytest

import tacit as tc
from tacit.core import PureDP, RenyiCurve, RenyiDP, ZeroConcentratedDP, measure_from
from tacit.core.conversions import delta_bound, epsilon_bound
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import measurement

COLUMN = tc.Space(tc.Vector(int), tc.SymmetricDistance())
SMALL = Fraction(1, 10**6)
CURVE = RenyiCurve()
BOTH = tc.ApproximateZeroConcentratedDP()


def stated(measure, loss):
    return measurement(COLUMN, lambda data: 0, lambda d: loss, measure=measure)


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
    one = stated(ZeroConcentratedDP(), Fraction(1, 2 * sigma**2))
    curve = tc.compose([tc.convert(one, CURVE)] * times)
    rho = Fraction(times, 2 * sigma**2)
    assert curve.measure == CURVE
    assert curve.map(1) == tuple(order * rho for order in CURVE.orders)
    found = curve.epsilon(SMALL)
    wanted = formula(curve.map(1), SMALL, CURVE.orders)
    assert found.lower == 0
    assert 0 <= found.upper - wanted < Fraction(1, 10**15)
    of_all = epsilon_bound(ZeroConcentratedDP(), rho, SMALL).upper
    assert of_all <= found.upper < of_all * Fraction(101, 100)
    level = found.upper
    assert SMALL * Fraction(999, 1000) < curve.delta(level).upper <= SMALL * (1 + SMALL)


def test_pure_loss_is_that_of_randomized_response_and_laplace_noise_its_own():
    order = Fraction(3)
    response = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    epsilon = PureDP().divergence(*response).upper
    loss = tc.convert(stated(PureDP(), epsilon), RenyiCurve([2, order])).map(1)[1]
    true = tc.renyi_divergence(*response, order)
    assert true.lower <= loss <= true.upper + SMALL**2
    noisy = tc.Space(tc.Number("int"), tc.AbsoluteDistance()) >> tc.laplace(4)
    own = tc.convert(noisy, RenyiCurve([2, order])).map(4)[1]
    true = RenyiDP(order).divergence(noisy.distribution(0), noisy.distribution(4))
    assert true.lower <= own <= true.upper + SMALL**2
    assert own < RenyiDP(order).from_pure(Fraction(1)) * Fraction(19, 20)
    assert tc.convert(noisy, RenyiDP(order)).map(4) == own
    behind = COLUMN >> tc.clamp(0, 4) >> tc.sum() >> tc.laplace(4)
    assert tc.convert(behind, RenyiDP(order)).map(1) == own
    far = tc.convert(noisy, RenyiDP(10**6)).map(4)
    assert 0.99 < far <= 1


def test_the_chord_lies_above_the_true_divergence_and_below_that_of_the_higher_order():
    p, q = [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]

    def divergence(order):
        found = RenyiDP(order).divergence(p, q)
        return found.upper

    known = RenyiCurve(["3/2", 4, 9])
    losses = tuple(divergence(order) for order in known.orders)
    asked = RenyiCurve(["5/4", "3/2", 2, 3, 4, 6, "17/2", 9])
    for order, bound in zip(asked.orders, asked.from_other(known, losses), strict=True):
        assert divergence(order) <= bound * (1 + SMALL**2)
        above = next(i for i, one in enumerate(known.orders) if one >= order)
        assert bound <= losses[above]
        assert RenyiDP(order).from_other(known, losses) == bound
        if order in known.orders:
            assert bound == losses[above]


def test_parts_in_different_measures_compose_where_they_share_an_order():
    pure, rho = stated(PureDP(), Fraction(1, 10)), stated(ZeroConcentratedDP(), Fraction(1, 50))
    two, eight = stated(RenyiDP(2), Fraction(1, 4)), stated(RenyiDP(8), Fraction(1, 3))
    several = stated(RenyiCurve([3, 5, 32]), (Fraction(1, 10), Fraction(1, 5), Fraction(2)))
    assert tc.compose([two, eight]).measure == RenyiDP(2)
    assert tc.compose([two, eight]).map(1) == Fraction(1, 4) + Fraction(1, 3)
    whole = tc.compose([pure, rho, several, eight])
    assert whole.measure == RenyiCurve([3, 5, 8])
    at_five = RenyiDP(5).from_pure(Fraction(1, 10)) + Fraction(5, 50) + Fraction(1, 5)
    assert whole.map(1)[1] == at_five + Fraction(1, 3)
    singles = [
        epsilon_bound(RenyiDP(order), loss, SMALL).upper
        for order, loss in zip((3, 5, 8), whole.map(1), strict=True)
    ]
    assert whole.epsilon(SMALL).upper == min(singles) < max(singles)
    assert whole.check(1, whole.map(1))
    assert not whole.check(1, (0, 1, 1))
    assert "Renyi DP of 3 orders from 3 to 8" in whole.explain()
    for other in (stated(tc.ApproximateDP(), (Fraction(1), SMALL)), tc.convert(rho, BOTH)):
        with pytest.raises(MismatchError, match="no conversion joins"):
            tc.compose([several, other])
    with pytest.raises(MismatchError, match="without further choices"):
        tc.convert(eight, RenyiCurve([2, 16]))


def test_the_true_epsilon_of_many_releases_is_within_what_the_accountant_says():
    noisy = COLUMN >> tc.count() >> tc.laplace(20)
    known = tc.compose([noisy] * 20).epsilon(SMALL)
    losses = tc.compose([tc.convert(noisy, CURVE)] * 20).map(1)
    bound = epsilon_bound(CURVE, losses, SMALL).upper
    assert known.lower <= bound < known.upper * Fraction(13, 10)
    level = delta_bound(CURVE, losses, bound).upper
    assert SMALL * Fraction(99, 100) < level <= SMALL * (1 + SMALL)


def test_what_cannot_be_said_is_refused():
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
    with pytest.raises(UsageError, match=r"tc.RenyiDP\(2\).divergence"):
        curve.divergence([0.5, 0.5], [0.4, 0.6])
    noisy = COLUMN >> tc.count() >> tc.laplace(1)
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
