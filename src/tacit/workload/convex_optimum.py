"""The strategy with the least total error under Gaussian noise: a convex program, solved.

Let G = W^T W for the questions W, and X = A^T A for a strategy A.  Where one row moves A x by at
most 1 in L2, ``diag X <= 1``, noise of deviation s on A x gives the total squared error
``s^2 trace(G X^-1)`` (Li, Miklau, Hay, McGregor, Rastogi, *The matrix mechanism*, VLDB J. 2015),
convex in X.  Its dual: for multipliers v > 0 with R = diag(v)^(1/2)

    max over v of (trace (R G R)^(1/2))^2 / sum v,   reached by X = R^-1 (R G R)^(1/2) R^-1.

*Proof that it is a bound.*  For every X with ``diag X <= 1``, ``trace(G X^-1) sum v >= trace(G
X^-1) trace(R X R) >= (trace (R G R)^(1/2))^2``, the last step by Cauchy and Schwarz for the nuclear
norm of ``(W X^(-1/2)) (X^(1/2) R)``.  At v = 1 it is the bound of singular values.

Multipliers are found as a fixed point, ``v <- diag (R G R)^(1/2)`` (Denisov, McMahan, Rush, Smith,
Thakurta, NeurIPS 2022, section 4.2); the two values show how far from the optimum X can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Optimum", "convex_optimum"]

Array = NDArray[np.float64]

_GAP = 5e-4
_ROUNDS = 60
_RIDGE = 1e-9
"""Added to G, relative to its mean diagonal: cells that no question needs are told a little too."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A strategy as X = A^T A with ``diag X <= 1``, and what no strategy can be below.

    Attributes:
        square: the matrix X.
        bound: at most the total squared error of every strategy, for noise of deviation 1.
        multipliers: the numbers v at which X was found.
    """

    square: Array
    bound: float
    multipliers: Array

    def factor(self) -> Array:
        """Return A with A^T A = X, upper triangular."""
        return np.asarray(np.linalg.cholesky(self.square).T)


def convex_optimum(gram: Array) -> Optimum:
    """Return the optimum for questions W, from W^T W, to a gap of a two-thousandth.

    >>> found = convex_optimum(np.eye(3))
    >>> np.allclose(found.square, np.eye(3)), round(found.bound, 6)
    (True, 3.0)
    """
    size = len(gram)
    whole = gram + np.eye(size) * (_RIDGE * np.trace(gram) / size)
    multipliers, best = np.ones(size), 0.0
    root, square = np.ones(size), np.eye(size)
    for _ in range(_ROUNDS):
        root = np.sqrt(multipliers)
        values, vectors = np.linalg.eigh(root[:, None] * whole * root)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
        middle = (vectors * roots) @ vectors.T
        trace = float(roots.sum())
        best = max(best, trace**2 / float(multipliers.sum()))
        square = middle / root[:, None] / root
        most = float(np.diag(square).max())
        # trace(G X^-1) = trace(R G R M^-1) = trace M, and X is scaled to a diagonal of 1 at most
        if most * trace <= best * (1 + _GAP):
            break
        multipliers = np.maximum(np.diag(middle), 1e-12 * float(np.diag(middle).max()))
    square = (square + square.T) / (2 * float(np.diag(square).max()))
    values = np.linalg.eigvalsh(root[:, None] * gram * root)  # of the questions without the ridge
    bound = float(np.sqrt(np.maximum(values, 0.0)).sum()) ** 2 / float((root**2).sum())
    return Optimum(square, bound, root**2)
