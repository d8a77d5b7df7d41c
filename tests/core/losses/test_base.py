"""An end that no pair is known to attain is zero; losses both ways answer for the worse one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tacit.core import PrivacyLossDistribution, Space, SymmetricDistance, Vector
from tacit.core.losses.additive_noise import LaplaceShift
from tacit.core.losses.base import BothWays, Dominating
from tacit.errors import UsageError

PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
NUMBER = Space(tc.Number("int"), tc.AbsoluteDistance())
COUNT = PEOPLE >> tc.count() >> tc.laplace(1)
EMPTY = PEOPLE >> tc.filter(lambda _: False) >> tc.count() >> tc.laplace(1)
CONSTANT = tc.measurement(PEOPLE, lambda _: 0, lambda d: d, distribution=lambda _: {0: 1})
BELOW = {
    "a constant with a map": CONSTANT,
    "two constants": tc.compose([CONSTANT, CONSTANT]),
    "a constant beside a count": tc.compose([CONSTANT, CONSTANT, EMPTY]),
    "a filter that keeps nobody": EMPTY,
    "an answer that is thrown away": COUNT >> (lambda _: 0),
    "bounds without room": Space(tc.Number("int", 0, 0), tc.AbsoluteDistance()) >> tc.laplace(1),
    "a sum whose bound no float has": Space(Vector(float, bounds=(0, "1/3")), SymmetricDistance())
    >> tc.sum()
    >> tc.laplace(1),
}


@pytest.mark.parametrize("name", BELOW)
@pytest.mark.parametrize("delta", [0, "1/100"])
def test_what_no_pair_is_known_to_attain_has_a_lower_end_of_zero(name, delta):
    found = BELOW[name].epsilon(delta, d_in=1)
    assert found.lower == 0
    assert found.upper <= BELOW[name].map(1) * (1 + Fraction(1, 2**90))


@pytest.mark.full
def test_what_a_pair_attains_is_enclosed_on_both_sides():
    total = PEOPLE >> tc.clamp(0, 5) >> tc.sum() >> tc.laplace(5)
    for m in (COUNT, total, NUMBER >> tc.laplace(1), tc.compose([COUNT])):
        assert m.epsilon(0).lower == m.epsilon(0).upper == 1
    assert tc.compose([COUNT, total]).epsilon("1e-9").lower > Fraction(19, 10)


MASSES = st.lists(st.integers(1, 9), min_size=2, max_size=3)


@examples(0.6)
@given(p=MASSES, q=MASSES, delta=st.sampled_from([0, "1/20", "1/3"]))
def test_privacy_loss_answers_for_the_worse_direction(p, q, delta):
    size = min(len(p), len(q))
    laws = [
        {i: Fraction(x, sum(side[:size])) for i, x in enumerate(side[:size])} for side in (p, q)
    ]
    bit = Space(tc.Number("int", 0, 1), tc.AbsoluteDistance())
    m = tc.measurement(bit, int, lambda d: 9 * d, distribution=lambda x: laws[x])
    both = tc.privacy_loss(m, 0, 1)
    ways = [tc.privacy_loss(m, u, v, both=False) for u, v in ((0, 1), (1, 0))]
    assert both.epsilon(delta) == tc.privacy_loss(m, 1, 0).epsilon(delta)
    assert float(both.epsilon(delta)) == max(float(way.epsilon(delta)) for way in ways)
    assert both.delta("1/9").upper == max(way.delta("1/9").upper for way in ways)
    twice = both.compose(both)
    assert isinstance(twice, BothWays)
    for way in ways:
        assert float(twice.epsilon(delta)) >= float(way.self_compose(2).epsilon(delta))
    assert isinstance(both.self_compose(3), BothWays)


def test_one_direction_is_not_taken_for_both():
    """Losses of Q against P are not those of P against Q: a composition of the two would be low."""
    p, q = {0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"}
    ways = PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p)
    both = BothWays(*ways)
    for one in (ways[0], ways[0].self_compose(2), PrivacyLossDistribution.compose(*ways)):
        for compose in (lambda one=one: both.compose(one), lambda one=one: one.compose(both)):
            with pytest.raises(UsageError, match="in one direction"):
                compose()
    noise = LaplaceShift(Fraction(2), 1)  # symmetric: either direction is as the other
    for known in (noise, Dominating(ways[0])):
        for whole in (both.compose(known), known.compose(both)):
            assert whole.epsilon(0).upper >= both.epsilon(0).upper + known.epsilon(0).upper - 1e-9


def test_a_bound_stays_a_bound_when_composed():
    known = LaplaceShift(Fraction(2), 1)
    for whole in (known.compose(Dominating(known)), Dominating(known).compose(known)):
        assert isinstance(whole, Dominating)
        assert whole.epsilon(0).lower == 0
        assert whole.delta("1/2").lower == 0
        assert whole.epsilon(0).upper >= 1
