"""A release with smooth noise: clipped, on its grid, listed exactly, and predicted beforehand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit.errors import UsageError
from tacit.mechanisms.smooth import smooth_noise
from tacit.statistics.statistic import SMOOTHNESS_SLACK

PUBLIC = [0, 1, 2, 2, 3, 4, 5, 5, 6, 9]


def made(statistic="median", **more):
    given = {"bounds": (0, 9), "epsilon": 1, "distribution": "cauchy", "grid": 1, **more}
    return smooth_noise(statistic, **given)


def test_releases_are_on_the_grid_and_within_the_public_ends():
    m = made(grid="1/2")
    assert m.clip == (0, 9)
    for y in m.simulate(PUBLIC, 50):
        assert 0 <= y <= 9
        assert Fraction(y) % Fraction(1, 2) == 0
    assert 0 <= m([]) <= 9


def test_the_law_lists_every_unit_and_agrees_with_the_draws():
    m = made()
    law = m.distribution(PUBLIC)
    assert set(law.table) == set(range(10))
    assert sum(p.lower for p in law.table.values()) <= 1 <= sum(p.upper for p in law.table.values())
    found = m.simulate(PUBLIC, 500)
    for unit in (0, 3, 9):
        p = float(law.probability(unit))
        assert abs(found.count(unit) - 500 * p) <= 6 * math.sqrt(500 * p * (1 - p)) + 1


def test_the_expected_error_is_that_of_the_law():
    m = made()
    law, truth = m.distribution(PUBLIC), float(m.local.value(m.local.read(PUBLIC)))
    error = sum(abs(float(y) - truth) * float(p) for y, p in law.table.items())
    assert m.expected_error(PUBLIC) == pytest.approx(error, rel=1e-6)


def test_noise_without_a_mean_has_no_error_where_nothing_is_clipped():
    assert made(clip=False).expected_error(PUBLIC) == math.inf
    assert made(clip=False).clip is None
    student = made(distribution="student_t", clip=False)
    assert student.expected_error(PUBLIC) < math.inf


def test_a_grid_too_fine_to_list_is_told_and_still_released():
    m = made(grid=None)
    assert m.grid < Fraction(1, 10**9)
    assert 0 <= m(PUBLIC) <= 9
    with pytest.raises(UsageError, match="too many to list"):
        m.distribution(PUBLIC)


def test_the_best_rate_has_the_least_noise_of_a_ladder_or_is_kept():
    m = made()
    best = m.best_rate(PUBLIC)
    reading = m.local.read(PUBLIC)

    def noise(beta):
        return m.local.smooth(reading, beta) / m.unit.shift(beta + SMOOTHNESS_SLACK)

    assert noise(best) <= m.local.smooth(reading, m.beta) / m.shift


def test_more_records_of_the_same_spread_mean_less_error():
    m = made("mean", grid="1/64")
    assert m.expected_error(PUBLIC, n=4000) < m.expected_error(PUBLIC, n=400)


@pytest.mark.parametrize("times", [-1, 1.5, "x"])
def test_a_number_of_releases_is_whole(times):
    with pytest.raises(UsageError, match="times"):
        made().simulate(PUBLIC, times)
