"""The sums behind the discrete Gaussian law, enclosed.

Let p(x) = exp(-x**2 / (2 v)), v = sigma**2.  For v below 1 the sums over the integers are made
directly.  For larger v, Poisson's summation formula turns them into sums that converge at once:

    sum p(x)      = sqrt(2 pi v) sum_k e(k),               e(k) = exp(-2 pi**2 v k**2),
    sum x**2 p(x) = sqrt(2 pi v) v sum_k (1 - 4 pi**2 v k**2) e(k).

In either case the terms beyond the last one fall by a factor below 1/2 each, so the rest is at
most twice the first term left out.
Source: Canonne, Kamath, Steinke (2020), section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from tacit.errors import InfeasibleError
from tacit.noise.enclosure import Enclosure, exp, pi, sqrt

__all__ = ["cumulative", "total", "variance", "weight"]

MOST_TERMS = 200_000


def weight(v: Fraction, x: int, bits: int) -> Enclosure:
    """Enclose exp(-x**2 / (2 v))."""
    return exp(-x * x / (2 * v), bits + 4)


def _two_sided(term: Callable[[int], Enclosure], bits: int) -> Enclosure:
    """Enclose term(0) + 2 (term(1) + term(2) + ...), whose terms at last more than halve."""
    result, k = term(0), 1
    while True:
        found = term(k)
        size = abs(found).upper
        if size <= abs(result).lower / (1 << (bits + 8)):
            return Enclosure(result.lower - 4 * size, result.upper + 4 * size).rounded(bits + 8)
        result += 2 * found
        k += 1


def _dual(v: Fraction, bits: int) -> Callable[[int], Enclosure]:
    """Return k -> e(k), for v >= 1: e(k+1)/e(k) <= exp(-6 pi**2)."""
    rate = 2 * v * pi(bits + 16 + int(v).bit_length()) ** 2
    return lambda k: exp(-k * k * rate, bits + 8) if k else Enclosure.of(1)


@lru_cache(maxsize=64)
def total(v: Fraction, bits: int = 64) -> Enclosure:
    """Enclose the sum of p over all integers.

    >>> float(total(Fraction(1)))
    2.506628288...
    """
    if v < 1:  # p(k+1)/p(k) <= exp(-3/2) < 1/2 from k = 1 on
        return _two_sided(lambda k: weight(v, k, bits + 4), bits)
    return sqrt(2 * v * pi(bits + 8), bits + 8) * _two_sided(_dual(v, bits), bits)


def variance(v: Fraction, bits: int = 64) -> Enclosure:
    """Enclose the variance of the law.

    >>> variance(Fraction(100)).contains(100), variance(Fraction(1, 2)).below(Fraction(1, 2))
    (True, True)
    """
    if v < 1:
        # k**2 p(k): ratios at most 4 exp(-3/2) < 0.9 at k = 1, below 1/2 from k = 2 on
        second = _two_sided(lambda k: k * k * weight(v, k, bits + 4), bits)
        return second / total(v, bits)
    dual = _dual(v, bits)
    rate = 4 * v * pi(bits + 16 + int(v).bit_length()) ** 2
    return v * _two_sided(lambda k: (1 - k * k * rate) * dual(k), bits) / _two_sided(dual, bits)


def cumulative(v: Fraction, k: int, bits: int = 64) -> Enclosure:
    """Enclose P(X <= k), by symmetry from P(X > m), m >= 0, and a sum of at most 200,000 terms.

    P(X <= k) = (1 + P(0))/2 + P(1) + ... + P(k); a tail lighter than ``2**-bits`` is not summed.

    Raises:
        InfeasibleError: more than 200,000 terms are needed (sigma above about 20,000).
    """
    if k < 0:
        return (1 - cumulative(v, -k - 1, bits)).maximum(0)
    if (k + 1) ** 2 > 2 * v * bits:  # P(X > k) <= exp(-(k+1)**2 / (2 v)) < 2**-bits
        return Enclosure(1 - exp(-((k + 1) ** 2) / (2 * v), 32).upper, Fraction(1))
    if k > MOST_TERMS:
        raise InfeasibleError(
            f"the distribution function of a discrete Gaussian needs {k} terms at {k}; "
            f"at most {MOST_TERMS} are summed: use a coarser grid"
        )
    places = bits + k.bit_length() + 8
    inside = Enclosure.of(0)
    for x in range(1, k + 1):
        inside += weight(v, x, places).rounded(places)
    return Fraction(1, 2) + (Fraction(1, 2) + inside) / total(v, places)
