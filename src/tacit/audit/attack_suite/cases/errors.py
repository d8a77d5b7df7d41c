"""Attacks through errors: raised for some rows only, or with a value in their text."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import LOUD, attempt, moved_at_most
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_ORACLE = "an exact oracle by an engine's error (found in a development state of Tacit)"


def _raises(name: str, kind: str, left: Sequence[Any], right: Sequence[Any]) -> None:
    @case(
        "errors as oracles",
        name,
        "is an error raised for a data set and not for its neighbour?",
        _ORACLE,
    )
    def _(system: System) -> Outcome:
        return moved_at_most(
            lambda: system.statistic(kind, left, bounds=(0.0, 10.0), epsilon=LOUD),
            lambda: system.statistic(kind, right, bounds=(0.0, 10.0), epsilon=LOUD),
            25.0 if kind == "variance" else 10.0,  # the widest that each can be
            "one row",
        )


_raises("a median of ties", "median", [1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 4.0])
_raises("the only row", "sum", [], [5.0])
_raises("a mean of one row", "mean", [5.0], [5.0, 5.0])
_raises("a variance of two rows", "variance", [5.0], [5.0, 5.0])
_raises("a median of one row", "median", [5.0], [5.0, 5.0])

_SECRET = "Quartermaine-4815162342"


def _told(name: str, ask: Any) -> None:
    @case(
        "errors that quote the rows",
        name,
        "does the text of an error carry a value of the table?",
        _ORACLE,
    )
    def _(system: System) -> Outcome:
        _, error = attempt(lambda: ask(system))
        if error is None:
            return holds("no error was raised")
        text = "".join(traceback.format_exception(error, chain=True))
        quoted = "".join(str(part) for part in (error, *error.args))
        if _SECRET in quoted or _SECRET in text.rsplit("\n", 2)[-2]:
            return falls(f"{type(error).__name__} quotes a cell")
        return holds(f"{type(error).__name__} quotes no cell")


_told(
    "a text in a column of numbers",
    lambda system: system.read_sum(f"x\n1\n{_SECRET}\n", "x", "integer", (0, 10), epsilon=1.0),
)
_told(
    "a text where a number is compared",
    lambda system: system.filtered_count("number", ["1", _SECRET], epsilon=1.0),
)
_told(
    "a text among numbers in memory",
    lambda system: system.statistic("sum", [1.0, _SECRET, 2.0], bounds=(0.0, 10.0), epsilon=1.0),
)
_told(
    "a text as the median",
    lambda system: system.statistic("median", [1.0, _SECRET], bounds=(0.0, 10.0), epsilon=1.0),
)
