"""Randomized response: the published loss of two coins, and a report from everyone."""

import math
import sys
import time
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from support.by_hand.small_domains import ways
from tacit import framework as fw
from tacit import noise
from tacit.arithmetic import enclosure
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    DiscreteDistance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Unfinished,
    Vector,
    ZeroConcentratedDP,
)
from tacit.errors import InfeasibleError, UsageError
from tacit.mechanisms import (
    RandomizedResponse,
    TruncatedGeometric,
    user_measurement,
)
from tacit.mechanisms import sample_and_aggregate as room
from tacit.mechanisms.aggregators import BinFunction, WinsorizedMeanOfBins, coordinates
from tacit.mechanisms.calibration import half_width
from tacit.mechanisms.grid_noise import LatticeDistribution
from tacit.mechanisms.output_distribution import Mixture
from tacit.mechanisms.sample_and_aggregate import AGGREGATES, sample_and_aggregate
from tacit.noise import Enclosure
from tacit.transformations import Count, Sum

YES_NO = Space(Category(("yes", "no")), DiscreteDistance())


def test_randomized_response_of_two_coins_is_ln_3():
    m = YES_NO >> fw.randomized_response(("yes", "no"), p="3/4")
    assert float(m.map(1)) == pytest.approx(math.log(3), rel=1e-15)
    assert float(m.map(1)) >= math.log(3)
    assert m.map(0) == 0
    assert verify(m).tight


def test_everyone_reports_whatever_they_hold():
    m = YES_NO >> RandomizedResponse(("yes", "no"), epsilon=1)
    for odd in (None, "maybe", ["list"], float("nan"), 3):
        assert m(odd) in ("yes", "no")


# Calibration: what is returned keeps the promise, and a little less noise does not.


COLUMN = Space(Vector(float), SymmetricDistance())
TOTAL = COLUMN >> fw.clamp(0, 12) >> Sum()
PEOPLE = COLUMN >> Count()
SCORES = Space(Vector(int, size=3), LInfinityDistance())
LABEL = Space(Category(("a", "b", "c")), DiscreteDistance())
AGES = Space(Vector(int, bounds=(0, 100)), SymmetricDistance())


def scale_of(m):
    return Fraction(m.describe()["steps"][-1]["scale"])


@pytest.mark.parametrize("d_in", [1, 3])
@pytest.mark.parametrize("epsilon", [1, "1/3", 0.1, "12/25"])
def test_laplace_is_exact(epsilon, d_in):
    m = fw.calibrate(TOTAL >> fw.laplace, d_in=d_in, d_out=epsilon)
    assert m.map(d_in) == Fraction(epsilon)
    assert scale_of(m) == 12 * d_in / Fraction(epsilon)


@pytest.mark.parametrize("rho", ["1/2", "1/3", 0.01])
def test_gaussian_for_rho_is_a_root_rounded_up(rho):
    m = fw.calibrate(TOTAL >> fw.gaussian, 1, rho)
    assert m.check(1, rho)
    assert float(m.map(1)) == pytest.approx(float(Fraction(rho)), rel=1e-15)


@pytest.mark.few(9)
@pytest.mark.parametrize("chain", [TOTAL, PEOPLE], ids=["sum", "count"])
@pytest.mark.parametrize(
    "promise", [(1, "1e-6"), ("1/10", "1e-9"), (3, "1/1000"), ("1/2", "1e-12")]
)
def test_gaussian_for_epsilon_and_delta_is_the_least_of_the_exact_profile(chain, promise):
    m = fw.calibrate(chain >> fw.gaussian, 1, promise)
    assert m.check(1, promise)
    found = m.epsilon(promise[1], 1)
    assert float(found.lower) == pytest.approx(float(Fraction(promise[0])), rel=1e-6)
    less = chain >> fw.gaussian(scale_of(m) * Fraction(99_999, 100_000))
    assert less.epsilon(promise[1], 1).lower > Fraction(promise[0])
    assert m.map(0) == (0, 0)
    assert m.map(2) > m.map(1)


def test_a_vector_is_calibrated_through_concentrated_privacy():
    space = Space(Vector(Number("int"), size=3), L2Distance())
    m = fw.calibrate(space >> fw.gaussian, 2, (1, "1e-6"))
    assert m.check(2, (1, "1e-6"))
    classical = 2 * math.sqrt(2 * math.log(1.25e6))
    assert float(scale_of(m)) < classical


@pytest.mark.parametrize(
    "chain",
    [
        SCORES >> fw.exponential,
        SCORES >> partial(fw.exponential, monotone=True),
        SCORES >> fw.permute_and_flip,
        SCORES >> partial(fw.noisy_max, noise="gumbel"),
        PEOPLE >> fw.geometric,
        PEOPLE >> partial(fw.truncated_geometric, 0, 50),
        PEOPLE >> fw.staircase,
        LABEL >> partial(fw.randomized_response, ("a", "b", "c")),
        AGES >> partial(fw.private_quantile, "1/2"),
        Space(Number("float"), AbsoluteDistance()) >> partial(fw.laplace, grid="1/64"),
    ],
    ids=lambda chain: chain.name,
)
def test_every_scaled_mechanism_is_calibrated_to_the_loss(chain):
    assert isinstance(chain, Unfinished)
    m = fw.calibrate(chain, d_in=1, d_out="1/2")
    assert m.map(1) == Fraction(1, 2)
    pair = fw.calibrate(chain, d_in=1, d_out=("1/2", 0))
    assert pair.map(1) == (Fraction(1, 2), 0)


def test_functions_of_a_scale_are_calibrated_too():
    def both(scale):
        return fw.compose([TOTAL >> fw.laplace(scale), PEOPLE >> fw.laplace(scale)])

    assert fw.calibrate(both, 1, 1).map(1) == 1
    mixed = fw.calibrate(
        lambda scale: fw.compose([TOTAL >> fw.laplace(12 * scale), PEOPLE >> fw.laplace(1)]), 1, 2
    )
    assert mixed.map(1) == pytest.approx(2)
    assert mixed.map(1) <= 2


def test_post_processing_stays():
    m = fw.calibrate((PEOPLE >> fw.laplace) >> abs, 1, 1)
    assert m([1.0] * 100) >= 0
    assert m.map(1) == 1


def test_unfinished_chains_say_what_to_do():
    chain = TOTAL >> fw.laplace
    for ask in (lambda: chain([1.0]), lambda: chain.map(1), lambda: chain.check(1, 1)):
        with pytest.raises(UsageError, match="calibrate"):
            ask()
    assert "calibrate" in repr(chain)
    with pytest.raises(TypeError):
        chain >> 3


@pytest.mark.parametrize(
    ("chain", "d_in", "d_out"),
    [
        (TOTAL >> fw.laplace, 1, 0),
        (TOTAL >> fw.laplace, 1, -1),
        (TOTAL >> fw.laplace, 1, math.nan),
        (TOTAL >> fw.laplace, 1, None),
        (TOTAL >> fw.laplace, -1, 1),
        (TOTAL >> fw.laplace, 0, 1),
        (TOTAL >> fw.gaussian, 1, (1, 0)),
        (TOTAL >> fw.gaussian, 1, (0, "1e-6")),
        (TOTAL >> fw.gaussian, 0, (1, "1e-6")),
        (TOTAL >> fw.laplace(1), 1, 1),
        (TOTAL, 1, 1),
        (3, 1, 1),
        (Space(Vector(float, size=3), SymmetricDistance()) >> Count() >> fw.laplace, 1, 1),
    ],
)
def test_what_cannot_be_calibrated_is_refused(chain, d_in, d_out):
    with pytest.raises(UsageError):
        fw.calibrate(chain, d_in, d_out)


def test_a_class_without_noise_is_refused():
    with pytest.raises(UsageError, match="no noise to find"):
        TOTAL >> fw.clamp


def test_no_scale_keeps_an_impossible_promise():
    def constant(scale):
        return user_measurement(COLUMN, len, lambda d: 5 * d, name="constant")

    with pytest.raises(InfeasibleError):
        fw.calibrate(constant, 1, 1)


@pytest.mark.parametrize("promise", [1, (1, "1e-6")])
def test_calibration_is_quick(promise):
    step = fw.gaussian if isinstance(promise, tuple) else fw.laplace
    took = []
    for _ in range(5):
        start = time.thread_time()
        fw.calibrate(TOTAL >> step, 1, promise)
        took.append(time.thread_time() - start)
    assert min(took) < 0.005


def test_half_width_holds_the_level():
    m = PEOPLE >> fw.laplace(10)
    width = half_width(m, [1.0], "0.9")
    law = m.distribution([1.0])
    assert law.interval(1 - width, 1 + width).lower >= Fraction("0.9")
    assert law.interval(2 - width, width).upper < Fraction("0.9")
    with pytest.raises(UsageError):
        half_width(m, [1.0], 1)
    with pytest.raises(UsageError):
        half_width(LABEL >> fw.randomized_response(("a", "b", "c"), p="1/2"), "a")


@pytest.mark.parametrize("step", [fw.laplace, fw.geometric, fw.noisy_max, fw.exponential])
def test_a_step_on_its_own_is_calibrated_for_the_distance_given(step):
    m = fw.calibrate(step, d_in=12, d_out="1/3")
    assert m.map(12) == Fraction(1, 3)
    assert isinstance(m, fw.Measurement)


def test_gaussian_and_staircase_noise_on_their_own_are_calibrated():
    rho = fw.calibrate(fw.gaussian, d_in=12, d_out="1/2")
    assert rho.map(12) == Fraction(1, 2)
    pair = fw.calibrate(fw.gaussian, d_in=12, d_out=(1, "1e-6"))
    assert pair.check(12, (1, "1e-6"))
    assert fw.calibrate(fw.staircase, d_in=1, d_out="1/2").map(1) == Fraction(1, 2)


def test_what_cannot_be_calibrated_on_its_own_is_refused():
    with pytest.raises(tc.errors.UsageError):
        fw.calibrate(fw.clamp, d_in=1, d_out=1)
    with pytest.raises(tc.errors.UsageError):
        fw.calibrate(fw.laplace(scale=1), d_in=1, d_out=1)


# The least noise of compositions: what is found keeps the pair, and a little less does not.


LEAST_NOISE_COLUMN = Space(Vector(int), SymmetricDistance())
LEAST_NOISE_PEOPLE = LEAST_NOISE_COLUMN >> Count()
LEAST_NOISE_SCORES = Space(Vector(int, size=3), LInfinityDistance())
PAIR = (Fraction(1), Fraction(1, 10**6))


def laplace(scale):
    return fw.compose([LEAST_NOISE_PEOPLE >> fw.laplace(scale)] * 100)


def gaussian(scale):
    return fw.compose([LEAST_NOISE_PEOPLE >> fw.gaussian(scale)] * 40)


def mixed(scale):
    return fw.compose(
        [LEAST_NOISE_PEOPLE >> fw.gaussian(scale)] * 3
        + [LEAST_NOISE_PEOPLE >> fw.laplace(2 * scale)] * 2
        + [laplace(60)]
    )


def sampled(scale):
    step = fw.poisson_sample(LEAST_NOISE_PEOPLE >> fw.gaussian(scale), "1/100", delta="1e-9")
    return fw.compose([step] * 100)


def selected(scale):
    return fw.compose([LEAST_NOISE_SCORES >> fw.exponential(scale=scale)] * 200)


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
    release = ten >> tc.sum() >> fw.laplace(scale)
    return fw.compose([fw.sample_without_replacement(release, 200)] * 300)


def mixtures(scale):
    """A composition of releases from samples at two rates, beside one of all records."""
    noisy = LEAST_NOISE_PEOPLE >> fw.laplace(scale)
    steps = [fw.poisson_sample(noisy, rate) for rate in ("1/10", "1/50")]
    return fw.compose(
        [steps[0]] * 40 + [steps[1]] * 90 + [LEAST_NOISE_PEOPLE >> fw.gaussian(40 * scale)]
    )


def calibrated(build):
    scales = []

    def seen(scale):
        scales.append(scale)
        return build(scale)

    found = fw.calibrate(seen, d_in=1, d_out=PAIR)
    assert len(scales) < 60
    return found, scales[-1]


@pytest.mark.full
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


@pytest.mark.full
@pytest.mark.parametrize("build", [laplace, gaussian])
def test_the_scale_is_that_of_bisection_by_hand(build):
    _, scale = calibrated(build)
    by_hand = by_bisection(build, scale * Fraction(9, 10), scale * Fraction(11, 10))
    assert abs(scale / by_hand - 1) < Fraction(1, 10**8)


@pytest.mark.full
def test_losses_ask_for_far_less_noise_than_adding_epsilons_up():
    by_losses = fw.calibrate(laplace, 1, PAIR)
    added_up = fw.calibrate(laplace, 1, 1)
    assert added_up.map(1) == 1
    assert float(added_up.epsilon(PAIR[1]).upper) < 0.6
    assert float(by_losses.epsilon(PAIR[1]).lower) > 0.999


@pytest.mark.full
def test_other_distances_have_their_own_epsilon():
    found = fw.calibrate(gaussian, 2, PAIR)
    assert found.map(2) == PAIR
    assert found.map(0) == (0, 0)
    assert found.map(1)[0] < 1 < found.map(3)[0]
    assert found.map(1)[1] == PAIR[1]


@pytest.mark.full
def test_a_release_of_which_only_rho_is_known_is_calibrated_through_it():
    def build(scale):
        return user_measurement(
            LEAST_NOISE_COLUMN,
            len,
            lambda d: d * d / (2 * scale * scale),
            measure=ZeroConcentratedDP(),
        )

    found = fw.calibrate(build, 1, PAIR)
    assert found.map(1) == PAIR
    assert float(found.epsilon(PAIR[1]).upper) == pytest.approx(1, rel=1e-6)


@pytest.mark.full
def test_what_no_scale_changes_is_refused():
    with pytest.raises(InfeasibleError):
        fw.calibrate(lambda scale: fw.compose([LEAST_NOISE_PEOPLE >> fw.laplace(1)] * 9), 1, PAIR)
    with pytest.raises(UsageError, match="no noise"):
        fw.calibrate(lambda scale: fw.compose([LEAST_NOISE_PEOPLE >> fw.laplace(99)] * 9), 1, PAIR)
    with pytest.raises(UsageError, match="delta of 1"):
        fw.calibrate(laplace, 1, (1, 1))


# The truncated geometric mechanism: published probabilities, and the loss ln(9/8).


NUMBER = Space(Number("int", 0, 5, grid=Fraction(1)), AbsoluteDistance())


def test_truncated_geometric_of_balcer_and_vadhan_is_ln_9_8():
    """At epsilon 0.1 the ratio is 2^3 / (2^3 + 1), so the loss is exactly ln(9/8), not 0.1."""
    ratio, top = Fraction(8, 9), 5

    def law(count):
        table = {}
        for z in range(top + 1):
            weight = ratio ** abs(z - int(count)) / (1 + ratio)
            table[z] = weight if z in (0, top) else weight * (1 - ratio)
        return table

    claim = enclosure.log(Fraction(9, 8), 80).upper
    m = user_measurement(NUMBER, int, lambda d: claim * d, distribution=law)
    assert verify(m, d_in=5, draws=0).tight
    assert verify(user_measurement(NUMBER, int, lambda d: d / 10, distribution=law)).broken


def test_truncated_geometric_probabilities():
    q = math.exp(-1 / 2)
    law = (NUMBER >> TruncatedGeometric(0, 5, scale=2)).distribution(1)
    assert float(law.probability(0)) == pytest.approx(q / (1 + q))
    assert float(law.probability(1)) == pytest.approx((1 - q) / (1 + q))
    assert float(law.probability(5)) == pytest.approx(q**4 / (1 + q))
    assert law.probability(6).upper == 0
    assert float(law.cdf(1)) == pytest.approx(q / (1 + q) + (1 - q) / (1 + q))
    assert law.support("0.9999") == (0.0, 5.0)


# How the answers of the bins become one: means, winsorized means, their errors.


HIGH, SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


def test_dividing_by_the_bins_that_were_used_breaks():
    """Were empty bins left out of the mean, one record would change the divisor of all."""
    bins = 8
    noise_law = noise.DiscreteLaplace(Fraction(3 * 6, bins))  # (u - l) / (k epsilon), in sixths

    def law(data):
        parts = []
        for contents in ways(len(data), bins):
            answers = [max(data[r] for r in part) for part in contents if part]
            centre = 6 * sum(answers) // max(len(answers), 1)
            parts.append(LatticeDistribution(noise_law, centre, Fraction(1, 6)))
        return Mixture([(Enclosure.of(Fraction(1, len(parts))), part) for part in parts])

    space = Space(Vector(int, bounds=(0, 3)), SymmetricDistance())
    used = user_measurement(space, lambda data: 0, lambda d: d, distribution=law)
    assert verify(used, pairs=[([3], [3, 0])]).broken
    ours = sample_and_aggregate(max, bins, (0, 3), 1, grid=1, default=0)
    assert verify(ours, pairs=[([3], [3, 0])])


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_many_bins_come_near_the_truth(aggregate):
    data = np.random.default_rng(5).normal(30, 10, 20_000)
    m = sample_and_aggregate(np.median, 200, (0, 100), 2, aggregate=aggregate)
    assert m(data) == pytest.approx(30, abs=6)


@pytest.mark.full
def test_error_of_the_mean_is_the_predicted_one():
    """A function that is constant leaves the noise alone: Laplace of scale range / (k epsilon)."""
    m = sample_and_aggregate(lambda content: 4, 20, (0, 10), 1)
    found = np.array([m([0]) for _ in range(4000)])
    centre = 5 - 1 / 20  # one bin of twenty says 4, the empty ones the middle
    assert np.abs(found - centre).mean() == pytest.approx(10 / 20, rel=0.1)


def test_winsorizing_clips_to_what_the_quartiles_choose():
    (where,) = coordinates((0, 100), None, 1, 0)
    centre = WinsorizedMeanOfBins(8, where, Fraction(1))
    assert centre._interval(50, 52) == (43, 59)
    assert centre._interval(52, 50) == (43, 59)
    assert centre._interval(1, 2) == (0, 6)
    assert centre._interval(7, 7) == (7, 7)
    sure = WinsorizedMeanOfBins(8, where, Fraction(SURE))
    assert sure.release([7] * 8) == 7.0
    assert sure.release([10, 11, 12, 13, 14, 15, 16, 90]) == pytest.approx(
        sum([10, 11, 12, 13, 14, 15, 16, 29]) / 8, abs=1
    )


# A function on a bin answers within its bounds, whatever it does.


BOUNDED_OUTPUT_HIGH, BOUNDED_OUTPUT_SURE = 500, 10**9
"""Epsilons at which the noise is far below what is compared."""


def raises(content):
    raise RuntimeError(f"a secret: {content}")


def leaves(content):
    sys.exit(3)


def warns(content):
    warnings.warn(f"a secret: {content}", stacklevel=1)
    return 7.0


@pytest.mark.parametrize(
    "function",
    [
        raises,
        leaves,
        lambda content: math.nan,
        lambda content: None,
        lambda content: "no number",
        lambda content: [1.0, 2.0],
        lambda content: np.zeros((2, 2)),
        lambda content: {"a": 1},
        lambda content: 1j,
        lambda content: 1 / 0,
    ],
)
def test_a_function_that_fails_counts_as_the_default_and_nothing_is_seen(function, capsys, caplog):
    m = sample_and_aggregate(function, 4, (0, 8), BOUNDED_OUTPUT_SURE, default=2)
    assert m([5, 6, 7]) == pytest.approx(2, abs=1e-3)
    assert m([]) == pytest.approx(2, abs=1e-3)
    seen = capsys.readouterr()
    assert seen.out + seen.err + caplog.text == ""


def test_answers_are_clipped_and_warnings_are_not_shown(capsys):
    for value, shown in [(math.inf, 8), (-math.inf, 0), (1e300, 8), (np.float32(3), 3), ([5], 5)]:
        ask = BinFunction(lambda content, value=value: value, coordinates((0, 8), None, 1, 0))
        assert ask([1]) == (shown,)
    m = sample_and_aggregate(warns, 1, (0, 8), BOUNDED_OUTPUT_SURE)
    assert m([1]) == pytest.approx(7, abs=1e-3)
    assert capsys.readouterr().err == ""


def test_a_vector_of_the_wrong_length_counts_as_the_defaults():
    m = sample_and_aggregate(
        lambda rows: 3, 5, [(0, 4), (0, 6)], BOUNDED_OUTPUT_SURE, default=(1, 2)
    )
    assert m([1, 2, 3]) == pytest.approx([1, 2], abs=1e-3)


def test_answers_of_bins_stay_inside():
    m = sample_and_aggregate(np.mean, 2, (0, 10**6), 1, default=0)
    before = repr(m), repr(vars(m).keys())
    m([123456.5, 123456.5])
    assert (repr(m), repr(vars(m).keys())) == before
    assert "123456" not in repr(vars(m)) + m.explain() + str(m.describe())


@pytest.mark.parametrize("kept", [lambda t: t, lambda t: t["x"]], ids=["frame", "series"])
def test_no_label_of_a_pandas_row_reaches_a_bin(kept):
    table = pd.DataFrame({"x": range(40)}, index=range(1000, 1040))
    parts = [part for part in room.into_bins(kept(table), 4) if part is not None]
    assert sorted(x for part in parts for x in np.ravel(part)) == list(range(40))
    assert all(part.index.tolist() == list(range(len(part))) for part in parts)


class _Panic(BaseException):
    """What an extension raises that is no Exception."""


def test_what_is_no_exception_counts_as_the_default_too():
    def panics(content):
        raise _Panic(str(content))

    m = sample_and_aggregate(panics, 4, (0, 8), BOUNDED_OUTPUT_HIGH, default=2)
    assert abs(m([1, 2, 3]) - 2) < 0.5

    def stops(content):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample_and_aggregate(stops, 1, (0, 8), BOUNDED_OUTPUT_HIGH)([1])
