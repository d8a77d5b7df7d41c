"""Sketches: intervals that hold where some words are frequent."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.local import (
    CountMeanSketch,
    HadamardCountMeanSketch,
)


def coverage(held: list, level: float) -> None:
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share


@pytest.mark.full
@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
def test_intervals_of_sketches_hold_where_some_words_are_frequent(kind):
    """A word of half the people raises all that share its columns; the errors know of it."""
    oracle, n = kind(epsilon=4, functions=16, buckets=64), 20_000
    z, held, wrong, pairs = [], [], [], []
    with reproducible(35):
        for run in range(60):
            words = [f"{run} {i}" for i in range(12)]
            counts = np.array([n // 2, n // 4, n // 8, *[0] * 8, n - n // 2 - n // 4 - n // 8])
            places = np.repeat(oracle.read(words), counts)
            state = oracle.aggregate(oracle._draw(places))
            e = oracle.estimate(state, words)
            low, high = e.interval("0.9")
            z.append((e.counts - counts) / e.standard_error)
            held.append((low <= counts) & (counts <= high))
            bare = math.sqrt(oracle.variance(n))  # as if all words were rare
            wrong.append(np.abs(e.counts - counts)[3:11] > 1.645 * bare)
            pairs.append(oracle.pairs(state) / float((counts**2).sum()))
    assert abs(np.mean(z)) < 5 / math.sqrt(60)
    coverage(held, 0.9)
    assert np.mean(held) < 0.97
    assert np.mean(wrong) > 0.3
    assert 0.7 < np.mean(pairs) < 1.3
