"""What is no list where a list is asked for is refused in a sentence, and nothing is spent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc

_NO_LISTS: list[Any] = [None, 3, 0.5, Fraction(1, 3), np.float64(2), np.array(1.0), ..., int]


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


@pytest.mark.parametrize(
    "rows", [None, "3", [1], 1j, float("nan"), 0, -1, True, np.array(3), 0.5, 10**400], ids=repr
)
def test_what_is_no_size_of_the_table_is_refused_in_a_sentence(
    session: tc.Session, rows: Any
) -> None:
    plan = session.plan([session.agg(n=tc.count(), age=tc.mean("age", 0, 100))])
    for ask in (
        lambda: plan.to_html(rho=1, rows=rows),
        lambda: plan.plot(rho=1, rows=rows),
        lambda: plan.cheapest({"n": 5, "age": 2}, rows=rows),
    ):
        with pytest.raises(tc.errors.UsageError, match="rows is the size of the table"):
            ask()


def test_arrays_and_huge_numbers_are_refused_in_a_sentence(session: tc.Session) -> None:
    questions = [session.agg(n=tc.count())]
    odd: Any = np.array([1, 2])
    none: Any = np.array(3)
    for ask, told in (
        (lambda: session.plan(none), "a plan takes a list of questions"),
        (lambda: session.plan(questions, least=odd), "least is"),
        (lambda: session.plan(questions, unlisted=odd), "unlisted is"),
        (lambda: session.plan(questions, nonnegative=odd), "nonnegative is"),
        (lambda: session.plan(questions, {"n": 10**400}), "a weight is at most"),
        (lambda: session.plan(questions).preview(rho=1, rows=[10**400]), "at most 10"),
        (lambda: session.plan(questions).preview(rho=1, rows=[True]), "rows is a list of sizes"),
    ):
        with pytest.raises(tc.errors.UsageError, match=told):
            ask()


@pytest.mark.parametrize("tag", [2026, 1.5, float("nan"), True, ["a"], ("a",), {}, {"a": 1}, b"a"])
def test_a_tag_that_is_no_text_is_refused_before_it_is_paid(session: tc.Session, tag: Any) -> None:
    question = session.agg(n=tc.count())
    plan = session.plan([question])
    days: Any = {"column": "age", "start": 0, "every": 10, "periods": 9}
    for ask in (
        lambda: question.release(rho="1/10", tag=tag),
        lambda: plan.release(rho="1/10", tag=tag),
        lambda: plan.cost(rho="1/10", tag=tag),
        lambda: question.free_answer(tag=tag),
        lambda: plan.free_answers(tag=tag),
        lambda: session.filter(tc.col("age") > 3).count_over_time(**days, rho="1/10", tag=tag),
    ):
        with pytest.raises(tc.errors.UsageError, match="a tag is text"):
            ask()
    assert session.spent.amount == 0
