"""Exponentials and logarithms in fixed point, as pairs of integers that enclose the truth.

A pair ``(low, high)`` at precision ``bits`` stands for the closed interval
``[low / 2**bits, high / 2**bits]``.  Only integer addition, multiplication and floor division
are used, so each rounding error is below one unit in the last place (an *ulp*) and the proofs
below just count them.

Source of the method: R. Brent, P. Zimmermann, *Modern Computer Arithmetic* (2010), chapter 4
(argument reduction, Taylor series, repeated squaring).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

__all__ = ["exp_minus", "exp_scaled", "log_two", "log_unit", "pi_fixed"]


def _atanh_inverse(n: int, bits: int) -> tuple[int, int]:
    """Enclose ``atanh(1/n)`` for ``n >= 2``: the sum of ``1 / ((2k+1) n**(2k+1))``.

    Each term is floored twice, so it is low by less than 2 ulp; after the last term the powers
    are below one ulp and shrink by 4 or more, so the rest is below 2 ulp.
    """
    square, power, total, terms = n * n, (1 << bits) // n, 0, 0
    while power:
        total += power // (2 * terms + 1)
        power //= square
        terms += 1
    return total, total + 2 * terms + 2


@lru_cache(maxsize=16)
def log_two(bits: int) -> tuple[int, int]:
    """Enclose ``ln 2``, by ``18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)``.

    The identity holds because ``(27/25)**9 * (4802/4800)**-1 * (8750/8748)**4 == 2``.

    >>> low, high = log_two(64)
    >>> low / 2**64, high - low <= 2
    (0.693147180559945..., True)
    """
    guard = 16 + bits.bit_length()
    (a, a_up), (b, b_up), (c, c_up) = (_atanh_inverse(n, bits + guard) for n in (26, 4801, 8749))
    low, high = 18 * a - 2 * b_up + 8 * c, 18 * a_up - 2 * b + 8 * c_up
    return low >> guard, (high >> guard) + 1


@lru_cache(maxsize=16)
def pi_fixed(bits: int) -> tuple[int, int]:
    """Enclose pi by Machin's formula, ``16 atan(1/5) - 4 atan(1/239)``.

    The signed series is summed with every term floored, so it is off by less than 2 ulp a term
    either way, and the rest is below 2 ulp.

    >>> pi_fixed(20)[0] / 2**20
    3.14159...
    """
    guard = 16 + bits.bit_length()

    def arctangent_inverse(n: int) -> tuple[int, int]:
        square, power, total, terms = n * n, (1 << (bits + guard)) // n, 0, 0
        while power:
            term = power // (2 * terms + 1)
            total += -term if terms & 1 else term
            power //= square
            terms += 1
        return total - 2 * terms - 2, total + 2 * terms + 2

    a, a_up = arctangent_inverse(5)
    b, b_up = arctangent_inverse(239)
    return (16 * a - 4 * b_up) >> guard, ((16 * a_up - 4 * b) >> guard) + 1


def exp_scaled(numerator: int, denominator: int, bits: int) -> tuple[int, int, int]:
    """Enclose ``exp(x)``, x = numerator / denominator, with *relative* precision.

    Returns ``(low, high, k)`` with ``low <= exp(x) 2**(bits - k) <= high``, where
    ``2**bits <= high`` roughly, and ``high - low`` a few units.

    Proof.  Work at ``w = bits + guard`` binary places.  Let y = floor(x 2**w), so x 2**w lies in
    [y, y + 1).  With ln 2 in [L, L'] (ulps), let K be the larger of k L and k L'.  For k near
    y / ln 2 and K <= y, the number rest = y - K >= 0 is at or below the true remainder
    x - k ln 2, and misses at most ``slack = |k| (L' - L) + 1`` ulp of it.  The Taylor series of
    e**z at z = floor(rest / 2**s) has terms floored twice, each ``t_j = t_(j-1) z / j`` therefore
    low by at most ``e_j <= e_(j-1)/2 + 2 <= 4``; with n terms, the rest of the series below 5 and
    the floor in z worth less than 2, the sum is low by at most ``4 n + 8``.  Squaring s times
    keeps both ends (floor, and floor plus one).  At last e**(r + d) <= e**r (1 + 2 d) for d <= 1.

    >>> exp_scaled(0, 1, 8)[2]
    0
    """
    magnitude = max(abs(numerator) // denominator, 1).bit_length()
    halvings = 4 + int(bits**0.5) // 2
    places = bits + halvings + magnitude + bits.bit_length() + 16
    y = (numerator << places) // denominator
    log_low, log_high = log_two(places)
    k = y // log_high
    rest = y - max(k * log_low, k * log_high)
    if rest < 0:
        k -= 1
        rest = y - max(k * log_low, k * log_high)
    slack = abs(k) * (log_high - log_low) + 1
    z = rest >> halvings
    term = total = 1 << places
    count = 1
    while term:
        term = (term * z >> places) // count
        total += term
        count += 1
    low, high = total, total + 4 * count + 8
    for _ in range(halvings):
        low = low * low >> places
        high = (high * high >> places) + 1
    high += (high * 2 * slack >> places) + 1
    drop = places - bits
    return low >> drop, (high >> drop) + 1, k


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``exp(-x)`` for ``x >= 0``, with *absolute* precision ``2**-bits``.

    >>> exp_minus(Fraction(0), 8), exp_minus(Fraction(10**9), 8)
    ((256, 256), (0, 1))
    >>> low, high = exp_minus(Fraction(1), 64)
    >>> high - low <= 4, low / 2**64
    (True, 0.36787944117144233)
    """
    numerator, denominator = x.numerator, x.denominator
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator > bits * denominator:  # exp(-x) < 2**-x < 2**-bits
        return 0, 1
    low, high, k = exp_scaled(-numerator, denominator, bits)
    return low >> -k, min((high >> -k) + 1, 1 << bits)


def log_unit(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Enclose ``log(m)`` for 1 <= m = numerator / denominator <= 2: ``2 atanh((m-1)/(m+1))``.

    With t = (m-1)/(m+1) <= 1/3 floored, its square floored, and each power and term floored:
    every power is low by at most 3 ulp (t is low by 1; then e <= (e + 2)/3 + 1), every term by
    at most 4, and the rest, below twice the first power left out, is below 8.

    >>> log_unit(1, 1, 64)[0]
    0
    """
    guard = 8 + bits.bit_length()
    places = bits + guard
    t = ((numerator - denominator) << places) // (numerator + denominator)
    square = t * t >> places
    power, total, terms = t, 0, 0
    while power:
        total += power // (2 * terms + 1)
        power = power * square >> places
        terms += 1
    low, high = 2 * total, 2 * (total + 4 * terms + 8)
    return low >> guard, (high >> guard) + 1
