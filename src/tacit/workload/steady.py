"""Linear algebra whose every bit is the same on every machine.

Libraries of linear algebra add up in an order that depends on the processor, so that the last bits
of what they find do too.  Where numbers are rounded to whole ones that a ledger or a certificate
states, that is not enough.  Here everything is elementwise, in a fixed order: sums, differences,
products, quotients and square roots of doubles are rounded as IEEE 754 says, on every machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["cholesky", "inverse", "product", "square_root", "trace_of_product"]

Array = NDArray[np.float64]

_ROUNDS = 60
_CLOSE = 1e-11


def product(left: Array, right: Array) -> Array:
    """Return the matrix product, added up column by column.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    found = np.zeros((len(left), right.shape[1]))
    for place in range(left.shape[1]):
        found += left[:, place, None] * right[place]
    return found


def trace_of_product(left: Array, right: Array) -> float:
    """Return the trace of ``left @ right.T``: the sum of the products, rounded once."""
    return math.fsum((left * right).ravel().tolist())


def cholesky(matrix: Array) -> Array:
    """Return the lower triangular L with ``L L^T`` equal to a positive definite matrix.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    rest, found = matrix.copy(), np.zeros_like(matrix)
    least = 1e-14 * float(np.diag(matrix).max())
    for place in range(len(matrix)):
        root = math.sqrt(max(float(rest[place, place]), least))
        found[place:, place] = rest[place:, place] / root
        found[place, place] = root
        below = found[place + 1 :, place]
        rest[place + 1 :, place + 1 :] -= below[:, None] * below
    return found


def inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix, by elimination without exchanges.

    >>> inverse(np.array([[2.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    found = matrix.copy()
    for place in range(len(found)):
        pivot = float(found[place, place])
        row, column = found[place] / pivot, found[:, place].copy()
        column[place] = 0.0
        found -= column[:, None] * row
        found[:, place] = -column / pivot
        found[place] = row
        found[place, place] = 1 / pivot
    return found


def square_root(matrix: Array) -> Array:
    """Return the positive definite square root of a positive definite matrix.

    The iteration of Denman and Beavers, ``Y <- (c Y + (c Z)^-1) / 2`` and ``Z <- (c Z + (c Y)^-1) /
    2`` from the matrix and the identity, under which Y goes to the root and Z to its inverse
    (Higham, *Functions of matrices*, 2008, section 6.3).  The numbers c speed up its beginning.

    >>> square_root(np.array([[4.0, 0.0], [0.0, 9.0]])).round(9).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    root, other = matrix / float(np.abs(matrix).max()), np.eye(len(matrix))
    for _ in range(_ROUNDS):
        one, two = inverse(other), inverse(root)
        size = math.sqrt(
            math.sqrt(
                trace_of_product(one, one)
                * trace_of_product(two, two)
                / (trace_of_product(root, root) * trace_of_product(other, other))
            )
        )
        by = math.sqrt(size) if abs(size - 1) > 1e-2 else 1.0
        new, other = (by * root + one / by) / 2, (by * other + two / by) / 2
        moved = float(np.abs(new - root).max())
        root = (new + new.T) / 2
        other = (other + other.T) / 2
        if by == 1.0 and moved <= _CLOSE * float(np.abs(root).max()):
            break
    return np.asarray(root * math.sqrt(float(np.abs(matrix).max())))
