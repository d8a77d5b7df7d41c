"""What is wrong is refused at construction; what data hold never raises."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tacit.core import Domain
from tacit.errors import MismatchError, TacitError, UsageError

NAN, INF = float("nan"), float("inf")
COLUMN = tc.Space(tc.Vector(float, bounds=(0, 1)), tc.SymmetricDistance())
TABLE = tc.Frame({"x": float, "s": str})

REFUSED = [
    lambda: tc.Number("float", 2, 1),
    lambda: tc.Number("float", 0, INF),
    lambda: tc.Number("float", NAN, 1),
    lambda: tc.Number("float", grid=0),
    lambda: tc.Number("text"),
    lambda: tc.Number("int", nullable=True),
    lambda: tc.Vector(float, bounds=(0,)),
    lambda: tc.Vector(float, bounds=3),
    lambda: tc.Vector(float, bounds="01"),
    lambda: tc.Vector(str, bounds=(0, 1)),
    lambda: tc.Vector(float, size=-1),
    lambda: tc.Vector(float, size=1.5),
    lambda: tc.Vector(complex),
    lambda: tc.Category(("a", "a")),
    lambda: tc.Category(()),
    lambda: tc.Category(([],)),
    lambda: tc.Frame({}),
    lambda: tc.Space(tc.Vector(str), tc.L1Distance()),
    lambda: tc.Space(tc.Number(), tc.SymmetricDistance()),
    lambda: tc.Space(TABLE, tc.AbsoluteDistance()),
    lambda: tc.clamp(1, 0),
    lambda: tc.clamp(0, INF),
    lambda: tc.clamp(NAN, 1),
    lambda: tc.cast(complex),
    lambda: tc.cast("number"),
    lambda: tc.resize(0, 1),
    lambda: COLUMN >> tc.resize(3, 7),
    lambda: COLUMN >> tc.resize(3, NAN),
    lambda: tc.filter("x > 1"),
    lambda: tc.map_rows("f", float, 0),
    lambda: tc.map_rows(len, int, "none"),
    lambda: tc.map_rows(len, tc.Vector(int), 0),
    lambda: tc.select(3),
    lambda: tc.Space(TABLE, tc.SymmetricDistance()) >> tc.select("y"),
    lambda: COLUMN >> tc.select("x"),
    lambda: tc.bin([1]),
    lambda: tc.bin([1, 1]),
    lambda: tc.bin([0, INF]),
    lambda: tc.bin("01"),
    lambda: tc.count_by_category(["a", "a"]),
    lambda: tc.count_by_category("ab"),
    lambda: tc.count_by_category(["a"], metric="L3"),
    lambda: tc.Space(tc.Vector(str), tc.SymmetricDistance()) >> tc.count_by_category(),
    lambda: COLUMN >> tc.count_by_category(["a"]),
    lambda: tc.quantile_scores(2, [1]),
    lambda: tc.quantile_scores("1/2", []),
    lambda: tc.quantile_scores("1/2", [2, 1]),
    lambda: tc.prefix_counts([1, 1]),
    lambda: tc.tree_counts([0, 1], branching=1),
    lambda: tc.tree_counts([0, 1], metric="max"),
    lambda: tc.linear_queries([]),
    lambda: tc.linear_queries([[1], [1, 2]]),
    lambda: tc.linear_queries([[NAN]]),
    lambda: tc.linear_queries(3),
    lambda: tc.Space(tc.Vector(int, size=3), tc.L1Distance()) >> tc.linear_queries([[1, 2]]),
    lambda: tc.Space(tc.Vector(float, size=1), tc.L1Distance()) >> tc.linear_queries([[1]]),
    lambda: tc.to_grid(0),
    lambda: tc.to_grid(NAN),
    lambda: tc.Space(tc.Vector(float), tc.L1Distance()) >> tc.to_grid(1),
    lambda: COLUMN >> tc.variance(),
    lambda: (COLUMN >> tc.sum()).map(-1),
    lambda: (COLUMN >> tc.sum()).map("1/2"),
    lambda: (COLUMN >> tc.sum()).map(NAN),
    lambda: (COLUMN >> tc.count()).map(INF),
    lambda: COLUMN >> tc.to_change_one(),
    lambda: tc.SymmetricDistance().distance([{}], [1]),
    lambda: tc.SymmetricDistance().distance(3, [1]),
    lambda: tc.AbsoluteDistance().distance(NAN, 1),
]


@pytest.mark.few(4)
@pytest.mark.parametrize("make", REFUSED)
def test_it_is_refused_with_an_error_of_ours(make):
    with pytest.raises(UsageError):
        make()


HUGE = [1e308, -0.0, 10**400, -(2**63), NAN, INF, -INF]
ODD = [*HUGE, "text", "", None, b"x", True, [1], {}, object()]
STEPS = [
    tc.clamp(0, 1) >> tc.sum(),
    tc.clamp(0, 1) >> tc.sum_of_squares(),
    tc.clamp(0, 1) >> tc.resize(4, 0) >> tc.mean(),
    tc.clamp(0, 1) >> tc.resize(4, 0) >> tc.variance(),
    tc.cast(int) >> tc.count_distinct(),
    tc.cast(str) >> tc.count_by_category(["0", "text"], other=True),
    tc.cast(bool) >> tc.count_by_category(),
    tc.filter(lambda x: x > 0) >> tc.count(),
    tc.filter(lambda x: 1 / 0) >> tc.count(),
    tc.map_rows(lambda x: x["k"], str, "none") >> tc.count_distinct(),
    tc.histogram(edges=[0, 1, 2]),
    tc.prefix_counts([0, 1]),
    tc.quantile_scores("1/2", [0, 1]),
    tc.tree_counts([0, 1, 2, 3]),
    tc.clamp(0, 8) >> tc.to_grid("1/4") >> tc.sum(),
]


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
@pytest.mark.parametrize("kind", [float, int, str])
def test_no_value_can_raise(step, kind):
    space = tc.Space(tc.Vector(kind), tc.SymmetricDistance())
    try:
        t = space >> step
    except MismatchError:
        t = space >> tc.cast(float) >> step
    shapes = set()
    for data in (ODD, ODD * 3, [], ODD[:1], np.array([1.0, NAN])):
        shapes.add(np.shape(t(data)))
    assert len(shapes) == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_members_are_members(seed):
    source = random.Random(seed)
    domains: list[Domain] = [
        tc.Number("float", -1, 2),
        tc.Number("float", None, -5, nullable=True),
        tc.Number("float", 7, None),
        tc.Number("int", -3, 3),
        tc.Number("float", "-1/2", "3/2", grid="1/4"),
        tc.Category(("a", "b")),
        tc.Vector(float, bounds=(0, 1), size=3),
        tc.Vector(str),
        tc.Frame({"x": float, "s": str}),
    ]
    for domain in domains:
        assert domain.contains(domain.sample(source)), domain


def test_grids_read_whole_units():
    quarter = tc.Number("float", -1, 1, grid="1/4")
    assert quarter.read(0.6) == 2
    assert quarter.read(99) == 4
    assert quarter.present(quarter.read(-0.5)) == -0.5
    assert not quarter.contains(0.3)
    assert (tc.Space(quarter, tc.AbsoluteDistance()) >> tc.laplace(1)).map("1/4") == Fraction(1, 4)


def test_errors_of_a_chain_name_no_value_of_the_data():
    for step in (tc.sum(), tc.mean()):
        with pytest.raises(TacitError) as caught:
            (COLUMN >> tc.resize(3, 0) >> step)(12345.678)
        assert "12345" not in str(caught.value)
    assert math.isfinite((COLUMN >> tc.sum())([12345.678]))


def test_what_is_no_vector_has_no_vector_distance():
    for metric in (tc.L1Distance(), tc.L2Distance(), tc.LInfinityDistance()):
        with pytest.raises(tc.errors.UsageError, match="vectors"):
            metric.distance(1, None)


def test_a_histogram_in_a_chain_takes_its_edges_alone():
    column = tc.Space(tc.Vector(float), tc.SymmetricDistance())
    counts = column >> tc.histogram([0, 4, 8, 12])
    assert counts([1.0, 2.0, 5.0, 12.0]).tolist() == [2, 1, 1]
    with pytest.raises(tc.errors.UsageError):
        tc.histogram([4, 0])


def test_labels_of_randomized_response_are_a_list():
    with pytest.raises(tc.errors.UsageError, match="list of labels"):
        tc.randomized_response(None, epsilon=1)


def test_an_absurd_epsilon_still_gives_a_staircase():
    column = tc.Space(tc.Vector(int), tc.SymmetricDistance())
    assert (column >> tc.count() >> tc.staircase("1e999")).map(1) == 10**999
