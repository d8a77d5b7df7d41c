"""One answer in each group: a value with its error and its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Estimate"]

Array = NDArray[np.float64]
"""A number in each group."""


@dataclass(frozen=True)
class Estimate:
    """One answer in each group: the value, its standard error, and an interval at 95 percent.

    The standard error and the interval count the noise alone, not the sampling of the people.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array

    def in_a_row(self) -> Estimate:
        """Return the same estimate as several numbers of one group: shape (1, numbers)."""
        parts = self.value, self.standard_error, self.lower, self.upper
        return Estimate(*(part.reshape(1, -1) for part in parts))

    def without_interval(self) -> Estimate:
        """Return the same estimate where no interval is known."""
        unknown = np.full_like(self.value, np.nan)
        return Estimate(self.value, self.standard_error, unknown, unknown)

    def coherent(self) -> Estimate:
        """Return the same estimate with every interval widened to include its value.

        Intervals are cut at impossible values (a count below zero), and values are not: clipped
        values would be too large on average, and their sums wrong.  The *coverage* does not fall,
        as no interval gets smaller.
        """
        lower, upper = np.minimum(self.lower, self.value), np.maximum(self.upper, self.value)
        return Estimate(self.value, self.standard_error, lower, upper)
