"""The discrete Gaussian mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit import noise
from tacit.core import (
    L2Distance,
    Measurement,
    Space,
    ZeroConcentratedDP,
    register,
)
from tacit.core.losses.additive_noise import GaussianShift
from tacit.mechanisms.additive.base import Additive

__all__ = ["Gaussian"]


@register
@dataclass(frozen=True)
class Gaussian(Additive):
    """Add discrete Gaussian noise: ``P(x) proportional to exp(-x^2 / (2 scale^2))`` on the grid.

    **Map.** ``d -> d^2 / (2 scale^2)`` in zCDP, on a number under the absolute distance or a vector
    under L2.  Inputs on one grid differ by a whole shift s in each coordinate; writing
    ``w(x) = exp(-x^2 / (2 sigma^2))`` and Z for its sum over the integers, the Renyi divergence of
    order a between the distribution shifted by s and the distribution itself is

        ``ln(sum_x w(x - s)^a w(x)^(1 - a) / Z) / (a - 1)
        = a s^2 / (2 sigma^2) + ln(sum_x w(x - a s) / Z) / (a - 1)``,

    and ``sum_x w(x - t) <= sum_x w(x)`` for every real t (Poisson summation: the Fourier
    coefficients of the left side are those of the right times a phase, and they are positive).  So
    D_a <= a s^2 / (2 sigma^2); coordinates add.  Source: Canonne, Kamath, Steinke, "The discrete
    Gaussian for differential privacy", NeurIPS 2020.

    Args:
        scale: sigma, in the units of the aggregate; above zero.  (The standard deviation of the
            noise is at most sigma.)
        grid: only for floats that are on no grid.

    Raises:
        UsageError: a scale or grid that is not above zero.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> from tacit.transformations import Count
        >>> people = Space(Vector(str), SymmetricDistance()) >> Count()
        >>> (people >> Gaussian(scale=10)).map(1)
        Fraction(1, 200)
    """

    name: ClassVar[str] = "gaussian"

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a number or a vector.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: a metric other than the absolute or the L2 distance, or no numbers.
        """
        lattice = self._lattice(space, L2Distance, "L2")
        scale = Fraction(self.scale)
        law = noise.DiscreteGaussian(scale / lattice.grid)
        return self._release(
            lattice, ZeroConcentratedDP(), law, GaussianShift, lambda d: (d / scale) ** 2 / 2
        )
