"""Exact uniform integers, by rejection from whole words.

A word of b >= log2(n) bits is kept when it is below n.  Kept words are uniform below n, and how
many were thrown away is independent of the one that is kept.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.noise.bits import observed_choice, word, words64
from tacit.noise.shape import Size, shape_of

__all__ = ["uniform", "uniform_integer", "uniform_word", "uniform_words"]

_MORE = 8
"""So many words more than half as many again are asked for: few are drawn a second time."""


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
    """Draw ``count`` words uniform below ``n``, 1 <= n <= 2**64.

    The top ``bits`` of a word are kept when they are below n.
    """
    bits = (n - 1).bit_length()
    if bits == 0:
        return np.zeros(count, np.uint64)
    result = np.empty(count, np.uint64)
    filled = 0
    while filled < count:
        missing = count - filled
        words = words64(missing + (missing >> 1) + _MORE) >> np.uint64(64 - bits)
        kept = words[words <= np.uint64(n - 1)][:missing]
        result[filled : filled + len(kept)] = kept
        filled += len(kept)
    return result
