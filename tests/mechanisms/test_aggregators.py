"""How the answers of the bins become one: means, winsorized means, their errors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tacit import noise
from tacit.audit import verify
from tacit.core import Space, SymmetricDistance, Vector
from tacit.mechanisms import measurement
from tacit.mechanisms.aggregators import WinsorizedMeanOfBins, coordinates
from tacit.mechanisms.grid_noise import LatticeDistribution
from tacit.mechanisms.output_distribution import Mixture
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, sample_and_aggregate
from tacit.noise import Enclosure

HIGH, SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


def test_dividing_by_the_bins_that_were_used_breaks():
    """Were empty bins left out of the mean, one record would change the divisor of all."""
    bins = 8
    noise_law = noise.DiscreteLaplace(Fraction(3 * 6, bins))  # (u - l) / (k epsilon), in sixths

    def law(data):
        parts = []
        for contents in ways(len(data), bins):
            answers = [max(data[r] for r in part) for part in contents if part]
            centre = 6 * sum(answers) // max(len(answers), 1)
            parts.append(LatticeDistribution(noise_law, centre, Fraction(1, 6)))
        return Mixture([(Enclosure.of(Fraction(1, len(parts))), part) for part in parts])

    space = Space(Vector(int, bounds=(0, 3)), SymmetricDistance())
    used = measurement(space, lambda data: 0, lambda d: d, distribution=law)
    assert verify(used, pairs=[([3], [3, 0])]).broken
    ours = sample_and_aggregate(max, bins, (0, 3), 1, grid=1, default=0)
    assert verify(ours, pairs=[([3], [3, 0])])


def ways(n, bins):
    """Every order of n records and every way to bin them, as the ordered contents."""
    for order in itertools.permutations(range(n)):
        for places in itertools.product(range(bins), repeat=n):
            yield tuple(
                tuple(r for r, place in zip(order, places, strict=True) if place == b)
                for b in range(bins)
            )


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_many_bins_come_near_the_truth(aggregate):
    data = np.random.default_rng(5).normal(30, 10, 20_000)
    m = sample_and_aggregate(np.median, 200, (0, 100), 2, aggregate=aggregate)
    assert m(data) == pytest.approx(30, abs=6)


@pytest.mark.full
def test_error_of_the_mean_is_the_predicted_one():
    """A function that is constant leaves the noise alone: Laplace of scale range / (k epsilon)."""
    m = sample_and_aggregate(lambda content: 4, 20, (0, 10), 1)
    found = np.array([m([0]) for _ in range(4000)])
    centre = 5 - 1 / 20  # one bin of twenty says 4, the empty ones the middle
    assert np.abs(found - centre).mean() == pytest.approx(10 / 20, rel=0.1)


def test_winsorizing_clips_to_what_the_quartiles_choose():
    (where,) = coordinates((0, 100), None, 1, 0)
    centre = WinsorizedMeanOfBins(8, where, Fraction(1))
    assert centre._interval(50, 52) == (43, 59)
    assert centre._interval(52, 50) == (43, 59)
    assert centre._interval(1, 2) == (0, 6)
    assert centre._interval(7, 7) == (7, 7)
    sure = WinsorizedMeanOfBins(8, where, Fraction(SURE))
    assert sure.release([7] * 8) == 7.0
    assert sure.release([10, 11, 12, 13, 14, 15, 16, 90]) == pytest.approx(
        sum([10, 11, 12, 13, 14, 15, 16, 29]) / 8, abs=1
    )
