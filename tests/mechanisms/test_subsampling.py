"""Releases on a sample of fixed size, by all samples of few records."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from tacit import framework as fw
from tacit.audit import verify
from tacit.core import (
    ApproximateDP,
    ChangeOneDistance,
    Frame,
    HammingDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.core.losses.additive_noise import GaussianShift
from tacit.core.measures import concentrated_epsilon
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.additive import largest_rho, min_scale, min_sigma
from tacit.mechanisms.subsampling import loss_of_equal_records
from tacit.transformations import Count, Select, Sum

TINY = Fraction(1, 1000)
"""Noise of this scale is zero but with probability e^-1000."""


def bits(m, metric=None):
    return Space(Vector(int, bounds=(0, 1), size=m), metric or ChangeOneDistance())


@pytest.mark.few(4)
@pytest.mark.parametrize(("n", "m"), [(3, 1), (3, 2), (4, 3), (5, 3)])
def test_the_map_holds_on_all_neighbours_and_is_attained_by_one_record(n, m):
    release = fw.sample_without_replacement(bits(m) >> Sum() >> fw.laplace(1), n)
    data = [list(x) for x in itertools.combinations_with_replacement((0, 1), n)]
    assert verify(release, data).or_raise().tight
    for d in (2, 3):
        verify(release, data, d_in=d).or_raise()
    losses = [release.map(d) for d in range(n + 1)]
    assert losses == sorted(losses)
    assert losses[1] < release.map(n) == (bits(m) >> Sum() >> fw.laplace(1)).map(m)


def test_delta_shrinks_with_the_sample():
    leak = fw.user_measurement(
        bits(2),
        sum,
        lambda d: (d, min(Fraction(1), d * Fraction(1, 10))) if d else (0, 0),
        measure=ApproximateDP(),
        distribution=lambda x: {"none": "9/10", ("leak", sum(x)): "1/10"},
    )
    m = fw.sample_without_replacement(leak, 4)
    assert m.map(1)[1] == Fraction(1, 20)
    data = [[0] * (4 - k) + [1] * k for k in range(5)]
    verify(m, data, draws=0).or_raise()
    assert m.epsilon(Fraction(1, 20)).upper <= m.map(1)[0]


def test_every_sample_is_drawn_equally_often():
    space = Space(Vector(int, bounds=(0, 8), size=2), ChangeOneDistance())
    m = fw.sample_without_replacement(space >> Sum() >> fw.laplace(TINY), 4)
    drawn = Counter(m([1, 2, 4, 8]) for _ in range(600))
    assert sorted(drawn) == sorted(a + b for a, b in itertools.combinations((1, 2, 4, 8), 2))
    assert all(45 < times < 165 for times in drawn.values())  # 100, and six deviations


def test_tables_and_lists_are_sampled_by_rows():
    table = Space(Frame({"x": Number("int", 0, 9)}, size=3), ChangeOneDistance())
    m = fw.sample_without_replacement(table >> Select("x") >> Sum() >> fw.laplace(TINY), 5)
    assert m({"x": [2, 2, 2, 2, 2]}) == 6
    labels = Space(Vector(str, size=3), ChangeOneDistance())
    assert fw.sample_without_replacement(labels >> Count() >> fw.laplace(TINY), 5)(["a"] * 5) == 3


def test_as_large_a_sample_as_the_data_changes_nothing():
    release = bits(3) >> Sum() >> fw.laplace(2)
    m = fw.sample_without_replacement(release, 3)
    assert [m.map(d) for d in range(4)] == [release.map(d) for d in range(4)]
    assert m.losses(Fraction(0)).delta(0).upper == 0
    assert abs(m.delta(0).upper - release.delta(0).upper) < Fraction(1, 10**20)


@pytest.mark.full
def test_gaussian_noise_is_stated_at_a_delta_and_composed_by_its_losses():
    step = fw.sample_without_replacement(bits(10) >> Sum() >> fw.gaussian(1), 1000, delta="1e-9")
    alone = step.epsilon("1e-6").upper
    many = fw.compose([step] * 100).epsilon("1e-6")
    assert alone < many.lower < many.upper < 10 * alone
    epsilon, delta = step.map(1)
    assert delta == Fraction(1, 10**11)
    assert step.delta(epsilon).upper <= delta


def test_only_where_it_is_proven():
    with pytest.raises(UsageError, match="cannot be drawn"):
        fw.sample_without_replacement(bits(3) >> Sum() >> fw.laplace(1), 2)
    for size in (0, -1, "x", 2.5, float("nan")):
        with pytest.raises(UsageError):
            fw.sample_without_replacement(bits(3) >> Sum() >> fw.laplace(1), size)
    unsized = Space(Vector(int, bounds=(0, 1)), ChangeOneDistance())
    for release in (
        unsized >> Sum() >> fw.laplace(1),
        bits(3, HammingDistance()) >> Sum() >> fw.laplace(1),
        bits(3, SymmetricDistance()) >> Sum() >> fw.laplace(1),
        bits(3) >> Sum() >> fw.gaussian(1),
    ):
        with pytest.raises(MismatchError):
            fw.sample_without_replacement(release, 5)
    with pytest.raises(UsageError, match="too many"):
        fw.sample_without_replacement(bits(10) >> Sum() >> fw.laplace(1), 30).distribution([1] * 30)


# Lower ends of releases from samples: one pair of data sets, by all samples of few records.


LEVELS = (0.0, 0.1, 0.3)


def fixed(m, bounds=(0, 1)):
    return Space(Vector(int, bounds=bounds, size=m), ChangeOneDistance())


def free(bounds=(0, 1)):
    return Space(Vector(int, bounds=bounds), SymmetricDistance())


def masses(m, data):
    """Return the probabilities of noisy sums from far below to far above all of them."""
    law = m.distribution(data)
    return [float(law.probability(x)) for x in range(-20, 25)]


def excess(p, q, level, times):
    """Return the least delta of so many releases on one pair, by all their outcomes."""
    rows = [(1.0, 1.0)]
    for _ in range(times):
        rows = [(a * x, b * y) for a, b in rows for x, y in zip(p, q, strict=True)]
    return sum(max(a - math.exp(level) * b, 0.0) for a, b in rows)


def worst(pairs, level, times):
    return max(excess(p, q, level, times) for a, b in pairs for p, q in ((a, b), (b, a)))


@pytest.mark.parametrize("times", [1, 2])
def test_without_replacement_the_pair_is_one_of_all_neighbours(times):
    m = fw.sample_without_replacement(fixed(2) >> Sum() >> fw.laplace("1/2"), 3)
    laws = [masses(m, [1] * ones + [0] * (3 - ones)) for ones in range(4)]
    one = [(laws[0], laws[1])]
    every = list(itertools.pairwise(laws))
    found = m.losses(Fraction(1)).self_compose(times)
    for level in LEVELS:
        delta = found.delta(Fraction(level))
        assert float(delta.lower) == pytest.approx(worst(one, level, times), rel=1e-4)
        assert delta.lower <= worst(one, level, times) + 1e-9
        assert worst(every, level, times) <= delta.upper + 1e-9
        assert delta.lower > 0


@pytest.mark.parametrize("times", [1, 2])
def test_of_a_poisson_sample_the_pair_is_no_record_against_one(times):
    m = fw.poisson_sample(free((-1, 2)) >> Sum() >> fw.laplace(1), "1/3")
    one = [(masses(m, []), masses(m, [2]))]
    found = m.losses(Fraction(1)).self_compose(times)
    for level in LEVELS:
        delta = found.delta(Fraction(level))
        assert delta.lower <= worst(one, level, times) + 1e-9
        assert worst(one, level, times) <= delta.upper + 1e-9
        assert delta.upper - delta.lower < delta.upper / 10**4


@pytest.mark.full
def test_ten_thousand_releases_from_samples_are_enclosed_on_both_sides():
    step = fw.poisson_sample(free() >> Count() >> fw.gaussian(1), "1/100", delta="1e-9")
    found = fw.compose([step] * 10_000).epsilon("1e-6")
    assert found.width < found.upper / 10**6


@pytest.mark.parametrize(
    ("release", "common", "shift"),
    [
        (free((-5, 3)) >> Sum() >> fw.laplace(2), None, 5),
        (free((0, 9)) >> Count() >> fw.laplace(2), None, 1),
        (fixed(4, (-5, 3)) >> Sum() >> fw.laplace(2), 3, 8),
        (fixed(4, (-5, 3)) >> Count() >> fw.laplace(2), 3, None),
        (free() >> fw.filter(lambda _: False) >> Count() >> fw.laplace(1), None, None),
        (free() >> Count() >> fw.laplace(1) >> abs, None, None),
        (
            Space(Frame({"x": Number("int", 0, 9)}), SymmetricDistance())
            >> Select("x")
            >> Count()
            >> fw.laplace(1),
            None,
            None,
        ),
    ],
)
def test_the_pair_is_what_the_records_make_of_it(release, common, shift):
    """Also where it is nothing, as behind a filter: it is computed from the two data sets."""
    found = loss_of_equal_records(release, common)
    assert (found and found.losses.shift) == shift


def test_more_changed_records_and_what_follows_have_a_lower_end_of_zero():
    m = fw.sample_without_replacement(fixed(2) >> Sum() >> fw.laplace(1), 5)
    assert m.epsilon("1/1000", d_in=1).lower > 0
    assert m.epsilon("1/1000", d_in=2).lower == 0
    assert (m >> abs).epsilon("1/1000").lower == 0


# Releases on a random share of the records.


PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
COUNT = PEOPLE >> Count()


class TestSampling:
    def test_rate_one_changes_nothing(self):
        m = fw.poisson_sample(COUNT >> fw.laplace(TINY), 1)
        assert m([1, 2, 3]) == 3
        assert m.map(2) == 2000

    def test_about_the_share_is_sampled(self):
        m = fw.poisson_sample(COUNT >> fw.laplace(TINY), "1/4")
        assert 400 < m([1] * 2000) < 600
        table = Space(Frame({"x": Number("int", 0, 9), "y": Number("int")}), SymmetricDistance())
        framed = fw.poisson_sample(table >> Select("x") >> Count() >> fw.laplace(TINY), "1/2")
        assert 100 < framed({"x": [1] * 400, "y": [2] * 400}) < 300
        labels = Space(Vector(str), SymmetricDistance())
        assert fw.poisson_sample(labels >> Count() >> fw.laplace(TINY), "1/2")(["a"] * 400) < 300

    @pytest.mark.parametrize("rate", [0, -1, "3/2", float("nan")])
    def test_bad_rates(self, rate):
        with pytest.raises(UsageError):
            fw.poisson_sample(COUNT >> fw.laplace(1), rate)

    def test_only_where_it_is_proven(self):
        sized = Space(Vector(int, size=3), SymmetricDistance()) >> fw.clamp(0, 1)
        ordered = Space(Vector(int, bounds=(0, 1)), HammingDistance()) >> Count() >> fw.laplace(1)
        for m in (ordered, COUNT >> fw.gaussian(1), sized >> Count() >> fw.laplace(1)):
            with pytest.raises(MismatchError):
                fw.poisson_sample(m, "1/2")
        with pytest.raises(UsageError, match="too many"):
            fw.poisson_sample(COUNT >> fw.laplace(1), "1/2").distribution([1] * 20)


# The textbook's chain: a clamped sum with Laplace noise, its map and its tails.


def test_the_textbook_chain():
    column = Space(Vector(float), SymmetricDistance())
    m = column >> fw.clamp(0, 12) >> Sum(grid=1) >> fw.laplace(scale=25)
    assert m.map(1) == Fraction(12, 25)
    sized = Space(Vector(float, size=4), ChangeOneDistance())
    changed = sized >> fw.clamp(0, 12) >> Sum(grid=1) >> fw.laplace(scale=25)
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
        loss = fw.divergence(m, [12, 10, 8, 7], [12, 10, 8], event=(low, high))
        assert abs(float(loss)) <= 7 / 25 + 1e-12  # the sums are 7 apart: no 0 / 0 in the tails


ADDITIVE_PEOPLE = Space(Vector(int, bounds=(0, 9)), SymmetricDistance())
ADDITIVE_COUNT = ADDITIVE_PEOPLE >> Count()


def test_noise_is_drawn_afresh():
    m = ADDITIVE_COUNT >> fw.laplace(1000)
    assert len({m([1, 2]) for _ in range(20)}) > 10


# The least noise for epsilon at delta: enough by the exact profile, and hardly more.


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-3"), ("8", "1e-9")])
def test_the_least_sigma_is_enough_and_a_little_less_is_not(shift, epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    sigma = min_sigma(shift, epsilon, delta)
    assert GaussianShift(sigma, shift).delta(epsilon).upper <= delta
    less = sigma * (1 - Fraction(1, 10**4))
    assert GaussianShift(less, shift).delta(epsilon).lower > delta


def test_more_loss_takes_less_noise():
    sigmas = [min_sigma(1, Fraction(e), Fraction(1, 10**6)) for e in (1, 2, 4)]
    assert sigmas == sorted(sigmas, reverse=True)
    assert len(set(sigmas)) == 3


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/20", "1e-2"), ("20", "1e-12")])
def test_the_largest_rho_is_allowed_and_a_little_more_is_not(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    rho = largest_rho(epsilon, delta)
    assert rho > 0
    assert concentrated_epsilon(rho, delta) <= epsilon
    assert concentrated_epsilon(rho * (1 + Fraction(1, 10**4)), delta) > epsilon


def test_a_scale_is_rounded_up():
    scale = min_scale(Fraction(1, 2), Fraction(1, 3))
    assert scale**2 >= Fraction(3, 2)
    assert math.isclose(scale, math.sqrt(1.5), rel_tol=1e-15)
