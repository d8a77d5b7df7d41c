"""Renyi moments in doubles against the certified ones, and against Gaussians in closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.core.divergences import largest_of_chords, log_moments, renyi
from tacit.errors import UsageError


@pytest.mark.parametrize("order", ["1/2", "3/2", 2, 17])
def test_they_agree_with_the_certified_divergence(order):
    p, q = ["1/6", "1/3", "1/2"], ["1/2", "1/4", "1/4"]
    logs = [np.log([float(Fraction(x)) for x in side]) for side in (p, q)]
    a = float(Fraction(order))
    found = log_moments(*logs, np.array([a]))[0] / (a - 1)
    assert found == pytest.approx(float(renyi(p, q, order)), rel=1e-9)


def test_tails_are_added_where_they_fall_and_refused_where_they_rise():
    x = np.arange(-60, 61.0)
    p, q = -(x**2) / 50, -((x - 1) ** 2) / 50
    p, q = (side - np.log(np.exp(side).sum()) for side in (p, q))
    found = log_moments(p, q, np.array([2.0]), tails=True)
    assert found[0] == pytest.approx(2 * 1 / 50, rel=1e-6)  # a (a - 1) d^2 / (2 sigma^2)
    with pytest.raises(UsageError, match="does not reach the peak"):
        log_moments(p, q, np.array([100.0]), tails=True)


def test_the_largest_of_a_chord_is_the_largest_of_many_points_on_it():
    x = np.array([0.1, 0.5, 2.0, 9.0])
    f = np.array([0.02, 0.3, 2.5, 30.0])
    found = largest_of_chords(x, f)
    for i in range(3):
        at = np.linspace(x[i], x[i + 1], 20_001)
        line = f[i] + (f[i + 1] - f[i]) * (at - x[i]) / (x[i + 1] - x[i])
        assert found[i] == pytest.approx((line / (at * (at + 1))).max(), rel=1e-7)
