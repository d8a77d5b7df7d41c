"""Truncated Laplace noise: its distribution, its delta by the definition, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tacit import framework as fw
from tacit.core import AbsoluteDistance, L1Distance, Number, Space, Vector
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.additive import TruncatedDiscreteLaplace

WHOLE = Space(Number("int"), AbsoluteDistance())
SHAPES = [(Fraction(1, 2), 1), (Fraction(2), 5), (Fraction(10, 7), 40), (Fraction(10**9), 3)]


@pytest.mark.parametrize(("scale", "radius"), SHAPES)
def test_the_distribution_is_that_of_the_definition(scale: Fraction, radius: int) -> None:
    made = TruncatedDiscreteLaplace(scale, radius)
    weights = {y: math.exp(-abs(y) / float(scale)) for y in range(-radius, radius + 1)}
    total = sum(weights.values())
    for y in range(-radius - 2, radius + 3):
        assert float(made.probability(y)) == pytest.approx(weights.get(y, 0) / total, rel=1e-12)
        beyond = sum(p for x, p in weights.items() if x >= y) / total
        assert float(made.tail(y)) == pytest.approx(beyond, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("moved", range(12))
def test_delta_is_what_one_input_has_and_the_other_cannot(moved: int) -> None:
    scale, radius = Fraction(2), 4
    m = WHOLE >> fw.truncated_laplace(scale, radius)
    p, q = m.distribution(0), m.distribution(moved)
    epsilon, delta = m.map(moved)
    assert epsilon == moved / scale
    # The definition: the sum of what p has above e^epsilon q.
    excess = sum(
        max(0.0, float(p.probability(z)) - math.exp(epsilon) * float(q.probability(z)))
        for z in range(-radius, radius + 1)
    )
    assert float(delta) == pytest.approx(excess, rel=1e-9, abs=1e-12)
    assert delta <= 1


def test_the_error_is_never_beyond_the_radius() -> None:
    m = WHOLE >> fw.truncated_laplace(50, 3)
    assert {m(10) for _ in range(400)} == set(range(7, 14))
    hours = fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 1) >> tc.sum()
    assert abs((hours >> fw.truncated_laplace(1, "3/2"))([0.5, 1.0]) - 1.5) <= 1.5


def test_draws_have_the_distribution() -> None:
    made, runs = TruncatedDiscreteLaplace(Fraction(3), 4), 2000
    drawn = np.bincount([made.draw() + 4 for _ in range(runs)], minlength=9)
    expected = runs * np.array([float(made.probability(y)) for y in range(-4, 5)])
    # chi-square with 8 degrees of freedom: by chance with a probability below 1e-7
    assert ((drawn - expected) ** 2 / expected).sum() < 50


def test_what_does_not_fit() -> None:
    with pytest.raises(UsageError, match="radius"):
        fw.truncated_laplace(1, 0)
    with pytest.raises(UsageError, match="scale"):
        fw.truncated_laplace(0, 1)
    with pytest.raises(MismatchError, match="a multiple of the grid"):
        WHOLE >> fw.truncated_laplace(1, "1/2")
    with pytest.raises(MismatchError, match="a number under the absolute distance"):
        Space(Vector(int, size=2), L1Distance()) >> fw.truncated_laplace(1, 1)
