"""An estimate lies within its own interval, also where the noise is large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.tables.answers.moments import Estimate


def rows(number: int) -> pd.DataFrame:
    place = np.arange(number)
    return pd.DataFrame({"person": place // 2, "x": place % 50, "g": place % 2, "hour": place % 9})


def assert_coherent(answer: Any) -> None:
    for label in answer.labels:
        column = answer.column(label)
        parts = (np.ravel(np.array(column[name], float)) for name in ("low", "value", "high"))
        for low, value, high in zip(*parts, strict=True):
            outside = low > value or value > high  # what is unknown is neither
            assert not outside, (label, low, value, high)


@pytest.mark.few(6)
@pytest.mark.parametrize("epsilon", ["1/1000", 1, 100])
@pytest.mark.parametrize("unit", [tc.one_row_each, tc.unit("person", rows=3)])
def test_every_estimate_is_in_its_interval(epsilon: Any, unit: Any) -> None:
    """A count of 976 stood beside 976.084 to 976.683, and one of -18,790 beside 0 to 11,168."""
    asked = {
        "n": tc.count(),
        "p": tc.count_people(),
        "s": tc.sum("x", -5, 50),
        "m": tc.mean("x", 0, 50),
        "v": tc.var("x", 0, 50),
        "d": tc.std("x", 0, 50),
        "q": tc.median("x", 0, 50),
        "h": tc.histogram("x", [0, 20, 50]),
    }
    with tc.Session(rows(31), unit=unit, budget=tc.epsilon(10**4)) as session:
        question = session.group_by("g", keys=[0, 1, 2]).agg(**asked)
        for tag in range(6):
            answer = question.release(epsilon=epsilon, tag=str(tag))
            assert_coherent(answer)
        whole = [answer.column(label) for label in ("n", "p", "h")]
        for column in whole:
            ends = [column[name] for name in ("low", "value", "high")]
            assert all(type(end) is int for end in np.ravel(np.array(ends, object)).tolist())


def test_counts_over_time_are_in_their_intervals() -> None:
    with tc.Session(rows(9), unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        counter = session.count_over_time("hour", start=0, every=1, periods=60, epsilon="1/50")
        assert_coherent(counter.update(now=60))


def test_an_interval_only_grows_and_what_is_unknown_stays_so() -> None:
    """Hence coverage does not fall."""
    nan = np.nan
    value, low, high = [-3.0, 5.0, 2.0, nan], [0, 4, nan, nan], [0, 6, nan, nan]
    made = Estimate(*map(np.array, (value, [1.0] * 4, low, high)))
    found = made.coherent()
    assert found.value.tolist()[:3] == [-3.0, 5.0, 2.0]
    assert found.lower.tolist()[:2] == [-3.0, 4.0]
    assert found.upper.tolist()[:2] == [0.0, 6.0]
    assert np.isnan(found.lower[2:]).all()
    assert np.isnan(found.upper[2:]).all()
