"""The fields of a question: what they say, and what they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import UsageError
from tacit.tables.written import read_question, statistic

N = {"n": {"statistic": "count"}}
MEAN = {"age": {"statistic": "mean", "column": "age"}}


def test_all_that_a_question_can_say() -> None:
    asked = read_question(
        {
            "join": "sites on site",
            "with": {"double": "age * 2"},
            "where": "age >= 18",
            "cut": {"band": {"column": "age", "edges": [0, 18, 65]}},
            "by": ["band", "site"],
            "keys": {"site": [1, 2]},
            "answers": {**N, **MEAN},
            "epsilon": {"n": 1, "age": 3},
            "total": "1/2",
            "tag": "may",
        },
        declared=True,
    )
    assert list(asked.aggregates) == ["n", "age"]
    assert [join.table for join in asked.joins] == ["sites"]
    assert (list(asked.derived), list(asked.cuts), asked.by) == (
        ["double"],
        ["band"],
        ("band", "site"),
    )
    assert asked.keys == {"site": [1, 2]}
    assert asked.price == {
        "epsilon": {"n": 1, "age": 3},
        "delta": None,
        "rho": None,
        "total": "1/2",
    }
    assert asked.tag == "may"
    loss = asked.loss()
    assert loss is not None
    assert loss.amount == Fraction(1, 2)


def test_a_table_of_people() -> None:
    asked = read_question(
        {
            "per_person": {"total": {"statistic": "sum", "column": "cost"}},
            "where_person": "total > 10",
            "answers": N,
        },
        declared=False,
    )
    assert list(asked.per_person) == ["total"]
    assert len(asked.where_person) == 1


def test_keys_that_stand_elsewhere_are_read_for_the_columns() -> None:
    asked = read_question({"by": "site", "answers": N}, True, lambda by: [*by, "read"])
    assert asked.keys == ["site", "read"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"sql": 3}, "sql in .* must be text"),
        ({"sql": "select 1", "answers": N}, "leave answers out"),
        ({"answers": []}, "answers"),
        ({"answers": N, "where": ["a"]}, "where in .* must be text"),
        ({"answers": N, "by": 3}, "by must be a text or a list"),
        ({"answers": N, "keys": [1]}, "keys are the values of a grouping column"),
        ({"answers": N, "cut": {"band": {"column": "age"}}}, "the cut 'band' must be like"),
        ({"answers": N, "total": "1/2"}, "total goes with weights"),
        ({"answers": {"n": {"statistic": "histogram", "column": "a", "edges": 3}}}, "edges"),
        ({"answers": {"n": {"statistic": "hist"}}}, "the answer 'n' asks 'hist'"),
        ({"answers": {"n": {"statistic": "count", "colum": "a"}}}, "has a field 'colum'"),
    ],
)
def test_what_is_no_question(fields: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_question(fields, declared=True)


def test_keys_twice_and_sql_with_keys_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        read_question({"by": "a", "keys": [1], "answers": N}, True, lambda by: [])
    with pytest.raises(UsageError, match="leave keys_file out"):
        read_question({"sql": "select 1"}, True, lambda by: [])


def test_bounds_are_left_out_only_where_they_may_be_declared() -> None:
    assert statistic(MEAN["age"], "age", declared=True).lacks_bounds
    with pytest.raises(UsageError, match="lacks lower, upper"):
        statistic(MEAN["age"], "age")
