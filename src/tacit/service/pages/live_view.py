"""Pages of dashboards and collections, and the explorer of the interface."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from tacit.accounting.budget import Budget
from tacit.arithmetic.exact import as_fraction
from tacit.display.card import drawing
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.errors import UsageError
from tacit.report.text import budget_words, number
from tacit.service.pages.frame import when
from tacit.service.pages.views import home_of
from tacit.statistics import Interval, lookup, sensitivity

__all__ = [
    "KNOWN",
    "board_card",
    "collection_card",
    "expected_board",
    "explored",
    "read_values",
    "shown_board",
    "shown_estimate",
]

# Dashboards and collections of the local model, as pages show them: made of what the API says.


# The most lines of a chart: those of the latest periods, or of the most frequent answers.
_DRAWN = 60
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


# The explorer of sensitivity: made-up people, their neighbours, how far a statistic moves.
#
# No person stands behind these numbers: the reader makes them up.


# The statistics that can be explored.
KNOWN = ("mean", "median", "sum", "count", "var", "min", "max")
LOWEST, HIGHEST = 0, 10
MOST = 12
_EXPLORER_VIEW_WIDTH, _LEFT, _RIGHT = 720, 30, 690


def read_values(text: str) -> list[Fraction]:
    """Return the numbers of a line, in order, held within the bounds.

    >>> read_values("9, 2 5.5")
    [Fraction(2, 1), Fraction(11, 2), Fraction(9, 1)]
    """
    parts = text.replace(",", " ").split()
    if not 2 <= len(parts) <= MOST:
        raise UsageError(f"write 2 to {MOST} numbers from {LOWEST} to {HIGHEST}: 1, 2, 5, 7, 9")
    found = [as_fraction(part) for part in parts]
    return sorted(min(max(each, Fraction(LOWEST)), Fraction(HIGHEST)) for each in found)


def explored(name: str, values: Sequence[Fraction]) -> dict[str, Any]:
    """Return what the page shows of a statistic on some numbers.

    >>> explored("mean", read_values("1, 2, 5, 7, 9"))["local"]
    '1.05'
    """
    if name not in KNOWN:
        raise UsageError(f"choose one of {', '.join(KNOWN)}")
    over = Interval(LOWEST, HIGHEST, size=len(values))
    here = sensitivity(name, over=over, at=list(values), relation="unbounded")
    anywhere = sensitivity(name, over=over, relation="unbounded")
    statistic = lookup(name)
    centre = Fraction(statistic.exact(values))  # type: ignore[arg-type]
    rows = [_neighbour(name, centre, one) for one in _neighbours(values)]
    furthest = max(row.moved for row in rows)
    witness = here.witness[1] if here.witness else ()
    return {
        "statistic": name,
        "values": ", ".join(_short(value) for value in values),
        "value": _short(centre),
        "local": _short(here.value),
        "exact": here.exact,
        "whole": _short(anywhere.value),
        "witness": ", ".join(_short(each) for each in witness),
        "picture": drawing(_picture(values, centre, rows)),
        "rows": [
            {
                "what": row.what,
                "value": _short(row.value),
                "moved": _short(row.moved),
                "most": row.moved == furthest,
            }
            for row in rows
        ],
        "lowest": LOWEST,
        "highest": HIGHEST,
    }


@dataclass(frozen=True)
class _Neighbour:
    """The same people, and one more or one less."""

    what: str
    value: Fraction
    moved: Fraction


def _short(value: Fraction | float) -> str:
    return f"{float(value):.5g}"


def _neighbours(values: Sequence[Fraction]) -> list[tuple[str, list[Fraction]]]:
    found = [
        (f"without {_short(value)}", [*values[:place], *values[place + 1 :]])
        for place, value in enumerate(values)
    ]
    for end in (Fraction(LOWEST), Fraction(HIGHEST)):
        found.append((f"with one more, at {_short(end)}", sorted([*values, end])))
    return found


def _neighbour(name: str, centre: Fraction, one: tuple[str, list[Fraction]]) -> _Neighbour:
    what, values = one
    value = Fraction(lookup(name).exact(values))  # type: ignore[arg-type]
    return _Neighbour(what, value, abs(value - centre))


def _picture(values: Sequence[Fraction], centre: Fraction, rows: Sequence[_Neighbour]) -> str:
    """Draw the people on a line, the statistic, and where each neighbour moves it."""
    shown = [centre, *(row.value for row in rows)]
    low, high = min([Fraction(LOWEST), *shown]), max([Fraction(HIGHEST), *shown])

    def across(value: Fraction, least: Fraction, most: Fraction) -> float:
        return round(_LEFT + float((value - least) / (most - least)) * (_RIGHT - _LEFT), 1)

    ends = Fraction(LOWEST), Fraction(HIGHEST)
    parts = [f'<line class="axis" x1="{_LEFT}" y1="50" x2="{_RIGHT}" y2="50"/>']
    for tick in range(LOWEST, HIGHEST + 1):
        x = across(Fraction(tick), *ends)
        parts.append(f'<text class="tick" x="{x}" y="72" text-anchor="middle">{tick}</text>')
    for value in values:
        parts.append(f'<circle class="person" cx="{across(value, *ends)}" cy="50" r="11"/>')
    parts.append(f'<line class="grid" x1="{_LEFT}" y1="118" x2="{_RIGHT}" y2="118"/>')
    for row in rows:
        x = across(row.value, low, high)
        title = html.escape(f"{row.what}: {_short(row.value)}")
        parts.append(f'<line class="interval" x1="{x}" y1="106" x2="{x}" y2="130">')
        parts.append(f"<title>{title}</title></line>")
    x = across(centre, low, high)
    parts.append(f'<circle class="point" cx="{x}" cy="118" r="6"/>')
    parts.append(f'<text class="tick" x="{_LEFT}" y="150">{_short(low)}</text>')
    parts.append(f'<text class="tick" x="{_RIGHT}" y="150" text-anchor="end">{_short(high)}</text>')
    told = f"people at {', '.join(_short(v) for v in values)}; the statistic is {_short(centre)}"
    return (
        f'<svg class="chart" id="people" viewBox="0 0 {_EXPLORER_VIEW_WIDTH} 160" role="img" '
        f'aria-label="{html.escape(told, quote=True)}">{"".join(parts)}</svg>'
    )
