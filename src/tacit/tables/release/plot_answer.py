"""The figure of an answer: a panel a label, a mark a group, its interval as a bar.

Groups stand on the vertical axis, so that long names are read without turning the head.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from tacit import plotting
from tacit.errors import UsageError
from tacit.report.text.vocabulary import DERIVED, answer_words
from tacit.tables.answers.aggregate import kind_of

__all__ = ["answer_figure"]

_MOST_GROUPS = 80
_MOST_PANELS = 12
_ACROSS = 2
_WIDTH = 4.7  # inches a panel
_LINE = 0.27  # inches a group


class DrawnAnswer(Protocol):
    """What a picture asks of an answer."""

    @property
    def keys(self) -> Sequence[tuple[Any, ...]]:
        """The groups."""

    @property
    def labels(self) -> Iterable[str]:
        """What was asked."""

    @property
    def by(self) -> Sequence[str]:
        """The columns of the groups."""

    @property
    def about(self) -> Mapping[str, str]:
        """What is declared of the column of a label, in words."""

    @property
    def asked_of(self) -> Mapping[str, str]:
        """The column of a label, where it has one."""

    def column(self, label: str) -> Mapping[str, Any]:
        """Return what was released under a label."""


def answer_figure(answer: DrawnAnswer) -> Any:
    """Draw every label of an answer with its 95% intervals.

    A label with one value per group is a panel with the groups from top to bottom: bars for
    amounts, points for means, quantiles and the like.  A histogram is a panel of bins for every
    group.  Where the answer counts rows or people, the other panels state that count of each group,
    as n.

    Returns:
        A matplotlib Figure; save it with ``.savefig("answer.png")``.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: more groups than a figure can show, or none.
    """
    groups = [_named(key) for key in answer.keys]
    if not 0 < len(groups) <= _MOST_GROUPS:
        raise UsageError(
            f"a figure shows 1 to {_MOST_GROUPS} groups, and this answer has {len(groups)}; "
            "use to_pandas() and draw the groups that matter"
        )
    panels = []
    for label in answer.labels:
        for panel in _panels(answer, label, groups):
            panel.about = answer.about.get(label) or panel.about
            panels.append(panel)
    _state_sizes(answer, panels)
    across = min(_ACROSS, len(panels))
    rows = [panels[i : i + across] for i in range(0, len(panels), across)]
    heights = [max(_height(panel) for panel in row) for row in rows]
    fig = plotting.figure(_WIDTH * across, sum(heights))
    grid = plotting.axes(fig, len(rows), across, heights=heights)
    fig.get_layout_engine().set(h_pad=0.14, w_pad=0.1)
    for row, places in zip(rows, grid, strict=True):
        slots = max(2, *(len(panel.names) for panel in row))
        for panel, place in zip(row, places, strict=False):
            _draw(place, panel, slots)
        for place in places[len(row) :]:
            place.set_axis_off()
    return fig


class _Panel:
    """What one panel shows: names, values, and intervals where they are known."""

    about = ""
    """What its values are: the column, with its meaning and its unit where they are declared."""
    binned = False
    """Whether it shows the bins of one group."""
    sizes: Sequence[str] = ()
    """How many rows or people each of its groups has, as released; nothing where that is not."""

    def __init__(
        self, title: str, detail: str, names: list[str], parts: list[list[Any]], bars: bool
    ) -> None:
        self.title = title
        self.detail = detail
        self.names = names
        self.value, self.low, self.high = parts
        self.bars = bars
        self.limits: tuple[float, float] | None = None


def _panels(answer: DrawnAnswer, label: str, groups: list[str]) -> list[_Panel]:
    column = answer.column(label)
    of = answer.asked_of.get(label, "")
    kind = str(column["kind"]).replace("_", " ") + (f" of {of}" if of else "")
    by = ", ".join(answer.by)
    bins = column.get("bins")
    bars = answer_words(column["kind"]).amount
    parts = [list(column[part]) for part in ("value", "low", "high")]
    if bins is None:
        detail = f"{kind} by {by}" if by else kind
        panel = _Panel(label, detail, groups, parts, bars)
        panel.about = of
        return [panel]
    shown = list(enumerate(groups))[:_MOST_PANELS]
    names = [str(name) for name in bins]
    left_out = len(groups) - len(shown)
    panels = [
        _Panel(
            label if not by else f"{label}: {by} {group}",
            kind + (f" (one of the first {len(shown)} groups)" if left_out else ""),
            names,
            [part[place] for part in parts],
            bars,
        )
        for place, group in shown
    ]
    for panel in panels:
        panel.about, panel.binned = answer_words(column["kind"]).each[1], True
    ends = [x for p in panels for x in (*p.value, *p.low, *p.high) if x is not None]
    margin = 0.04 * (max(ends) - min(0, *ends)) or 1
    for panel in panels:  # one scale for all groups, so that they compare
        panel.limits = (min(0, *ends) - margin * (min(ends) < 0), max(0, *ends) + margin)
    return panels


def _counts_groups(kind: str) -> bool:
    """Return whether a kind is an amount of no column: how many rows or people there are."""
    return kind != DERIVED and kind_of(kind).amount and not kind_of(kind).fields


def _state_sizes(answer: DrawnAnswer, panels: Sequence[_Panel]) -> None:
    """Give the panels of other labels the sizes of the groups, where they were released."""
    counted = [label for label in answer.labels if _counts_groups(answer.column(label)["kind"])]
    if not counted:
        return
    sizes = [f"{value:,}" for value in answer.column(counted[0])["value"]]
    for panel in panels:
        if panel.title not in counted and not panel.binned:
            panel.sizes = sizes


def _height(panel: _Panel) -> float:
    lines = sum(name.count("\n") + 1 for name in panel.names)
    return 1.15 + _LINE * max(2, lines)


def _draw(place: Any, panel: _Panel, slots: int) -> None:
    """Draw a panel, its groups from the top in so many slots: bars of a row are equally thick."""
    across = range(len(panel.names))
    known = [i for i in across if panel.value[i] is not None]
    if panel.bars:
        values = [panel.value[i] for i in known]
        place.barh(
            known, values, height=0.62, color="#b9c3cc", edgecolor=plotting.MUTED, linewidth=0.8
        )
        place.axvline(0, color=plotting.INK, linewidth=1)
    for i in across:
        low, high = panel.low[i], panel.high[i]
        if low is not None and high is not None:
            place.plot(
                [low, high], [i, i], color=plotting.INK, linewidth=1.5, marker="|", markersize=7
            )
    if not panel.bars:
        place.plot(
            [panel.value[i] for i in known], known, linestyle="none", marker="o",
            color=plotting.ACCENT, markeredgecolor="white", markersize=7.5, zorder=3,
        )  # fmt: skip
    place.set_yticks(list(across), panel.names)
    place.set_ylim(slots - 0.4, -0.6)
    if panel.limits is not None:
        place.set_xlim(*panel.limits)
    place.grid(visible=False, axis="y")
    place.grid(visible=True, axis="x", color=plotting.FAINT, linewidth=0.7)
    place.ticklabel_format(axis="x", style="plain", useOffset=False)
    place.xaxis.set_major_formatter(lambda value, _: _tick(value))
    place.locator_params(axis="x", nbins=6)
    if panel.about:
        place.set_xlabel(textwrap.shorten(panel.about, 60, placeholder=" …"))
    for i, size in enumerate(panel.sizes):
        place.annotate(
            f"n {size}", (1, i), (5, 0), ("axes fraction", "data"), "offset points",
            fontsize=8.5, color=plotting.MUTED, va="center", annotation_clip=False,
        )  # fmt: skip
    plotting.title(place, panel.title, f"{panel.detail}, with 95% intervals")


def _tick(value: float) -> str:
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def _named(key: tuple[Any, ...]) -> str:
    """Return the name of a group, wrapped where it is long."""
    told = " / ".join("missing" if part is None else str(part) for part in key) or "all"
    return "\n".join(textwrap.wrap(told, 28, max_lines=3, placeholder=" …") or [""])
