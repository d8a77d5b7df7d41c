"""The exercises of the tutorials: right answers are right, usual mistakes get their own hint."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from tacit import learn
from tacit.errors import UsageError

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
BY_HAND = {
    "global-1": Fraction(11) - Fraction(22, 3) - Fraction(1, 2),  # (1, 10, 11) without the 1
    "global-2": 3 * 20,
    "global-3": 2,
    "global-4": 2.5,
    "local-1": 45 - 30,  # without the 90
    "noise-4": 2,
    "people-1": 2.1972245773,
    "people-2": "3200",
    "people-3": 7500,
    "distances-1": 4,
    "distances-2": "36/25",
    "distances-3": 34,
    "distances-4": 1.25,
}


def test_right_answers_are_right_in_any_form() -> None:
    for name, answer in BY_HAND.items():
        assert learn.check(name, answer), name
    assert learn.check("local-4", " No ").right
    assert learn.check("people-1", 2.197)
    assert not learn.check("people-1", 2.199)


def test_each_computed_answer_is_right_and_each_mistake_gets_its_hint() -> None:
    for name, exercise in learn.EXERCISES.items():
        verdict = learn.check(name, exercise.answer())
        assert (verdict.right, repr(verdict)[:7]) == (True, "Right: "), name
        for hint, mistake in exercise.mistakes.items():
            said = learn.check(name, mistake())
            assert (said.right, said.text) == (False, f"Not yet: {hint}"), name


def test_what_is_no_answer_is_told_so() -> None:
    assert "in place of the dots" in learn.check("global-1", ...).text
    assert learn.check("global-1", 77).text.startswith("Not yet: write down a release")
    for odd in ("ln 9", None, float("nan"), float("inf"), [1], "1/0"):
        assert learn.check("global-1", odd).text.startswith("Not a number yet"), odd
    assert learn.check("local-4", 3).text == 'Answer "yes" or "no".'
    with pytest.raises(UsageError, match="did you mean 'global-1'"):
        learn.check("global1", 3)


def test_every_exercise_is_asked_once_on_the_page_of_its_name() -> None:
    asked = [
        name
        for page in sorted(TUTORIALS.glob("[0-9]*.md"))
        for name in re.findall(r"^\*\*([\w-]+)\.\*\* ", page.read_text(encoding="utf-8"), re.M)
    ]
    assert asked == list(learn.EXERCISES)
