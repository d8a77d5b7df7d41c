"""The integral against sums of losses that are added up one by one."""

import math

import numpy as np
import pytest

from tacit.core.losses.contour import enclosed_epsilon, enclosed_log_deltas
from tacit.core.losses.summands import Generating, Summands

GRID = 1e-4


def sum_of(rows):
    return Summands.of([(Generating(laplace=(rate, shift)), times) for rate, shift, times in rows])


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


@pytest.mark.few(6)
@pytest.mark.parametrize(("count", "shift"), [(300, 1), (150, 3)])
@pytest.mark.parametrize("log_delta", [math.log(1e-3), math.log(1e-6), math.log(1e-10)])
def test_the_truth_is_enclosed(count, shift, log_delta):
    rows = rows_of(count, shift)
    losses, masses = added_up(rows)
    low, high = enclosed_epsilon(sum_of(rows), log_delta)
    assert delta_of(losses, masses, high) <= math.exp(log_delta) * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= math.exp(log_delta) * (1 - 1e-9)
    assert high - low < 1e-2 * high
    middle = (low + high) / 2
    ((from_below, from_above),) = enclosed_log_deltas(sum_of(rows), [(middle, middle)])
    true = delta_of(losses, masses, middle)
    assert math.exp(from_below) <= true * (1 + 1e-9)
    assert math.exp(from_above) >= true * (1 - 1e-9)
    assert from_above - from_below < 0.1


@pytest.mark.full
def test_repeated_summands_count_as_often_as_they_stand():
    rows = [(GRID * (40 + 7 * place), 1, 1 + place % 4) for place in range(100)]
    losses, masses = added_up(rows)
    low, high = enclosed_epsilon(sum_of(rows), math.log(1e-6))
    assert delta_of(losses, masses, high) <= 1e-6 * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= 1e-6 * (1 - 1e-9)


@pytest.mark.full
@pytest.mark.parametrize("shift", [1, 1000])
def test_many_are_enclosed_tightly(shift):
    rows = [((0.01 + 0.09 * place / 2000) / shift, shift, 1) for place in range(2000)]
    low, high = enclosed_epsilon(sum_of(rows), math.log(1e-6))
    assert 0 < high - low < 1e-4 * high
    low, high = enclosed_epsilon(sum_of(rows), math.log(1e-15))
    assert 0 < high - low < 1e-4 * high


def test_equal_summands_that_resonate_are_enclosed():
    """Randomized response, 200 times: its losses are those of a binomial distribution."""
    rate, times = 0.02, 200
    same = [(rate, 1, times)]
    up = 1 / (1 + math.exp(-rate))
    losses = rate * (2 * np.arange(times + 1) - times)
    masses = np.array([math.comb(times, j) * up**j * (1 - up) ** (times - j) for j in range(201)])
    low, high = enclosed_epsilon(sum_of(same), math.log(1e-6))
    assert delta_of(losses, masses, high) <= 1e-6 * (1 + 1e-9)
    assert delta_of(losses, masses, low) >= 1e-6 * (1 - 1e-9)
    assert high - low < 1e-4 * high


@pytest.mark.full
@pytest.mark.parametrize("count", [3, 20])
def test_few_distinct_ones_are_enclosed(count):
    rows = rows_of(count, 1)
    losses, masses = added_up(rows)
    for delta in (1e-2, 1e-4):
        found = enclosed_epsilon(sum_of(rows), math.log(delta))
        if found is None:  # a single loss, or none, is above such an epsilon
            assert count == 3
            continue
        low, high = found
        assert delta_of(losses, masses, high) <= delta * (1 + 1e-9)
        assert delta_of(losses, masses, low) >= delta * (1 - 1e-9)
    levels = [losses[-1] * place / 8 for place in range(8)]
    for level, ends in zip(
        levels, enclosed_log_deltas(sum_of(rows), [(e, e) for e in levels]), strict=True
    ):
        truth = delta_of(losses, masses, level)
        assert ends is None or math.exp(ends[0]) <= truth * (1 + 1e-9)
        assert ends is None or math.exp(ends[1]) >= truth * (1 - 1e-9)


@pytest.mark.few(3)
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-15])
def test_gaussians_are_those_of_the_closed_form(delta):
    rows = [(Generating(gaussian=(50.0 + place, 1)), 20) for place in range(20)]
    mu = math.sqrt(sum(20 / (50 + place) ** 2 for place in range(20)))
    low, high = enclosed_epsilon(Summands.of(rows), math.log(delta))
    for epsilon, above in ((low * (1 - 1e-9), True), (high * (1 + 1e-9), False)):
        near, far = (epsilon / mu - mu / 2) / 2**0.5, (epsilon / mu + mu / 2) / 2**0.5
        found = (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2
        assert (found >= delta * (1 - 1e-7)) == above or abs(found / delta - 1) < 1e-7
    assert high - low < 2e-4 * high


def test_an_infinite_loss_adds_its_mass():
    listed = np.array([0.05, -0.05]), np.array([0.5125, 0.4875]) * (1 - 1e-9)
    row = Generating(listed=listed, infinite=(1e-9, 1e-9))
    finite = Generating(listed=(listed[0], listed[1]))
    level = [(0.8, 0.8)]
    ((_, with_it),) = enclosed_log_deltas(Summands.of([(row, 100)]), level)
    ((_, without),) = enclosed_log_deltas(Summands.of([(finite, 100)]), level)
    assert math.exp(with_it) - math.exp(without) == pytest.approx(1e-7, rel=1e-3)
    assert enclosed_epsilon(Summands.of([(row, 100)]), math.log(0.9e-7)) is None
    low, high = enclosed_epsilon(Summands.of([(row, 100)]), math.log(2e-7))
    assert low < high < enclosed_epsilon(Summands.of([(finite, 100)]), math.log(0.99e-7))[1] * 1.001


def test_what_is_no_tail_is_not_answered():
    assert enclosed_epsilon(sum_of(rows_of(200, 1)), -math.inf) is None
    assert enclosed_epsilon(sum_of(rows_of(200, 1)), math.log(0.9)) is None
