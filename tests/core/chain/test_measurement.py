"""The least epsilon of a release at a delta: on its worst pair, and what the map implies."""

import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.errors import UsageError

COLUMN = tc.Space(tc.Vector(float), tc.SymmetricDistance())
WHOLE = tc.Space(tc.Number("int"), tc.AbsoluteDistance())


def test_epsilon_of_a_pure_release_at_delta_zero_is_its_map():
    m = COLUMN >> tc.clamp(0, 12) >> tc.sum() >> tc.laplace(25)
    for k in range(4):
        assert m.epsilon(0, d_in=k).upper == m.map(k)


@pytest.mark.few(4)
@pytest.mark.parametrize("scale", [1, 3, "7/2"])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_epsilon_is_the_least_on_the_worst_pair(scale, shift):
    for step in (tc.laplace(scale), tc.gaussian(scale)):
        m = WHOLE >> step
        found = m.epsilon("1/50", d_in=shift)
        curve = tc.divergence(m, shift, 0, measure=tc.ApproximateDP())
        assert curve(found.upper).lower <= Fraction(1, 50)
        if found.lower > 0:
            assert curve(found.lower - Fraction(1, 10**6)).upper >= Fraction(1, 50)


def test_epsilon_survives_chaining_conversion_and_post_processing():
    m = WHOLE >> tc.laplace(2)
    target = m.epsilon("1/100")
    processed = (m >> abs).epsilon("1/100")
    assert (processed.lower, processed.upper) == (0, target.upper)  # it may hide all of it
    assert tc.compose([m]).epsilon("1/100") == target
    column = tc.Space(tc.Vector(str), tc.SymmetricDistance()) >> tc.count()
    assert (column >> tc.laplace(2)).epsilon("1/100") == target


def test_epsilon_without_known_losses_is_what_the_map_implies():
    counts = tc.Space(tc.Vector(int, size=3), tc.L2Distance())
    vector = counts >> tc.gaussian(10)
    assert vector.epsilon("1e-6", d_in=2).lower == 0  # one cell by two, or four by one
    assert 0.8 < float(vector.epsilon("1e-6", d_in=2)) < 1
    assert vector.epsilon(0, d_in=2) == math.inf
    pure = tc.Space(tc.Vector(int, size=3), tc.L1Distance()) >> tc.laplace(10)
    assert pure.epsilon(0).upper <= pure.map(1) + Fraction(1, 10**20)
    for delta in (-1, 2, "nan"):
        with pytest.raises(UsageError):
            vector.epsilon(delta)


@pytest.mark.parametrize("delta", [-1, 1, "1.5"])
def test_a_delta_that_promises_nothing_is_refused(delta):
    column = tc.Space(tc.Vector(str), tc.SymmetricDistance()) >> tc.count()
    known, stated = column >> tc.gaussian(2), column >> tc.laplace(2) >> str
    for release in (known, stated, tc.compose([known] * 3)):
        for ask in (release.epsilon, release.gaussian_mu):
            with pytest.raises(UsageError, match="such as '1e-6'"):
                ask(delta)
    assert known.epsilon("999/1000").upper >= 0  # a weak one is an honest answer
