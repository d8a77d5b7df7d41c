"""What every distribution of integer noise can answer and do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import UsageError
from tacit.noise.bits import observed
from tacit.noise.shape import Size, shape_of

__all__ = ["Law"]

BULK = 1 << 15
"""From this many draws on, a lookup table is worth its building."""


@public
class Law(ABC):
    """A probability distribution on the integers that is drawn from exactly.

    *Exactly* means: given ideal random bits, the total variation distance between a draw and
    the distribution is zero.  Arrays are int64 when the scale is at most 2**52, and then hold the
    draw modulo 2**64 (which matters with probability below e**-1000); for larger scales they
    hold Python integers.
    """

    @abstractmethod
    def probability(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X = k) with relative width about ``2**-bits``.

        Args:
            k: a whole number.
            bits: about how many bits of the probability are certain.
        """

    @abstractmethod
    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X <= k) within about ``2**-bits``.

        Args:
            k: a whole number.
            bits: about how many bits are certain.
        """

    @abstractmethod
    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose the variance.

        Args:
            bits: about how many bits are certain.
        """

    @abstractmethod
    def _reach(self, outside: Fraction) -> int:
        """Return some m with P(X > m) at most ``outside``."""

    @abstractmethod
    def _lowest(self, reach: int) -> int:
        """Return the lower end of the support that goes with ``reach``."""

    @abstractmethod
    def _integers(self, n: int) -> list[int]:
        """Draw ``n`` Python integers."""

    @abstractmethod
    def _few(self, n: int) -> NDArray[np.int64]:
        """Draw ``n`` values without a table."""

    @abstractmethod
    def _bulk(self, n: int) -> NDArray[np.int64]:
        """Draw ``n`` values with a table."""

    @property
    @abstractmethod
    def _fits_int64(self) -> bool:
        """Whether arrays of draws are int64."""

    def support(self, mass: Number) -> tuple[int, int]:
        """Return (lowest, highest) whose interval holds at least ``mass`` of the probability.

        Args:
            mass: the probability, from 0 to below 1.

        Raises:
            UsageError: ``mass`` is not within 0 <= mass < 1.
        """
        share = as_fraction(mass, "mass")
        if not 0 <= share < 1:
            raise UsageError("mass must be at least 0 and below 1")
        reach = self._reach((1 - share) / 2)
        return self._lowest(reach), reach

    def draw(self) -> int:
        """Draw one Python integer; the work does not depend on its value."""
        return observed(self, None, lambda: self._integers(1)[0])

    def draw_many(self, size: Size) -> NDArray[np.int64]:
        """Draw an array of the given length or shape.

        Args:
            size: the length of the array, or its shape.

        Raises:
            UsageError: ``size`` is negative or not whole.
        """
        shape, n = shape_of(size)
        return np.reshape(observed(self, n, lambda: self._array(n)), shape)

    def _array(self, n: int) -> NDArray[np.int64]:
        if not self._fits_int64:
            values = np.empty(n, object)
            values[:] = self._integers(n)
            return values
        return self._bulk(n) if n >= BULK else self._few(n)
