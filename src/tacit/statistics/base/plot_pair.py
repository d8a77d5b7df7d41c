"""The picture of an answer: two neighbouring releases on the number line, and the gap."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit import plotting
from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.statistics.samples.sample import Sample

__all__ = ["draw_pair"]

Floats = npt.NDArray[np.float64]
_STACKED = 80  # up to so many records every one is drawn as a dot
_MOST_RUGS = 3000
_MOST_BINS_TOLD = 12


class DrawnPair(Protocol):
    """What a picture asks of a :class:`~tacit.statistics.base.result.Sensitivity`."""

    value: Any
    method: Any
    statistic: Any
    question: Any

    @property
    def pair(self) -> tuple[Sample, Sample] | None:
        """The two neighbours."""


def draw_pair(answer: DrawnPair) -> Any:
    """Draw the two neighbours of an answer; see :meth:`Sensitivity.plot`."""
    if answer.pair is None:
        bound = answer.method == "upper bound"
        why = f"{answer.method} only" if bound else "no release can be changed into another"
        raise UsageError(f"there is no pair of neighbours to draw: {why}")
    x, y = (sample.floats for sample in answer.pair)
    found = [answer.statistic.of(sample) for sample in answer.pair]
    marks = answer.statistic.marks
    on_line = marks == "line"
    fig = plotting.figure(7.6, 3.3 if on_line else 4.1)
    strip = 1.4 if marks == "bins" else 1.0
    rows = plotting.axes(fig, 1 if on_line else 2, 1, heights=None if on_line else [3, strip])
    line = rows[0][0]
    _draw_releases(line, x, y)
    if marks == "bins":
        _mark_bins(line, rows[1][0], found, answer.statistic.edges)
    elif on_line:
        _mark_on_line(line, [as_float(v) for v in found], answer)
    else:
        _mark_apart(rows[1][0], [as_float(v) for v in found], answer)
    _describe(line, answer)
    return fig


def as_float(value: Any) -> float:
    """A value of a statistic as a coordinate."""
    if isinstance(value, tuple):
        raise UsageError("a histogram is not one number, and cannot be drawn on the number line")
    return float(value)


def _draw_releases(line: Any, x: Floats, y: Floats) -> None:
    """``x`` above and ``y`` below; what they share is grey, what differs stands out."""
    only_x, only_y, both = differences(x, y)
    lowest, highest = min(x[0], y[0]), max(x[-1], y[-1])
    span = max(highest - lowest, 1e-9)
    line.set_xlim(lowest - 0.06 * span, highest + 0.06 * span)
    line.set_ylim(-0.75, 1.75)
    line.grid(visible=False)
    line.spines["left"].set_visible(False)
    line.set_yticks([1, 0], ["release  x", "neighbour  y"])
    line.tick_params(axis="y", length=0)
    for height in (0, 1):
        line.axhline(height, color=plotting.FAINT, linewidth=1.2, zorder=0)
    gone = {"marker": "o", "facecolor": "white", "edgecolor": plotting.SECOND, "linewidth": 2}
    come = {
        "marker": "D",
        "facecolor": plotting.ACCENT,
        "edgecolor": plotting.INK,
        "linewidth": 0.8,
    }
    same = {"marker": "o", "facecolor": "#9aa0a6", "edgecolor": plotting.INK, "linewidth": 0.6}
    for height, special, look, label in (
        (1, only_x, gone, "only in x (removed)"),
        (0, only_y, come, "only in y (added)"),
    ):
        _dots(line, both, special, height, same, look, label)
    handles, labels = line.get_legend_handles_labels()
    line.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=4,
        frameon=False,
        fontsize=8.5,
    )


def _dots(
    line: Any,
    shared: Floats,
    special: Floats,
    height: float,
    same: dict[str, Any],
    look: dict[str, Any],
    label: str,
) -> None:
    """Equal values stand on top of each other; many records become a rug of thin strokes."""
    if len(shared) + len(special) > _STACKED:
        some = shared[:: max(1, len(shared) // _MOST_RUGS)]
        line.vlines(
            some,
            height,
            height + 0.16,
            color="#9aa0a6",
            linewidth=0.5,
            rasterized=True,
            label="in both" if height == 1 else None,
        )
        if len(special):
            flat = np.full(len(special), height)
            line.scatter(special, flat, s=62, zorder=4, label=label, **look)
        return
    both = np.concatenate([shared, special])
    order = np.argsort(both, kind="stable")
    rank = np.empty(len(both), dtype=np.int64)
    ordered = both[order]
    rank[order] = np.arange(len(both)) - np.searchsorted(ordered, ordered, side="left")
    lift = min(0.15, 0.6 / max(1, int(rank.max(initial=0))))
    n = len(shared)
    shown = "in both" if height == 1 and n else None
    line.scatter(shared, height + lift * rank[:n], s=56, zorder=3, label=shown, **same)
    if len(special):
        line.scatter(special, height + lift * rank[n:], s=62, zorder=4, label=label, **look)


def _mark_on_line(line: Any, values: list[float], answer: DrawnPair) -> None:
    """The statistic as a stroke through each line, the gap as a band between them."""
    low, high = sorted(values)
    line.axvspan(low, high, ymin=0.12, ymax=0.88, color="#fdf0c4", zorder=-2, linewidth=0)
    for value, (bottom, top), dash in (
        (values[0], (0.78, 1.42), "-"),
        (values[1], (-0.3, 0.34), (0, (4, 1.5))),
    ):
        line.plot([value, value], [bottom, top], color=plotting.INK, linewidth=2.4, linestyle=dash)
    name = answer.statistic.name
    for value, height, side in ((values[0], 1.5, "x"), (values[1], -0.46, "y")):
        _label(line, value, height, f"{name}({side}) = {plotting.number(value)}")
    _gap(line, low, high, 0.5, answer)


def _label(line: Any, value: float, height: float, text: str) -> None:
    lowest, highest = line.get_xlim()
    share = (value - lowest) / (highest - lowest)
    side = "left" if share < 0.15 else "right" if share > 0.85 else "center"
    line.annotate(text, (value, height), ha=side, va="center", fontsize=9, color=plotting.INK)


def _gap(line: Any, low: float, high: float, height: float, answer: DrawnPair) -> None:
    text = f"gap = {show(answer.value)}"
    lowest, highest = line.get_xlim()
    if high - low > 0.02 * (highest - lowest):
        line.annotate(
            "",
            (low, height),
            (high, height),
            arrowprops={
                "arrowstyle": "<->",
                "color": plotting.INK,
                "lw": 1.3,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    middle = min(
        max((low + high) / 2, lowest + 0.12 * (highest - lowest)),
        highest - 0.12 * (highest - lowest),
    )
    line.annotate(
        text,
        (middle, height),
        xytext=(0, 7),
        textcoords="offset points",
        ha="center",
        fontsize=9.5,
        fontweight="bold",
        bbox={
            "boxstyle": "round,pad=0.15",
            "facecolor": "white",
            "edgecolor": "none",
            "alpha": 0.8,
        },
    )


def _mark_apart(strip: Any, values: list[float], answer: DrawnPair) -> None:
    """A statistic that is no place on the records' line gets a line of its own."""
    low, high = sorted(values)
    pad = 0.35 * (high - low or max(1.0, abs(low)))
    strip.set_xlim(low - pad, high + pad)
    strip.set_ylim(-0.8, 1.2)
    strip.grid(visible=False)
    strip.set_yticks([0], [answer.statistic.name])
    strip.tick_params(axis="y", length=0)
    strip.spines["left"].set_visible(False)
    strip.axhline(0, color=plotting.FAINT, linewidth=1.2, zorder=0)
    strip.plot([low, high], [0, 0], color="#e9c46a", linewidth=7, solid_capstyle="butt", zorder=1)
    name = answer.statistic.name
    marks = [(values[0], "o", f"{name}(x)"), (values[1], "D", f"{name}(y)")]
    if low == high:
        marks = [(low, "D", f"{name}(x) = {name}(y)")]
    for value, marker, side in marks:
        strip.plot([value], [0], marker=marker, color=plotting.INK, markersize=8, linestyle="none")
        strip.annotate(
            f"{side} = {plotting.number(value)}",
            (value, -0.35),
            ha="center",
            va="top",
            fontsize=9,
        )
    _gap(strip, low, high, 0.32, answer)


def _mark_bins(line: Any, strip: Any, counts: Any, edges: Sequence[Fraction]) -> None:
    """The edges between the bins as strokes, and below the two counts of every bin side by side."""
    lowest, highest = line.get_xlim()
    for edge in edges[1:-1]:
        if lowest < edge < highest:
            line.axvline(float(edge), color=plotting.INK, linewidth=0.9, linestyle=":", zorder=1)
    places = np.arange(len(counts[0]))
    first: dict[str, Any] = {"color": "white", "edgecolor": plotting.SECOND, "linewidth": 1.6}
    for shift, side, look in ((-0.2, 0, first), (0.2, 1, {"color": plotting.ACCENT})):
        bars = strip.bar(places + shift, counts[side], width=0.36, label="xy"[side], **look)
        if len(places) <= _MOST_BINS_TOLD:
            strip.bar_label(bars, fontsize=8)
    strip.set_ylim(0, 1.35 * max(1, *counts[0], *counts[1]))
    strip.set_yticks([])
    strip.set_ylabel("counts")
    step = -(-len(places) // _MOST_BINS_TOLD)
    strip.set_xticks(places[::step], _bin_names(edges)[::step], fontsize=8)
    strip.legend(loc="upper right", ncols=2, frameon=False, fontsize=8.5)


def _bin_names(edges: Sequence[Fraction]) -> list[str]:
    """The bins; the outer ones are open to their side.

    >>> _bin_names([Fraction(0), Fraction(5), Fraction(10), Fraction(20)])
    ['below 5', '5 to 10', '10 or more']
    """
    inner = [plotting.number(float(edge)) for edge in edges[1:-1]]
    if not inner:
        return ["all"]
    middle = [f"{a} to {b}" for a, b in pairwise(inner)]
    return [f"below {inner[0]}", *middle, f"{inner[-1]} or more"]


def _describe(line: Any, answer: DrawnPair) -> None:
    question = answer.question
    kind = "Global" if question.at is None else "Local"
    how = "within" if question.within else "at exactly"
    plotting.title(
        line,
        f"{kind} sensitivity of the {answer.statistic.name}: {show(answer.value)}",
        f"{question.relation} neighbours {how} distance {question.distance}  \N{MIDDLE DOT}  "
        f"{answer.method}",
    )


def differences(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """The values only in ``x``, only in ``y``, and in both, as multisets.

    >>> differences(np.array([1.0, 2.0, 2.0]), np.array([2.0, 3.0]))
    (array([1., 2.]), array([3.]), array([2.]))
    """
    values, inverse = np.unique(np.concatenate([x, y]), return_inverse=True)
    in_x = np.bincount(inverse[: len(x)], minlength=len(values))
    in_y = np.bincount(inverse[len(x) :], minlength=len(values))
    both = np.minimum(in_x, in_y)
    return (
        np.repeat(values, in_x - both),
        np.repeat(values, in_y - both),
        np.repeat(values, both),
    )
