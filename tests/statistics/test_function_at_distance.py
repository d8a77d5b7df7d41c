"""Tables and functions over small value sets at a distance, against the definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.at_distance import Release, by_definition
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.question import RELATIONS
from tacit.statistics.search import Function
from tacit.statistics.smooth import at_distance, distance_to_instability, local_sensitivity_at
from tacit.statistics.variances import Variance


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


@pytest.mark.parametrize("distance", [0, 1, 2])
def test_the_last_record_may_leave_where_there_is_a_value_on_none(distance: int) -> None:
    declared = Function(np.ptp, empty=7)
    for statistic, worst in ((declared, 7), ("count", 1), ("sum", 3)):
        told = {"values": [1, 3], "relation": "remove", "distance": distance}
        local = local_sensitivity_at(statistic, [1, 3], **told)
        assert local == (worst if statistic != declared or distance else 2)
        assert local_sensitivity_at(statistic, [3], **told) == worst
    with pytest.raises(InfeasibleError, match="nothing would remain"):
        local_sensitivity_at("mean", [1], values=[1, 3], relation="remove")
