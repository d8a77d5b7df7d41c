"""A chain, explained to a person: each step with the distance that is left after it."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import show
from tacit.core.chain.protocols import Recipe, Start

__all__ = ["Link", "chain_html", "chain_text", "distances"]


@dataclass(frozen=True)
class Link:
    """One step of a chain: its title, its recipe, where it leads, and its own map."""

    name: str
    step: Recipe | None
    output: Any
    map: Callable[[Fraction], Any]

    @property
    def title(self) -> str:
        """The step with its parameters, as one would write it."""
        if self.step is None:
            return self.name
        given = [(k, v) for k, v in self.step.parameters().items() if v is not None]
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in given)})"


def distances(links: Sequence[Link], d_in: Fraction) -> list[Any]:
    """Return the distance after each step, starting from ``d_in``."""
    found: list[Any] = []
    distance: Any = d_in
    for link in links:
        distance = link.map(distance)
        found.append(distance)
    return found


def chain_text(start: Start, links: Sequence[Link], d_in: Fraction) -> str:
    """Write the chain as aligned text."""
    rows = _rows(start, links, d_in)
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)


def chain_html(start: Start, links: Sequence[Link], d_in: Fraction) -> str:
    """Write the chain as an HTML table, for notebooks."""
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _rows(start, links, d_in)
    )
    head = "<tr><th>step</th><th>distance</th><th>measured in</th></tr>"
    return f"<table>{head}{body}</table>"


def _rows(start: Start, links: Sequence[Link], d_in: Fraction) -> list[tuple[str, str, str]]:
    rows = [("data", show_distance(d_in), str(start))]
    for link, distance in zip(links, distances(links, d_in), strict=True):
        rows.append((link.title, show_distance(distance), str(link.output)))
    return rows


def show_distance(distance: Any) -> str:
    """Write a distance: a number, or the pair (epsilon, delta)."""
    if isinstance(distance, tuple):
        return f"({', '.join(show(d) for d in distance)})"
    return show(distance)
