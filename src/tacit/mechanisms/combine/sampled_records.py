"""What releases from samples share: which records are kept, and how the loss shrinks."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import ApproximateDP, Measurement, PureDP
from tacit.errors import MismatchError, UsageError

__all__ = ["PairMap", "amplified", "kept_records", "number_of_records", "stated_at"]

PairMap = Callable[[Fraction], tuple[Fraction, Fraction]]


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


def stated_at(
    measurement: Measurement, delta: NumberLike | None
) -> tuple[PureDP | ApproximateDP, PairMap]:
    """Return the measure in which a release from a sample is stated, and the map before sampling.

    Args:
        measurement: in pure or approximate DP, which stays; or in another measure.
        delta: at which the losses of a release in another measure are stated in approximate DP.

    Returns:
        The measure, and a map from distances to pairs of epsilon and delta; pure DP has a delta of
        zero.
    """
    privacy: Any
    measure, privacy = measurement.measure, measurement.privacy
    if isinstance(measure, ApproximateDP):
        return measure, privacy
    if isinstance(measure, PureDP):
        return measure, lambda d: (privacy(d), Fraction(0))
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

    def pair(d: Fraction) -> tuple[Fraction, Fraction]:
        if not d:
            return Fraction(0), Fraction(0)
        known = losses(d)
        found = math.inf if known is None else known.epsilon(level)
        if not isinstance(found, Enclosure):
            raise UsageError(f"the losses of this release are not known at distance {show(d)}")
        return found.upper, level

    return ApproximateDP(), pair


def amplified(epsilon: Fraction, delta: Fraction, share: Fraction) -> tuple[Fraction, Fraction]:
    """Return ``ln(1 + share (e^epsilon - 1))`` and ``share delta``; logarithms are rounded up.

    >>> amplified(Fraction(1), Fraction(1, 10), Fraction(1)), amplified(Fraction(0), Fraction(1), 0)
    ((Fraction(1, 1), Fraction(1, 10)), (Fraction(0, 1), Fraction(0, 1)))
    """
    if not 0 < share < 1:
        return share * epsilon, share * delta
    grown = log(1 + share * (exp(epsilon, 96) - 1), 96).rounded(80).upper
    return min(epsilon, grown), share * delta
