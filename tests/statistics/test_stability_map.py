"""A sensitivity as a stability map: total, never falling, and refused where nothing is proven."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError


@examples(0.6)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=5),
    st.sampled_from(["unbounded", "bounded"]),
    st.sampled_from(["mean", "median", "sum", "count", "min"]),
    st.booleans(),
)
def test_a_map_is_total_monotone_and_holds_for_every_pair(
    population: list[int], relation: Any, name: str, sized: bool
) -> None:
    n = len(population)
    size = max(1, n // 2) if sized else None
    d = ts.stability_map(name, ts.Records(population, size=size), relation)
    bounds = [d(k) for k in range(n + 3)]
    assert bounds[0] == 0
    assert bounds == sorted(bounds)
    value, exact = oracle.VALUES[name], [Fraction(v) for v in population]
    everything = list(oracle.subsets(n, range(1, n + 1)))
    for x in everything:
        for y in everything:
            lost, gained = len(x - y), len(y - x)
            if (size is not None and len(x) != size) or (relation == "bounded" and lost != gained):
                continue
            apart = lost if relation == "bounded" else lost + gained
            a, b = (value(tuple(exact[i] for i in sorted(side))) for side in (x, y))
            assert abs(a - b) <= bounds[apart]


def test_any_function_becomes_a_map() -> None:
    d = ts.stability_map(np.ptp, ts.Values([0, 1, 5], size=3), "bounded")
    assert [d(k) for k in range(4)] == [0, 5, 5, 5]
    assert d.answer(1).witness is not None


def test_what_is_no_guarantee_is_refused_with_the_reason() -> None:
    over = ts.Records([1, 2, 3, 10, 11], size=3)
    for answer, reason in (
        (ts.sensitivity("mean", over, at=[1, 2, 3]), "local"),
        (ts.sensitivity("mean", over, distance=2, within=False), "exactly the distance"),
        (ts.lower_bound("mean", over, evaluations=100), "lower bound"),
    ):
        with pytest.raises(UsageError, match=reason):
            ts.map_of(answer)
    assert ts.map_of(ts.sensitivity("mean", over))(1) == ts.sensitivity("mean", over).value
    with pytest.raises(UsageError, match="one column"):
        ts.stability_map("mean", ts.Records({"a": [1, 2]}))
    with pytest.raises(UsageError, match="d_in must be at least 0"):
        ts.stability_map("mean", over)(-1)
    with pytest.raises(InfeasibleError, match="no neighbour"):
        ts.stability_map("mean", ts.Records([1]))
