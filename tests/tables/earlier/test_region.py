"""What filters ask of columns."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tacit as tc
from tacit.expressions.schema import Column, Schema
from tacit.tables.earlier.released import Between, Listed, Whole, column_name, conditions_of, typed
from tacit.tables.plan.query import Query

COLUMNS = Schema([Column("age", "integer", "integer"), Column("sex", "text", "text")])


def read(*where, derived=()):
    query = Query(COLUMNS, tc.one_row_each, where=where, derived=derived)
    return list(conditions_of(query).values())


AGE, SEX = tc.col("age"), tc.col("sex")


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        ([SEX == "f"], [Listed("sex", frozenset([typed("f")]))]),
        ([SEX.is_in(["f", "m"])], [Listed("sex", frozenset([typed("f"), typed("m")]))]),
        ([SEX.is_null()], [Listed("sex", frozenset([typed(None)]))]),
        ([AGE.between(0, 9)], [Between("age", Fraction(0), Fraction(9), closed=True)]),
        ([AGE >= 0, AGE < 9], [Between("age", Fraction(0), Fraction(9), closed=False)]),
        ([(AGE >= 0) & (AGE < 9)], [Between("age", Fraction(0), Fraction(9), closed=False)]),
    ],
)
def test_filters_that_are_values_or_bounds_of_a_column(where, asked) -> None:
    assert read(*where) == asked


@pytest.mark.parametrize(
    "where", [[AGE >= 3], [AGE > 3, AGE < 9], [AGE >= 1, AGE >= 2, AGE < 9], [~(SEX == "f")]]
)
def test_other_filters_are_whole(where) -> None:
    assert all(isinstance(one, Whole) for one in read(*where))


def test_a_derived_column_is_its_expression() -> None:
    derived = (("twice", AGE * 2),)
    query = Query(COLUMNS, tc.one_row_each, derived=derived)
    assert column_name(query, "twice") != "twice"
    assert column_name(query, "age") == "age"
    (bounds,) = read(tc.col("twice").between(0, 9), derived=derived)
    assert bounds.column == column_name(query, "twice")


def test_true_is_not_one() -> None:
    assert typed(True) != typed(1)
