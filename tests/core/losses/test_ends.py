"""Generating functions against the sums that define them."""

import cmath
import math

import pytest

from tacit.core.losses.additive_noise import LaplaceShift
from tacit.core.losses.summands import ends_of

ROWS = [(0.3, 1, 2), (0.05, 7, 1), (0.002, 400, 3)]


@pytest.mark.few(4)
@pytest.mark.parametrize("z", [0.5, 3.0, 0.7 + 2.5j, 1e-3 + 40j])
def test_a_generating_function_is_the_mean_of_powers(z):
    found = ends_of(ROWS).factors(z)
    for row, one in zip(ROWS, found, strict=True):
        rate, shift, _ = row
        loss = LaplaceShift(1 / rate, shift)
        reach = math.ceil(60 / rate)
        r = math.exp(-rate)
        mean = sum(
            (1 - r) / (1 + r) * r ** abs(x) * cmath.exp(z * float(loss.loss(x)))
            for x in range(-reach - shift, reach)
        )
        assert abs(complex(one) - mean) < 1e-9 * abs(mean)


def test_it_is_one_at_zero_and_where_it_gives_back_q():
    ends = ends_of(ROWS)
    assert ends.factors(1e-12) == pytest.approx(1.0, abs=1e-9)
    # E e^-L is the mass of Q, which is one; there q is e^r
    assert ends.factors(-1.0) == pytest.approx(1.0, abs=1e-12)


def test_tilted_masses_of_the_ends():
    upper, lower = ends_of(ROWS[:1]).weights(2.0)
    odds = math.exp(0.3 * (2 * 2 + 1))
    assert upper[0] == pytest.approx(odds / (1 + odds))
    assert upper[0] + lower[0] == pytest.approx(1)
