"""Exact Bernoulli draws: a rational probability, or exp(-x).

A byte decides all but one draw in 256; those are decided by 64 bits, and ties of those by ever
more (:mod:`tacit.noise.exact_comparison`).  As many draws are looked at again as are ever likely to
be, so that the time says nothing about the outcomes.
"""

from __future__ import annotations

from math import isqrt
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import UsageError
from tacit.noise.bits import observed_choice, words8, words64
from tacit.noise.exact_comparison import EncloseAt, below, certified_floor, exponential, rational
from tacit.noise.shape import Size, shape_of

__all__ = ["bernoulli", "bernoulli_exp", "biased_bits"]

BLOCK = 1 << 16
FEW = 1 << 10


@overload
def bernoulli(p: Number, size: None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: Size) -> NDArray[np.bool_]: ...
@public
def bernoulli(p: Number, size: Size | None = None) -> bool | NDArray[np.bool_]:
    """Draw True with probability exactly ``p``.

    Args:
        p: from 0 to 1; taken exactly.
        size: ``None`` for one bool, or a length or shape for an array of bool.

    Raises:
        UsageError: ``p`` outside [0, 1], a bad size.

    >>> bernoulli(1), bernoulli(0), bernoulli("1/3", size=4).dtype
    (True, False, dtype('bool'))
    """
    share = as_fraction(p, "p")
    if not 0 <= share <= 1:
        raise UsageError("p must be a probability, from 0 to 1")
    return observed_choice("bernoulli", (share,), size, lambda: _draw(rational(share), size))


@overload
def bernoulli_exp(x: Number, size: None = None) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: Size) -> NDArray[np.bool_]: ...
@public
def bernoulli_exp(x: Number, size: Size | None = None) -> bool | NDArray[np.bool_]:
    """Draw True with probability exactly ``exp(-x)``.

    Args:
        x: at least 0; taken exactly.
        size: ``None`` for one bool, or a length or shape for an array of bool.

    Raises:
        UsageError: ``x`` is negative or not finite, a bad size.

    >>> bernoulli_exp(0), bernoulli_exp(10**6)
    (True, False)
    """
    exponent = as_fraction(x, "x")
    if exponent < 0:
        raise UsageError("x must be at least 0")
    return observed_choice(
        "bernoulli_exp", (exponent,), size, lambda: _draw(exponential(exponent), size)
    )


def _draw(p: EncloseAt, size: Size | None) -> bool | NDArray[np.bool_]:
    if size is None:
        return bool(biased_bits(p, 1)[0])
    shape, n = shape_of(size)
    return biased_bits(p, n).reshape(shape)


def biased_bits(p: EncloseAt, n: int) -> NDArray[np.bool_]:
    """Draw ``n`` bits that are True with the enclosed probability ``p``.

    ``p`` must become a point, or be no binary fraction.
    """
    threshold = certified_floor(p, 64)
    if threshold >> 64:
        return np.ones(n, bool)
    if n < FEW:
        return _by_words(words64(n), threshold, p)
    result = np.empty(n, bool)
    for start in range(0, n, BLOCK):
        result[start : start + BLOCK] = _by_bytes(min(BLOCK, n - start), threshold, p)
    return result


def _by_words(words: NDArray[np.uint64], threshold: int, p: EncloseAt) -> NDArray[np.bool_]:
    result = words < np.uint64(threshold)
    ties = np.flatnonzero(words == np.uint64(threshold))
    for i in ties.tolist():
        result[i] = below(p, int(words[i]), 64)
    return result


def _by_bytes(n: int, threshold: int, p: EncloseAt) -> NDArray[np.bool_]:
    first = words8(n)
    top = np.uint8(threshold >> 56)
    result = first < top
    again = np.flatnonzero(first == top)
    padded = n // 256 + 9 * isqrt(n // 256 + 1) + 40  # mean + 9 standard deviations + 40
    words = words64(max(padded, len(again))) >> np.uint64(8)
    decided = _by_words(words | np.uint64(int(top) << 56), threshold, p)
    result[again] = decided[: len(again)]
    return result
