"""Releases on a sample of fixed size, by all samples of few records."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest

import tacit as tc
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
from tacit.errors import MismatchError, UsageError
from tacit.transformations import Count, Select, Sum

TINY = Fraction(1, 1000)
"""Noise of this scale is zero but with probability e^-1000."""


def bits(m, metric=None):
    return Space(Vector(int, bounds=(0, 1), size=m), metric or ChangeOneDistance())


@pytest.mark.few(4)
@pytest.mark.parametrize(("n", "m"), [(3, 1), (3, 2), (4, 3), (5, 3)])
def test_the_map_holds_on_all_neighbours_and_is_attained_by_one_record(n, m):
    release = tc.sample_without_replacement(bits(m) >> Sum() >> tc.laplace(1), n)
    data = [list(x) for x in itertools.combinations_with_replacement((0, 1), n)]
    assert verify(release, data).or_raise().tight
    for d in (2, 3):
        verify(release, data, d_in=d).or_raise()
    losses = [release.map(d) for d in range(n + 1)]
    assert losses == sorted(losses)
    assert losses[1] < release.map(n) == (bits(m) >> Sum() >> tc.laplace(1)).map(m)


def test_delta_shrinks_with_the_sample():
    leak = tc.measurement(
        bits(2),
        sum,
        lambda d: (d, min(Fraction(1), d * Fraction(1, 10))) if d else (0, 0),
        measure=ApproximateDP(),
        distribution=lambda x: {"none": "9/10", ("leak", sum(x)): "1/10"},
    )
    m = tc.sample_without_replacement(leak, 4)
    assert m.map(1)[1] == Fraction(1, 20)
    data = [[0] * (4 - k) + [1] * k for k in range(5)]
    verify(m, data, draws=0).or_raise()
    assert m.epsilon(Fraction(1, 20)).upper <= m.map(1)[0]


def test_every_sample_is_drawn_equally_often():
    space = Space(Vector(int, bounds=(0, 8), size=2), ChangeOneDistance())
    m = tc.sample_without_replacement(space >> Sum() >> tc.laplace(TINY), 4)
    drawn = Counter(m([1, 2, 4, 8]) for _ in range(600))
    assert sorted(drawn) == sorted(a + b for a, b in itertools.combinations((1, 2, 4, 8), 2))
    assert all(45 < times < 165 for times in drawn.values())  # 100, and six deviations


def test_tables_and_lists_are_sampled_by_rows():
    table = Space(Frame({"x": Number("int", 0, 9)}, size=3), ChangeOneDistance())
    m = tc.sample_without_replacement(table >> Select("x") >> Sum() >> tc.laplace(TINY), 5)
    assert m({"x": [2, 2, 2, 2, 2]}) == 6
    labels = Space(Vector(str, size=3), ChangeOneDistance())
    assert tc.sample_without_replacement(labels >> Count() >> tc.laplace(TINY), 5)(["a"] * 5) == 3


def test_as_large_a_sample_as_the_data_changes_nothing():
    release = bits(3) >> Sum() >> tc.laplace(2)
    m = tc.sample_without_replacement(release, 3)
    assert [m.map(d) for d in range(4)] == [release.map(d) for d in range(4)]
    assert m.losses(Fraction(0)).delta(0).upper == 0
    assert abs(m.delta(0).upper - release.delta(0).upper) < Fraction(1, 10**20)


@pytest.mark.full
def test_gaussian_noise_is_stated_at_a_delta_and_composed_by_its_losses():
    step = tc.sample_without_replacement(bits(10) >> Sum() >> tc.gaussian(1), 1000, delta="1e-9")
    alone = step.epsilon("1e-6").upper
    many = tc.compose([step] * 100).epsilon("1e-6")
    assert alone < many.lower < many.upper < 10 * alone
    epsilon, delta = step.map(1)
    assert delta == Fraction(1, 10**11)
    assert step.delta(epsilon).upper <= delta


def test_only_where_it_is_proven():
    with pytest.raises(UsageError, match="cannot be drawn"):
        tc.sample_without_replacement(bits(3) >> Sum() >> tc.laplace(1), 2)
    for size in (0, -1, "x", 2.5, float("nan")):
        with pytest.raises(UsageError):
            tc.sample_without_replacement(bits(3) >> Sum() >> tc.laplace(1), size)
    unsized = Space(Vector(int, bounds=(0, 1)), ChangeOneDistance())
    for release in (
        unsized >> Sum() >> tc.laplace(1),
        bits(3, HammingDistance()) >> Sum() >> tc.laplace(1),
        bits(3, SymmetricDistance()) >> Sum() >> tc.laplace(1),
        bits(3) >> Sum() >> tc.gaussian(1),
    ):
        with pytest.raises(MismatchError):
            tc.sample_without_replacement(release, 5)
    with pytest.raises(UsageError, match="too many"):
        tc.sample_without_replacement(bits(10) >> Sum() >> tc.laplace(1), 30).distribution([1] * 30)
