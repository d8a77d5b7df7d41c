"""What a preview notes: groups that cost, and how undeclared columns are read."""

from __future__ import annotations

import warnings

import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import DataSourceWarning, UsageError

TABLE = pa.table({"who": [1, 1, 2], "site": ["a", "b", "a"], "x": [1, 2, 3]})
UNNAMED = "the unit names no groups"


def notes(unit, keys=("a", "b"), budget=None, asked=None, **price):
    session = tc.Session(TABLE, unit, budget or tc.epsilon(9), tc.in_memory, name="t")
    question = session.group_by("site", keys=None if keys is None else list(keys))
    found = question.agg(n=asked or tc.count_people()).preview(**(price or {"epsilon": 1}))
    return [note for note in found.notes if UNNAMED in note], found


def test_groups_that_nobody_named_are_noted_where_they_cost():
    (note,), dear = notes(tc.unit("who", rows=8))
    assert "tc.unit('who', rows=8, groups=1)" in note
    assert note in str(dear)
    none, cheap = notes(tc.unit("who", rows=8, groups=1))
    assert not none
    assert dear.errors["n"][0] >= 8 * cheap.errors["n"][0]
    assert not notes(tc.unit("who", rows=8, groups=8))[0]


def test_where_they_cost_nothing_nothing_is_noted():
    assert not notes(tc.unit("who", rows=1))[0]
    assert not notes(tc.one_row_each)[0]
    assert not notes(tc.unit("who", rows=8), keys=["a"])[0]
    assert not notes(tc.unit("who", rows=8), asked=tc.mean("x", 0, 9))[0]


def test_keys_that_are_found_cost_as_well():
    found, _ = notes(
        tc.unit("who", rows=8),
        keys=None,
        budget=tc.epsilon_delta(9, "1e-5"),
        asked=tc.count(),
        epsilon=1,
        delta="1e-6",
    )
    assert len(found) == 1


TEXT = "x,flag,day,site\n12,true,2024-01-01 00:30+01:00,a\nmany,no,2024-01-02 05:00+01:00,b\n"


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT, encoding="utf-8")
    return tc.Session(path, tc.one_row_each, tc.epsilon(10**5), tc.in_memory)


def test_the_preview_says_how_a_cell_is_read(session):
    question = session.filter(tc.col("day") >= "2024-01-01", tc.col("site") == "a")
    question = question.with_column("twice", tc.col("x") * 2)
    question = question.group_by("flag", keys=[True, False])
    told = str(question.agg(tc.mean("twice", 0, 9), tc.count()).preview(epsilon=1))
    assert "x is not declared: a cell is read as a number, or true or false as 1 or 0" in told
    assert "day is not declared: a cell is read as a date such as 2024-12-31" in told
    assert "flag is not declared: a cell is read as true or false, and any other cell" in told
    assert "site" not in told
    people = session.agg(tc.mean("x", 0, 9), tc.mean("flag", 0, 1)).preview(epsilon=1)
    assert any(note.startswith("x and flag are not declared") for note in people.notes)
    assert not any("declared" in n for n in session.agg(tc.count()).preview(epsilon=1).notes)


def test_numbers_of_an_undeclared_column_are_warned_of_before_the_charge(session):
    question = session.agg(tc.mean("x", 0, 100), tc.sum("flag", 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        with pytest.raises(DataSourceWarning, match=r"^x and flag were never declared to hold num"):
            question.release(epsilon=1)
    assert session.remaining == tc.epsilon(10**5)
    with pytest.warns(DataSourceWarning, match=r"types=\{'x': 'float'\}") as told:
        answer = question.release(epsilon=10**4)
    assert told[0].filename == __file__
    assert [round(answer.value(name)) for name in ("mean_x", "sum_flag")] == [12, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        question.release(epsilon=10**4)  # a recorded answer is no news
        meant = session.with_column("y", tc.col("x").read_number())
        meant.agg(tc.mean("y", 0, 100), tc.count()).release(epsilon=1)
        session.filter(tc.col("x") > 3).agg(tc.count_distinct("site")).release(epsilon=1)


def test_a_declared_column_is_refused_by_its_type_or_read_without_a_warning(tmp_path):
    frame = pd.DataFrame({"word": pd.array(["a", "b"], dtype="string"), "n": [1, 2]})
    session = tc.Session(frame, tc.one_row_each, tc.epsilon(100), tc.in_memory)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSourceWarning)
        session.agg(tc.mean("n", 0, 9)).release(epsilon=1)
        with pytest.raises(UsageError, match="needs numbers, and 'word' holds text"):
            session.agg(tc.mean("word", 0, 9)).release(epsilon=1)


def test_what_is_made_of_a_person_is_noted_too(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("who,cost\n1,2\n1,3\n2,yes\n", encoding="utf-8")
    unit = tc.unit("who", rows=3)
    session = tc.Session(path, unit, tc.epsilon(10**5), tc.in_memory)
    question = session.per_person(cost=tc.sum("cost", 0, 9)).agg(tc.sum("cost", 0, 9))
    assert "cost is not declared: a cell is read as a number" in str(question.preview(epsilon=1))
    with pytest.warns(DataSourceWarning, match="cost was never declared"):
        assert round(question.release(epsilon=10**4).value("sum_cost")) == 6


def test_times_with_an_offset_are_counted_and_undeclared_ones_are_warned_of(session):
    counter = session.count_over_time(
        "day", start="2023-12-31 00:00", every="1h", periods=72, epsilon=10**4
    )
    said = "day is not declared: a cell is read as a time such as 2024-12-31 18:30"
    assert said in str(counter.preview())
    with pytest.warns(DataSourceWarning, match="day was never declared to hold times"):
        answer = counter.update(now="2024-01-03")
    counts = answer.to_pandas().iloc[:, 1].tolist()
    # 00:30 at +01:00 is an hour before midnight in UTC
    assert [place for place, count in enumerate(counts) if round(count) == 1] == [23, 52]
