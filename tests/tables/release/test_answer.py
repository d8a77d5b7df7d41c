"""A released answer: values by label and group, what is not there, and what it says of itself."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.release.answer import Answer

FRAME = pd.DataFrame({"g": ["a", "b", None] * 40, "x": [1, 2, 3] * 40})


@pytest.fixture(scope="module")
def session() -> tc.Session:
    return tc.Session(FRAME, unit=tc.one_row_each, budget=tc.epsilon(10**9), name="visits")


@pytest.fixture(scope="module")
def answer(session: tc.Session) -> Answer:
    question = session.group_by("g", keys=["a", "b", None])
    asked = question.agg(n=tc.count(), s=tc.sum("x", 0, 9), h=tc.histogram("x", [0, 2, 4]))
    return asked.release(epsilon=10**6)


def test_values_and_intervals_are_named_by_label_and_group(answer: Answer) -> None:
    assert (answer.by, answer.labels, len(answer)) == (("g",), ("n", "s", "h"), 3)
    assert answer.value("n", "a") == 40
    assert answer.value("n", None) == 40
    assert answer.value("s", "b") == pytest.approx(80, abs=0.1)
    assert answer.value("h", "a") == [40, 0]
    low, high = answer.interval("n", "a")
    assert low <= 40 <= high
    assert not answer.refused("n", "a")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda a: a.value("m", "a"), "no answer 'm'"),
        (lambda a: a.value("n", "z"), "no group"),
        (lambda a: a.value("n"), "name one by g"),
        (lambda a: a.column("N"), "'n'"),
        (lambda a: a.interval("n", "a", "b"), "no group"),
    ],
)
def test_what_is_not_there_is_told(answer: Answer, ask: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(answer)


def test_an_answer_without_groups_has_one_row(session: tc.Session) -> None:
    answer = session.agg(n=tc.count()).release(epsilon=10**6)
    assert (answer.by, answer.keys, answer.value("n")) == ((), [()], 120)
    with pytest.raises(UsageError, match="name one by nothing"):
        answer.value("n", "a")


def test_what_it_says_of_itself_begins_with_whom_it_protects(answer: Answer) -> None:
    text = str(answer)
    assert answer.protects == "protects: each row, which stands for one person"
    assert answer.protects in text
    assert "missing" in text
    assert "3 groups" in text
    assert "95% intervals" in text
    assert repr(answer) == text
    about = dict(answer.about_lines())
    assert about["data set"].startswith("visits (")
    assert about["certificate"] == answer.certificate.body["digest"]


def test_the_same_again_is_replayed_and_says_so(session: tc.Session, answer: Answer) -> None:
    question = session.group_by("g", keys=["a", "b", None])
    asked = question.agg(n=tc.count(), s=tc.sum("x", 0, 9), h=tc.histogram("x", [0, 2, 4]))
    again = asked.release(epsilon=10**6)
    assert (again.replayed, answer.replayed) == (True, False)
    assert again.column("n") == answer.column("n")
    assert "replayed from the ledger, at no cost" in str(again)


def test_histograms_have_their_edges_as_numbers(answer: Answer) -> None:
    edges = {one.label: one.edges for one in answer.statistics()}
    assert edges["h"] == [0, 2, 4]
    assert not edges["n"]
