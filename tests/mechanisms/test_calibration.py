"""Calibration: what is returned keeps the promise, and a little less noise does not."""

import math
import time
from fractions import Fraction
from functools import partial

import pytest

import tacit as tc
from tacit.core import (
    AbsoluteDistance,
    Category,
    DiscreteDistance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Unfinished,
    Vector,
)
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms import measurement
from tacit.mechanisms.calibration import half_width
from tacit.transformations import Count, Sum

COLUMN = Space(Vector(float), SymmetricDistance())
TOTAL = COLUMN >> tc.clamp(0, 12) >> Sum()
PEOPLE = COLUMN >> Count()
SCORES = Space(Vector(int, size=3), LInfinityDistance())
LABEL = Space(Category(("a", "b", "c")), DiscreteDistance())
AGES = Space(Vector(int, bounds=(0, 100)), SymmetricDistance())


def scale_of(m):
    return Fraction(m.describe()["steps"][-1]["scale"])


@pytest.mark.parametrize("d_in", [1, 3])
@pytest.mark.parametrize("epsilon", [1, "1/3", 0.1, "12/25"])
def test_laplace_is_exact(epsilon, d_in):
    m = tc.calibrate(TOTAL >> tc.laplace, d_in=d_in, d_out=epsilon)
    assert m.map(d_in) == Fraction(epsilon)
    assert scale_of(m) == 12 * d_in / Fraction(epsilon)


@pytest.mark.parametrize("rho", ["1/2", "1/3", 0.01])
def test_gaussian_for_rho_is_a_root_rounded_up(rho):
    m = tc.calibrate(TOTAL >> tc.gaussian, 1, rho)
    assert m.check(1, rho)
    assert float(m.map(1)) == pytest.approx(float(Fraction(rho)), rel=1e-15)


@pytest.mark.few(9)
@pytest.mark.parametrize("chain", [TOTAL, PEOPLE], ids=["sum", "count"])
@pytest.mark.parametrize(
    "promise", [(1, "1e-6"), ("1/10", "1e-9"), (3, "1/1000"), ("1/2", "1e-12")]
)
def test_gaussian_for_epsilon_and_delta_is_the_least_of_the_exact_profile(chain, promise):
    m = tc.calibrate(chain >> tc.gaussian, 1, promise)
    assert m.check(1, promise)
    found = m.epsilon(promise[1], 1)
    assert float(found.lower) == pytest.approx(float(Fraction(promise[0])), rel=1e-6)
    less = chain >> tc.gaussian(scale_of(m) * Fraction(99_999, 100_000))
    assert less.epsilon(promise[1], 1).lower > Fraction(promise[0])
    assert m.map(0) == (0, 0)
    assert m.map(2) > m.map(1)


def test_a_vector_is_calibrated_through_concentrated_privacy():
    space = Space(Vector(Number("int"), size=3), L2Distance())
    m = tc.calibrate(space >> tc.gaussian, 2, (1, "1e-6"))
    assert m.check(2, (1, "1e-6"))
    classical = 2 * math.sqrt(2 * math.log(1.25e6))
    assert float(scale_of(m)) < classical


@pytest.mark.parametrize(
    "chain",
    [
        SCORES >> tc.exponential,
        SCORES >> partial(tc.exponential, monotone=True),
        SCORES >> tc.permute_and_flip,
        SCORES >> partial(tc.noisy_max, noise="gumbel"),
        PEOPLE >> tc.geometric,
        PEOPLE >> partial(tc.truncated_geometric, 0, 50),
        PEOPLE >> tc.staircase,
        LABEL >> partial(tc.randomized_response, ("a", "b", "c")),
        AGES >> partial(tc.private_quantile, "1/2"),
        Space(Number("float"), AbsoluteDistance()) >> partial(tc.laplace, grid="1/64"),
    ],
    ids=lambda chain: chain.name,
)
def test_every_scaled_mechanism_is_calibrated_to_the_loss(chain):
    assert isinstance(chain, Unfinished)
    m = tc.calibrate(chain, d_in=1, d_out="1/2")
    assert m.map(1) == Fraction(1, 2)
    pair = tc.calibrate(chain, d_in=1, d_out=("1/2", 0))
    assert pair.map(1) == (Fraction(1, 2), 0)


def test_functions_of_a_scale_are_calibrated_too():
    def both(scale):
        return tc.compose([TOTAL >> tc.laplace(scale), PEOPLE >> tc.laplace(scale)])

    assert tc.calibrate(both, 1, 1).map(1) == 1
    mixed = tc.calibrate(
        lambda scale: tc.compose([TOTAL >> tc.laplace(12 * scale), PEOPLE >> tc.laplace(1)]), 1, 2
    )
    assert mixed.map(1) == pytest.approx(2)
    assert mixed.map(1) <= 2


def test_post_processing_stays():
    m = tc.calibrate((PEOPLE >> tc.laplace) >> abs, 1, 1)
    assert m([1.0] * 100) >= 0
    assert m.map(1) == 1


def test_unfinished_chains_say_what_to_do():
    chain = TOTAL >> tc.laplace
    for ask in (lambda: chain([1.0]), lambda: chain.map(1), lambda: chain.check(1, 1)):
        with pytest.raises(UsageError, match="calibrate"):
            ask()
    assert "calibrate" in repr(chain)
    with pytest.raises(TypeError):
        chain >> 3


@pytest.mark.parametrize(
    ("chain", "d_in", "d_out"),
    [
        (TOTAL >> tc.laplace, 1, 0),
        (TOTAL >> tc.laplace, 1, -1),
        (TOTAL >> tc.laplace, 1, math.nan),
        (TOTAL >> tc.laplace, 1, None),
        (TOTAL >> tc.laplace, -1, 1),
        (TOTAL >> tc.laplace, 0, 1),
        (TOTAL >> tc.gaussian, 1, (1, 0)),
        (TOTAL >> tc.gaussian, 1, (0, "1e-6")),
        (TOTAL >> tc.gaussian, 0, (1, "1e-6")),
        (TOTAL >> tc.laplace(1), 1, 1),
        (TOTAL, 1, 1),
        (3, 1, 1),
        (Space(Vector(float, size=3), SymmetricDistance()) >> Count() >> tc.laplace, 1, 1),
    ],
)
def test_what_cannot_be_calibrated_is_refused(chain, d_in, d_out):
    with pytest.raises(UsageError):
        tc.calibrate(chain, d_in, d_out)


def test_a_class_without_noise_is_refused():
    with pytest.raises(UsageError, match="no noise to find"):
        TOTAL >> tc.clamp


def test_no_scale_keeps_an_impossible_promise():
    def constant(scale):
        return measurement(COLUMN, len, lambda d: 5 * d, name="constant")

    with pytest.raises(InfeasibleError):
        tc.calibrate(constant, 1, 1)


@pytest.mark.parametrize("promise", [1, (1, "1e-6")])
def test_calibration_is_quick(promise):
    step = tc.gaussian if isinstance(promise, tuple) else tc.laplace
    took = []
    for _ in range(5):
        start = time.thread_time()
        tc.calibrate(TOTAL >> step, 1, promise)
        took.append(time.thread_time() - start)
    assert min(took) < 0.005


def test_half_width_holds_the_level():
    m = PEOPLE >> tc.laplace(10)
    width = half_width(m, [1.0], "0.9")
    law = m.distribution([1.0])
    assert law.interval(1 - width, 1 + width).lower >= Fraction("0.9")
    assert law.interval(2 - width, width).upper < Fraction("0.9")
    with pytest.raises(UsageError):
        half_width(m, [1.0], 1)
    with pytest.raises(UsageError):
        half_width(LABEL >> tc.randomized_response(("a", "b", "c"), p="1/2"), "a")


@pytest.mark.parametrize("step", [tc.laplace, tc.geometric, tc.noisy_max, tc.exponential])
def test_a_step_on_its_own_is_calibrated_for_the_distance_given(step):
    m = tc.calibrate(step, d_in=12, d_out="1/3")
    assert m.map(12) == Fraction(1, 3)
    assert isinstance(m, tc.Measurement)


def test_gaussian_and_staircase_noise_on_their_own_are_calibrated():
    rho = tc.calibrate(tc.gaussian, d_in=12, d_out="1/2")
    assert rho.map(12) == Fraction(1, 2)
    pair = tc.calibrate(tc.gaussian, d_in=12, d_out=(1, "1e-6"))
    assert pair.check(12, (1, "1e-6"))
    assert tc.calibrate(tc.staircase, d_in=1, d_out="1/2").map(1) == Fraction(1, 2)


def test_what_cannot_be_calibrated_on_its_own_is_refused():
    with pytest.raises(tc.errors.UsageError):
        tc.calibrate(tc.clamp, d_in=1, d_out=1)
    with pytest.raises(tc.errors.UsageError):
        tc.calibrate(tc.laplace(scale=1), d_in=1, d_out=1)
