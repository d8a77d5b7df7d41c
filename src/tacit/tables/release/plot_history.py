"""A budget as a bar of its charges: who spent what of it, when, and for what."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from tacit import plotting
from tacit.accounting import Budget, Entry
from tacit.accounting.budgets.shares import share
from tacit.errors import UsageError
from tacit.report.text.words import question_words

__all__ = ["history_figure"]

_MOST = 12
_WIDE = 128
_LINE = 0.19
"""The height of a line of text, in inches."""


def history_figure(entries: Sequence[Entry], total: Budget | None, left: Budget | None) -> Any:
    """Draw the bar, and below it a line for each charge; the first ones as one if there are many.

    Raises:
        UsageError: the whole budget is not known.
    """
    if total is None or left is None:
        raise UsageError("take the history of a session to draw it: session.history().plot()")
    early, late = list(entries[:-_MOST]), list(entries[-_MOST:])
    costs = [share(entry.cost, total) for entry in entries]
    gone, scale = 1 - share(left, total), sum(costs)
    widths = [cost * gone / scale if scale else 0.0 for cost in costs]
    bars = ([sum(widths[: len(early)])] if early else []) + widths[len(early) :]
    told = [f"{len(early):,} earlier charges"] if early else []
    told += [_words(entry) for entry in late]
    names = ([f"1-{len(early)}"] if early else []) + [
        str(len(early) + 1 + i) for i in range(len(late))
    ]
    lines = [
        (name, textwrap.wrap(words, _WIDE, max_lines=3, placeholder=" ..."))
        for name, words in zip(names, told, strict=True)
    ]
    height = 1.1 + _LINE * (sum(len(wrapped) + 0.5 for _, wrapped in lines) + 1)
    figure = plotting.figure(9, height)
    top, below = (row[0] for row in plotting.axes(figure, 2, 1, heights=[0.75, height - 0.75]))
    _bar(top, bars, names, total, left)
    _list(below, lines, height - 1.1)
    return figure


def _bar(
    one: Any, bars: Sequence[float], names: Sequence[str], total: Budget, left: Budget
) -> None:
    start = 0.0
    for place, (wide, name) in enumerate(zip(bars, names, strict=True)):
        colour, ink = (
            (plotting.ACCENT, "white") if place % 2 == 0 else (plotting.FAINT, plotting.INK)
        )
        one.barh([0], [wide], left=[start], color=colour, edgecolor=plotting.INK, linewidth=0.8)
        if wide > 0.012 * (len(name) + 1):
            one.text(start + wide / 2, 0, name, ha="center", va="center", fontsize=9, color=ink)
        start += wide
    one.barh([0], [max(1 - start, 0)], left=[start], color="white", edgecolor=plotting.INK, lw=0.8)
    one.set_xlim(0, 1)
    one.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    one.set_yticks([])
    one.grid(visible=False)
    one.spines["left"].set_visible(False)
    plotting.title(one, f"The budget: {total}", f"left: {left} ({1 - start:.1%}), in white")


def _list(one: Any, lines: Sequence[tuple[str, list[str]]], height: float) -> None:
    one.set_axis_off()
    one.set_xlim(0, 1)
    one.set_ylim(-height, 0)
    down = -_LINE / 2
    if not lines:
        one.text(0, down, "nothing was released yet", fontsize=9, color=plotting.MUTED, va="top")
    for name, wrapped in lines:
        one.text(0.03, down, name, fontsize=9, fontweight="bold", ha="right", va="top")
        for text in wrapped:
            one.text(0.045, down, text, fontsize=8.5, va="top", color=plotting.INK)
            down -= _LINE
        down -= _LINE / 2


def _words(entry: Entry) -> str:
    who = f" by {', '.join(entry.accounts)}" if entry.accounts else ""
    where = f" on {entry.dataset}" if entry.dataset else ""
    state = "" if entry.state == "answered" else ", not answered yet"
    when = entry.when[:16].replace("T", " ")
    return f"{when} UTC, {entry.cost}{who}{where}{state}: {question_words(entry.question)}"
