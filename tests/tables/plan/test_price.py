"""What a release may spend: amounts, and weights that split a total."""

from fractions import Fraction

import pandas as pd
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.plan.price import read_weights


def test_weights_are_whole_numbers_in_lowest_terms_in_the_order_of_the_labels():
    assert read_weights({"b": "3/2", "a": 0.5}, ["a", "b"]) == (("a", 1), ("b", 3))
    assert read_weights({"a": 4, "b": 6}, ["a", "b"]) == (("a", 2), ("b", 3))
    assert read_weights({"a": Fraction(1, 7), "b": Fraction(1, 7)}, ["a", "b"]) == ()
    assert read_weights({"a": 9}, ["a"]) == ()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1, "bb": 1}, "no answer 'bb'.*did you mean 'b'"),
        ({"a": 1}, "'b' has none"),
        ({}, "'a', 'b' has none"),
        ({"a": 0, "b": 1}, "weight of 'a' must be above zero"),
        ({"a": 1, "b": -1}, "weight of 'b' must be above zero"),
        ({"a": 1, "b": True}, "weight of 'b' must be a number"),
        ({"a": 1, "b": float("inf")}, "weight of 'b'"),
        ({"a": 1, "b": f"1/{10**60}"}, "too many digits"),
        ({"a": 1, 3: 1}, "no answer 3"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(UsageError, match=message):
        read_weights(weights, ["a", "b"])


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"epsilon": {"n": 1}}, "give the total too"),
        ({"rho": {"n": 1}}, r"release\(rho="),
        ({"epsilon": 1, "total": 1}, "a total is split by weights"),
        ({"epsilon": {"n": 1}, "rho": 1, "total": 1}, "not both"),
        ({"epsilon": 1, "rho": {"n": 1}, "total": 1}, "not both"),
        ({"rho": {"n": 1}, "delta": "1e-6", "total": 1}, "not both"),
        ({"epsilon": {"n": 1}, "total": 0}, "epsilon must be above zero"),
        ({"total": 1}, "a total is split by weights"),
        ({}, "say what this release may spend"),
        ({"epsilon": "1e-39"}, "epsilon is below 1e-38"),
        ({"epsilon": f"1/{'9' * 350}"}, "epsilon is below 1e-38"),
        ({"rho": f"1/{'9' * 350}"}, "rho is below 1e-38"),
        ({"epsilon": {"n": 1}, "total": "1e-200"}, "epsilon is below 1e-38"),
    ],
)
def test_prices_that_are_none(price, message):
    budget = tc.rho(1) if "rho" in price else tc.epsilon(1)
    with tc.Session(
        pd.DataFrame({"x": [1]}), unit=tc.one_row_each, budget=budget, name="x"
    ) as session:
        question = session.agg(n=tc.count())
        for ask in (question.preview, question.release, question.is_answered):
            with pytest.raises(UsageError, match=message):
                ask(**price)
        assert session.remaining == session.budget


@pytest.mark.parametrize("price", [{"epsilon": "1e-38"}, {"epsilon": {"n": 1, "s": 1 << 128}}])
def test_the_least_price_is_previewed_and_charged(price):
    least = {"total": "1e-38"} if isinstance(price["epsilon"], dict) else {}
    frame = pd.DataFrame({"x": [1]})
    with tc.Session(frame, unit=tc.one_row_each, budget=tc.epsilon(1), name="x") as session:
        question = session.agg(n=tc.count(), s=tc.sum("x", -(2**31), 2**31))
        assert all(error > 1e30 for error in question.preview(**price, **least).errors["n"])
        assert question.release(**price, **least).cost == tc.epsilon("1e-38")
