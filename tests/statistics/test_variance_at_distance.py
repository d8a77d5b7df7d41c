"""Variances at a distance: the definition by substitution, never below it elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.at_distance import by_definition
from support.examples import examples
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.smooth import at_distance
from tacit.statistics.variances import Variance


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


def test_variance_with_records_joining_is_tight_where_data_are_concentrated() -> None:
    data, values = [1, 1, 2, 2], [0, 1, 2, 12]
    statistic = lookup("var")
    for relation in ("unbounded", "add"):
        truth = by_definition(statistic.exact, data, values, relation, 1)
        found = at_distance(statistic, data, (0, 12), relation)
        assert [found.at(t) for t in (0, 1)] == pytest.approx([float(a) for a in truth], rel=1e-6)
