"""Trees of counts: every level counts every value once, and consistent nodes add up."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from laws.laws import exact_output
from support.examples import examples
from tacit import framework as fw
from tacit.audit import verify
from tacit.core import (
    AbsoluteDistance,
    ChangeOneDistance,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    SymmetricDistance,
    Vector,
)
from tacit.errors import MismatchError, UsageError
from tacit.statistics import Function, Histogram, Records
from tacit.transformations import consistent_tree as from_function_consistent_tree
from tacit.transformations.counts import LinearQueries, TreeCounts, consistent_tree, levels_of
from tacit.transformations.from_function import ReleaseDomain, as_transformation
from tacit.transformations.rows import top_code

COLUMN = Space(Vector(float), SymmetricDistance())


@given(st.lists(st.floats(-2, 9), max_size=12), st.integers(1, 7), st.integers(2, 4))
def test_each_node_is_the_sum_of_its_children_and_the_leaves_are_the_bins(values, bins, b):
    edges = list(range(bins + 1))
    nodes = (COLUMN >> TreeCounts(edges, b))(values).tolist()
    rows, start = [], 0
    for level in range(levels_of(bins, b)):
        rows.append(nodes[start : start + b**level])
        start += b**level
    assert start == len(nodes)
    for upper, lower in itertools.pairwise(rows):
        assert upper == [sum(lower[i : i + b]) for i in range(0, len(lower), b)]
    inside = [sum(low <= v < low + 1 for v in values) for low in range(bins)]
    inside[-1] += sum(v == bins for v in values)  # the last bin holds its upper edge
    assert rows[-1][:bins] == inside
    assert not any(rows[-1][bins:])


@pytest.mark.parametrize("bins", [1, 2, 5, 8])
def test_a_record_moves_one_node_of_each_level(bins):
    edges = range(bins + 1)
    levels = levels_of(bins, 2)
    sized = Space(Vector(float, size=3), ChangeOneDistance())
    for metric, came, changed in (
        ("L1", levels, max(2 * (levels - 1), levels)),
        ("L2", math.sqrt(levels), math.sqrt(max(2 * (levels - 1), levels))),
        ("LInfinity", 1, 1),
    ):
        assert float((COLUMN >> TreeCounts(edges, metric=metric)).map(1)) == pytest.approx(came)
        result = (sized >> TreeCounts(edges, metric=metric)).map(1)
        assert float(result) == pytest.approx(changed)


@given(st.lists(st.floats(-50, 50), min_size=7, max_size=7))
def test_consistent_nodes_add_up_and_are_the_nearest_that_do(noisy):
    result = consistent_tree(2)(noisy)
    assert result[0] == pytest.approx(result[1] + result[2], abs=1e-9)
    assert result[1] == pytest.approx(result[3] + result[4], abs=1e-9)
    leaves = np.array(
        [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4).tolist()]
    )  # each node as a sum of leaves: the least squares of these is the nearest tree
    best = leaves @ np.linalg.lstsq(leaves, np.array(noisy), rcond=None)[0]
    assert result == pytest.approx(best, abs=1e-8)
    assert consistent_tree(2)(result) == pytest.approx(result, abs=1e-8)  # it changes nothing more


@pytest.mark.parametrize(
    "make",
    [
        lambda: TreeCounts([0]),
        lambda: TreeCounts([1, 0]),
        lambda: TreeCounts([0, 1], branching=1),
        lambda: TreeCounts([0, 1], metric="L3"),
        lambda: consistent_tree(1),
        lambda: consistent_tree(2)([1.0, 2.0]),
        lambda: consistent_tree(3)([1.0, 2.0, 3.0]),
    ],
)
def test_what_makes_no_tree_is_refused(make):
    with pytest.raises(UsageError):
        make()
    with pytest.raises(MismatchError):
        Space(Number("int"), fw.AbsoluteDistance()) >> TreeCounts([0, 1])
    with pytest.raises(MismatchError):
        Space(Vector(str), SymmetricDistance()) >> TreeCounts([0, 1])


# Linear queries: exact products, and a map that no pair exceeds, for every pair of norms.


NORMS = {"L1": L1Distance(), "L2": L2Distance(), "LInfinity": LInfinityDistance()}
PROVEN = [pair for pair in itertools.product(NORMS, NORMS) if pair != ("L2", "L1")]


def over(norm, size=3):
    return Space(Vector(int, size=size), NORMS[norm])


@pytest.mark.parametrize(("source", "target"), PROVEN)
def test_no_pair_moves_farther_than_the_map(source, target):
    chance = random.Random(f"{source} {target}")
    for _ in range(25):
        matrix = [
            [Fraction(chance.randint(-9, 9), chance.randint(1, 4)) for _ in range(3)]
            for _ in range(chance.randint(1, 3))
        ]
        u, v = ([chance.randint(-4, 4) for _ in range(3)] for _ in range(2))
        t = over(source) >> LinearQueries(matrix, target)
        products = [
            [sum(a * x for a, x in zip(row, side, strict=True)) for row in matrix]
            for side in (u, v)
        ]
        for side, truth in zip((u, v), products, strict=True):
            assert t(side).tolist() == [float(y) for y in truth]  # exact, and rounded once
        moved = NORMS[target].distance(*products)
        assert moved <= t.map(NORMS[source].distance(u, v)) + Fraction(1, 2**60)


def test_maps_that_are_attained_are_the_norms_of_rows_and_columns():
    matrix = [[1, -2, 0], [0, 1, 3]]
    result = {
        (s, t): (over(s) >> LinearQueries(matrix, t)).map(1)
        for s, t in (("L1", "L1"), ("L1", "LInfinity"), ("LInfinity", "LInfinity"))
    }
    assert result == {("L1", "L1"): 3, ("L1", "LInfinity"): 3, ("LInfinity", "LInfinity"): 4}
    assert (over("LInfinity") >> LinearQueries(matrix, "L1")).map(2) == 14
    square = (over("L1") >> LinearQueries(matrix, "L2")).map(1)
    assert 0 <= square**2 - 9 < Fraction(1, 2**50)


def test_the_identity_moves_nothing_farther():
    identity = [[int(i == j) for j in range(3)] for i in range(3)]
    for norm in NORMS:
        t = over(norm) >> LinearQueries(identity)
        assert t([5, -6, 7]).tolist() == [5, -6, 7]
        assert 1 <= t.map(1) <= 1 + Fraction(1, 2**60)


def test_entries_of_one_denominator_stay_whole_units():
    t = over("L1") >> LinearQueries([["1/2", "1/3", 0]])
    assert t([1, 1, 9]).tolist() == [5 / 6]
    assert t.output.domain.element.grid == Fraction(1, 6)


@pytest.mark.parametrize(
    "matrix", [[], [[]], [[1, 2], [3]], 5, [5], [["x"]], [[float("nan")]], [[float("inf")]]]
)
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(UsageError):
        LinearQueries(matrix)
    with pytest.raises(UsageError):
        LinearQueries([[1]], "L7")


@pytest.mark.parametrize(
    ("space", "metric"),
    [
        (over("L1", size=2), None),
        (over("L2"), "L1"),
        (Space(Vector(int), L1Distance()), None),
        (Space(Number("int"), AbsoluteDistance()), None),
    ],
)
def test_spaces_that_do_not_fit_are_refused(space, metric):
    with pytest.raises(MismatchError):
        space >> LinearQueries([[1, 1, 1]], metric)


# Top-coding: what a public policy would change, on public data only.


@given(values=st.lists(st.floats(-1e6, 1e6)), low=st.integers(-10, 10), wide=st.integers(1, 50))
def test_values_and_counts(values: list[float], low: int, wide: int) -> None:
    coded = top_code(values, low, low + wide, data_are_public=True)
    assert coded.values.tolist() == [min(max(v, low), low + wide) for v in values]
    assert coded.below == sum(v < low for v in values)
    assert coded.above == sum(v > low + wide for v in values)
    assert coded.changed == coded.below + coded.above
    assert coded.missing == 0


def test_missing_and_infinite_values_keep_their_place() -> None:
    coded = top_code([math.nan, -math.inf, 3, math.inf], 0, 10, data_are_public=True)
    assert np.isnan(coded.values[0])
    assert coded.values[1:].tolist() == [0, 3, 10]
    assert (coded.below, coded.above, coded.missing) == (1, 1, 1)
    assert math.isnan(coded.shift)


def test_bounds_between_floats_stay_inside() -> None:
    coded = top_code(pd.Series([0.0, 1.0]), "1/3", "2/3", data_are_public=True)
    assert Fraction(1, 3) <= Fraction(coded.values[0])
    assert Fraction(coded.values[1]) <= Fraction(2, 3)


def test_it_says_what_changed() -> None:
    coded = top_code(np.array([1, 2, 300]), 0, 100, data_are_public=True)
    assert str(coded).startswith("1 of 3 values (33.33%) would change: 0 below 0, 1 above 100")
    assert coded.shift == pytest.approx(-200 / 3)
    assert str(top_code([], 0, 1, data_are_public=True)).startswith("0 of 0 values would change")
    assert "300" not in repr(coded)


@pytest.mark.parametrize("flag", [False, None, 1, "yes"])
def test_it_counts_nothing_on_data_that_nobody_called_public(flag: Any) -> None:
    with pytest.raises(UsageError, match="data_are_public=True"):
        top_code([1, 2], 0, 1, data_are_public=flag)


@pytest.mark.parametrize(
    ("values", "lower", "upper", "message"),
    [
        ([1], 3, 2, "lower must be below upper"),
        ([1], 0, math.inf, "finite"),
        (["a"], 0, 1, "numbers"),
        ([[1, 2]], 0, 1, "one column"),
        (7, 0, 1, "one column"),
    ],
)
def test_bad_input_says_what_is_wrong(values: Any, lower: Any, upper: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        top_code(values, lower, upper, data_are_public=True)


# Functions as transformations, held to the definition; what no guarantee rests on is refused.


def spread(rows):
    return float(rows.max() - rows.min())


def data_sets(values, sizes):
    return [list(c) for n in sizes for c in itertools.combinations_with_replacement(values, n)]


def all_moves(t, sets):
    """Return of each pair how far it is apart, and how far its outputs are."""
    outputs = [exact_output(t, rows) for rows in sets]
    return [
        (t.input.metric.distance(u, v), Fraction(t.output.metric.distance(here, there)))
        for (u, here), (v, there) in itertools.product(zip(sets, outputs, strict=True), repeat=2)
    ]


def name_of(function):
    return getattr(function, "__name__", function)


@pytest.mark.few(9)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
@pytest.mark.parametrize("function", [spread, "median", "mean", "var", "std", "max"], ids=name_of)
def test_the_map_is_the_largest_move_over_all_pairs(function, relation):
    size, values = 3, [0, 1, 4]
    t = fw.as_transformation(function, over=tc.Values(values, size=size), relation=relation)
    moves = all_moves(t, data_sets(values, range(1, 6)))
    step = t.output.domain.grid
    for d in (1, 2):
        worst = max(move for apart, move in moves if apart <= d)
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
    t = fw.as_transformation(function, over=over, relation=relation)
    assert t.input.domain.contains([])
    moves = all_moves(t, sets)
    for d in (1, 2, 3):
        worst = max(move for apart, move in moves if apart <= d)
        assert worst <= t.map(d), (d, worst)
        if d == 1:  # farther neighbours are larger than those listed
            assert t.map(d) <= worst + Fraction(1, 2**18)
    assert t.map(1) > 0 or relation == "bounded"


def test_without_a_value_on_no_records_the_answer_says_so():
    t = fw.as_transformation("mean", over=tc.Values([1, 3], size=1))
    assert not t.input.domain.contains([])
    for name, size, said in (("mean", 1, True), ("mean", 2, False), ("count", 1, False)):
        result = tc.sensitivity(name, over=tc.Values([1, 3], size=size))
        assert any("empty release" in note for note in result.notes) is said
        assert ("empty release" in str(result.card())) is said


def test_known_populations_use_each_record_once():
    over = tc.Records([1, 2, 2, 2, 5, 5, 7, 8, 9, 9], size=6)
    t = fw.as_transformation("median", over=over)
    assert t.map(1) == 3
    assert t.map(0) == 0
    assert t.input.domain.contains([1, 2, 2, 2, 5, 5])
    assert not t.input.domain.contains([1, 1, 2, 2, 5, 5])
    assert (t >> fw.laplace(6)).map(1) == Fraction(1, 2)
    assert t.map(10**6) >= t.map(9)


def test_named_statistics_aggregates_and_answers_are_one():
    over = tc.Interval(0, 10, size=5)
    answer = tc.sensitivity("median", over=over, relation="bounded")
    chains = [
        fw.as_transformation("median", over=over, relation="bounded"),
        fw.as_transformation(tc.median(), over=over, relation="bounded"),
        fw.as_transformation(answer),
    ]
    assert {t.map(1) for t in chains} == {answer.value}
    assert all(t([1, 2, 3, 4, 50]) == 3 for t in chains)


def test_histograms_become_vectors():
    over = tc.Interval(0, 10, size=4)
    t = fw.as_transformation(Histogram([0, 5, 10]), over=over, relation="bounded")
    assert t([1, 2, 7, 10]).tolist() == [2, 2]
    assert t.map(1) == 2
    assert (t >> fw.laplace(2)).map(1) == 1


def test_what_is_no_guarantee_is_refused_with_the_reason():
    interval = tc.Interval(0, 10, size=4)
    for answer, reason in [
        (tc.statistics.lower_bound(spread, over=interval), "lower bound"),
        (tc.sensitivity("median", over=interval, distance=2, within=False), "within=True"),
        (tc.sensitivity("median", over=interval, at=[1, 2, 3, 4]), "local"),
    ]:
        with pytest.raises(UsageError, match=reason):
            fw.as_transformation(answer)
    with pytest.raises(UsageError):
        fw.as_transformation(spread)
    with pytest.raises(UsageError):
        fw.as_transformation(spread, over=tc.Values([0, 1], size=2), grid=0)
    with pytest.raises(UsageError):
        fw.as_transformation(lambda rows: float("nan"), over=tc.Values([0, 1], size=2))


def test_no_value_raises_at_run_time():
    t = fw.as_transformation(spread, over=tc.Values([0, 1, 5], size=3), relation="bounded")
    for data in ([], [float("nan")] * 3, [float("inf"), -1e300, "x"], [None, 2, 10**400]):
        assert 0 <= t(data) <= 5


def test_a_chosen_grid_is_charged():
    t = fw.as_transformation("mean", over=tc.Interval(0, 1, size=3), relation="bounded", grid="1/4")
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
    assert from_function_consistent_tree(branching)(noisy) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("nodes", [[1.0, 2.0], [[1.0]]])
def test_an_incomplete_tree_is_refused(nodes):
    with pytest.raises(UsageError, match="complete tree"):
        from_function_consistent_tree(2)(nodes)
    with pytest.raises(UsageError, match="branching"):
        from_function_consistent_tree(1)


# What is read over a population is a part of it: no record twice, and members as they are.


NUMBERS = st.lists(st.integers(-3, 9), min_size=1, max_size=5)


@examples(0.8)
@given(population=NUMBERS, raw=st.lists(st.floats(-5, 12) | st.just(float("nan")), max_size=7))
def test_what_is_read_is_a_member(population, raw):
    domain = ReleaseDomain(Records(population))
    result = domain.read(raw)
    assert domain.contains(result)
    assert domain.read([float(x) for x in result]) == result
    assert len(result) == min(max(len(raw), 1), len(population))


@examples(0.4)
@given(population=NUMBERS, order=st.randoms(use_true_random=False))
def test_members_are_read_as_they_are_in_any_order(population, order):
    part = population[: max(1, len(population) // 2)]
    shuffled = order.sample(part, len(part))
    assert ReleaseDomain(Records(population)).read(shuffled) == sorted(map(Fraction, part))


def test_a_number_that_the_population_has_once_is_not_read_twice():
    """[7, 7] from a population with one 7 was read as itself: claimed 1, attained 7/6."""
    over = Records([1, 4, 7], size=2)
    t = as_transformation("mean", over=over, relation="bounded")
    assert ReleaseDomain(over).read([7, 7]) == [4, 7]
    data = [[a, b] for a in (1, 4, 7, 9) for b in (1, 4, 7, 9)]
    pairs = [(t.input.domain.read(u), t.input.domain.read(v)) for u in data for v in data]
    pairs = [(u, v) for u, v in pairs if u != v]
    assert verify(t, pairs=pairs, d_in=2)
