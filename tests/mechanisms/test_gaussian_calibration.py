"""The least noise for epsilon at delta: enough by the exact profile, and hardly more."""

import math
from fractions import Fraction

import pytest

from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.measures import concentrated_epsilon
from tacit.mechanisms.additive import largest_rho, least_scale, least_sigma


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-3"), ("8", "1e-9")])
def test_the_least_sigma_is_enough_and_a_little_less_is_not(shift, epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    sigma = least_sigma(shift, epsilon, delta)
    assert GaussianShift(sigma, shift).delta(epsilon).upper <= delta
    less = sigma * (1 - Fraction(1, 10**4))
    assert GaussianShift(less, shift).delta(epsilon).lower > delta


def test_more_loss_takes_less_noise():
    sigmas = [least_sigma(1, Fraction(e), Fraction(1, 10**6)) for e in (1, 2, 4)]
    assert sigmas == sorted(sigmas, reverse=True)
    assert len(set(sigmas)) == 3


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/20", "1e-2"), ("20", "1e-12")])
def test_the_largest_rho_is_allowed_and_a_little_more_is_not(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    rho = largest_rho(epsilon, delta)
    assert rho > 0
    assert concentrated_epsilon(rho, delta) <= epsilon
    assert concentrated_epsilon(rho * (1 + Fraction(1, 10**4)), delta) > epsilon


def test_a_scale_is_rounded_up():
    scale = least_scale(Fraction(1, 2), Fraction(1, 3))
    assert scale**2 >= Fraction(3, 2)
    assert math.isclose(scale, math.sqrt(1.5), rel_tol=1e-15)
