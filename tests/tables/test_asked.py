"""A written question becomes a question to a session."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.written import read_question


@pytest.fixture
def session() -> tc.Session:
    rows = pa.table({"person": [1, 2, 3], "age": [20, 30, 40], "site": ["a", "b", "a"]})
    return tc.Session(rows, tc.unit("person", rows=2), tc.epsilon(1), tc.in_memory)


def question(session: tc.Session, **fields: object) -> tc.tables.Question:
    fields = {"answers": {"n": {"statistic": "count"}}, **fields}
    return read_question(fields, declared=True).question(session)


def test_it_is_the_question_of_the_methods(session: tc.Session) -> None:
    written = question(session, where="age >= 18", by="site", keys=["a", "b"])
    spoken = session.filter(tc.col("age") >= 18).agg(n=tc.count()).group_by("site", keys=["a", "b"])
    assert written.preview(epsilon=1) == spoken.preview(epsilon=1)
    assert written.release(epsilon=1).keys == spoken.release(epsilon=1).keys
    assert session.remaining.is_nothing


def test_people_are_made_before_they_are_filtered(session: tc.Session) -> None:
    most = {"statistic": "max", "column": "age", "lower": 0, "upper": 99}
    asked = question(session, per_person={"most": most}, where="age > 1", where_person="most > 3")
    spoken = session.filter(tc.col("age") > 1).per_person(most=tc.max("age", 0, 99))
    spoken = spoken.filter(tc.col("most") > 3).agg(n=tc.count())
    assert asked.release(epsilon=1).value("n") == spoken.release(epsilon=1).value("n")
    assert session.remaining.is_nothing


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answers": {}}, "nothing is asked"),
        ({"by": "site"}, "not known to be public"),
        ({"where_person": "age > 3"}, "one row per person"),
        ({"by": "agee", "keys": [1]}, "agee"),
    ],
)
def test_what_does_not_fit_is_refused(session: tc.Session, fields: object, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        question(session, **fields)  # type: ignore[arg-type]


def test_numbers_with_fractions_are_no_groups() -> None:
    rows = pa.table({"pay": [1.5, 2.5]})
    session = tc.Session(rows, tc.one_row_each, tc.epsilon(1), tc.in_memory)
    with pytest.raises(UsageError, match="too many values to be groups"):
        question(session, by="pay", keys=[1.5])
