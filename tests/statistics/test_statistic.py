"""A(t) against breadth-first search over every data set of a grid, in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.at_distance import by_definition
from support.examples import examples
from tacit.errors import UsageError
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.question import RELATIONS
from tacit.statistics.smooth import at_distance, local_sensitivity_at
from tacit.statistics.variances import Variance

EXACT = ["count", "sum", "mean", "median", "min", "max"]
EXACT += [f"percentile({q})" for q in (0, 10, 25, 33, 37.5, 50, 66, 90, 100)]


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
