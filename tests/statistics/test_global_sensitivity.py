"""What an answer carries, tables of columns, and what a wrong question is told."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit.statistics as ts
from support.by_hand import statistics_oracle as oracle
from support.examples import examples
from tacit.errors import InfeasibleError, UsageError
from tacit.statistics import Interval, Records, Sample, sensitivity
from tacit.statistics.global_sensitivity import lookup
from tacit.statistics.statistic import Monotone

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
    (UsageError, "at has 2 records", lambda: ask(at=[1, 2])),
    (UsageError, "outside Interval", lambda: ts.sensitivity("sum", ts.Interval(0, 1), at=[2])),
    (UsageError, "not in the value set: 3", lambda: ts.sensitivity("sum", ts.Values([1]), at=[3])),
    (UsageError, "position 1 is nan", lambda: ts.Records([1.0, math.nan])),
    (UsageError, "position 0 is inf", lambda: ts.Values(np.array([np.inf]))),
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


# What the argument of monotone statistics rests on, and the answers that it gives.


NAMES = ["mean", "median", "percentile(30)", "min", "max"]


@pytest.mark.parametrize("name", NAMES)
def test_the_two_assumptions_hold(name: str) -> None:
    """Raised records never lower it; nor does a smallest that leaves, nor a largest raise it."""
    f: Any = lookup(name)
    assert isinstance(f, Monotone)
    for size in range(1, 5):
        for records in itertools.combinations_with_replacement((0, 1, 3, 7), size):
            value = f.of(Sample(list(records)))
            for i in range(size):
                raised = sorted([*records[:i], records[i] + 2, *records[i + 1 :]])
                assert f.of(Sample(raised)) >= value
            if size > 1:
                assert f.of(Sample(list(records[1:]))) >= value
                assert f.of(Sample(list(records[:-1]))) <= value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relation", ["unbounded", "add", "remove", "bounded"])
def test_a_release_without_a_size_is_as_bad_as_the_worst_size(name: str, relation: Any) -> None:
    population = [0, 1, 1, 5, 9]
    found = sensitivity(name, Records(population), None, 1, relation)
    sizes = []
    for size in range(1, 6):
        with suppress(InfeasibleError):  # nobody is left to join, or may leave
            sizes.append(sensitivity(name, Records(population, size=size), None, 1, relation).value)
    assert found.value == max(sizes)
    assert "the worst over releases of every size" in found.notes


@pytest.mark.parametrize("name", NAMES)
def test_more_distance_is_no_less_and_the_witness_attains_it(name: str) -> None:
    f: Any = lookup(name)
    values = []
    for k in (1, 2, 3):
        found = sensitivity(name, Records([0, 2, 2, 3, 8, 9], size=3), None, k)
        x, y = found.witness
        assert abs(f.exact([Fraction(v) for v in x]) - f.exact([Fraction(v) for v in y])) == (
            found.value
        )
        values.append(found.value)
    assert values == sorted(values)


def test_methods_say_whether_a_population_was_looked_through() -> None:
    assert sensitivity("mean", Records([1, 2, 3], size=2)).method == "polynomial"
    assert sensitivity("mean", Interval(0, 1, size=2)).method == "closed form"


def test_where_nobody_is_left_a_release_has_no_neighbour_but_itself() -> None:
    found = sensitivity("mean", Records([1, 2, 3], size=3), None, 1, "bounded")
    assert found.value == 0
    assert found.witness is None
    assert any("no neighbour but itself" in note for note in found.notes)
    fixed = sensitivity("median", Records([1, 2, 3]), [1, 2, 3], 1, "bounded")
    assert fixed.value == 0


# A sensitivity as a stability map: total, never falling, and refused where nothing is proven.


@examples(0.6)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=5),
    st.sampled_from(["unbounded", "bounded"]),
    st.sampled_from(["mean", "median", "sum", "count", "min"]),
    st.booleans(),
)
def test_a_map_is_total_monotone_and_holds_for_every_pair(
    population: list[int], relation: Any, name: str, sized: bool
) -> None:
    n = len(population)
    size = max(1, n // 2) if sized else None
    d = ts.stability_map(name, ts.Records(population, size=size), relation)
    bounds = [d(k) for k in range(n + 3)]
    assert bounds[0] == 0
    assert bounds == sorted(bounds)
    value, exact = oracle.VALUES[name], [Fraction(v) for v in population]
    everything = list(oracle.subsets(n, range(1, n + 1)))
    for x in everything:
        for y in everything:
            lost, gained = len(x - y), len(y - x)
            if (size is not None and len(x) != size) or (relation == "bounded" and lost != gained):
                continue
            apart = lost if relation == "bounded" else lost + gained
            a, b = (value(tuple(exact[i] for i in sorted(side))) for side in (x, y))
            assert abs(a - b) <= bounds[apart]


def test_any_function_becomes_a_map() -> None:
    d = ts.stability_map(np.ptp, ts.Values([0, 1, 5], size=3), "bounded")
    assert [d(k) for k in range(4)] == [0, 5, 5, 5]
    assert d.answer(1).witness is not None


def test_what_is_no_guarantee_is_refused_with_the_reason() -> None:
    over = ts.Records([1, 2, 3, 10, 11], size=3)
    for answer, reason in (
        (ts.sensitivity("mean", over, at=[1, 2, 3]), "local"),
        (ts.sensitivity("mean", over, distance=2, within=False), "exactly the distance"),
        (ts.lower_bound("mean", over, evaluations=100), "lower bound"),
    ):
        with pytest.raises(UsageError, match=reason):
            ts.map_of(answer)
    assert ts.map_of(ts.sensitivity("mean", over))(1) == ts.sensitivity("mean", over).value
    with pytest.raises(UsageError, match="one column"):
        ts.stability_map("mean", ts.Records({"a": [1, 2]}))
    with pytest.raises(UsageError, match="d_in must be at least 0"):
        ts.stability_map("mean", over)(-1)
    with pytest.raises(InfeasibleError, match="no neighbour"):
        ts.stability_map("mean", ts.Records([1]))
