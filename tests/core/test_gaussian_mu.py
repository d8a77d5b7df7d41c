"""The mu of Gaussian differential privacy: against closed forms, and by its definition."""

import math
from fractions import Fraction
from statistics import NormalDist

import pytest

from tacit.arithmetic.enclosure import Enclosure
from tacit.core import AbsoluteDistance, Measurement, Number, PureDP, Space, compose
from tacit.core.losses.distribution import dominating_pair
from tacit.core.tradeoff import ProfilePoints, least_mu
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms import Gaussian, Laplace

NUMBERS = Space(Number("int"), AbsoluteDistance())
NORMAL = NormalDist()


def gaussian(mu, epsilon):
    return NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(
        -mu / 2 - epsilon / mu
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_pure_dp_has_the_mu_of_randomized_response(epsilon):
    """Two answers with odds e^epsilon have one corner: ``mu = 2 Phi^-1(e^eps / (1 + e^eps))``."""
    found = least_mu(ProfilePoints(dominating_pair(epsilon).delta), epsilon, Fraction(0))
    truth = 2 * NORMAL.inv_cdf(1 / (1 + math.exp(-epsilon)))
    assert float(found.lower) <= truth * (1 + 1e-9)
    assert float(found.upper) >= truth * (1 - 1e-9)
    assert found.width < found.upper / 50


@pytest.mark.parametrize("scale", [1, 20])
def test_the_profile_lies_below_that_of_the_mu(scale):
    m = NUMBERS >> Laplace(scale)
    mu = float(m.gaussian_mu().upper)
    low = float(m.gaussian_mu().lower)
    levels = [i / (50 * scale) for i in range(50)]
    deltas = [float(m.delta(level).lower) for level in levels]
    assert all(delta <= gaussian(mu, e) + 1e-12 for e, delta in zip(levels, deltas, strict=True))
    # a mu below the lower end is too small at an epsilon
    small = [gaussian(low * 0.98, e) for e in levels]
    assert any(delta > other for delta, other in zip(deltas, small, strict=True))


@pytest.mark.full
def test_many_gaussians_have_the_mu_of_one():
    m = compose([NUMBERS >> Gaussian(60)] * 900)
    found = m.gaussian_mu("1e-9")
    assert found.lower <= Fraction(1, 2) + Fraction(1, 10**4)
    assert found.upper >= Fraction(1, 2) - Fraction(1, 10**4)
    assert found.width < Fraction(1, 100)


def test_noise_without_a_largest_loss_needs_a_delta():
    with pytest.raises(UsageError, match="give a larger delta"):
        (NUMBERS >> Gaussian(4)).gaussian_mu()


def test_what_needs_nothing_costs_nothing():
    assert (NUMBERS >> Laplace(1)).gaussian_mu(d_in=0) == Enclosure.of(0)


def test_an_epsilon_beyond_all_use_is_refused():
    m = Measurement(NUMBERS, PureDP(), lambda n: n, lambda d: 10_000 * d)
    with pytest.raises(InfeasibleError, match="more than 600"):
        m.gaussian_mu()
