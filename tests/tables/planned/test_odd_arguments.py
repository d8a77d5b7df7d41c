"""What is no list where a list is asked for is refused in a sentence, and nothing is spent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc

_NO_LISTS: list[Any] = [None, 3, 0.5, Fraction(1, 3), np.float64(2), np.array(1.0), object(), int]


@pytest.fixture
def session() -> tc.Session:
    return tc.Session(pa.table({"age": [31, 45]}), tc.one_row_each, tc.rho(1))


@pytest.mark.parametrize("given", _NO_LISTS, ids=repr)
def test_what_is_no_list_is_refused_in_a_sentence(session: tc.Session, given: Any) -> None:
    question = session.agg(n=tc.count())
    plan = session.plan([question])
    for ask, told in (
        (lambda: plan.preview(rho=1, rows=given), "rows is a list"),
        (lambda: question.preview(rho=1, rows=given), "rows is a list"),
        (lambda: plan.free_answers(given), "a list of certificates"),
        (lambda: plan.free_errors(given), "a list of certificates"),
        (lambda: question.free_answer(given), "a list of certificates"),
        (lambda: tc.synthetic_table(given), "a list of answers"),
    ):
        with pytest.raises(tc.errors.UsageError, match=told):
            ask()
    assert session.spent.amount == 0


@pytest.mark.parametrize("size", [None, "3", b"1", [1], 1j, float("nan"), float("inf"), 0, -1])
def test_what_is_no_size_is_refused_in_a_sentence(session: tc.Session, size: Any) -> None:
    with pytest.raises(tc.errors.UsageError, match="rows"):
        session.plan([session.agg(n=tc.count())]).preview(rho=1, rows=[size])


@pytest.mark.parametrize("weights", [True, 3, 0.5, [["n"]], ["n"], np.array([1, 2]), object()])
def test_weights_that_name_no_label_are_refused(session: tc.Session, weights: Any) -> None:
    with pytest.raises(tc.errors.UsageError, match="weights name labels"):
        session.plan([session.agg(n=tc.count())], weights)
