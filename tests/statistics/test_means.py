"""Trimmed means at a distance, against the definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.by_hand.substituted import by_definition
from support.examples import examples
from tacit.errors import UsageError
from tacit.statistics.means import TrimmedMean
from tacit.statistics.quantiles import InterquartileRange
from tacit.statistics.smooth import at_distance, smooth_sensitivity


@examples(0.8)
@given(
    data=st.lists(st.sampled_from([0, 1, 5, 12]), min_size=1, max_size=5),
    share=st.sampled_from([0, "0.2", "0.25", "0.4"]),
    steps=st.integers(0, 2),
)
def test_trimmed_mean_equals_the_definition(data: list[int], share: Any, steps: int) -> None:
    statistic = TrimmedMean(share)
    found = at_distance(statistic, data, (0, 12), "bounded")
    assert found.exact
    assert found.at(steps) == by_definition(statistic, data, [0, 1, 5, 12], steps)
    assert statistic(np.array(data)) == pytest.approx(
        float(statistic.exact(sorted(map(Fraction, data))))
    )


@pytest.mark.full
def test_smooth_is_the_maximum() -> None:
    data = np.random.default_rng(2).integers(0, 90, size=70)
    for statistic in (TrimmedMean(), TrimmedMean("0.4"), InterquartileRange()):
        found = at_distance(statistic, data, (0, 100), "bounded")
        for beta in (0.5, 0.03):
            truth = max(np.exp(-beta * t) * float(found.at(t)) for t in range(found.last + 1))
            smooth = smooth_sensitivity(statistic, data, (0, 100), beta, "bounded")
            assert truth * (1 - 1e-14) <= smooth <= truth * (1 + 1e-6)


def test_a_trimmed_mean_of_one_record_left_is_the_median() -> None:
    data = [3, 1, 4, 1, 5, 9, 2]
    trimmed = at_distance(TrimmedMean("0.45"), data, (0, 10), "bounded")
    median = at_distance("median", data, (0, 10), "bounded")
    assert [trimmed.at(t) for t in range(8)] == [median.at(t) for t in range(8)]


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="give values"):
        at_distance(TrimmedMean(), [1, 2, 3], (0, 5), "unbounded")
    with pytest.raises(UsageError, match="below 1/2"):
        TrimmedMean("1/2")
    known = at_distance(TrimmedMean(), [1, 2, 2], None, "unbounded", values=[1, 2, 5])
    assert known.at(1) > 0
