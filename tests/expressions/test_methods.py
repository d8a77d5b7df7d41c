"""Functions of a row as methods: what each refuses when it is written, and what they compute."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tacit.errors import UsageError
from tacit.expressions.expression import Expression, RowMethods, col, from_json
from tacit.expressions.functions import FUNCTIONS

COLUMN = col("c")
DAY, AT = datetime.date(2024, 12, 31), datetime.datetime(2024, 12, 31, 18, 30, 5)
CALLS: list[tuple[Expression, Any, Any]] = [
    (COLUMN.lower(), "ÄB", "Äb"),
    (COLUMN.upper(), "äb", "äB"),
    (COLUMN.strip(), " \ta ", "\ta"),
    (COLUMN.substring(2, 9), "abc", "bc"),
    (COLUMN.length(), "\U0001f600é", 2),
    (COLUMN.ends_with("bc"), "abc", True),
    (COLUMN.contains("%"), "abc", False),
    (COLUMN.like("a_c"), "abc", True),
    (COLUMN.year(), DAY, 2024),
    (COLUMN.month(), DAY, 12),
    (COLUMN.day(), DAY, 31),
    (COLUMN.weekday(), DAY, 2),
    (COLUMN.quarter(), DAY, 4),
    (COLUMN.day_of_year(), DAY, 366),
    (COLUMN.hour(), AT, 18),
    (COLUMN.minute(), AT, 30),
    (COLUMN.second(), AT, 5),
    (COLUMN.date(), AT, DAY),
    (COLUMN.days_until("2025-01-01"), DAY, 1),
    (COLUMN.seconds_until(col("c")), AT, 0),
    (COLUMN.floor(), -0.5, -1.0),
    (COLUMN.ceil(), -0.5, 0.0),
    (COLUMN.round(), -0.5, -1.0),
    (COLUMN.to_integer(), -3.9, -3),
    (COLUMN.modulo(7), -1, 6),
    (COLUMN.to_text(), True, "true"),
    (COLUMN.read_number(), " -0.5e1 ", -5.0),
    (COLUMN.read_date(), "2024-12-31x", None),
    (COLUMN.read_boolean(), "YES", True),
    (COLUMN.read_time().minute(), "2024-12-31 18:30", 30),
]


@pytest.mark.parametrize(("asked", "value", "answer"), CALLS, ids=lambda x: str(x)[:40])
def test_a_method_computes_what_it_says_and_of_what_is_missing_nothing(
    asked: Expression, value: Any, answer: Any
) -> None:
    assert asked.evaluate({"c": value}) == answer
    condition = asked.operation in ("ends_with", "contains", "like")
    assert asked.evaluate({"c": None}) is (False if condition else None)
    assert from_json(asked.to_json()).to_json() == asked.to_json()


def test_every_function_of_the_table_is_a_method() -> None:
    methods = {name for name in vars(RowMethods) if not name.startswith("_")}
    assert set(FUNCTIONS) <= methods
    written = {expression.operation for expression, _, _ in CALLS}
    assert set(FUNCTIONS) - written <= {"in_zone"}  # held in tests of zones


@pytest.mark.parametrize(
    "write",
    [
        lambda: COLUMN.substring(0, 3),
        lambda: COLUMN.substring(1, -1),
        lambda: COLUMN.substring("1", 1),
        lambda: COLUMN.modulo(0),
        lambda: COLUMN.modulo(2.5),
        lambda: COLUMN.contains("x" * 101),
        lambda: COLUMN.ends_with(5),
        lambda: COLUMN.like(None),
        lambda: COLUMN.in_zone("Mars/Olympus"),
        lambda: COLUMN.days_until("tomorrow"),
        lambda: COLUMN.days_until(datetime.datetime(2024, 1, 1)),
        lambda: COLUMN.days_until(5),
        lambda: COLUMN.seconds_until("2024-01-01"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_written(write: Any) -> None:
    with pytest.raises(UsageError):
        write()
