"""What stands in a certificate: its two formats, and the parts that each has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "ACCURACY",
    "APART",
    "ASSUMED",
    "FIRST_FORMAT",
    "FOLLOWING",
    "FORMAT",
    "fields_of",
    "protects",
]

FORMAT = "tacit certificate 2"
FIRST_FORMAT = "tacit certificate 1"
"""Without the kinds of the columns, and without the released numbers."""
FOLLOWING = "tacit free answer 1"
"""Of an answer that follows from earlier releases, whose certificates it holds."""
ACCURACY = "errors and 95% intervals count the noise, which is known without the data"

_NEIGHBOURS = {
    "unbounded": "data sets that differ by one unit, with all its rows, added or removed",
}
APART = "teams apart"
ASSUMED = {
    APART: "each team has a budget of its own, and teams do not compare their answers: of those "
    "that do, the losses add up",
}
"""What the terms of a ledger may assume of those who are answered, and what that means."""
_PARTS = (
    *("format", "dataset", "protects", "question", "table", "chains", "composition", "spent"),
    *("answer", "accuracy", "ledger", "versions", "digest"),
)


def fields_of(format: str) -> dict[str, tuple[str, ...]]:
    """Return the names in a certificate of a format, and in two of its parts.

    Raises:
        LookupError: there is no such format.
    """
    first = {FORMAT: False, FIRST_FORMAT: True}[format]
    return {
        "": tuple(name for name in _PARTS if not (first and name == "table")),
        "answer": ("keys", "columns") if first else ("keys", "columns", "released"),
        "ledger": ("id", "sequence", "hash", "when"),
    }


def protects(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return whom a certificate protects, from the terms of a ledger."""
    neighbours = str(terms.get("neighbours", "unbounded"))
    meaning = _NEIGHBOURS.get(neighbours, neighbours)
    found = {"unit": terms.get("unit"), "neighbours": neighbours, "meaning": meaning}
    assumes = terms.get("assumes")
    if assumes is not None:
        found["assumes"] = {"analysts": assumes, "meaning": ASSUMED.get(assumes, assumes)}
    return found
