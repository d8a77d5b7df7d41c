"""The geometric mechanism with bounds: noise first, then clamped to a public range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction, positive
from tacit.core import AbsoluteDistance, Measurement, PureDP, Space, Step, Vector, register
from tacit.core.losses.additive_noise import LaplaceShift
from tacit.core.spaces.witness import Witness
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.shared.grid_noise import Lattice

__all__ = ["ClampedDistribution", "TruncatedGeometric"]

_NONE = Enclosure(Fraction(0), Fraction(0))


@register
@dataclass(frozen=True)
class TruncatedGeometric(Step):
    """Add two-sided geometric noise, and clamp the answer to ``[lower, upper]``.

    The input is clamped to the bounds first, so both the data and the answer stay inside.

    **Map.** ``d -> min(d, upper - lower) / scale`` in pure DP, on a number under the absolute
    distance.  Clamping the input moves two inputs no further apart, and never further than
    ``upper - lower``; then the loss is that of :class:`~tacit.mechanisms.Laplace`, which no
    function of the answer makes larger.  Tight: with ``q = exp(-1 / scale)`` the answer ``lower``
    has probability ``q^(v - lower) / (1 + q)`` on an input v above lower, and on lower itself
    ``1 / (1 + q)``; the ratio is ``q^-d``.  Clamping joins only answers beyond both inputs, whose
    privacy loss is the same; so the losses are those of :class:`~tacit.mechanisms.Laplace`.

    Source: Ghosh, Roughgarden, Sundararajan, STOC 2009 (the range-restricted geometric mechanism).

    Args:
        lower, upper: the bounds, multiples of the grid of the aggregate (whole numbers for counts).
        scale: in the units of the aggregate; above zero.

    Raises:
        UsageError: bounds that are not numbers or reversed, a scale that is not above zero.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> from tacit.transformations import Count
        >>> people = Space(Vector(str), SymmetricDistance()) >> Count()
        >>> m = people >> TruncatedGeometric(0, 5, scale=2)
        >>> m.map(1), m.map(100), 0 <= m(["a", "b"]) <= 5
        (Fraction(1, 2), Fraction(5, 2), True)
    """

    lower: NumberLike
    upper: NumberLike
    scale: NumberLike

    name: ClassVar[str] = "truncated_geometric"

    def __post_init__(self) -> None:
        for bound in ("lower", "upper"):
            object.__setattr__(self, bound, as_fraction(getattr(self, bound), f"{bound} bound"))
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if Fraction(self.lower) > Fraction(self.upper):
            raise UsageError("the bounds are reversed; swap them")

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a number.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no number under the absolute distance, or bounds that are off its grid.
        """
        if isinstance(space.domain, Vector) or not isinstance(space.metric, AbsoluteDistance):
            raise MismatchError(
                f"{self.name} needs a number under the absolute distance, not ({space}); chain a "
                "statistic such as count() before it",
                space,
                self,
            )
        lattice = Lattice.of(space, self, None)
        low, high = (Fraction(b) / lattice.grid for b in (self.lower, self.upper))
        if low.denominator != 1 or high.denominator != 1:
            raise MismatchError(
                f"the bounds must be multiples of the grid of the aggregate, {lattice.grid}",
                space,
                self,
            )
        first, last = int(low), int(high)
        scale = Fraction(self.scale)
        law = noise.DiscreteLaplace(scale / lattice.grid)
        width = (last - first) * lattice.grid

        def clamp(units: int) -> int:
            return min(max(units, first), last)

        def distribution(value: Any) -> ClampedDistribution:
            return ClampedDistribution(law, clamp(lattice.units(value)), first, last, lattice.grid)

        return Measurement(
            space,
            PureDP(),
            lambda value: lattice.numbers(clamp(clamp(lattice.units(value)) + law.draw())),
            lambda d: min(d, width) / scale,
            distribution=distribution,
            losses=lattice.losses(LaplaceShift, scale / lattice.grid, (first, last)),
            step=self,
            witness=Witness.of([(low, high)]),  # two numbers between the bounds
        )


@dataclass(frozen=True)
class ClampedDistribution:
    """A number plus discrete noise, clamped: all mass outside sits on the two ends.

    Args:
        law: of the noise, in grid units.
        centre, lowest, highest: in grid units.
        grid: the unit.
    """

    law: Any
    centre: int
    lowest: int
    highest: int
    grid: Fraction

    def probability(self, value: NumberLike) -> Enclosure:
        """Return an enclosure of the probability of exactly this value."""
        units = as_fraction(value) / self.grid
        if units.denominator != 1 or not self.lowest <= units <= self.highest:
            return _NONE
        return self.of_unit(int(units))

    def of_unit(self, unit: int) -> Enclosure:
        """Return the probability of a whole number of grid units within the bounds."""
        offset = unit - self.centre
        if self.lowest == self.highest:
            return Enclosure.of(1)
        # By symmetry the upper tail is P(X <= -offset): small tails keep their relative precision.
        tail = {self.lowest: offset, self.highest: -offset}.get(unit)
        found: Enclosure = self.law.probability(offset) if tail is None else self.law.cdf(tail)
        return found

    def cdf(self, value: NumberLike) -> Enclosure:
        """Return an enclosure of the probability of this value or less."""
        units = math.floor(as_fraction(value) / self.grid)
        if units < self.lowest:
            return _NONE
        if units >= self.highest:
            return Enclosure.of(1)
        found: Enclosure = self.law.cdf(units - self.centre)
        return found

    def support(self, mass: NumberLike = "0.999") -> tuple[float, float]:
        """Return the ends of an interval that holds at least this probability."""
        low, high = self.law.support(as_fraction(mass, "mass"))
        ends = (max(self.centre + low, self.lowest), min(self.centre + high, self.highest))
        return float(ends[0] * self.grid), float(ends[1] * self.grid)
