"""Keys and values: estimated, with errors that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local.local_laws import reproducible
from tacit.local import (
    KeyValue,
)


def coverage(held: list, level: float) -> None:
    """Intervals hold as often as told, but for chance beyond five standard deviations."""
    share, n = np.mean(held), np.size(held)
    assert share > level - 5 * math.sqrt(level * (1 - level) / n), share


@pytest.mark.full
def test_keys_and_values_have_errors_that_hold():
    oracle = KeyValue(["film", "book", "game"], 1, 5, epsilon=2)
    people = [{"film": 5}, {"film": 2, "book": 4}, {}, {"film": 2, "book": 4.5}] * 1500
    frequency = {"film": 0.75, "book": 0.5, "game": 0}
    mean = {"film": 3, "book": 4.25}
    places = oracle.read(people)
    z, shares, means = [], [], []
    with reproducible(33):
        for _ in range(120):
            found = oracle.estimate(oracle._draw(places))
            for name, e in found.items():
                low, high = e.interval("0.9")
                shares.append(low <= frequency[name] <= high)
                z.append((e.frequency - frequency[name]) / e.frequency_error)
                if name in mean:
                    low, high = e.mean_interval("0.9")
                    means.append(low <= mean[name] <= high)
    assert abs(np.mean(z)) < 5 / math.sqrt(len(z))
    coverage(shares, 0.9)
    coverage(means, 0.9)
    assert np.mean(shares) < 0.96
    assert np.mean(means) < 0.97
    nothing = oracle.estimate(oracle.empty())["film"]
    assert math.isnan(nothing.mean)


@pytest.mark.full
def test_keys_and_values_are_estimated():
    oracle = KeyValue(["film", "book"], 1, 5, epsilon=2)
    people = [{"film": 5}, {"film": 2, "book": 4}, {}, {"film": 2, "book": 99}] * 10_000
    with reproducible(23):
        found = oracle.estimate(oracle.perturb_many(people))
    assert found["film"].frequency == pytest.approx(0.75, abs=0.03)
    assert found["book"].frequency == pytest.approx(0.5, abs=0.03)
    assert found["film"].mean == pytest.approx(3, abs=0.15)
    assert found["book"].mean == pytest.approx(4.5, abs=0.2)
