"""The least noise of compositions: what is found keeps the pair, and a little less does not."""

from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import (
    ChangeOneDistance,
    LInfinityDistance,
    Space,
    SymmetricDistance,
    Vector,
    ZeroConcentratedDP,
)
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms import measurement
from tacit.transformations import Count

pytestmark = pytest.mark.full

COLUMN = Space(Vector(int), SymmetricDistance())
PEOPLE = COLUMN >> Count()
SCORES = Space(Vector(int, size=3), LInfinityDistance())
PAIR = (Fraction(1), Fraction(1, 10**6))


def laplace(scale):
    return tc.compose([PEOPLE >> tc.laplace(scale)] * 100)


def gaussian(scale):
    return tc.compose([PEOPLE >> tc.gaussian(scale)] * 40)


def mixed(scale):
    return tc.compose(
        [PEOPLE >> tc.gaussian(scale)] * 3 + [PEOPLE >> tc.laplace(2 * scale)] * 2 + [laplace(60)]
    )


def sampled(scale):
    step = tc.poisson_sample(PEOPLE >> tc.gaussian(scale), "1/100", delta="1e-9")
    return tc.compose([step] * 100)


def selected(scale):
    return tc.compose([SCORES >> tc.exponential(scale=scale)] * 200)


def by_bisection(build, low, high):
    for _ in range(30):
        middle = (low + high) / 2
        if build(middle).delta(PAIR[0]).upper <= PAIR[1]:
            high = middle
        else:
            low = middle
    return high


def without_replacement(scale):
    ten = Space(Vector(int, bounds=(0, 1), size=10), ChangeOneDistance())
    release = ten >> tc.sum() >> tc.laplace(scale)
    return tc.compose([tc.sample_without_replacement(release, 200)] * 300)


def mixtures(scale):
    """A composition of releases from samples at two rates, beside one of all records."""
    noisy = PEOPLE >> tc.laplace(scale)
    steps = [tc.poisson_sample(noisy, rate) for rate in ("1/10", "1/50")]
    return tc.compose([steps[0]] * 40 + [steps[1]] * 90 + [PEOPLE >> tc.gaussian(40 * scale)])


def calibrated(build):
    scales = []

    def seen(scale):
        scales.append(scale)
        return build(scale)

    found = tc.calibrate(seen, d_in=1, d_out=PAIR)
    assert len(scales) < 60
    return found, scales[-1]


@pytest.mark.parametrize(
    "build",
    [
        laplace,
        gaussian,
        mixed,
        sampled,
        selected,
        without_replacement,
        mixtures,
    ],
)
def test_the_pair_is_kept_and_with_a_little_less_noise_it_is_not(build):
    found, scale = calibrated(build)
    assert found.map(1) == PAIR
    assert found.delta(1).upper <= PAIR[1]
    assert build(scale * (1 - Fraction(1, 10**6))).delta(1).upper > PAIR[1]
    assert PAIR[1] - found.delta(1).upper < PAIR[1] / 10**5


@pytest.mark.parametrize("build", [laplace, gaussian])
def test_the_scale_is_that_of_bisection_by_hand(build):
    _, scale = calibrated(build)
    by_hand = by_bisection(build, scale * Fraction(9, 10), scale * Fraction(11, 10))
    assert abs(scale / by_hand - 1) < Fraction(1, 10**8)


def test_losses_ask_for_far_less_noise_than_adding_epsilons_up():
    by_losses = tc.calibrate(laplace, 1, PAIR)
    added_up = tc.calibrate(laplace, 1, 1)
    assert added_up.map(1) == 1
    assert float(added_up.epsilon(PAIR[1]).upper) < 0.6
    assert float(by_losses.epsilon(PAIR[1]).lower) > 0.999


def test_other_distances_have_their_own_epsilon():
    found = tc.calibrate(gaussian, 2, PAIR)
    assert found.map(2) == PAIR
    assert found.map(0) == (0, 0)
    assert found.map(1)[0] < 1 < found.map(3)[0]
    assert found.map(1)[1] == PAIR[1]


def test_a_release_of_which_only_rho_is_known_is_calibrated_through_it():
    def build(scale):
        return measurement(
            COLUMN, len, lambda d: d * d / (2 * scale * scale), measure=ZeroConcentratedDP()
        )

    found = tc.calibrate(build, 1, PAIR)
    assert found.map(1) == PAIR
    assert float(found.epsilon(PAIR[1]).upper) == pytest.approx(1, rel=1e-6)


def test_what_no_scale_changes_is_refused():
    with pytest.raises(InfeasibleError):
        tc.calibrate(lambda scale: tc.compose([PEOPLE >> tc.laplace(1)] * 9), 1, PAIR)
    with pytest.raises(UsageError, match="no noise"):
        tc.calibrate(lambda scale: tc.compose([PEOPLE >> tc.laplace(99)] * 9), 1, PAIR)
    with pytest.raises(UsageError, match="delta of 1"):
        tc.calibrate(laplace, 1, (1, 1))
