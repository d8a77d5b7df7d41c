"""The estimate of one number, with its error."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.calls import public
from tacit.local.base.estimate import quantile

__all__ = ["MeanEstimate"]


@public
@dataclass(frozen=True)
class MeanEstimate:
    """An unbiased estimate of a mean.

    Attributes:
        mean: the estimate; not clipped, so it may lie a little outside the bounds.
        n: how many reports.
        standard_error: the greatest standard deviation that the mechanism can have had, whatever
            the answers were.

    Example:
        >>> e = MeanEstimate(3.0, 100, 0.5)
        >>> [round(end, 2) for end in e.interval(0.95)]
        [2.02, 3.98]
    """

    mean: float
    n: int
    standard_error: float

    def interval(self, level: object = 0.95) -> tuple[float, float]:
        """Return ends that hold the true mean with probability at least ``level``.

        Args:
            level: the probability that an interval holds, between 0 and 1.

        Raises:
            UsageError: a level outside 0..1.
        """
        half = quantile(level) * self.standard_error
        return self.mean - half, self.mean + half
