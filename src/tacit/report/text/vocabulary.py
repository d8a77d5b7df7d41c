"""What answers and steps are in words: said where they are made, and asked for here.

The rooms of tables stand above this one.  They say their words when they are loaded, and they are
loaded when the first word that is not known is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.arithmetic.exact import as_fraction, show
from tacit.expressions.expression import from_json
from tacit.expressions.node import FAR, Node, constants_of

__all__ = [
    "DERIVED",
    "AnswerWords",
    "StepWords",
    "answer_words",
    "clamped_column",
    "for_each_group",
    "formula_words",
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


DERIVED = "derived"
"""The kind of an answer that is computed from released ones."""


class _DerivedWords:
    amount, each = False, ("value", "value")

    def words(self, described: Described) -> str:
        return f"{formula_words(from_json(described['of']))}, computed from the released answers"


def formula_words(formula: Node) -> str:
    """Return how an answer is computed from others, with the functions of SQL.

    >>> from tacit.expressions.expression import col, when
    >>> n = when(col("n") == 0).then(None).otherwise(col("n"))
    >>> formula_words((col("pay") / n).fill(0))
    'coalesce(pay / nullif(n, 0), 0)'
    """
    text = _formula(formula)
    return text[1:-1] if formula.operation in _SIGNS else text


_SIGNS = {"+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "&", "|"}
_IN_SQL = {"==": "=", "!=": "<>", "&": "and", "|": "or"}


def _formula(node: Node) -> str:
    name, operands = node.operation, node.operands
    parts = [formula_words(one) for one in operands]
    if name in _SIGNS:
        left, right = map(_formula, operands)
        return f"({left} {_IN_SQL.get(name, name)} {right})"
    if name == "literal" and node.parameters[0] is None:
        return "null"
    if name in ("col", "literal"):
        return str(node)
    if name == "is_null":
        return f"({_formula(operands[0])} is null)"
    if name == "~":
        return f"(not {_formula(operands[0])})"
    if name == "clamp":
        low, high = (show(as_fraction(end)) for end in constants_of(node))
        lifted = f"greatest({parts[0]}, {low})"
        if constants_of(node)[0] <= -FAR:
            return f"least({parts[0]}, {high})"
        return lifted if constants_of(node)[1] >= FAR else f"least({lifted}, {high})"
    if name == "when":
        tested, _, other = operands
        if (
            parts[1] == "null"
            and tested.operation == "=="
            and str(tested.operands[0]) == str(other)
        ):
            return f"nullif({parts[2]}, {formula_words(tested.operands[1])})"
        end = "" if parts[2] == "null" else f" else {parts[2]}"
        return f"case when {parts[0]} then {parts[1]}{end} end"
    called = "coalesce" if name == "fill" else name
    return f"{called}({', '.join([*parts, *map(repr, constants_of(node))])})"


_ANSWERS: dict[str, AnswerWords] = {DERIVED: _DerivedWords()}
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
