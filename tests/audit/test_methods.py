"""Predicted errors of the ways to release a statistic, by formula."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.compare import _clipped_error, _largest_rho, _noisy_counts
from tacit.core.measures import concentrated_epsilon


def test_errors_of_clipped_laplace_noise():
    """Against sums over draws: 4 million know the mean to 0.1 percent, five deviations."""
    draws = np.random.default_rng(3).laplace(size=4_000_000)
    for centre, scale, truth, low, high in [
        (3.0, 2.0, 3.0, 0.0, 10.0),
        (3.0, 50.0, 4.0, 0.0, 10.0),
        (-5.0, 3.0, 1.0, 0.0, 2.0),
        (12.0, 3.0, 1.0, 0.0, 2.0),
        (1.0, 3.0, 0.0, -math.inf, math.inf),
    ]:
        found = _clipped_error(np.array([centre]), scale, truth, low, high)
        errors = np.abs((centre + scale * draws).clip(low, high) - truth)
        assert float(found[0]) == pytest.approx(errors.mean(), rel=0.005)


def test_noisy_counts_that_are_too_many_to_list():
    counts, chances = _noisy_counts(10**9, Fraction(10**7))
    assert len(counts) < 10**5
    assert float(np.abs(counts - 10**9) @ chances) == pytest.approx(10**7, rel=1e-3)


@pytest.mark.parametrize("epsilon", ["1/100", 1, 40])
def test_the_rho_of_an_epsilon_at_delta_is_the_largest(epsilon):
    delta = Fraction(1, 10**9)
    rho = _largest_rho(Fraction(epsilon), delta)
    assert concentrated_epsilon(rho, delta) <= Fraction(epsilon)
    assert concentrated_epsilon(rho * Fraction(1001, 1000), delta) > Fraction(epsilon)
