"""Sums over ranges of a sample: exact, and in floats within their stated error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.by_hand.variance_families import variance
from tacit.statistics import Sample
from tacit.statistics.prefix_moments import Moments


def kinds_of_records(size):
    rng = np.random.default_rng(size)
    return [
        rng.lognormal(size=size),
        1e9 + rng.normal(size=size),
        rng.integers(-50, 50, size),
        rng.integers(-(2**61), 2**61, size),
        rng.normal(size=size) * 10.0 ** rng.integers(-150, 150, size),
        np.full(size, 0.1),
    ]


@pytest.mark.full
@pytest.mark.parametrize("kind", range(6))
def test_sums_over_ranges_are_exact(kind):
    sample = Sample(kinds_of_records(3000)[kind])
    moments, rng = Moments(sample), np.random.default_rng(1)
    exact = sample.fractions()
    for _ in range(20):
        start, middle, stop = np.sort(rng.integers(0, 3001, 3)).tolist()
        ranges = [(0, start), (middle, stop)]
        count, total, square = moments.exact(ranges)
        chosen = exact[:start] + exact[middle:stop]
        assert count == len(chosen)
        assert total * moments.grain == sum(chosen)
        assert square * moments.grain**2 == sum(v * v for v in chosen)


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", range(5))
def test_float_sums_are_within_their_stated_error(kind):
    sample = Sample(kinds_of_records(3000)[kind])
    moments = Moments(sample)
    centre, shift = moments.frame
    scale = Fraction(2) ** shift
    values = [(v - centre) / scale for v in sample.fractions()]
    assert max(map(abs, values)) <= 1
    total = square = Fraction(0)
    for i, v in enumerate(values, 1):
        total, square = total + v, square + v * v
        assert abs(Fraction(float(moments.sums[i])) - total) <= moments.sum_error / 16
        assert abs(Fraction(float(moments.squares[i])) - square) <= moments.square_error / 16


def test_uncentred_float_sums_would_lose_everything_at_a_large_offset():
    data = 2.0**30 + np.arange(8) / 1024
    wrong = float((data * data).sum() / 8 - (data.sum() / 8) ** 2)
    right = float(Moments(Sample(data)).variance([(0, 8)]))
    assert right == float(variance([Fraction(i, 1024) for i in range(8)]))
    assert abs(wrong - right) >= right
