"""The discrete Laplace mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit import noise
from tacit.core import (
    L1Distance,
    Measurement,
    PureDP,
    Space,
    register,
)
from tacit.core.losses.additive_noise import LaplaceShift
from tacit.errors import MismatchError
from tacit.mechanisms.additive.base import Additive
from tacit.mechanisms.shared.grid_noise import Lattice

__all__ = ["Geometric", "Laplace"]


@register
@dataclass(frozen=True)
class Laplace(Additive):
    """Add discrete Laplace noise: ``P(x) proportional to exp(-|x| / scale)`` on the grid.

    **Map.** ``d -> d / scale`` in pure DP, on a number under the absolute distance or a vector
    under L1.  For outputs z and inputs u, v (per coordinate, on the grid):
    ``P(z | u) / P(z | v) = exp((|z - v| - |z - u|) / scale) <= exp(|u - v| / scale)`` by the
    triangle inequality, and the normalising sum over the grid is the same for u and v because they
    are on it.  Coordinates multiply, distances add.  Attained at any z on the far side of u.
    Floats that are on no grid are rounded to ``grid`` first, and the map becomes
    ``(d + n grid) / scale``.

    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; discrete: Ghosh, Roughgarden, Sundararajan,
    STOC 2009.

    Args:
        scale: in the units of the aggregate; above zero.
        grid: only for floats that are on no grid.

    Raises:
        UsageError: a scale or grid that is not above zero.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> from tacit.transformations import Clamp, Sum
        >>> column = Space(Vector(float), SymmetricDistance())
        >>> m = column >> Clamp(0, 12) >> Sum() >> Laplace(scale=25)
        >>> m.map(1), m.check(1, "12/25")
        (Fraction(12, 25), True)
    """

    name: ClassVar[str] = "laplace"

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a number or a vector.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: a metric other than the absolute or the L1 distance, or no numbers.
        """
        lattice = self._lattice(space, L1Distance, "L1")
        scale = Fraction(self.scale)
        law = noise.DiscreteLaplace(scale / lattice.grid)
        return self._release(lattice, PureDP(), law, LaplaceShift, lambda d: d / scale)


@register
@dataclass(frozen=True)
class Geometric(Laplace):
    """The two-sided geometric mechanism: :class:`Laplace` on whole numbers.

    Args:
        scale: in the units of the aggregate; above zero.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> from tacit.transformations import Count
        >>> people = Space(Vector(str), SymmetricDistance()) >> Count()
        >>> (people >> Geometric(scale=2)).map(1)
        Fraction(1, 2)
    """

    name: ClassVar[str] = "geometric"

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a whole number or a vector of them.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: the aggregate is not made of whole numbers.
        """
        lattice = Lattice.of(space, self, None)
        if lattice.grid != 1:
            raise MismatchError(
                "geometric noise is for whole numbers; use laplace for others", space, self
            )
        return super().build(space)
