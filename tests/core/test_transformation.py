"""What a chain of transformations knows follows from its parts."""

from fractions import Fraction
from functools import reduce

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit import framework as fw
from tacit.core import (
    AbsoluteDistance,
    Category,
    ChangeOneDistance,
    DiscreteDistance,
    HammingDistance,
    InsertDeleteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Measurement,
    Metric,
    Number,
    PureDP,
    Space,
    SparseDistance,
    SymmetricDistance,
    Transformation,
    Vector,
    compose,
)
from tacit.core.losses.additive_noise import LaplaceShift
from tacit.core.losses.distribution import dominating_pair
from tacit.core.metrics import EVERY, PartsDistance, Witness, records_of
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms import Gaussian, Laplace, RandomizedResponse, TruncatedGeometric
from tacit.tables.steps import UnitDistance
from tacit.transformations import Clamp, Count, CountByCategory, Histogram, Sum, ToL2
from tacit.transformations.from_function import ReleaseDistance

INTEGERS = Space(Vector(int), SymmetricDistance())


def test_maps_and_functions_follow_each_other():
    chain = INTEGERS >> Clamp(-2, 5) >> Sum()
    assert chain([9, 1, -7]) == 4
    assert chain.map(3) == 15
    assert chain.check(3, 15)
    assert not chain.check(3, Fraction(29, 2))
    with pytest.raises(MismatchError):
        chain >> Count()


def test_a_chain_attains_its_map_where_both_parts_do():
    clamped = INTEGERS >> Clamp(-2, 5)
    assert clamped.onto
    assert (clamped >> Sum()).witness == Witness.of([5])
    assert (clamped >> Count()).witness == EVERY
    assert (clamped >> Histogram([0, 3, 9]) >> ToL2()).witness == Witness.of([0, 3])
    short = Space(Vector(int, bounds=(0, 4)), SymmetricDistance()) >> Clamp(-2, 5)
    assert not short.onto  # nobody has a 5
    assert not (short >> Sum()).attained
    assert not (short >> Histogram([0, 3, 9], other=True)).onto


def test_a_pair_that_is_not_named_is_one_of_its_own():
    numbers = Space(Number("int"), AbsoluteDistance())
    size = Transformation(INTEGERS, numbers, len, lambda d: d, attained=True)
    assert size.witness == size.witness
    assert not size.witness & Transformation(INTEGERS, numbers, len, lambda d: d).witness


# The lower end of a composition is what some pair of neighbours loses in all its parts.


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


# Metrics: multiplicity and missing values count, and no kind of a metric measures otherwise.


COLUMN = Vector(Number("int", 0, 2))
KINDS = [
    SymmetricDistance,
    ChangeOneDistance,
    HammingDistance,
    InsertDeleteDistance,
    AbsoluteDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    DiscreteDistance,
    SparseDistance,
    ReleaseDistance,
    PartsDistance,
    UnitDistance,
]


def test_distances_respect_multiplicity_and_missing_values():
    nan = float("nan")
    assert SymmetricDistance().distance([12, 10, 8, 7], [10, 10, 8, 7]) == 2
    assert SymmetricDistance().distance([nan, nan], [nan]) == 1
    assert ChangeOneDistance().distance([1, 2], [1]) == float("inf")
    assert InsertDeleteDistance().distance([1, 2, 3], [3, 1, 2]) == 2


def twice(self, u, v):
    return 2 * SymmetricDistance().distance(u, v)


@pytest.mark.parametrize("parent", KINDS)
def test_what_measures_otherwise_is_no_kind_of_a_metric(parent):
    """A map is proven for a distance: a subclass with another one would get the map all the same.

    Half a distance made ``Count() >> Laplace(1)`` claim 1 where 2 is lost.
    """
    with pytest.raises(UsageError, match="derive it from Metric itself"):
        type("Mine", (parent,), {"distance": twice})
    beside = type("Beside", (), {"distance": twice})
    with pytest.raises(UsageError, match="changes the distance of"):
        type("Mixed", (beside, parent), {})
    assert type("Named", (parent,), {"sentence": "mine"}).distance is parent.distance


def test_parts_of_a_distance_are_not_replaced():
    with pytest.raises(UsageError, match="changes the distance of L2Distance"):
        type("Mine", (L2Distance,), {"squared": lambda self, u, v: Fraction(0)})
    with pytest.raises(UsageError, match="changes the distance of SymmetricDistance"):
        type("Mine", (SymmetricDistance,), {"counts_records": False})


def test_a_metric_of_ones_own_gets_no_map_of_another():
    own = type("Mine", (Metric,), {"distance": twice, "carries": (Vector,)})
    with pytest.raises(UsageError):
        Space(COLUMN, own()) >> Count() >> Laplace(scale=1)


def test_only_metrics_of_records_count_them():
    assert [kind.__name__ for kind in KINDS[:9] if kind().counts_records] == [
        "SymmetricDistance",
        "ChangeOneDistance",
        "HammingDistance",
        "InsertDeleteDistance",
    ]


def test_what_has_another_size_is_infinitely_far_where_the_size_is_public():
    for kind in (ChangeOneDistance, HammingDistance, L1Distance, L2Distance, LInfinityDistance):
        assert kind().distance([1, 2], [1]) == float("inf")
    assert SymmetricDistance().distance([1, 2], [1]) == 1
    assert LInfinityDistance().distance([], []) == L2Distance().distance([], []) == 0


def test_a_table_is_its_rows_whoever_holds_it():
    columns = {"a": [1, 2, 2], "b": ["x", "y", "y"]}
    for table in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        assert records_of(table) == [(1, "x"), (2, "y"), (2, "y")]
        assert DiscreteDistance().distance(table, columns) == 0
        assert SymmetricDistance().distance(table, {"a": [2], "b": ["y"]}) == 2
    assert records_of([float("nan"), [1, float("nan")]])[0] == records_of([float("nan")])[0]


@pytest.mark.parametrize("data", ["text", b"bytes", 5, None])
def test_what_is_no_data_set_has_no_records(data):
    with pytest.raises(UsageError, match="sequence of records"):
        records_of(data)
    with pytest.raises(UsageError, match="hashable"):
        records_of([{"a": 1}])


def test_a_vector_metric_needs_numbers():
    assert L1Distance().supports(Vector(Number("int")))
    assert not L1Distance().supports(Vector(str))
    assert not L1Distance().supports(Number("int"))
    with pytest.raises(UsageError, match="two vectors of numbers"):
        L1Distance().distance(3, [3])


# What would join two sides that do not fit is named in the refusal.


JOIN_HINTS_COLUMN = fw.Space(fw.Vector(float), fw.SymmetricDistance())


@pytest.mark.parametrize(
    ("space", "step", "joins"),
    [
        (JOIN_HINTS_COLUMN, tc.sum(), ("clamp(lower, upper)",)),
        (JOIN_HINTS_COLUMN, fw.laplace(1), ("count()",)),
        (fw.Space(fw.Vector(int, size=3), fw.L1Distance()), fw.gaussian(1), ("to_l2()",)),
        (fw.Space(fw.Vector(int, size=3), fw.L2Distance()), fw.laplace(1), ("to_l1()",)),
        (fw.Space(fw.Number("float"), fw.AbsoluteDistance()), fw.laplace(1), ("to_grid(step)",)),
        (
            fw.Space(fw.Number("int", 0, 1), fw.DiscreteDistance()),
            fw.laplace(1),
            ("to_absolute()",),
        ),
    ],
    ids=str,
)
def test_a_mismatch_names_the_step_that_joins(space, step, joins):
    with pytest.raises(MismatchError) as caught:
        space >> step
    assert set(joins) <= set(caught.value.joins)
    assert all(join in str(caught.value) for join in joins)


def test_two_finished_parts_name_the_step_between_them():
    first = JOIN_HINTS_COLUMN >> fw.clamp(0, 1)
    second = fw.Space(fw.Number("int", 0, grid=1), fw.AbsoluteDistance()) >> fw.laplace(1)
    with pytest.raises(MismatchError) as caught:
        first >> second
    assert caught.value.left == first.output
    assert caught.value.right == second.input
    assert "count()" in caught.value.joins
