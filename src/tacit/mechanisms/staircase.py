"""The staircase mechanism: least noise for a pure guarantee at one sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_integer, positive
from tacit.core import Measurement, PureDP, Space, Step, register
from tacit.core.losses.distribution import PrivacyLossDistribution, dominating_pair, three_losses
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.grid_noise import AggregateGrid, LatticeDistribution

_BITS = 256


@dataclass(frozen=True)
class DiscreteStaircase:
    """``P(X = x)`` is proportional to ``exp(-epsilon n(|x|))``, n(x) the stairs at or below x.

    >>> distribution = DiscreteStaircase(Fraction(1), 3, 1)
    >>> p = [float(distribution.probability(x)) for x in range(4)]
    >>> p[0] > p[1] == p[3]
    True
    """

    # Stairs are at ``step, step + width, step + 2 width, ...``; on each stretch between two the
    # distribution is flat.

    epsilon: Fraction  # the height of a stair, in log probability
    width: int  # from stair to stair, in grid units
    step: int  # where the first one stands, from 1 to width

    @property
    def period(self) -> int:
        """Beyond 0, ``P(x + period) = exp(-epsilon) P(x)``."""
        return self.width

    def stairs(self, x: int) -> int:
        """Return n(|x|)."""
        return (abs(x) + self.width - self.step) // self.width

    def losses(self, shift: int) -> PrivacyLossDistribution | None:
        """Return the privacy losses of the noise against itself, shifted; None beyond the width."""
        # A shift s of at most the width crosses one stair or none, so the losses are epsilon, 0 and
        # -epsilon.  P is at least Q where ``|x| <= |x + s|``, so the total variation is
        # ``P(-s/2 <= X < s/2)``, and it is ``1 - e^-epsilon`` times the mass whose loss is epsilon.
        # Both grow with s: of all shifts up to s in size, s is the worst.
        if shift > self.width:
            return None
        if not shift:
            return dominating_pair(Fraction(0))
        first, last = -(shift // 2), (shift - 1) // 2
        apart = self.cdf(last, _BITS) - self.cdf(first - 1, _BITS)
        up = (apart / (1 - exp(-self.epsilon, _BITS))).rounded(_BITS)
        return three_losses(self.epsilon, up)

    def _total(self, bits: int) -> Enclosure:
        """Enclose the sum of the weights: twice one side, less the zero counted twice."""
        # One side is ``(step + (width - step) r) / (1 - r)`` with ``r = exp(-epsilon)``.
        ratio = exp(-self.epsilon, bits)
        side = (self.step + (self.width - self.step) * ratio) / (1 - ratio)
        return 2 * side - 1

    def probability(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X = k)."""
        extra = bits + 32 + int(1 / self.epsilon).bit_length()
        weight = exp(-self.epsilon * self.stairs(k), bits + 8)
        return (weight / self._total(extra)).rounded(bits)

    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X <= k)."""
        if k >= 0:
            return 1 - self.cdf(-k - 1, bits)
        # Below k: the rest of the flat stretch that holds |k|, then whole stretches.
        extra = bits + 32 + int(1 / self.epsilon).bit_length()
        start = -k
        n = self.stairs(start)
        flat = (self.step + n * self.width) - start
        ratio = exp(-self.epsilon, extra)
        beyond = flat + self.width * ratio / (1 - ratio)
        return (exp(-self.epsilon * n, bits + 8) * beyond / self._total(extra)).rounded(bits)

    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose the variance, by adding up whole stretches until the rest is negligible."""
        radius = self._radius(Fraction(1, 1 << (bits + 8)))
        last = self.stairs(radius)
        total = Enclosure.of(0)
        for n in range(last + 1):
            first = 0 if n == 0 else self.step + (n - 1) * self.width
            after = self.step + n * self.width
            squares = _squares_below(after) - _squares_below(first)
            total = (total + 2 * squares * exp(-self.epsilon * n, bits + 32)).rounded(bits + 32)
        # Stretch n holds squares of at most (n + 1)^2 width^3; the ratio of two next to each other
        # is at most e^-epsilon (1 + 1/n)^2, and n is large here.
        term = 2 * (last + 2) ** 2 * self.width**3 * exp(-self.epsilon * (last + 1), bits).upper
        ratio = exp(-self.epsilon, bits).upper * Fraction(last + 3, last + 2) ** 2
        if ratio >= 1:
            raise UsageError("this staircase is too flat for its variance to be added up")
        scaled = Enclosure(total.lower, total.upper + term / (1 - ratio))
        return (scaled / self._total(bits + 32)).rounded(bits)

    def _radius(self, outside: Fraction) -> int:
        """Return m with P(|X| > m) at most ``outside``: n stairs hold all but about e^(-n eps)."""
        stairs = math.ceil(-log(outside, 32).lower / self.epsilon) + 2
        return stairs * self.width

    def support(self, mass: NumberLike) -> tuple[int, int]:
        """Return the ends of an interval that holds at least ``mass`` of the probability."""
        radius = self._radius((1 - Fraction(mass)) / 2)
        return -radius, radius

    def draw(self) -> int:
        """Draw one Python integer."""
        return int(self.draw_many(1)[0])

    def draw_many(self, size: int) -> np.ndarray[Any, Any]:
        """Draw several, exactly."""
        # |X| is drawn as ``stretch * width + offset``, the stretch geometric, the offset uniform on
        # its low or its high part; then a sign.  A zero with a minus is drawn again, since zero
        # would count twice; whether it is does not depend on what is kept.
        result = np.zeros(size, np.int64)
        todo = np.arange(size)
        while len(todo):
            n = len(todo)
            steps = noise.geometric(1 / self.epsilon, n)
            high = noise.exponential_choice(
                [0, 1], self.epsilon, [self.step, self.width - self.step], size=n
            )
            low_offset = noise.uniform(self.step, n)
            high_offset = self.step + noise.uniform(max(1, self.width - self.step), n)
            offset = np.where(high == 1, high_offset, low_offset)
            size_drawn = steps * self.width + offset
            minus = noise.bernoulli("1/2", n)
            result[todo] = np.where(minus, -size_drawn, size_drawn)
            todo = todo[minus & (size_drawn == 0)]
        return result


def _squares_below(n: int) -> int:
    """Return ``0^2 + 1^2 + ... + (n - 1)^2``."""
    return (n - 1) * n * (2 * n - 1) // 6


def best_step(epsilon: Fraction, width: int) -> int:
    """Return the step with the smallest expected size of the noise.

    >>> best_step(Fraction(1), 1), best_step(Fraction(2), 100)
    (1, 27)
    """
    # The continuous optimum is ``width / (1 + e^(epsilon / 2))`` (Geng and Viswanath 2014, theorem
    # 3); the integers around it are compared.  A choice from public numbers: it moves the
    # error alone, not the guarantee.
    steepness = float(min(epsilon, Fraction(700)))  # what floats hold; beyond, nothing changes
    near = int(width / (1 + math.exp(steepness / 2)))
    candidates = range(max(1, near - 1), min(width, near + 2) + 1)
    return min(candidates, key=lambda step: _expected_size(steepness, width, step))


def _expected_size(epsilon: float, width: int, step: int) -> float:
    """Return E|X| in floats: mean stretch times width plus mean offset, zero counted once."""
    ratio = math.exp(-epsilon)
    low, high = step, (width - step) * ratio
    share = high / (low + high)
    offset = (1 - share) * (step - 1) / 2 + share * (step + (width - step - 1) / 2)
    size = offset + width * ratio / -math.expm1(-epsilon)
    zero = -math.expm1(-epsilon) / (low + high)
    return size / (1 - zero / 2)


@register
@dataclass(frozen=True)
class Staircase(Step):
    """Add discrete staircase noise: the smallest noise for epsilon at a sensitivity of ``width``.

    **Map.** ``d -> epsilon ceil(d / width)`` in pure DP, on a number under the absolute distance.
    The log probability of z on an input v is ``-epsilon n(|z - v|)`` plus a constant that is the
    same for all inputs, since all are on one grid.  ``|z - u|`` and ``|z - v|`` differ by at most
    d; between them are at most ``ceil(d / width)`` stairs, as stairs are width apart.  Tight: from
    ``|z - u| = step - 1`` there are that many stairs within d, if d is whole.

    Source: Geng and Viswanath, "The optimal mechanism in differential privacy", ISIT 2014; Geng,
    Kairouz, Oh, Viswanath, "The staircase mechanism in differential privacy", 2015.

    Args:
        epsilon: the loss at a distance of ``width``; above zero.
        width: the sensitivity that the noise is made for, in the units of the aggregate: a
            multiple of its grid.
        step: where the first stair is, in grid units, from 1 to ``width``; by default where the
            expected size of the noise is least.

    Raises:
        UsageError: an epsilon or width that is not above zero, a step below one.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> from tacit.transformations import Clamp, Sum
        >>> total = Space(Vector(int), SymmetricDistance()) >> Clamp(0, 12) >> Sum()
        >>> m = total >> Staircase(epsilon=2, width=12)
        >>> m.map(1), m.map(2)
        (Fraction(2, 1), Fraction(4, 1))
    """

    epsilon: NumberLike
    width: NumberLike = 1
    step: int | None = None

    name: ClassVar[str] = "staircase"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "width", positive(self.width, "width"))
        if self.step is not None:
            object.__setattr__(self, "step", as_integer(self.step, "step", minimum=1))

    def build(self, space: Space) -> Measurement:
        """Return the mechanism on a number under the absolute distance; its grid has the width."""
        lattice = AggregateGrid.of_number(space, self)
        epsilon, stretch = Fraction(self.epsilon), Fraction(self.width)
        units = stretch / lattice.grid
        if units.denominator != 1 or (self.step or 1) > units or units >= epsilon * (1 << 50):
            raise MismatchError(
                "the width of a staircase is a multiple of the grid of the aggregate, at least the "
                f"step, and below 2^50 epsilon grids; the grid is {lattice.grid}",
                space,
                self,
            )
        width = int(units)
        distribution = DiscreteStaircase(epsilon, width, self.step or best_step(epsilon, width))

        return Measurement(
            space,
            PureDP(),
            lambda value: lattice.numbers(lattice.units(value) + distribution.draw()),
            lambda d: epsilon * math.ceil(d / stretch),
            distribution=lambda value: LatticeDistribution(
                distribution, lattice.units(value), lattice.grid
            ),
            losses=lattice.losses(lambda _, shift: distribution.losses(shift), Fraction(1)),
            step=self,
        )
