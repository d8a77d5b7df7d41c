"""Pages of dashboards and collections, and the explorer of the interface."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from tacit.accounting.budget import Budget, epsilon, rho
from tacit.arithmetic.exact import as_fraction
from tacit.display.card import drawing
from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.errors import UsageError
from tacit.report.odds import odds_words
from tacit.report.text import budget_words, listed, number, value_words
from tacit.service.pages.frame import when
from tacit.service.pages.views import home_of, row
from tacit.statistics import Interval, lookup, sensitivity

# Pages of dashboards and collections, from replies of the API.


# Maximum number of lines of a chart: the latest periods, or the most frequent answers.
_MAX_MARKS = 60
_WIDTH = PHONE_WIDTH
_Reply = Mapping[str, Any]


def board_card(one: _Reply) -> dict[str, Any]:
    counted = one["counted"]
    title = counted.get("title") or f"{counted['column']} of {one['dataset']}"
    price = epsilon(counted["epsilon"]) if counted.get("epsilon") else rho(counted["rho"])
    return {
        "id": one["id"],
        "href": f"/dashboards/{one['id']}",
        "title": title,
        "dataset": one["dataset"],
        "home": home_of(one["dataset"]),
        "state": one["state"],
        "asked_by": one["asked_by"],
        "about": [
            ("Data set", one["dataset"]),
            ("Counted", f"rows by {counted['column']}, in periods of {counted['every']}"),
            ("From", counted["start"]),
            ("Periods", f"{one['periods_shown']:,} of {counted['periods']:,} are over"),
            ("Price of all periods", budget_words(price)),
            ("Requested by", one["asked_by"]),
            ("Requested", when(one["created"])),
            *([("Reason", one["reason"])] if one.get("reason") else []),
        ],
        "price": f"{budget_words(price)} for all periods",
        "odds": odds_words(price, "all periods together"),
    }


def shown_board(one: _Reply) -> dict[str, Any]:
    """Return the contents of the page of a dashboard: counts of its periods, running totals."""
    counts = one.get("counts") or {"periods": [], "columns": {}}
    periods, columns = counts["periods"], counts["columns"]
    tables, charts = [], []
    for label, column in columns.items():
        rows = _rows(periods, column)
        shown = rows[-_MAX_MARKS:]
        if shown:
            title = f"{label} by period, with 95% intervals"
            marks = [Mark(r["short"], r["value"], r["low"], r["high"], r["text"]) for r in shown]
            picture = drawing(chart(marks, bars=label == "count", title=title, width=_WIDTH))
            charts.append((_WORDS.get(label, label), picture))
        tables.append({"name": _WORDS.get(label, label), "rows": rows[::-1]})
    left = max(0, len(periods) - _MAX_MARKS)
    return {**board_card(one), "charts": charts, "tables": tables, "left": left}


_WORDS = {"count": "Rows in each period", "total": "Running total"}


def expected_board(reply: _Reply) -> dict[str, Any]:
    cost, left = (budget_words(Budget.from_json(reply[n])) for n in ("cost", "remaining"))
    half, worst = float(reply["count_half_width"]), float(reply["largest_total_error"])
    many, limits = f"All {reply['periods']:,} periods together cost", listed(reply["limited_by"])
    verdict = f"{many} {cost} of the {left} that is left under {limits}."
    if not reply["affordable"]:
        verdict += " That does not cover it."
    return {
        "verdict": verdict,
        "affordable": bool(reply["affordable"]),
        "button": f"Start, and spend {cost}",
        "facts": [
            ("Count of a period", f"± {number(half, half / 10)}, in 95 of 100 periods"),
            ("Running total", f"standard error of at most {number(worst, worst / 10)}"),
        ],
    }


def reviewed_board(review: _Reply) -> dict[str, Any]:
    """Return what a reviewer decides by."""
    earlier = [row(one) for one in review["earlier"]]
    return {**expected_board(review["preview"]), "odds": review["odds"], "earlier": earlier}


def collection_card(one: _Reply) -> dict[str, Any]:
    oracle = one["oracle"]
    about = [
        ("Mechanism", oracle.get("mechanism")),
        ("Privacy loss of one report", f"epsilon {one['epsilon']:.4g}"),
        ("Reports of one token", f"at most {one['per_token']}" if one["per_token"] else ""),
    ]
    return {
        "name": one["name"],
        "href": f"/collections/{quote(str(one['name']), safe='')}",
        "purpose": one["purpose"],
        "about": [(title, words) for title, words in about if words],
    }


def shown_estimate(reply: _Reply) -> dict[str, Any]:
    tables = []
    for result in reply["results"]:
        rows = _estimated(result)
        if not rows:
            continue
        rows.sort(key=lambda row: -row["value"])
        shown = rows[:_MAX_MARKS]
        title = f"{result.get('name') or reply['collection']}: estimates with intervals"
        marks = [Mark(r["item"], r["value"], r["low"], r["high"], r["text"]) for r in shown]
        tables.append(
            {
                "name": result.get("name") or "The estimate",
                "rows": rows[:1000],
                "chart": drawing(chart(marks, bars=False, title=title, width=_WIDTH)),
            }
        )
    refused = ", ".join(f"{many:,} {reason}" for reason, many in reply["refused"].items() if many)
    return {"n": reply["n"], "refused": refused, "level": reply["level"], "tables": tables}


def _rows(periods: Sequence[Any], column: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    values = zip(
        periods,
        column["value"],
        column["standard_error"],
        column["low"],
        column["high"],
        strict=True,
    )
    return [
        {
            "item": _period(p),
            "short": _brief(_period(p)),
            "value": v,
            "low": a,
            "high": b,
            **_texts(v, a, b, e),
        }
        for p, v, e, a, b in values
    ]


def _period(start: Any) -> str:
    return str(start).removesuffix("T00:00:00").replace("T", " ")


def _brief(period: str) -> str:
    """Return the label of a period in a chart: of a time of day without the year and the seconds.

    >>> _brief("2026-03-01 01:00:00"), _brief("2026-03-01")
    ('03-01 01:00', '2026-03-01')
    """
    date, _, time = period.partition(" ")
    return f"{date[5:]} {time.removesuffix(':00')}" if time else date


def _estimated(result: _Reply) -> list[dict[str, Any]]:
    """Return the lines of one result: one per answer, or the one mean."""
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


def _line(one: _Reply) -> dict[str, Any]:
    item = one.get("item", one.get("key", ""))
    named = " to ".join(map(str, item)) if isinstance(item, list) else str(item)
    return {"item": named, "value": one["value"], "low": one["low"], "high": one["high"]}


def _texts(value: float, low: float, high: float, error: float | None = None) -> dict[str, str]:
    text, low_text, high_text = value_words(value, error, low, high)
    return {"text": text, "between": f"{low_text} to {high_text}"}


# The explorer of sensitivity: made-up people, their neighbours, how far a statistic moves.
#
# These numbers belong to no person: the reader makes them up.


# The statistics that can be explored.
KNOWN = ("mean", "median", "sum", "count", "var", "min", "max")
LOWEST, HIGHEST = 0, 10
MAX_VALUES = 12
_EXPLORER_VIEW_WIDTH, _LEFT, _RIGHT = 720, 30, 690


def read_values(text: str) -> list[Fraction]:
    """Return the numbers of a line, sorted and clamped to the bounds.

    >>> read_values("9, 2 5.5")
    [Fraction(2, 1), Fraction(11, 2), Fraction(9, 1)]
    """
    parts = text.replace(",", " ").split()
    if not 2 <= len(parts) <= MAX_VALUES:
        raise UsageError(
            f"write 2 to {MAX_VALUES} numbers from {LOWEST} to {HIGHEST}: 1, 2, 5, 7, 9"
        )
    numbers = [as_fraction(part) for part in parts]
    return sorted(min(max(each, Fraction(LOWEST)), Fraction(HIGHEST)) for each in numbers)


def explored(name: str, values: Sequence[Fraction]) -> dict[str, Any]:
    """Return the contents of the explorer for a statistic on some numbers.

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
        "global_value": _short(anywhere.value),
        "witness": ", ".join(_short(each) for each in witness),
        "picture": drawing(_picture(values, centre, rows)),
        "rows": [
            {
                "what": row.what,
                "value": _short(row.value),
                "moved": _short(row.moved),
                "furthest": row.moved == furthest,
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
    neighbours = [
        (f"without {_short(value)}", [*values[:index], *values[index + 1 :]])
        for index, value in enumerate(values)
    ]
    for end in (Fraction(LOWEST), Fraction(HIGHEST)):
        neighbours.append((f"with one more, at {_short(end)}", sorted([*values, end])))
    return neighbours


def _neighbour(name: str, centre: Fraction, one: tuple[str, list[Fraction]]) -> _Neighbour:
    what, values = one
    value = Fraction(lookup(name).exact(values))  # type: ignore[arg-type]
    return _Neighbour(what, value, abs(value - centre))


def _picture(values: Sequence[Fraction], centre: Fraction, rows: Sequence[_Neighbour]) -> str:
    """Draw the people on a line, the statistic, and its value on each neighbour."""
    shown = [centre, *(row.value for row in rows)]
    low, high = min([Fraction(LOWEST), *shown]), max([Fraction(HIGHEST), *shown])

    def across(value: Fraction, start: Fraction, end: Fraction) -> float:
        return round(_LEFT + float((value - start) / (end - start)) * (_RIGHT - _LEFT), 1)

    ends = Fraction(LOWEST), Fraction(HIGHEST)
    parts = [f'<line class="axis" x1="{_LEFT}" y1="50" x2="{_RIGHT}" y2="50"/>']
    for tick in range(LOWEST, HIGHEST + 1):
        x = across(Fraction(tick), *ends)
        parts.append(f'<text class="tick" x="{x}" y="72" text-anchor="middle">{tick}</text>')
    for value in values:
        parts.append(f'<circle class="person" cx="{across(value, *ends)}" cy="50" r="11"/>')
    parts.append(f'<line class="grid" x1="{_LEFT}" y1="118" x2="{_RIGHT}" y2="118"/>')
    for neighbour in rows:
        x = across(neighbour.value, low, high)
        title = html.escape(f"{neighbour.what}: {_short(neighbour.value)}")
        parts.append(f'<line class="interval" x1="{x}" y1="106" x2="{x}" y2="130">')
        parts.append(f"<title>{title}</title></line>")
    x = across(centre, low, high)
    parts.append(f'<circle class="point" cx="{x}" cy="118" r="6"/>')
    parts.append(f'<text class="tick" x="{_LEFT}" y="150">{_short(low)}</text>')
    parts.append(f'<text class="tick" x="{_RIGHT}" y="150" text-anchor="end">{_short(high)}</text>')
    label = f"people at {', '.join(_short(v) for v in values)}; the statistic is {_short(centre)}"
    return (
        f'<svg class="chart" id="people" viewBox="0 0 {_EXPLORER_VIEW_WIDTH} 160" role="img" '
        f'aria-label="{html.escape(label, quote=True)}">{"".join(parts)}</svg>'
    )
