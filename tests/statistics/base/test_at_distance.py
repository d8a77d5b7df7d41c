"""A(t) against breadth-first search over every data set of a grid, in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.ask.registry import lookup
from tacit.statistics.ask.smooth_sensitivity import (
    at_distance,
    distance_to_instability,
    local_sensitivity_at,
)
from tacit.statistics.base.question import RELATIONS
from tacit.statistics.quantiles.quantile import percentile
from tacit.statistics.variances.standard_deviation import StandardDeviation
from tacit.statistics.variances.variance import Variance

Release = tuple[Fraction, ...]
EXACT = ["count", "sum", "mean", "median", "min", "max"]
EXACT += [f"percentile({q})" for q in (0, 10, 25, 33, 37.5, 50, 66, 90, 100)]


def neighbours(release: Release, values: list[Fraction], relation: str) -> Iterator[Release]:
    """Every neighbour of a release, by the definition."""
    less = [release[:i] + release[i + 1 :] for i in range(len(release))]
    if relation == "bounded":
        yield from (tuple(sorted((*kept, v))) for kept in less for v in values)
    if relation in ("unbounded", "add"):
        yield from (tuple(sorted((*release, v))) for v in values)
    if relation in ("unbounded", "remove") and len(release) > 1:
        yield from less


def by_definition(
    f: Callable[[Release], Any],
    data: list[int],
    values: list[int],
    relation: str,
    farthest: int,
    fewest: int = 1,
    gap: Callable[[Any, Any], Any] = lambda a, b: abs(a - b),
) -> list[Any]:
    """A(0), ..., A(farthest), from all releases within each distance."""
    start: Release = tuple(sorted(map(Fraction, data)))
    grid = [Fraction(v) for v in values]
    known: dict[Release, Any] = {}

    def value(release: Release) -> Any:
        if release not in known:
            known[release] = f(release)
        return known[release]

    seen, front, best, profile = {start}, {start}, Fraction(0), []
    for _ in range(farthest + 1):
        reached = set()
        for release in front:
            for other in neighbours(release, grid, relation):
                if len(other) >= fewest:
                    best = max(best, gap(value(release), value(other)))
                    reached.add(other)
        profile.append(best)
        front = reached - seen
        seen |= front
    return profile


@st.composite
def cases(draw: st.DrawFn, most_values: int = 4) -> tuple[list[int], list[int], str, int]:
    values = sorted(draw(st.sets(st.integers(-9, 20), min_size=2, max_size=most_values)))
    data = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    relation = draw(st.sampled_from(RELATIONS))
    if relation == "remove" and len(data) == 1:
        data = data * 2
    return data, values, relation, draw(st.integers(0, 3))


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


@examples(1.5)
@given(case=cases(3), q=st.fractions(0, 1, max_denominator=12))
def test_any_percentile_equals_the_definition(
    case: tuple[list[int], list[int], str, int], q: Fraction
) -> None:
    data, values, relation, farthest = case
    statistic = percentile(100 * q)
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    assert [found.at(t) for t in range(farthest + 1)] == truth


@examples(0.6)
@given(case=cases(3))
def test_awkward_percentiles_are_never_below_the_definition(
    case: tuple[list[int], list[int], str, int],
) -> None:
    """A q with a huge denominator: exact, but for records that only join."""
    data, values, relation, farthest = case
    statistic = percentile(100 * Fraction(0.3))
    truth = by_definition(statistic.exact, data, values, relation, farthest)
    found = at_distance(statistic, data, (values[0], values[-1]), relation)
    profile = [found.at(t) for t in range(farthest + 1)]
    assert found.exact == (relation != "add")
    if found.exact:
        assert profile == truth
    assert all(a >= b for a, b in zip(profile, truth, strict=True))


@pytest.mark.few(3)
@pytest.mark.parametrize(("size", "top", "step"), [(2, 6, 1), (3, 8, 2), (4, 6, 3)])
@examples(0.6)
@given(draw=st.data(), ddof=st.integers(0, 1), farthest=st.integers(0, 3))
def test_variance_by_substitution_equals_the_definition(
    size: int, top: int, step: int, draw: st.DataObject, ddof: int, farthest: int
) -> None:
    """The grid holds every mean of ``size - 1`` records, where the best new record may stand."""
    records = st.sampled_from(range(0, top + 1, step))
    data = draw.draw(st.lists(records, min_size=size, max_size=size))
    statistic = Variance(ddof=ddof)
    truth = by_definition(statistic.exact, data, list(range(top + 1)), "bounded", farthest)
    found = at_distance(statistic, data, (0, top), "bounded")
    assert found.exact
    assert [found.at(t) for t in range(farthest + 1)] == truth


@examples(1.5)
@given(case=cases(), ddof=st.integers(0, 1))
def test_variance_and_deviation_are_never_below_the_definition(
    case: tuple[list[int], list[int], str, int], ddof: int
) -> None:
    data, values, relation, farthest = case
    if len(data) <= ddof + (relation == "remove"):
        data = data * 3
    bounds = values[0], values[-1]
    squared = Variance(ddof=ddof)
    truth = by_definition(squared.exact, data, values, relation, farthest, 1 + ddof)
    found = at_distance(squared, data, bounds, relation)
    assert all(found.at(t) >= a for t, a in enumerate(truth))
    deviation = StandardDeviation(ddof=ddof)
    truth = by_definition(
        lambda r: math.sqrt(squared.exact(r)), data, values, relation, farthest, 1 + ddof
    )
    found = at_distance(deviation, data, bounds, relation)
    assert not found.exact
    assert all(found.at(t) >= a * (1 - 1e-14) for t, a in enumerate(truth))


def test_variance_with_records_joining_is_tight_where_data_are_concentrated() -> None:
    data, values = [1, 1, 2, 2], [0, 1, 2, 12]
    statistic = lookup("var")
    for relation in ("unbounded", "add"):
        truth = by_definition(statistic.exact, data, values, relation, 1)
        found = at_distance(statistic, data, (0, 12), relation)
        assert [found.at(t) for t in (0, 1)] == pytest.approx([float(a) for a in truth], rel=1e-6)


def test_deviation_is_exact_once_all_records_may_change() -> None:
    found = at_distance("std", [1, 2, 4, 9], (0, 10), "bounded")
    assert found.at(4) == pytest.approx(10 * math.sqrt(3) / 4, rel=1e-15)


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


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["mean", "median", "percentile(30)", "var", "std", "count"])
@examples(0.12)
@given(draw=st.data())
def test_tables_over_small_value_sets_equal_the_definition(
    name: str, relation: Any, draw: st.DataObject
) -> None:
    values = sorted(draw.draw(st.sets(st.integers(-5, 9), min_size=2, max_size=3)))
    data = draw.draw(st.lists(st.sampled_from(values), min_size=2, max_size=4))
    statistic = lookup(name)
    if name == "std":
        variance = Variance()
        truth = by_definition(lambda r: math.sqrt(variance.exact(r)), data, values, relation, 2)
        found = [
            local_sensitivity_at(name, data, None, t, relation, values=values) for t in (0, 1, 2)
        ]
        assert [float(a) for a in found] == pytest.approx([float(a) for a in truth])
        return
    truth = by_definition(statistic.exact, data, values, relation, 2)
    for t, expected in enumerate(truth):
        assert local_sensitivity_at(name, data, None, t, relation, values=values) == expected


def test_any_function_over_a_small_value_set() -> None:
    def most_common(records: Any) -> float:
        found, counts = np.unique(records, return_counts=True)
        return float(found[np.argmax(counts)])

    data, values = [1, 1, 1, 2, 7], [1, 2, 7]

    def exact(release: Release) -> Fraction:
        return Fraction(most_common(np.array([float(v) for v in release])))

    for relation in RELATIONS:
        truth = by_definition(exact, data, values, relation, 3)
        found = at_distance(most_common, data, None, relation, values=values, farthest=3)
        assert [found.at(t) for t in range(4)] == truth
    assert distance_to_instability(
        most_common, data, None, "1/2", "bounded", values=values
    ) == next(t for t, a in enumerate(by_definition(exact, data, values, "bounded", 3)) if a)


def test_tables_refuse_what_they_do_not_know() -> None:
    found = at_distance("median", [1, 2], None, "unbounded", values=[1, 2], farthest=1)
    with pytest.raises(InfeasibleError, match="larger farthest"):
        found.at(2)
    bounded = at_distance("median", [1, 2], None, "unbounded", values=[1, 2], largest=1)
    assert bounded.at(50) == 1
    with pytest.raises(InfeasibleError, match="fewer values"):
        at_distance("median", range(40), None, "bounded", values=range(40))
    with pytest.raises(UsageError, match="not one of the values"):
        at_distance("median", [1, 3], None, "bounded", values=[1, 2])


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
