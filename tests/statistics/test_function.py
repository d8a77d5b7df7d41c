"""A Python function as a statistic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit as tc
import tacit.statistics as ts
from tacit.errors import UsageError
from tacit.statistics.search import Function, batched

RECORDS = tc.Records([1, 2, 2, 5, 9, 40], size=3)


def test_a_function_with_a_number_beyond_floats_is_named() -> None:
    def huge(x: Any) -> int:
        return 10**400

    with pytest.raises(UsageError, match="huge returned a number too large"):
        tc.sensitivity(huge, over=RECORDS)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: float("nan"), "returned nan on the release ("),
        (lambda x: x, "an array of shape (2,)"),
        (lambda x: "many", "returned str"),
        (lambda x: 1 / 0, "raised ZeroDivisionError"),
        (batched(lambda rows: rows), "one number a row"),
        (batched(lambda rows: rows.sum(axis=1) / 0.0), "returned inf"),
        (batched(lambda rows: 1 / 0), "raised ZeroDivisionError"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_function_must_return_one_finite_number(function: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        ts.sensitivity(function, ts.Records([1, 2, 3], size=2), relation="bounded")
    assert says in str(caught.value)


def test_a_wrapped_function_is_a_statistic() -> None:
    wrapped = ts.lookup(np.ptp)
    assert isinstance(wrapped, Function)
    assert wrapped.name == "ptp"
    assert wrapped([1, 4, 2]) == 3
    assert ts.lookup(wrapped) is wrapped
