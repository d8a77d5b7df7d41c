"""The textbook's continuous laws, beside the discrete ones on fine grids and in their tails."""

import itertools
import math

import pytest

import tacit as tc
from tacit.core.divergences import mass_of
from tacit.errors import UsageError


def test_textbook_laws_agree_with_discrete_ones_on_fine_grids():
    fine = tc.Space(tc.Number("float", grid="1/1024"), tc.AbsoluteDistance())
    for step, law in (
        (tc.laplace(25), tc.IdealisedLaplace),
        (tc.gaussian(25), tc.IdealisedGaussian),
    ):
        m = fine >> step
        for event in ((70, 80), (30, 31), (-300, -200)):
            exact = float(tc.divergence(m, 37, 25, event=event).middle)
            textbook = law(37, 25).divergence(law(25, 25), *event)
            assert textbook == pytest.approx(exact, abs=1e-4)
            mass = float(mass_of(m.distribution(37), event).middle)
            assert math.exp(law(37, 25).log_probability(*event)) == pytest.approx(mass, rel=2e-3)


def test_textbook_tails_are_right():
    mpmath = pytest.importorskip("mpmath")
    law = tc.IdealisedGaussian(0, 1)
    for low, high in itertools.pairwise([-40, -12, -8.01, -7.99, -1, 0, 3, 9, 38, 60]):
        with mpmath.workdps(60):
            ends = [mpmath.mpf(x) for x in (low, high)]
            if low > 0:
                ends = [-ends[1], -ends[0]]
            exact = mpmath.log(mpmath.ncdf(ends[1]) - mpmath.ncdf(ends[0]))
        assert law.log_probability(low, high) == pytest.approx(float(exact), rel=1e-12)
    for bad in ((1, 1), (2, 1)):
        with pytest.raises(UsageError):
            law.log_probability(*bad)
    for centre, scale in ((0, 0), (math.nan, 1), (0, math.inf)):
        with pytest.raises(UsageError):
            tc.IdealisedLaplace(centre, scale)
