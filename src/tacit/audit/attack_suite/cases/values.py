"""Attacks by numbers, hostile values and values outside of the domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    LARGE_EPSILON,
    CaseOutcome,
    System,
    attempt,
    case,
    cases,
    compared,
    distinguished,
    falls,
    holds,
    moved_at_most,
    rarely_shown,
)

# Attacks on arithmetic: gaps of floats, order of sums, overflow, rounding, rows left out.


__all__: list[str] = []

_FALSE_ALARM = 1e-5
_MIRONOV = "Mironov, On significance of the least significant bits (CCS 2012)"
_CASACUBERTA = "Casacuberta, Shoemate, Vadhan, Wagaman, Widespread underestimation of sensitivity"
_HANEY = "Haney et al., Precision-based attacks on differentially private data (2022)"


def _finer_near_zero(bits: int) -> Callable[[Any], bool]:
    """Return whether a small number is no multiple of 2^-bits, as a rounded sum with 1 must be."""

    def finer(value: Any) -> bool:
        scaled = abs(float(value)) * 2.0**bits
        return abs(float(value)) < 0.5 and scaled != math.floor(scaled)

    return finer


def _float_gaps(attack: str, kind: str, bits: int) -> None:
    @case(
        attack,
        kind,
        "do the low bits of an answer tell the number before the noise?",
        _MIRONOV if kind != "gaussian noise" else _HANEY,
    )
    def _(system: System) -> CaseOutcome:
        def release(value: float) -> Any:
            if kind.endswith("noise"):
                return system.noise(kind.split()[0], value, 2.0)
            return system.statistic(kind, [value], bounds=(0.0, 1.0), epsilon=0.5)

        return rarely_shown(
            lambda: release(0.0),
            lambda: release(1.0),
            _finer_near_zero(bits),
            epsilon=1.0,
            what=f"an answer near 0 that is no multiple of 2^-{bits}",
            runs=4800,
        )


for _kind in ("sum", "mean", "laplace noise", "gaussian noise"):
    _float_gaps("float gaps", _kind, 53)
for _kind in ("sum", "laplace noise", "gaussian noise"):
    _float_gaps("gaps of single precision", _kind, 24)


def _rate(rate: float, rows: int) -> None:
    @case(
        "sampling rates",
        f"rate {rate:g}",
        "does Poisson sampling select each row with the claimed probability?",
        "uniform numbers of 24 bits that are compared with a rate (seen in training libraries)",
    )
    def _(system: System) -> CaseOutcome:
        selected = system.selected(rate, rows)
        # P(X >= k) <= e^-m (e m / k)^k for a binomial X of mean m, by Chernoff's bound.
        mean = rate * rows
        log_tail = selected - mean + selected * math.log(mean / selected) if selected > mean else 0
        described = f"{selected} of {rows:,} rows, where {mean:.3g} are expected"
        return falls(described) if log_tail < math.log(_FALSE_ALARM) else holds(described)


for _share in (1e-8, 1e-9, 1e-10):
    _rate(_share, 400_000_000)


def _moved(
    system: System, rows: Sequence[float], others: Sequence[float], bound: float, change: str
) -> float | CaseOutcome:
    """Return how far two sums are apart whose noise is below a millionth."""
    left, right = (
        lambda r=given: system.statistic(
            "sum", r, bounds=(-bound, bound), epsilon=LARGE_EPSILON * bound
        )
        for given in (rows, others)
    )
    difference = compared(left, right, change)
    return (
        difference
        if isinstance(difference, CaseOutcome)
        else abs(difference[0][0] - difference[1][0])
    )


@cases(
    "order of summation",
    "does the order of the rows, which no analyst may learn, change a sum?",
    _CASACUBERTA,
    {
        "large first": ([2.0**53, *[1.0] * 64], 2.0**53),
        "cancelling": ([2.0**60, -(2.0**60), *[1.0] * 64], 2.0**60),
        "small ones in blocks": ([*[1.0] * 200, 2.0**54, *[1.0] * 3], 2.0**54),
    },
)
def _(system: System, rows: Sequence[float], bound: float) -> CaseOutcome:
    moved = _moved(system, rows, rows[::-1], bound, "turning the order round")
    if isinstance(moved, CaseOutcome):
        return moved
    text = f"the same rows in another order moved the sum by {moved:.6g}"
    return holds(text) if moved < 0.5 else falls(f"{text}; it may not move at all")


@cases(
    "overflow",
    "does a sum that is too wide for its type wrap around or become infinite?",
    _CASACUBERTA,
    {
        "64 bits": ([2**62, 2**62], 2**62),
        "32 bits": ([1_000_000] * 2148, 1_000_000),
        "doubles": ([1.0e308, 1.0e308], 1.0e308),
        "squares": ([3_100_000_007, 0, 3_100_000_007], 3_100_000_007, "variance"),
    },
)
def _(system: System, rows: Sequence[Any], bound: float, kind: str = "sum") -> CaseOutcome:
    fewer = rows[:-1]
    allowed = bound if kind == "sum" else bound * bound / 4  # no variance is above that
    return moved_at_most(
        lambda: system.statistic(kind, rows, bounds=(0, bound), epsilon=LARGE_EPSILON),
        lambda: system.statistic(kind, fewer, bounds=(0, bound), epsilon=LARGE_EPSILON),
        allowed,
        "one more row",
    )


@cases(
    "rounding that repeats",
    "does a large row make the others round, so that it moves a sum by more than itself?",
    _CASACUBERTA,
    {
        "up": ([2.0**53 - 1.0, *[1.0 + 2.0**-20] * 1000], 2.0**53),
        "down": ([-(2.0**53), *[0.5 - 2.0**-20] * 1000], 2.0**53),
        "single precision": ([2.0**24, *[1.0 + 2.0**-10] * 400_000], 2.0**24),
    },
)
def _(system: System, rows: Sequence[float], bound: float) -> CaseOutcome:
    moved = _moved(system, rows, rows[1:], bound, "the large row")
    if isinstance(moved, CaseOutcome):
        return moved
    more = moved - bound
    stated = system.sum_sensitivity(rows, (-bound, bound)) - bound
    text = f"the large row moved the sum by {more:.6g} more than its bound of {bound:.6g}"
    text += f", where {stated:.6g} more is stated" if stated > 0 else ""
    return holds(text) if more <= stated + _LAST_DIGITS else falls(text)


_LAST_DIGITS = 4.0  # more than the doubles next to 2^53 are apart, twice


@cases(
    "rows left out in silence",
    "are all rows of a large table read?",
    "an open report on a sum of unknown size that reads 2^20 rows",
    {kind: (kind,) for kind in ("count", "sum", "histogram")},
)
def _(system: System, kind: str) -> CaseOutcome:
    size = 2**20 + 4096
    edges = [0.0, 2.0] if kind == "histogram" else None
    rows = [1.0] * size
    answer, error = attempt(
        lambda: system.statistic(kind, rows, bounds=(0.0, 2.0), edges=edges, epsilon=LARGE_EPSILON)
    )
    if error is not None:
        return holds(f"refused: {type(error).__name__}")
    total = answer[0] if isinstance(answer, (list, tuple)) else answer
    text = f"{size:,} ones gave {float(total):,.0f}"
    return holds(text) if abs(float(total) - size) < 64 else falls(text)


@cases(
    "noise cut to whole numbers",
    "is the noise of a count cut towards zero, which biases every answer?",
    "a cut of Laplace noise to an integer, seen in a published SQL library",
    {kind: (kind,) for kind in ("count", "sum", "histogram")},
)
def _(system: System, kind: str) -> CaseOutcome:
    runs = 150
    edges = [0.0, 2.0] if kind == "histogram" else None
    total = 0.0
    for _ in range(runs):
        answer = system.statistic(kind, [1.0] * 1000, bounds=(0.0, 1.0), edges=edges, epsilon=1.0)
        total += float(answer[0] if isinstance(answer, (list, tuple)) else answer) - 1000
    bias, error = total / runs, math.sqrt(2 / runs)
    text = f"the mean error of {runs} answers is {bias:.3f}, with standard error {error:.3f}"
    return falls(text) if abs(bias) > 5.5 * error else holds(text)


# Attacks by values that are no ordinary numbers: NaN, infinities, nulls, edges, zeros.


_SEEN = "one row that turned every answer to NaN, seen in two published libraries"
_PLAIN = [float(i % 10) for i in range(200)]
_EDGES = [0.0, 2.0, 5.0, 10.0]
# By how much one of 200 rows in [0, 10] may move each statistic, generously.
_MOVES = {"count": 1.0, "sum": 10.0, "mean": 1.0, "median": 10.0, "variance": 5.0, "histogram": 2.0}


def _value(attack: str, value: Any, kind: str, source: str, question: str) -> None:
    @case(attack, kind, question, source)
    def _(system: System) -> CaseOutcome:
        edges = _EDGES if kind == "histogram" else None

        def release(rows: Sequence[Any]) -> Any:
            return system.statistic(
                kind, rows, bounds=(0.0, 10.0), edges=edges, epsilon=LARGE_EPSILON
            )

        return moved_at_most(
            lambda: release([*_PLAIN, value]),
            lambda: release([*_PLAIN, 5.0]),
            _MOVES[kind],
            f"one {value!r} among 200 rows",
        )


for _hostile_values_kind in ("sum", "mean", "median", "variance", "histogram"):
    _value(
        *("NaN", math.nan, _hostile_values_kind, _SEEN),
        "does one NaN, which everybody can send, turn an answer to NaN or raise?",
    )
for _hostile_values_kind in ("sum", "mean", "median", "histogram"):
    _value(
        *("infinities", -math.inf, _hostile_values_kind, _SEEN),
        "does one infinity turn an answer to NaN, or raise?",
    )
for _hostile_values_kind in ("count", "sum", "mean"):
    _value(
        *(
            "missing values",
            None,
            _hostile_values_kind,
            "SmartNoise, Tumult and Spark treat NULL each otherwise",
        ),
        "does a missing value raise, or move an answer by more than a row?",
    )
for _hostile_values_kind in ("sum", "mean", "variance"):
    _value(
        *(
            "values beyond the bounds",
            1e300,
            _hostile_values_kind,
            "dp-recorder (PETS 2026): clamping left out",
        ),
        "is a value beyond its bounds clamped before it counts?",
    )


@cases(
    "edges of bins",
    "is each row counted in one bin at most?",
    "dp-recorder (PETS 2026): a row in two partitions",
    {
        "inner edge": (5.0,),
        "last edge": (10.0,),
        "above the last edge": (11.0,),
        "negative zero": (-0.0,),
    },
)
def _(system: System, value: float) -> CaseOutcome:
    def release(rows: Sequence[float]) -> Any:
        return system.statistic(
            "histogram", rows, edges=_EDGES, bounds=(0.0, 10.0), epsilon=LARGE_EPSILON
        )

    return moved_at_most(
        lambda: release([*_PLAIN, value]),
        lambda: release(_PLAIN),
        1.0,
        f"one row at {value:g}",
    )


# Attacks that read the domain off the rows: bounds, keys, types, and equality of texts.


_STADLER = "Stadler, Oprisanu, Troncoso, Synthetic data: anonymisation groundhog day (2022)"
_FAR = 1e20
_RECORDER = "dp-recorder (PETS 2026): data-dependent control flow"


@cases(
    "bounds from the rows",
    "what if the analyst names no bounds?",
    f"{_STADLER}; a default of a published library",
    {kind: (kind,) for kind in ("sum", "mean", "median", "variance", "histogram")},
)
def _(system: System, kind: str) -> CaseOutcome:
    answer, error = attempt(
        lambda: system.statistic(kind, [1.0, 2.0, 3.0, 1e6], bounds=None, epsilon=1.0)
    )
    if error is not None:
        return holds(f"refused without public bounds: {type(error).__name__}")
    size = max(abs(float(x)) for x in (answer if isinstance(answer, list) else [answer]))
    if size > _FAR:
        return holds(f"answered {size:.3g}, far beyond what bounds from the rows would give")
    return falls(f"answered {answer!r:.40} without bounds: they were taken from the rows")


@cases(
    "keys from the rows",
    "does a group of few people show by its key alone?",
    "Korolova et al., Releasing search queries and clicks privately (2009)",
    {
        "one person at delta 0": (1, 0.0),
        "twenty people at delta 0": (20, 0.0),
        "one person at delta 1/1000": (1, 0.001),
    },
)
def _(system: System, people: int, delta: float) -> CaseOutcome:
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
        text = f"keys shown at delta 0: {', '.join(sorted(map(str, shown)))}"
        return falls(text) if "rare" in shown else holds(text)
    return distinguished(
        lambda: system.group_counts([*common, *["rare"] * people], None, epsilon=1.0, delta=delta),
        lambda: system.group_counts(common, None, epsilon=1.0, delta=delta),
        lambda answer: "rare" in answer,
        epsilon=1.0,
        delta=delta * people,
        what=f"the key of {people} of 301 people",
        runs=200,
    )


@cases(
    "threshold of keys",
    "does a key of one person appear more often than delta allows?",
    "an open report on a threshold that claims 0.0049 and has 0.013; Desfontaines (2020)",
    {
        "delta 1/10": (0.1, 1.0),
        "delta 1/20 at epsilon 2": (0.05, 2.0),
        "delta 1/5 at epsilon 1/2": (0.2, 0.5),
    },
)
def _(system: System, delta: float, epsilon: float) -> CaseOutcome:
    return distinguished(
        lambda: system.group_counts(["only"], None, epsilon=epsilon, delta=delta),
        lambda: system.group_counts([], None, epsilon=epsilon, delta=delta),
        lambda answer: "only" in answer,
        epsilon=epsilon,
        delta=delta,
        what="the only key of one person",
        runs=300,
    )


@cases(
    "public keys",
    "are exactly the public keys shown, whatever the rows have?",
    "Stadler et al. (2022); dp-recorder (PETS 2026)",
    {
        "a key without rows": (["a", "b", "absent"],),
        "a row without key": (["a", "b"],),
        "no key has rows": (["x", "y"],),
    },
)
def _(system: System, public: Sequence[Any]) -> CaseOutcome:
    difference = system.group_counts(["a", "b", "odd"], public, epsilon=1.0)
    text = f"asked for {len(public)} keys and shown {sorted(map(str, difference))}"
    return holds(text) if set(difference) == set(public) else falls(text)


@cases(
    "equality of texts",
    "does one row count under two keys that look alike?",
    "collations of PostgreSQL and DuckDB",
    {
        "case of letters": ("ada", "ADA"),
        "a blank behind": ("ada", "ada "),
        "composed letters": ("\u00e9", "e\u0301"),
    },
)
def _(system: System, one: str, other: str) -> CaseOutcome:
    return moved_at_most(
        lambda: system.group_counts([one] * 3, [one, other], epsilon=LARGE_EPSILON),
        lambda: system.group_counts([one] * 2, [one, other], epsilon=LARGE_EPSILON),
        1.0,
        "one more row",
    )


_LINES = "x,y\n" + "".join(f"{i % 10},2024-01-{i % 12 + 1:02d}\n" for i in range(60))


@cases(
    "a file read by its rows",
    "does one odd line change how the other lines are read?",
    _RECORDER,
    {
        "text among numbers": ("many,2024-01-01\n", 10.0),
        "another date format": ("5,31/12/2024\n", 10.0),
        "a comment": ("#5,2024-01-01\n", 10.0),
        "an open quote": ('"5,2024-01-01\n', 10.0),
        "too many cells": ("5,2024-01-01,7,7\n", 10.0),
    },
)
def _(system: System, line: str, allowed: float) -> CaseOutcome:
    return moved_at_most(
        lambda: system.read_sum(_LINES + line, "x", "integer", (0, 10), epsilon=LARGE_EPSILON),
        lambda: system.read_sum(_LINES, "x", "integer", (0, 10), epsilon=LARGE_EPSILON),
        allowed,
        f"the line {line.strip()!r}",
    )
