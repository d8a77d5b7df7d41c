"""The picture of a profile: panels of lines over whole-numbered distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Protocol

from tacit import plotting

__all__ = ["draw_profile"]

_WIDE_RATIO = 30.0


class Point(Protocol):
    """What a picture asks of a point of a profile."""

    @property
    def column(self) -> str:
        """Of the data."""

    @property
    def statistic(self) -> Any:
        """The statistic."""

    @property
    def scope(self) -> str:
        """Global or local."""

    @property
    def relation(self) -> str:
        """Which data sets are neighbours."""

    @property
    def distance(self) -> int:
        """The distance."""

    @property
    def value(self) -> float | None:
        """The sensitivity."""


class DrawnProfile(Protocol):
    """What a picture asks of a profile."""

    @property
    def rows(self) -> Sequence[Point]:
        """The points."""

    @property
    def within(self) -> bool:
        """Whether nearer neighbours count."""


def draw_profile(profile: DrawnProfile, log: bool | None) -> Any:
    """Draw a profile; see :meth:`Profile.plot`."""
    rows = profile.rows
    columns = _ordered(r.column for r in rows)
    kinds = _ordered((r.scope, r.relation) for r in rows)
    names = _ordered(r.statistic.name for r in rows)
    fig = plotting.figure(max(4.6, 3.5 * len(kinds)), 3.1 * len(columns) + 0.9)
    grid = plotting.axes(fig, len(columns), len(kinds), share_y="row")
    for (i, column), (j, kind) in product(enumerate(columns), enumerate(kinds)):
        here = [r for r in rows if r.column == column]
        panel = grid[i][j]
        _draw_panel(panel, [r for r in here if (r.scope, r.relation) == kind], names)
        _scale(panel, here, log)
        how = "within" if profile.within else "exactly"
        plotting.title(panel, f"{kind[0]}, {kind[1]}", column)
        panel.set_xlabel(f"distance k ({how} k)" if i == len(columns) - 1 else "", fontsize=9)
        panel.set_ylabel("sensitivity" if j == 0 else "", fontsize=9)
    plotting.legend_below(fig, *grid[0][0].get_legend_handles_labels())
    return fig


def _draw_panel(panel: Any, rows: list[Point], names: list[str]) -> None:
    for index, name in enumerate(names):
        points = [r for r in rows if r.statistic.name == name]
        values = [float("nan") if r.value is None else r.value for r in points]
        panel.plot(
            [r.distance for r in points],
            values,
            label=name,
            clip_on=False,
            # Lines that coincide still show: the later, smaller marker sits inside the earlier.
            **{**plotting.series(index).line(), "markersize": max(4.0, 8.0 - 0.5 * index)},
        )
    plotting.integer_ticks(panel, [r.distance for r in rows])


def _scale(panel: Any, rows: list[Point], log: bool | None) -> None:
    values = [r.value for r in rows if r.value]
    wide = bool(values) and max(values) > _WIDE_RATIO * min(values)
    if not values or not (wide if log is None else log):
        panel.set_ylim(bottom=0)
        return
    low, high = min(values), max(values)
    panel.set_yscale("symlog", linthresh=low, linscale=0.4)
    panel.set_ylim(0, 1.6 * high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [m * 10.0**d for d in decades for m in marks]
    ticks = [0.0, *(t for t in ticks if low <= t <= 1.6 * high)]
    panel.set_yticks(ticks, [plotting.number(t) for t in ticks])
    panel.set_yticks([], minor=True)


def _ordered(items: Any) -> list[Any]:
    return list(dict.fromkeys(items))
