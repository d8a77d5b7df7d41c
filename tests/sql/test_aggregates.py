"""Aggregates in SQL: what each asks, the bounds in its text, and what has no translation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sql.sql_rows import rows
from tacit.errors import UnsupportedQueryError
from tacit.sql.aggregates import AGGREGATES, Asked, asked_of, has_aggregate, own_name
from tacit.sql.parse import parse


def node(text: str) -> Any:
    return parse(f"select {text} from r").expressions[0]


def asked(text: str) -> Asked:
    scope: Any = rows()
    scope.question.unit = type("Unit", (), {"column": "a"})
    return asked_of(node(text), scope)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("count(*)", "count", None),
        ("count(b)", "sum", "..."),
        ("count(distinct A)", "count_people", None),
        ("count(distinct t)", "count_distinct", "t"),
        ("sum(b)", "sum", "b"),
        ("avg(b)", "mean", "b"),
        ("((avg(b)))", "mean", "b"),
        ("median(b)", "median", "b"),
        ("min(clamp(b, 0, 9))", "min", "b"),
        ("max(clamp(b, 0, 9))", "max", "b"),
    ],
)
def test_an_aggregate_is_a_kind_of_answer(text: str, kind: str, value: str | None) -> None:
    found = asked(text)
    assert found.kind == kind
    if value is None:
        assert found.value is None
    elif value != "...":
        assert str(found.value) == value


def test_a_clamp_around_the_whole_is_the_bounds_as_they_are_written() -> None:
    found = asked("sum(clamp(b, -0.1, 1e2))")
    assert found.bounds == (Fraction(-1, 10), Fraction(100))
    assert (str(found.value), found.called) == ("b", "b")
    around = asked("sum(clamp(b, 0, 9) + 1)")
    assert around.bounds is None
    assert around.called == ""
    assert asked("sum((b))").bounds is None


def test_aggregates_that_ask_the_same_have_one_key() -> None:
    assert asked("sum(b)").key == asked("SUM( (B) )").key
    different = ["sum(b)", "avg(b)", "sum(a)", "sum(clamp(b, 0, 9))", "sum(clamp(b, 0, 8))"]
    assert len({asked(text).key for text in different}) == len(different)


def test_where_an_aggregate_stands_is_found_at_any_depth() -> None:
    assert has_aggregate(node("1 + (case when sum(b) > 1 then 2 end)"))
    assert not has_aggregate(node("1 + abs(b)"))
    assert {"Count", "Sum", "Avg"} <= set(AGGREGATES)


def test_a_value_has_the_name_of_its_column_or_none() -> None:
    assert own_name(node("r.b")) == "b"
    assert own_name(node("b + 1")) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("b", "one aggregate"),
        ("sum(b) over (partition by a)", "windows"),
        ("sum(distinct b)", "DISTINCT is allowed only in count"),
    ],
)
def test_what_is_no_aggregate_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=said):
        asked(text)
