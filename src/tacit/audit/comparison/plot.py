"""The picture of a comparison: histograms of percent error, and errors over what was swept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tacit import plotting
from tacit.errors import need

__all__ = ["draw_comparison"]

_BARS = 40
_WIDEST = 1e6
_SWEPT = {"sample and aggregate": "bins", "propose-test-release": "proposed bound"}


class DrawnComparison(Protocol):
    """What a picture asks of a comparison."""

    @property
    def statistic(self) -> str:
        """The name of the statistic."""

    @property
    def size(self) -> float:
        """What errors are percents of."""

    @property
    def rows(self) -> Sequence[Any]:
        """One for each method and setting."""

    @property
    def methods(self) -> Sequence[str]:
        """Their names."""

    def best(self, method: str) -> Any:
        """Return the row of a method with the least error."""

    def percent(self, row: Any) -> Any:
        """Return the errors of a row in percent."""


def draw_comparison(comparison: DrawnComparison) -> Any:
    """Draw a comparison; see :meth:`Comparison.plot`."""
    swept = [name for name in comparison.methods if len(_points(comparison, name)) > 1]
    fig = plotting.figure(8.4, 3.6 + (3.0 if swept else 0))
    if not swept:
        _draw_errors(plotting.axes(fig, 1, 1)[0][0], comparison)
        return fig
    above, below = fig.subfigures(2, 1, height_ratios=[3.6, 3.0])
    _draw_errors(plotting.axes(above, 1, 1)[0][0], comparison)
    for panel, name in zip(plotting.axes(below, 1, len(swept))[0], swept, strict=True):
        _draw_sweep(panel, comparison, name)
    return fig


def _draw_errors(panel: Any, comparison: DrawnComparison) -> None:
    best = [row for row in map(comparison.best, comparison.methods) if len(row.errors)]
    percents = [np.maximum(comparison.percent(row), 1e-9) for row in best]
    low = min(float(np.quantile(p, 0.01)) for p in percents)
    high = max(float(p.max()) for p in percents)
    low = max(low, high / _WIDEST)  # what errs less, or not at all, stands at the left end
    edges = np.geomspace(low / 2, high * 1.01, _BARS)
    for index, (row, percent) in enumerate(zip(best, percents, strict=True)):
        style = plotting.series(index)
        label = f"{row.method}, {row.setting}" if row.setting else row.method
        if percent.max() < edges[0]:
            label += " (no error)" if not row.errors.any() else " (errors below the axis)"
        clipped = percent.clip(edges[0])
        panel.hist(clipped, bins=edges, color=style.colour, alpha=0.22)
        panel.hist(
            clipped,
            bins=edges,
            histtype="step",
            color=style.colour,
            linestyle=style.dash,
            linewidth=1.6,
            label=label,
        )
    panel.set_xscale("log")
    panel.set_xlabel("percent error of a release", fontsize=9)
    panel.set_ylabel("releases", fontsize=9)
    panel.legend(frameon=False, fontsize=8.5)
    plotting.title(panel, f"Errors of the {comparison.statistic}, every way at its best setting")


def _draw_sweep(panel: Any, comparison: DrawnComparison, method: str) -> None:
    points = _points(comparison, method)
    values = [row.value for row in points]
    measured, predicted = plotting.series(0).line(), plotting.series(1).line()
    percent = 100 / comparison.size
    panel.plot(values, [percent * row.predicted for row in points], label="predicted", **predicted)
    panel.errorbar(
        values,
        [percent * row.measured for row in points],
        yerr=[2 * percent * row.standard_error for row in points],
        label="measured, 2 standard errors",
        **measured,
    )
    panel.set_xscale("log")
    panel.set_yscale("log")
    every = max(1, len(values) // 5)
    panel.set_xticks(values[::every], [plotting.number(v) for v in values[::every]])
    panel.minorticks_off()
    ticks = need("matplotlib.ticker", "plot").LogLocator(subs=(1, 2, 5))
    panel.yaxis.set_major_locator(ticks)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_xlabel(_SWEPT.get(method, "setting"), fontsize=9)
    panel.set_ylabel("mean percent error", fontsize=9)
    panel.legend(frameon=False, fontsize=8.5)
    plotting.title(panel, method)


def _points(comparison: DrawnComparison, method: str) -> list[Any]:
    return [r for r in comparison.rows if r.method == method and r.value is not None]
