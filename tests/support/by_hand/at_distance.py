"""Sensitivities at a distance by their definition: every release that is so far away."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from tacit.statistics.question import RELATIONS

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


def by_substitution(statistic: Any, data: list[int], values: list[int], steps: int) -> Fraction:
    """A(steps) by substitution: over all releases that differ in at most ``steps`` records."""
    size = len(data)
    best = Fraction(0)
    for places in itertools.combinations(range(size), min(steps, size)):
        for new in itertools.product(values, repeat=len(places)):
            release = list(data)
            for place, value in zip(places, new, strict=True):
                release[place] = value
            here = statistic.exact(sorted(map(Fraction, release)))
            for place, value in itertools.product(range(size), values):
                other = sorted([*release[:place], *release[place + 1 :], value])
                best = max(best, abs(statistic.exact(list(map(Fraction, other))) - here))
    return best


@st.composite
def cases(draw: st.DrawFn, most_values: int = 4) -> tuple[list[int], list[int], str, int]:
    values = sorted(draw(st.sets(st.integers(-9, 20), min_size=2, max_size=most_values)))
    data = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    relation = draw(st.sampled_from(RELATIONS))
    if relation == "remove" and len(data) == 1:
        data = data * 2
    return data, values, relation, draw(st.integers(0, 3))
