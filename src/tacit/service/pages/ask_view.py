"""Asking, as pages show it: a question by clicking, and what to expect of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.arithmetic.exact import show
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.display.templating import drawing
from tacit.report.text.odds import Odds
from tacit.report.text.words import budget_words, number
from tacit.tables.plan.preview import Preview

__all__ = ["LOSSES", "STATISTICS", "expected", "sql_of"]

STATISTICS = (
    ("count", "how many rows"),
    ("avg", "the mean"),
    ("sum", "the sum"),
    ("median", "the median"),
    ("stddev", "the standard deviation"),
)
"""What can be chosen by clicking: the function of SQL, and its words."""
LOSSES = {"pure": "epsilon", "approximate": "epsilon", "concentrated": "rho"}
"""What a release spends, of each kind of budget."""


def sql_of(table: str, statistic: str, column: str, by: str) -> str:
    """Return a question that was chosen by clicking as SQL.

    >>> print(sql_of("visits", "avg", "cost", "site"))
    select "site", count(*) as n, avg("cost") as "avg_cost"
    from "visits"
    group by "site"
    """
    known = [name for name, _ in STATISTICS]
    asked = [_quoted(by)] if by else []
    asked.append("count(*) as n")
    if column and statistic in known and statistic != "count":
        asked.append(f"{statistic}({_quoted(column)}) as {_quoted(f'{statistic}_{column}')}")
    lines = [f"select {', '.join(asked)}", f"from {_quoted(table)}"]
    return "\n".join([*lines, *([f"group by {_quoted(by)}"] if by else [])])


def expected(told: Mapping[str, Any], *, approval: bool, may_ask: bool, key: str) -> dict[str, Any]:
    """Return what a page shows of a preview.

    Args:
        told: the preview, as the API says it.
        approval: whether a reviewer decides first.
        may_ask: whether the caller may release at all.
        key: the idempotency key of the release that may follow.
    """
    found, cost = Preview.from_json(told["preview"]), Budget.from_json(told["cost"])
    free = told["replay"] or told["open"]
    return {
        "verdict": _verdict(told, cost),
        "odds": [_odds(found.cost)],
        "sizes": [f"{size:,}" for size in found.rows],
        "rows": [
            {
                "label": label,
                "unit": found.units[label],
                "cells": [number(each, each / 10) for each in errors],
            }
            for label, errors in found.errors.items()
        ],
        "charts": [(label, _chart(found, label)) for label in found.intervals],
        "notes": _notes(found),
        "free": _free(told),
        "may_free": may_ask,
        "may_release": may_ask and bool(told["affordable"]),
        "button": "Show the answer, free" if free else f"Release, and spend {budget_words(cost)}",
        "approval": approval and not free,
        "key": key,
    }


def _verdict(told: Mapping[str, Any], cost: Budget) -> str:
    left = budget_words(Budget.from_json(told["remaining"]))
    caps = [limit for limit in told["limited_by"] if limit.startswith("the cap")]
    whole = len(caps) < len(told["limited_by"])
    under = "" if whole else f" under {' and '.join(caps)}"
    if told["replay"]:
        return f"{told['text']}: this was asked before, and is free. {left} is left{under}."
    if told["open"]:
        return f"{told['text']}: this was charged before, and is answered at no further cost."
    verdict = f"{told['text']}: this costs {budget_words(cost)} of the {left} that is left{under}."
    limit = "The budget" if whole else " and ".join(caps).capitalize()
    return verdict if told["affordable"] else f"{verdict} {limit} does not cover it."


def _free(told: Mapping[str, Any]) -> str:
    """Say that the answer follows from earlier releases; nothing where it does not."""
    errors = {label: one["standard_error"] for label, one in told["free"].items()}
    if not errors:
        return ""
    listed = ", ".join(
        f"{label} with a standard error of {number(error, error / 10)}"
        for label, error in errors.items()
    )
    return f"It follows from releases that you can see, at no cost: {listed}."


def _odds(cost: Budget) -> str:
    """Say what the release lets anybody learn about a person."""
    if cost.is_nothing:
        return ""
    sure = show(Odds.of(cost, 1).percent(10))
    return (
        "The odds: someone who is 10% sure that a given person is in the data could become at most "
        f"{sure}% sure from this release, whatever else they know."
    )


def _chart(found: Preview, label: str) -> Any:
    """Draw how far an answer may be from the true value, at each size of a group."""
    halves = zip(found.rows, found.intervals[label], strict=True)
    marks = [
        Mark(f"{size:,} rows", 0.0, -half, half, f"± {number(half, half / 10)}")
        for size, half in halves
    ]
    return drawing(
        chart(marks, bars=False, title=f"{label}: distance from the true value", width=PHONE_WIDTH)
    )


def _notes(found: Preview) -> list[str]:
    lines = [*found.methods.items(), *found.clamped().items()]
    notes = [f"{label}: {told}" for label, told in lines]
    notes += [
        f"{label}: refused with probability {told}" for label, told in found.refused().items()
    ]
    if found.threshold is not None:
        notes.append(f"A group is shown if it has about {found.threshold} people or more.")
    return [*notes, *found.notes, *([found.weak] if found.weak else [])]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
