"""A plan next to its questions one by one, as a table, a plot and a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit import plotting
from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import show
from tacit.display.card import drawing, render
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.report.text import question_words
from tacit.tables.joint.cell_counts import CellsPart
from tacit.tables.joint.statistics import CountOfCells
from tacit.tables.joint.strategy import size_of
from tacit.tables.joint_plans.merge import Merged, merged
from tacit.tables.plan.plan import Plan
from tacit.tables.plan.query import Query
from tacit.tables.statistics.base import Aggregate
from tacit.tables.statistics.part import LEVEL

# The expected errors of a plan next to those of asking one question after the other.


_UNIT = 1 << 20
# What is stated of percentiles that are chosen together.
_REACHED = "rows that the interval reaches"


@dataclass(frozen=True)
class Compared:
    """One answer of a plan."""

    label: str  # what it is called in the plan
    query: Query
    aggregate: Aggregate
    numbers: int  # how many numbers it has
    planned: float  # its expected error in the plan; of several numbers, the root mean square
    alone: float  # that of asking one by one
    share: Fraction  # the share of the loss that it has then
    unit: str
    # the share of the loss that the part which answers it has in the plan; all counts are one part
    part_share: Fraction


@dataclass(frozen=True)
class ComparedPlan:
    """All answers of a plan, at a loss."""

    loss: Budget
    rows: int  # the size of the table, for means and the like
    answers: tuple[Compared, ...]


def compared(
    plan: Merged,
    queries: Sequence[Query],
    loss: Budget,
    rows: int,
    whole_plan: Plan | None = None,
) -> ComparedPlan:
    """Return the errors of a plan next to those of the best split of the loss one by one."""
    # whole_plan: that of its query at this loss, where it was made before: it takes seconds.
    # Every answer has an even share of the loss; the counts share what they have together, each in
    # proportion to the square root of its weighted total squared error (rho), or to its cube root
    # (epsilon), which makes their total the least.  Cumulative shares are among the counts: what is
    # counted for them, and what their squared errors are there, are prefix sums.
    power = 1 / 2 if loss.kind == "concentrated" else 1 / 3
    whole_plan = Plan(plan.query, loss) if whole_plan is None else whole_plan
    merged_as = dict(plan.query.aggregates)
    each = [
        (
            member.labels[label],
            replace(query, aggregates=((label, aggregate),), weights=()),
            aggregate,
        )
        for member, query in zip(plan.members, queries, strict=True)
        for label, aggregate in query.aggregates
    ]
    counts, sizes = {}, {}
    for name, query, aggregate in each:
        bins = size_of(aggregate.bin_reading, len(aggregate.edges) - 1) if aggregate.edges else 1
        sizes[name] = bins * len(query.keys or ((),))
        if aggregate.counts:
            cells = merged_as[plan.serving(name)]
            assert isinstance(cells, CountOfCells)
            counts[name] = (cells.importance * _total(query, loss, sizes[name], rows)) ** power
    total, even = sum(counts.values()), Fraction(1, len(each))
    shares = dict.fromkeys((name for name, _, _ in each), even)
    if total:  # zero where no noise is left to divide
        units = {n: max(1, round(root / total * _UNIT)) for n, root in counts.items()}
        pool = even * len(counts)
        shares |= {n: pool * Fraction(unit, sum(units.values())) for n, unit in units.items()}
    compared_rows = []
    for name, query, aggregate in each:
        answering = merged_as[plan.serving(name)]
        position = whole_plan.parts_of(answering)[0]
        served = whole_plan.parts[position]
        part = replace(loss, amount=loss.amount * shares[name])
        together = name not in merged_as
        one = _interval(query, part) if together else _alone(query, part, rows)
        unit = _REACHED if together else served.error_unit
        errors = whole_plan.expected_error(answering, rows), one
        compared_rows.append(
            Compared(
                name,
                query,
                aggregate,
                sizes[name],
                *errors,
                shares[name],
                unit,
                whole_plan.noises[position].loss / loss.amount,
            )
        )
    return ComparedPlan(loss, rows, tuple(compared_rows))


def _total(query: Query, loss: Budget, numbers: int, rows: int) -> float:
    """Return the total squared error, in rows, of a question with one answer, a count."""
    ((_, aggregate),) = query.aggregates
    if aggregate.amount:
        return numbers * _alone(query, loss, rows) ** 2
    plan = Plan(merged([query]).query, loss)
    ((part,), (noise,)) = plan.parts, plan.noises
    assert isinstance(part, CellsPart)
    return part.total(noise)


def _interval(query: Query, loss: Budget) -> float:
    """Return how far the interval of a percentile is expected to reach, asked on its own."""
    # That is what is stated of percentiles that are chosen together.
    plan = Plan(query, loss)
    part: Any = plan.parts[0]
    return float(part.interval(plan.noises[0], LEVEL))


def _alone(query: Query, loss: Budget, rows: int) -> float:
    """Return the expected error of a question with one answer; ranges by groups are a plan."""
    ((_, aggregate),) = query.aggregates
    if query.by and aggregate.bin_reading != "cells":
        query = merged([query]).query
    ((_, aggregate),) = query.aggregates
    return Plan(query, loss).expected_error(aggregate, rows)


# The expected errors of a plan against its loss, as a picture.


_MAX_PANELS = 12
_ACROSS = 3
_LONGEST = 30  # this many characters of a label fit over its axis
_FACTORS = tuple(Fraction(2) ** power for power in range(-3, 4))


def plan_figure(compare: Callable[[Budget, int], ComparedPlan], loss: Budget, rows: int) -> Any:
    """Draw for each answer its expected error at several losses, in the plan and one by one."""
    runs = [compare(replace(loss, amount=loss.amount * factor), rows) for factor in _FACTORS]
    amounts = [float(run.loss.amount) for run in runs]
    shown = runs[0].answers[:_MAX_PANELS]
    across = min(_ACROSS, len(shown))
    down = -(-len(shown) // across)
    figure = plotting.figure(3.1 * across + 0.4, 2.5 * down + 0.7)
    grid = [one for row in plotting.axes(figure, down, across) for one in row]
    name = "rho" if loss.kind == "concentrated" else "epsilon"
    for index, (answer, one) in enumerate(zip(shown, grid, strict=False)):
        lines = [
            ("in the plan", [run.answers[index].planned for run in runs]),
            ("one by one", [run.answers[index].alone for run in runs]),
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
    """Return the unit of an error, short enough for the width of an axis."""
    return f"{unit}, RMS of {numbers:,} numbers" if numbers > 1 else unit


# A plan as a page: its questions, what gets noise, its errors with and without the plan.


_MAX_BARS = 40


def plan_page(
    comparison: ComparedPlan, protects: str, strategy: Sequence[Mapping[str, object]]
) -> str:
    """Return the page."""
    lines = [
        {
            "label": one.label,
            "words": question_words({"query": one.query.describe()}),
            "numbers": f"{one.numbers:,}",
            "planned": f"{one.planned:.4g}",
            "alone": f"{one.alone:.4g}",
            "unit": one.unit,
            "times": f"{one.alone / one.planned:.2f}" if one.planned else "",
        }
        for one in comparison.answers
    ]
    marks = [
        Mark(one.label, one.alone / one.planned, None, None, f"{one.alone / one.planned:.2f}")
        for one in comparison.answers[:_MAX_BARS]
        if one.planned
    ]
    notes = [
        {
            "columns": " and ".join(_names(one["columns"])) or "all rows",
            "cells": f"{one['cells']:,}",
            "share": f"{float(Fraction(str(one['share']))):.2%}",
        }
        for one in strategy
    ]
    name = "rho" if comparison.loss.kind == "concentrated" else "epsilon"
    words = "how many times larger the error is when asked one by one"
    given = {
        "loss": f"{name} {show(comparison.loss.amount)}",
        "rows": f"{comparison.rows:,}",
        "protects": protects,
        "answers": lines,
        "chart": drawing(chart(marks, bars=True, title=words)) if marks else "",
        "narrow": drawing(chart(marks, True, words, PHONE_WIDTH)) if marks else "",
        "left_out": max(0, len(comparison.answers) - _MAX_BARS),
        "strategy": notes,
    }
    return render("tacit.report", "plan.html", given)


def _names(listed: Any) -> list[str]:
    return [str(name) for name in listed]
