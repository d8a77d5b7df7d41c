"""What an answer carries, tables of columns, and what a wrong question is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit.statistics as ts
from tacit.errors import InfeasibleError, UsageError

TABLE = {"year": [1, 2, 2, 2, 5, 5, 7, 8, 9, 9], "days": [1, 2, 3, 4, 5, 6, 7, 8, 15, 20]}


def test_an_answer_says_what_it_rests_on() -> None:
    answer = ts.sensitivity("mean", ts.Records(TABLE["days"], size=6))
    assert answer.value == Fraction(17, 6)
    assert float(answer) >= answer.value
    assert math.nextafter(float(answer), 0) < answer.value
    assert answer.exact
    assert answer.method == "polynomial"
    assert answer.evaluations > 0
    assert "mean, unbounded, within 1" in repr(answer)
    assert answer.is_guarantee
    assert answer.why_no_guarantee is None


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"at": TABLE["days"][:6]}, "local"),
        ({"distance": 2, "within": False}, "within=True"),
        ({"relation": "bounded", "within": False}, "within=True"),
    ],
)
def test_what_is_no_guarantee_says_why(more: dict[str, object], reason: str) -> None:
    answer = ts.sensitivity("median", ts.Records(TABLE["days"], size=6), **more)
    assert not answer.is_guarantee
    assert reason in str(answer.why_no_guarantee)


def test_exactly_one_added_or_removed_is_the_definition() -> None:
    over = ts.Records(TABLE["days"], size=6)
    assert ts.sensitivity("median", over, within=False).is_guarantee


@pytest.mark.parametrize(
    "table",
    [TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE)],
    ids=["dict", "pandas", "polars", "arrow"],
)
def test_a_table_is_answered_by_column(table: object) -> None:
    answers = ts.sensitivity("mean", over=ts.Records(table, size=6))
    assert {k: v.value for k, v in answers.items()} == {
        "year": Fraction(11, 10),
        "days": Fraction(17, 6),
    }
    head = {name: column[:6] for name, column in TABLE.items()}
    local = ts.sensitivity("mean", over=ts.Records(table, size=6), at=head)
    assert local["year"].value == Fraction(37, 42)
    mixed = {"year": ts.Values([1, 2], size=4), "days": ts.Interval(0, 20, size=4)}
    assert ts.sensitivity("mean", over=mixed, relation="bounded")["days"].value == 5


def test_a_side_that_cannot_be_made_is_left_out_and_named() -> None:
    over = ts.Records(TABLE["days"], size=6)
    assert "only removals count" in ts.sensitivity("mean", over, None, 5, within=False).notes[0]
    small = ts.Records(TABLE["days"], size=2)
    assert "only additions count" in ts.sensitivity("mean", small, None, 3, within=False).notes[0]
    assert "4 records are left" in ts.sensitivity("mean", over, None, 5, "bounded").notes[0]
    assert ts.sensitivity("mean", over, None, 5).notes == ()


def test_names_of_percentiles() -> None:
    over = ts.Records(TABLE["days"], size=6)
    asked = ["percentile(25)", "percentile_25", "percentile:25", ts.percentile(25), "percentile 25"]
    assert len({ts.sensitivity(a, over).value for a in asked}) == 1
    assert ts.percentile(50).name == "percentile(50)"


def test_numbers_are_read_exactly() -> None:
    tenth = ts.sensitivity("sum", ts.Interval(0, 0.1)).value
    assert tenth == Fraction(0.1) != Fraction(1, 10)
    assert ts.sensitivity("sum", ts.Interval(0, "0.1")).value == Fraction(1, 10)
    thirds = ts.Records(["1/3", "2/3", 1, 4], size=2)
    assert ts.sensitivity("sum", thirds, relation="bounded").value == Fraction(11, 3)


def test_a_large_offset_loses_nothing() -> None:
    small = np.array([0, 1, 2, 3, 50, 51], dtype=np.float64) / 8
    big = small + 2.0**40
    for name in ("mean", "median", "min", "max", "percentile(30)"):
        near = ts.sensitivity(name, ts.Records(small, size=3)).value
        assert ts.sensitivity(name, ts.Records(big, size=3)).value == near


OVER = ts.Records([1, 2, 3, 4, 5], size=3)
WRONG: list[tuple[type[Exception], str, object]] = [
    (InfeasibleError, "greatest distance is 2", lambda: exactly(distance=3, relation="remove")),
    (InfeasibleError, "greatest distance is 2", lambda: exactly(distance=3, relation="add")),
    (InfeasibleError, "greatest distance is 2", lambda: exactly(distance=6)),
    (InfeasibleError, "greatest distance is 2", lambda: exactly(distance=4, relation="bounded")),
    (InfeasibleError, "greatest distance is 2", lambda: ask(distance=3, within=False)),
    (InfeasibleError, "population of 2", lambda: ts.Records([1, 2], size=3)),
    (UsageError, "distance must be at least 1", lambda: ask(distance=0)),
    (UsageError, "distance must be a whole number", lambda: ask(distance=1.5)),
    (UsageError, "did you mean 'unbounded'", lambda: ask(relation="unbound")),
    (UsageError, "did you mean 'median'", lambda: ts.sensitivity("medain", OVER)),
    (UsageError, "from 0 to 100", lambda: ts.percentile(101)),
    (UsageError, "from 0 to 100", lambda: ts.sensitivity("percentile(-1)", OVER)),
    (UsageError, "percentile needs a number", lambda: ts.sensitivity("percentile", OVER)),
    (UsageError, "6", lambda: ask(at=[1, 2, 6])),
    (UsageError, "2 2 times, but it exists 1", lambda: ask(at=[1, 2, 2])),
    (UsageError, "at holds 2 records", lambda: ask(at=[1, 2])),
    (UsageError, "outside Interval", lambda: ts.sensitivity("sum", ts.Interval(0, 1), at=[2])),
    (UsageError, "not in the value set: 3", lambda: ts.sensitivity("sum", ts.Values([1]), at=[3])),
    (UsageError, "position 1 holds nan", lambda: ts.Records([1.0, math.nan])),
    (UsageError, "position 0 holds inf", lambda: ts.Values(np.array([np.inf]))),
    (UsageError, "position 1", lambda: ts.Records([1, "two"])),
    (UsageError, "position 0", lambda: ts.Records(np.array(["a", "b"]))),
    (UsageError, "must be numbers, not", lambda: ts.Records(np.array(["2020"], "M8[D]"))),
    (UsageError, "must be a sequence", lambda: ts.Records("123")),
    (UsageError, "one axis", lambda: ts.Records(np.zeros((2, 2)))),
    (UsageError, "empty", lambda: ts.Records([])),
    (UsageError, "at is empty", lambda: ask(at=[])),
    (UsageError, "no column", lambda: ts.Records({})),
    (UsageError, "column 'who', position 0", lambda: ts.Records({"who": ["Kim"], "age": [3]})),
    (UsageError, "lower must not be above", lambda: ts.Interval(2, 1)),
    (UsageError, "finite", lambda: ts.Interval(0, math.inf)),
    (UsageError, "size must be at least 1", lambda: ts.Values([1], size=0)),
    (UsageError, "over must be Records", lambda: ts.sensitivity("sum", [1, 2])),
    (UsageError, "bare table", lambda: ts.sensitivity("sum", pd.DataFrame(TABLE))),
    (
        UsageError,
        "no column 'days'",
        lambda: ts.sensitivity("sum", ts.Records(TABLE, size=1), at={"year": [1]}),
    ),
    (UsageError, "name, a Statistic or a function", lambda: ts.sensitivity(3, OVER)),
]


def ask(**more: object) -> object:
    return ts.sensitivity("mean", OVER, **more)


def exactly(**more: object) -> object:
    return ask(within=False, **more)


@pytest.mark.parametrize(("kind", "says", "wrong"), WRONG)
def test_a_wrong_question_is_told_what_is_feasible(
    kind: type[Exception], says: str, wrong: object
) -> None:
    with pytest.raises(kind) as caught:
        wrong()  # type: ignore[operator]
    assert says in str(caught.value)


def test_statistics_evaluate_as_numpy_does() -> None:
    data = np.array([3.0, 1.0, 2.5, 9.0])
    for name, numpy_value in {
        "count": 4,
        "sum": data.sum(),
        "mean": data.mean(),
        "median": np.median(data),
        "percentile(30)": np.percentile(data, 30),
        "min": 1,
        "max": 9,
    }.items():
        statistic = ts.lookup(name)
        assert statistic(data) == numpy_value
        assert float(statistic.of(ts.Sample(data))) == pytest.approx(numpy_value, rel=1e-15)


def test_a_record_may_be_substituted_by_another_of_equal_value() -> None:
    """Records are people: exactly one substituted is a move where another person is left."""
    for domain in (ts.Values([3], size=3), ts.Records([3] * 3, size=2)):
        for name in ("count", "sum", "mean"):
            found = ts.sensitivity(name, domain, relation="bounded", within=False)
            assert found.value == 0
    with pytest.raises(InfeasibleError, match="there is no neighbour"):
        ts.sensitivity("mean", ts.Records([3] * 3, size=3), relation="bounded", within=False)
