"""The answers of a certificate: what a page shows of them, as charts and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.display.svg_chart import PHONE_WIDTH, Mark, chart
from tacit.display.templating import drawing
from tacit.report.text.vocabulary import answer_words
from tacit.report.text.words import aggregate_words, number, value_words

__all__ = ["answers"]

_MOST_MARKS = 60
_MOST_PANELS = 12
_MOST_SIDE_BY_SIDE = 2
"""Answers with their ranges in one line of the table; of more each has a line of its own."""


def answers(body: Mapping[str, Any], width: int = 720) -> dict[str, Any]:
    """Return what the template shows: each answer with its chart, then all of them as a table.

    Args:
        body: of the certificate.
        width: of a chart, in pixels on the screen.
    """
    query = body["question"]["query"]
    told = dict(query["aggregates"])
    by = [str(name) for name in query["by"]]
    keys = [[_key(part) for part in key] for key in body["answer"]["keys"]]
    if any("periods" in aggregate for aggregate in told.values()):
        by = ["period"]  # not a column of the table
    if not keys:
        none = "period is over yet" if by == ["period"] else "group was above the threshold"
        return {"none": none}
    columns = [*body["answer"]["columns"], *body.get("derived", ())]
    plain = [column for column in columns if column.get("bins") is None]
    tidy = len(plain) > _MOST_SIDE_BY_SIDE
    return {
        "none": None,
        "columns": [_shown(one, told.get(one["label"], one), keys, by, width) for one in columns],
        "by": by,
        "labels": [str(column["label"]) for column in plain],
        "tidy": tidy,
        "table": (_tidy(plain, keys) if tidy else _table(plain, keys)) if plain else None,
    }


def _shown(
    column: Mapping[str, Any],
    aggregate: Mapping[str, Any],
    keys: Sequence[Sequence[str]],
    by: Sequence[str],
    width: int,
) -> dict[str, Any]:
    """Return one answer: its words, and its chart, its panels or its table of bins."""
    words = aggregate_words(aggregate) + (f", by {', '.join(by)}" if by else "")
    name, heading = answer_words(str(column["kind"])).each
    head = {"head": [*by, name], "heading": heading}
    shown: dict[str, Any] = {"chart": None, "narrow": None, "panels": None, "bins": None, **head}
    if column.get("bins") is None:
        shown |= _chart(column, [" / ".join(key) for key in keys], words, width)
    else:
        shown |= _histogram(column, keys, by, words, width)
    return {
        "label": str(column["label"]),
        "words": words,
        "choice": _choice(column.get("method", {})),
        **shown,
    }


def _choice(method: Mapping[str, Any]) -> str:
    """Say what ``auto`` chose, and by which numbers; nothing where a method was named."""
    if method.get("asked") != "auto":
        return ""
    errors = ", ".join(f"{name} {number(error)}" for name, error in method["errors"].items())
    chosen = f"Answered by the method {method['used']}: of the expected errors on "
    chosen += f"{method['rows']:,} synthetic rows ({errors}) it has the least."
    return chosen.replace("_", " ")


def _chart(
    column: Mapping[str, Any], labels: Sequence[str], words: str, width: int
) -> dict[str, Any]:
    if not 0 < len(labels) <= _MOST_MARKS:
        return {}
    marks = [_mark(column, label, (place,)) for place, label in enumerate(labels)]
    return _drawn(marks, answer_words(str(column["kind"])).amount, words, width)


def _drawn(marks: Sequence[Mark], bars: bool, words: str, width: int) -> dict[str, Any]:
    """Return a chart, and a narrow one for phones, of which a style shows one."""
    drawn = {"chart": drawing(chart(marks, bars, words, width))}
    if width > PHONE_WIDTH:
        drawn["narrow"] = drawing(chart(marks, bars, words, PHONE_WIDTH))
    return drawn


def _histogram(
    column: Mapping[str, Any],
    keys: Sequence[Sequence[str]],
    by: Sequence[str],
    words: str,
    width: int,
) -> dict[str, Any]:
    bins = [str(name) for name in column["bins"]]
    bars = answer_words(str(column["kind"])).amount
    if not by and len(bins) <= _MOST_MARKS:
        marks = [_mark(column, name, (0, i)) for i, name in enumerate(bins)]
        return _drawn(marks, bars, words, width)
    if not by or len(keys) > _MOST_PANELS or len(bins) > 20:
        return {"bins": _bins(column, keys)}
    panels = []
    for place, key in enumerate(keys):
        marks = [_mark(column, name, (place, i)) for i, name in enumerate(bins)]
        title = " / ".join(f"{name} {part}" for name, part in zip(by, key, strict=True))
        panels.append((title, drawing(chart(marks, bars, f"{words}, {title}", width=350))))
    return {"panels": panels}


def _bins(column: Mapping[str, Any], keys: Sequence[Sequence[str]]) -> list[Any]:
    """Return the lines of a histogram as a table: one a bin and group."""
    return [
        ([*key, str(name)], [_cell(column, (place, i))])
        for place, key in enumerate(keys)
        for i, name in enumerate(column["bins"])
    ]


def _tidy(columns: Sequence[Mapping[str, Any]], keys: Sequence[Sequence[str]]) -> list[Any]:
    """Return the lines of all other answers: one per group and answer, as wide as a page."""
    return [
        ([*key, str(column["label"])], [_cell(column, (place,))])
        for place, key in enumerate(keys)
        for column in columns
    ]


def _table(columns: Sequence[Mapping[str, Any]], keys: Sequence[Sequence[str]]) -> list[Any]:
    """Return the lines of all other answers: one per group."""
    return [
        (key, [_cell(column, (place,)) for column in columns]) for place, key in enumerate(keys)
    ]


def _cell(column: Mapping[str, Any], place: tuple[int, ...]) -> dict[str, Any]:
    value, low, high = value_words(*_parts(column, place))
    return {
        "value": value,
        "low": low,
        "high": high,
        "refused": bool(column.get("refused") and column["refused"][place[0]]),
        "unknown": _at(column["low"], place) is None and _at(column["high"], place) is None,
    }


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
