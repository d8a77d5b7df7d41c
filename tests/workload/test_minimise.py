"""The minimum over numbers that are not negative, against ones known by hand."""

from __future__ import annotations

import numpy as np

from tacit.workload.strategies import minimise


def test_a_coordinate_that_wants_below_zero_stays_at_zero() -> None:
    goal = np.array([2.0, -1.0, 0.5])

    def away(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(((x - goal) ** 2).sum()), 2 * (x - goal)

    assert np.allclose(minimise(away, np.ones(3), 100), [2.0, 0.0, 0.5])


def test_a_narrow_valley_is_followed() -> None:
    scales = np.array([1.0, 1e4])

    def valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float((scales * (x - 3) ** 2).sum()), 2 * scales * (x - 3)

    assert np.allclose(minimise(valley, np.zeros(2), 200, 0), [3.0, 3.0], atol=1e-5)
