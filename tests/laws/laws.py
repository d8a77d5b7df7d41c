"""The contracts: what every step must keep, and the cases that each registered step is held to."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.core import (
    AbsoluteDistance,
    Frame,
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
)

__all__ = ["exact_output", "holds_stability", "neighbours_of"]


def edit(rows: list[Any], space: Space, source: random.Random, draw: Callable[[], Any]) -> Any:
    """Return a data set near another: rows added, removed, changed or moved."""
    changed = list(rows)
    for _ in range(source.randint(0, 3)):
        choice = source.random()
        place = source.randrange(len(changed) + 1)
        if choice < 0.35 and space.domain.size is None:
            changed.insert(place, draw())
        elif choice < 0.6 and space.domain.size is None and changed:
            changed.pop(place % len(changed))
        elif choice < 0.9 and changed:
            changed[place % len(changed)] = draw()
        else:
            source.shuffle(changed)
    return changed


def neighbours_of(space: Space, seed: int) -> tuple[Any, Any]:
    """Draw a pair of members of a space of columns, tables, aggregates or single values."""
    source = random.Random(seed)
    domain = space.domain
    u = domain.sample(source)
    if isinstance(domain, Frame):
        names = domain.names
        rows = list(zip(*u.values(), strict=True))
        draw = [dict(domain.columns)[name] for name in names]
        other = edit(rows, space, source, lambda: tuple(d.sample(source) for d in draw))
        columns = zip(*other, strict=True) if other else [[] for _ in names]
        return u, dict(zip(names, map(list, columns), strict=True))
    if not isinstance(domain, Vector):
        return u, domain.sample(source)
    if space.metric.counts_records:
        return u, edit(list(u), space, source, lambda: domain.element.sample(source))
    return u, [domain.element.sample(source) if source.random() < 0.5 else x for x in u]


def exact_output(t: Transformation, data: Any) -> Any:
    """Evaluate a transformation without rounding: aggregates on a grid as fractions."""
    value = t.function(t.input.domain.read(data))
    domain = t.output.domain
    element = domain.element if isinstance(domain, Vector) else domain
    aggregate = isinstance(
        t.output.metric, (AbsoluteDistance, L1Distance, L2Distance, LInfinityDistance)
    )
    if not aggregate or not isinstance(element, Number) or element.grid is None:
        return value
    if isinstance(domain, Vector):
        return [int(unit) * element.grid for unit in value]
    return int(value) * element.grid


def holds_stability(t: Transformation, u: Any, v: Any) -> bool:
    """Tell whether a transformation keeps its map on one pair, evaluated exactly."""
    d_in = t.input.metric.distance(u, v)
    if not isinstance(d_in, Fraction):
        return True  # no chain of changes leads from u to v: the map promises nothing
    left, right = exact_output(t, u), exact_output(t, v)
    if isinstance(t.output.metric, L2Distance):
        return bool(t.output.metric.squared(left, right) <= t.map(d_in) ** 2)
    return bool(t.output.metric.distance(left, right) <= t.map(d_in))


Case = Callable[[], tuple[Space, Step]]


def symmetric(domain: Any) -> Space:
    """Return a space under the symmetric distance."""
    return Space(domain, SymmetricDistance())
