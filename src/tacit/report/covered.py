"""Whether the chains of a certificate are those that its question needs: none left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

__all__ = ["covered"]

_MOMENTS = ("sum", "mean", "var", "std")
_QUANTILES = ("median", "percentile", "min", "max")
_ENDS = {
    "count_rows": "count",
    "count_people": "people",
    "histogram": "histogram",
    "moments": "moments",
    "sum_by_group": "moments",
    "quantile_costs": "quantile",
    "records": "records",
    "people_in_bins": "records",
    "counts_over_time": "blocks",
}
_BLOCKS = ("column", "reads", "start", "every", "periods", "branching")

_BY_METHOD = {
    "smooth_noise": "smooth",
    "propose_test_release": "ptr",
    "bound_search": "ptr",
    "sample_mean": "sample_and_aggregate",
    "mean_of_people": "sample_and_aggregate",
}
"""The method that a mechanism on records belongs to."""

Need = tuple[str, Any]
"""What a chain is for: its family, and its column where it has one."""


def covered(body: Mapping[str, Any]) -> str | None:
    """Return None where every answer has its chain on the right rows, else what is missing.

    An answer without a chain is one whose loss nobody counted.  Moments take a chain for each
    column and bounds; a quantile takes three (its value and the two ends of its interval), or one
    where it is a minimum or a maximum.
    """
    query = body["question"]["query"]
    found: Counter[Need] = Counter()
    counted = False
    for chain in body["chains"]:
        steps = chain["steps"]
        kept = [step["expression"] for step in steps if step["step"] == "filter"]
        added = [[s["column"], s["expression"]] for s in steps if s["step"] == "derive"]
        if (kept, added) != (query["where"], query["derived"]):
            return f"{chain['title']} is about other rows than the question"
        end = next((step for step in steps if step["step"] in _ENDS), None)
        if end is None or list(end["by"]) != query["by"]:
            return f"{chain['title']} is about other groups than the question"
        counted = counted or end["step"] == "count_rows" or bool(end.get("missing"))
        keys = steps[-1]["step"] == "release_keys"
        family = "keys" if keys else _ENDS[end["step"]]
        if family == "records":
            family = _BY_METHOD[steps[-1].get("inner", steps[-1])["step"]]
        found[family, _subject(end)] += 1
    wanted = _wanted(query, _methods(body))
    if wanted["count", None] and not counted:
        return "no chain counts the rows"
    del wanted["count", None]
    lacking = [" of ".join(filter(None, need)) for need in wanted - found]
    return f"there is no chain for {', '.join(lacking)}" if lacking else None


def _subject(told: Mapping[str, Any]) -> Any:
    """Return what a chain or an aggregate is about: its column, or its blocks of periods."""
    if "periods" not in told:
        return told.get("column")
    return ", ".join(f"{name} {told[name]}" for name in _BLOCKS)


def _methods(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the method of each answer: the one asked for, or what ``auto`` says that it chose."""
    told = {c["label"]: c.get("method", {}).get("used") for c in body["answer"]["columns"]}
    asked = {
        label: aggregate.get("method", {}).get("name", "global")
        for label, aggregate in body["question"]["query"]["aggregates"]
    }
    return {label: told[label] if name == "auto" else name for label, name in asked.items()}


def _told_apart(method: Mapping[str, Any], used: str) -> tuple[Any, ...]:
    """Return the options by which questions of one method share a chain or do not."""
    option = {"smooth": "distribution", "ptr": "bound", "sample_and_aggregate": "bins"}[used]
    default = "search" if used == "ptr" else None
    return method.get(option, default), method.get("rows")


def _wanted(query: Mapping[str, Any], methods: Mapping[str, str]) -> Counter[Need]:
    wanted: Counter[Need] = Counter()
    for need, chains, _ in set(_places(query["aggregates"], methods)):
        wanted[need] += chains
    if query["by"] and query["keys"] is None:
        wanted["keys", None] += 1
    return wanted


def _places(
    aggregates: list[tuple[str, Mapping[str, Any]]], methods: Mapping[str, str]
) -> Iterator[tuple[Need, int, Any]]:
    """Yield needs with their numbers of chains, equal for questions that share them."""
    for label, asked in aggregates:
        kind, column = asked["kind"], asked.get("column")
        bounds = asked.get("lower"), asked.get("upper")
        if methods[label] != "global":
            how = _told_apart(asked["method"], methods[label])
            yield (methods[label], column), 1, (kind, *bounds, asked.get("q"), *how)
        elif kind in _MOMENTS:
            yield ("moments", column), 1, bounds
        elif kind in _QUANTILES:
            # Quantiles are resolved to a ten-thousandth; at the ends one choice is all.
            q = (Fraction(asked["q"]) / 100).limit_denominator(10**4)
            yield ("quantile", column), 1 if q in (0, 1) else 3, (*bounds, asked["q"])
        elif "periods" in asked:
            yield ("blocks", _subject(asked)), 1, None
        elif kind == "histogram":
            yield ("histogram", column), 1, tuple(asked["edges"])
        else:
            yield ("people" if kind == "count_people" else "count", None), 1, None
