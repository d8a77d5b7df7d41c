"""Sums of losses: held against products of distributions, closed forms and published values."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.small_pairs import LEVELS, pairs
from support.examples import examples
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.special_functions import normal_cdf
from tacit.core import PrivacyLossDistribution
from tacit.core.losses import composition as summed
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.base import BothWays
from tacit.core.losses.composition import Sum
from tacit.core.losses.distribution import dominating_pair

GRID = 2**40


@pytest.fixture
def coarse(monkeypatch):
    """Cells so wide that their errors are seen."""
    monkeypatch.setattr(summed, "_FEWEST_PLACES", 1 << 12)
    monkeypatch.setattr(summed, "_PLACES", 1 << 12)


@examples(0.02)
@given(first=pairs(), second=pairs(), k=st.integers(1, 3))
@pytest.mark.usefixtures("coarse")
def test_a_sum_encloses_the_product_of_its_distributions(first, second, k):
    one, two = (PrivacyLossDistribution.of(*pair) for pair in (first, second))
    exact = one.self_compose(k).compose(two)
    if not isinstance(exact, PrivacyLossDistribution):
        return
    found = Sum(((one, k), (two, 1)))
    for level in LEVELS:
        truth, enclosed = exact.delta(level), found.delta(level)
        assert enclosed.lower <= truth.upper
        assert enclosed.upper >= truth.lower
        assert enclosed.width < Fraction(1, 50)
    for delta in (Fraction(1, 3), Fraction(1, 10**4)):
        truth, enclosed = exact.epsilon(delta), found.epsilon(delta)
        if truth == math.inf:
            assert enclosed == math.inf
        elif enclosed != math.inf:
            assert enclosed.lower <= truth.upper
            assert enclosed.upper >= truth.lower


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("loss", "reference"),
    [
        (dominating_pair(Fraction(1, 100)), 4.885515601),
        (LaplaceShift(100, 1), 4.885515601),
        (LaplaceShift(100 * GRID, GRID), 4.876257579),
        (GaussianShift(100, 1), 4.886554117),
        (GaussianShift(100 * GRID, GRID), 4.886554117),
    ],
    ids=["pure", "laplace of whole numbers", "laplace", "gauss of whole numbers", "gauss"],
)
def test_ten_thousand_releases_against_published_values(loss, reference):
    """Kairouz, Oh, Viswanath; Gaussian and Laplace in closed form; epsilon at 10^-6."""
    found = loss.self_compose(10_000).epsilon("1e-6")
    assert reference * (1 - 1e-4) <= found.lower <= reference * (1 + 1e-9)
    assert reference * (1 - 1e-9) <= found.upper <= reference * (1 + 1e-6)


def gaussian_delta(mu, epsilon):
    """The delta of the continuous Gaussian (Balle and Wang 2018)."""
    low = normal_cdf(Enclosure.of(mu / 2 - epsilon / mu), 400)
    high = normal_cdf(Enclosure.of(-mu / 2 - epsilon / mu), 400)
    return low - exp(epsilon, 400) * high


@pytest.mark.few(4)
@pytest.mark.parametrize("delta", ["1e-6", "1e-10", "1e-15", "1e-40"])
def test_gaussians_add_up_at_tiny_deltas(delta):
    """Never on the wrong side: at the ends of the enclosure the closed form is above and below."""
    found = GaussianShift(100 * GRID, GRID).self_compose(10_000).epsilon(delta)
    slack = Fraction(1, 10**9)  # the grid is finite
    assert gaussian_delta(Fraction(1), found.upper + slack).lower <= Fraction(delta)
    assert gaussian_delta(Fraction(1), found.lower - slack).upper >= Fraction(delta)
    assert found.upper - found.lower <= found.upper * Fraction(1, 10**4)


@pytest.mark.full
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("loss", [LaplaceShift(8, 8), GaussianShift(6, 6)])
def test_a_fine_lattice_and_a_coarse_one_agree_with_themselves(loss, k):
    """The sum on the losses' own lattice lies within the one on cells."""
    own = Sum(((loss, k),)).epsilon("1e-6")
    other = type(loss)(loss.scale, loss.shift - 1)
    mixed = Sum(((loss, k - 1), (other, 1))).epsilon("1e-6")
    assert mixed.lower <= own.upper
    assert own.width < Fraction(1, 10**6)
    assert mixed.width < Fraction(1, 50)


@pytest.mark.full
def test_releases_of_many_kinds_are_counted_each():
    parts = [LaplaceShift(100 * GRID, GRID), GaussianShift(50 * GRID, GRID), GaussianShift(80, 1)]
    whole = parts[0].self_compose(300).compose(parts[1].self_compose(200)).compose(parts[2])
    assert isinstance(whole, Sum)
    assert [k for _, k in whole.parts] == [300, 200, 1]
    found = whole.epsilon("1e-6")
    # as Gaussians of the same variance: 300 (1/100)^2 + 200 (1/50)^2 + (1/80)^2
    mu = Fraction(math.sqrt(300 / 1e4 + 200 / 2500 + 1 / 6400))
    assert abs(gaussian_delta(mu, found.upper).middle / Fraction("1e-6") - 1) < Fraction(1, 5)
    assert found.width < Fraction(1, 50)
    assert whole.self_compose(2).parts[0][1] == 600


def test_epsilon_and_delta_of_a_sum_invert_each_other():
    whole = GaussianShift(20, 1).self_compose(100)
    for delta in ("1/10", "1e-3", "1e-9", "1e-30"):
        epsilon = whole.epsilon(delta)
        assert whole.delta(epsilon.upper + Fraction(1, 10**7)).lower <= Fraction(delta)
        back = whole.delta(epsilon.lower).upper
        assert abs(back / Fraction(delta) - 1) < Fraction(1, 10**4)


def test_what_loses_nothing_adds_nothing():
    loss = LaplaceShift(4, 1)
    assert loss.compose(LaplaceShift(4, 0)) == loss
    assert loss.compose(LaplaceShift(4, 0)).compose(loss) == loss.self_compose(2)
    silent = GaussianShift(3, 0).self_compose(5)
    assert silent.epsilon("1e-9") == Enclosure.of(0)


def test_the_ends_of_the_scale():
    whole = dominating_pair(Fraction(1, 2)).self_compose(200)
    assert abs(whole.epsilon(0).upper - 100) < Fraction(1, 10**20)
    assert whole.epsilon(1).upper == 0
    assert whole.delta(101) == Enclosure.of(0)
    assert whole.delta(100).upper < Fraction(1, 10**40)
    assert float(whole.delta(-1000)) == pytest.approx(1.0)
    failing = dominating_pair(Fraction(1, 2), Fraction(1, 10**4)).self_compose(200)
    assert failing.epsilon(Fraction(1, 100)) == math.inf
    assert failing.epsilon(Fraction(1, 40)).upper < 60


@pytest.mark.full
@examples(0.05)
@given(pair=pairs(), k=st.integers(2, 40))
@pytest.mark.usefixtures("coarse")
def test_both_directions_are_summed_apart(pair, k):
    ways = [PrivacyLossDistribution.of(*sides) for sides in (pair, pair[::-1])]
    both = BothWays(*ways).self_compose(k)
    assert both.forward == ways[0].self_compose(k)
    for delta in ("1/100", "1/3"):
        each = [way.self_compose(k).epsilon(delta) for way in ways]
        assert float(both.epsilon(delta)) == max(float(e) for e in each)


def test_more_releases_lose_more():
    loss = LaplaceShift(20, 3)
    found = [float(loss.self_compose(k).epsilon("1e-6")) for k in (1, 2, 5, 20, 100, 1000)]
    assert all(a < b for a, b in itertools.pairwise(found))


_SCALES = ("1/1000", "1/10", "3/10", 1, 3, 5, 30, 10**4, 10**8, 10**12, 10**15)


@pytest.mark.few(4)
@pytest.mark.parametrize("scale", _SCALES)
@pytest.mark.parametrize("count", [5, 10_000])
def test_gaussian_sums_answer_for_every_scale_and_delta(scale, count):
    """No warning, no infinity, in order, and between what one and what all in one shift lose."""
    whole = GaussianShift(Fraction(scale), 1).self_compose(count)
    last = Enclosure.of(1)
    for epsilon in (0, 1, 10**6):
        found = whole.delta(epsilon)
        assert 0 <= found.lower <= found.upper <= last.upper
        last = found
    before = Enclosure.of(0)
    for delta in ("1/10", "1e-6", "1e-300"):
        found = whole.epsilon(delta)
        assert found.lower <= found.upper < math.inf
        assert before.upper <= found.upper * (1 + Fraction(1, 10**9))
        if found.upper > 10**-12 and Fraction(scale) > Fraction(1, 100):  # of one: no more
            one = GaussianShift(Fraction(scale), 1).epsilon(delta)
            assert one.lower <= found.upper * (1 + Fraction(1, 10**9))
        before = found


@pytest.mark.parametrize("scale", ["1/10", "3/10", 1, 3])
def test_narrow_gaussian_sums_are_those_of_a_convolution(scale):
    """Masses in floats of the whole places of five releases."""
    sigma = float(Fraction(scale))
    x = np.arange(-30, 31)
    p = np.exp(-(x**2) / (2 * sigma**2))
    p /= p.sum()
    masses = np.ones(1)
    for _ in range(5):
        masses = np.convolve(masses, p)
    losses = (np.arange(len(masses)) - 150 + 2.5) / sigma**2
    whole = GaussianShift(Fraction(scale), 1).self_compose(5)
    for epsilon in (0.0, 1.0, 3.0, 40.0, 240.0):
        over = np.minimum(epsilon - losses, 0.0)
        truth = float(masses @ -np.expm1(over))
        found = whole.delta(epsilon)
        slack = 1e-12 * truth + 1e-18
        assert float(found.lower) - slack <= truth <= float(found.upper) + slack
        assert float(found.width) <= 1e-9 * truth + 1e-18
