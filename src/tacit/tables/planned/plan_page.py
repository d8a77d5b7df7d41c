"""A plan as a page: its questions, what gets noise, its errors with and without the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import show
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.display.templating import drawing, render
from tacit.report.text.words import question_words
from tacit.tables.planned.comparison import Comparison

__all__ = ["plan_page"]

_MOST_BARS = 40


def plan_page(found: Comparison, protects: str, strategy: Sequence[Mapping[str, object]]) -> str:
    """Return the page.

    Args:
        found: the errors with and without the plan.
        protects: whom the answers protect, in one line.
        strategy: what gets noise for the counts.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
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
        for one in found.answers
    ]
    marks = [
        Mark(one.label, one.alone / one.planned, None, None, f"{one.alone / one.planned:.2f}")
        for one in found.answers[:_MOST_BARS]
        if one.planned
    ]
    told = [
        {
            "columns": " and ".join(_names(one["columns"])) or "all rows",
            "cells": f"{one['cells']:,}",
            "share": f"{float(Fraction(str(one['share']))):.2%}",
        }
        for one in strategy
    ]
    name = "rho" if found.loss.kind == "concentrated" else "epsilon"
    words = "how many times larger the error is when asked one by one"
    given = {
        "loss": f"{name} {show(found.loss.amount)}",
        "rows": f"{found.rows:,}",
        "protects": protects,
        "answers": lines,
        "chart": drawing(chart(marks, bars=True, title=words)) if marks else "",
        "narrow": drawing(chart(marks, True, words, PHONE_WIDTH)) if marks else "",
        "left_out": max(0, len(found.answers) - _MOST_BARS),
        "strategy": told,
    }
    return render("tacit.report.page", "plan.html", given)


def _names(listed: Any) -> list[str]:
    return [str(name) for name in listed]
