"""What a pair of distributions attains, against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from tacit.audit import verify
from tacit.audit.exact import Tail, attained, listed, tables
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    L1Distance,
    Number,
    PureDP,
    RenyiCurve,
    RenyiDP,
    Space,
    Vector,
    ZeroConcentratedDP,
)
from tacit.errors import UsageError
from tacit.mechanisms import (
    FiniteDistribution,
    Gaussian,
    Laplace,
    TruncatedGeometric,
    user_measurement,
)

NUMBER = Space(Number("int", 0, 3), AbsoluteDistance())
BOTH = ApproximateZeroConcentratedDP()
BIT = Space(Number("int", 0, 1), AbsoluteDistance())


def test_renyi_divergence_of_randomized_response_is_its_closed_form():
    p = Fraction(3, 4)
    order = 3
    closed = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / 2

    def coin(bit):
        return {bit: p, 1 - bit: 1 - p}

    tight = user_measurement(
        BIT, int, lambda d: closed * 1.000001 * d, measure=RenyiDP(order), distribution=coin
    )
    assert verify(tight, draws=0).tight
    wrong = user_measurement(
        BIT, int, lambda d: closed * 0.999 * d, measure=RenyiDP(order), distribution=coin
    )
    assert verify(wrong).broken


def test_the_concentrated_bound_of_a_pure_pair_is_found():
    """Randomized response at epsilon is ``epsilon tanh(epsilon / 2)``-zCDP, and no less."""
    epsilon = 1.0
    share = 1 / (1 + math.exp(-epsilon))
    rho = epsilon * math.tanh(epsilon / 2)

    def claimed(factor):
        return user_measurement(
            BIT,
            int,
            lambda d: rho * factor * d,
            measure=ZeroConcentratedDP(),
            distribution=lambda bit: {bit: Fraction(share), 1 - bit: 1 - Fraction(share)},
        )

    assert verify(claimed(1.0001), draws=0).holds
    assert verify(claimed(0.999)).broken


def test_delta_of_an_approximate_claim_is_exact():
    def leaky(bit):
        return {bit: "1/2", "secret" if bit else "nothing": "1/100", 1 - bit: "49/100"}

    def claimed(delta):
        return user_measurement(
            BIT,
            int,
            lambda d: ("1/25", delta) if d else (0, 0),
            measure=ApproximateDP(),
            distribution=leaky,
        )

    assert verify(claimed("1/100"), draws=0).tight
    verdict = verify(claimed("1/101"))
    assert verdict.broken
    assert verdict.event in (("secret",), ("nothing",))


@pytest.mark.parametrize("gap", [0, 1, 3])
def test_gaussian_profile_of_the_verification_is_the_closed_form(gap):
    m = NUMBER >> Gaussian(2)
    epsilon = Fraction(1, 3)
    delta = m.losses(Fraction(gap)).delta(epsilon) if gap else None

    def claimed(factor):
        return user_measurement(
            NUMBER,
            int,
            lambda d: (epsilon, delta.upper * factor) if d else (0, 0),
            measure=ApproximateDP(),
            distribution=m.law,
        )

    if not gap:
        assert verify(m, pairs=[(1, 1)], d_in=1)
        return
    assert verify(claimed(Fraction(1001, 1000)), pairs=[(0, gap)], d_in=gap, draws=0).holds
    assert verify(claimed(Fraction(999, 1000)), pairs=[(0, gap)], d_in=gap).broken


def test_a_renyi_curve_is_held_against_each_of_its_orders():
    p = Fraction(3, 4)

    def coin(bit):
        return {bit: p, 1 - bit: 1 - p}

    curve = RenyiCurve([2, 3, 5])
    epsilon = PureDP().divergence([p, 1 - p], [1 - p, p]).upper
    losses = curve.from_pure(epsilon)

    def stated(*factors):
        claimed = tuple(f * loss for f, loss in zip(factors, losses, strict=True))
        zero = curve.compose([])
        return user_measurement(
            BIT, int, lambda d: claimed if d else zero, measure=curve, distribution=coin
        )

    assert verify(stated(1, 1, 1), draws=0).tight
    assert "epsilon of order 3 = " in str(verify(stated(2, Fraction(11, 10), 2), draws=0))
    for place in range(3):
        factors = [1, 1, 1]
        factors[place] = Fraction(99, 100)
        wrong = verify(stated(*factors), draws=0)
        assert wrong.broken
        assert f"claims epsilon of order {curve.orders[place]} = " in str(wrong)


def both(loss, law):
    """A release of a bit that claims a loss in approximate zCDP."""
    return user_measurement(BIT, int, lambda d: loss, measure=BOTH, distribution=law)


def leaking(bit):
    """Randomized response with odds 3 : 1 that says all with probability 1/10."""
    high, low = Fraction(27, 40), Fraction(9, 40)
    return {f"it is {bit}": Fraction(1, 10), bit: high, 1 - bit: low}


def test_the_rho_given_the_best_events_is_found():
    """That of a leak of delta is the rho of what is left; a smaller one, or delta, is refuted."""
    epsilon = math.log(3)
    rho, delta = epsilon * math.tanh(epsilon / 2), Fraction(1, 10)
    assert verify(both((rho * 1.000001, delta), leaking), draws=0).tight
    less = verify(both((rho * 0.99, delta), leaking), draws=0)
    assert less.broken
    assert str(less).startswith("BROKEN at distance 1: 0 against 1 attain rho = 0.549306 at delta")
    assert verify(both((rho * 100, delta * Fraction(99, 100)), leaking), draws=0).broken
    assert verify(both((rho, delta * 2), leaking), draws=0)
    assert verify(both((Fraction(0), Fraction(11, 20)), leaking), draws=0)
    assert verify(both((Fraction(0), Fraction(54, 100)), leaking), draws=0).broken
    assert not verify(both((rho, Fraction(1, 100)), leaking), draws=0)
    assert verify(both((Fraction(0), Fraction(1)), lambda bit: {bit: 1}), draws=0)
    assert verify(both((rho, Fraction(99, 100)), lambda bit: {bit: 1}), draws=0).broken


def test_no_other_events_have_a_smaller_divergence():
    """Any masses below the two distributions, of the total 1 - delta, moved at random."""
    p, q = [0.5, 0.25, 0.15, 0.1], [0.1, 0.2, 0.3, 0.4]
    delta = 0.1
    random = Random(3)

    def release(bit):
        return {x: Fraction(str(mass)) for x, mass in enumerate([p, q][bit])}

    def moved(side):
        shares = [random.random() ** 3 * mass for mass in side]
        over = sum(shares)
        cut = [
            min(0.9 * mass, delta * share / over) for mass, share in zip(side, shares, strict=True)
        ]
        total = sum(side) - sum(cut)
        return [(mass - c) / total for mass, c in zip(side, cut, strict=True)]

    parts = tables(release(0), release(1))
    best = attained(BOTH, parts, (Fraction(1), Fraction(1, 10)))
    orders = [1 + 2.0**k for k in range(-8, 6)]
    least = math.inf
    for _ in range(2000):
        one, two = moved(p), moved(q)
        pairs = list(zip(one, two, strict=True))
        rho = max(
            math.log(sum(a**o * b ** (1 - o) for a, b in pairs)) / (o - 1) / o for o in orders
        )
        least = min(least, rho)
    assert best.upper - best.lower < 1e-3
    assert best.lower <= least
    assert least < best.upper * 1.5


def test_unlisted_outcomes_are_outside_of_the_events():
    gaussian = Gaussian(2).build(NUMBER)
    claim = gaussian.map(1)

    def stated(loss):
        return user_measurement(
            NUMBER, int, lambda d: loss, measure=BOTH, distribution=gaussian.distribution
        )

    found = verify(stated((claim, Fraction(1, 10**6))), [0, 1], draws=0)
    assert found.holds
    assert "not listed are cut first" in str(found)
    less = verify(stated((claim / 2, Fraction(1, 10**6))), [0, 1], draws=0)
    assert not less.holds
    assert not less.broken
    assert verify(stated((claim, 0)), [0, 1], draws=0).holds
    tiny = verify(stated((claim, Fraction(1, 10**40))), [0, 1], draws=0)
    assert not tiny.holds
    assert not tiny.broken


# Two distributions side by side: what is listed, what may be left, and what says nothing.


OUTCOME_TABLE_NUMBER = Space(Number("int"), AbsoluteDistance())


def masses(side):
    return sum(p.lower for p in side), sum(p.upper for p in side)


def test_outcomes_of_either_side_are_listed_and_what_is_absent_is_impossible():
    (found,) = tables({"a": "1/2", "b": "1/2"}, {"b": "1/4", "c": "3/4"})
    assert found.outcomes == ("a", "b", "c")
    assert [p.upper for p in found.p] == [Fraction(1, 2), Fraction(1, 2), 0]
    assert [q.upper for q in found.q] == [0, Fraction(1, 4), Fraction(3, 4)]
    assert found.complete
    assert found.turned().p == found.q


def test_what_one_side_does_not_list_may_be_in_its_rest():
    left = FiniteDistribution.of({"a": "1/2"}, Fraction(1, 2))
    (found,) = tables(left, FiniteDistribution.of({"b": 1}))
    assert (found.p[1].lower, found.p[1].upper) == (0, Fraction(1, 2))
    assert (found.rest_p, found.rest_q, found.complete) == (Fraction(1, 2), 0, False)


def test_equal_sides_and_equal_parts_say_nothing():
    assert tables({0: "1/2", 1: "1/2"}, {0: "1/2", 1: "1/2"}) == []
    pair = Space(Vector(int, size=2), L1Distance()) >> Laplace(2)
    assert tables(pair.distribution([1, 5]), pair.distribution([1, 5])) == []
    assert len(tables(pair.distribution([1, 5]), pair.distribution([1, 6]))) == 1
    assert len(tables(pair.distribution([0, 5]), pair.distribution([1, 6]))) == 2


@pytest.mark.parametrize("shift", [1, 3])
def test_laplace_noise_is_listed_whole_with_its_two_tails(shift):
    m = OUTCOME_TABLE_NUMBER >> Laplace(2)
    (found,) = tables(m.distribution(0), m.distribution(shift))
    assert found.complete
    ends = [name for name in found.outcomes if isinstance(name, Tail)]
    assert sorted("above" in str(end) for end in ends) == [False, True]
    for side in (found.p, found.q):
        low, high = masses(side)
        assert low <= 1 <= high
        assert high - low < Fraction(1, 2**60)


def test_gaussian_noise_is_a_window_that_leaves_hardly_anything():
    m = OUTCOME_TABLE_NUMBER >> Gaussian(2)
    (found,) = tables(m.distribution(0), m.distribution(1))
    assert found.gaussian
    assert 0 < found.rest_p < Fraction(1, 2**80)
    low, high = masses(found.p)
    assert low <= 1 <= high + found.rest_p
    (wider,) = tables(m.distribution(0), m.distribution(1), Fraction(20))
    assert len(wider.outcomes) > len(found.outcomes)
    wide = OUTCOME_TABLE_NUMBER >> Gaussian(10**6)
    with pytest.raises(UsageError, match="smaller scale"):
        tables(wide.distribution(0), wide.distribution(1))


def test_logarithms_are_those_of_the_middles():
    (found,) = tables({"a": "1/4", "b": "3/4"}, {"a": 1})
    p, q = found.logs()
    assert p.tolist() == pytest.approx([-1.3862943611, -0.2876820724])
    assert q.tolist() == [0.0, float("-inf")]


def test_distributions_of_the_callers_own_are_asked_for_their_support():
    class Coin:
        def support(self, mass):
            return (0, 1)

        def probability(self, value):
            return Fraction(1, 2) if value in (0, 1) else Fraction(0)

    assert [p.lower for p in listed(Coin()).table.values()] == [Fraction(1, 2)] * 2
    clamped = Space(Number("int", 0, 3, grid=1), AbsoluteDistance()) >> TruncatedGeometric(0, 3, 1)
    assert set(listed(clamped.distribution(1)).table) == {0, 1, 2, 3}
    with pytest.raises(UsageError, match="mapping of outcomes"):
        listed(object())


def test_a_tail_says_where_it_begins():
    assert str(Tail(Fraction(5), Fraction(1))) == "5 and above"
    assert str(Tail(Fraction(0), Fraction(-2))) == "0, -2, -4, ..."
