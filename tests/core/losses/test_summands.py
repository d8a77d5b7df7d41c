"""Summands of several families: tilts, and what stands in them."""

import math

import numpy as np
import pytest

from tacit.core.losses.summands import Generating, Summands, moments, tilt_at, tilt_near

SUM = Summands.of([(Generating(laplace=(0.05, 1)), 1), (Generating(laplace=(0.08, 2)), 400)])


def test_tilts_put_the_mean_where_it_is_wanted():
    assert moments(SUM, tilt_at(SUM, 15.0))[1] == pytest.approx(15.0, rel=1e-2)
    assert SUM.reach == pytest.approx(0.05 + 64)
    near = tilt_near(SUM, math.log(1e-9))
    log, mean, _ = moments(SUM, near)
    assert -40 < log - near * mean < math.log(1e-6)
    assert np.isinf(moments(SUM, 1e6)[0])


def test_no_tilt_is_far_below_one_over_the_deviation():
    variance = moments(SUM, 1e-9)[2]
    assert tilt_at(SUM, 0.0) == pytest.approx(0.7 / math.sqrt(variance), rel=0.1)


def test_moments_are_those_of_a_gaussian():
    many = Summands.of([(Generating(gaussian=(40.0, 4)), 25)])
    for tilt in (0.1, 1.0, 7.0):
        log, mean, variance = moments(many, tilt)
        assert log == pytest.approx(0.25 * tilt * (tilt + 1) / 2)
        assert mean == pytest.approx(0.25 * (tilt + 0.5), rel=1e-4)
        assert variance == pytest.approx(0.25, rel=1e-4)


def test_each_family_holds_its_own():
    rows = [
        (Generating(range=0.5), 2),
        (Generating(listed=(np.ones(2), np.ones(2) / 2), infinite=(0.1, 0.1)), 2),
        (Generating(gaussian=(2.0, 1)), 1),
    ]
    found = Summands.of(rows)
    assert sorted(family.times.tolist() for family in found.families) == [[1.0], [2.0], [2.0]]
    assert found.count == 5
    assert found.largest == math.inf
    assert found.infinite[0] < 0.19 < found.infinite[1]
    assert [len(piece.times) for piece in SUM.pieces(1)] == [1, 1]
