"""Losses of noise that is added: Laplace and Gaussian laws against their definition."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS
from support.examples import examples
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift


@pytest.mark.parametrize("loss", [LaplaceShift("7/2", 3), GaussianShift("5/2", 2)])
def test_shifted_laws_agree_with_their_definition(loss):
    reach = 60
    p = {x: loss.law.probability(x, 128) for x in range(-reach, reach + 1)}
    q = {x: loss.law.probability(x + loss.shift, 128) for x in range(-reach, reach + 1)}
    for level in LEVELS:
        factor = exp(level, 128)
        direct = sum(max(p[x].middle - factor.middle * q[x].middle, Fraction(0)) for x in p)
        assert loss.delta(level).lower <= direct + Fraction(1, 10**6)
        assert abs(loss.delta(level).middle - direct) < Fraction(1, 10**6)


@pytest.mark.parametrize("kind", [LaplaceShift, GaussianShift])
def test_farther_shifts_lose_more(kind):
    for level in LEVELS:
        found = [kind(4, s).delta(level).lower for s in range(6)]
        assert found == sorted(found)


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
