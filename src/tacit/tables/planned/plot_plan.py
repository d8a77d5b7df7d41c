"""The expected errors of a plan against its loss, as a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tacit import plotting
from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import show
from tacit.tables.planned.comparison import Comparison

__all__ = ["plan_figure"]

_MOST = 12
_ACROSS = 3
_LONGEST = 30
"""So many characters of a label fit over its axis."""
_FACTORS = tuple(Fraction(2) ** power for power in range(-3, 4))


def plan_figure(compare: Callable[[Budget, int], Comparison], loss: Budget, rows: int) -> Any:
    """Draw for each answer its expected error at several losses, in the plan and one by one."""
    runs = [compare(replace(loss, amount=loss.amount * factor), rows) for factor in _FACTORS]
    amounts = [float(run.loss.amount) for run in runs]
    shown = runs[0].answers[:_MOST]
    across = min(_ACROSS, len(shown))
    down = -(-len(shown) // across)
    figure = plotting.figure(3.1 * across + 0.4, 2.5 * down + 0.7)
    grid = [one for row in plotting.axes(figure, down, across) for one in row]
    name = "rho" if loss.kind == "concentrated" else "epsilon"
    for place, (answer, one) in enumerate(zip(shown, grid, strict=False)):
        lines = [
            ("in the plan", [run.answers[place].planned for run in runs]),
            ("one by one", [run.answers[place].alone for run in runs]),
        ]
        for number, (label, errors) in enumerate(lines):
            one.plot(
                amounts, errors, label=label, **{**plotting.series(number).line(), "markersize": 4}
            )
        one.axvline(float(loss.amount), color=plotting.MUTED, linewidth=1, linestyle=":")
        one.set_xscale("log")
        one.set_yscale("log")
        one.set_xticks(amounts[::2], [f"{amount:.3g}" for amount in amounts[::2]])
        ends = [error for _, errors in lines for error in errors]
        _ticks(one, min(ends), max(ends))
        one.minorticks_off()
        one.set_xlabel(f"{name} of all answers", fontsize=8.5)
        plotting.title(one, _short(answer.label), _detail(answer.numbers, answer.unit))
    for one in grid[len(shown) :]:
        one.set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=2, frameon=False, fontsize=9)
    left_out = len(runs[0].answers) - len(shown)
    more = f"; {left_out} more answers are not shown" if left_out else ""
    figure.suptitle(
        f"Expected error; the dotted line is {name} {show(loss.amount)}{more}",
        x=0.01,
        ha="left",
        fontsize=9,
        color=plotting.MUTED,
    )
    return figure


def _ticks(one: Any, low: float, high: float) -> None:
    """Tick an axis of powers at a few round numbers, at least two of them in sight."""
    power = 10.0**-9
    steps = []
    while power < 10 * high:
        steps += [mark * power for mark in (1, 2, 5)]
        power *= 10
    inside = [step for step in steps if low / 1.3 <= step <= high * 1.3]
    inside = inside[:: max(1, -(-len(inside) // 5))]
    one.set_yticks(inside, [f"{step:,.0f}" if step >= 1 else f"{step:.3g}" for step in inside])
    one.set_ylim(low / 1.4, high * 1.4)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _detail(numbers: int, unit: str) -> str:
    """Say what an error is in; short enough for the width of an axis."""
    return f"{unit}, RMS of {numbers:,} numbers" if numbers > 1 else unit
