"""Half-widths of sums of Laplace noises: they cover, and are not much too wide."""

import math

import numpy as np
import pytest

import tacit as tc
from tacit.tables.noise import NoiseLaw
from tacit.tables.together.family import laplace_half_width, laplace_reach


def exact(terms, level):
    """The least t with P(|sum| <= t) >= level, for weights that are whole numbers."""
    masses = np.ones(1)
    for law, weight, copies in terms:
        reach = int(60 * law.scale)
        place = np.abs(np.arange(-reach * weight, reach * weight + 1))
        one = np.where(place % weight == 0, np.exp(-place / weight / law.scale), 0.0)
        for _ in range(copies):
            size = len(masses) + len(one) - 1
            wide = 1 << size.bit_length()
            product = np.fft.rfft(masses, wide) * np.fft.rfft(one / one.sum(), wide)
            masses = np.fft.irfft(product, wide)[:size]
    middle = len(masses) // 2
    tails = masses[middle] + np.concatenate([[0.0], np.cumsum(2 * masses[middle + 1 :])])
    return int(np.searchsorted(tails, level))


@pytest.mark.few(5)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(
    "shape",
    [
        [(5.0, 1, 4)],
        [(0.5, 1, 12)],
        [(3.0, 7, 1), (3.0, 1, 30)],
        [(2.0, 3, 5), (6.0, 1, 9), (1.0, 2, 2)],
        [(1.5, 1, 200)],
    ],
)
def test_it_covers_and_is_at_most_a_little_too_wide(shape, level):
    terms = tuple((NoiseLaw("laplace", scale, 1.0), weight, n) for scale, weight, n in shape)
    deviation = math.sqrt(sum(n * w * w * law.variance for law, w, n in terms))
    found, least = laplace_half_width(terms, level), exact(terms, level)
    # between two whole numbers every half-width is as good as the one below
    assert least <= found <= least + 1 + 0.06 * deviation


def test_few_coordinates_are_those_of_one_noise():
    law = NoiseLaw("laplace", 4.0, 1.0)
    assert laplace_half_width(((law, 1.0, 1),), 0.95) == law.half_width((1.0,))
    assert laplace_half_width(((law, 0.0, 9),), 0.95) == laplace_half_width((), 0.95) == 0


def test_draws_lie_within():
    law = NoiseLaw("laplace", 3.0, 1.0)
    noise = np.asarray(tc.noise.discrete_laplace(3, size=4000 * 40)).reshape(4000, 40)
    inside = np.abs(noise @ np.full(40, 0.3)) <= laplace_half_width(((law, 0.3, 40),), 0.95)
    assert 0.93 < inside.mean() < 0.98


@pytest.mark.few(5)
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("weights", [(1,), (1, 1), (4, 1, 1), (3, 2), (1,) * 40])
def test_one_reach_is_enough_for_every_sum_and_not_much_more(level, weights):
    """Against the exact quantile of the continuous sum, from its characteristic function."""
    law = NoiseLaw("laplace", 1.0, 1e-9)
    terms = tuple((law, float(weight), 1) for weight in weights)
    deviation = math.sqrt(2 * sum(weight**2 for weight in weights))
    quantile = laplace_half_width(terms, level) / (1.021 if len(weights) > 3 else 1.002)
    assert quantile <= laplace_reach(level) * deviation
    if 0.9 < level < 0.99:
        assert laplace_reach(level) * deviation <= 1.13 * quantile
