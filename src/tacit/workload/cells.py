"""Workloads over the cells of one declared domain: ranges, prefix sums, any sums of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Budget, read_loss
from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.workload.strategies import (
    Strategy,
    block_tree,
    convex_optimum,
    identity,
    p_identity,
    rounded,
    wavelet,
)

Array = NDArray[np.float64]

MAX_CELLS = 4096
_OPTIMISED = 1024  # beyond this many cells only hierarchies are tried
_SCALE = 1024  # what real strategies are multiplied by before they are rounded
_BRANCHINGS = (2, 4, 8, 16)


@public
@dataclass(frozen=True, eq=False)
class Workload:
    """Questions that add up cells, all of them to be answered under one budget.

    Attributes:
        name: in words.
        gram: W^T W for the questions W, of shape (cells, cells).
        size: how many questions there are.
        rows: the questions W themselves, where they are few enough to be listed; else None.

    Example:
        >>> import tacit as tc
        >>> ranges = tc.workload.ranges(32)
        >>> ranges.size, ranges.lower_bound(rho="1/2") <= ranges.expected_error(rho="1/2")
        (528, True)
    """

    name: str
    gram: Array
    size: int
    rows: Array | None = None

    @property
    def cells(self) -> int:
        """Number of cells of the domain."""
        return len(self.gram)

    def expected_error(self, epsilon: Number | None = None, *, rho: Number | None = None) -> float:
        """Return the root mean square error over the questions, with the best known strategy.

        Args:
            epsilon: of pure differential privacy, where rows are added or removed.
            rho: of zero-concentrated differential privacy.

        Raises:
            UsageError: neither epsilon nor rho, both, or a domain that is too large.

        Example:
            >>> import tacit as tc
            >>> round(tc.workload.prefix_sums(8).expected_error(rho="1/2"), 2)
            1.49
        """
        return self.error_of(self.strategy(epsilon, rho=rho), epsilon, rho=rho)

    def error_of(
        self, strategy: Strategy, epsilon: Number | None = None, *, rho: Number | None = None
    ) -> float:
        """Return the root mean square error over the questions with a strategy.

        The strategy's sensitivity is taken in the norm of the noise that the loss goes with.

        Args:
            strategy: what is measured instead of the questions.
            epsilon: of pure DP, for Laplace noise.
            rho: of zCDP, for Gaussian noise, instead.
        """
        loss = loss_of(epsilon, rho)
        renormed = Strategy(strategy.name, strategy.matrix, _norm(loss))
        return math.sqrt(self.total(renormed) * unit_variance(loss) / self.size)

    def total(self, strategy: Strategy) -> float:
        """Return the total squared error for noise whose variance is the squared sensitivity.

        Args:
            strategy: what is measured instead of the questions.
        """
        return float((strategy.covariance * self.gram).sum())

    def lower_bound(self, epsilon: Number | None = None, *, rho: Number | None = None) -> float:
        """Return a lower bound on the root mean square error of every strategy.

        It is the bound of singular values, ``(sum of the singular values of W)^2 / cells`` for the
        total (Li and Miklau, *Optimal error of query sets under the differentially-private matrix
        mechanism*, ICDT 2013).  It holds for Laplace noise too, since an L1 norm is at least the L2
        norm.

        Args:
            epsilon: of pure DP, for Laplace noise.
            rho: of zCDP, for Gaussian noise, instead.
        """
        values = np.maximum(np.linalg.eigvalsh(self.gram), 0.0)
        total = float(np.sqrt(values).sum()) ** 2 / self.cells
        return math.sqrt(total * unit_variance(loss_of(epsilon, rho)) / self.size)

    def strategy(self, epsilon: Number | None = None, *, rho: Number | None = None) -> Strategy:
        """Return the strategy with the smallest total error of those that are tried.

        For Gaussian noise it is the convex optimum, rounded to integers, unless a hierarchy is
        better; for Laplace noise the best of p-identities, hierarchies, wavelets and the cells.

        Args:
            epsilon: of pure DP, for Laplace noise.
            rho: of zCDP, for Gaussian noise, instead.

        Raises:
            UsageError: a domain of more than 4,096 cells.
        """
        return self._best[_norm(loss_of(epsilon, rho))]

    def identity(self) -> Strategy:
        """Return the strategy that adds noise to each cell."""
        return identity(self.cells, "L2")

    @cached_property
    def _best(self) -> _Best:
        return _Best(self)


class _Best(dict[str, Strategy]):
    """The best strategy by the norm of the noise, found when it is first asked for."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self._workload = workload

    def __missing__(self, norm: str) -> Strategy:
        tried = _candidates(self._workload, norm)
        best = min(tried, key=self._workload.total)
        self[norm] = best
        return best


def _candidates(workload: Workload, norm: str) -> list[Strategy]:
    cells = workload.cells
    strategies = [identity(cells, norm)]
    if cells > 1:
        strategies.append(wavelet(cells, norm))
        trees = [b for b in _BRANCHINGS if b == 2 or b < cells]
        strategies += [block_tree(cells, branching, norm) for branching in trees]
    if 1 < cells <= _OPTIMISED:
        if norm == "L2":
            factor = convex_optimum(workload.gram).factor()
            strategies.append(rounded("convex optimum", factor, norm, _SCALE))
        else:
            for sums in dict.fromkeys((max(1, cells // 32), max(1, cells // 16))):
                factor = p_identity(workload.gram, sums)
                strategies.append(rounded(f"{sums}-identity", factor, norm, _SCALE))
    return strategies


def _norm(loss: Budget) -> str:
    return "L2" if loss.kind == "concentrated" else "L1"


def loss_of(epsilon: Number | None, rho: Number | None) -> Budget:
    """Return the loss that was said."""
    loss = read_loss(epsilon, None, rho)
    if loss is None or not loss.amount:
        raise UsageError("say the privacy loss: expected_error(epsilon=1) or (rho='1/10')")
    return loss


def unit_variance(loss: Budget) -> float:
    """Return the variance of noise at sensitivity 1: ``2 / epsilon^2``, or ``1 / (2 rho)``.

    >>> unit_variance(loss_of(2, None)), unit_variance(loss_of(None, "1/2"))
    (0.5, 1.0)
    """
    # Discrete noise has no more.
    if loss.kind == "concentrated":
        return float(1 / (2 * loss.amount))
    return float(2 / loss.amount**2)


def _cells(cells: object) -> int:
    size = as_integer(cells, "the number of cells", minimum=1)
    if size > MAX_CELLS:
        need = 8 * size * size / 1e9
        raise UsageError(
            f"a workload over {size:,} cells takes matrices of {need:,.1f} GB; at most "
            f"{MAX_CELLS:,} cells are planned: use wider bins"
        )
    return size


@public
def ranges(cells: int) -> Workload:
    """Return the workload of all ranges: the sums of cells from any one to any later one.

    Args:
        cells: how many cells the domain has, in order.

    >>> ranges(3).gram.tolist()
    [[3.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 3.0]]
    """
    size = _cells(cells)
    positions = np.arange(size, dtype=np.float64)
    gram = (np.minimum.outer(positions, positions) + 1) * (
        size - np.maximum.outer(positions, positions)
    )
    return Workload(f"all ranges of {size} cells", gram, size * (size + 1) // 2)


@public
def prefix_sums(cells: int) -> Workload:
    """Return the workload of prefix sums: the sums of the first cells, 1 to all of them.

    Args:
        cells: how many cells the domain has, in order.

    >>> prefix_sums(3).gram.tolist()
    [[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    """
    size = _cells(cells)
    rows = np.tri(size)
    return Workload(f"prefix sums of {size} cells", rows.T @ rows, size, rows)


@public
def queries(rows: Sequence[Sequence[float]], weights: Sequence[Number] | None = None) -> Workload:
    """Return the workload of listed questions, each a row of coefficients of the cells.

    Args:
        rows: of shape (questions, cells).
        weights: how much the error of each question counts; 1 each by default.

    Raises:
        UsageError: rows that are not a matrix of finite numbers, or weights that do not fit.

    >>> queries([[1, 1, 0], [0, 1, 1]]).size
    2
    """
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all() or not matrix.any():
        raise UsageError(
            "a workload is a matrix of numbers: one row for each question, one column for each cell"
        )
    _cells(matrix.shape[1])
    if weights is None:
        return Workload(f"{len(matrix)} questions", matrix.T @ matrix, len(matrix), matrix)
    counted = np.asarray([float(Fraction(str(w))) for w in weights])
    if counted.shape != (len(matrix),) or not (counted > 0).all():
        raise UsageError("each question has a weight above zero")
    gram = (matrix * counted[:, None] ** 2).T @ matrix
    return Workload(f"{len(matrix)} questions", gram, len(matrix), matrix)
