"""Laplace, Gaussian, truncated geometric and truncated Laplace noise added to aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import noise
from tacit.arithmetic.enclosure import Enclosure, exp, log, sqrt
from tacit.arithmetic.exact import Number, as_fraction, positive
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.roots_and_bisection import narrowed
from tacit.core import (
    AbsoluteDistance,
    ApproximateDP,
    L1Distance,
    L2Distance,
    Measure,
    Measurement,
    Metric,
    PureDP,
    Space,
    Step,
    ZeroConcentratedDP,
    register,
)
from tacit.core.losses.additive_noise import GaussianShift, LaplaceShift
from tacit.core.measures import concentrated_epsilon
from tacit.core.metrics import Witness
from tacit.errors import MismatchError, UsageError
from tacit.mechanisms.grid_noise import CHAIN_STATISTIC, AggregateGrid
from tacit.mechanisms.output_distribution import FiniteDistribution
from tacit.noise import NoiseDistribution


@dataclass(frozen=True)
class Additive(Step):
    """Independent noise of a scale on whole grid units; each mechanism adds the map.

    Args:
        scale: in the units of the aggregate; above zero.
        grid: only for floats that are on no grid.

    Raises:
        UsageError: a scale or grid that is not above zero.
    """

    scale: Number
    grid: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        if self.grid is not None:
            object.__setattr__(self, "grid", positive(self.grid, "grid"))

    def _lattice(self, space: Space, norm: type[Metric], named: str) -> AggregateGrid:
        """Return the grid of a number, or of a vector under a norm."""
        if not isinstance(space.metric, (AbsoluteDistance, norm)):
            raise self.mismatch(
                space,
                f"needs an aggregate under the absolute or the {named} distance, not "
                f"under {space.metric}; chain a statistic such as sum() or count() before it",
            )
        return AggregateGrid.of(space, self, self.grid)  # type: ignore[arg-type]

    def _release(
        self,
        lattice: AggregateGrid,
        measure: Measure,
        noise_distribution: NoiseDistribution,
        shift: Any,
        loss: Callable[[Fraction], Fraction],
    ) -> Measurement:
        """Return the release of an aggregate plus noise."""

        def draw(size: int | None) -> Any:
            return noise_distribution.draw() if size is None else noise_distribution.draw_many(size)

        return Measurement(
            lattice.space,
            measure,
            lambda value: lattice.add(draw, value),
            lambda d: loss(d + lattice.charge) if d else Fraction(0),
            distribution=lambda value: lattice.distribution(noise_distribution, value),
            losses=lattice.losses(shift, Fraction(self.scale) / lattice.grid),
            step=self,
        )


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
        """Return the mechanism on a number, or on a vector under the L1 distance."""
        lattice = self._lattice(space, L1Distance, "L1")
        scale = Fraction(self.scale)
        noise_distribution = noise.DiscreteLaplace(scale / lattice.grid)
        return self._release(
            lattice, PureDP(), noise_distribution, LaplaceShift, lambda d: d / scale
        )


@register
@dataclass(frozen=True)
class Geometric(Laplace):
    """The two-sided geometric mechanism: :class:`Laplace` on integers.

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
        """Return the mechanism on an integer or a vector of them."""
        lattice = AggregateGrid.of(space, self, None)
        if lattice.grid != 1:
            raise self.mismatch(space, "noise is for whole numbers; use laplace for others")
        return super().build(space)


# The smallest Gaussian noise for epsilon at delta.
#
# On one number the exact privacy profile of the discrete distribution decides
# (:class:`~tacit.core.losses.additive_noise.GaussianShift`): with inputs s units apart and k the
# first integer above ``epsilon sigma^2 / s + s / 2``,
# ``delta = P(X >= k - s) - e^epsilon P(X >= k)``.
# Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
# theorem 7; the continuous case: Balle and Wang, ICML 2018, theorem 8.


# Below this sigma, in units of the grid, the discrete profile is searched, not the continuous.
_SMALL = 100.0


def min_sigma(shift: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a sigma, in units, certified by the exact profile and least to about a relative 1e-10.

    >>> float(min_sigma(1, Fraction(1), Fraction(1, 10**6)))
    4.2307...
    """
    # The search is made in doubles (on the continuous profile where sigma is large); what it finds
    # is certified, and widened where it must be.
    target = float(delta)
    sigma = shift * continuous_sigma(epsilon, delta)
    if sigma < _SMALL:
        sigma = _bisect(lambda s: _discrete(s, shift, float(epsilon)) <= target)
    growth = 2.0**-40
    while True:
        chosen = _short(sigma * (1 + growth))
        if GaussianShift(chosen, shift).delta(epsilon).upper <= delta:
            return chosen
        growth *= 16


def _short(value: float) -> Fraction:
    """Return a double rounded up to 44 binary digits: short numbers are quick to compute with."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.ceil(mantissa * (1 << 44)), 1 << 44) * Fraction(2) ** exponent


def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, nearly, that the conversion of zCDP allows at epsilon and delta.

    >>> rho = largest_rho(Fraction(1), Fraction(1, 10**6))
    >>> concentrated_epsilon(rho, Fraction(1, 10**6)) <= 1
    True
    """
    # For every order a the conversion (see
    # :func:`~tacit.core.measures.concentrated_epsilon`) is
    # ``epsilon = a rho + ln((a - 1) / a) - (ln a + ln delta) / (a - 1)``; solved for rho, the best
    # order is looked for in doubles, and rho at that order is then enclosed and rounded down.
    e, log_delta = float(epsilon), math.log(delta.numerator) - math.log(delta.denominator)

    def rho_at(t: float) -> float:
        above = math.exp(t)
        log_order = math.log1p(above)
        return (e - (t - log_order) + (log_order + log_delta) / above) / (1 + above)

    low, high = -20.0, 40.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(90):
        step = golden * (high - low)
        if rho_at(high - step) >= rho_at(low + step):
            high = low + step
        else:
            low = high - step
    above = Fraction(math.exp((low + high) / 2))
    order = 1 + above
    enclosed = (
        epsilon - log(above / order, 96) + (log(order, 96) + log(delta, 96)) / above
    ) / order
    rho = enclosed.rounded(64).lower
    while rho > 0 and concentrated_epsilon(rho, delta) > epsilon:
        rho *= 1 - Fraction(1, 1 << 30)
    return max(Fraction(0), rho)


def continuous_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the smallest sigma of continuous Gaussian noise at sensitivity one.

    >>> round(continuous_sigma(Fraction(1), Fraction(1, 10**6)), 4)
    4.2247
    """
    return _bisect(lambda ratio: _continuous(ratio, float(epsilon)) <= float(delta))


def _continuous(sigma: float, epsilon: float) -> float:
    """Return delta of continuous Gaussian noise at sensitivity one (Balle and Wang 2018)."""
    near = epsilon * sigma - 1 / (2 * sigma)
    far = epsilon * sigma + 1 / (2 * sigma)
    tail = math.erfc(near / math.sqrt(2)) / 2
    far_tail = math.erfc(far / math.sqrt(2)) / 2
    return tail - math.exp(min(epsilon, 700.0)) * far_tail


def _discrete(sigma: float, shift: int, epsilon: float) -> float:
    """Return delta of the discrete distribution in doubles, by adding up its terms."""
    first = math.floor(epsilon * sigma * sigma / shift + shift / 2) + 1
    radius = int(40 * sigma) + abs(first) + shift + 2
    z = np.arange(-radius, radius + 1)
    weights = np.exp(-(z.astype(np.float64) ** 2) / (2 * sigma * sigma))
    near = float(weights[z >= first - shift].sum())
    far = float(weights[z >= first].sum())
    return (near - math.exp(min(epsilon, 700.0)) * far) / float(weights.sum())


def _bisect(enough: Callable[[float], bool]) -> float:
    """Return nearly the least positive double at which a rising test holds."""
    low = high = 1.0
    while not enough(high) and high < 1e300:
        low, high = high, 2 * high
    while enough(low) and low > 1e-6:
        low, high = low / 2, low
    return narrowed(enough, high, low, 52)[0]


def min_scale(rho_at_one: Fraction, rho: Fraction) -> Fraction:
    """Return the square root of ``rho_at_one / rho``, rounded up: losses fall with its square.

    >>> min_scale(Fraction(1, 2), Fraction(1, 8))
    Fraction(2, 1)
    """
    return sqrt(rho_at_one / rho, 64).upper


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
        """Return the mechanism on a number, or on a vector under the L2 distance."""
        lattice = self._lattice(space, L2Distance, "L2")
        scale = Fraction(self.scale)
        noise_distribution = noise.DiscreteGaussian(scale / lattice.grid)
        return self._release(
            lattice,
            ZeroConcentratedDP(),
            noise_distribution,
            GaussianShift,
            lambda d: (d / scale) ** 2 / 2,
        )


# The geometric mechanism with bounds: noise first, then clamped to a public range.


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
        lower, upper: the bounds, multiples of the grid of the aggregate (integers for counts).
        scale: in the units of the aggregate; above zero.

    Raises:
        UsageError: bounds that are not numbers or reversed, a scale that is not above zero.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
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
        """Return the mechanism on a number under the absolute distance; its grid has the bounds."""
        lattice = AggregateGrid.of_number(space, self, CHAIN_STATISTIC)
        low, high = (Fraction(b) / lattice.grid for b in (self.lower, self.upper))
        if low.denominator != 1 or high.denominator != 1:
            raise MismatchError(
                f"the bounds must be multiples of the grid of the aggregate, {lattice.grid}",
                space,
                self,
            )
        first, last = int(low), int(high)
        scale = Fraction(self.scale)
        noise_distribution = noise.DiscreteLaplace(scale / lattice.grid)
        width = (last - first) * lattice.grid

        def clamp(units: int) -> int:
            return min(max(units, first), last)

        def distribution(value: Any) -> ClampedDistribution:
            return ClampedDistribution(
                noise_distribution, clamp(lattice.units(value)), first, last, lattice.grid
            )

        return Measurement(
            space,
            PureDP(),
            lambda value: lattice.numbers(
                clamp(clamp(lattice.units(value)) + noise_distribution.draw())
            ),
            lambda d: min(d, width) / scale,
            distribution=distribution,
            losses=lattice.losses(LaplaceShift, scale / lattice.grid, (first, last)),
            step=self,
            witness=Witness.of([(low, high)]),  # two numbers between the bounds
        )


@dataclass(frozen=True)
class ClampedDistribution:
    """A number plus discrete noise, clamped: all mass outside sits on the two ends."""

    law: Any  # of the noise, in grid units
    # centre, lowest, highest: in grid units
    centre: int
    lowest: int
    highest: int
    grid: Fraction  # the unit

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
        probability: Enclosure = (
            self.law.probability(offset) if tail is None else self.law.cdf(tail)
        )
        return probability

    def cdf(self, value: NumberLike) -> Enclosure:
        """Return an enclosure of the probability of this value or less."""
        units = math.floor(as_fraction(value) / self.grid)
        if units < self.lowest:
            return _NONE
        if units >= self.highest:
            return Enclosure.of(1)
        return self.law.cdf(units - self.centre)  # type: ignore[no-any-return]

    def support(self, mass: NumberLike = "0.999") -> tuple[float, float]:
        """Return the ends of an interval that holds at least this probability."""
        low, high = self.law.support(as_fraction(mass, "mass"))
        ends = (max(self.centre + low, self.lowest), min(self.centre + high, self.highest))
        return float(ends[0] * self.grid), float(ends[1] * self.grid)


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
        >>> from tacit.core import SymmetricDistance, Vector
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
        lattice = AggregateGrid.of_number(space, self, CHAIN_STATISTIC)
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
