"""A computed sensitivity, the pair that attains it, and its drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit import plotting
from tacit.arithmetic.exact import float_up, show
from tacit.calls import public
from tacit.display.card import Card, CardTable, Shown
from tacit.errors import UsageError
from tacit.statistics.domains import ExtremeRecords, Records, pool_of
from tacit.statistics.question import Question
from tacit.statistics.samples import Plain, Sample, merge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Pairs of neighbours: the smallest records go, the largest come (or mirrored).
#
# Such pairs attain the sensitivities of many statistics, and they show whether a question has any
# two neighbours that differ.


def extreme_pair(
    question: Question, size: int, removed: int, added: int, *, up: bool = True
) -> tuple[Sample, Sample]:
    """Return ``(x, y)`` where ``y`` loses extreme records of ``x`` and gains opposite ones."""
    # Upward, ``y`` loses the smallest and gains the largest that there are; otherwise the mirror
    # image. ``x`` is the release asked about, or, for a global question, one of ``size`` records
    # that holds what is removed and not what is added.
    if question.at is not None:
        rest = question.rest if isinstance(question.domain, Records) else None
        pool = pool_of(question.domain, rest)
        x = question.at
        if up:
            return x, merge(x.slice(removed, size), pool.top(added))
        return x, merge(x.slice(0, size - removed), pool.bottom(added))
    union = size + added
    ends = ExtremeRecords(pool_of(question.domain), size if up else added, union)
    if up:
        return ends.sample(0, size), ends.sample(removed, union)
    return ends.sample(added, union), ends.sample(0, union - removed)


def differing_pair(question: Question, minimum: int = 1) -> tuple[Sample, Sample] | None:
    """Return two neighbours that are not equal, or None where the question has none.

    >>> from tacit.statistics.domains import Values
    >>> [side.values() for side in differing_pair(Question(Values([1, 4], size=2), None, 1))]
    [(1, 1), (1, 1, 4)]
    >>> differing_pair(Question(Values([3], size=2), None, 1, "bounded"))
    """
    # A move of as many additions as removals changes nothing only where what goes equals what
    # comes. If that is so of the smallest that go and the largest that come, and of the mirror
    # image too, then all that can go and come is one value, and no choice of records makes a
    # difference.
    #
    # least: the fewest records that either of the two may have.
    if question.relation == "bounded" and question.domain.lower == question.domain.upper:
        return None
    for size in _sizes(question, minimum):
        for removed, added in question.moves(size):
            if min(size, size - removed + added) < minimum:
                continue
            for up in (True, False):
                x, y = extreme_pair(question, size, removed, added, up=up)
                if x != y:
                    return x, y
    return None


def _sizes(question: Question, minimum: int) -> Iterator[int]:
    """Sizes of a release among which some has a neighbour, if any has."""
    if question.size is not None:
        yield question.size
        return
    largest = minimum + question.distance
    if question.population is not None:
        largest = min(largest, question.population)
    yield from range(minimum, largest + 1)


# The picture of an answer: two neighbouring releases on the number line, and the gap.


Floats = npt.NDArray[np.float64]
_STACKED = 80  # up to this many records every one is drawn as a dot
_MAX_RUGS = 3000
_MAX_LABELLED_BINS = 12


def draw_pair(answer: Sensitivity) -> Figure:
    """Draw the two neighbours of an answer; see :meth:`Sensitivity.plot`."""
    if answer.pair is None:
        bound = answer.method == "upper bound"
        why = f"{answer.method} only" if bound else "no release can be changed into another"
        raise UsageError(f"there is no pair of neighbours to draw: {why}")
    x, y = (sample.floats for sample in answer.pair)
    statistic: Any = answer.statistic
    values = [statistic.of(sample) for sample in answer.pair]
    marks = statistic.marks
    on_line = marks == "line"
    fig: Figure = plotting.figure(7.6, 3.3 if on_line else 4.1)
    strip = 1.4 if marks == "bins" else 1.0
    rows = plotting.axes(fig, 1 if on_line else 2, 1, heights=None if on_line else [3, strip])
    line = rows[0][0]
    _draw_releases(line, x, y)
    if marks == "bins":
        _mark_bins(line, rows[1][0], values, statistic.edges)
    elif on_line:
        _mark_on_line(line, [as_float(v) for v in values], answer)
    else:
        _mark_apart(rows[1][0], [as_float(v) for v in values], answer)
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
        some = shared[:: max(1, len(shared) // _MAX_RUGS)]
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


def _mark_on_line(line: Any, values: list[float], answer: Sensitivity) -> None:
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


def _gap(line: Any, low: float, high: float, height: float, answer: Sensitivity) -> None:
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


def _mark_apart(strip: Any, values: list[float], answer: Sensitivity) -> None:
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
    indices = np.arange(len(counts[0]))
    first: dict[str, Any] = {"color": "white", "edgecolor": plotting.SECOND, "linewidth": 1.6}
    for shift, side, look in ((-0.2, 0, first), (0.2, 1, {"color": plotting.ACCENT})):
        bars = strip.bar(indices + shift, counts[side], width=0.36, label="xy"[side], **look)
        if len(indices) <= _MAX_LABELLED_BINS:
            strip.bar_label(bars, fontsize=8)
    strip.set_ylim(0, 1.35 * max(1, *counts[0], *counts[1]))
    strip.set_yticks([])
    strip.set_ylabel("counts")
    step = -(-len(indices) // _MAX_LABELLED_BINS)
    strip.set_xticks(indices[::step], _bin_names(edges)[::step], fontsize=8)
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


def _describe(line: Any, answer: Sensitivity) -> None:
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


# The answer: a sensitivity with what it rests on and the pair of neighbours that attains it.


Method: TypeAlias = Literal[
    "closed form", "polynomial", "exhaustive", "lower bound", "upper bound", "sampled"
]
Witness: TypeAlias = tuple[tuple[Plain, ...], tuple[Plain, ...]]

_MAX_RECORDS = 24  # how many records of a witness a notebook shows


class Named(Protocol):
    """Interface of the statistic of an answer."""

    @property
    def name(self) -> str:
        """The name that people use."""

    @property
    def min_size(self) -> int:
        """The fewest records that it has a value on."""


@public
class Sensitivity(Shown):
    """The sensitivity of a statistic: how far it can move between neighbours, and why.

    Attributes:
        value: the sensitivity, in the statistic's own unit; a ``Fraction`` where it is rational,
            else a float that is not below the truth.
        method: ``"closed form"``, ``"polynomial"`` or ``"exhaustive"`` (all three give the
            truth), ``"upper bound"`` (proven, not attained), ``"lower bound"`` (found by local
            search: no guarantee) or ``"sampled"`` (random differential privacy only).
        evaluations: how often the statistic was evaluated, or its formula at a candidate.
        question: the question that this answers.
        statistic: the statistic asked about.
        notes: what else a reader should know, one sentence each.

    >>> import tacit.statistics as ts
    >>> s = ts.sensitivity("median", over=ts.Records([1, 2, 3, 10, 11], size=3))
    >>> s.value, s.witness
    (Fraction(9, 2), ((1, 2, 11), (2, 11)))
    """

    def __init__(
        self,
        value: Fraction | float,
        method: Method,
        *,
        statistic: Named,
        question: Question,
        witness: Callable[[], tuple[Sample, Sample] | None] | None = None,
        evaluations: int = 1,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.value = value
        self.method: Method = method
        self.statistic = statistic
        self.question = question
        self.evaluations = evaluations
        self.notes = notes
        self._make_witness = witness
        self._pair: tuple[Sample, Sample] | None = None

    def __float__(self) -> float:
        """The value as a float, rounded up: never below the truth."""
        return self.value if isinstance(self.value, float) else float_up(self.value)

    @property
    def exact(self) -> bool:
        """True if the value is exact (if a float: rounded up)."""
        return self.method in ("closed form", "polynomial", "exhaustive")

    @property
    def pair(self) -> tuple[Sample, Sample] | None:
        """The witness as two samples, made when first asked for."""
        if self._pair is None and self._make_witness is not None:
            self._pair = self._in_order(self._differing(self._make_witness()))
        return self._pair

    def _differing(self, pair: tuple[Sample, Sample] | None) -> tuple[Sample, Sample] | None:
        """Take two that differ for one release given twice: where it is 0, all attain it."""
        if pair is None or pair[0] != pair[1]:
            return pair
        return differing_pair(self.question, self.statistic.min_size)

    def _in_order(self, pair: tuple[Sample, Sample] | None) -> tuple[Sample, Sample] | None:
        """Put the release first and its neighbour second, where records only come or only go."""
        relation = self.question.relation
        if pair is None or relation not in ("add", "remove"):
            return pair
        smaller, larger = sorted(pair, key=len)
        return (smaller, larger) if relation == "add" else (larger, smaller)

    @property
    def witness(self) -> Witness | None:
        """Two neighbouring releases, each ascending, that attain the value.

        The first is ``at`` where that was given, and comes before the records that are added or
        removed.  The two differ, also where the value is 0: None where no release can be changed
        into another, and for bounds.
        """
        return None if self.pair is None else (self.pair[0].values(), self.pair[1].values())

    @property
    def is_guarantee(self) -> bool:
        """True if noise may be scaled to this value: see :attr:`why_no_guarantee`."""
        return self.why_no_guarantee is None

    @property
    def why_no_guarantee(self) -> str | None:
        """Why this value is not a stability map, or None when it is one."""
        if self.method == "lower bound":
            return "it is a lower bound found by local search: the truth may be larger"
        if self.method == "sampled":
            return "it was sampled, which gives random differential privacy only"
        if self.question.at is not None:
            return (
                "it is local: it depends on the data, and noise of its size would reveal "
                "something about them"
            )
        if not self.question.within and not (
            self.question.distance == 1 and self.question.relation != "bounded"
        ):
            return (
                "it counts neighbours at exactly the distance in one direction, which misses "
                "nearer and mixed neighbours; ask with within=True"
            )
        minimum, reached = self.statistic.min_size, self.question.smallest()
        if reached < minimum:
            return (
                f"releases of {reached} record(s) were left out, where {self.statistic.name} has "
                f"no value: it needs at least {minimum}"
            )
        return None

    def plot(self) -> Figure:
        """Draw the two neighbouring data sets on the number line, with the statistic on both.

        Returns a ``matplotlib.figure.Figure``: ``answer.plot().savefig("gap.png")``.

        Raises:
            MissingExtraError: matplotlib is not installed.
            UsageError: there is no witness to draw (a bound).
        """
        return draw_pair(self)

    def card(self) -> Card:
        """Return what a notebook displays: the value, how it was found, what attains it."""
        question = self.question
        kind = "global" if question.at is None else "local"
        how = "within" if question.within else "exactly"
        rows = [
            ["value", show(self.value)],
            ["found by", f"{self.method}, {self.evaluations:,} evaluations"],
            ["neighbours", f"{question.relation}, {how} {question.distance}"],
        ]
        for name, one in zip(("a data set", "its neighbour"), self.witness or (), strict=False):
            first = ", ".join(show(value) for value in one[:_MAX_RECORDS])
            rest = len(one) - _MAX_RECORDS
            rows.append([name, f"{first}, and {rest:,} more" if rest > 0 else first or "no record"])
        why = self.why_no_guarantee
        notes = [*self.notes, *([f"no guarantee: {why}"] if why else [])]
        title = f"{kind.capitalize()} sensitivity of {self.statistic.name}"
        return Card(title, "", [CardTable(["", ""], rows)], notes)

    def __repr__(self) -> str:
        kind = "global" if self.question.at is None else "local"
        how = "within" if self.question.within else "exactly"
        return (
            f"Sensitivity({show(self.value)}, {self.method}: {kind}, {self.statistic.name}, "
            f"{self.question.relation}, {how} {self.question.distance})"
        )
