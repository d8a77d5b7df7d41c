"""The sums behind the discrete Gaussian distribution, enclosed."""

# Let p(x) = exp(-x**2 / (2 v)), v = sigma**2.  For v below 1 the sums over the integers are made
# directly.  For larger v, Poisson's summation formula turns them into sums that converge at once:
#
#     sum p(x)      = sqrt(2 pi v) sum_k e(k),               e(k) = exp(-2 pi**2 v k**2),
#     sum x**2 p(x) = sqrt(2 pi v) v sum_k (1 - 4 pi**2 v k**2) e(k).
#
# In either case the terms beyond the last one fall by a factor below 1/2 each, so the rest is at
# most twice the first term left out.
# Source: Canonne, Kamath, Steinke (2020), section 2.

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from math import comb, factorial, isqrt

from tacit.arithmetic.enclosure import Enclosure, exp, pi, sqrt
from tacit.errors import InfeasibleError

SMOOTH = 400  # from this v on, sums are made by the formula of Euler and Maclaurin
# Distribution functions are enclosed no finer: the time grows faster than the cube of the bits.
MAX_BITS = 2048


def weight(v: Fraction, x: int, bits: int) -> Enclosure:
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
def total(v: Fraction, bits: int = 64) -> Enclosure:
    """Enclose the sum of p over all integers.

    >>> float(total(Fraction(1)))
    2.506628288...
    """
    if v < 1:  # p(k+1)/p(k) <= exp(-3/2) < 1/2 from k = 1 on
        return _two_sided(lambda k: weight(v, k, bits + 4), bits)
    return sqrt(2 * v * pi(bits + 8), bits + 8) * _two_sided(_dual(v, bits), bits)


def variance(v: Fraction, bits: int = 64) -> Enclosure:
    """Enclose the variance of the distribution.

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
    inside = _sum_smoothly(v, k, bits + 8) if v >= SMOOTH else _sum_plainly(v, k, places)
    return Fraction(1, 2) + inside / total(v, places)


def _sum_plainly(v: Fraction, k: int, bits: int) -> Enclosure:
    """Enclose p(0)/2 + p(1) + ... + p(k) term by term."""
    result = Enclosure.of(Fraction(1, 2))
    for x in range(1, k + 1):
        result += weight(v, x, bits).rounded(bits)
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
    smooth = weight(v, k, bits + 8) * (k * _series(a, bits + 8) + Fraction(1, 2) + correction)
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
