"""The discrete Laplace and the geometric distribution."""

# With q = exp(-1/s), G geometric (P(G = k) = (1 - q) q**k) and B an independent bit with
# P(B = 1) = q / (1 + q), the integer X = G if B = 0, else -1 - G, is discrete Laplace:
#
#     P(X = x) = (1 - q) q**x / (1 + q)                        for x >= 0,
#     P(X = x) = (1 - q) q**(-1 - x) q / (1 + q), the same      for x < 0.
#
# No draw is rejected and zero is not drawn twice.  Backwards, G = X if X >= 0 else -1 - X is
# geometric.
# Source: A. Ghosh, T. Roughgarden, M. Sundararajan, *Universally utility-maximizing privacy
# mechanisms* (2009), for the distribution; the split into G and B is elementary.

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp, log
from tacit.arithmetic.exact import Number, positive
from tacit.calls import public
from tacit.noise.bernoulli_and_uniform import Size
from tacit.noise.samplers import (
    LARGEST_INT64_SCALE,
    NoiseDistribution,
    block_table,
    geometric_digits,
)


@lru_cache(maxsize=256)
def _ratio_of(scale: Fraction, bits: int) -> Enclosure:
    """Enclose q, which depends on what is public alone."""
    return exp(-1 / scale, bits + 4)


@public
@dataclass(frozen=True, init=False)
class _Exponential(NoiseDistribution):
    """Base class of the two distributions: the scale, and q = exp(-1/scale)."""

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))

    @property
    def _fits_int64(self) -> bool:
        return self.scale <= LARGEST_INT64_SCALE

    def _power(self, k: int, bits: int) -> Enclosure:
        return exp(-k / self.scale, bits + 4)

    def _ratio(self, bits: int) -> Enclosure:
        return _ratio_of(self.scale, bits)

    def _one_minus_ratio(self, bits: int) -> Enclosure:
        """Enclose 1 - q with relative precision: 1 - q is above min(1/s, 1)/2."""
        return 1 - self._ratio(bits + max(0, int(self.scale).bit_length()) + 2)

    def _tail_bound(self, outside: Fraction) -> int:
        """q**(m+1) <= outside when m + 1 >= -s log(outside)."""
        return max(0, int(self.scale * -log(outside, 32).lower))


@public
class DiscreteLaplace(_Exponential):
    """The distribution ``P(X = x)`` proportional to ``exp(-|x| / scale)`` on all integers.

    Args:
        scale: above 0; taken exactly.

    Raises:
        UsageError: ``scale`` is not a finite number above zero.

    >>> distribution = DiscreteLaplace(25)
    >>> float(distribution.probability(0)), distribution.support(0.99)
    (0.0199973337..., (-132, 132))
    >>> abs(distribution.draw()) < 5000
    True
    """

    def probability(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose ``(1 - q) / (1 + q) * q**abs(k)``, where q is ``exp(-1 / scale)``."""
        return self._one_minus_ratio(bits) * self._power(abs(k), bits) / (1 + self._ratio(bits))

    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X <= k): q**(-k) / (1 + q) below zero, 1 - q**(k+1) / (1 + q) above."""
        sides = 1 + self._ratio(bits)
        if k < 0:
            return self._power(-k, bits) / sides
        return 1 - self._power(k + 1, bits) / sides

    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose 2 q / (1 - q)**2."""
        return 2 * self._power(1, bits) / self._one_minus_ratio(bits) ** 2

    def _lowest(self, radius: int) -> int:
        return -radius

    def _integers(self, n: int) -> list[int]:
        return geometric_digits(self.scale).draw_integers(n, sign=True)

    def _few(self, n: int) -> NDArray[np.int64]:
        return geometric_digits(self.scale).draw(n, sign=True)

    def _bulk(self, n: int) -> NDArray[np.int64]:
        return block_table("laplace", self.scale).draw(n)


@public
class OneSidedGeometric(_Exponential):
    """The distribution P(X = k) proportional to exp(-k / scale) on k >= 0.

    Args:
        scale: above 0; taken exactly.

    Raises:
        UsageError: ``scale`` is not a finite number above zero.

    >>> OneSidedGeometric(2).draw() >= 0
    True
    """

    def probability(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose (1 - q) q**k; zero below zero."""
        return self._one_minus_ratio(bits) * self._power(k, bits) if k >= 0 else Enclosure.of(0)

    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose 1 - q**(k + 1); zero below zero."""
        return 1 - self._power(k + 1, bits) if k >= 0 else Enclosure.of(0)

    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose q / (1 - q)**2."""
        return self._power(1, bits) / self._one_minus_ratio(bits) ** 2

    def _lowest(self, radius: int) -> int:
        return 0

    def _integers(self, n: int) -> list[int]:
        return geometric_digits(self.scale).draw_integers(n)

    def _few(self, n: int) -> NDArray[np.int64]:
        return geometric_digits(self.scale).draw(n)

    def _bulk(self, n: int) -> NDArray[np.int64]:
        values = block_table("laplace", self.scale).draw(n)
        values ^= values >> 63
        return values


@overload
def discrete_laplace(scale: Number, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Size) -> NDArray[np.int64]: ...
@public
def discrete_laplace(scale: Number, size: Size | None = None) -> int | NDArray[np.int64]:
    """Draw from ``P(x)`` proportional to ``exp(-|x| / scale)``, exactly.

    Args:
        scale: above zero; taken exactly.
        size: ``None`` for one Python integer, or a length or shape for an array: int64 up to a
            scale of 2**52, Python integers above.

    Raises:
        UsageError: a scale that is not a finite number above zero, a bad size.

    >>> type(discrete_laplace("25/3")).__name__, discrete_laplace(25, size=(2, 3)).shape
    ('int', (2, 3))
    """
    distribution = DiscreteLaplace(scale)
    return distribution.draw() if size is None else distribution.draw_many(size)


@overload
def geometric(scale: Number, size: None = None) -> int: ...
@overload
def geometric(scale: Number, size: Size) -> NDArray[np.int64]: ...
@public
def geometric(scale: Number, size: Size | None = None) -> int | NDArray[np.int64]:
    """Draw from P(k) proportional to exp(-k / scale) over k >= 0, exactly.

    Arguments, result and errors as for :func:`discrete_laplace`.

    Args:
        scale: above 0, in the unit of the draws; taken exactly.
        size: the length of an array of draws, or its shape; None for one Python integer.

    >>> bool((geometric(3, size=100) >= 0).all())
    True
    """
    distribution = OneSidedGeometric(scale)
    return distribution.draw() if size is None else distribution.draw_many(size)
