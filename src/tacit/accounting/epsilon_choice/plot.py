"""The picture of a choice of epsilon: the posterior against epsilon, and against the output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from tacit import plotting

__all__ = ["draw_choice"]

_MOST_LINES = 8


class DrawnChoice(Protocol):
    """What a picture asks of a choice of epsilon."""

    @property
    def statistic(self) -> Any:
        """The statistic."""

    @property
    def risk(self) -> Fraction:
        """The largest posterior that is allowed."""

    @property
    def bound(self) -> Fraction | float:
        """Epsilon in closed form."""

    @property
    def tight(self) -> Fraction | float:
        """The largest epsilon that keeps the risk."""

    @property
    def worlds(self) -> int:
        """How many data sets are possible."""

    @property
    def sensitivity(self) -> Any:
        """Of the statistic."""

    @property
    def values(self) -> Sequence[tuple[Any, int]]:
        """The values, and in how many worlds."""

    def posterior(self, epsilon: Any) -> float:
        """Return the largest posterior at an epsilon."""


def draw_choice(choice: DrawnChoice) -> Any:
    """Draw a choice; see :meth:`EpsilonChoice.plot`."""
    fig = plotting.figure(10.2, 3.6)
    left, right = plotting.axes(fig, 1, 2)[0]
    shown = 2.0 if choice.tight == math.inf else float(choice.tight)
    _against_epsilon(left, choice, shown)
    _against_output(right, choice, shown)
    return fig


def _against_epsilon(panel: Any, choice: DrawnChoice, shown: float) -> None:
    epsilons = np.linspace(shown / 200, 2 * shown, 120)
    panel.plot(epsilons, [choice.posterior(e) for e in epsilons.tolist()], color=plotting.ACCENT)
    panel.axhline(float(choice.risk), color=plotting.INK, linestyle=(0, (5, 2)), linewidth=1)
    for value, name, dash in ((choice.bound, "closed form", ":"), (choice.tight, "tight", "-")):
        if value != math.inf:
            panel.axvline(float(value), color=plotting.SECOND, linestyle=dash, linewidth=1.3)
            panel.annotate(
                f" {name} {float(value):.4g}",
                xy=(float(value), 0.02 if name == "tight" else 0.1),
                xycoords=("data", "axes fraction"),
                fontsize=8.5,
            )
    panel.set_xlabel("epsilon", fontsize=9)
    panel.set_ylabel("largest posterior", fontsize=9)
    detail = f"{choice.worlds:,} possible worlds; dashed: risk {float(choice.risk):.4g}"
    plotting.title(panel, f"Disclosure risk of the {choice.statistic.name}", detail)


def _against_output(panel: Any, choice: DrawnChoice, shown: float) -> None:
    known = [(float(v), count) for v, count in choice.values if not isinstance(v, tuple)]
    if not known:
        panel.set_axis_off()
        return
    known.sort()
    values = np.array([v for v, _ in known])
    counts = np.array([c for _, c in known], dtype=np.float64)
    span = float(values[-1] - values[0]) or 1.0
    outputs = np.linspace(values[0] - span / 3, values[-1] + span / 3, 301)
    away = np.abs(outputs[:, None] - values[None, :]) * shown / float(choice.sensitivity or 1)
    weights = np.exp(-(away - away.min(axis=1, keepdims=True)))
    posterior = weights / (weights * counts).sum(axis=1, keepdims=True)
    for index, k in enumerate(_spaced(len(known))):
        style = plotting.series(index)
        panel.plot(
            outputs,
            posterior[:, k],
            color=style.colour,
            linestyle=style.dash,
            label=f"{plotting.number(values[k])} ({counts[k]:.0f})",
        )
    panel.axhline(float(choice.risk), color=plotting.INK, linestyle=(0, (5, 2)), linewidth=1)
    panel.set_xlabel("published output", fontsize=9)
    panel.set_ylabel("posterior of one world", fontsize=9)
    panel.legend(
        title="true value (worlds)",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        fontsize=8,
        title_fontsize=8,
        frameon=False,
    )
    plotting.title(panel, "What an output reveals", f"at epsilon {shown:.4g}")


def _spaced(count: int) -> list[int]:
    """At most eight ranks, spread evenly."""
    return sorted({round(k) for k in np.linspace(0, count - 1, min(count, _MOST_LINES))})
