"""Losses as a distribution: composed as products are, and inverted between epsilon and delta."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS, pairs
from support.examples import examples
from tacit.arithmetic.enclosure import Enclosure
from tacit.core import (
    PrivacyLossDistribution,
    Tradeoff,
    hockey_stick,
)
from tacit.core.divergences import Profile, distribution
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.distribution import dominating_pair
from tacit.errors import UsageError


def power(p, k):
    found = {}
    for outcomes in itertools.product(p, repeat=k):
        found[outcomes] = math.prod(p[x] for x in outcomes)
    return found


@given(pairs(), st.integers(1, 3))
def test_composition_is_that_of_the_product_distributions(pair, k):
    p, q = pair
    composed = PrivacyLossDistribution.of(p, q).self_compose(k)
    for level in LEVELS:
        truth = hockey_stick(power(p, k), power(q, k), level)
        found = composed.delta(level)
        assert found.lower <= truth.upper
        assert found.upper >= truth.lower
        assert found.width <= Fraction(1, 2**60)


@given(pairs(), st.fractions(0, 1))
def test_epsilon_and_delta_invert_each_other(pair, delta):
    loss = PrivacyLossDistribution.of(*pair)
    epsilon = loss.epsilon(delta)
    if epsilon == math.inf:
        assert loss.impossible.lower > delta
        return
    assert loss.delta(epsilon.upper).lower <= delta
    if epsilon.lower > Fraction(1, 1000):
        assert loss.delta(epsilon.lower - Fraction(1, 1000)).upper >= delta


@pytest.mark.full
def test_repeats_are_counted():
    one = dominating_pair(Fraction(11, 10))
    found = [float(one.self_compose(k).epsilon("1/2")) for k in (1, 10, 100)]
    assert found[0] < found[1] < found[2]


def test_bad_input_is_refused():
    loss = dominating_pair(Fraction(1))
    for call in (
        lambda: loss.epsilon(2),
        lambda: loss.epsilon(-1),
        lambda: loss.self_compose(0),
        lambda: loss.delta("nan"),
        lambda: LaplaceShift(0, 1),
        lambda: GaussianShift(1, -1),
        lambda: PrivacyLossDistribution.of({0: "1/2"}, {0: 1}),
        lambda: Tradeoff.of({0: 1}, {0: 1})(2),
    ):
        with pytest.raises(UsageError):
            call()


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
