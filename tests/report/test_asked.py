"""Answers of people for the registry: read, or refused in a sentence."""

from __future__ import annotations

import pytest

from tacit.errors import UsageError
from tacit.report.registry import ASKED, read_answers


def test_every_question_has_a_name_of_its_own_and_a_tier() -> None:
    names = [asked.name for asked in ASKED]
    assert len(set(names)) == len(names)
    assert {asked.tier for asked in ASKED} == {0, 1, 2, 3}
    assert all(asked.flag == "--" + asked.name.replace("_", "-") for asked in ASKED)


def test_blank_answers_are_none() -> None:
    assert read_answers({"name": "  ", "curator": [], "notes": None}) == {}


def test_a_choice_may_be_given_in_the_words_of_the_registry() -> None:
    given = read_answers({"releases": "One release", "access": "interactive"})
    assert given == {"releases": ["One release"], "access": ["Interactive"]}


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"curators": "Ada"}, "did you mean 'curator'"),
        ({"releases": "two"}, "one or many"),
        ({"name": ["a", "b"]}, "one answer, not 2"),
        ({"name": 3}, "must be text, not a int"),
    ],
)
def test_a_wrong_answer_is_refused(answers: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_answers(answers)
