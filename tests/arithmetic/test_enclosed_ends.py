"""An end of an enclosure that is not proven is zero or infinity; the truth is in every one."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.examples import examples
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core import PrivacyLossDistribution, Space, SymmetricDistance, Vector
from tacit.core.divergences.divergence import Profile, distribution
from tacit.core.losses import additive_noise as shifted_loss
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.bounds import BothWays, Dominating
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


def test_what_a_pair_attains_is_enclosed_on_both_sides():
    total = PEOPLE >> tc.clamp(0, 5) >> tc.sum() >> tc.laplace(5)
    for m in (COUNT, total, NUMBER >> tc.laplace(1), tc.compose([COUNT])):
        assert m.epsilon(0).lower == m.epsilon(0).upper == 1
    assert tc.compose([COUNT, total]).epsilon("1e-9").lower > Fraction(19, 10)


@pytest.mark.full
def test_one_number_has_no_disjoint_enclosures():
    """10,000 small choices were [4.8855, 4.8855] in pure DP and [0, 2.4191] in zCDP."""
    scores = Space(Vector(int, size=3), tc.LInfinityDistance())
    pure = tc.compose([scores >> tc.exponential(scale=400)] * 100)
    found = pure.epsilon("1e-6")
    other = tc.convert(pure, tc.ZeroConcentratedDP()).epsilon("1e-6")
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)


@examples(0.25)
@given(
    scale=st.fractions(Fraction(1, 4), 2, max_denominator=4),
    shift=st.integers(0, 6),
    level=st.fractions(-9, 4, max_denominator=8),
)
def test_delta_of_shifted_laplace_noise_is_its_definition_at_every_epsilon(scale, shift, level):
    """Below -shift / scale too, where it certified 0.802 for 0.865."""
    loss = LaplaceShift(scale, shift)
    reach = 60
    factor = exp(level, 200)
    law, truth = loss.law, Enclosure.of(0)
    masses = {x: law.probability(x, 200) for x in range(reach + shift + 1)}
    for x in range(-reach, reach + 1):
        gain = masses[abs(x)] - factor * masses[abs(x + shift)]
        truth += Enclosure(max(gain.lower, Fraction(0)), max(gain.upper, Fraction(0)))
    found = loss.delta(level)
    outside = 4 * exp(-Fraction(reach - shift) / scale, 64).upper
    assert found.lower <= truth.upper + outside
    assert found.upper >= truth.lower


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", [LaplaceShift(2, 9000), GaussianShift(2, 1)])
def test_a_lattice_puts_no_mass_too_high_from_below(monkeypatch, loss):
    """From below the total mass at or above a loss is at most that of the law, at every point."""
    monkeypatch.setattr(shifted_loss, "CELLS", 64)
    lattice = loss._on_lattice()
    above = Fraction(0)
    rows = sorted(lattice.losses(up=False), key=lambda row: -row[0].lower)
    for place, (value, mass) in enumerate(rows):
        above += Fraction(mass, 10**50)
        if place % 16 and place < len(rows) - 2:
            continue  # the last ones, where the window ends, and a few before
        first = loss.first(value.lower - Fraction(1, 10**12))
        reached = Fraction(0) if first is None else loss.tail(first).upper
        if value.lower <= -loss.max_divergence():
            reached = Fraction(1)
        assert above <= reached


MASSES = st.lists(st.integers(1, 9), min_size=2, max_size=3)


@examples(0.6)
@given(p=MASSES, q=MASSES, width=st.sampled_from([0, 10**-3, 10**-6]))
def test_losses_in_enclosures_stay_an_enclosure_when_composed(p, q, width):
    """Atoms whose losses are only enclosed are never joined, even where the enclosures agree."""
    size = min(len(p), len(q))
    sides = [[Fraction(x, sum(s[:size])) for x in s[:size]] for s in (p, q)]
    slack = Fraction(width)
    wide = [
        {i: Enclosure(x * (1 - slack), x * (1 + slack)) for i, x in enumerate(side)}
        for side in sides
    ]
    loss = PrivacyLossDistribution.of(*wide)
    twice = loss.compose(loss)
    exact = [
        {(i, j): side[i] * side[j] for i, j in itertools.product(range(size), repeat=2)}
        for side in sides
    ]
    one_way = Profile(*(distribution(side) for side in exact))
    for level in (-1, 0, Fraction(1, 3), 1):
        truth = one_way._one_way(Fraction(level))
        found = twice.delta(level)
        assert found.lower <= truth.upper
        assert found.upper >= truth.lower


def test_atoms_in_equal_enclosures_are_not_joined():
    """Two losses, ln 3 and ln 1/3, that are only known to lie in one wide interval."""
    from tacit.core.losses.base import Atom, Loss
    from tacit.core.losses.distribution import _merged

    unknown = Loss(Enclosure(Fraction(-2), Fraction(2)))
    high = Atom(unknown, Enclosure.of(Fraction(3, 4)), Enclosure.of(Fraction(1, 4)))
    low = Atom(unknown, Enclosure.of(Fraction(1, 4)), Enclosure.of(Fraction(3, 4)))
    found = PrivacyLossDistribution(_merged([high, low]))
    assert found.delta(0).upper == Fraction(1, 2)


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
            with pytest.raises(UsageError, match="of one direction"):
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
