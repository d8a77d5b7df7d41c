"""Sums of Gaussian losses: the closed form against mpmath, whole numbers against a convolution."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.core.losses.summands import GaussianSum, least_part, renyi_epsilon


def ideal(mu, epsilon):
    """Return delta of a Gaussian number on the real line, in 80 digits."""
    with mpmath.workdps(80):
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-b)


@pytest.mark.parametrize("deviation", [10**7, 10**12, 10**15])
@pytest.mark.parametrize("place", [-3, 0, "1/3", 1, 5, 30])
def test_wide_noise_has_the_delta_of_the_real_line(deviation, place):
    """At so many mu from zero; the relative width is far below what a float holds."""
    found = GaussianSum(((Fraction(deviation), 3, 5), (Fraction(2 * deviation), 1, 7)))
    with mpmath.workdps(80):
        mu = mpmath.sqrt(mpmath.mpf(5 * 9 * 4 + 7) / 4) / deviation
        epsilon = Fraction(place) * Fraction(round(10**30 * mu), 10**30)
        truth = ideal(mu, mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    got = found.delta(epsilon)
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (got.lower, got.upper))
    assert low <= truth * (1 + mpmath.mpf(10) ** -9)
    assert truth * (1 - mpmath.mpf(10) ** -9) <= high
    assert high - low <= truth * mpmath.mpf(10) ** -9


def whole(parts, epsilon):
    """Return delta on whole numbers, from the convolution of all losses."""
    grid = math.lcm(*(int(2 * sigma**2) for sigma, _, _ in parts))
    masses = np.ones(1)
    start = 0
    for sigma, shift, k in parts:
        reach = int(14 * sigma)
        x = np.arange(-reach, reach + 1)
        p = np.exp(-(x**2) / (2 * sigma**2))
        places = shift * (2 * x + shift) * (grid // int(2 * sigma**2))
        one = np.zeros(places[-1] - places[0] + 1)
        one[places - places[0]] = p / p.sum()
        for _ in range(k):
            masses, start = np.convolve(masses, one), start + places[0]
    losses = (start + np.arange(len(masses))) / grid
    return float(masses @ np.maximum(0.0, -np.expm1(epsilon - losses)))


@pytest.mark.parametrize(
    "parts", [((5, 1, 1),), ((5, 4, 2),), ((6, 5, 1), (12, 7, 1)), ((5, 10, 1), (10, 3, 1))]
)
def test_whole_numbers_are_no_farther_from_it_than_is_said(parts):
    found = GaussianSum(tuple((Fraction(sigma), shift, k) for sigma, shift, k in parts))
    outside = 0
    for epsilon in (0.0, 0.01, 0.3, 1.0, 2.5):
        truth, got = whole(parts, epsilon), found.delta(Fraction(epsilon))
        assert float(got.lower) - 1e-13 <= truth <= float(got.upper) + 1e-13
        mu = math.sqrt(sum(k * (s / sigma) ** 2 for sigma, s, k in parts))
        outside += abs(truth - float(ideal(mu, epsilon))) > 1e-7
    assert outside  # so the difference is there, and is charged


def test_the_reference_is_met():
    """Ten thousand releases of noise 100: the known epsilon, to twelve digits, at any delta."""
    found = GaussianSum(((Fraction(10**8), 10**6, 10_000),))
    for log_delta in (math.log(1e-6), math.log(1e-15), -690.0):
        low, high = found.epsilon(log_delta)
        assert 0 < high - low < 1e-12 * high
        assert mpmath.log(ideal(mpmath.mpf(1), mpmath.mpf(low))) > log_delta - 1e-9
        assert mpmath.log(ideal(mpmath.mpf(1), mpmath.mpf(high))) < log_delta + 1e-9
    assert round(found.epsilon(math.log(1e-6))[1], 9) == 4.886554117


def test_what_is_forgiven_from_the_start_costs_nothing():
    assert GaussianSum(((Fraction(10**9), 1, 1),)).epsilon(math.log(1e-6)) == (0.0, 0.0)


def test_narrow_noise_has_no_closed_form():
    assert GaussianSum.of([(Fraction(4), 1, 1)]) is None
    assert GaussianSum.of([]) is None


@pytest.mark.parametrize("t", [1e-3, 0.5, 1.0, 7.0, 1e3])
def test_the_least_part_is_above_all_others(t):
    y = np.linspace(0, 4 / t + 4, 4001)[1:]
    worst = np.log(-np.expm1(-y)) - t * y
    assert worst.max() <= least_part(t)
    assert least_part(t) - worst.max() < 1e-2 * (1 + abs(least_part(t)))


def test_the_renyi_bound_is_above_the_truth():
    for log_delta in (-1.0, -20.0, -600.0):
        wide = [(Fraction(10**8), 10**7, 100)]
        assert renyi_epsilon(wide, log_delta) >= GaussianSum(tuple(wide)).epsilon(log_delta)[1]
