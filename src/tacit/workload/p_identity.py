"""The strategy with the least total error under Laplace noise, among p-identities.

Under pure differential privacy the program over all strategies is not convex.  A p-identity is the
cells and p sums of cells more, with weights: ``A = [D; T D]`` with T >= 0 of p rows, and D the
diagonal matrix that makes every column add up to 1 (McKenna, Miklau, Hay, Machanavajjhala,
*Optimizing error of high-dimensional statistical queries under differential privacy*, VLDB 2018).
All that is worked out with are matrices of p rows (and, by :mod:`tacit.workload.steady`, the same
on every machine): with c = 1 + the column sums of T,
``H = c c^T * G`` and ``S = I + T T^T``,

    trace(G (A^T A)^-1) = trace H - trace(S^-1 T H T^T).

Where T is equal for all cells of a block, with r_b cells in block b, only one column a block is
needed: ``T H T^T`` and S become ``T H' T^T`` and ``I + T diag(r) T^T`` with G added up over the
blocks in H', and ``trace H`` the sum of ``c_b^2`` times the diagonal of G in the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.workload.minimise import minimise
from tacit.workload.steady import inverse, product, trace_of_product

__all__ = ["p_identity"]

Array = NDArray[np.float64]

_STEPS = 400
_GOLDEN = (5**0.5 - 1) / 2


def p_identity(gram: Array, sums: int, block: Array | None = None) -> Array:
    """Return a p-identity with columns that add up to 1, of little error for W^T W.

    Args:
        gram: W^T W for the questions W.
        sums: how many sums stand beside the cells.
        block: of each cell its block, rising from 0, where the sums take whole blocks alike.

    >>> found = p_identity(np.ones((4, 4)), 1)
    >>> found.shape, np.allclose(found.sum(axis=0), 1)
    ((5, 4), True)
    """
    place = np.arange(len(gram)) if block is None else np.asarray(block)
    scaled = gram / np.trace(gram)
    sizes, starts = np.bincount(place), np.searchsorted(place, np.arange(int(place.max()) + 1))
    diagonal = np.add.reduceat(np.diag(scaled), starts)
    whole = np.add.reduceat(np.add.reduceat(scaled, starts, axis=0), starts, axis=1)
    within = _Blocks(whole, diagonal, sizes.astype(np.float64))
    start = _scattered(sums, len(sizes))
    found = minimise(lambda weights: _error(weights, within), start, _STEPS, 2e-3)[:, place]
    total = 1 + found.sum(axis=0)
    return np.asarray(np.vstack([np.eye(len(gram)), found]) / total)


class _Blocks(NamedTuple):
    """Questions by blocks: G and its diagonal added up, and how many cells a block has."""

    gram: Array
    diagonal: Array
    sizes: Array


def _scattered(sums: int, size: int) -> Array:
    """Return numbers of [0, 1) without a pattern, the same each time: where a search begins."""
    place = np.arange(sums * size, dtype=np.float64).reshape(sums, size)
    coarse = 997 * (_GOLDEN * (place + 1) ** 2 % 1.0)
    return np.asarray((coarse + 2**0.5 * place**3) % 1.0)


def _error(weights: Array, asked: _Blocks) -> tuple[float, Array]:
    """Return the total error of a p-identity, and its gradient in T."""
    gram, diagonal, sizes = asked
    total = 1 + weights.sum(axis=0)
    across = np.ascontiguousarray(weights.T)
    inside = product(inverse(np.eye(len(weights)) + product(weights * sizes, across)), weights)
    half = product(inside * total, gram)
    whole = half * total
    square = product(whole, across)
    value = trace_of_product(total**2, diagonal) - float(np.trace(square))
    by_total = 2 * (total * diagonal - (weights * half).sum(axis=0))
    return value, -2 * (whole - product(square, inside) * sizes) + by_total
