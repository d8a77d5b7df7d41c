"""Whole numbers near doubles, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.expressions.value_range import range_of

NEAR = st.one_of(
    st.floats(allow_nan=False),
    st.integers(-(1 << 54), 1 << 54).map(lambda n: n / 2),
    st.sampled_from([0.49999999999999994, 2.0**52 - 0.5, 2.0**52, -(2.0**53), math.inf]),
)


@examples(10)
@given(NEAR)
def test_rounding_is_that_of_the_exact_number(x):
    row, exact = {"x": x}, None if math.isinf(x) else Fraction(x)
    if exact is None:
        assert col("x").floor().evaluate(row) == col("x").round().evaluate(row) == x
        assert col("x").to_integer().evaluate(row) is None
        return
    assert col("x").floor().evaluate(row) == math.floor(exact)
    assert col("x").ceil().evaluate(row) == math.ceil(exact)
    away = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
    assert col("x").round().evaluate(row) == away
    whole = col("x").to_integer().evaluate(row)
    assert whole == (math.trunc(exact) if abs(exact) < 1 << 53 else None)


def test_ranges_of_whole_numbers():
    bounds = {"x": (Fraction(-5, 2), Fraction(7, 2)), "n": (Fraction(-9), Fraction(9))}
    assert range_of(col("x").floor(), bounds) == (-3, 3)
    assert range_of(col("x").ceil(), bounds) == (-2, 4)
    assert range_of(col("x").round(), bounds) == (-3, 4)
    assert range_of(col("x").to_integer(), bounds) == (-2, 3)
    assert range_of(col("n").modulo(7) * 2, {}) == (0, 12)
    assert range_of(col("y").floor(), bounds) is None
    assert range_of(col("code").substring(2, 3).length(), {}) == (0, 3)


@pytest.mark.parametrize("by", [0, -7, 2.0, True, (1 << 53) + 1, "7"])
def test_a_divisor_that_cannot_be_is_refused(by):
    with pytest.raises(UsageError, match="modulo cannot take"):
        col("n").modulo(by)
