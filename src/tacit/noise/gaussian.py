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

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import comb, factorial, isqrt
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure, exp, log, pi, sqrt
from tacit.arithmetic.exact import Number, positive
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.noise.bernoulli_and_uniform import Size, below, exponential
from tacit.noise.bits import words64
from tacit.noise.samplers import (
    LARGEST_INT64_SCALE,
    GeometricDigits,
    NoiseDistribution,
    block_table,
    geometric_digits,
)

# Let p(x) = exp(-x**2 / (2 v)), v = sigma**2.  For v below 1 the sums over the integers are made
# directly.  For larger v, Poisson's summation formula turns them into sums that converge at once:
#
#     sum p(x)      = sqrt(2 pi v) sum_k e(k),               e(k) = exp(-2 pi**2 v k**2),
#     sum x**2 p(x) = sqrt(2 pi v) v sum_k (1 - 4 pi**2 v k**2) e(k).
#
# In either case the terms beyond the last one fall by a factor below 1/2 each, so the rest is at
# most twice the first term left out.
# Source: Canonne, Kamath, Steinke (2020), section 2.

_SMOOTH = 400  # from this v on, sums are made by the formula of Euler and Maclaurin
# Distribution functions are enclosed no finer: the time grows faster than the cube of the bits.
MAX_BITS = 2048


def _weight(v: Fraction, x: int, bits: int) -> Enclosure:
    """Enclose exp(-x**2 / (2 v))."""
    return exp(-x * x / (2 * v), bits + 4)


def _two_sided(term: Callable[[int], Enclosure], bits: int) -> Enclosure:
    """Enclose term(0) + 2 (term(1) + term(2) + ...), whose terms at last more than halve."""
    result, k = term(0), 1
    while True:
        value = term(k)
        size = abs(value).upper
        if size <= abs(result).lower / (1 << (bits + 8)):
            return Enclosure(result.lower - 4 * size, result.upper + 4 * size).rounded(bits + 8)
        result += 2 * value
        k += 1


def _dual(v: Fraction, bits: int) -> Callable[[int], Enclosure]:
    """Return k -> e(k), for v >= 1: e(k+1)/e(k) <= exp(-6 pi**2)."""
    rate = 2 * v * pi(bits + 16 + int(v).bit_length()) ** 2
    return lambda k: exp(-k * k * rate, bits + 8) if k else Enclosure.of(1)


@lru_cache(maxsize=64)
def _total(v: Fraction, bits: int = 64) -> Enclosure:
    """Enclose the sum of p over all integers.

    >>> float(_total(Fraction(1)))
    2.506628288...
    """
    if v < 1:  # p(k+1)/p(k) <= exp(-3/2) < 1/2 from k = 1 on
        return _two_sided(lambda k: _weight(v, k, bits + 4), bits)
    return sqrt(2 * v * pi(bits + 8), bits + 8) * _two_sided(_dual(v, bits), bits)


def _variance(v: Fraction, bits: int = 64) -> Enclosure:
    """Enclose the variance of the distribution.

    >>> _variance(Fraction(100)).contains(100), _variance(Fraction(1, 2)).below(Fraction(1, 2))
    (True, True)
    """
    if v < 1:
        # k**2 p(k): ratios at most 4 exp(-3/2) < 0.9 at k = 1, below 1/2 from k = 2 on
        second = _two_sided(lambda k: k * k * _weight(v, k, bits + 4), bits)
        return second / _total(v, bits)
    dual = _dual(v, bits)
    rate = 4 * v * pi(bits + 16 + int(v).bit_length()) ** 2
    return v * _two_sided(lambda k: (1 - k * k * rate) * dual(k), bits) / _two_sided(dual, bits)


def cumulative(v: Fraction, k: int, bits: int = 64) -> Enclosure:
    """Enclose P(X <= k) within about ``2**-bits``: 1/2 + (p(0)/2 + p(1) + ... + p(k)) / total.

    >>> float(cumulative(Fraction(10**30), 10**15))
    0.841344746068543...
    """
    if bits > MAX_BITS:
        raise InfeasibleError(
            f"a distribution function is enclosed to at most {MAX_BITS} bits, not {bits}; ask for "
            "the probability of single outcomes, which have no such limit"
        )
    if k < 0:
        return (1 - cumulative(v, -k - 1, bits)).maximum(0)
    if (k + 1) ** 2 > 2 * v * bits:  # P(X > k) <= exp(-(k+1)**2 / (2 v)) < 2**-bits
        return Enclosure(1 - exp(-((k + 1) ** 2) / (2 * v), 32).upper, Fraction(1))
    places = bits + k.bit_length() + 8
    inside = _sum_smoothly(v, k, bits + 8) if v >= _SMOOTH else _sum_plainly(v, k, places)
    return Fraction(1, 2) + inside / _total(v, places)


def _sum_plainly(v: Fraction, k: int, bits: int) -> Enclosure:
    """Enclose p(0)/2 + p(1) + ... + p(k) term by term."""
    result = Enclosure.of(Fraction(1, 2))
    for x in range(1, k + 1):
        result += _weight(v, x, bits).rounded(bits)
    return result


def _sum_smoothly(v: Fraction, k: int, bits: int) -> Enclosure:
    """Enclose p(0)/2 + p(1) + ... + p(k) by the formula of Euler and Maclaurin."""
    # It is the integral of p from 0 to k, plus p(k)/2, plus the sum over j <= m of B_2j / (2j)!
    # times the derivative of order 2j - 1 at k (those at 0 vanish).  The rest is at most 2 zeta(2m)
    # / (2 pi)**2m times the integral of the size of the derivative of order 2m, which by Cauchy and
    # Schwarz is at most sqrt(2 pi v) sqrt((2m)!) / v**m (Hermite polynomials are orthogonal, of
    # squared norm (2m)!).  As zeta(2m) < 2 and 2 pi > 6, relative to the total, about sqrt(2 pi v),
    # it is below 4 sqrt((2m)!) / (36 v)**m.
    a, order = Fraction(k * k) / v, 1
    while (1 << bits + 2) * (isqrt(factorial(2 * order)) + 1) > (36 * v) ** order:
        order += 1
    derivatives = [Fraction(1), -k / v]  # of p at k, over p(k)
    for n in range(1, 2 * order - 1):
        derivatives.append(-(k * derivatives[n] + n * derivatives[n - 1]) / v)
    correction = sum(
        _bernoulli_number(2 * j) / factorial(2 * j) * derivatives[2 * j - 1]
        for j in range(1, order + 1)
    )
    rest = sqrt(7 * v, 8).upper / (1 << bits)
    smooth = _weight(v, k, bits + 8) * (k * _series(a, bits + 8) + Fraction(1, 2) + correction)
    return Enclosure(smooth.lower - rest, smooth.upper + rest).rounded(bits + k.bit_length())


def _series(a: Fraction, bits: int) -> Enclosure:
    """Enclose the sum of a**n / (1 3 5 ... (2n+1)), which is the integral of p over k p(k)."""
    # Once 2n + 1 is above 2 a the terms more than halve, so the rest is below the last term.
    low = high = total_low = total_high = 1 << bits
    n = 1
    while high > 1 or 2 * n + 1 <= 2 * a:
        divisor = a.denominator * (2 * n + 1)
        low, high = low * a.numerator // divisor, high * a.numerator // divisor + 1
        total_low, total_high = total_low + low, total_high + high
        n += 1
    return Enclosure.scaled(total_low, total_high + high, bits)


@cache  # the recurrence needs all those before: none may be forgotten
def _bernoulli_number(n: int) -> Fraction:
    """Return B_n from its recurrence, with B_1 = -1/2.

    >>> _bernoulli_number(4)
    Fraction(-1, 30)
    """
    if n == 0:
        return Fraction(1)
    if n > 1 and n % 2:
        return Fraction(0)
    return -sum(comb(n + 1, k) * _bernoulli_number(k) for k in range(n)) / Fraction(n + 1)


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
        return _weight(self.sigma_squared, k, bits) / _total(self.sigma_squared, bits)

    def cdf(self, k: int, bits: int = 64) -> Enclosure:
        """Enclose P(X <= k), whatever sigma is."""
        return cumulative(self.sigma_squared, k, bits)

    def variance(self, bits: int = 64) -> Enclosure:
        """Enclose the variance: a little below sigma**2."""
        return _variance(self.sigma_squared, bits)

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
