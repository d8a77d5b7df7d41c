"""Truncated Laplace noise: the error is certain to be within a radius, at the cost of a delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import positive
from tacit.core import AbsoluteDistance, ApproximateDP, Measurement, Space, Step, Vector, register
from tacit.errors import MismatchError
from tacit.mechanisms.grid_noise import AggregateGrid
from tacit.mechanisms.output_distribution import FiniteDistribution

_BITS = 128


def probability_within(epsilon: Fraction, radius: int, value: int) -> Enclosure:
    """Enclose the probability of one value: ``q^|y| (1 - q) / (1 + q - 2 q^(k + 1))``.

    >>> middle, end = (probability_within(Fraction(1), 1, y) for y in (0, 1))
    >>> round(float(middle + 2 * end), 12)
    1.0
    """
    bits = 160 + 2 * max(0, (1 / epsilon).__ceil__().bit_length())
    q = exp(-epsilon, bits)
    total = (1 - q) / (1 + q - 2 * exp(-epsilon * (radius + 1), bits))
    return (total * exp(-epsilon * abs(value), bits)).rounded(bits)


def draw_within(scale: Fraction, radius: NDArray[Any]) -> NDArray[Any]:
    """Draw discrete Laplace noise on ``-k`` to ``k`` for each radius k, exactly."""
    # A geometric number modulo ``k + 1`` has the geometric distribution on 0 to k.  With a fair
    # sign it is the noise, where a zero with a minus is drawn again: it would count twice.
    drawn = np.zeros(len(radius), dtype=object)
    left = np.arange(len(radius))
    while len(left):
        size = noise.geometric(scale, len(left)).astype(object) % (radius[left] + 1)
        below = noise.bernoulli(Fraction(1, 2), len(left))
        drawn[left] = np.where(below, -size, size)
        left = left[below & (size == 0)]
    return drawn


@dataclass(frozen=True)
class TruncatedDiscreteLaplace:
    """``P(Y = y)`` is proportional to ``exp(-|y| / scale)`` from ``-radius`` to ``radius``.

    >>> noise_distribution = TruncatedDiscreteLaplace(Fraction(2), 3)
    >>> sum(float(noise_distribution.probability(y)) for y in range(-3, 4))
    1.0
    >>> float(noise_distribution.tail(-3)), float(noise_distribution.tail(4))
    (1.0, 0.0)
    """

    # With ``q = exp(-1 / scale)`` and the radius k, the weights ``q^|y|`` add up to
    # ``(1 + q - 2 q^(k + 1)) / (1 - q)``, and those from j > 0 on to
    # ``(q^j - q^(k + 1)) / (1 - q)``.

    scale: Fraction  # in grid units
    radius: int  # in grid units

    def _power(self, n: int) -> Enclosure:
        """Enclose ``q^n``."""
        # 1 - q is about ``1 / scale``: its first bits cancel, and are computed in addition.
        return exp(-n / self.scale, _BITS + 2 * math.ceil(self.scale).bit_length())

    def probability(self, y: int) -> Enclosure:
        """Enclose P(Y = y)."""
        if abs(y) > self.radius:
            return Enclosure.of(0)
        return probability_within(1 / self.scale, self.radius, y).rounded(_BITS)

    def tail(self, first: int) -> Enclosure:
        """Enclose P(Y >= first)."""
        if first <= -self.radius:
            return Enclosure.of(1)
        if first > self.radius:
            return Enclosure.of(0)
        if first <= 0:
            return 1 - self.tail(1 - first)
        total = 1 + self._power(1) - 2 * self._power(self.radius + 1)
        return ((self._power(first) - self._power(self.radius + 1)) / total).rounded(_BITS)

    def draw(self) -> int:
        """Draw one Python integer, exactly."""
        return int(draw_within(self.scale, np.array([self.radius], dtype=object))[0])


@register
@dataclass(frozen=True)
class TruncatedLaplace(Step):
    """Add discrete Laplace noise truncated to a radius: the answer is never farther off than that.

    **Map.** ``d -> (d / scale, P(Y > radius - d))`` in approximate DP, on a number under the
    absolute distance, for the noise Y of that scale and radius.  For inputs u and ``v = u + d`` on
    the grid, an output z within the radius of both has ``P(z | v) / P(z | u) =
    exp((|z - u| - |z - v|) / scale)``, at most ``exp(d / scale)`` by the triangle inequality: the
    normalising sum is the same for both.  The outputs of v that u cannot have are those above
    ``u + radius``, and they have the probability ``P(Y > radius - d)``; by symmetry so have those
    of u that v cannot have.  Tight: those outputs alone attain this delta at ``d / scale``, since
    all that both can have adds nothing there.  Delta is computed in an enclosure, whose upper end
    counts.

    Source: Geng, Ding, Guo, Kumar, "Tight analysis of privacy and utility tradeoff in approximate
    differential privacy", AISTATS 2020 (continuous noise).

    Args:
        scale: in the units of the aggregate; above zero.
        radius: the largest error, in the units of the aggregate: above zero, and a multiple of its
            grid.  For a delta at a distance of d it is about ``scale ln(d / (2 scale delta))``.

    Raises:
        UsageError: a scale or a radius that is not above zero.

    Example:
        >>> from tacit.core import SymmetricDistance
        >>> from tacit.transformations import Count
        >>> people = Space(Vector(str), SymmetricDistance()) >> Count()
        >>> m = people >> TruncatedLaplace(scale=1, radius=20)
        >>> m.map(1)[0], float(m.map(1)[1]), 0 <= m(["a"] * 20) <= 40
        (Fraction(1, 1), 9.5...e-10, True)
    """

    scale: NumberLike
    radius: NumberLike

    name: ClassVar[str] = "truncated_laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "radius", positive(self.radius, "radius"))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a number under the absolute distance; its grid has the radius."""
        if isinstance(space.domain, Vector) or not isinstance(space.metric, AbsoluteDistance):
            raise self.mismatch(
                space,
                f"needs a number under the absolute distance, not ({space}); chain a "
                "statistic such as count() before it",
            )
        lattice = AggregateGrid.of(space, self, None)
        scale, radius = Fraction(self.scale), Fraction(self.radius) / lattice.grid
        if radius.denominator != 1:
            raise MismatchError(
                f"the radius must be a multiple of the grid of the aggregate, {lattice.grid}",
                space,
                self,
            )
        k = int(radius)
        added = TruncatedDiscreteLaplace(scale / lattice.grid, k)

        def loss(d: Fraction) -> tuple[Fraction, Fraction]:
            # Two numbers on the grid within d are at most this many units apart.
            moved = math.floor(d / lattice.grid)
            return d / scale, min(Fraction(1), added.tail(k - moved + 1).upper)

        def distribution(value: Any) -> FiniteDistribution:
            units = lattice.units(value)
            return FiniteDistribution.of(
                {lattice.numbers(units + y): added.probability(y) for y in range(-k, k + 1)}
            )

        return Measurement(
            space,
            ApproximateDP(),
            lambda value: lattice.numbers(lattice.units(value) + added.draw()),
            loss,
            distribution=distribution,
            step=self,
        )
