"""A release in words: digits that the error allows, and sentences of what was asked of whom."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tacit as tc
from tacit.report.text import (
    bins_words,
    budget_words,
    column_words,
    condition_words,
    declared_words,
    join_words,
    number,
    people_words,
    person_words,
    question_words,
    unit_words,
    value_words,
)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (-4385, None, "−4,385"),
        (0.0, None, "0"),
        (0.0, 0.02, "0.000"),
        (3.14159, 0.5, "3.14"),
        (-3.14159, 0.05, "−3.142"),
        (1234567.891, 1000.0, "1,234,568"),
        (1e-12, 1e-13, "1e−12"),
        (math.inf, 1.0, "inf"),
        (2.5, math.inf, "2.5000"),
        (12, 1000.0, "12"),  # whole numbers keep their digits
    ],
)
def test_a_number_has_two_digits_of_its_error(value: Any, error: Any, shown: str) -> None:
    assert number(value, error) == shown


def test_whole_counts_have_whole_ends_outside_of_the_interval() -> None:
    assert value_words(10, 4.0, 2.5, 17.2) == ("10", "2", "18")
    assert value_words(10, 4.0, None, None) == ("10", "–", "–")
    assert value_words(None, None, None, None) == ("–", "–", "–")


def query(**more: Any) -> dict[str, Any]:
    plain = {"aggregates": [["n", {"kind": "count"}]], "by": [], "keys": None, "where": []}
    return {"query": {**plain, "derived": [], **more}}


def test_groups_are_listed_while_they_are_few() -> None:
    few = query(by=["site", "sex"], keys=[["a", "f"], [None, "m"]])
    assert question_words(few) == "The number of rows; for each site and sex: a / f, None / m"
    many = query(by=["site"], keys=[[i] for i in range(13)])
    assert question_words(many).endswith("for each site (13 groups that were listed beforehand)")
    found = query(by=["site"], keys=None)
    assert question_words(found).endswith("(only groups above a threshold of people)")


def test_filters_columns_tables_and_weights_are_told() -> None:
    asked = query(
        where=[(tc.col("age") >= 18).to_json()],
        derived=[["double", (tc.col("pay") * 2).to_json()]],
        tables=[["visits", "person"], ["patients", "id"]],
        table="visits",
        weights=[["n", "1/3"]],
    )
    assert question_words(asked) == (
        "The number of rows; of the table visits; only rows where age >= 18; double is pay * 2; "
        "the privacy loss is split by the weights n 1/3"
    )


def test_people_made_of_rows_are_told() -> None:
    inner = {"where": [], "derived": [], "aggregates": [["cost", {"kind": "count"}]]}
    asked = query(inner=inner, where=[(tc.col("cost") > 1).to_json()])
    assert question_words(asked) == (
        "The number of rows; of people, one row each; cost is the number of the person's rows; "
        "only people where cost > 1"
    )
    mean = {"kind": "mean", "column": "cost", "lower": "0", "upper": "9"}
    assert person_words(mean) == "the person's mean of cost (values clamped to [0, 9])"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (
            (tc.col("a") > 1) & ((tc.col("b") < 2) | (tc.col("c") == 3)),
            "a > 1 and (b < 2 or c == 3)",
        ),
        (~(tc.col("a") > 1), "not a > 1"),
        (~((tc.col("a") > 1) & (tc.col("b") < 2)), "not (a > 1 and b < 2)"),
        (tc.col("a").is_in(["x", "y"]), "a in ('x', 'y')"),
        (tc.col("a").cut([0, 1, 2]), "a cut into [0, 1), [1, 2]"),
        (tc.col("a") + 1, "a + 1"),
    ],
    ids=str,
)
def test_a_condition_is_written_with_words(condition: Any, words: str) -> None:
    assert condition_words(condition) == words


def test_a_unit_says_what_counts_of_a_person() -> None:
    told = unit_words({"column": "person", "rows": 5, "groups": 1})
    assert "at most 5 rows per person count" in told
    assert "present in at most one group" in told
    assert "one row per person" in unit_words({"column": "p", "rows": 1, "groups": 2})


def test_joins_say_by_what_and_who_is_left_out() -> None:
    join = {"table": "patients", "how": "left", "on": [["person", "id"]], "most": 3}
    assert join_words(join) == (
        "patients by the person (person = id; a person with more than 3 rows there has no match); "
        "rows without a match are kept"
    )


def test_bounds_and_methods_are_told_and_nothing_where_there_are_none() -> None:
    assert column_words("the mean", {}) == "the mean"
    asked = {"lower": "-1/2", "upper": "3", "method": {"name": "ptr"}}
    assert column_words("the mean", asked).endswith(", after a private test, which may refuse")
    assert bins_words("{column}: {bins}", {"column": "a", "edges": ["0", "1"]}) == "a: 1: [0, 1]"


def test_what_goes_beyond_a_declaration_is_told_once() -> None:
    asked = {
        "by": ["site"],
        "aggregates": [["x", {"column": "cost", "lower": "-1", "upper": "5"}]] * 2,
    }
    declared = {"cost": {"bounds": ["0", "9"]}, "site": {"keys_beyond": list(range(15))}}
    beyond, keys = declared_words(declared, asked)
    assert beyond == "cost is clamped to [-1, 5], beyond the declared [0, 9]"
    assert keys.endswith("10, 11 and 3 more are not among the declared categories")
    within = {"by": [], "aggregates": [["x", {"column": "cost", "lower": "1", "upper": "9"}]]}
    assert declared_words({"cost": {"bounds": ["0", "9"]}}, within) == []


def test_budgets_and_people_are_told_without_what_they_lack() -> None:
    assert budget_words(tc.epsilon("1/2")) == "epsilon 0.5"
    assert "1e-06" in budget_words(tc.epsilon_delta(1, "1e-6")) or "delta" in budget_words(
        tc.epsilon_delta(1, "1e-6")
    )
    assert people_words([["visits", None]]) == "visits by the row"
