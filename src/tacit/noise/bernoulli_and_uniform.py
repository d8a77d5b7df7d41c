"""Exact coins, uniform numbers, and comparisons with a real probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt, prod
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import exp_minus
from tacit.arithmetic.exact import Number, as_fraction, as_integer
from tacit.calls import public
from tacit.errors import InfeasibleError, UsageError
from tacit.noise.bits import observed_choice, word, words8, words64

# The ``size`` argument that all draws share: ``None``, a length, or a shape.


Size: TypeAlias = int | tuple[int, ...]


def shape_of(size: Size) -> tuple[tuple[int, ...], int]:
    """Return the shape that ``size`` asks for, and its number of elements.

    >>> shape_of(3), shape_of((2, 5))
    (((3,), 3), ((2, 5), 10))
    """
    lengths = size if isinstance(size, tuple) else (size,)
    if not all(isinstance(length, int) or hasattr(length, "__index__") for length in lengths):
        raise UsageError(f"size must be a whole number or a tuple of them, not {size!r}")
    shape = tuple(as_integer(length, "size", minimum=0) for length in lengths)
    return shape, prod(shape)


# Exact uniform integers, by rejection from whole words.
#
# A word of b >= log2(n) bits is kept when it is below n.  Kept words are uniform below n, and how
# many were thrown away is independent of the one that is kept.


_MORE = 8  # this many words more than half as many again are asked for: few are drawn a second time


@overload
def uniform(n: Number, size: None = None) -> int: ...
@overload
def uniform(n: Number, size: Size) -> NDArray[np.int64]: ...
@public
def uniform(n: Number, size: Size | None = None) -> int | NDArray[np.int64]:
    """Draw integers below ``n``, each with probability exactly 1/n.

    Args:
        n: at least 1.
        size: ``None`` for one Python integer, or a length or shape for an array: int64 up to
            n = 2**63, Python integers above.

    Raises:
        UsageError: ``n`` is below 1 or not whole, a bad size.

    >>> uniform(1), 0 <= uniform(6) < 6, uniform(2**80, size=2).dtype
    (0, True, dtype('O'))
    """
    bound = as_integer(n, "n", minimum=1)
    return observed_choice("uniform", (bound,), size, lambda: _drawn(bound, size))


def _drawn(bound: int, size: Size | None) -> int | NDArray[np.int64]:
    if size is None:
        return uniform_integer(bound)
    shape, count = shape_of(size)
    if bound > 1 << 63:
        large = np.empty(count, object)
        large[:] = [uniform_integer(bound) for _ in range(count)]
        return large.reshape(shape)
    return uniform_words(bound, count).astype(np.int64).reshape(shape)


def uniform_integer(n: int) -> int:
    """Draw one integer below ``n``, at least 1: :func:`uniform` of what was checked."""
    bits = (n - 1).bit_length()
    while True:
        drawn = word(bits) if bits else 0
        if drawn < n:
            return drawn


def uniform_word(n: int) -> int:
    """Draw one word uniform below ``n``: :func:`uniform_words` of one, of the same bits."""
    bits = (n - 1).bit_length()
    while bits:
        for drawn in words64(_MORE + 1).tolist():
            if drawn >> 64 - bits < n:
                return int(drawn >> 64 - bits)
    return 0


def uniform_words(n: int, count: int) -> NDArray[np.uint64]:
    """Draw ``count`` words uniform below ``n``, 1 <= n <= 2**64."""
    # The top ``bits`` of a word are kept when they are below n.
    bits = (n - 1).bit_length()
    if bits == 0:
        return np.zeros(count, np.uint64)
    result = np.empty(count, np.uint64)
    filled = 0
    while filled < count:
        missing = count - filled
        words = words64(missing + (missing >> 1) + _MORE) >> np.uint64(64 - bits)
        accepted = words[words <= np.uint64(n - 1)][:missing]
        result[filled : filled + len(accepted)] = accepted
        filled += len(accepted)
    return result


# Compare a uniform real with a probability, exactly, bit by bit.
#
# Let U be uniform on [0, 1) with infinitely many binary digits, of which only the first ``width``
# have been drawn: they are the integer ``u`` and say that U lies in [u, u + 1) / 2**width.  With
# the probability p between ``low`` and ``high`` (same scale), ``u + 1 <= low`` shows U < p, and
# ``u >= high`` shows U >= p; otherwise more digits of both are made.  So ``U < p`` is decided with
# probability exactly p, although only 64 digits are examined as a rule.  Source: D. Knuth, A. Yao,
# *The complexity of nonuniform random number generation* (1976).


# A number known as precisely as one likes: ``enclose(bits)`` gives ``(low, high)``.
EncloseAt: TypeAlias = Callable[[int], tuple[int, int]]

STEP = 64
MAX_BITS = 1 << 16


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

    >>> certified_floors(lambda bits: [exp_minus(Fraction(1), bits)], 8)
    [94]
    """
    # Where the two ends differ in their floor the precision is raised, for all of them.  This
    # ends for every F that is not itself a whole number of units, and for those whose
    # enclosure becomes a point.
    guard = STEP
    while guard <= MAX_BITS:
        ends = [(low >> guard, high >> guard) for low, high in enclose(width + guard)]
        if all(low == high for low, high in ends):
            return [low for low, _ in ends]
        guard *= 2
    raise InfeasibleError(
        "a cumulative probability could not be distinguished from a binary fraction"
    )


def certified_floor(enclose: EncloseAt, width: int) -> int:
    """Return ``floor(F 2**width)`` of one number: see :func:`certified_floors`.

    >>> certified_floor(rational(Fraction(1, 3)), 8)
    85
    """
    return certified_floors(lambda bits: [enclose(bits)], width)[0]


def cumulative(weights: Sequence[tuple[int, int]], bits: int) -> list[tuple[int, int]]:
    """Enclose the cumulative probabilities of all but the last of the enclosed ``weights``.

    >>> cumulative([(1, 1), (1, 1), (2, 2)], 8)
    [(64, 64), (128, 128)]
    """
    # With C the weight so far and R the rest, F = C / (C + R) grows with C and falls with R, so
    # its least value takes the low C with the high R.  The last weight must be above zero, if only
    # by less than one unit: then F is below 1, which no precision could show where R is tiny.  So
    # the upper end is cut to ``2**bits - 1``, which has the floor of every number below 1.
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


# Exact Bernoulli draws: a rational probability, or exp(-x).
#
# A byte decides all but one draw in 256; those are decided by 64 bits, and ties of those by ever
# more (:mod:`tacit.noise.bernoulli_and_uniform`).  As many draws are examined again as are ever
# likely to be, so that the time says nothing about the outcomes.


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
    """Draw ``n`` bits that are True with the enclosed probability ``p``."""
    # ``p`` must become a point, or be no binary fraction.
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
