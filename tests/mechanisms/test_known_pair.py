"""Lower ends of releases from samples: one pair of data sets, by all samples of few records."""

import itertools
import math
from fractions import Fraction

import pytest

import tacit as tc
from tacit.core import ChangeOneDistance, Frame, Number, Space, SymmetricDistance, Vector
from tacit.mechanisms.subsampling import loss_of_equal_records
from tacit.transformations import Count, Select, Sum

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
    m = tc.sample_without_replacement(fixed(2) >> Sum() >> tc.laplace("1/2"), 3)
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
    m = tc.poisson_sample(free((-1, 2)) >> Sum() >> tc.laplace(1), "1/3")
    one = [(masses(m, []), masses(m, [2]))]
    found = m.losses(Fraction(1)).self_compose(times)
    for level in LEVELS:
        delta = found.delta(Fraction(level))
        assert delta.lower <= worst(one, level, times) + 1e-9
        assert worst(one, level, times) <= delta.upper + 1e-9
        assert delta.upper - delta.lower < delta.upper / 10**4


def test_ten_thousand_releases_from_samples_are_enclosed_on_both_sides():
    step = tc.poisson_sample(free() >> Count() >> tc.gaussian(1), "1/100", delta="1e-9")
    found = tc.compose([step] * 10_000).epsilon("1e-6")
    assert found.width < found.upper / 10**6


@pytest.mark.parametrize(
    ("release", "common", "shift"),
    [
        (free((-5, 3)) >> Sum() >> tc.laplace(2), None, 5),
        (free((0, 9)) >> Count() >> tc.laplace(2), None, 1),
        (fixed(4, (-5, 3)) >> Sum() >> tc.laplace(2), 3, 8),
        (fixed(4, (-5, 3)) >> Count() >> tc.laplace(2), 3, None),
        (free() >> tc.filter(lambda _: False) >> Count() >> tc.laplace(1), None, None),
        (free() >> Count() >> tc.laplace(1) >> abs, None, None),
        (
            Space(Frame({"x": Number("int", 0, 9)}), SymmetricDistance())
            >> Select("x")
            >> Count()
            >> tc.laplace(1),
            None,
            None,
        ),
    ],
)
def test_the_pair_is_what_the_records_make_of_it(release, common, shift):
    """Also where it is nothing, as behind a filter: it is computed from the two data sets."""
    found = loss_of_equal_records(release, common)
    assert (found and found.shift) == shift


def test_more_changed_records_and_what_follows_have_a_lower_end_of_zero():
    m = tc.sample_without_replacement(fixed(2) >> Sum() >> tc.laplace(1), 5)
    assert m.epsilon("1/1000", d_in=1).lower > 0
    assert m.epsilon("1/1000", d_in=2).lower == 0
    assert (m >> abs).epsilon("1/1000").lower == 0
