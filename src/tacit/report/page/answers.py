"""The answers of a certificate as charts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tacit.report.page.svg_chart import Mark, chart
from tacit.report.text.vocabulary import answer_words
from tacit.report.text.words import aggregate_words, number, value_words

__all__ = ["answers"]

_MOST_MARKS = 60
_MOST_PANELS = 12


def answers(body: Mapping[str, Any]) -> str:
    """Return every answer: a chart with intervals, then all of them as a table."""
    query = body["question"]["query"]
    told = dict(query["aggregates"])
    by = [str(name) for name in query["by"]]
    keys = [[_key(part) for part in key] for key in body["answer"]["keys"]]
    if any("periods" in aggregate for aggregate in told.values()):
        by = ["period"]  # not a column of the table
    parts = [
        "<p>The range beside a value holds the value without noise in 95 of 100 releases. It "
        "covers the noise only: not the effect of bounds and limits, and not how the people in the "
        "table were sampled.</p>"
    ]
    plain = []
    for column in body["answer"]["columns"]:
        words = aggregate_words(told[column["label"]]) + (f", by {', '.join(by)}" if by else "")
        title = f'<h3>{escape(str(column["label"]))}</h3><p class="quiet">{escape(words)}</p>'
        title += _choice(column.get("method", {}))
        if column.get("bins") is None:
            plain.append(column)
            parts.append(title + _chart(column, [" / ".join(key) for key in keys], words))
        else:
            parts.append(title + _histogram(column, keys, by, words))
    if not keys:
        none = "period is over yet" if by == ["period"] else "group was above the threshold"
        return f"<p>No {none}.</p>"
    if plain:
        parts.append(_table(plain, keys, by))
    return "\n".join(parts)


def _choice(method: Mapping[str, Any]) -> str:
    """Say what ``auto`` chose, and by which numbers; nothing where a method was named."""
    if method.get("asked") != "auto":
        return ""
    errors = ", ".join(f"{name} {number(error)}" for name, error in method["errors"].items())
    chosen = f"Answered by the method {method['used']}: of the expected errors on "
    chosen += f"{method['rows']:,} synthetic rows ({errors}) it has the least."
    return f'<p class="quiet">{escape(chosen.replace("_", " "))}</p>'


def _chart(column: Mapping[str, Any], labels: Sequence[str], words: str) -> str:
    if not 0 < len(labels) <= _MOST_MARKS:
        return ""
    marks = [_mark(column, label, (place,)) for place, label in enumerate(labels)]
    return chart(marks, answer_words(str(column["kind"])).amount, words)


def _histogram(
    column: Mapping[str, Any], keys: Sequence[Sequence[str]], by: Sequence[str], words: str
) -> str:
    bins = [str(name) for name in column["bins"]]
    if not by:
        marks = [_mark(column, name, (0, i)) for i, name in enumerate(bins)]
        return chart(marks, True, words) if len(marks) <= _MOST_MARKS else _bins(column, keys, by)
    if len(keys) > _MOST_PANELS or len(bins) > 20:
        return _bins(column, keys, by)
    panels = []
    for place, key in enumerate(keys):
        marks = [_mark(column, name, (place, i)) for i, name in enumerate(bins)]
        title = " / ".join(f"{name} {part}" for name, part in zip(by, key, strict=True))
        drawn = chart(marks, True, f"{words}, {title}", width=350)
        panels.append(f'<div><p class="quiet">{escape(title)}</p>{drawn}</div>')
    return f'<div class="panels">{"".join(panels)}</div>'


def _bins(column: Mapping[str, Any], keys: Sequence[Sequence[str]], by: Sequence[str]) -> str:
    """Return a histogram as a table: a line a bin and group."""
    head = "".join(f"<th>{escape(name)}</th>" for name in [*by, "bin"])
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(part)}</td>' for part in [*key, str(name)])}"
        f"{_cells(column, (place, i))}</tr>"
        for place, key in enumerate(keys)
        for i, name in enumerate(column["bins"])
    )
    return (
        f'<div class="wide"><table class="long"><thead><tr>{head}<th class="n">rows</th><th>range'
        f"</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _table(
    columns: Sequence[Mapping[str, Any]], keys: Sequence[Sequence[str]], by: Sequence[str]
) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in by) + "".join(
        f'<th class="n">{escape(str(column["label"]))}</th><th>range</th>' for column in columns
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(part)}</td>' for part in key)}"
        f"{''.join(_cells(column, (place,)) for column in columns)}</tr>"
        for place, key in enumerate(keys)
    )
    return (
        f'<h3>All values</h3><div class="wide"><table class="long"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(column: Mapping[str, Any], place: tuple[int, ...]) -> str:
    value, low, high = value_words(*_parts(column, place))
    if column.get("refused") and column["refused"][place[0]]:
        return '<td class="n">–</td><td>refused by the test</td>'
    if _at(column["low"], place) is None and _at(column["high"], place) is None:
        return f'<td class="n strong">{escape(value)}</td><td>not known</td>'
    return (
        f'<td class="n strong">{escape(value)}</td><td><span class="range">'
        f"{escape(low)} to {escape(high)}</span></td>"
    )


def _mark(column: Mapping[str, Any], label: str, place: tuple[int, ...]) -> Mark:
    value, error, low, high = _parts(column, place)
    return Mark(label, value, low, high, value_words(value, error, low, high)[0])


def _parts(column: Mapping[str, Any], place: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    value, error, low, high = (
        _at(column[part], place) for part in ("value", "standard_error", "low", "high")
    )
    return value, error, low, high


def _at(column: Any, place: tuple[int, ...]) -> Any:
    for index in place:
        column = column[index]
    return column


def _key(part: Any) -> str:
    return "missing" if part is None else str(part)
