"""A chain, explained to a person: each step with the distance that is left after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.arithmetic.exact import show
from tacit.core.chain.protocols import Recipe, Start
from tacit.display.card import Card, Table

__all__ = ["Link", "chain_card", "chain_text", "distances"]


@dataclass(frozen=True)
class Link:
    """One step of a chain: its title, its recipe, where it leads, and its own map."""

    name: str
    step: Recipe | None
    output: Any
    map: Callable[[Fraction], Any]

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """The step as plain JSON, made once for all chains that share it: not to be changed."""
        return {"step": self.name} if self.step is None else self.step.describe()

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


def chain_card(title: str, start: Start, links: Sequence[Link], d_in: Fraction) -> Card:
    """Return what a notebook shows of a chain: each step with the distance after it."""
    head = ("step", "distance after it", "measured in")
    return Card(title, "", [Table(head, _rows(start, links, d_in))])


def _rows(start: Start, links: Sequence[Link], d_in: Fraction) -> list[tuple[str, str, str]]:
    rows = [("data", show_distance(d_in), str(start))]
    for link, distance in zip(links, distances(links, d_in), strict=True):
        rows.append((link.title, show_distance(distance), str(link.output)))
    return rows


def show_distance(distance: Any) -> str:
    """Write a distance: a number, the pair (epsilon, delta), or the ends of a Renyi curve."""
    if isinstance(distance, tuple) and len(distance) > 3:
        return f"({show(distance[0])}, ..., {show(distance[-1])})"
    if isinstance(distance, tuple):
        return f"({', '.join(show(d) for d in distance)})"
    return show(distance)
