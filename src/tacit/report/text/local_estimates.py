"""What is reported of the answers to a local question, of every kind: a table, and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.local import Estimate, KeyValueEstimate, MeanEstimate, Oracle, State

__all__ = ["Result", "Wanted", "results_of"]

PARTS = 8
"""Into how many equal parts a spread of numbers is cut where no ranges are asked for."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of the sums.

    Attributes:
        level: the confidence of the intervals.
        together: whether all intervals hold at once.
        candidates: the answers to look for, where any text may have been given.
        ranges: of whole numbers, such as ``18..25,26..64``.
        heaviest: how many of the most frequent answers.
        flag: what stands before the name of an option in a message.
    """

    level: str = "0.95"
    together: bool = False
    candidates: list[str] | None = None
    ranges: str | None = None
    heaviest: int | None = None
    flag: str = ""


@dataclass(frozen=True)
class Result:
    """One table, the same as plain JSON values, and how it is drawn."""

    header: list[str]
    cells: list[list[str]]
    record: dict[str, Any]
    name: str | None = None
    figure: Callable[[], Any] | None = None
    notes: list[str] = field(default_factory=list)


def results_of(oracle: Oracle, state: State, wanted: Wanted) -> Iterator[Result]:
    """Return a table for the question, or one for each of its attributes.

    Raises:
        UsageError: candidates, ranges or a number of answers that this question has no use for, or
            that it needs.
    """
    from tacit import local

    if isinstance(oracle, (local.AttributeSplitting, local.AttributeSampling)) and not isinstance(
        oracle, (local.KeyValue, local.HierarchicalRanges, local.PrefixExtending)
    ):
        for name, part in oracle.parts:
            one = _result(part, oracle.states(state)[name], wanted)
            yield Result(one.header, one.cells, one.record, name, None, one.notes)
        return
    asked = {
        "candidates": (local.Rappor, local.CountMeanSketch, local.HadamardCountMeanSketch),
        "ranges": (local.HierarchicalRanges,),
        "heaviest": (local.PrefixExtending,),
    }
    for option, kinds in asked.items():
        if getattr(wanted, option) is not None and not isinstance(oracle, kinds):
            raise UsageError(
                f"{wanted.flag}{option} is not for {type(oracle).__name__}: leave it out"
            )
    yield _result(oracle, state, wanted)


def _result(oracle: Any, state: State, wanted: Wanted) -> Result:
    from tacit import local

    if isinstance(oracle, local.KeyValue):
        return _keys(oracle.estimate(state), wanted)
    if isinstance(oracle, local.MeanOracle):
        return _mean(oracle.estimate(state), wanted)
    if isinstance(oracle, local.SquareWave):
        cuts = sorted({oracle.bins * i // PARTS for i in range(PARTS + 1)})
        return _counts(oracle.estimate(state, unbiased=True, edges=cuts), wanted, " to ")
    if isinstance(oracle, local.HierarchicalRanges):
        lowest: Any = oracle.oracles[0]
        size = len(lowest.domain)
        return _counts(oracle.estimate_ranges(state, _ranges(wanted.ranges, size)), wanted, "..")
    if isinstance(oracle, local.PrefixExtending):
        return _counts(oracle.heaviest(state, wanted.heaviest or 10), wanted)
    if isinstance(oracle, local.FrequencyOracle | local.PaddedSets):
        return _counts(oracle.estimate(state), wanted)
    if not wanted.candidates:
        raise UsageError(
            f"any answer may have been given: name those to look for, {wanted.flag}candidates a,b"
        )
    if isinstance(oracle, local.Rappor):
        found = oracle.estimate(state, wanted.candidates, nonnegative=False)
    else:
        found = oracle.estimate(state, wanted.candidates)
    return _counts(found, wanted)


def _ranges(text: str | None, size: int) -> list[tuple[int, int]]:
    """Read ``18..25,26..64``; by default equal parts of all values."""
    if text is None:
        cuts = sorted({size * i // PARTS for i in range(PARTS + 1)})
        return [(low, high - 1) for low, high in pairwise(cuts)]
    found = [re.fullmatch(r"\s*(\d{1,10})\.\.(\d{1,10})\s*", part) for part in text.split(",")]
    if not all(found):
        raise UsageError("write ranges as 18..25,26..64: the first and last value of each")
    return [(int(one[1]), int(one[2])) for one in found if one is not None]


def _counts(found: Estimate, wanted: Wanted, between: str = ", ") -> Result:
    low, high = (found.simultaneous if wanted.together else found.interval)(wanted.level)
    rows: list[Any] = list(
        zip(found.items, found.counts.tolist(), low.tolist(), high.tolist(), strict=True)
    )
    in_order = isinstance(found.items[0], tuple)
    shown = rows if in_order else sorted(rows, key=lambda row: -row[1])

    def named(item: Any) -> str:
        return between.join(f"{end:g}" for end in item) if isinstance(item, tuple) else str(item)

    cells = [
        [
            named(item),
            f"{count:,.0f}",
            f"{least:,.0f} to {most:,.0f}",
            f"{count / max(1, found.n):.1%}",
        ]
        for item, count, least, most in shown[:100]
    ]
    all_at_once = wanted.together or bool(found.chosen_from)
    ranges = f"{float(wanted.level):.0%} range" + (" (all at once)" if all_at_once else "")
    left = len(rows) - len(cells)
    more = f"the {len(cells)} largest of {len(rows):,} answers; all of them with --json"
    record = {
        "n": found.n,
        "items": [
            {"item": list(item) if in_order else item, "count": count, "low": least, "high": most}
            for item, count, least, most in rows
        ],
    }
    return Result(
        ["answer", "people", ranges, "share"],
        cells,
        record,
        figure=lambda: found.plot(wanted.level),
        notes=[more] if left else [],
    )


def _mean(found: MeanEstimate, wanted: Wanted) -> Result:
    low, high = found.interval(wanted.level)
    cells = [[f"{found.mean:.6g}", f"{low:.6g} to {high:.6g}"]]
    record = {"n": found.n, "mean": found.mean, "low": low, "high": high}
    return Result(["mean", f"{float(wanted.level):.0%} range"], cells, record)


def _keys(found: dict[str, KeyValueEstimate], wanted: Wanted) -> Result:
    cells, items = [], []
    for name, one in found.items():
        low, high = one.interval(wanted.level)
        least, most = one.mean_interval(wanted.level)
        cells.append(
            [
                name,
                f"{one.frequency:.1%}",
                f"{low:.1%} to {high:.1%}",
                f"{one.mean:.4g}",
                f"{least:.4g} to {most:.4g}",
            ]
        )
        numbers = {"share": one.frequency, "low": low, "high": high}
        means = {"mean": one.mean, "mean_low": least, "mean_high": most}
        known = means if one.mean == one.mean else dict.fromkeys(means)
        items.append({"item": name, "n": one.n, **numbers, **known})
    width = f"{float(wanted.level):.0%} range"
    n = sum(one.n for one in found.values())
    return Result(["key", "share", width, "mean", width], cells, {"n": n, "items": items})
