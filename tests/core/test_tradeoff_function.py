"""The trade-off function of a profile is that of the best tests, made symmetric and convex."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import pairs
from tacit.arithmetic.enclosure import Enclosure
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    Measurement,
    Number,
    PureDP,
    Space,
    Tradeoff,
    ZeroConcentratedDP,
    compose,
)
from tacit.core.divergences import Profile, distribution
from tacit.core.tradeoff import ProfilePoints, TradeoffFunction
from tacit.errors import UsageError
from tacit.mechanisms import Gaussian, Laplace

NUMBERS = Space(Number("int"), AbsoluteDistance())


def of_pair(p, q):
    profile = Profile(distribution(p), distribution(q))
    return TradeoffFunction(ProfilePoints(profile))


@given(pairs(), st.fractions(0, 1))
def test_it_is_the_convex_hull_of_the_best_tests_both_ways(p_and_q, alpha):
    """Against the corners of the two exact curves, joined by the lower hull."""
    p, q = p_and_q
    corners = sorted({*Tradeoff.of(p, q).points(), *Tradeoff.of(q, p).points()})
    hull = Fraction(1)
    for a, b in corners:
        for c, d in corners:
            if a <= alpha <= c:
                here = b if a == c else b + (d - b) * (alpha - a) / (c - a)
                hull = min(hull, here)
    found = of_pair(p, q).beta(alpha)
    assert found.lower <= hull <= found.upper
    assert alpha == 0 or found.width <= Fraction(1, 10**4)


@pytest.mark.full
@pytest.mark.parametrize("alpha", ["0.001", "0.5"])
def test_many_gaussians_are_one(alpha):
    """Against the closed form ``Phi(Phi^-1(1 - alpha) - mu)`` of the continuous one."""
    m = compose([NUMBERS >> Gaussian(60)] * 900)
    found = m.tradeoff().beta(alpha)
    normal = NormalDist()
    truth = normal.cdf(-normal.inv_cdf(float(alpha)) - 0.5)
    assert found.width < Fraction(1, 10**5)
    assert math.isclose(found.middle, truth, abs_tol=2e-5)


def test_the_ends_are_those_of_the_definition():
    pure = (NUMBERS >> Laplace(2)).tradeoff()
    assert pure.beta(0) == Enclosure.of(1)
    assert pure.beta(1) == Enclosure.of(0)
    with pytest.raises(UsageError, match="alpha must be from"):
        pure.beta("1.5")


def test_a_claim_alone_bounds_the_tests_from_below_only():
    """Pure DP: the closed form ``max(1 - e^eps alpha, e^-eps (1 - alpha))``; no attack is known."""
    m = Measurement(NUMBERS, PureDP(), lambda n: n, lambda d: d)
    found = m.tradeoff().beta("0.1")
    assert math.isclose(found.lower, 1 - math.e / 10, abs_tol=1e-6)
    assert found.upper == Fraction(9, 10)
    loose = Measurement(NUMBERS, ApproximateDP(), lambda n: n, lambda d: (d, Fraction(1, 10)))
    assert math.isclose(loose.tradeoff().beta(0).lower, 0.9, abs_tol=1e-6)


def test_zcdp_bounds_every_test():
    """The Gaussian release has this rho: its own curve lies above what rho says."""
    m = NUMBERS >> Gaussian(2)
    stated = Measurement(NUMBERS, ZeroConcentratedDP(), lambda n: n, m.privacy)
    own, claimed = m.tradeoff().beta("0.1").upper, stated.tradeoff().beta("0.1").lower
    assert 0 < claimed < own


def test_it_is_shown_in_words_and_as_a_table():
    f = (NUMBERS >> Laplace(1)).tradeoff()
    assert "misses at least 86.4%" in f.sentence("0.05")
    html = f._repr_html_()
    assert "false alarms (alpha)" in html
    assert "0.8640" in html
    assert ".beta(alpha)" in repr(f)


def test_a_picture_shades_what_no_test_reaches():
    pytest.importorskip("matplotlib")
    figure = (NUMBERS >> Laplace(1)).tradeoff().plot()
    line = figure.axes[0].lines[0]
    assert line.get_xdata()[0] == 0
    assert line.get_ydata()[0] == 1
    assert all(a >= b for a, b in zip(line.get_ydata(), line.get_ydata()[1:], strict=False))


def test_points_lie_on_the_curve():
    f = (NUMBERS >> Laplace(1)).tradeoff()
    for alpha, beta in f.points(11):
        assert abs(f.beta(alpha).upper - beta) <= Fraction(1, 500)


def test_the_drawn_curve_lies_below_every_test_also_at_kinks():
    pytest.importorskip("matplotlib")
    f = (NUMBERS >> Laplace(1)).tradeoff()
    line = f.plot().axes[0].lines[0]
    alphas, betas = line.get_xdata(), line.get_ydata()
    assert (alphas[0], betas[0], alphas[-1], betas[-1]) == (0, 1, 1, 0)
    assert list(alphas) == sorted(alphas)
    for i in range(0, 101, 9):
        alpha = Fraction(i, 100)
        drawn, found = np.interp(float(alpha), alphas, betas), f.beta(alpha)
        assert found.lower - 1e-3 <= drawn <= found.upper + 1e-12
    kink = 1 / (1 + math.e)  # of randomized response, where alpha is beta
    assert kink - 1e-6 <= np.interp(kink, alphas, betas) <= kink + 1e-12
