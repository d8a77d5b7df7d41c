"""A(t) against breadth-first search over every data set of a grid, in exact rationals."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import pkgutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.statistics
import tacit.statistics as ts
from support.by_hand.at_distance import by_definition, cases
from support.by_hand.statistics_oracle import HELD_BESIDE, ROOTS, VALUES
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.global_sensitivity import NAMES as EVERY_STATISTIC_NAMES
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.question import RELATIONS
from tacit.statistics.smooth import at_distance, local_sensitivity_at
from tacit.statistics.statistic import Statistic, distance_between
from tacit.statistics.variances import Variance

EXACT = ["count", "sum", "mean", "median", "min", "max"]
EXACT += [f"percentile({q})" for q in (0, 10, 25, 33, 37.5, 50, 66, 90, 100)]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", EXACT)
@examples(0.6)
@given(case=cases())
def test_exact_statistics_equal_the_definition(
    name: str, case: tuple[list[int], list[int], str, int]
) -> None:
    data, values, relation, farthest = case
    statistic = lookup(name)
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    assert found.exact
    assert [found.at(t) for t in range(farthest + 1)] == truth


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "name", ["sum", "mean", "median", "max", "percentile(33)", "percentile(90)", "var", "std"]
)
@examples(0.25)
@given(
    data=st.lists(st.integers(0, 12), min_size=3, max_size=9),
    new=st.integers(0, 12),
    relation=st.sampled_from(["unbounded", "bounded"]),
    bound=st.fractions(Fraction(1, 20), 12, max_denominator=20),
)
def test_a_neighbour_one_step_further_is_never_below(
    name: str, data: list[int], new: int, relation: Any, bound: Fraction
) -> None:
    """What smooth sensitivity and propose-test-release rest on, for bounds as for truths."""
    other = [*data[:-1], new] if relation == "bounded" else [*data, new]
    mine = at_distance(name, data, (0, 12), relation)
    its = at_distance(name, other, (0, 12), relation)
    slack = 1 if mine.exact else 1 + Fraction(1, 10**6)
    for one, two in ((mine, its), (its, mine)):
        for t in range(len(data) + 2):
            assert Fraction(one.at(t)) <= slack * Fraction(two.at(t + 1))
            assert one.at(t) <= one.at(t + 1)
    there, here = mine.instability(bound), its.instability(bound)
    assert (there is None) == (here is None)
    if there is not None and here is not None:
        assert abs(there - here) <= 1


def test_values_outside_the_bounds_count_as_the_bound() -> None:
    for relation in RELATIONS:
        for name in ("mean", "median", "var"):
            inside = local_sensitivity_at(name, [0, 3, 10], (0, 10), 1, relation)
            assert local_sensitivity_at(name, [-50, 3, 99], (0, 10), 1, relation) == inside


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["mean", "median", "percentile(30)", "sum", "var"])
def test_units_offsets_and_kinds_of_numbers_change_nothing(name: str, relation: Any) -> None:
    rng = np.random.default_rng(5)
    whole = rng.integers(0, 1000, size=40)
    shift = 0 if name == "sum" else 10**12
    plain = at_distance(name, whole, (0, 1000), relation)
    moved = at_distance(name, whole + shift, (shift, 1000 + shift), relation)
    fractions = at_distance(name, [Fraction(int(v), 3) for v in whole], (0, "1000/3"), relation)
    floats = at_distance(name, whole / 1024, (0, 1000 / 1024), relation)
    power = 2 if name == "var" else 1
    for t in (0, 1, 5, 30):
        assert float(moved.at(t)) == pytest.approx(float(plain.at(t)), rel=1e-9)
        assert float(fractions.at(t)) == pytest.approx(float(plain.at(t)) / 3**power, rel=1e-9)
        assert float(floats.at(t)) == pytest.approx(float(plain.at(t)) / 1024**power, rel=1e-9)
        if plain.exact:
            assert moved.at(t) == plain.at(t)


def test_wide_ranging_floats_are_exact() -> None:
    data = [1e-30, 1.0, 1e15, 3.7]
    truth = by_definition(lookup("median").exact, data, [0, *data, 10**16], "bounded", 2)  # type: ignore[arg-type, list-item]
    assert [
        local_sensitivity_at("median", data, (0, 1e16), t, "bounded") for t in range(3)
    ] == truth


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": None}, "give bounds"),
        ({"bounds": (10, 0)}, "lower below upper"),
        ({"bounds": (3, 3)}, "lower below upper"),
        ({"bounds": 7}, "must be a pair"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"data": []}, "empty"),
        ({"data": [1, math.nan]}, "finite"),
        ({"data": ["a"]}, "number"),
        ({"relation": "swap"}, "unknown"),
        ({"distance": -1}, "at least 0"),
        ({"statistic": "medain"}, "did you mean 'median'"),
        ({"statistic": len}, "give values"),
        ({"data": [1], "relation": "remove"}, "nothing would remain"),
        ({"statistic": Variance(ddof=1), "data": [1]}, "at least 2"),
    ],
)
def test_bad_questions_say_what_to_do(arguments: dict[str, Any], message: str) -> None:
    question: dict[str, Any] = {"statistic": "median", "data": [1, 2], "bounds": (0, 10)}
    with pytest.raises(UsageError, match=message):
        local_sensitivity_at(**{**question, **arguments})


# Within k is defined for every k: held by brute force over all pairs, however far they go.


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


# Every statistic is registered, and has a row in the list that is held against enumeration.


ROOT = Path(__file__).parents[2]
MADE_WITH_A_NUMBER = {"Function", "Histogram", "Quantile"}
"""What is asked for by a function, edges or a percentage, and has no plain name."""


def kinds(base: type[Statistic]) -> Iterator[type[Statistic]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def ours() -> set[str]:
    """The names of the classes of statistics in the package."""
    for module in pkgutil.walk_packages(tacit.statistics.__path__, "tacit.statistics."):
        importlib.import_module(module.name)
    return {
        kind.__name__
        for kind in kinds(Statistic)
        if kind.__module__.startswith("tacit.statistics.")
        and not inspect.isabstract(kind)
        and not kind.__name__.startswith("_")
    }


def test_every_statistic_is_registered() -> None:
    assert (
        ours()
        == {type(lookup(name)).__name__ for name in EVERY_STATISTIC_NAMES} | MADE_WITH_A_NUMBER
    )


def test_every_statistic_has_a_row_in_the_oracles_list() -> None:
    rows = {type(lookup(name)).__name__ for name in [*VALUES, *ROOTS]}
    assert rows | set(HELD_BESIDE) == ours()


def test_what_is_held_beside_is_enumerated_there() -> None:
    for name, place in HELD_BESIDE.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        assert "statistics_oracle" in text, name
