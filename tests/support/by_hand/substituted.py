"""Sensitivities at a distance by substitution, over every release of the same size."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any


def by_definition(statistic: Any, data: list[int], values: list[int], steps: int) -> Fraction:
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
