"""The map of a release in pairs of epsilon and delta, for what is made of it and proven so."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, show
from tacit.core import ApproximateDP, Measurement, PureDP
from tacit.errors import MismatchError, UsageError

__all__ = ["PairMap", "stated_at"]

PairMap = Callable[[Fraction], tuple[Fraction, Fraction]]


def stated_at(
    measurement: Measurement, delta: NumberLike | None
) -> tuple[PureDP | ApproximateDP, PairMap]:
    """Return the measure in which what is made of a release is stated, and the map of the release.

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
            f"nothing is proven here for {measurement.measure}; state the release in pure "
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
