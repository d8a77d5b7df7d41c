"""What a function says of a bin, as whole units of a public grid: total, whatever it does."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_fraction, positive, show
from tacit.errors import UsageError

__all__ = ["BinFunction", "Coordinate", "coordinates"]

_LARGEST = Fraction(10) ** 120
_MOST_UNITS = 1 << 62


@dataclass(frozen=True)
class Coordinate:
    """One number that the function returns: its bounds, its grid, what stands for a missing one.

    Attributes:
        lower, upper: the public bounds.
        grid: the unit.
        default: in units; what an empty bin counts as, and one where the function fails.
    """

    lower: Fraction
    upper: Fraction
    grid: Fraction
    default: int

    @cached_property
    def least(self) -> int:
        """The smallest value, in units."""
        return math.floor(self.lower / self.grid)

    @cached_property
    def most(self) -> int:
        """The largest value, in units."""
        return math.ceil(self.upper / self.grid)

    @property
    def steps(self) -> int:
        """How far one bin can move its value, in units."""
        return self.most - self.least

    def units(self, value: float) -> int:
        """Clip to the bounds and round to the grid; NaN counts as the default.

        Rounding in floats is a function of the bin alone, and what it gives is clipped again in
        units, so no bin moves by more than :attr:`steps`.

        >>> one = Coordinate(Fraction(0), Fraction(4), Fraction(1, 2), 4)
        >>> one.units(1.3), one.units(math.inf), one.units(math.nan)
        (3, 8, 4)
        """
        if math.isnan(value):
            return self.default
        low, high, grid = self._floats
        near = min(max(value, low), high) / grid
        return min(max(math.floor(near + 0.5), self.least), self.most)

    def units_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return :meth:`units` of every value, by the same steps.

        >>> one = Coordinate(Fraction(0), Fraction(4), Fraction(1, 2), 4)
        >>> one.units_of(np.array([1.3, math.inf, math.nan])).tolist()
        [3, 8, 4]
        """
        missing = np.isnan(values)
        low, high, grid = self._floats
        near = np.minimum(np.maximum(np.where(missing, low, values), low), high) / grid
        units = np.floor(near + 0.5).astype(np.int64)
        found = np.minimum(np.maximum(units, self.least), self.most)
        return np.where(missing, self.default, found)

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        return float(self.lower), float(self.upper), float(self.grid)


def coordinates(bounds: Any, default: Any, grid: Any, bits: int) -> tuple[Coordinate, ...]:
    """Read the bounds of a number, or of every number of a vector.

    Args:
        bounds: ``(lower, upper)``, or a sequence of such pairs.
        default: a number, one per coordinate, or None for the middle of the bounds.
        grid: the unit, or None for the power of two that is just below the range over ``2^bits``.
        bits: see ``grid``.

    Raises:
        UsageError: bounds that are missing, reversed or equal; a default outside them; a grid that
            is not above zero, or above the range.
    """
    pairs = _pairs(bounds)
    defaults = [default] * len(pairs) if _is_single(default) else list(default)
    if len(defaults) != len(pairs):
        raise UsageError(
            f"default has {len(defaults)} numbers and bounds has {len(pairs)}: give one default, "
            "or one for each pair of bounds"
        )
    return tuple(
        _coordinate(*pair, one, grid, bits) for pair, one in zip(pairs, defaults, strict=True)
    )


def _is_single(default: Any) -> bool:
    return default is None or isinstance(default, str) or not hasattr(default, "__len__")


def _pairs(bounds: Any) -> list[tuple[Any, Any]]:
    if bounds is None:
        raise UsageError(
            "give bounds=(lower, upper), public numbers within which the function's answer is "
            "clipped, or one such pair for each number that it returns"
        )
    listed = list(bounds) if isinstance(bounds, (tuple, list, np.ndarray)) else []
    if len(listed) == 2 and all(_is_single(end) for end in listed):
        listed = [tuple(listed)]
    if not listed or any(_is_single(pair) or len(pair) != 2 for pair in listed):
        raise UsageError(f"bounds are (lower, upper), or a list of such pairs, not {bounds!r}")
    return [(low, high) for low, high in listed]


def _coordinate(lower: Any, upper: Any, default: Any, grid: Any, bits: int) -> Coordinate:
    low, high = as_fraction(lower, "lower bound"), as_fraction(upper, "upper bound")
    if low >= high:
        raise UsageError(f"the lower bound {show(low)} must be below the upper one {show(high)}")
    ends = max(abs(low), abs(high))
    if ends > _LARGEST or high - low < 1 / _LARGEST:
        raise UsageError(
            "the bounds must be within 1e120 of zero and at least 1e-120 apart: give others, or "
            "count in another unit"
        )
    unit = _power_of_two((high - low) / (1 << bits)) if grid is None else positive(grid, "grid")
    if unit > high - low:
        raise UsageError(
            f"the grid {show(unit)} is above the range of the bounds: give a finer one"
        )
    if (high - low) / unit > 1 << 40:
        raise UsageError("the bounds hold more than 2^40 units of the grid: give a coarser grid")
    if ends / unit >= _MOST_UNITS:
        raise UsageError(
            "the bounds are more than 2^62 units of the grid from zero: give a coarser grid, or "
            "have the function say how far it is from the lower bound"
        )
    middle = (low + high) / 2 if default is None else as_fraction(default, "default")
    if not low <= middle <= high:
        raise UsageError(f"the default {show(middle)} is outside the bounds: give one inside them")
    return Coordinate(low, high, unit, math.floor(middle / unit + Fraction(1, 2)))


def _power_of_two(value: Fraction) -> Fraction:
    """Return the largest power of two that is not above a positive number."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    found = Fraction(2) ** power
    return found if found <= value else found / 2


@dataclass(frozen=True, repr=False)
class BinFunction:
    """The function asked of a bin, with every way to fail turned into the default.

    NaN, an exception of any kind, an answer of the wrong shape or of no numbers: each gives the
    public default, and no trace of it is kept, logged or shown.  Warnings are not shown.  Only
    ``KeyboardInterrupt`` passes: it is the person at the keyboard who ends a release.
    """

    function: Callable[[Any], Any]
    reads: tuple[Coordinate, ...]

    @property
    def defaults(self) -> tuple[int, ...]:
        """What an empty bin counts as."""
        return tuple(one.default for one in self.reads)

    def __call__(self, content: Any) -> tuple[int, ...]:
        """Return the units of every coordinate.

        >>> reads = coordinates((0, 8), None, 1, 0)
        >>> ask = BinFunction(lambda x: 1 / x[0], reads)
        >>> ask([0]), ask([1]), ask(None)
        ((4,), (1,), (4,))
        """
        if content is None:
            return self.defaults
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                numbers = _numbers(self.function(content), len(self.reads))
        except KeyboardInterrupt:
            raise
        except BaseException:
            # What went wrong may depend on the records: it is dropped here, whatever it was.  Some
            # is no Exception: SystemExit, or the panic of an extension that is written in Rust.
            return self.defaults
        pairs = zip(self.reads, numbers, strict=True)
        return tuple(one.units(number) for one, number in pairs)


def _numbers(value: Any, size: int) -> Sequence[float]:
    found: list[float] = np.asarray(value, dtype=np.float64).ravel().tolist()
    return found if len(found) == size else [math.nan] * size
