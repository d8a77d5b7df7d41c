"""Sums by a tilted transform: the charged errors hold the truth, also where they are large."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.losses import tilted_sum
from tacit.core.losses.lattice import Side
from tacit.core.losses.tilted_sum import TiltedSum, moments, tilt_for_delta, tilt_for_epsilon

WEIGHTS = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any)


def side(weights, step, first=-2, infinite=0.0):
    total = sum(weights)
    return Side(step, 0.0, first, np.array(weights) / total, infinite)


def exact(sides, level):
    """Add up all losses, in rationals as far as they are."""
    found = {0: Fraction(1)}
    sure = Fraction(1)
    for one, k in sides:
        sure *= Fraction(1 - Fraction(one.infinite)) ** k
        for _ in range(k):
            after = {}
            for place, mass in found.items():
                for i, p in enumerate(one.masses):
                    at = place + one.first + i
                    after[at] = after.get(at, Fraction(0)) + mass * Fraction(float(p))
            found = after
    step = sides[0][0].step
    kept = math.fsum(
        float(mass) * -math.expm1(level - place * step)
        for place, mass in found.items()
        if place * step > level
    )
    return kept + float(1 - sure)


@given(
    first=WEIGHTS,
    second=WEIGHTS,
    counts=st.tuples(st.integers(1, 4), st.integers(0, 3)),
    step=st.sampled_from([0.5, 0.125, 2.0]),
    tilt=st.sampled_from([0.0, 0.5, 3.0, 40.0]),
    level=st.floats(-6, 6),
    infinite=st.sampled_from([0.0, 1e-3]),
)
def test_every_tilt_gives_bounds_on_both_sides(first, second, counts, step, tilt, level, infinite):
    parts = [(side(first, step, infinite=infinite), counts[0])]
    if counts[1]:
        parts.append((side(second, step), counts[1]))
    truth = exact(parts, level)
    high = TiltedSum(parts, tilt, upper=True).log_delta(level)
    low = TiltedSum(parts, tilt, upper=False).log_delta(level)
    assert math.exp(high) >= truth * (1 - 1e-12)
    assert math.exp(low) <= truth * (1 + 1e-12) + 1e-300


@pytest.mark.parametrize("deviations", [1, 2, 12])
@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_masses_outside_of_the_window_are_charged_for(monkeypatch, deviations, tilt):
    """With a window that is far too small the bounds are wide, and hold."""
    monkeypatch.setattr(tilted_sum, "_DEVIATIONS", deviations)
    monkeypatch.setattr(tilted_sum, "_LEAST_PLACES", 1)
    monkeypatch.setattr(tilted_sum, "_MOST_PLACES", 1)
    weights = [1] * 9
    parts = [(side(weights, 0.25, first=-4), 40)]
    whole = np.array([1.0])
    for _ in range(40):
        whole = np.convolve(whole, np.array(weights) / 9)
    losses = 0.25 * (np.arange(len(whole)) - 160)
    for level in (-3.0, 0.0, 2.0, 9.0):
        truth = float(np.maximum(0, -np.expm1(level - losses)) @ whole)
        high = TiltedSum(parts, tilt, upper=True).log_delta(level)
        low = TiltedSum(parts, tilt, upper=False).log_delta(level)
        assert math.exp(low) <= truth * (1 + 1e-9)
        assert math.exp(high) >= truth * (1 - 1e-9)
        if deviations == 12 and tilt:
            assert high - low < 1e-6


@pytest.mark.full
def test_a_tail_is_as_right_as_the_middle():
    """A delta of 10^-150: ten thousand fair steps of 0.01, against a sum of binomials."""
    parts = [(Side(0.02, -0.01, 0, np.array([0.5, 0.5])), 10_000)]
    level = 25.0
    tilt = tilt_for_epsilon(parts, level)
    rows = [(0.02 * j - 100, math.comb(10_000, j)) for j in range(6200, 8200)]
    truth = sum(Fraction(n) * Fraction(max(0.0, -math.expm1(level - x))) for x, n in rows)
    log = math.log(truth.numerator) - math.log(truth.denominator) - 10_000 * math.log(2)
    high = TiltedSum(parts, tilt, upper=True).log_delta(level)
    low = TiltedSum(parts, tilt, upper=False).log_delta(level)
    assert low <= log + 1e-9
    assert log - 1e-9 <= high
    assert high - low < 1e-5


def test_tilts_put_the_mean_where_it_is_wanted():
    parts = [(side([3, 1, 2, 5], 0.1), 50)]
    tilt = tilt_for_epsilon(parts, 3.0)
    assert abs(moments(parts, tilt)[1] - 3.0) < 0.1
    assert tilt_for_epsilon(parts, -1e9) == pytest.approx(0.0, abs=1e-3)
    near = moments(parts, tilt_for_delta(parts, math.log(1e-6)))[1]
    found = TiltedSum(parts, tilt_for_delta(parts, math.log(1e-6)), upper=True)
    assert abs(found.log_delta(near) - math.log(1e-6)) < 2


@pytest.mark.parametrize("times", [(400, 0), (400, 30), (30, 400)])
def test_what_a_transform_takes_for_zero_is_charged_for(monkeypatch, times):
    """Values below e^-60 are left out; with far larger ones left out the error still holds."""
    parts = [(np.ones(9) / 9, times[0]), (np.array([0.25, 0.0, 0.75]), times[1])]
    whole = np.array([1.0])
    for a, k in parts:
        for _ in range(k):
            whole = np.convolve(whole, a)
    parts = [(a, k) for a, k in parts if k]
    truth = np.zeros(1 << 12)
    truth[: len(whole)] = whole
    small, _ = tilted_sum._transformed(parts, 1 << 12)
    assert float(np.abs(small - truth).max()) < 1e-14
    for least in (-8.0, -2.0, -0.5):
        monkeypatch.setattr(tilted_sum, "_NEGLIGIBLE", least)
        found, error = tilted_sum._transformed(parts, 1 << 12)
        assert 1e-14 < float(np.abs(found - truth).max()) <= error


@pytest.mark.parametrize("upper", [False, True])
def test_places_far_from_the_middle_say_what_those_near_it_do(monkeypatch, upper):
    """Powers of a tilt that are too large for floats are taken from each place on instead."""
    parts = [(side([1, 1, 2, 1], 0.5), 300)]
    near = TiltedSum(parts, 1.0, upper=upper)
    levels = [near.middle + away for away in (-20.0, -3.0, 0.0, 4.5, 30.0)]
    found = [near.log_delta(level) for level in levels]
    monkeypatch.setattr(tilted_sum, "_MOST_EXPONENT", 0.0)
    far = TiltedSum(parts, 1.0, upper=upper)
    assert [far.log_delta(level) for level in levels] == pytest.approx(found, abs=1e-9)
    monkeypatch.setattr(tilted_sum, "_MOST_EXPONENT", 600.0)
    steep = TiltedSum(parts, 40.0, upper=upper)
    assert steep.log_delta(steep.middle) < 0
    assert steep.log_delta(0.0) > -1e-3 or not upper
