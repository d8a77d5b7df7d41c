"""Attacks through people: many rows, many groups, joins, and one reading."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import LOUD, attempt, moved_at_most, moved_beyond_noise
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_RECORDER = "dp-recorder (PETS 2026): the unit of privacy"
_BASE = [(person, "ab"[person % 2], 1.0) for person in range(100)]


def _greedy(
    attack: str, name: str, rows: Sequence[tuple[int, str, float]], each: tuple[int, int]
) -> None:
    @case(
        attack,
        name,
        "does a person with many rows move a sum by more than the declared rows?",
        _RECORDER,
    )
    def _(system: System) -> Outcome:
        rows_each, groups_each = each

        def release(given: Sequence[tuple[int, str, float]]) -> object:
            return system.people_sum(
                given,
                ["a", "b", "c"],
                rows_each=rows_each,
                groups_each=groups_each,
                upper=1.0,
                epsilon=LOUD,
            )

        return moved_at_most(
            lambda: release([*_BASE, *rows]),
            lambda: release(_BASE),
            float(rows_each * groups_each),
            f"one person with {len(rows)} rows",
        )


_greedy("many rows of a person", "a thousand rows, one counts", [(999, "a", 1.0)] * 1000, (1, 1))
_greedy("many rows of a person", "a thousand rows, five count", [(999, "b", 1.0)] * 1000, (5, 1))
_greedy("many rows of a person", "rows far above the bound", [(999, "a", 1e9)] * 50, (2, 1))
_SPREAD = [(999, "abc"[i % 3], 1.0) for i in range(300)]
_greedy("many groups of a person", "three groups, one counts", _SPREAD, (1, 1))
_greedy("many groups of a person", "three groups, two count", _SPREAD, (1, 2))
_greedy(
    *("many groups of a person", "an unlisted group beside"),
    [*_SPREAD, *[(999, "z", 1.0)] * 50],
    (2, 1),
)


def _join(name: str, public: Sequence[int | None], key: int | None) -> None:
    @case(
        "joins",
        name,
        "does a join with a public table multiply the rows of a person?",
        "a join that ignores duplicated keys, dp-recorder (PETS 2026)",
    )
    def _(system: System) -> Outcome:
        rows: list[int | None] = [1, 2, 2]
        return moved_beyond_noise(
            lambda epsilon: system.joined_count([*rows, key], public, epsilon=epsilon),
            lambda epsilon: system.joined_count(rows, public, epsilon=epsilon),
            "one more row",
        )


_join("a key twice in the public table", [1, 2, 3, 3, 3, 3], 3)
_join("a missing key on both sides", [1, 2, None, None], None)
_join("a key that the public table lacks", [1, 2], 77)


def _readings(rows_each: int) -> None:
    @case(
        "readings that differ",
        f"{rows_each} rows count",
        "does a source that shows other rows to each reading let a person count for more?",
        "a view with random(), read twice (found in a development state of Tacit)",
    )
    def _(system: System) -> Outcome:
        found = max(system.changing_source(rows_each, epsilon=LOUD) for _ in range(3))
        told = f"one person whose rows change weighed {found:.4g}, where {rows_each} are allowed"
        return holds(told) if found <= rows_each * 1.01 else falls(told)


for _rows in (1, 2, 5):
    _readings(_rows)


def _predicate(predicate: str, odd: object, plain: object) -> None:
    @case(
        "predicates that raise",
        predicate,
        "does a filter that fails on a chosen row raise only where that row exists?",
        "side channels of user code: Haeberlen, Pierce, Narayan, Differential privacy under fire",
    )
    def _(system: System) -> Outcome:
        rows = [plain] * 50
        left = attempt(lambda: system.filtered_count(predicate, [*rows, odd], epsilon=LOUD))
        right = attempt(lambda: system.filtered_count(predicate, rows, epsilon=LOUD))
        if (left[1] is None) != (right[1] is None):
            name = type(left[1] or right[1]).__name__
            return falls(f"the row {odd!r} decided whether {name} was raised")
        if left[1] is not None:
            return holds("the predicate is refused before the rows are read")
        moved = abs(left[0] - right[0])
        told = f"the row {odd!r} moved the count by {moved:.4g}"
        return holds(told) if moved <= 1.01 else falls(told)


_predicate("quotient", 0, 1)
_predicate("logarithm", -1.0, 2.0)
_predicate("number", "12 monkeys", "12")
