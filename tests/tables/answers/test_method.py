"""Which mechanism answers a statistic: its options, and those that belong to another."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.tables.answers.base import MOST_BINS, MOST_ROWS, ROWS, Method, read_method


def read(method: str, **more: Any) -> Method | None:
    return read_method("median", "age", method, **more)


def test_the_global_method_is_none_and_has_no_options() -> None:
    assert read("global") is None
    for more in ({"bound": 1}, {"bins": 5}, {"distribution": "cauchy"}, {"rows": 9}):
        with pytest.raises(UsageError, match="leave it out"):
            read("global", **more)


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("ptr", "bound", "1/2"),
        ("ptr", "bound", "search"),
        ("sample_and_aggregate", "bins", 20),
        ("smooth", "distribution", "student_t"),
        ("auto", "bins", 20),
        ("auto", "bound", "search"),
    ],
)
def test_an_option_is_kept_as_plain_json_and_read_again(
    method: str, option: str, value: Any
) -> None:
    found = read(method, **{option: value}, rows=500)
    assert found is not None
    told = found.to_json()
    assert told == {"name": method, option: value, "rows": 500}
    again = read(told.pop("name"), **told)
    assert again == found
    assert str(found) == f"method={method}, {option}={value}, rows=500"


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("smoth", {}, "did you mean 'smooth'"),
        ("ptr", {}, "needs bound="),
        ("ptr", {"bound": 0}, "above zero"),
        ("ptr", {"bound": "much"}, "bound"),
        ("ptr", {"bound": 1, "bins": 5}, "bins= is for method='sample_and_aggregate'"),
        ("smooth", {"distribution": "normal"}, "unknown"),
        ("smooth", {"bound": 1}, "bound= is for method='ptr'"),
        ("sample_and_aggregate", {"bins": 1}, "at least 2"),
        ("sample_and_aggregate", {"bins": 2.5}, "bins"),
        ("sample_and_aggregate", {"bins": MOST_BINS + 1}, "at most"),
        ("sample_and_aggregate", {"bins": 50, "rows": 49}, "a bin without a row"),
        ("auto", {"rows": 0}, "at least 1"),
        ("auto", {"rows": MOST_ROWS + 1}, "at most"),
    ],
)
def test_options_that_do_not_fit_are_refused(method: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(method, **more)


def test_a_method_is_of_a_column() -> None:
    with pytest.raises(UsageError, match=r'tc\.mean\("age", 0, 100, method="?\'?smooth'):
        read_method("mean", None, "smooth")


def test_rows_to_plan_for_are_those_said_or_ten_thousand() -> None:
    smooth, planned = read("smooth"), read("smooth", rows=7)
    assert smooth is not None
    assert planned is not None
    assert (smooth.planned, planned.planned) == (ROWS, 7)
    tested, searched = read("ptr", bound="1/2"), read("ptr", bound="search")
    assert tested is not None
    assert searched is not None
    assert (tested.searches, tested.bound) == (False, Fraction(1, 2))
    assert searched.searches
