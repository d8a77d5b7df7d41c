"""A strategy of whole numbers: what gets noise, how far one row moves it, what follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.square_root import sqrt_up
from tacit.errors import UsageError

__all__ = ["Strategy", "block_tree", "identity", "rounded", "wavelet"]

Array = NDArray[np.float64]

_LARGEST = 1 << 20
"""No entry is larger, so that sums over all rows of a table stay far within 64 bits."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """Whole-number combinations of cells that get noise.

    Attributes:
        name: how it was found.
        matrix: one combination a row, of shape (combinations, cells).
        norm: ``"L1"`` for Laplace noise, ``"L2"`` for Gaussian noise.

    *Sensitivity.*  A row that is added or removed changes one cell by one, hence the combinations
    by a column of the matrix: by its L1 norm, a whole number, or its L2 norm, whose square is one.
    So the largest norm of a column is exact, whatever the matrix was rounded from.

    >>> tree = block_tree(4, 2, "L1")
    >>> tree.matrix.shape, tree.sensitivity
    ((7, 4), Fraction(3, 1))
    """

    name: str
    matrix: NDArray[np.int64]
    norm: str

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or int(np.abs(self.matrix).max(initial=0)) > _LARGEST:
            raise UsageError("a strategy is a matrix of whole numbers of at most 2^20")

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return int(self.matrix.shape[1])

    @cached_property
    def squared_sensitivity(self) -> int:
        """The square of the L2 sensitivity, or of the L1 sensitivity; exact."""
        if self.norm == "L1":
            return int(np.abs(self.matrix).sum(axis=0).max()) ** 2
        return max(sum(int(v) ** 2 for v in column if v) for column in self.matrix.T)

    @property
    def sensitivity(self) -> Fraction:
        """How far one row moves the combinations in the norm: exact, or rounded up for L2."""
        whole = math.isqrt(self.squared_sensitivity)
        if whole * whole == self.squared_sensitivity:
            return Fraction(whole)
        return Fraction(sqrt_up(Fraction(self.squared_sensitivity)))

    @cached_property
    def inverse(self) -> Array:
        """The matrix that takes noisy combinations to cells by least squares."""
        return np.asarray(np.linalg.pinv(self.matrix.astype(np.float64), rcond=1e-12))

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the cells where one row moves the combinations by as much as noise.

        It is ``(A^T A)^-1`` times the squared sensitivity.
        """
        square = self.matrix.T.astype(np.float64) @ self.matrix
        return np.asarray(np.linalg.pinv(square, hermitian=True)) * self.squared_sensitivity


def rounded(name: str, factor: Array, norm: str, scale: int) -> Strategy:
    """Return a strategy of real numbers times a scale, rounded to whole numbers.

    Rows that become zero are left out.

    >>> rounded("example", np.array([[0.5, 0.26], [0.0, 0.001]]), "L1", 100).matrix.tolist()
    [[50, 26]]
    """
    matrix = np.rint(factor * scale).astype(np.int64)
    return Strategy(name, matrix[np.abs(matrix).sum(axis=1) > 0], norm)


def identity(cells: int, norm: str) -> Strategy:
    """Return the strategy that adds noise to each cell."""
    return Strategy("identity", np.eye(cells, dtype=np.int64), norm)


def block_tree(cells: int, branching: int, norm: str) -> Strategy:
    """Return the strategy that adds noise to every block of cells of a tree.

    Hay, Rastogi, Miklau, Suciu, *Boosting the accuracy of differentially private histograms through
    consistency* (VLDB 2010).

    >>> block_tree(4, 2, "L2").matrix.tolist()[:3]
    [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    """
    width = 1
    while width < cells:
        width *= branching
    rows: list[Sequence[tuple[int, int]]] = []
    while width >= 1:
        rows.append([(start, min(start + width, cells)) for start in range(0, cells, width)])
        width //= branching
    blocks = [block for level in rows for block in level]
    matrix = np.zeros((len(blocks), cells), dtype=np.int64)
    for place, (start, end) in enumerate(blocks):
        matrix[place, start:end] = 1
    return Strategy(f"tree of {branching}", matrix, norm)


def wavelet(cells: int, norm: str) -> Strategy:
    """Return the strategy of Haar wavelets: differences of halves, and the total.

    Xiao, Wang, Gehrke, *Differential privacy via wavelet transforms* (ICDE 2010).

    >>> wavelet(4, "L1").matrix.tolist()
    [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]
    """
    width = 1 << max(cells - 1, 0).bit_length()
    rows = [np.ones(cells, dtype=np.int64)]
    while width > 1:
        for start in range(0, cells, width):
            row = np.zeros(cells, dtype=np.int64)
            row[start : start + width // 2] = 1
            row[start + width // 2 : start + width] = -1
            if (row < 0).any():  # else the block is its own first half
                rows.append(row)
        width //= 2
    return Strategy("wavelet", np.array(rows), norm)
