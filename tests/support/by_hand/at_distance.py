"""Sensitivities at a distance by their definition: every release that is so far away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Release = tuple[Fraction, ...]


def neighbours(release: Release, values: list[Fraction], relation: str) -> Iterator[Release]:
    """Every neighbour of a release, by the definition."""
    less = [release[:i] + release[i + 1 :] for i in range(len(release))]
    if relation == "bounded":
        yield from (tuple(sorted((*kept, v))) for kept in less for v in values)
    if relation in ("unbounded", "add"):
        yield from (tuple(sorted((*release, v))) for v in values)
    if relation in ("unbounded", "remove") and len(release) > 1:
        yield from less


def by_definition(
    f: Callable[[Release], Any],
    data: list[int],
    values: list[int],
    relation: str,
    farthest: int,
    fewest: int = 1,
    gap: Callable[[Any, Any], Any] = lambda a, b: abs(a - b),
) -> list[Any]:
    """A(0), ..., A(farthest), from all releases within each distance."""
    start: Release = tuple(sorted(map(Fraction, data)))
    grid = [Fraction(v) for v in values]
    known: dict[Release, Any] = {}

    def value(release: Release) -> Any:
        if release not in known:
            known[release] = f(release)
        return known[release]

    seen, front, best, profile = {start}, {start}, Fraction(0), []
    for _ in range(farthest + 1):
        reached = set()
        for release in front:
            for other in neighbours(release, grid, relation):
                if len(other) >= fewest:
                    best = max(best, gap(value(release), value(other)))
                    reached.add(other)
        profile.append(best)
        front = reached - seen
        seen |= front
    return profile
