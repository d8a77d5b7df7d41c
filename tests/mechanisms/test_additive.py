"""The textbook's chain: a clamped sum with Laplace noise, its map and its tails."""

import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    ChangeOneDistance,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.transformations import Count, Sum


def test_the_textbook_chain():
    column = Space(Vector(float), SymmetricDistance())
    m = column >> tc.clamp(0, 12) >> Sum(grid=1) >> tc.laplace(scale=25)
    assert m.map(1) == Fraction(12, 25)
    sized = Space(Vector(float, size=4), ChangeOneDistance())
    changed = sized >> tc.clamp(0, 12) >> Sum(grid=1) >> tc.laplace(scale=25)
    assert changed.map(1) == Fraction(12, 25)  # not twice that
    p, q = m.distribution([12, 10, 8, 7]), m.distribution([12, 10, 8])
    for low, high in ((70, 80), (-100, -50), (37, 37), (5000, 5010), (-9000, -8000)):
        left, right = p.interval(low, high), q.interval(low, high)
        r = math.exp(-1 / 25)
        exact = [
            math.fsum((1 - r) / (1 + r) * r ** abs(z - c) for z in range(low, high + 1))
            for c in (37, 30)
        ]
        if min(exact) > 1e-12:
            assert float(left.middle) == pytest.approx(exact[0], rel=1e-9)
            assert float(right.middle) == pytest.approx(exact[1], rel=1e-9)
        loss = tc.divergence(m, [12, 10, 8, 7], [12, 10, 8], event=(low, high))
        assert abs(float(loss)) <= 7 / 25 + 1e-12  # the sums are 7 apart: no 0 / 0 in the tails


PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


def test_noise_is_drawn_afresh():
    m = COUNT >> tc.laplace(1000)
    assert len({m([1, 2]) for _ in range(20)}) > 10
