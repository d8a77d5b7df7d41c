"""Exact uniform integers, by rejection from whole words.

A word of b >= log2(n) bits is kept when it is below n.  Kept words are uniform below n, and how
many were thrown away is independent of the one that is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.noise.bits import word, words64
from tacit.noise.shape import Size, shape_of

__all__ = ["uniform", "uniform_words"]


def uniform(n: Number, size: Size | None = None) -> Any:
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
    if size is None:
        return _one(bound)
    shape, count = shape_of(size)
    if bound > 1 << 63:
        large = np.empty(count, object)
        large[:] = [_one(bound) for _ in range(count)]
        return large.reshape(shape)
    return uniform_words(bound, count).astype(np.int64).reshape(shape)


def _one(n: int) -> int:
    bits = (n - 1).bit_length()
    while True:
        drawn = word(bits) if bits else 0
        if drawn < n:
            return drawn


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
        words = words64(missing + (missing >> 1) + 8) >> np.uint64(64 - bits)
        kept = words[words <= np.uint64(n - 1)][:missing]
        result[filled : filled + len(kept)] = kept
        filled += len(kept)
    return result
