"""Attacks by values that are no ordinary numbers: NaN, infinities, nulls, edges, zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.case import Outcome, case
from tacit.audit.attack_suite.looking import LOUD, moved_at_most
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_SEEN = "one row that turned every answer to NaN, seen in two published libraries"
_PLAIN = [float(i % 10) for i in range(200)]
_EDGES = [0.0, 2.0, 5.0, 10.0]
_MOVES = {"count": 1.0, "sum": 10.0, "mean": 1.0, "median": 10.0, "variance": 5.0, "histogram": 2.0}
"""By how much one of 200 rows in [0, 10] may move each statistic, generously."""


def _value(attack: str, value: Any, kind: str, source: str, question: str) -> None:
    @case(attack, kind, question, source)
    def _(system: System) -> Outcome:
        edges = _EDGES if kind == "histogram" else None

        def release(rows: Sequence[Any]) -> Any:
            return system.statistic(kind, rows, bounds=(0.0, 10.0), edges=edges, epsilon=LOUD)

        return moved_at_most(
            lambda: release([*_PLAIN, value]),
            lambda: release([*_PLAIN, 5.0]),
            _MOVES[kind],
            f"one {value!r} among 200 rows",
        )


for _kind in ("sum", "mean", "median", "variance", "histogram"):
    _value(
        *("NaN", math.nan, _kind, _SEEN),
        "does one NaN, which everybody can send, turn an answer to NaN or raise?",
    )
for _kind in ("sum", "mean", "median", "histogram"):
    _value(
        *("infinities", -math.inf, _kind, _SEEN),
        "does one infinity turn an answer to NaN, or raise?",
    )
for _kind in ("count", "sum", "mean"):
    _value(
        *("missing values", None, _kind, "SmartNoise, Tumult and Spark treat NULL each otherwise"),
        "does a missing value raise, or move an answer by more than a row?",
    )
for _kind in ("sum", "mean", "variance"):
    _value(
        *("values beyond the bounds", 1e300, _kind, "dp-recorder (PETS 2026): clamping left out"),
        "is a value beyond its bounds clamped before it counts?",
    )


def _edge(name: str, value: float) -> None:
    @case(
        "edges of bins",
        name,
        "is each row counted in one bin at most?",
        "dp-recorder (PETS 2026): a row in two partitions",
    )
    def _(system: System) -> Outcome:
        def release(rows: Sequence[float]) -> Any:
            return system.statistic(
                "histogram", rows, edges=_EDGES, bounds=(0.0, 10.0), epsilon=LOUD
            )

        return moved_at_most(
            lambda: release([*_PLAIN, value]),
            lambda: release(_PLAIN),
            1.0,
            f"one row at {value:g}",
        )


_edge("inner edge", 5.0)
_edge("last edge", 10.0)
_edge("above the last edge", 11.0)
_edge("negative zero", -0.0)
