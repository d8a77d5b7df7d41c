"""The strategy with the least total error under Laplace noise, among p-identities.

Under pure differential privacy the program over all strategies is not convex.  A p-identity is the
cells and p sums of cells more, with weights: ``A = [D; T D]`` with T >= 0 of p rows, and D the
diagonal matrix that makes every column add up to 1 (McKenna, Miklau, Hay, Machanavajjhala,
*Optimizing error of high-dimensional statistical queries under differential privacy*, VLDB 2018).
All that is worked out with are matrices of p rows (and, by :mod:`tacit.workload.steady`, the same
on every machine): with c = 1 + the column sums of T,
``H = c c^T * G`` and ``S = I + T T^T``,

    trace(G (A^T A)^-1) = trace H - trace(S^-1 T H T^T).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.workload.minimise import minimise
from tacit.workload.steady import inverse, product, trace_of_product

__all__ = ["p_identity"]

Array = NDArray[np.float64]

_STEPS = 400
_GOLDEN = (5**0.5 - 1) / 2


def p_identity(gram: Array, sums: int) -> Array:
    """Return a p-identity with columns that add up to 1, of little error for W^T W.

    Args:
        gram: W^T W for the questions W.
        sums: how many sums stand beside the cells.

    >>> found = p_identity(np.ones((4, 4)), 1)
    >>> found.shape, np.allclose(found.sum(axis=0), 1)
    ((5, 4), True)
    """
    size = len(gram)
    scaled = gram / np.trace(gram)
    found = minimise(lambda weights: _error(weights, scaled), _scattered(sums, size), _STEPS, 2e-3)
    total = 1 + found.sum(axis=0)
    return np.asarray(np.vstack([np.eye(size), found]) / total)


def _scattered(sums: int, size: int) -> Array:
    """Return numbers of [0, 1) without a pattern, the same each time: where a search begins."""
    place = np.arange(sums * size, dtype=np.float64).reshape(sums, size)
    coarse = 997 * (_GOLDEN * (place + 1) ** 2 % 1.0)
    return np.asarray((coarse + 2**0.5 * place**3) % 1.0)


def _error(weights: Array, gram: Array) -> tuple[float, Array]:
    """Return the total error of a p-identity, and its gradient in T."""
    total = 1 + weights.sum(axis=0)
    diagonal = np.diag(gram)
    across = np.ascontiguousarray(weights.T)
    inside = product(inverse(np.eye(len(weights)) + product(weights, across)), weights)
    half = product(inside * total, gram)
    whole = half * total
    square = product(whole, across)
    value = trace_of_product(total**2, diagonal) - float(np.trace(square))
    by_total = 2 * (total * diagonal - (weights * half).sum(axis=0))
    return value, -2 * (whole - product(square, inside)) + by_total
