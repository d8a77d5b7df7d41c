"""Exact draws from a finite distribution with rational weights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import lcm
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.errors import UsageError
from tacit.noise.bernoulli_and_uniform import Size, shape_of, uniform
from tacit.noise.bits import observed_choice, watched
from tacit.noise.samplers import InversionTable


@overload
def categorical(weights: Sequence[Number], size: None = None) -> int: ...
@overload
def categorical(weights: Sequence[Number], size: Size) -> NDArray[np.int64]: ...
@public
def categorical(weights: Sequence[Number], size: Size | None = None) -> int | NDArray[np.int64]:
    """Draw index i with probability exactly ``weights[i] / sum(weights)``.

    Args:
        weights: at least one above zero, none negative; taken exactly.
        size: ``None`` for one Python integer, or a length or shape for an int64 array.

    Raises:
        UsageError: no weights, one that is negative or not finite, all zero, a bad size.

    >>> categorical([0, 2, 0]), categorical(["1/2", "1/3"], size=3).shape
    (1, (3,))
    """
    exact = [as_fraction(w, "weight") for w in weights]
    if not exact or min(exact) < 0 or not any(exact):
        raise UsageError("weights must not be negative, and at least one must be above zero")
    common = lcm(*(w.denominator for w in exact))
    edges = list(accumulate(int(w * common) for w in exact))

    def draw() -> int | NDArray[np.int64]:
        with watched(None):
            return _drawn(edges, size)

    return observed_choice("categorical", tuple(exact), size, draw)


def _drawn(edges: Sequence[int], size: Size | None) -> int | NDArray[np.int64]:
    total = edges[-1]
    if size is None:
        drawn = uniform(total)
        return sum(edge <= drawn for edge in edges)
    shape, n = shape_of(size)
    if len(edges) == 1:
        return np.zeros(shape, np.int64)
    table = InversionTable(lambda width: [(e << width) // total for e in edges[:-1]])
    return table.draw(n).astype(np.int64).reshape(shape)
