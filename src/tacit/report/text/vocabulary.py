"""What answers and steps are in words: said where they are made, and asked for here.

The rooms of tables stand above this one.  They say their words when they are loaded, and they are
loaded when the first word that is not known is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = [
    "AnswerWords",
    "StepWords",
    "answer_words",
    "clamped_column",
    "for_each_group",
    "load_tables",
    "rows_in_all",
    "say_answer",
    "say_step",
    "so_many",
    "words_of_step",
]

_HOME = "tacit.tables.replan"

Described = Mapping[str, Any]
"""An answer or a step, as a certificate has it."""


class AnswerWords(Protocol):
    """What one kind of answer is in words."""

    @property
    def amount(self) -> bool:
        """Whether a picture draws it as a bar from zero."""

    @property
    def each(self) -> tuple[str, str]:
        """What stands over a table of its numbers, where it is several: names, and numbers."""

    def words(self, described: Described) -> str:
        """Say what one answer is, with its public bounds."""


def so_many(shown: str, one: str, many: str) -> str:
    """Say a number that is written already with its noun.

    >>> so_many("1", "person", "people"), so_many("1/2", "row", "rows")
    ('1 person', '1/2 rows')
    """
    return f"{shown} {one if shown == '1' else many}"


def rows_in_all(step: Described, shown: str) -> str:
    """Say a distance in rows of all groups together."""
    return f"{so_many(shown, 'row', 'rows')} in all"


@dataclass(frozen=True)
class StepWords:
    """What one step of a chain is in words.

    Attributes:
        does: says what it does.
        moves: says how far one person can move what comes out of it, from the step, with its
            ``distance``, and that distance as it is shown.
    """

    does: Callable[[Described], str]
    moves: Callable[[Described, str], str] = rows_in_all


_ANSWERS: dict[str, AnswerWords] = {}
_STEPS: dict[str, StepWords] = {}


def say_answer(kind: str, words: AnswerWords) -> None:
    """Make the words of a kind of answer known."""
    _ANSWERS[kind] = words


def say_step(
    step: str,
    does: Callable[[Described], str],
    moves: Callable[[Described, str], str] = rows_in_all,
) -> None:
    """Make the words of a step known; see :class:`StepWords`."""
    _STEPS[step] = StepWords(does, moves)


def answer_words(kind: str) -> AnswerWords:
    """Return the words of a kind of answer.

    Raises:
        LookupError: nobody has any.
    """
    if kind not in _ANSWERS:
        load_tables()
    return _ANSWERS[kind]


def words_of_step(step: str) -> StepWords | None:
    """Return the words of a step; None where nobody has any."""
    if step not in _STEPS:
        load_tables()
    return _STEPS.get(step)


def load_tables() -> None:
    """Load the room that certificates are made in."""
    importlib.import_module(_HOME)


def for_each_group(step: Described) -> str:
    """Say what a step is done for, as the end of a sentence.

    >>> for_each_group({"by": ["site", "year"]}), for_each_group({})
    (', for each site and year', '')
    """
    by = step.get("by") or []
    return f", for each {' and '.join(str(name) for name in by)}" if by else ""


def clamped_column(step: Described) -> str:
    """Say which column a step reads, within which bounds.

    >>> clamped_column({"column": "age", "lower": "0", "upper": "99"})
    'age, clamped to [0, 99]'
    """
    return f"{step['column']}, clamped to [{step['lower']}, {step['upper']}]"
