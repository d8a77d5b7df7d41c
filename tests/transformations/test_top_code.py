"""Top-coding: what a public policy would change, on public data only."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.transformations.top_code import top_code


@given(values=st.lists(st.floats(-1e6, 1e6)), low=st.integers(-10, 10), wide=st.integers(1, 50))
def test_values_and_counts(values: list[float], low: int, wide: int) -> None:
    coded = top_code(values, low, low + wide, data_are_public=True)
    assert coded.values.tolist() == [min(max(v, low), low + wide) for v in values]
    assert coded.below == sum(v < low for v in values)
    assert coded.above == sum(v > low + wide for v in values)
    assert coded.changed == coded.below + coded.above
    assert coded.missing == 0


def test_missing_and_infinite_values_keep_their_place() -> None:
    coded = top_code([math.nan, -math.inf, 3, math.inf], 0, 10, data_are_public=True)
    assert np.isnan(coded.values[0])
    assert coded.values[1:].tolist() == [0, 3, 10]
    assert (coded.below, coded.above, coded.missing) == (1, 1, 1)
    assert math.isnan(coded.shift)


def test_bounds_between_floats_stay_inside() -> None:
    coded = top_code(pd.Series([0.0, 1.0]), "1/3", "2/3", data_are_public=True)
    assert Fraction(1, 3) <= Fraction(coded.values[0])
    assert Fraction(coded.values[1]) <= Fraction(2, 3)


def test_it_says_what_changed() -> None:
    coded = top_code(np.array([1, 2, 300]), 0, 100, data_are_public=True)
    assert str(coded).startswith("1 of 3 values (33.33%) would change: 0 below 0, 1 above 100")
    assert coded.shift == pytest.approx(-200 / 3)
    assert str(top_code([], 0, 1, data_are_public=True)).startswith("0 of 0 values would change")
    assert "300" not in repr(coded)


@pytest.mark.parametrize("flag", [False, None, 1, "yes"])
def test_it_counts_nothing_on_data_that_nobody_called_public(flag: Any) -> None:
    with pytest.raises(UsageError, match="data_are_public=True"):
        top_code([1, 2], 0, 1, data_are_public=flag)


@pytest.mark.parametrize(
    ("values", "lower", "upper", "message"),
    [
        ([1], 3, 2, "lower must be below upper"),
        ([1], 0, math.inf, "finite"),
        (["a"], 0, 1, "numbers"),
        ([[1, 2]], 0, 1, "one column"),
        (7, 0, 1, "one column"),
    ],
)
def test_bad_input_says_what_is_wrong(values: Any, lower: Any, upper: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        top_code(values, lower, upper, data_are_public=True)
