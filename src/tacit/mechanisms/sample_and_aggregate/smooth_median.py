"""The median of the answers of bins, with noise scaled to its smooth sensitivity over the bins.

The ``k`` answers are a data set of public size, of which ``d`` are exchanged: the smooth
sensitivity is the one under exchange, and
:class:`~tacit.mechanisms.smooth.smooth_noise.SmoothNoise` proves the loss, counting the rate of the
smoothness and the slack of its computation.  Source: Nissim, Raskhodnikova and Smith 2007, who take
another centre where there are no bounds; within bounds the median is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.core import Measure
from tacit.mechanisms.sample_and_aggregate.aggregators import Centre
from tacit.mechanisms.smooth.smooth_noise import SmoothRelease, smooth_noise

__all__ = ["SmoothMedianOfBins"]


@dataclass(frozen=True)
class SmoothMedianOfBins(Centre):
    """The median with Laplace noise for ``(epsilon, delta)``, or Student noise for epsilon alone.

    Attributes:
        delta: None for pure DP.
    """

    delta: Fraction | None = None

    @cached_property
    def _inner(self) -> SmoothRelease:
        ends = (self.where.least * self.where.grid, self.where.most * self.where.grid)
        return smooth_noise(
            "median",
            ends,
            self.epsilon,
            self.delta,
            distribution="student_t" if self.delta is None else "laplace",
            relation="bounded",
            grid=self.where.grid,
        )

    @property
    def measure(self) -> Measure:
        """Pure DP, or approximate DP where there is a delta."""
        return self._inner.measure

    def loss(self, changed: Fraction) -> Any:
        """Return the loss when at most ``changed`` values are exchanged."""
        return self._inner.map(changed)

    def release(self, units: Sequence[int]) -> float:
        """Release the median."""
        released: Any = self._inner(self._values(units))
        return float(released)

    def law(self, units: Sequence[int]) -> Any:
        """Return the distribution on the grid between the ends."""
        return self._inner.distribution(self._values(units))

    def mean_error(self, units: Sequence[int], truth: float) -> float:
        """Return the mean over the noise."""
        local = self._inner.local
        records = self._inner.input.domain.read(self._values(units))
        return self._inner.error_on(local.read(records), truth)

    def _values(self, units: Sequence[int]) -> list[float]:
        return [float(unit * self.where.grid) for unit in units]
