"""Deviations at a distance are never below the definition."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.at_distance import by_definition
from support.examples import examples
from tacit.statistics.question import RELATIONS
from tacit.statistics.smooth import at_distance
from tacit.statistics.variances import StandardDeviation, Variance


@st.composite
def cases(draw: st.DrawFn, most_values: int = 4) -> tuple[list[int], list[int], str, int]:
    values = sorted(draw(st.sets(st.integers(-9, 20), min_size=2, max_size=most_values)))
    data = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    relation = draw(st.sampled_from(RELATIONS))
    if relation == "remove" and len(data) == 1:
        data = data * 2
    return data, values, relation, draw(st.integers(0, 3))


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


def test_deviation_is_exact_once_all_records_may_change() -> None:
    found = at_distance("std", [1, 2, 4, 9], (0, 10), "bounded")
    assert found.at(4) == pytest.approx(10 * math.sqrt(3) / 4, rel=1e-15)
