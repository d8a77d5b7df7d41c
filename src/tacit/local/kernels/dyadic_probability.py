"""Probabilities that are whole multiples of 2**-b, and draws from them without a branch.

A local mechanism chooses its own probabilities, so it chooses such that random bits give exactly:
``m / 2**b`` is the probability that b random bits, read as a number, are below m.  No rejection, no
refinement, and an epsilon that is the logarithm of a fraction.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp
from tacit.arithmetic.exact import Number, as_fraction, positive, show
from tacit.errors import UsageError
from tacit.noise.bits import words8, words16, words32, words64
from tacit.noise.uniform import uniform_words

__all__ = [
    "coins",
    "dyadic_down",
    "dyadic_near",
    "dyadic_up",
    "exp_at_most",
    "finer",
    "least_exp",
    "most_exp",
    "probability",
    "read_loss",
    "truth_probability",
    "uniform_below",
]

LARGEST_EPSILON = 24
"""Beyond this a report hides nothing: the truth is e**24 = 2.6e10 times as likely as a lie."""

SMALLEST_EPSILON = Fraction(1, 1 << 20)
"""Below this a report reveals nothing: n reports would have the error of 4 * 10**12 n people."""

SLACK_BITS = 20
"""Thresholds keep this many significant bits of the smaller of p and 1 - p, at least."""

FINEST = 62
_WORDS: dict[int, Callable[[int], NDArray[Any]]] = {
    8: words8,
    16: words16,
    32: words32,
    64: words64,
}


def exp_at_most(epsilon: Number) -> Fraction:
    """Return a fraction within 2**-80 below ``e**epsilon``, for the loss of one report.

    Raises:
        UsageError: an epsilon that is not above 0, is not finite, is above 24 or below 2**-20.

    >>> float(exp_at_most(1))
    2.718281828459045
    """
    loss = positive(epsilon, "epsilon")
    if loss > LARGEST_EPSILON:
        raise UsageError(
            f"epsilon must be at most {LARGEST_EPSILON} for one report, not {show(loss)}: "
            "beyond that nothing is hidden"
        )
    if loss < SMALLEST_EPSILON:
        raise UsageError(
            f"epsilon must be at least 2**-20 for one report, not {show(loss)}: below that "
            "a report says nothing"
        )
    return least_exp(loss)


def least_exp(loss: Fraction) -> Fraction:
    """Return a fraction within 2**-80 below ``e**loss``, of any part of a loss.

    >>> least_exp(Fraction(0))
    Fraction(1, 1)
    """
    return exp(loss, 128).rounded(112).lower


def most_exp(loss: Fraction) -> Fraction:
    """Return a fraction above ``e**loss`` by less than 2**-90 of it, of a loss.

    >>> most_exp(Fraction(0))
    Fraction(1, 1)
    """
    return exp(loss, 128).rounded(112).upper


def read_loss(*given: Any) -> Fraction:
    """Read the loss of one report: the first that is given.

    Raises:
        UsageError: none is given, or one that no report can have (:func:`exp_at_most`).

    >>> read_loss(None, "1/2")
    Fraction(1, 2)
    """
    epsilon = next((e for e in given if e is not None), None)
    if epsilon is None:
        raise UsageError("give epsilon")
    exp_at_most(epsilon)
    return positive(epsilon, "epsilon")


def fineness(p: Fraction, slack: int = SLACK_BITS) -> int:
    """Return how many bits keep ``slack`` significant bits of p and of 1 - p: a multiple of 8.

    >>> fineness(Fraction(1, 3)), fineness(Fraction(1, 10**6))
    (24, 40)
    """
    small = min(p, 1 - p)
    needed = slack + (small.denominator // small.numerator).bit_length()
    return min(FINEST, -(-needed // 8) * 8)


def finer(p: Fraction, epsilon: Number, slack: int = SLACK_BITS) -> int:
    """Return the fineness that keeps p's distance from its neighbours also where epsilon is small.

    >>> finer(Fraction(1, 3), 1), finer(Fraction(1, 3), "0.001")
    (24, 32)
    """
    shrinks = int(1 / as_fraction(epsilon)).bit_length() - 1
    return fineness(p, slack + max(0, shrinks))


def _dyadic(p: Fraction, bits: int, up: int) -> Fraction:
    """Round p to a multiple of 2**-bits that is neither 0 nor 1; one that is dyadic is kept."""
    if p.denominator & (p.denominator - 1) == 0 and p.denominator <= 1 << FINEST:
        return p
    scaled = p * (1 << bits)
    whole = (round(scaled), ceil(scaled), floor(scaled))[up]
    return Fraction(min(max(whole, 1), (1 << bits) - 1), 1 << bits)


def dyadic_down(p: Fraction, bits: int | None = None) -> Fraction:
    """Return the greatest multiple of 2**-bits that is at most p.

    >>> dyadic_down(Fraction(1, 3), 4)
    Fraction(5, 16)
    """
    return _dyadic(p, bits or fineness(p), -1)


def dyadic_up(p: Fraction, bits: int | None = None) -> Fraction:
    """Return the least multiple of 2**-bits that is at least p."""
    return _dyadic(p, bits or fineness(p), 1)


def dyadic_near(p: Fraction, bits: int | None = None) -> Fraction:
    """Return the nearest multiple of 2**-bits."""
    return _dyadic(p, bits or fineness(p), 0)


def probability(value: Number, name: str) -> Fraction:
    """Read a probability above 0 and below 1; one that is not dyadic goes to the nearest that is.

    Raises:
        UsageError: 0, 1, or outside them: such a coin hides nothing.

    >>> probability("3/4", "p"), float(probability("1/3", "p"))
    (Fraction(3, 4), 0.333333313465118...)
    """
    share = as_fraction(value, name)
    if not 0 < share < 1:
        raise UsageError(f"{name} must be above 0 and below 1: both outcomes must stay possible")
    return dyadic_near(share)


def truth_probability(p: Number | None, epsilon: Any, others: int) -> Fraction:
    """Return the probability of the truth beside ``others`` answers that are equally likely.

    Args:
        p: the probability itself; or
        epsilon: the greatest loss, ``ln(p / q)`` with ``q = (1 - p) / others``.
        others: how many answers there are besides the truth.

    >>> truth_probability("3/4", None, 1), float(truth_probability(None, 1, 1))
    (Fraction(3, 4), 0.73105...)
    """
    if p is not None:
        return probability(p, "p")
    e = exp_at_most(epsilon)
    share = e / (e + others)
    return dyadic_down(share, finer(share, epsilon))


def coins(p: Fraction, n: int) -> NDArray[np.bool_]:
    """Draw ``n`` bits that are True with the dyadic probability ``p`` exactly.

    >>> coins(Fraction(1), 2).tolist()
    [True, True]
    """
    bits = p.denominator.bit_length() - 1
    width = next(w for w in _WORDS if bits <= w)
    threshold = p.numerator << (width - bits)
    if threshold >> width:
        return np.ones(n, bool)
    words: NDArray[np.unsignedinteger[Any]] = _WORDS[width](n)
    below: NDArray[np.bool_] = words < words.dtype.type(threshold)
    return below


def uniform_below(k: int, n: int) -> NDArray[Any]:
    """Draw ``n`` integers below ``k``, each with probability exactly 1/k: uint32, or uint64.

    The high half of ``word * k`` is uniform if the words are kept whose low half is not below
    ``2**width mod k`` (D. Lemire, *Fast random integer generation in an interval*, 2019).  Which
    words are thrown away is independent of those that are kept.

    >>> bool((uniform_below(10, 1000) < 10).all())
    True
    """
    if k > 1 << 32:
        return uniform_words(k, n)
    width = 16 if k <= 1 << 12 else 32
    if k & (k - 1) == 0:
        words = _WORDS[8 if k <= 256 else 16 if k <= 1 << 16 else 32](n)
        masked: NDArray[Any] = words & words.dtype.type(k - 1)
        return masked.astype(np.uint32)
    result, again = _scaled(k, n, width)
    while len(again):
        fresh, rejected = _scaled(k, len(again), width)
        result[again] = fresh
        again = again[rejected]
    return result


def _scaled(k: int, n: int, width: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the high halves, and the places of those to be drawn again."""
    half: Any = np.uint16 if width == 16 else np.uint32
    whole: Any = np.uint32 if width == 16 else np.uint64
    products: NDArray[Any] = _WORDS[width](n) * whole(k)
    low = products.astype(half)
    again = np.flatnonzero(low < half((1 << width) % k))
    return (products >> whole(width)).astype(np.uint32, copy=False), again
