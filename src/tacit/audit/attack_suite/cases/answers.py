"""Attacks on several answers at once: plans, answers that follow from others, unlisted keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import LOUD, attempt, distinguished, moved_at_most
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_PLAN = "plans of several questions"
_MATRIX = "Li, Hay, Rastogi, Miklau, McGregor, Optimizing linear counting queries (2010)"


@case(
    _PLAN,
    "the same count sixteen times",
    "does the mean of answers under one charge tell more than the charge says?",
    _MATRIX,
)
def _(system: System) -> Outcome:
    def release(rows: Sequence[str]) -> Callable[[], Sequence[float]]:
        return lambda: system.planned_counts(rows, [], 16, epsilon=1.0)

    return distinguished(
        *(release(["a", "a"]), release(["a"])),
        lambda answer: sum(answer) > 24,
        epsilon=1.0,
        what="a mean of sixteen counts above 3/2",
        runs=200,
    )


def _moved(name: str, key: str) -> None:
    @case(
        _PLAN,
        name,
        "does a row move the answers of a plan by more than one in each table?",
        _MATRIX,
    )
    def _(system: System) -> Outcome:
        return moved_at_most(
            lambda: system.planned_counts(["a", "b", key], ["a", "b"], 1, epsilon=LOUD),
            lambda: system.planned_counts(["a", "b"], ["a", "b"], 1, epsilon=LOUD),
            2.0,
            f"one row with the key {key!r}",
        )


_moved("a row with a listed key", "a")
_moved("a row with another key", "z")


_FREE = "answers that follow from others"
_AVERAGE = "averaging of repeats: Dinur, Nissim (2003)"


@case(
    *(_FREE, "a total of groups"),
    "is an answer at no charge anything but a function of what was released?",
    _AVERAGE,
)
def _(system: System) -> Outcome:
    released, derived, charged = system.derived("total", ["a", "b", "b"], ["a", "b"], epsilon=0.5)
    if derived is None:
        return holds("no answer is given at no charge")
    told = f"the sum of released counts is {sum(released):.6g}, and {derived:.6g} was answered"
    fresh = abs(sum(released) - derived) > 1e-6 and charged < 0.5
    return falls(f"{told} for {charged:g}") if fresh else holds(f"{told} for {charged:g}")


def _undetermined(name: str, ask: str) -> None:
    @case(_FREE, name, "is a number given at no charge that no release determines?", _AVERAGE)
    def _(system: System) -> Outcome:
        _, derived, charged = system.derived(ask, ["a", "b", "b"], ["a", "b"], epsilon=0.5)
        if derived is None or charged > 0:
            return holds("nothing is given at no charge")
        return falls(f"{derived:.6g} was answered for {charged:g}")


_undetermined("a group that was not released", "other group")
_undetermined("a part of a group", "filter")


def _keys(name: str, groups: int, delta: float) -> None:
    @case(
        "keys of a person with many",
        name,
        "is some key of one person shown more often than delta allows?",
        "Desfontaines, Voss, Gipson, Mandayam, Differentially private partition selection (2022)",
    )
    def _(system: System) -> Outcome:
        own = [(7, f"k{number}") for number in range(groups)]

        def release(rows: Sequence[tuple[int, str]]) -> Callable[[], Sequence[str]]:
            return lambda: system.people_keys(rows, groups, epsilon=1.0, delta=delta)

        refused, error = attempt(release(own))
        if error is not None:
            return holds(f"refused: {type(error).__name__}")
        del refused
        return distinguished(
            *(release(own), release([])),
            lambda shown: any(key.startswith("k") for key in shown),
            epsilon=1.0,
            delta=delta,
            what=f"a key of one person with {groups}",
            runs=200,
        )


_keys("one key", 1, 0.1)
_keys("four keys", 4, 0.1)
_keys("sixteen keys", 16, 0.05)
