"""The contracts: what every step must keep, and the cases that each registered step is held to."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.core import Space, Step, SymmetricDistance, Transformation

__all__ = ["holds_stability", "neighbours_of"]


def edit(rows: list[Any], space: Space, source: random.Random) -> list[Any]:
    """Return a data set near another: rows added, removed, changed or moved."""
    changed = list(rows)
    for _ in range(source.randint(0, 3)):
        choice = source.random()
        place = source.randrange(len(changed) + 1)
        if choice < 0.35 and space.domain.size is None:
            changed.insert(place, space.domain.element.sample(source))
        elif choice < 0.6 and space.domain.size is None and changed:
            changed.pop(place % len(changed))
        elif choice < 0.9 and changed:
            changed[place % len(changed)] = space.domain.element.sample(source)
        else:
            source.shuffle(changed)
    return changed


def neighbours_of(space: Space, seed: int) -> tuple[Any, Any]:
    """Draw a pair of members of a space of columns."""
    source = random.Random(seed)
    u = space.domain.sample(source)
    return u, edit(list(u), space, source)


def holds_stability(t: Transformation, u: Any, v: Any) -> bool:
    """Tell whether a transformation keeps its map on one pair, evaluated exactly."""
    d_in = t.input.metric.distance(u, v)
    if not isinstance(d_in, Fraction):
        return True  # no chain of changes leads from u to v: the map promises nothing
    d_out = t.output.metric.distance(t(u), t(v))
    # Presented values are floats: rounding to a double may widen a gap by one part in 2^50.
    slack = Fraction(0) if t.output.metric.counts_records else Fraction(1, 2**40)
    return bool(d_out <= t.map(d_in) + slack)


Case = Callable[[], tuple[Space, Step]]


def symmetric(domain: Any) -> Space:
    """Return a space under the symmetric distance."""
    return Space(domain, SymmetricDistance())
