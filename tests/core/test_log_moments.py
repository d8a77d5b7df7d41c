"""Moments of losses, against their definition on explicit pairs and on nearby fine sums."""

import math
from fractions import Fraction

import pytest

from tacit.core.conversions import log_moments, moments_of_range, of_range
from tacit.core.divergences import renyi
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays, Dominating
from tacit.core.losses.distribution import BoundedRange, PrivacyLossDistribution, dominating_pair
from tacit.core.losses.sampling import sampled

POWERS = [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(17)]


def both(p, q):
    return BothWays(PrivacyLossDistribution.of(p, q), PrivacyLossDistribution.of(q, p))


def test_listed_pairs_have_their_renyi_divergences_in_the_worse_direction():
    p, q = {0: "1/10", 1: "9/10"}, {0: "3/10", 1: "7/10"}
    found, nothing = log_moments(both(p, q), POWERS)
    assert nothing == 0
    for t, moment in zip(POWERS, found, strict=True):
        exact = t * max(renyi(*pair, 1 + t).upper for pair in ((p, q), (q, p)))
        assert exact <= moment <= exact * (1 + Fraction(1, 10**12))
    twice, _ = log_moments(both(p, q).self_compose(40), POWERS)
    assert all(abs(b - 40 * a) < 1e-9 for a, b in zip(found, twice, strict=True))


def test_what_only_one_has_is_left_out_with_its_probability():
    found, left_out = log_moments(dominating_pair(Fraction(1), Fraction(1, 100)), POWERS)
    plain, _ = log_moments(dominating_pair(Fraction(1)), POWERS)
    assert left_out == Fraction(1, 100)
    assert all(a <= b for a, b in zip(found, plain, strict=True))


@pytest.mark.parametrize("losses", [LaplaceShift(5, 3), GaussianShift(Fraction(3), 2)])
def test_noise_in_closed_form_and_on_a_lattice_from_above(losses):
    exact = [t * losses.renyi(1 + t).upper for t in POWERS]
    found, _ = log_moments(Dominating(losses), POWERS)
    for t, known, moment in zip(POWERS, exact, found, strict=True):
        assert known <= moment
        assert moment <= known * (1 + Fraction(1, 10**9)) or isinstance(losses, GaussianShift)
        assert (
            moment <= t * (t + 1) * losses.concentrated() * (1 + Fraction(1, 10**9))
            if (isinstance(losses, GaussianShift))
            else True
        )


def test_a_bounded_range_is_no_more_than_its_rho_and_its_pair():
    reach = Fraction(2)
    both_ways, _ = log_moments(of_range(reach), POWERS)
    pair, _ = log_moments(BoundedRange(reach), POWERS)
    for t, a, b, c in zip(POWERS, both_ways, moments_of_range(reach, POWERS), pair, strict=True):
        assert a == b == min(c, t * (t + 1) * reach**2 / 8)
        density = [math.exp(-2 + 4 * (i + 0.5) / 4000) for i in range(4000)]
        mean = sum(z ** float(t + Fraction(1, 2)) for z in density) / sum(z**0.5 for z in density)
        assert math.isclose(float(c), math.log(mean), rel_tol=1e-4)


def test_a_sample_is_enclosed_from_its_sums():
    """Poisson-sampled response: two outcomes, whose masses are known exactly."""
    rate, up = 0.1, math.e / (1 + math.e)
    found, left_out = log_moments(sampled(dominating_pair(Fraction(1)), Fraction(1, 10)), POWERS)
    assert left_out < 1e-30
    p, q = (up, 1 - up), (1 - up, up)
    mixed = tuple(rate * a + (1 - rate) * b for a, b in zip(p, q, strict=True))
    for t, moment in zip(POWERS, found, strict=True):
        ways = (
            math.log(math.fsum(a * (a / b) ** float(t) for a, b in zip(*pair, strict=True)))
            for pair in ((mixed, q), (q, mixed))
        )
        exact = max(ways)
        assert exact <= moment + 1e-15
        assert moment <= exact + 1e-5 * exact + 1e-9
