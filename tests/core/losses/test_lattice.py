"""Losses of noise in floats: each mass within the slack of the enclosures of the distribution."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.arithmetic.enclosure import exp
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.lattice import SLACK, Listed, Spread, gaussian_losses, laplace_losses


def test_exponentials_of_floats_are_as_right_as_the_slack_needs():
    """The one assumption about numpy: far less than a relative 2^-50 is left to chance."""
    for x in np.random.default_rng(7).uniform(-600, 600, 300):
        truth = exp(Fraction(float(x)), 120).middle
        found = Fraction(float(np.exp(np.array([x, x]))[1]))
        assert abs(found / truth - 1) < Fraction(1, 1 << 50)
        less = Fraction(float(np.expm1(np.array([x, x]))[1]))
        assert abs(less / (truth - 1) - 1) < Fraction(1, 1 << 50)


@pytest.mark.parametrize(("scale", "shift"), [(Fraction(7, 2), 3), (Fraction(100), 40), (1, 1)])
def test_listed_laplace_losses_have_the_masses_of_the_distribution(scale, shift):
    loss, found = LaplaceShift(scale, shift), laplace_losses(Fraction(scale), shift)
    assert isinstance(found, Listed)
    for place, value, least, most in zip(
        found.places, found.low, found.least, found.most, strict=True
    ):
        x = int(place)
        truth = loss.tail(0) if x == 0 else loss.law.probability(x, 128)
        if x == -shift:
            truth = loss.tail(shift)
        assert least <= truth.lower <= truth.upper <= most
        assert abs(Fraction(float(value)) - loss.loss(x)) < Fraction(1, 10**14)


@pytest.mark.parametrize(("sigma", "shift"), [(Fraction(5, 2), 2), (Fraction(30), 7)])
def test_listed_gaussian_losses_have_the_masses_of_the_distribution(sigma, shift):
    loss, found = GaussianShift(sigma, shift), gaussian_losses(sigma, shift, 1e-30)
    assert isinstance(found, Listed)
    rows = list(zip(found.places, found.least, found.most, strict=True))
    for place, least, most in rows[1:]:
        truth = loss.law.probability(int(place), 200)
        assert least <= truth.lower <= truth.upper <= most
    beyond = loss.tail(int(found.places[-1]) + 1, 200).upper
    assert beyond <= found.infinite[1]
    assert beyond + loss.law.probability(int(rows[0][0]), 200).upper <= rows[0][2]


@pytest.mark.parametrize(
    "loss",
    [
        LaplaceShift(10**6, 400_000),
        LaplaceShift(Fraction(3 << 40), 1 << 40),
        GaussianShift(20_001, 7),
        GaussianShift(20_001, 20_000),
    ],
)
def test_losses_between_have_the_masses_of_both_distributions(loss):
    """An outcome counts as a whole, and where its loss is."""
    found = loss.in_floats(1e-30)
    assert isinstance(found, Spread)
    low, high = found.ends
    ends = np.linspace(low + 0.4 * (high - low), low + 0.6 * (high - low), 8)
    fine = found.masses(np.linspace(ends[0], ends[-1], 7 * 64 + 1))
    p, q = (masses.reshape(7, 64).sum(axis=1) for masses in fine)
    for a, b, mass, other in zip(ends, ends[1:], p, q, strict=False):
        first, last = loss.first(Fraction(float(a))), loss.first(Fraction(float(b)))
        for shift, mine in ((0, mass), (loss.shift, other)):
            truth = loss.tail(first + shift) - loss.tail(last + shift)
            assert abs(truth.middle - Fraction(float(mine))) <= mine * found.slack


@pytest.mark.parametrize("width", [0.003, 0.15])
def test_masses_far_out_are_within_the_slack_where_outcomes_are_just_not_listed(width):
    """At 36 standard deviations; the smaller the noise, the more the integral is off there."""
    loss = GaussianShift((1 << 14) + 1, 5_000)
    found = loss.in_floats(1e-295)
    assert isinstance(found, Spread)
    ends = np.array([found.ends[1] - 0.2, found.ends[1] - 0.2 + width])
    assert 36 < (ends[0] - (5_000 / 16_385) ** 2 / 2) / (5_000 / 16_385) < 37
    first, last = (loss.first(Fraction(float(end))) for end in ends)
    assert last - first > 100
    with mpmath.workprec(200):
        sigma = mpmath.mpf((1 << 14) + 1)
        weights = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * sigma**2)) for x in range(first, last)]
        truth = mpmath.fsum(weights) / (sigma * mpmath.sqrt(2 * mpmath.pi))
        ((mass,), _) = found.masses(ends)
        assert abs(truth / mpmath.mpf(float(mass)) - 1) <= found.slack


def test_all_losses_of_a_spread_weigh_one():
    for loss in (LaplaceShift(1 << 40, 1 << 40), GaussianShift(1 << 40, 1 << 38)):
        found = loss.in_floats(1e-20)
        ends = np.linspace(*found.ends, 1 << 14)
        p, q = found.masses(ends)
        whole = math.fsum(p) + math.fsum(found.alone.least)
        assert abs(whole - 1) < 1e-11
        assert math.fsum(q) <= 1 + 1e-11
        assert found.slack >= SLACK
