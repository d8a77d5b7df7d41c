"""Any function: each distinct release once, the refusals, and what the function may not do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from tacit.errors import InfeasibleError
from tacit.statistics import search
from tacit.statistics.search import batched


def spread_of(x: Any) -> float:
    return float(x[-1] - x[0])


def test_each_distinct_release_is_evaluated_once() -> None:
    seen: list[tuple[float, ...]] = []

    def watched(x: Any) -> float:
        seen.append(tuple(x))
        return float(x.sum() ** 2)

    found = ts.sensitivity(watched, ts.Records([1, 1, 1, 2, 2, 7], size=3), relation="bounded")
    assert len(set(seen)) == len(seen) == found.evaluations == 6
    assert all(list(x) == sorted(x) for x in seen)
    assert found.method == "exhaustive"
    assert found.witness is not None


def test_values_repeat_beyond_the_size() -> None:
    """Additions to a release of n equal values need n + k copies."""
    total = batched(lambda rows: rows.sum(axis=1))
    found = ts.sensitivity(total, ts.Values([0, 1, 2], size=3), at=[2, 2, 2], distance=2)
    assert found.value == 4
    assert found.witness == ((2, 2, 2), (2,)) or found.witness == ((2, 2, 2), (2,) * 5)


def test_too_large_a_search_says_how_large_and_what_to_do() -> None:
    with pytest.raises(InfeasibleError) as caught:
        ts.sensitivity(spread_of, ts.Records(range(40), size=20))
    for part in ("evaluations", "GiB", "lower_bound", f"{2**40:,}"):
        assert part in str(caught.value)
    with pytest.raises(InfeasibleError, match="neighbours to evaluate"):
        ts.sensitivity(spread_of, ts.Records(range(400)), at=range(200), distance=9)
    with pytest.raises(InfeasibleError, match="give Values"):
        ts.sensitivity(spread_of, ts.Interval(0, 1, size=3))
    with pytest.raises(InfeasibleError, match="give size"):
        ts.sensitivity(spread_of, ts.Values([0, 1]))


def test_a_statistic_without_an_algorithm_is_searched_in_exact_numbers() -> None:
    over, offset = ts.Records(np.array([0.0, 1, 5, 6, 9]) + 2.0**52, size=3), 2**52
    question = ts.Question(over)
    found = search.exhaustive(ts.lookup("mean"), question)
    assert found.method == "exhaustive"
    population = [Fraction(v + offset) for v in (0, 1, 5, 6, 9)]
    assert found.value == oracle.over_records(oracle.mean, population, 3, 1, "unbounded", True)
