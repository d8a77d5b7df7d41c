"""Base of the additive mechanisms: whole grid units in, noise on them, numbers out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction
from tacit.core import AbsoluteDistance, L2Distance, Number, Space, Step, Vector
from tacit.core.divergences import Product
from tacit.core.losses.base import Dominating, PrivacyLoss
from tacit.core.losses.composition import Summand
from tacit.errors import UsageError

CHAIN_STATISTIC = "; chain a statistic such as count() before it"
_MAX_SQUARE = 3  # the square of an L2 distance in units up to which no cell can move by two


@dataclass(frozen=True)
class AggregateGrid:
    """Conversion of the values of a space to whole units, and its effect on distances."""

    # size: None for a number, else the length of a vector (or -1 where it is not public).

    space: Space
    grid: Fraction  # the unit
    charge: Fraction  # what rounding may add to the distance between two inputs
    rounds: bool

    @classmethod
    def of(cls, space: Space, step: Step, grid: Fraction | None) -> AggregateGrid:
        """Return the lattice of a space of numbers."""
        # Aggregates of Tacit are on a grid already: nothing is rounded, nothing charged.  Floats
        # without a grid are rounded to the nearest multiple of ``grid``: each of n numbers moves by
        # at most half of it, so two of them move apart by at most ``grid``: n grids in L1, and
        # no more in L2.
        domain = space.domain
        element = domain.element if isinstance(domain, Vector) else domain
        if not isinstance(element, Number):
            raise step.mismatch(space, f"adds noise to numbers, not to {domain}")
        own = element.grid or (Fraction(1) if element.kind == "int" else None)
        if own is not None:
            return cls(space, own, Fraction(0), rounds=False)
        count = domain.size if isinstance(domain, Vector) else 1
        if grid is None or count is None:
            raise step.mismatch(
                space,
                f"needs numbers on a grid, and these are floats; chain sum() or "
                f"count() before it, or write {step.name}(..., grid='1/1024') for a number or a "
                "vector of public size",
            )
        return cls(space, grid, grid * count, rounds=True)

    @classmethod
    def of_number(cls, space: Space, step: Step, hint: str = "") -> AggregateGrid:
        """Return the lattice of one number under the absolute distance."""
        if isinstance(space.domain, Vector) or not isinstance(space.metric, AbsoluteDistance):
            why = f"needs a number under the absolute distance, not ({space}){hint}"
            raise step.mismatch(space, why)
        return cls.of(space, step, None)

    def units(self, value: Any) -> Any:
        """Return whole units: Python integers, so that nothing overflows, or an int64 array."""
        # Never through an array that numpy finds a type for: of 2^63 and -1 it would make floats.
        if not isinstance(self.space.domain, Vector):
            return self._unit(value)
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "i" and not self.rounds:
                return value.astype(np.int64)
            value = value.tolist()
        return [self._unit(v) for v in value] if self.rounds else list(map(int, value))

    def _unit(self, value: Any) -> int:
        if not self.rounds:
            return int(value)
        if not math.isfinite(value):
            value = 0.0 if math.isnan(value) else math.copysign(1.7e308, value)
        return math.floor(Fraction(value) / self.grid + Fraction(1, 2))

    @cached_property
    def _shown(self) -> Number:
        return Number("int" if self.grid.denominator == 1 else "float", grid=self.grid)

    def numbers(self, units: Any) -> Any:
        """Return whole units as numbers: post-processing of what was released."""
        shown = self._shown
        kind = shown.kind
        if not isinstance(self.space.domain, Vector):
            return int(units) if self.grid == 1 else shown.present(units)
        if isinstance(units, np.ndarray):
            if self.grid == 1:
                return units
            if kind == "float" and self._divides(units):
                return units * self.grid.numerator / float(self.grid.denominator)
        numbers = [shown.present(u) for u in np.asarray(units, dtype=object).tolist()]
        if kind == "float":
            return np.array(numbers, dtype=np.float64)
        return np.array(numbers, dtype=np.int64 if _fit(numbers) else object)

    def _divides(self, units: Any) -> bool:
        """True if one float division is exact except for rounding, as float(Fraction) is."""
        # It is where both sides are integers below 2^53, and where the divisor is a power of
        # two (then the rounding is that of the units, and the shift is exact).
        top, bottom = self.grid.numerator, self.grid.denominator
        if top == 1 and bottom & (bottom - 1) == 0 and bottom < 1 << 900:
            return True
        exact = 1 << 53
        return max(top, bottom) < exact and _fit(units, 53 - top.bit_length())

    def add(self, draw: Callable[..., Any], value: Any) -> Any:
        """Release: units plus noise drawn by ``draw(size)``, as numbers."""
        units = self.units(value)
        if not isinstance(self.space.domain, Vector):
            return self.numbers(units + int(draw(None)))
        if not len(units):
            return self.numbers([])
        return self.numbers(_added(units, np.asarray(draw(len(units)))))

    def losses(
        self,
        kind: Callable[[Fraction, int], Summand | None],
        scale: Fraction,
        within: tuple[int, int] | None = None,
    ) -> Callable[[Fraction], PrivacyLoss | None]:
        """Return the privacy losses of numbers plus noise, by distance; None where not known."""
        # Two numbers within d are at most ``floor((d + charge) / grid)`` whole units apart, and of
        # all shifts that far the largest loses most.  Two numbers that far apart have these losses;
        # where the bounds have no room for them, or inputs are rounded, they are a bound alone.
        #
        # Of a vector the cells that may move are few where d is small.  Under L1, one unit is one
        # cell moved by one.  Under L2, with a square of the distance of n units up to three, at
        # most n cells move, each by one; and of these n of them lose most, for each adds its own
        # losses.
        domain = self.space.domain

        def losses(d: Fraction) -> PrivacyLoss | None:
            element = domain.element if isinstance(domain, Vector) else domain
            room = _range_of(element, self.grid, within)
            far = (d + self.charge) / self.grid if d else Fraction(0)
            if isinstance(domain, Vector):
                return self._of_cells(kind, scale, far, room)
            shift = math.floor(far)
            if within is not None:
                shift = min(shift, within[1] - within[0])
            loss = kind(scale, shift)
            bound = self.charge or shift > room
            return Dominating(loss) if bound and loss is not None else loss

        return losses

    def _of_cells(
        self,
        kind: Callable[[Fraction, int], Summand | None],
        scale: Fraction,
        far: Fraction,
        room: float,
    ) -> PrivacyLoss | None:
        """Return the losses of a vector whose inputs are this many units apart, if they are few."""
        domain = self.space.domain
        size = domain.size if isinstance(domain, Vector) else 1
        square = isinstance(self.space.metric, L2Distance)
        moved = math.floor(far * far) if square else math.floor(far)
        if moved > (_MAX_SQUARE if square else 1):
            return None
        cells = moved if size is None else min(moved, size)
        one = kind(scale, 1 if cells else 0)
        composed = None if one is None else one.self_compose(max(cells, 1))
        bound = self.charge or (cells and room < 1)
        return Dominating(composed) if bound and composed is not None else composed

    def distribution(self, distribution: Any, value: Any) -> LatticeDistribution | Product:
        """Return the exact distribution of a value plus noise in grid units."""
        units = self.units(value)
        if not isinstance(self.space.domain, Vector):
            return LatticeDistribution(distribution, units, self.grid)
        return Product([LatticeDistribution(distribution, int(u), self.grid) for u in units])


def _range_of(element: Any, grid: Fraction, within: tuple[int, int] | None) -> float:
    """Return how many units apart two numbers of a domain can be, as far as the noise sees them."""
    low, high = (-math.inf, math.inf) if within is None else within
    if element.bounds is not None:
        low = max(low, math.ceil(element.bounds[0] / grid))
        high = min(high, math.floor(element.bounds[1] / grid))
    return high - low


def _added(units: Any, noise: Any) -> Any:
    """Add exactly: as int64 where nothing can overflow, else as Python integers."""
    if noise.dtype.kind == "i":
        try:
            exact = np.asarray(units, dtype=np.int64)
        except OverflowError:
            exact = None
        if exact is not None and _fit(exact, 62) and _fit(noise, 62):
            return exact + noise
    listed = units.tolist() if isinstance(units, np.ndarray) else units
    return [u + e for u, e in zip(listed, noise.tolist(), strict=True)]


def _fit(numbers: Any, bits: int = 63) -> bool:
    """Return whether all whole numbers are within ``-2^bits .. 2^bits - 1``."""
    if isinstance(numbers, np.ndarray):
        smallest, largest = int(numbers.min()), int(numbers.max())
    else:
        smallest, largest = min(numbers, default=0), max(numbers, default=0)
    return -(1 << bits) <= smallest and largest < 1 << bits


@dataclass(frozen=True)
class LatticeDistribution:
    """The exact distribution of a number plus discrete noise, on a grid."""

    law: Any  # the distribution of the noise in grid units (of :mod:`tacit.noise`)
    centre: int  # the exact aggregate, in grid units
    grid: Fraction  # the unit

    def _offset(self, value: NumberLike) -> Fraction:
        return as_fraction(value) / self.grid - self.centre

    def probability(self, value: NumberLike) -> Enclosure:
        """Return an enclosure of the probability of exactly this value."""
        offset = self._offset(value)
        if offset.denominator != 1:
            return Enclosure(Fraction(0), Fraction(0))
        probability: Enclosure = self.law.probability(int(offset))
        return probability

    def cdf(self, value: NumberLike) -> Enclosure:
        """Return an enclosure of the probability of this value or less."""
        return self.law.cdf(math.floor(self._offset(value)))  # type: ignore[no-any-return]

    def interval(self, lower: NumberLike, upper: NumberLike) -> Enclosure:
        """Return the probability of the event ``lower <= output <= upper``."""
        if as_fraction(lower) > as_fraction(upper):
            raise UsageError("the ends of the event are reversed; swap them")
        first = math.ceil(self._offset(lower))
        last = math.floor(self._offset(upper))
        if last < first:
            return Enclosure(Fraction(0), Fraction(0))
        below, upto = self.law.cdf(first - 1), self.law.cdf(last)
        return Enclosure(max(Fraction(0), upto.lower - below.upper), upto.upper - below.lower)

    def support(self, mass: NumberLike = "0.999") -> tuple[float, float]:
        """Return the ends of an interval that holds at least this probability."""
        low, high = self.law.support(as_fraction(mass, "mass"))
        return float((self.centre + low) * self.grid), float((self.centre + high) * self.grid)
