"""What a data set declares, for what a question leaves out; a question that goes beyond is told."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.plan.query import NOTHING_DECLARED, Declared

C = tc.col
DECLARED = Declared(
    bounds={"age": (Fraction(0), Fraction(100)), "zero": (Fraction(0), Fraction(0))},
    keys={"site": ["a", "b"], "age_group": ["x"]},
)


def ends(aggregate):
    found = DECLARED.bounded(*aggregate) if isinstance(aggregate, tuple) else DECLARED.bounded(
        aggregate
    )  # fmt: skip
    return found.lower, found.upper


def test_a_statistic_takes_the_bounds_of_its_column_unless_it_has_its_own():
    assert ends(tc.mean("age")) == (0, 100)
    assert ends(tc.mean("age", 5, 7)) == (5, 7)
    assert DECLARED.bounded(tc.count()) == tc.count()


def test_bounds_follow_for_columns_that_are_computed():
    derived = [("double", C("age") * 2), ("far", C("double") + 1)]
    assert ends((tc.mean("far"), derived)) == (1, 201)
    assert DECLARED.ranges(derived)["double"] == (0, 200)


@pytest.mark.parametrize(
    ("column", "expected"), [("zero", (0, 1)), ("five", (0, 5)), ("minus", (-5, 0))]
)
def test_a_column_that_is_always_the_same_has_bounds_that_rise(column, expected):
    derived = [("five", C("zero") + 5), ("minus", C("zero") - 5)]
    assert ends((tc.mean(column), derived)) == expected


def test_several_columns_take_the_bounds_that_each_lacks():
    found = DECLARED.bounded(tc.covariance("age", "pay", {"pay": (0, 9)}))
    assert [(c.column, c.lower, c.upper) for c in found.clamped] == [("age", 0, 100), ("pay", 0, 9)]


@pytest.mark.parametrize(
    ("aggregate", "derived", "message"),
    [
        (tc.mean("pay"), [], r"tc\.mean\('pay', 0, 100\), or declare them"),
        (tc.mean("x"), [("x", C("pay") * 2)], r"clamp it.*declare bounds of 'pay'"),
        (tc.covariance("age", "pay"), [], r"bounds=\{'pay': \(0, 100\)\}"),
    ],
)
def test_a_statistic_without_bounds_is_told_its_remedies(aggregate, derived, message):
    with pytest.raises(UsageError, match=message):
        DECLARED.bounded(aggregate, derived)


def test_categories_are_known_of_all_columns_or_of_none():
    assert DECLARED.keys_of(["site"]) == {"site": ["a", "b"]}
    assert DECLARED.keys_of(["site", "sex"]) is None
    assert NOTHING_DECLARED.keys_of(["site"]) is None
    weekday = [("weekday", C("day").weekday())]
    found = DECLARED.keys_of(["site", "weekday"], weekday)
    assert found is not None
    assert set(found["weekday"]) >= set(range(1, 8))


def test_columns_that_a_join_adds_are_declared_too_and_the_first_stay():
    more = DECLARED.with_columns({"pay": (Fraction(0), Fraction(9))}, {}, {"pay": {"unit": "euro"}})
    assert more.bounds["pay"] == (0, 9)
    assert more.bounds["age"] == (0, 100)
    assert "pay" not in DECLARED.bounds
