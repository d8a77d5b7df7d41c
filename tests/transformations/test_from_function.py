"""Functions as transformations, held to the definition; what no guarantee rests on is refused."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from laws.laws import exact_output
from tacit.errors import UsageError
from tacit.statistics import Function, Histogram
from tacit.transformations import consistent_tree


def spread(rows):
    return float(rows.max() - rows.min())


def data_sets(values, sizes):
    return [list(c) for n in sizes for c in itertools.combinations_with_replacement(values, n)]


def name_of(function):
    return getattr(function, "__name__", function)


@pytest.mark.few(9)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("function", [spread, "median", "mean", "var", "std", "max"], ids=name_of)
def test_the_map_is_the_largest_move_over_all_pairs(function, relation):
    size, values = 3, [0, 1, 4]
    t = tc.transformation(function, over=tc.Values(values, size=size), relation=relation)
    sets = data_sets(values, range(1, 6))
    step = t.output.domain.grid
    for d in (1, 2):
        worst = Fraction(0)
        for u, v in itertools.product(sets, repeat=2):
            if t.input.metric.distance(u, v) <= d:
                worst = max(worst, abs(exact_output(t, u) - exact_output(t, v)))
        assert worst <= t.map(d) <= worst + 2 * step + Fraction(1, 2**48)


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("size", [None, 1, 2])
@pytest.mark.parametrize(
    "function",
    ["count", "sum", Histogram([-3, 1, 5]), Function(spread, empty=-9)],
    ids=["count", "sum", "histogram", "declared"],
)
def test_the_empty_data_set_is_a_neighbour_where_there_is_a_value_on_it(function, size, relation):
    """Within 1 of one record the count was said not to move at all."""
    if isinstance(function, Function) and size is None:
        over = tc.Records([-3, 1, 5])  # a function is searched, which must end
        sets = [list(c) for n in range(4) for c in itertools.combinations([-3, 1, 5], n)]
    else:
        over, sets = tc.Values([-3, 1, 5], size=size), data_sets([-3, 1, 5], range(4))
    t = tc.transformation(function, over=over, relation=relation)
    assert t.input.domain.contains([])
    for d in (1, 2, 3):
        worst = Fraction(0)
        for u, v in itertools.product(sets, repeat=2):
            if t.input.metric.distance(u, v) <= d:
                pair = (exact_output(t, u), exact_output(t, v))
                worst = max(worst, Fraction(t.output.metric.distance(*pair)))
        assert worst <= t.map(d), (d, worst)
        if d == 1:  # farther neighbours are larger than those listed
            assert t.map(d) <= worst + Fraction(1, 2**18)
    assert t.map(1) > 0 or relation == "bounded"


def test_without_a_value_on_no_records_the_answer_says_so():
    t = tc.transformation("mean", over=tc.Values([1, 3], size=1))
    assert not t.input.domain.contains([])
    for name, size, said in (("mean", 1, True), ("mean", 2, False), ("count", 1, False)):
        found = tc.sensitivity(name, over=tc.Values([1, 3], size=size))
        assert any("empty release" in note for note in found.notes) is said
        assert ("empty release" in str(found.card())) is said


def test_known_populations_use_each_record_once():
    over = tc.Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6)
    t = tc.transformation("median", over=over)
    assert t.map(1) == 3
    assert t.map(0) == 0
    assert t.input.domain.contains([1, 2, 2, 2, 5, 5])
    assert not t.input.domain.contains([1, 1, 2, 2, 5, 5])
    assert (t >> tc.laplace(6)).map(1) == Fraction(1, 2)
    assert t.map(10**6) >= t.map(9)


def test_named_statistics_aggregates_and_answers_are_one():
    over = tc.Interval(0, 10, size=5)
    answer = tc.sensitivity("median", over=over, relation="bounded")
    chains = [
        tc.transformation("median", over=over, relation="bounded"),
        tc.transformation(tc.median(), over=over, relation="bounded"),
        tc.transformation(answer),
    ]
    assert {t.map(1) for t in chains} == {answer.value}
    assert all(t([1, 2, 3, 4, 50]) == 3 for t in chains)


def test_histograms_become_vectors():
    over = tc.Interval(0, 10, size=4)
    t = tc.transformation(Histogram([0, 5, 10]), over=over, relation="bounded")
    assert t([1, 2, 7, 10]).tolist() == [2, 2]
    assert t.map(1) == 2
    assert (t >> tc.laplace(2)).map(1) == 1


def test_what_is_no_guarantee_is_refused_with_the_reason():
    interval = tc.Interval(0, 10, size=4)
    for answer, reason in [
        (tc.lower_bound(spread, over=interval), "lower bound"),
        (tc.sensitivity("median", over=interval, distance=2, within=False), "within=True"),
        (tc.sensitivity("median", over=interval, at=[1, 2, 3, 4]), "local"),
    ]:
        with pytest.raises(UsageError, match=reason):
            tc.transformation(answer)
    with pytest.raises(UsageError):
        tc.transformation(spread)
    with pytest.raises(UsageError):
        tc.transformation(spread, over=tc.Values([0, 1], size=2), grid=0)
    with pytest.raises(UsageError):
        tc.transformation(lambda rows: float("nan"), over=tc.Values([0, 1], size=2))


def test_no_value_raises_at_run_time():
    t = tc.transformation(spread, over=tc.Values([0, 1, 5], size=3), relation="bounded")
    for data in ([], [float("nan")] * 3, [float("inf"), -1e300, "x"], [None, 2, 10**400]):
        assert 0 <= t(data) <= 5


def test_a_chosen_grid_is_charged():
    t = tc.transformation("mean", over=tc.Interval(0, 1, size=3), relation="bounded", grid="1/4")
    assert t.map(1) == Fraction(1, 2)  # a third, on quarters
    assert t([0, 0, 1]) == 0.25


@pytest.mark.parametrize(("branching", "levels"), [(2, 3), (3, 3), (2, 1), (4, 2)])
def test_consistent_trees_are_least_squares(branching, levels):
    leaves = branching ** (levels - 1)
    rows = [
        np.kron(np.eye(branching**level), np.ones(leaves // branching**level))
        for level in range(levels)
    ]
    matrix = np.concatenate(rows).reshape(-1, leaves)
    noisy = np.random.default_rng(7).normal(size=len(matrix))
    best = matrix @ np.linalg.lstsq(matrix, noisy, rcond=None)[0]
    assert consistent_tree(branching)(noisy) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("nodes", [[1.0, 2.0], [[1.0]]])
def test_an_incomplete_tree_is_refused(nodes):
    with pytest.raises(UsageError, match="complete tree"):
        consistent_tree(2)(nodes)
    with pytest.raises(UsageError, match="branching"):
        consistent_tree(1)
