"""Attacks on arithmetic: gaps of floats, order of sums, overflow, rounding, rows left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.case import Outcome, case, falls, holds
from tacit.audit.attack_suite.looking import (
    LOUD,
    attempt,
    compared,
    moved_at_most,
    rarely_shown,
)
from tacit.audit.attack_suite.system import System

__all__: list[str] = []

_MIRONOV = "Mironov, On significance of the least significant bits (CCS 2012)"
_CASACUBERTA = "Casacuberta, Shoemate, Vadhan, Wagaman, Widespread underestimation of sensitivity"
_HANEY = "Haney et al., Precision-based attacks on differentially private data (2022)"


def _finer_than_doubles_near_one(value: Any) -> bool:
    """Whether a small number is no multiple of 2^-53: a sum with 1 cannot be one."""
    scaled = abs(float(value)) * 2.0**53
    return abs(float(value)) < 0.5 and scaled != math.floor(scaled)


def _float_gaps(kind: str) -> None:
    @case(
        "float gaps",
        kind,
        "do the low bits of an answer tell the number before the noise?",
        _MIRONOV if kind != "gaussian noise" else _HANEY,
    )
    def _(system: System) -> Outcome:
        def release(value: float) -> Any:
            if kind.endswith("noise"):
                return system.noise(kind.split()[0], value, 2.0)
            return system.statistic(kind, [value], bounds=(0.0, 1.0), epsilon=0.5)

        return rarely_shown(
            lambda: release(0.0),
            lambda: release(1.0),
            _finer_than_doubles_near_one,
            epsilon=1.0,
            what="an answer near 0 that is no multiple of 2^-53",
            runs=4800,
        )


for _kind in ("sum", "mean", "laplace noise", "gaussian noise"):
    _float_gaps(_kind)


def _moved(
    system: System, rows: Sequence[float], others: Sequence[float], bound: float, change: str
) -> float | Outcome:
    """Return how far two sums are apart whose noise is below a millionth."""
    left, right = (
        lambda r=given: system.statistic("sum", r, bounds=(-bound, bound), epsilon=LOUD * bound)
        for given in (rows, others)
    )
    found = compared(left, right, change)
    return found if isinstance(found, Outcome) else abs(found[0][0] - found[1][0])


def _order(name: str, rows: Sequence[float], bound: float) -> None:
    @case(
        "order of summation",
        name,
        "does the order of the rows, which no analyst may learn, change a sum?",
        _CASACUBERTA,
    )
    def _(system: System) -> Outcome:
        moved = _moved(system, rows, rows[::-1], bound, "turning the order round")
        if isinstance(moved, Outcome):
            return moved
        told = f"the same rows in another order moved the sum by {moved:.6g}"
        return holds(told) if moved < 0.5 else falls(f"{told}; it may not move at all")


_order("large first", [2.0**53, *[1.0] * 64], 2.0**53)
_order("cancelling", [2.0**60, -(2.0**60), *[1.0] * 64], 2.0**60)
_order("small ones in blocks", [*[1.0] * 200, 2.0**54, *[1.0] * 3], 2.0**54)


def _overflow(name: str, rows: Sequence[Any], bound: float, kind: str = "sum") -> None:
    @case(
        "overflow",
        name,
        "does a sum that is too wide for its type wrap around or become infinite?",
        _CASACUBERTA,
    )
    def _(system: System) -> Outcome:
        fewer = rows[:-1]
        allowed = bound if kind == "sum" else bound * bound / 4  # no variance is above that
        return moved_at_most(
            lambda: system.statistic(kind, rows, bounds=(0, bound), epsilon=LOUD),
            lambda: system.statistic(kind, fewer, bounds=(0, bound), epsilon=LOUD),
            allowed,
            "one more row",
        )


_overflow("64 bits", [2**62, 2**62], 2**62)
_overflow("32 bits", [1_000_000] * 2148, 1_000_000)
_overflow("doubles", [1.0e308, 1.0e308], 1.0e308)
_overflow("squares", [3_100_000_007, 0, 3_100_000_007], 3_100_000_007, "variance")


def _rounding(name: str, rows: Sequence[float], bound: float) -> None:
    @case(
        "rounding that repeats",
        name,
        "does a large row make the others round, so that it moves a sum by more than itself?",
        _CASACUBERTA,
    )
    def _(system: System) -> Outcome:
        moved = _moved(system, rows, rows[1:], bound, "the large row")
        if isinstance(moved, Outcome):
            return moved
        more = moved - bound
        stated = system.sum_sensitivity(rows, (-bound, bound)) - bound
        told = f"the large row moved the sum by {more:.6g} more than its bound of {bound:.6g}"
        told += f", where {stated:.6g} more is stated" if stated > 0 else ""
        return holds(told) if more <= stated + _LAST_DIGITS else falls(told)


_LAST_DIGITS = 4.0
"""More than the doubles next to 2^53 are apart, twice."""

_rounding("up", [2.0**53 - 1.0, *[1.0 + 2.0**-20] * 1000], 2.0**53)
_rounding("down", [-(2.0**53), *[0.5 - 2.0**-20] * 1000], 2.0**53)
_rounding("single precision", [2.0**24, *[1.0 + 2.0**-10] * 400_000], 2.0**24)


def _left_out(kind: str) -> None:
    @case(
        "rows left out in silence",
        kind,
        "are all rows of a large table read?",
        "an open report on a sum of unknown size that reads 2^20 rows",
    )
    def _(system: System) -> Outcome:
        size = 2**20 + 4096
        edges = [0.0, 2.0] if kind == "histogram" else None
        rows = [1.0] * size
        answer, error = attempt(
            lambda: system.statistic(kind, rows, bounds=(0.0, 2.0), edges=edges, epsilon=LOUD)
        )
        if error is not None:
            return holds(f"refused: {type(error).__name__}")
        total = answer[0] if isinstance(answer, (list, tuple)) else answer
        told = f"{size:,} ones gave {float(total):,.0f}"
        return holds(told) if abs(float(total) - size) < 64 else falls(told)


for _kind in ("count", "sum", "histogram"):
    _left_out(_kind)


def _cut_noise(kind: str) -> None:
    @case(
        "noise cut to whole numbers",
        kind,
        "is the noise of a count cut towards zero, which biases every answer?",
        "a cut of Laplace noise to an integer, seen in a published SQL library",
    )
    def _(system: System) -> Outcome:
        runs = 150
        edges = [0.0, 2.0] if kind == "histogram" else None
        total = 0.0
        for _ in range(runs):
            answer = system.statistic(
                kind, [1.0] * 1000, bounds=(0.0, 1.0), edges=edges, epsilon=1.0
            )
            total += float(answer[0] if isinstance(answer, (list, tuple)) else answer) - 1000
        bias, error = total / runs, math.sqrt(2 / runs)
        told = f"the mean error of {runs} answers is {bias:.3f}, with standard error {error:.3f}"
        return falls(told) if abs(bias) > 5.5 * error else holds(told)


for _kind in ("count", "sum", "histogram"):
    _cut_noise(_kind)
