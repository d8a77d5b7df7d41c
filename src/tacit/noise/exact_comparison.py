"""Compare a uniform real with a probability, exactly, bit by bit.

Let U be uniform on [0, 1) with infinitely many binary digits, of which only the first ``width``
have been drawn: they are the integer ``u`` and say that U lies in [u, u + 1) / 2**width.  With
the probability p between ``low`` and ``high`` (same scale), ``u + 1 <= low`` shows U < p, and
``u >= high`` shows U >= p; otherwise more digits of both are made.  So ``U < p`` is decided with
probability exactly p, although only 64 digits are looked at as a rule.  Source: D. Knuth, A. Yao,
*The complexity of nonuniform random number generation* (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from tacit.arithmetic.fixed_point import exp_minus
from tacit.errors import InfeasibleError
from tacit.noise.bits import word

__all__ = [
    "EncloseAt",
    "below",
    "certified_floor",
    "certified_floors",
    "cumulative",
    "exponential",
    "rational",
]

EncloseAt: TypeAlias = Callable[[int], tuple[int, int]]
"""A number known as precisely as one likes: ``enclose(bits)`` gives ``(low, high)``."""

STEP = 64
MOST_BITS = 1 << 16


def below(enclose: EncloseAt, drawn: int, width: int) -> bool:
    """Decide ``U < p`` where ``drawn`` holds the first ``width`` binary digits of U.

    >>> below(rational(Fraction(1, 2)), 0, 1), below(rational(Fraction(1, 2)), 1, 1)
    (True, False)
    """
    while True:
        low, high = enclose(width + STEP)
        if drawn + 1 << STEP <= low:
            return True
        if drawn << STEP >= high:
            return False
        drawn = drawn << STEP | word(STEP)
        width += STEP


def rational(p: Fraction) -> EncloseAt:
    """Enclose a rational: both ends meet where the fraction is a whole number of units."""

    def enclose(bits: int) -> tuple[int, int]:
        low, rest = divmod(p.numerator << bits, p.denominator)
        return low, low + (rest > 0)

    return enclose


def exponential(x: Fraction) -> EncloseAt:
    """Enclose ``exp(-x)``, x >= 0."""
    return lambda bits: exp_minus(x, bits)


def certified_floors(enclose: Callable[[int], Sequence[tuple[int, int]]], width: int) -> list[int]:
    """Return ``floor(F 2**width)`` for each number F that ``enclose(bits)`` encloses.

    Where the two ends differ in their floor the precision is raised, for all of them.  This
    ends for every F that is not itself a whole number of units, and for those whose
    enclosure becomes a point.

    Raises:
        InfeasibleError: a floor is still in doubt at 65,536 bits.

    >>> certified_floors(lambda bits: [exp_minus(Fraction(1), bits)], 8)
    [94]
    """
    guard = STEP
    while guard <= MOST_BITS:
        ends = [(low >> guard, high >> guard) for low, high in enclose(width + guard)]
        if all(low == high for low, high in ends):
            return [low for low, _ in ends]
        guard *= 2
    raise InfeasibleError("a cumulative probability could not be told from a binary fraction")


def certified_floor(enclose: EncloseAt, width: int) -> int:
    """Return ``floor(F 2**width)`` of one number: see :func:`certified_floors`.

    >>> certified_floor(rational(Fraction(1, 3)), 8)
    85
    """
    return certified_floors(lambda bits: [enclose(bits)], width)[0]


def cumulative(weights: Sequence[tuple[int, int]], bits: int) -> list[tuple[int, int]]:
    """Enclose the cumulative probabilities of all but the last of the enclosed ``weights``.

    With C the weight so far and R the rest, F = C / (C + R) grows with C and falls with R, so
    its least value takes the low C with the high R.  The last weight must be above zero, if only
    by less than one unit: then F is below 1, which no precision could show where R is tiny.  So
    the upper end is cut to ``2**bits - 1``, which has the floor of every number below 1.

    >>> cumulative([(1, 1), (1, 1), (2, 2)], 8)
    [(64, 64), (128, 128)]
    """
    rest_low, rest_high = (sum(w[end] for w in weights) for end in (0, 1))
    low = high = 0
    result = []
    for weight_low, weight_high in weights[:-1]:
        low, high = low + weight_low, high + weight_high
        rest_low, rest_high = rest_low - weight_low, rest_high - weight_high
        upper, remainder = divmod(high << bits, high + rest_low)
        upper = min(upper + (remainder > 0), (1 << bits) - 1)
        result.append(((low << bits) // (low + rest_high), upper))
    return result
