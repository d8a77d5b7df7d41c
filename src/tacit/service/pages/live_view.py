"""Dashboards and collections of the local model, as pages show them: made of what the API says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tacit.accounting.budgets.budget import Budget
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.display.templating import drawing
from tacit.report.text.words import budget_words, number
from tacit.service.pages.dataset_view import home_of
from tacit.service.pages.frame import when

__all__ = [
    "board_card",
    "collection_card",
    "expected_board",
    "shown_board",
    "shown_estimate",
]

_DRAWN = 60
"""The most lines of a chart: those of the latest periods, or of the most frequent answers."""
_WIDTH = PHONE_WIDTH
_Told = Mapping[str, Any]


def board_card(one: _Told) -> dict[str, Any]:
    """Return what the list of dashboards shows of one."""
    counted = one["counted"]
    title = counted.get("title") or f"{counted['column']} of {one['dataset']}"
    price = counted.get("epsilon") or counted.get("rho")
    loss = "epsilon" if counted.get("epsilon") else "rho"
    return {
        "id": one["id"],
        "href": f"/dashboards/{one['id']}",
        "title": title,
        "dataset": one["dataset"],
        "home": home_of(one["dataset"]),
        "state": one["state"],
        "about": [
            ("Data set", one["dataset"]),
            ("Counted", f"rows by {counted['column']}, in periods of {counted['every']}"),
            ("From", counted["start"]),
            ("Periods", f"{one['periods_shown']:,} of {counted['periods']:,} are over"),
            ("Price of all periods", f"{loss} {price}"),
            ("Asked by", one["asked_by"]),
            ("Started", when(one["created"])),
            *([("Reason", one["reason"])] if one.get("reason") else []),
        ],
    }


def shown_board(one: _Told) -> dict[str, Any]:
    """Return what the page of a dashboard shows: the counts of its periods, and running totals."""
    counts = one.get("counts") or {"periods": [], "columns": {}}
    periods, columns = counts["periods"], counts["columns"]
    tables, charts = [], []
    for label, said in columns.items():
        rows = _rows(periods, said)
        shown = rows[-_DRAWN:]
        if shown:
            title = f"{label} by period, with 95% intervals"
            marks = [Mark(r["item"], r["value"], r["low"], r["high"], r["text"]) for r in shown]
            drawn = drawing(chart(marks, bars=label == "count", title=title, width=_WIDTH))
            charts.append((_WORDS.get(label, label), drawn))
        tables.append({"name": _WORDS.get(label, label), "rows": rows[::-1]})
    left = max(0, len(periods) - _DRAWN)
    return {**board_card(one), "charts": charts, "tables": tables, "left": left}


_WORDS = {"count": "Rows in each period", "total": "Running total"}


def expected_board(told: _Told) -> dict[str, Any]:
    """Return what the page shows before a dashboard begins."""
    cost, left = (budget_words(Budget.from_json(told[n])) for n in ("cost", "remaining"))
    half, worst = float(told["count_half_width"]), float(told["largest_total_error"])
    verdict = f"All {told['periods']:,} periods together cost {cost} of the {left} that is left."
    if not told["affordable"]:
        verdict += " The budget does not cover it."
    return {
        "verdict": verdict,
        "affordable": bool(told["affordable"]),
        "button": f"Begin, and spend {cost}",
        "facts": [
            ("Count of a period", f"± {number(half, half / 10)}, in 95 of 100 periods"),
            ("Running total", f"standard error of at most {number(worst, worst / 10)}"),
        ],
    }


def collection_card(one: _Told) -> dict[str, Any]:
    """Return what the list of collections shows of one."""
    said = one["oracle"]
    about = [
        ("Mechanism", said.get("mechanism")),
        ("Privacy loss of one report", f"epsilon {one['epsilon']:.4g}"),
        ("Reports of one token", f"at most {one['per_token']}" if one["per_token"] else ""),
    ]
    return {
        "name": one["name"],
        "href": f"/collections/{quote(str(one['name']), safe='')}",
        "purpose": one["purpose"],
        "about": [(title, words) for title, words in about if words],
    }


def shown_estimate(told: _Told) -> dict[str, Any]:
    """Return what the page of a collection shows of its live estimate."""
    tables = []
    for result in told["results"]:
        rows = _estimated(result)
        if not rows:
            continue
        rows.sort(key=lambda row: -row["value"])
        shown = rows[:_DRAWN]
        title = f"{result.get('name') or told['collection']}: estimates with intervals"
        marks = [Mark(r["item"], r["value"], r["low"], r["high"], r["text"]) for r in shown]
        tables.append(
            {
                "name": result.get("name") or "The estimate",
                "rows": rows[:1000],
                "chart": drawing(chart(marks, bars=False, title=title, width=_WIDTH)),
            }
        )
    refused = ", ".join(f"{many:,} {reason}" for reason, many in told["refused"].items() if many)
    return {"n": told["n"], "refused": refused, "level": told["level"], "tables": tables}


def _rows(periods: Sequence[Any], said: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    found = zip(
        periods, said["value"], said["standard_error"], said["low"], said["high"], strict=True
    )
    return [
        {"item": _period(p), "value": v, "low": a, "high": b, **_texts(v, a, b, e)}
        for p, v, e, a, b in found
    ]


def _period(said: Any) -> str:
    return str(said).removesuffix("T00:00:00").replace("T", " ")


def _estimated(result: _Told) -> list[dict[str, Any]]:
    """Return the lines of one result: an answer a line, or the one mean."""
    if "mean" in result and "items" not in result:
        lines = [{**result, "item": "mean", "value": result["mean"]}]
    else:
        lines = [
            {**one, "value": one.get("count", one.get("share"))} for one in result.get("items", ())
        ]
    return [
        {**_line(one), **_texts(one["value"], one["low"], one["high"])}
        for one in lines
        if None not in (one.get("value"), one.get("low"), one.get("high"))
    ]


def _line(one: _Told) -> dict[str, Any]:
    item = one.get("item", one.get("key", ""))
    named = " to ".join(map(str, item)) if isinstance(item, list) else str(item)
    return {"item": named, "value": one["value"], "low": one["low"], "high": one["high"]}


def _texts(value: float, low: float, high: float, error: float | None = None) -> dict[str, str]:
    scale = error if error is not None else abs(high - low) / 4
    least, most = number(float(low), scale), number(float(high), scale)
    return {"text": number(float(value), scale), "between": f"{least} to {most}"}
