"""The sums that a mean and a variance come from: their map, and what a certificate says of them."""

from __future__ import annotations

from typing import Any

import pytest

import tacit as tc
from tacit.data import health_insurance
from tacit.report.text import distance_words, step_words


def chain(asked: Any) -> Any:
    whole = tc.epsilon(1)
    session = tc.Session(health_insurance(), tc.unit("person", rows=5), whole, tc.in_memory)
    body: Any = session.agg(m=asked).release(epsilon=1).certificate.body
    return body["chains"][0]


@pytest.mark.parametrize(
    ("asked", "degree"), [(tc.mean("age", 0, 80), 1), (tc.var("age", 10, 80), 2)]
)
def test_five_rows_of_a_person_move_the_sums_by_five(asked: Any, degree: int) -> None:
    step = chain(asked)["steps"][1]
    assert (step["step"], step["degree"], step["size"]) == ("moments", degree, degree + 1)
    assert step["distance"] == "5"


def test_the_words_give_the_distance_in_the_units_of_the_column() -> None:
    step = chain(tc.var("age", 10, 80))["steps"][1]
    assert step_words(step).startswith("Add up age, clamped to [10, 80]")
    told = distance_words(step, "PureDP", last=False)
    assert "the sum of age by 400" in told  # five rows of at most 80
    assert "that of squares above 10 by 24500" in told.replace(",", "")  # five times 70 squared
