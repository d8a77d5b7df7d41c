"""The integral against sums of losses that are added up one by one."""

import math

import numpy as np
import pytest

from tacit.core.losses.contour.ends import ends_of
from tacit.core.losses.contour.line_integral import enclosed_epsilon, enclosed_log_delta

GRID = 1e-4


def added_up(rows):
    """The losses of a sum whose rates are multiples of a grid, one summand at a time.

    All terms are positive, so a tail is as right, relatively, as the middle.
    """
    masses, lowest = np.ones(1), 0
    for rate, shift, times in rows:
        places = round(rate / GRID)
        r = math.exp(-rate)
        one = np.zeros(2 * places * shift + 1)
        one[-1], one[0] = 1 / (1 + r), r**shift / (1 + r)
        for x in range(1, shift):
            one[2 * places * (shift - x)] += (1 - r) / (1 + r) * r**x
        for _ in range(times):
            held = np.flatnonzero(one)
            longer = np.zeros(len(masses) + len(one) - 1)
            for place in held:
                longer[place : place + len(masses)] += one[place] * masses
            masses, lowest = longer, lowest - places * shift
    return GRID * (lowest + np.arange(len(masses))), masses


def delta_of(losses, masses, epsilon):
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


def rows_of(count, shift, spread=5):
    return [(GRID * (40 + spread * place + place % 3), shift, 1) for place in range(count)]


@pytest.mark.few(5)
@pytest.mark.parametrize(("count", "shift"), [(300, 1), (150, 3)])
@pytest.mark.parametrize("log_delta", [math.log(1e-3), math.log(1e-6), math.log(1e-10)])
def test_the_truth_is_enclosed(count, shift, log_delta):
    rows = rows_of(count, shift)
    losses, masses = added_up(rows)
    low, high = enclosed_epsilon(ends_of(rows), log_delta)
    assert delta_of(losses, masses, high) <= math.exp(log_delta) * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= math.exp(log_delta) * (1 - 1e-9)
    assert high - low < 1e-2 * high
    middle = (low + high) / 2
    from_below, from_above = enclosed_log_delta(ends_of(rows), middle, middle)
    true = delta_of(losses, masses, middle)
    assert math.exp(from_below) <= true * (1 + 1e-9)
    assert math.exp(from_above) >= true * (1 - 1e-9)
    assert from_above - from_below < 0.1


def test_repeated_summands_count_as_often_as_they_stand():
    rows = [(GRID * (40 + 7 * place), 1, 1 + place % 4) for place in range(100)]
    losses, masses = added_up(rows)
    low, high = enclosed_epsilon(ends_of(rows), math.log(1e-6))
    assert delta_of(losses, masses, high) <= 1e-6 * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= 1e-6 * (1 - 1e-9)


@pytest.mark.full
@pytest.mark.parametrize("shift", [1, 1000])
def test_many_are_enclosed_tightly(shift):
    rows = [((0.01 + 0.09 * place / 2000) / shift, shift, 1) for place in range(2000)]
    low, high = enclosed_epsilon(ends_of(rows), math.log(1e-6))
    assert 0 < high - low < 1e-4 * high
    low, high = enclosed_epsilon(ends_of(rows), math.log(1e-15))
    assert 0 < high - low < 1e-4 * high


def test_what_resonates_or_is_no_tail_is_not_answered():
    same = [(0.01 + place * 1e-12, 1, 1) for place in range(200)]
    assert enclosed_epsilon(ends_of(same), math.log(1e-6)) is None
    assert enclosed_epsilon(ends_of(rows_of(200, 1)), -math.inf) is None
    assert enclosed_epsilon(ends_of(rows_of(200, 1)), math.log(0.9)) is None
