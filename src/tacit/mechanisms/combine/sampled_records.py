"""Records that are in a sample, and a release from a sample stated in approximate DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import Measurement, PureDP
from tacit.errors import MismatchError, UsageError

__all__ = ["kept_records", "number_of_records", "stated_at"]


def number_of_records(data: Any) -> int:
    """Return how many records a column or a table in memory has."""
    return len(next(iter(data.values()))) if isinstance(data, dict) else len(data)


def kept_records(data: Any, kept: Any) -> Any:
    """Return the records of a column or a table where ``kept`` is true, in their order.

    >>> kept_records({"x": [3, 4, 5]}, np.array([True, False, True]))
    {'x': [3, 5]}
    """
    if isinstance(data, dict):
        return {name: kept_records(column, kept) for name, column in data.items()}
    if isinstance(data, np.ndarray):
        return data[kept]
    return [value for value, yes in zip(data, kept.tolist(), strict=True) if yes]


def stated_at(measurement: Measurement, delta: NumberLike | None) -> Callable[[Fraction], Any]:
    """Return the map of a release in another measure, in approximate DP at a delta."""
    if delta is None or measurement.losses is None:
        raise MismatchError(
            f"no amplification is proven here for {measurement.measure}; state the release in pure "
            "or approximate DP first, or give delta= for noise on one number",
            measurement.measure,
            PureDP(),
        )
    level = as_fraction(delta, "delta")
    if not 0 < level < 1:
        raise UsageError(f"a delta is above 0 and below 1, not {show(level)}")
    losses = measurement.losses

    def privacy(d: Fraction) -> tuple[Fraction, Fraction]:
        if not d:
            return Fraction(0), Fraction(0)
        known = losses(d)
        found = math.inf if known is None else known.epsilon(level)
        if not isinstance(found, Enclosure):
            raise UsageError(f"the losses of this release are not known at distance {show(d)}")
        return found.upper, level

    return privacy
