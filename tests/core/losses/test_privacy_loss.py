"""Privacy losses against their definition: exact products, enclosures on lattices, references."""

import itertools
import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.arithmetic.enclosure import exp
from tacit.core import PrivacyLossDistribution, Tradeoff, hockey_stick
from tacit.core.divergences.privacy_profile import Curve
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.losses.distribution import dominating_pair
from tacit.core.losses.lattice import LatticeLoss, convolve, split
from tacit.errors import UsageError

WEIGHTS = st.lists(st.integers(0, 6), min_size=2, max_size=4)
ROOM = sys.modules[PrivacyLossDistribution.__module__]
LEVELS = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)]


def distribution(weights):
    total = sum(weights)
    return {i: Fraction(w, total) for i, w in enumerate(weights) if w}


@st.composite
def pairs(draw):
    n = draw(st.integers(2, 4))
    sides = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n).filter(any))
        sides.append(distribution(weights))
    return tuple(sides)


def power(p, k):
    found = {}
    for outcomes in itertools.product(p, repeat=k):
        found[outcomes] = math.prod(p[x] for x in outcomes)
    return found


@given(pairs(), st.integers(1, 3))
def test_composition_is_that_of_the_product_distributions(pair, k):
    p, q = pair
    composed = PrivacyLossDistribution.of(p, q).self_compose(k)
    for level in LEVELS:
        truth = hockey_stick(power(p, k), power(q, k), level)
        found = composed.delta(level)
        assert found.lower <= truth.upper
        assert found.upper >= truth.lower
        assert found.width <= Fraction(1, 2**60)


@pytest.mark.full
@examples(0.2)
@given(pair=pairs(), k=st.integers(2, 3))
def test_lattices_enclose_the_truth_on_both_sides(pair, k):
    p, q = pair
    exact = PrivacyLossDistribution.of(p, q).self_compose(k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ROOM, "MOST_ATOMS", -1)  # also of no atoms at all
        coarse = PrivacyLossDistribution.of(p, q).self_compose(k)
    assert isinstance(coarse, LatticeLoss)
    for level in LEVELS:
        truth, found = exact.delta(level), coarse.delta(level)
        assert found.lower <= truth.upper
        assert found.upper >= truth.lower
        assert found.upper - truth.lower <= Fraction(1, 1000)


def test_a_share_too_small_is_caught():
    """The split keeps the mass that Q has; less at the upper end would understate the loss."""
    width = Fraction(1, 2)
    (low, low_mass), (high, high_mass) = split(Fraction(3, 5), 10**9, width)
    kept = low_mass * exp(-low * width) + high_mass * exp(-high * width)
    assert low_mass + high_mass == 10**9
    assert kept.lower <= 10**9 * exp(Fraction(-3, 5)).upper
    assert kept.upper >= (10**9 - 2) * exp(Fraction(-3, 5)).lower
    assert (low, high) == (1, 2)


@given(
    st.lists(st.integers(0, 10**50), min_size=1, max_size=9),
    st.lists(st.integers(0, 10**50), min_size=1, max_size=9),
)
def test_convolution_is_exact(a, b):
    direct = [0] * (len(a) + len(b) - 1)
    for (i, x), (j, y) in itertools.product(enumerate(a), enumerate(b)):
        direct[i + j] += x * y
    assert convolve(tuple(a), tuple(b)) == direct


@given(pairs(), st.fractions(0, 1))
def test_epsilon_and_delta_invert_each_other(pair, delta):
    loss = PrivacyLossDistribution.of(*pair)
    epsilon = loss.epsilon(delta)
    if epsilon == math.inf:
        assert loss.impossible.lower > delta
        return
    assert loss.delta(epsilon.upper).lower <= delta
    if epsilon.lower > Fraction(1, 1000):
        assert loss.delta(epsilon.lower - Fraction(1, 1000)).upper >= delta


@given(st.lists(st.tuples(st.fractions(0, 1), st.fractions(0, 1)), max_size=5))
def test_the_curve_is_the_sum_of_positive_parts(masses):
    curve = Curve.of(masses)
    for level in LEVELS:
        factor = exp(level, 96)
        direct = sum((max(p - factor.upper * q, Fraction(0)) for p, q in masses), Fraction(0))
        assert curve.delta(level).lower == direct


@pytest.mark.full
@pytest.mark.parametrize(
    ("loss", "reference"),
    [
        (dominating_pair(Fraction(1, 100)), 4.885515601),
        pytest.param(LaplaceShift(100, 1), 4.885515601, marks=pytest.mark.slow),
        pytest.param(GaussianShift(100, 1), 4.886554117, marks=pytest.mark.slow),
    ],
)
def test_ten_thousand_fold_composition_against_published_values(loss, reference):
    """Generic pure DP (Kairouz, Oh, Viswanath) and the Gaussian, epsilon at 10^-6."""
    found = loss.self_compose(10_000).epsilon("1e-6")
    assert found.lower <= reference + 1e-8
    assert reference - 1e-6 <= found.upper <= reference + 2e-4


@pytest.mark.full
def test_repeats_are_counted():
    one = dominating_pair(Fraction(11, 10))
    found = [float(one.self_compose(k).epsilon("1/2")) for k in (1, 10, 100)]
    assert found[0] < found[1] < found[2]


@pytest.mark.full
def test_gaussian_at_tiny_deltas_is_never_below_the_truth():
    """Sixteen releases of one sigma are, but for the grid, one with a quarter of it."""
    many = GaussianShift(100, 5).self_compose(16)
    one = GaussianShift(25_000, 5_000)
    for delta in ("1e-6", "1e-10", "1e-20"):
        truth = one.epsilon(delta)
        found = many.epsilon(delta)
        assert found.lower <= truth.upper + Fraction(1, 10**4)
        assert found.upper >= truth.lower - Fraction(1, 10**4)
        assert found.width < Fraction(1, 10)


@pytest.mark.parametrize("loss", [LaplaceShift("7/2", 3), GaussianShift("5/2", 2)])
def test_shifted_laws_agree_with_their_definition(loss):
    reach = 60
    p = {x: loss.law.probability(x, 128) for x in range(-reach, reach + 1)}
    q = {x: loss.law.probability(x + loss.shift, 128) for x in range(-reach, reach + 1)}
    for level in LEVELS:
        factor = exp(level, 128)
        direct = sum(max(p[x].middle - factor.middle * q[x].middle, Fraction(0)) for x in p)
        assert loss.delta(level).lower <= direct + Fraction(1, 10**6)
        assert abs(loss.delta(level).middle - direct) < Fraction(1, 10**6)
        assert abs(loss.explicit().delta(level).middle - direct) < Fraction(1, 10**6)


@pytest.mark.parametrize("kind", [LaplaceShift, GaussianShift])
def test_farther_shifts_lose_more(kind):
    for level in LEVELS:
        found = [kind(4, s).delta(level).lower for s in range(6)]
        assert found == sorted(found)


@pytest.mark.full
def test_a_fine_grid_is_enclosed_cell_by_cell():
    fine, coarse = GaussianShift(10**6, 10**5), GaussianShift(10, 1)
    found = fine.explicit()
    assert isinstance(found, LatticeLoss)
    for level in LEVELS[:3]:
        truth = fine.delta(level)
        assert found.delta(level).lower <= truth.upper
        assert found.delta(level).upper >= truth.lower
        assert abs(truth.middle - coarse.delta(level).middle) < Fraction(1, 1000)


@given(pairs(), st.fractions(0, 1))
def test_the_tradeoff_is_the_best_test(pair, alpha):
    """Against the linear program's vertices: thresholds on the ratio, mixed two at a time."""
    p, q = pair
    curve = Tradeoff.of(p, q)
    outcomes = sorted({*p, *q}, key=lambda x: -(q.get(x, 0) / p[x]) if p.get(x) else -math.inf)
    left, beta = alpha, Fraction(1)
    for x in outcomes:
        a, b = p.get(x, Fraction(0)), q.get(x, Fraction(0))
        share = Fraction(1) if a <= left else left / a
        left, beta = left - share * a, beta - share * b
    assert curve(alpha).lower == curve(alpha).upper == beta


def test_bad_input_is_refused():
    loss = dominating_pair(Fraction(1))
    for call in (
        lambda: loss.epsilon(2),
        lambda: loss.epsilon(-1),
        lambda: loss.self_compose(0),
        lambda: loss.delta("nan"),
        lambda: LaplaceShift(0, 1),
        lambda: GaussianShift(1, -1),
        lambda: PrivacyLossDistribution.of({0: "1/2"}, {0: 1}),
        lambda: Tradeoff.of({0: 1}, {0: 1})(2),
    ):
        with pytest.raises(UsageError):
            call()
