"""Within k is defined for every k: held by brute force over all pairs, however far they go."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.statistic import distance_between

NAMES = ["count", "sum", "mean", "median", "percentile(30)", "min", "max", "var", "std"]


def parts(population, fewest):
    """Every release as the places of its records: equal values are distinct people."""
    places, sizes = range(len(population)), range(fewest, len(population) + 1)
    return [c for n in sizes for c in itertools.combinations(places, n)]


def distance(u, v, relation):
    gone, come = len(set(u) - set(v)), len(set(v) - set(u))
    if relation == "bounded":
        return gone if gone == come else None
    if (relation == "add" and gone) or (relation == "remove" and come):
        return None
    return gone + come


@examples(0.6)
@given(
    population=st.lists(st.integers(-3, 5), min_size=1, max_size=5),
    size=st.integers(1, 5),
    k=st.integers(1, 12),
    name=st.sampled_from(NAMES),
    relation=st.sampled_from(["unbounded", "add", "remove", "bounded"]),
    local=st.booleans(),
)
def test_within_k_is_the_worst_of_all_pairs_within_k(population, size, k, name, relation, local):
    population = sorted(population)
    size = min(size, len(population))
    statistic = lookup(name)
    releases = parts(population, 0 if name in ("count", "sum") else 1)
    value = {u: statistic.exact([Fraction(population[i]) for i in u]) for u in releases}
    starts = [u for u in value if len(u) == size][: 1 if local else None]
    gaps = {
        (u, v): distance_between(value[u], value[v])
        for u, v in itertools.product(starts, value)
        if (d := distance(u, v, relation)) is not None and d <= k
    }
    at = [population[i] for i in starts[0]] if local else None
    found = ts.sensitivity(statistic, ts.Records(population, size=size), at, k, relation)
    truth = float(max(gaps.values(), default=0))
    assert abs(float(found.value) - truth) <= 1e-12 * (1 + truth)
    far = max((distance(u, v, relation) for u, v in gaps), default=0)
    told = [note for note in found.notes if "was asked" in note or "let alone" in note]
    if relation != "bounded":
        most = max(d for u in starts for v in value if (d := distance(u, v, relation)) is not None)
        assert bool(told) == (k > most)
    for note in told:
        assert f"more than {far} away" in note or (far == 0 and "no record" in note)


def test_exactly_a_distance_that_nobody_has_stays_infeasible():
    over = ts.Records([1, 2, 3, 10, 11], size=3)
    with pytest.raises(InfeasibleError, match="greatest distance is 2"):
        ts.sensitivity("mean", over, distance=3, within=False)


def test_functions_and_profiles_answer_too():
    over = ts.Records([1, 2, 3, 10, 11], size=3)
    answers = [ts.sensitivity(max, over, distance=k).value for k in (5, 6, 60)]
    assert answers[0] == answers[1] == answers[2]
    assert ts.sensitivity_profile(["mean"], over=over, distances=range(1, 9))


@pytest.mark.parametrize("name", ["var(ddof=1)", "std(ddof=1)"])
@pytest.mark.parametrize("relation", ["unbounded", "remove"])
def test_what_left_neighbours_out_is_no_guarantee(name, relation):
    """var(ddof=1) has no value of one record: no map may rest on the pairs that are left."""
    near, far = (
        ts.sensitivity(name, ts.Interval(0, 1, size=3), distance=k, relation=relation)
        for k in (1, 2)
    )
    assert near.is_guarantee
    assert not far.is_guarantee
    assert "has no value" in far.why_no_guarantee
    with pytest.raises(UsageError, match="fewer than 2 records"):
        ts.stability_map(name, ts.Interval(0, 1, size=3), relation)


@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
def test_nor_is_one_over_releases_of_every_size(relation):
    found = ts.sensitivity("var(ddof=1)", ts.Interval(0, 1), relation=relation)
    assert not found.is_guarantee
    with pytest.raises(UsageError):
        ts.stability_map("var(ddof=1)", ts.Interval(0, 1), relation)


def test_where_every_neighbour_has_a_value_it_is_one():
    assert ts.sensitivity("var(ddof=1)", ts.Interval(0, 1, size=3), relation="add").is_guarantee
    d = ts.stability_map("var(ddof=1)", ts.Interval(0, 1, size=2), "bounded")
    assert d(1) == d(5) == Fraction(1, 2)


@pytest.mark.parametrize("name", [*NAMES, max])
@pytest.mark.parametrize("over", [ts.Records([1, 2, 5, 9]), ts.Values([0, 3, 4])])
def test_witnesses_come_in_the_order_of_the_move(name, over):
    """Where the size is open, what was added stood first."""
    if callable(name) and isinstance(over, ts.Values):
        over = ts.Values([0, 3, 4], size=3)
    x, y = ts.sensitivity(name, over, relation="add").witness
    assert len(x) <= len(y)
    x, y = ts.sensitivity(name, over, relation="remove").witness
    assert len(x) >= len(y)
