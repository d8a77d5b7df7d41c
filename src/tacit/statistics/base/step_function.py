"""A(t) from a list of values and the distance at which each is reached."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.statistics.base.at_distance import AtDistance
from tacit.statistics.samples.sample import Array

__all__ = ["PointsAtDistance"]


class PointsAtDistance(AtDistance):
    """``A(t)``, the largest of the values that are reached within ``t`` steps.

    Args:
        steps: the distance at which each value is reached, at least 0.
        values: the local sensitivities, exact: whole numbers.
        unit: what one of the values stands for.
        exact: whether the values are attained, or only bound what is.

    >>> a = PointsAtDistance(np.array([2, 0, 1]), np.array([7, 3, 1]), Fraction(1, 2))
    >>> [str(a.at(t)) for t in range(4)]
    ['3/2', '3/2', '7/2', '7/2']
    """

    def __init__(
        self, steps: npt.NDArray[np.int64], values: Array, unit: Fraction, exact: bool = True
    ) -> None:
        order = np.argsort(steps, kind="stable")
        self._steps = steps[order]
        self._values = np.maximum.accumulate(values[order])
        self._unit = unit
        self.exact = exact
        self.last = self._last()

    def _last(self) -> int:
        if not len(self._steps):
            return 0
        first = int(np.argmax(self._values == self._values[-1]))
        return int(self._steps[first])

    def at(self, distance: int) -> Fraction:
        """``A(distance)``, exact; 0 where no value is reached."""
        reached = int(np.searchsorted(self._steps, distance, side="right"))
        return int(self._values[reached - 1]) * self._unit if reached else Fraction(0)
