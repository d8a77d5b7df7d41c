"""Interquartile ranges at a distance, against the definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.substituted import by_definition
from support.examples import examples
from tacit.statistics.quantiles import InterquartileRange
from tacit.statistics.smooth import at_distance


@examples(0.6)
@given(
    data=st.lists(st.sampled_from([0, 1, 5, 12]), min_size=2, max_size=5),
    steps=st.integers(0, 2),
)
def test_interquartile_range_is_never_below_the_definition(data: list[int], steps: int) -> None:
    statistic = InterquartileRange()
    found = at_distance(statistic, data, (0, 12), "bounded")
    assert not found.exact
    assert found.at(steps) >= by_definition(statistic, data, [0, 1, 5, 12], steps)
    assert statistic(data) == pytest.approx(float(statistic.exact(sorted(map(Fraction, data)))))


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_the_bound_is_within_the_range_of_the_statistic(relation: str) -> None:
    """24 was said within bounds of 0 and 12."""
    found = at_distance("interquartile_range", [0, 1, 11, 12], (0, 12), relation)
    assert max(found.at(t) for t in range(found.last + 2)) == 12
    assert found.smooth(Fraction(1, 100)) <= 12.0001
    assert found.instability(Fraction(12)) is None
    assert found.instability(Fraction(11)) is not None
