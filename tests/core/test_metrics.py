"""The lower end of a composition is what some pair of neighbours loses in all its parts."""

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import (
    AbsoluteDistance,
    Category,
    HammingDistance,
    InsertDeleteDistance,
    Measurement,
    Number,
    PureDP,
    Space,
    SymmetricDistance,
    Transformation,
    Vector,
    compose,
)
from tacit.core.losses.additive_noise import LaplaceShift
from tacit.core.losses.distribution import dominating_pair
from tacit.core.metrics import EVERY, Witness
from tacit.mechanisms import Gaussian, Laplace, RandomizedResponse, TruncatedGeometric
from tacit.transformations import Clamp, Count, CountByCategory, Histogram, Sum, ToL2

RECORDS = (-2, -1, 0, 1, 3)
SMALL = Fraction(1, 10**6)
PEOPLE = Space(Vector(Number("int", -2, 3)), SymmetricDistance())
ASKED = [
    Count(),
    Clamp(0, 3) >> Sum(),
    Clamp(-2, 0) >> Sum(),
    Clamp(-1, 1) >> Sum(),
    Histogram([0, 2, 4]),
    Histogram([-2, 0], other=True),
    CountByCategory([1, 3]),
    CountByCategory([-1]),
]


def shifts(step, record):
    """Return by how much a record moves each number, added to any data set."""
    chain = PEOPLE >> step
    before, after = chain([1, 1]), chain([1, 1, record])
    if isinstance(before, int):
        return [abs(after - before)]
    return [abs(int(b) - int(a)) for a, b in zip(before, after, strict=True)]


def loses(asked, record):
    """Return the exact losses of one more record in all releases."""
    moved = [(scale, s) for step, scale in asked for s in shifts(step, record) if s]
    found = [LaplaceShift(Fraction(scale), int(s)) for scale, s in moved]
    return reduce(lambda a, b: a.compose(b), found) if found else dominating_pair(Fraction(0))


questions = st.lists(st.tuples(st.sampled_from(ASKED), st.just(2)), min_size=1, max_size=3)


@given(questions, st.sampled_from(["0", "1/100", "1/5"]))
@pytest.mark.few(40)
def test_no_lower_end_is_above_what_some_record_loses(asked, delta):
    found = compose([PEOPLE >> step >> Laplace(scale) for step, scale in asked]).epsilon(delta)
    each = [loses(asked, record).epsilon(delta) for record in RECORDS]
    assert found.lower <= max(one.upper for one in each)
    assert max(one.lower for one in each) <= found.upper


def test_sums_that_no_record_moves_together_are_not_added_from_below():
    """One record moves a sum of values above zero or one of those below, never both."""
    up, down = (PEOPLE >> step >> Laplace(100) for step in ASKED[1:3])
    found = compose([up, down]).epsilon(0)
    assert (found.lower, found.upper) == (Fraction(3, 100), Fraction(5, 100))
    many = compose([up, down] * 50).epsilon("1e-6")
    alone = compose([up] * 50).epsilon("1e-6")
    assert alone.lower <= many.lower <= alone.upper < many.upper


@pytest.mark.parametrize("metric", [SymmetricDistance(), InsertDeleteDistance()])
@pytest.mark.parametrize(
    "end",
    [
        Histogram([0, 10, 20]) >> Laplace(10),
        Histogram([0, 10, 20]) >> ToL2() >> Gaussian(10),
        Histogram([0, 10, 20], metric="L2") >> Gaussian(10),
        CountByCategory([1, 2], other=True) >> Laplace(10),
        Count() >> TruncatedGeometric(0, 9, scale=10),
    ],
)
def test_both_ends_of_counts_meet(metric, end):
    """One record is in one count, and moves it by one."""
    found = compose([Space(Vector(int), metric) >> end] * 100).epsilon("1e-6")
    assert 0 < found.upper - found.lower < Fraction(1, 1000) * found.upper


@pytest.mark.parametrize(
    "space",
    [
        Space(Vector(int, bounds=(30, 40)), SymmetricDistance()),
        Space(Vector(int, size=5), SymmetricDistance()),
    ],
)
def test_a_histogram_that_no_record_moves_has_no_lower_end(space):
    found = compose([space >> Histogram([0, 10, 20]) >> Laplace(10)] * 10).epsilon("1e-6")
    assert found.lower == 0


def test_a_value_on_no_float_is_looked_for_inside_its_bin():
    column = Space(Vector(float, bounds=("1/3", 1)), SymmetricDistance())
    chain = column >> Histogram(["1/3", "1/2", 1])
    assert chain.attained
    assert chain.onto
    assert all(Fraction(1, 3) < v < 1 for v in chain.witness.names)


def test_bounds_that_lie_apart_share_no_pair():
    number = Space(Number("int", 0, 30), AbsoluteDistance())
    low, high = TruncatedGeometric(0, 10, scale=20), TruncatedGeometric(20, 30, scale=20)
    found = compose([number >> low, number >> high]).epsilon(0, d_in=10)
    assert (found.lower, found.upper) == (Fraction(1, 2), 1)
    both = compose([number >> low, number >> Laplace(20)]).epsilon(0, d_in=10)
    assert both.lower == both.upper == 1


def test_labels_of_which_only_one_release_knows_share_no_pair():
    people = Space(Vector(Category(("a", "b", "c", "d"))), HammingDistance())
    one, other = (people >> RandomizedResponse(x, epsilon=1) for x in (["a", "b"], ["c", "d"]))
    assert compose([one, one]).epsilon(SMALL).lower > Fraction(3, 2)
    assert 0 < compose([one, other]).epsilon(SMALL).lower <= 1


def test_a_pair_of_their_own_is_shared_with_themselves_alone():
    def made():
        return Measurement(
            PEOPLE, PureDP(), lambda data: 0, lambda d: d, losses=lambda d: dominating_pair(d)
        )

    one, other = made(), made()
    assert compose([one, one]).epsilon(SMALL).lower > Fraction(3, 2)
    assert 0 < compose([one, other]).epsilon(SMALL).lower <= 1
    assert 0 < compose([compose([one, other]), one]).epsilon(SMALL).lower <= 1
    space = Space(Vector(int), SymmetricDistance())
    numbers = Space(Number("int"), AbsoluteDistance())
    sizes = Transformation(space, numbers, len, lambda d: d, attained=True)
    again = Transformation(space, numbers, len, lambda d: d, attained=True)
    assert not sizes.witness & again.witness
    chains = [t >> Laplace(1) for t in (sizes, sizes, again)]
    assert compose(chains[:2]).epsilon(SMALL).lower > Fraction(3, 2)
    assert Fraction(3, 2) < compose(chains).epsilon(SMALL).lower <= 2


def test_a_clamped_sum_and_a_count_share_a_record():
    total = PEOPLE >> Clamp(0, 3) >> Sum() >> Laplace(3)
    found = compose([total, PEOPLE >> Count() >> Laplace(1)]).epsilon(0)
    assert found.lower == found.upper == 2


def test_names_are_met():
    assert Witness.of([1, 2]) & Witness.of([2, 3]) == Witness.of([2])
    assert EVERY & EVERY == EVERY
    assert EVERY
    assert not Witness.of([])
    assert Witness.own() != Witness.own()
