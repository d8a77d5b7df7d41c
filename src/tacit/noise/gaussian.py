"""The discrete Gaussian: P(x) proportional to exp(-x**2 / (2 sigma**2)) on the integers."""

# Few draws: with t = floor(sigma) + 1, propose Y from the discrete Laplace distribution of scale t
# and accept it with probability exp(-(|Y| - sigma**2/t)**2 / (2 sigma**2)); the product of the two
# is proportional to exp(-Y**2 / (2 sigma**2)).  Source: C. Canonne, G. Kamath, T. Steinke, *The
# discrete Gaussian for differential privacy* (2020), algorithm 3.  Trials are independent of each
# other and each does the same work, so how many are needed, and hence the time, is independent of
# the value that is accepted; one batch of 64 is enough except for a probability below 2**-50.
#
# Many draws: :mod:`tacit.noise.samplers`.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, log, sqrt
from tacit.arithmetic.exact import Number, positive
from tacit.calls import public
from tacit.errors import UsageError
from tacit.noise import theta
from tacit.noise.bernoulli_and_uniform import Size, below, exponential
from tacit.noise.bits import words64
from tacit.noise.samplers import (
    LARGEST_INT64_SCALE,
    GeometricDigits,
    NoiseDistribution,
    block_table,
    geometric_digits,
)

BATCH = 64
# Far above any rounding error of the acceptance probability in doubles, about 2**-45.
MARGIN = 2.0**-30


@public
@dataclass(frozen=True, init=False)
class DiscreteGaussian(NoiseDistribution):
    """The distribution P(X = x) proportional to exp(-x**2 / (2 sigma_squared)).

    Give ``sigma``, or ``sigma_squared`` when sigma itself is irrational.

    Args:
        sigma: the scale, above 0; a little above the standard deviation.
        sigma_squared: its square, in place of it.

    Raises:
        UsageError: neither or both given, or not a finite number above zero.

    >>> distribution = DiscreteGaussian(sigma_squared="1/2")
    >>> float(distribution.probability(0)), distribution.support(0.999)
    (0.5641312..., (-2, 2))
    """

    sigma_squared: Fraction

    def __init__(self, sigma: Number | None = None, *, sigma_squared: Number | None = None) -> None:
        if (sigma is None) == (sigma_squared is None):
            raise UsageError("give either sigma or sigma_squared")
        if sigma is not None:
            square = positive(sigma, "sigma") ** 2
        elif sigma_squared is not None:
            square = positive(sigma_squared, "sigma_squared")
        object.__setattr__(self, "sigma_squared", square)

    @property
    def _proposal_scale(self) -> int:
        return isqrt(int(self.sigma_squared)) + 1

    @property
    def _fits_int64(self) -> bool:
        return self._proposal_scale <= LARGEST_INT64_SCALE

    def probability(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose exp(-k**2 / (2 sigma**2)) over the sum of all such weights."""
        return theta.weight(self.sigma_squared, k, bits) / theta.total(self.sigma_squared, bits)

    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X <= k), whatever sigma is."""
        return theta.cumulative(self.sigma_squared, k, bits)

    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose the variance: a little below sigma**2."""
        return theta.variance(self.sigma_squared, bits)

    def _tail_bound(self, outside: Fraction) -> int:
        """P(X > m) <= exp(-(m + 1)**2 / (2 sigma**2)): the distribution is sigma-subgaussian."""
        return int(sqrt(-2 * self.sigma_squared * log(outside, 32), 32).upper)

    def _lowest(self, radius: int) -> int:
        return -radius

    def _exponent(self, y: int) -> Fraction:
        away = abs(y) - self.sigma_squared / self._proposal_scale
        return away * away / (2 * self.sigma_squared)

    def _accepted(
        self, ratios: NDArray[np.float64], values: Any, certain: Iterable[int] = ()
    ) -> NDArray[np.bool_]:
        """Accept each proposal, given the size of Y/t in doubles."""
        # Those in doubt, and those at ``certain``, are decided exactly.  With
        # a = sigma**2/t**2 the exponent is (|Y|/t - a)**2 / (2 a).
        a = max(float(self.sigma_squared / self._proposal_scale**2), 2.0**-900)
        words = words64(len(ratios))
        gap = words * 2.0**-64 - np.exp(-((ratios - a) ** 2) / (2 * a))
        accepted: NDArray[np.bool_] = gap < 0
        doubtful = {*np.flatnonzero(np.abs(gap) < MARGIN).tolist(), *certain}
        for i in doubtful:
            accepted[i] = below(exponential(self._exponent(int(values[i]))), int(words[i]), 64)
        return accepted

    def _trial(self, n: int, digits: GeometricDigits) -> NDArray[np.int64]:
        values, large = digits.propose(n, sign=True)
        exact: Any = values if not large else dict(enumerate(values.tolist())) | large
        ratios = np.abs(values.astype(np.float64)) / self._proposal_scale
        return values[self._accepted(ratios, exact, large)]

    def _few(self, n: int) -> NDArray[np.int64]:
        digits = geometric_digits(Fraction(self._proposal_scale))
        result = np.empty(n, np.int64)
        filled = 0
        while filled < n:
            accepted = self._trial(2 * (n - filled) + BATCH, digits)[: n - filled]
            result[filled : filled + len(accepted)] = accepted
            filled += len(accepted)
        return result

    def _integers(self, n: int) -> list[int]:
        digits = geometric_digits(Fraction(self._proposal_scale))
        return [self._one(digits) for _ in range(n)]

    def _one(self, digits: GeometricDigits) -> int:
        scale = self._proposal_scale
        while True:
            values = digits.draw_integers(BATCH, sign=True)
            ratios = np.array([abs(y) / scale for y in values])
            accepted = self._accepted(ratios, values)
            if accepted.any():
                return values[int(np.argmax(accepted))]

    def _bulk(self, n: int) -> NDArray[np.int64]:
        return block_table("gaussian", self.sigma_squared).draw(n)


@overload
def discrete_gaussian(
    sigma: Number | None = None, size: None = None, *, sigma_squared: Number | None = None
) -> int: ...
@overload
def discrete_gaussian(
    sigma: Number | None = None, *, size: Size, sigma_squared: Number | None = None
) -> NDArray[np.int64]: ...
@overload
def discrete_gaussian(
    sigma: Number | None, size: Size, *, sigma_squared: Number | None = None
) -> NDArray[np.int64]: ...
@public
def discrete_gaussian(
    sigma: Number | None = None,
    size: Size | None = None,
    *,
    sigma_squared: Number | None = None,
) -> int | NDArray[np.int64]:
    """Draw from P(x) proportional to exp(-x**2 / (2 sigma**2)), exactly.

    Args:
        sigma: above zero; taken exactly.
        size: ``None`` for one Python integer, or a length or shape for an array: int64 up to
            a sigma of about 2**52, Python integers above.
        sigma_squared: instead of ``sigma``, when sigma is irrational.

    Raises:
        UsageError: a sigma that is not a finite number above zero, a bad size.

    >>> type(discrete_gaussian(sigma_squared="1/3")).__name__, discrete_gaussian(40, size=5).dtype
    ('int', dtype('int64'))
    """
    distribution = DiscreteGaussian(sigma, sigma_squared=sigma_squared)
    return distribution.draw() if size is None else distribution.draw_many(size)
