"""A measure of privacy loss from its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.core.measures.measure import (
    ApproximateDP,
    ApproximateZeroConcentratedDP,
    Measure,
    PureDP,
    ZeroConcentratedDP,
)
from tacit.core.measures.renyi_measures import RenyiCurve, RenyiDP
from tacit.errors import UsageError

__all__ = ["measure_from"]


def measure_from(description: Mapping[str, Any]) -> Measure:
    """Build a measure from its description.

    Raises:
        UsageError: no measure of that name.

    >>> print(measure_from({"measure": "RenyiDP", "alpha": "5/2"}))
    Renyi DP of order 2.5
    """
    every: tuple[type[Measure], ...] = (
        PureDP,
        ApproximateDP,
        ZeroConcentratedDP,
        ApproximateZeroConcentratedDP,
        RenyiDP,
        RenyiCurve,
    )
    kinds: dict[str, type[Measure]] = {kind.__name__: kind for kind in every}
    given = dict(description)
    name = str(given.pop("measure", ""))
    if name not in kinds:
        raise UsageError(f"no measure is called {name!r}; known: {', '.join(kinds)}")
    return kinds[name](**given)
