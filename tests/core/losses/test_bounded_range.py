"""The losses of bounded range dominate every release of that range, and each delta is attained."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.arithmetic.enclosure import Enclosure
from tacit.core import LInfinityDistance, Number, Space, Vector, compose
from tacit.core.conversions import ConcentratedToo
from tacit.core.divergences import Profile, distribution
from tacit.core.losses.distribution import BoundedRange
from tacit.errors import UsageError
from tacit.mechanisms import Exponential

SCORES = Space(Vector(Number("int"), size=3), LInfinityDistance())
moves = st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3)


def choice(scores, scale):
    weights = [math.exp(s / scale) for s in scores]
    return {i: w / sum(weights) for i, w in enumerate(weights)}


def delta_of(p, q, epsilon):
    return sum(max(0.0, p[x] - math.exp(epsilon) * q[x]) for x in p)


@given(
    st.lists(st.integers(-4, 4), min_size=3, max_size=3),
    moves,
    st.sampled_from([0.5, 1.0, 3.0]),
    st.sampled_from([0.0, 0.1, 0.4, 1.0, 2.5]),
)
def test_no_exponential_mechanism_has_a_larger_delta(scores, move, scale, epsilon):
    """Against the definition, on all outputs: scores that move by one have a range of 2 / scale."""
    p = choice(scores, scale)
    q = choice([s + m for s, m in zip(scores, move, strict=True)], scale)
    bound = float((SCORES >> Exponential(Fraction(scale))).delta(epsilon).upper)
    assert delta_of(p, q, epsilon) <= bound + 1e-12


@pytest.mark.parametrize("size", ["1/10", "1", "4"])
@pytest.mark.parametrize("part", ["0", "1/4", "9/10"])
def test_each_delta_is_attained_by_two_outcomes(size, part):
    """The pair with losses t and t - epsilon, at ``t = (e + epsilon) / 2``."""
    reach = Fraction(size)
    level = float(reach * Fraction(part))
    t, end = (level + float(reach)) / 2, float(reach)
    p = (math.exp(end) - math.exp(t)) / math.expm1(end)
    found = BoundedRange(reach).delta(Fraction(level))
    assert math.isclose(p * -math.expm1(level - t), found.upper, rel_tol=1e-9)
    assert found.width < Fraction(1, 1 << 100)


@given(st.fractions(Fraction(1, 20), 6), st.fractions(0, 1))
def test_epsilon_is_the_inverse_of_delta(reach, part):
    loss = BoundedRange(reach)
    level = reach * part
    found = loss.epsilon(loss.delta(level).upper)
    assert isinstance(found, Enclosure)
    assert found.lower - Fraction(1, 1 << 60) <= level <= found.upper + Fraction(1, 1 << 60)


def test_the_ends_are_those_of_the_definition():
    loss = BoundedRange(Fraction(1))
    assert loss.epsilon(0) == Enclosure.of(1)
    assert loss.epsilon(1) == Enclosure.of(0)
    assert loss.delta(1) == loss.delta(7) == Enclosure.of(0)
    assert math.isclose(loss.delta(-2).upper, 1 - math.exp(-2), rel_tol=1e-12)
    with pytest.raises(UsageError, match="delta must be from"):
        loss.epsilon(2)


@pytest.mark.full
def test_two_together_are_the_integral_over_both():
    """Against the midpoint rule in two dimensions, on the density of the docstring."""
    loss = BoundedRange(Fraction(2))
    grid = (np.arange(3000) + 0.5) * (4 / 3000) - 2
    density = np.exp(grid / 2 + 1) / (2 * math.expm1(2)) * (4 / 3000)
    total = grid[:, None] + grid[None, :]
    for level in (0.0, 1.0, 2.5):
        gain = np.maximum(0.0, -np.expm1(np.minimum(level - total, 0.0)))
        truth = float(density @ gain @ density)
        found = loss.self_compose(2).delta(Fraction(level))
        assert float(found.lower) * (1 - 1e-5) <= truth <= float(found.upper) * (1 + 1e-5)


def test_both_directions_are_one():
    assert BoundedRange(Fraction(1)).directions() == (BoundedRange(Fraction(1)),) * 2


@pytest.mark.full
def test_many_exponential_mechanisms_cost_what_zcdp_proves_and_few_what_the_pair_does():
    m = SCORES >> Exponential(200)  # of range 1/100
    many = m.losses(Fraction(1)).self_compose(10_000).epsilon("1e-6")
    assert math.isclose(many.upper, 2.4191, rel_tol=1e-4)
    few = compose([m, m]).epsilon("1e-6")
    assert few.upper < Fraction(2, 100)
    assert few.lower == 0
    assert m.epsilon(0).upper == Fraction(1, 100)
    assert m.epsilon("1e-3", d_in=0) == Enclosure(Fraction(0), Fraction(0))


def test_the_smaller_of_two_bounds_is_the_answer():
    pair = BoundedRange(Fraction(1))
    loose, sharp = ConcentratedToo(pair, Fraction(100)), ConcentratedToo(pair, Fraction(1, 10**6))
    assert loose.epsilon("1e-6").upper == pair.epsilon("1e-6").upper
    assert loose.delta("1/2").upper == pair.delta("1/2").upper
    assert sharp.epsilon("1e-6").upper < Fraction(1, 50)
    assert sharp.delta("1/2").upper < Fraction(1, 10**9)
    assert sharp.compose(sharp).rho == Fraction(2, 10**6)


@pytest.mark.parametrize("level", [0, "1/2"])
def test_the_profile_of_the_exponential_mechanism_in_exact_numbers(level):
    m = SCORES >> Exponential(2)
    laws = [m.distribution(scores) for scores in ([0, 0, 0], [1, -1, 0], [1, 0, 1])]
    for p in laws:
        for q in laws[:1]:
            profile = Profile(distribution(p.table), distribution(q.table))
            assert profile(level).lower <= m.delta(level).upper
