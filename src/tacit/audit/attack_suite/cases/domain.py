"""Attacks that read the domain off the rows: bounds, keys, types, and equality of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import LOUD, attempt, distinguished, moved_at_most
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_STADLER = "Stadler, Oprisanu, Troncoso, Synthetic data: anonymisation groundhog day (2022)"
_FAR = 1e20
_RECORDER = "dp-recorder (PETS 2026): data-dependent control flow"


def _bounds(kind: str) -> None:
    @case(
        "bounds from the rows",
        kind,
        "what if the analyst names no bounds?",
        f"{_STADLER}; a default of a published library",
    )
    def _(system: System) -> Outcome:
        answer, error = attempt(
            lambda: system.statistic(kind, [1.0, 2.0, 3.0, 1e6], bounds=None, epsilon=1.0)
        )
        if error is not None:
            return holds(f"refused without public bounds: {type(error).__name__}")
        size = max(abs(float(x)) for x in (answer if isinstance(answer, list) else [answer]))
        if size > _FAR:
            return holds(f"answered {size:.3g}, far beyond what bounds from the rows would give")
        return falls(f"answered {answer!r:.40} without bounds: they were taken from the rows")


for _kind in ("sum", "mean", "median", "variance", "histogram"):
    _bounds(_kind)


def _rare(name: str, people: int, delta: float) -> None:
    @case(
        "keys from the rows",
        name,
        "does a group of few people show by its key alone?",
        "Korolova et al., Releasing search queries and clicks privately (2009)",
    )
    def _(system: System) -> Outcome:
        common = ["a"] * 300
        shown, error = attempt(
            lambda: (
                system.group_counts([*common, *["rare"] * people], None, epsilon=1.0)
                if delta == 0
                else None
            )
        )
        if delta == 0:
            if error is not None:
                return holds(f"refused without public keys at delta 0: {type(error).__name__}")
            told = f"keys shown at delta 0: {', '.join(sorted(map(str, shown)))}"
            return falls(told) if "rare" in shown else holds(told)
        return distinguished(
            lambda: system.group_counts(
                [*common, *["rare"] * people], None, epsilon=1.0, delta=delta
            ),
            lambda: system.group_counts(common, None, epsilon=1.0, delta=delta),
            lambda answer: "rare" in answer,
            epsilon=1.0,
            delta=delta * people,
            what=f"the key of {people} of 301 people",
            runs=200,
        )


_rare("one person at delta 0", 1, 0.0)
_rare("twenty people at delta 0", 20, 0.0)
_rare("one person at delta 1/1000", 1, 0.001)


def _threshold(name: str, delta: float, epsilon: float) -> None:
    @case(
        "threshold of keys",
        name,
        "does a key of one person appear more often than delta allows?",
        "an open report on a threshold that claims 0.0049 and has 0.013; Desfontaines (2020)",
    )
    def _(system: System) -> Outcome:
        return distinguished(
            lambda: system.group_counts(["only"], None, epsilon=epsilon, delta=delta),
            lambda: system.group_counts([], None, epsilon=epsilon, delta=delta),
            lambda answer: "only" in answer,
            epsilon=epsilon,
            delta=delta,
            what="the only key of one person",
            runs=300,
        )


_threshold("delta 1/10", 0.1, 1.0)
_threshold("delta 1/20 at epsilon 2", 0.05, 2.0)
_threshold("delta 1/5 at epsilon 1/2", 0.2, 0.5)


def _public(name: str, public: Sequence[Any]) -> None:
    @case(
        "public keys",
        name,
        "are exactly the public keys shown, whatever the rows have?",
        "Stadler et al. (2022); dp-recorder (PETS 2026)",
    )
    def _(system: System) -> Outcome:
        found = system.group_counts(["a", "b", "odd"], public, epsilon=1.0)
        told = f"asked for {len(public)} keys and shown {sorted(map(str, found))}"
        return holds(told) if set(found) == set(public) else falls(told)


_public("a key without rows", ["a", "b", "absent"])
_public("a row without key", ["a", "b"])
_public("no key has rows", ["x", "y"])


def _equal(name: str, one: str, other: str) -> None:
    @case(
        "equality of texts",
        name,
        "does one row count under two keys that look alike?",
        "collations of PostgreSQL and DuckDB",
    )
    def _(system: System) -> Outcome:
        return moved_at_most(
            lambda: system.group_counts([one] * 3, [one, other], epsilon=LOUD),
            lambda: system.group_counts([one] * 2, [one, other], epsilon=LOUD),
            1.0,
            "one more row",
        )


_equal("case of letters", "ada", "ADA")
_equal("a blank behind", "ada", "ada ")
_equal("composed letters", "\u00e9", "e\u0301")


_LINES = "x,y\n" + "".join(f"{i % 10},2024-01-{i % 12 + 1:02d}\n" for i in range(60))


def _sniffing(name: str, line: str, allowed: float) -> None:
    @case(
        "a file read by its rows",
        name,
        "does one odd line change how the other lines are read?",
        _RECORDER,
    )
    def _(system: System) -> Outcome:
        return moved_at_most(
            lambda: system.read_sum(_LINES + line, "x", "integer", (0, 10), epsilon=LOUD),
            lambda: system.read_sum(_LINES, "x", "integer", (0, 10), epsilon=LOUD),
            allowed,
            f"the line {line.strip()!r}",
        )


_sniffing("text among numbers", "many,2024-01-01\n", 10.0)
_sniffing("another date format", "5,31/12/2024\n", 10.0)
_sniffing("a comment", "#5,2024-01-01\n", 10.0)
_sniffing("an open quote", '"5,2024-01-01\n', 10.0)
_sniffing("too many cells", "5,2024-01-01,7,7\n", 10.0)
