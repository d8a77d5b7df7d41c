"""Workloads over the cells of a declared domain: ranges, prefix sums, any sums of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Budget, read_loss, refuse_negligible
from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.workload.range_strategies import MAX_CELLS, best_strategy, gram_of, total_of
from tacit.workload.strategies import (
    MAX_DENSE,
    Strategy,
    block_tree,
    convex_optimum,
    identity,
    p_identity,
    rounded,
    wavelet,
)
from tacit.workload.structured import ProductStrategy

Array = NDArray[np.float64]

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
        weight: the sum of the weights of the squared errors; None where each weighs 1.

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
    weight: float | None = None

    @property
    def cells(self) -> int:
        """Number of cells of the domain."""
        return len(self.gram)

    def expected_error(self, epsilon: Number | None = None, *, rho: Number | None = None) -> float:
        """Return the root mean square error over the questions, with the best known strategy.

        It is in rows: ``sqrt(sum of w e^2 / sum of w)`` for the errors e and the weights w of the
        questions, which are 1 by default.

        Args:
            epsilon: of pure differential privacy, where rows are added or removed.
            rho: of zero-concentrated differential privacy.

        Raises:
            UsageError: neither epsilon nor rho, or both.

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
        return self._mean(self.total(strategy.in_norm(_norm(loss))), loss)

    def total(self, strategy: Strategy) -> float:
        """Return the total squared error for noise whose variance is the squared sensitivity.

        Each squared error is multiplied by the weight of its question.
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
        total = self.singular_values**2 / self.cells
        return self._mean(total, loss_of(epsilon, rho))

    def _mean(self, total: float, loss: Budget) -> float:
        weight = self.size if self.weight is None else self.weight
        return math.sqrt(total * unit_variance(loss) / weight)

    @cached_property
    def singular_values(self) -> float:
        """The sum of the singular values of the questions."""
        values = np.maximum(np.linalg.eigvalsh(self.gram), 0.0)
        return float(np.sqrt(values).sum())

    def strategy(self, epsilon: Number | None = None, *, rho: Number | None = None) -> Strategy:
        """Return the strategy with the smallest total error of those that are tried.

        For Gaussian noise it is the convex optimum, rounded to integers, unless a hierarchy is
        better; for Laplace noise the best of p-identities, hierarchies, wavelets and the cells.
        Ranges and prefix sums of more than 64 cells (Gaussian) or 256 (Laplace) have a strategy
        that is stored in few numbers, of a total within 0.3% of the convex optimum's (Gaussian).

        Args:
            epsilon: of pure DP, for Laplace noise.
            rho: of zCDP, for Gaussian noise, instead.

        """
        return self._best[_norm(loss_of(epsilon, rho))]

    def identity(self) -> Strategy:
        """Return the strategy that adds noise to each cell."""
        _check_dense(self.cells)
        return identity(self.cells, "L2")

    @cached_property
    def _best(self) -> _Best:
        return _Best(self)

    def _best_strategy(self, norm: str) -> Strategy:
        return min(_candidates(self, norm), key=self.total)


class _Best(dict[str, Strategy]):
    """The best strategy by the norm of the noise, found when it is first asked for."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self._workload = workload

    def __missing__(self, norm: str) -> Strategy:
        self[norm] = best = self._workload._best_strategy(norm)
        return best


class _InOrder(Workload):
    """Ranges or prefix sums of cells in order: no matrix is formed where they are many."""

    def __init__(self, name: str, reading: str, cells: int, size: int) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "reading", reading)
        object.__setattr__(self, "_cells", cells)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "weight", None)

    reading: str
    _cells: int

    @property
    def cells(self) -> int:
        return self._cells

    @cached_property
    def gram(self) -> Array:
        _check_dense(self.cells)
        return gram_of(((self.reading, 1),), self.cells)

    @cached_property
    def rows(self) -> Array | None:
        prefixes = self.reading == "prefix_sums" and self.cells <= MAX_DENSE
        return np.tri(self.cells) if prefixes else None

    def total(self, strategy: Strategy) -> float:
        return total_of(strategy, ((self.reading, 1),))

    @cached_property
    def singular_values(self) -> float:
        # W^T W is the inverse of a second difference, whose eigenvalues are known in closed form
        # (:mod:`tacit.workload.structured`).
        n = self.cells
        if self.reading == "ranges":
            angles = np.arange(1, n + 1) * (math.pi / (2 * n + 2))
            return float((math.sqrt(n + 1) / (2 * np.sin(angles))).sum())
        angles = np.arange(1, 2 * n, 2) * (math.pi / (4 * n + 2))
        return float((1 / (2 * np.sin(angles))).sum())

    def _best_strategy(self, norm: str) -> Strategy:
        return best_strategy({self.reading: 1}, self.cells, norm)


class _Boxes(Workload):
    """Questions about boxes of cells: a product of questions about each axis."""

    def __init__(self, name: str, axes: Sequence[Workload]) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "axes", tuple(axes))
        object.__setattr__(self, "size", math.prod(axis.size for axis in axes))
        object.__setattr__(self, "weight", None)

    axes: tuple[Workload, ...]

    @property
    def cells(self) -> int:
        return math.prod(axis.cells for axis in self.axes)

    @cached_property
    def gram(self) -> Array:
        _check_dense(self.cells)
        whole: Array = np.ones((1, 1))
        for axis in self.axes:
            whole = np.asarray(np.kron(whole, axis.gram), dtype=np.float64)
        return whole

    @cached_property
    def rows(self) -> Array | None:
        return None

    def total(self, strategy: Strategy) -> float:
        if not isinstance(strategy, ProductStrategy) or len(strategy.factors) != len(self.axes):
            return super().total(strategy)
        pairs = zip(self.axes, strategy.factors, strict=True)
        return math.prod(axis.total(factor) for axis, factor in pairs)

    @cached_property
    def singular_values(self) -> float:
        return math.prod(axis.singular_values for axis in self.axes)

    def _best_strategy(self, norm: str) -> Strategy:
        # The product of the best of each axis.  Under Laplace noise another may be better.
        return ProductStrategy([axis._best[norm] for axis in self.axes])


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
        raise UsageError("say the privacy loss: epsilon=1, or rho='1/10'")
    refuse_negligible(loss)
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


def _check_dense(cells: int) -> None:
    if cells > MAX_DENSE:
        need = 8 * cells * cells / 1e9
        raise UsageError(
            f"a workload over {cells:,} cells takes matrices of {need:,.1f} GB, which are formed "
            f"for at most {MAX_DENSE:,} cells: use wider bins, or ranges and prefix sums"
        )


def _in_order(reading: str, noun: str, cells: object) -> Workload:
    """Return the workload of one axis, or that of boxes where there are several."""
    if isinstance(cells, (list, tuple)):
        axes = [_in_order(reading, noun, each) for each in cells]
        if axes:
            sizes = " x ".join(f"{axis.cells:,}" for axis in axes)
            return axes[0] if len(axes) == 1 else _Boxes(f"{noun} of {sizes} cells", axes)
    size = as_integer(cells, "the number of cells", minimum=1)
    if size > MAX_CELLS:
        raise UsageError(
            f"{noun} of {size:,} cells are not planned, but of at most {MAX_CELLS:,} of an axis: "
            "use wider bins"
        )
    questions = size if reading == "prefix_sums" else size * (size + 1) // 2
    return _InOrder(f"{noun} of {size} cells", reading, size, questions)


@public
def ranges(cells: int | Sequence[int]) -> Workload:
    """Return the workload of all ranges: the sums of cells from any one to any later one.

    Args:
        cells: how many cells the domain has, in order, at most 65,536; or a list of such numbers,
            one for each axis of a grid, for the sums over all its boxes.

    Raises:
        UsageError: no whole number of cells from 1 to 65,536.

    Example:
        >>> import tacit as tc
        >>> tc.workload.ranges(3).gram.tolist()
        [[3.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 3.0]]
        >>> boxes = tc.workload.ranges([16, 16])
        >>> boxes.size, round(boxes.expected_error(rho="1/2"), 2)
        (18496, 3.04)
    """
    return _in_order("ranges", "all ranges", cells)


@public
def prefix_sums(cells: int | Sequence[int]) -> Workload:
    """Return the workload of prefix sums: the sums of the first cells, 1 to all of them.

    Args:
        cells: how many cells the domain has, in order, at most 65,536; or a list of such numbers,
            one for each axis of a grid, for the sums over all boxes from its first cell.

    Raises:
        UsageError: no whole number of cells from 1 to 65,536.

    Example:
        >>> import tacit as tc
        >>> tc.workload.prefix_sums(3).gram.tolist()
        [[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    """
    return _in_order("prefix_sums", "prefix sums", cells)


@public
def queries(rows: Sequence[Sequence[float]], weights: Sequence[Number] | None = None) -> Workload:
    """Return the workload of listed questions, each a row of coefficients of the cells.

    Args:
        rows: of shape (questions, cells).
        weights: the weight of the squared error of each question, as in ``session.plan``; 1 each
            by default.  A weight of 4 counts a question as four equal ones.

    Raises:
        UsageError: rows that are not a matrix of finite numbers, more than 4,096 cells, or weights
            that do not fit.

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
    _check_dense(matrix.shape[1])
    if weights is None:
        return Workload(f"{len(matrix)} questions", matrix.T @ matrix, len(matrix), matrix)
    counted = np.asarray([float(Fraction(str(w))) for w in weights])
    if counted.shape != (len(matrix),) or not (counted > 0).all():
        raise UsageError("each question has a weight above zero")
    gram = (matrix * counted[:, None]).T @ matrix
    return Workload(f"{len(matrix)} questions", gram, len(matrix), matrix, float(counted.sum()))
