"""Lower bounds by local search: attained, never above the truth, and no guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.examples import examples
from tacit.errors import InfeasibleError
from tacit.statistics.result import differing_pair


@examples(0.8)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=8),
    st.sampled_from(["unbounded", "add", "remove", "bounded"]),
    st.sampled_from(["mean", "median", "sum"]),
    st.data(),
)
def test_a_lower_bound_is_attained_and_not_above_the_truth(
    population: list[int], relation: Any, name: str, data: Any
) -> None:
    n = data.draw(st.integers(1, len(population)))
    k = data.draw(st.integers(1, 3))
    at = data.draw(st.one_of(st.none(), st.permutations(population).map(lambda p: p[:n])))
    for over in (
        ts.Records(population, size=n),
        ts.Values(population, size=n),
        ts.Interval(min(population), max(population), size=n),
    ):
        try:
            truth = ts.sensitivity(name, over, at, k, relation)
        except InfeasibleError:
            continue
        found = ts.lower_bound(name, over, at, k, relation, evaluations=1500)
        assert found.value <= truth.value
        assert found.method == "lower bound"
        assert not found.exact
        assert not found.is_guarantee
        assert "lower bound" in str(found.why_no_guarantee)
        if found.witness is None:
            assert found.value == truth.value == 0
            assert differing_pair(found.question) is None
            continue
        statistic = ts.lookup(name)
        x, y = (statistic.of(side) for side in found.pair or ())
        assert abs(x - y) == found.value  # type: ignore[operator]


def test_local_search_reaches_what_search_cannot() -> None:
    over = ts.Records(range(200), size=100)
    with pytest.raises(InfeasibleError, match="lower_bound"):
        ts.sensitivity(np.ptp, over)
    # {0..98, 199} and {0..98} are 101 apart; a search need not find them.
    assert 99 <= ts.lower_bound(np.ptp, over).value <= 101
    with pytest.raises(InfeasibleError, match="size"):
        ts.lower_bound(np.ptp, ts.Interval(0, 1))


def test_a_lower_bound_sorts_what_it_picks():
    """The pool lists the release first, so its picks do not ascend by themselves."""
    found = ts.lower_bound("median", over=ts.Records([0, 0, 1, 0], 3), at=[0, 0, 1], relation="add")
    assert found.value == 0
    assert found.witness == ((0, 0, 1), (0, 0, 0, 1))
