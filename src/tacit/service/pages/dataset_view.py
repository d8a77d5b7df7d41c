"""Data sets, as pages show them: made of what the API says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tacit.report.text.words import protects_line
from tacit.service.access.caller import Caller
from tacit.service.access.policy import decide
from tacit.service.pages.frame import bar, budget_of

__all__ = ["card", "home_of", "protection", "questionable", "shown_dataset"]

_MOST_KEYS = 12
_NUMBERS = ("integer", "float", "decimal", "undeclared")


def home_of(name: str) -> str:
    """Return the address of a data set's page.

    >>> home_of("visits 2/3")
    '/datasets/visits%202%2F3'
    """
    return f"/datasets/{quote(name, safe='')}"


def protection(line: str) -> str:
    """Return the line that says whom answers protect, as a sentence without its end.

    >>> protection("protects: each row, which is another person")
    'Answers protect each row, which is another person'
    """
    return f"Answers protect {line.removeprefix('protects: ')}" if line else ""


def card(said: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Return what the list of data sets shows of one."""
    name = str(said["name"])
    asks = decide(caller, "preview", name).allowed
    return {
        "name": name,
        "href": home_of(name),
        "purpose": said.get("purpose") or "",
        "protects": protection(str(said.get("protects") or "")),
        "budget": _bar(said),
        "ask": f"{home_of(name)}/ask" if asks else None,
    }


def shown_dataset(
    said: Mapping[str, Any], caller: Caller, *, from_page: bool = False
) -> dict[str, Any]:
    """Return what the page of a data set shows.

    Args:
        said: what the API says of it.
        caller: who sees it.
        from_page: whether a curator declared it, who can change it; the operator changes a file.
    """
    name = str(said["name"])
    about = [
        ("Purpose", said.get("purpose")),
        ("Owner", said.get("owner")),
        ("Answers", _latency(said.get("latency"))),
        ("Approval", _approval(said.get("approval"))),
    ]
    told = [said.get("collusion"), said.get("refreshes")]
    return {
        "name": name,
        "protects": protection(str(said.get("protects") or "")),
        "about": [(title, words) for title, words in about if words],
        "whole": _bar(said),
        "told": [words for words in told if words],
        "caps": [_cap(one) for one in said.get("accounts") or ()],
        "tables": [_table(name, one) for name, one in said["tables"].items()],
        "ask": f"{home_of(name)}/ask" if decide(caller, "preview", name).allowed else None,
        "releases": f"/releases?dataset={quote(name, safe='')}",
        "change": f"{home_of(name)}/declaration"
        if from_page and decide(caller, "declare", name).allowed
        else None,
        "budgets": f"{home_of(name)}/budget"
        if decide(caller, "set_budget", name).allowed
        else None,
    }


def questionable(said: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the columns of the first table that can be chosen by clicking.

    Returns:
        ``numbers`` with declared bounds, of which statistics are asked; and ``groups`` with
        declared categories.
    """
    columns = said["tables"][said["table"]]["columns"]
    numbers = [c["name"] for c in columns if c["kind"] in _NUMBERS and c.get("bounds")]
    groups = [c["name"] for c in columns if c.get("keys")]
    return {"numbers": numbers, "groups": groups}


def _bar(said: Mapping[str, Any]) -> dict[str, Any] | None:
    total, remaining = said.get("budget"), said.get("remaining")
    return bar(total, remaining) if total and remaining else None


def _latency(seconds: Any) -> str:
    if not seconds:
        return ""
    many = "1 second" if seconds == 1 else f"{seconds:g} seconds"
    return f"leave on public ticks, {many} after a question and later"


def _approval(needed: Any) -> str:
    return "a reviewer decides on each release before it is made" if needed else ""


def _cap(one: Mapping[str, Any]) -> dict[str, str]:
    return {
        "account": str(one["name"]).replace(":", " ", 1),
        "total": budget_of(one.get("cap")) or "no share of its own",
        "spent": budget_of(one.get("spent")),
        "left": budget_of(one.get("remaining")),
    }


def _table(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    unit, size = said.get("unit"), said.get("size")
    if unit is None:
        key = ", ".join(said.get("key") or ())
        told = "Everyone may know this table; it costs nothing to join it" + (
            f", by {key}." if key else "."
        )
    else:
        told = f"{protection(protects_line(unit))}."
        told += f" About {size:,} people." if size else ""
    return {
        "name": name,
        "heading": f"Table {name}" + (" (public)" if unit is None else ""),
        "protects": told,
        "columns": [_column(one) for one in said["columns"]],
    }


def _column(one: Mapping[str, Any]) -> dict[str, str]:
    meaning, unit = one.get("meaning") or "", one.get("unit")
    return {
        "name": str(one["name"]),
        "kind": str(one["kind"]),
        "known": _known(one.get("bounds"), one.get("keys")),
        "meaning": f"{meaning} (in {unit})".strip() if unit else meaning,
    }


def _known(bounds: Sequence[str] | None, keys: Sequence[Any] | None) -> str:
    if bounds:
        return f"{bounds[0]} to {bounds[1]}"
    if not keys:
        return ""
    shown = ", ".join("missing" if key is None else str(key) for key in keys[:_MOST_KEYS])
    return shown + (f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else "")
