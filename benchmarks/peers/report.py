"""Results as a table on the screen and as JSON in a file."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.client import Peer


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if abs(value) < 1e4 else f"{value:.0f}"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their heads, columns aligned, as a Markdown table."""
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    print(f"\n{title}\n", line(head), rule, *(line(row) for row in rows), sep="\n", flush=True)


def libraries(peers: Sequence[Peer]) -> None:
    """Print which libraries took part, under which relation and how their budget is counted."""
    head = ["library", "version", "neighbours", "how the budget is counted"]
    facts = ("version", "relation", "accounting")
    table("Libraries", head, [[p.name, *(p.about[fact] for fact in facts)] for p in peers])


def about(peers: Sequence[Peer]) -> dict[str, Any]:
    """What the JSON file says of the machine and the libraries."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libraries": {peer.name: {**peer.about, "refused": peer.refused} for peer in peers},
    }


def write(path: Path | None, results: dict[str, Any]) -> None:
    """Write the results where they were asked for."""
    if path is not None:
        path.write_text(json.dumps(results, indent=1) + "\n")
        print(f"\nwritten: {path}")
