"""Textbook noise on the real line: for teaching, and for nothing else.

No computer draws from these distributions: it holds finitely many numbers, and the pattern of those
that it can hold reveals something of the data.  Tacit draws from their discrete relatives.  The
formulas here work with logarithms, so that an event far in the tails gives what the distribution
gives, and never 0/0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from tacit.calls import public
from tacit.errors import UsageError

__all__ = ["IdealisedGaussian", "IdealisedLaplace"]

_LOG_TWO = math.log(2)


@public
@dataclass(frozen=True)
class _Idealised(ABC):
    centre: float
    scale: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.centre) and math.isfinite(self.scale) and self.scale > 0):
            raise UsageError("a centre is finite, a scale finite and above zero")

    @abstractmethod
    def log_density(self, x: float) -> float:
        """Return the logarithm of the density at x."""

    @abstractmethod
    def _log_below(self, z: float) -> float:
        """Return ln P(X <= z) for the standard distribution."""

    def density(self, x: float) -> float:
        """Return the density at x."""
        return math.exp(self.log_density(x))

    def cdf(self, x: float) -> float:
        """Return the probability of x or less."""
        return math.exp(self._log_below((x - self.centre) / self.scale))

    def log_probability(self, lower: float, upper: float) -> float:
        """Return the logarithm of the probability between two ends, which may be infinite.

        Raises:
            UsageError: ends that are reversed, or equal.
        """
        if not lower < upper:
            raise UsageError("an event on the real line has a lower end below its upper end")
        a, b = (lower - self.centre) / self.scale, (upper - self.centre) / self.scale
        if a > 0:
            a, b = -b, -a  # the distributions are symmetric: look at the side where both are small
        high = self._log_below(b)
        low = self._log_below(a) if a > -math.inf else -math.inf
        return high + math.log1p(-math.exp(low - high)) if low > -math.inf else high

    def divergence(self, other: _Idealised, lower: float, upper: float) -> float:
        """Return ``|ln(P(S) / Q(S))|`` on the event S between two ends."""
        return abs(self.log_probability(lower, upper) - other.log_probability(lower, upper))


@public
class IdealisedLaplace(_Idealised):
    """The Laplace distribution on the real line, idealised.

    Its density is ``exp(-|x - centre| / scale) / (2 scale)``.

    Args:
        centre: the mean.
        scale: above 0; the standard deviation is ``sqrt(2)`` times it.

    Example:
        >>> u, v = IdealisedLaplace(37, 25), IdealisedLaplace(25, 25)
        >>> round(u.divergence(v, 70, 80), 12), round(u.divergence(v, 1e6, 2e6), 9)
        (0.48, 0.48)
    """

    def log_density(self, x: float) -> float:
        """Return the logarithm of the density at x.

        Args:
            x: a number, or an array of them.
        """
        return -abs(x - self.centre) / self.scale - math.log(2 * self.scale)

    def _log_below(self, z: float) -> float:
        return z - _LOG_TWO if z <= 0 else math.log1p(-math.exp(-z) / 2)


@public
class IdealisedGaussian(_Idealised):
    """The normal distribution on the real line, idealised; ``scale`` is its standard deviation.

    Args:
        centre: the mean.
        scale: the standard deviation, above 0.

    Example:
        >>> u, v = IdealisedGaussian(37, 25), IdealisedGaussian(25, 25)
        >>> round(u.divergence(v, 70, 80), 6), round(u.divergence(v, 5000, 6000), 6)
        (0.833688, 95.407215)
    """

    def log_density(self, x: float) -> float:
        """Return the logarithm of the density at x.

        Args:
            x: a number, or an array of them.
        """
        z = (x - self.centre) / self.scale
        return -z * z / 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def _log_below(self, z: float) -> float:
        if z > -8:
            return math.log(math.erfc(-z / math.sqrt(2)) / 2)
        return -z * z / 2 - math.log(math.sqrt(2 * math.pi)) + math.log(_mills(-z))


def _mills(z: float) -> float:
    """Return (1 - Phi(z)) / phi(z) for z >= 8.

    It is the continued fraction 1/(z + 1/(z + 2/(z + 3/(z + ...)))).
    At 60 levels from z = 8 on the rest is below the last bit of a double.
    """
    tail = z
    for level in range(60, 0, -1):
        tail = z + level / tail
    return 1 / tail
