"""Strategies: which queries to measure so that a workload has the least error."""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.errors import UsageError

# The minimum of a smooth function of numbers that are not negative.


_REMEMBERED = 20
_HALVINGS = 30
_BLOCK = 50  # this many steps are taken before it is asked how much they brought

Array = NDArray[np.float64]


def minimise(
    of: Callable[[Array], tuple[float, Array]],
    start: Array,
    steps: int,
    tolerance: float = 1e-4,
) -> Array:
    """Return a point with every coordinate at least zero where a function is (locally) least.

    >>> minimise(lambda x: (float(((x - 1) ** 2).sum()), 2 * (x - 1)), np.zeros(2), 50).tolist()
    [1.0, 1.0]
    """
    # The quasi-Newton method with limited memory, on the coordinates that are free: those above
    # zero, or that want to rise.  Each step is projected onto the numbers that are not negative,
    # and halved until the function falls enough (Byrd, Lu, Nocedal, Zhu 1995, in its simplest
    # form).
    #
    # tolerance: it ends where 50 steps lower the value by less than this share.
    point = start
    value, slope = of(point)
    before = value
    memory: deque[tuple[Array, Array, float]] = deque(maxlen=_REMEMBERED)
    for step in range(1, steps + 1):
        free = (point > 0) | (slope < 0)
        towards = _direction(np.where(free, slope, 0.0), free, memory)
        if _sum(towards * slope) >= 0:
            memory.clear()
            towards = _direction(np.where(free, slope, 0.0), free, memory)
        shorter = _shorter(of, point, value, slope, towards)
        if shorter is None:
            break
        new, new_value, new_slope = shorter
        moved, turned = new - point, new_slope - slope
        curved = _sum(moved * turned)
        if curved > 1e-12 * _sum(turned * turned):
            memory.append((moved, turned, 1 / curved))
        point, value, slope = new, new_value, new_slope
        if step % _BLOCK == 0:
            if before - value < tolerance * abs(value):
                break
            before = value
    return point


def _sum(terms: Array) -> float:
    # as terms.sum(), which spends more time on its arguments than on some dozens of numbers
    return float(np.add.reduce(terms, axis=None))


def _direction(
    slope: Array, free: NDArray[np.bool_], memory: deque[tuple[Array, Array, float]]
) -> Array:
    """Return the way down that the last steps suggest."""
    along, used = slope, []
    for moved, turned, inverse in reversed(memory):
        share = inverse * _sum(moved * along)
        used.append(share)
        along = along - share * turned
    if memory:
        _, turned, inverse = memory[-1]
        along = along / (inverse * _sum(turned * turned))
    else:
        along = along / (10 * max(float(np.abs(along).max()), 1e-300))
    for (moved, turned, inverse), share in zip(memory, reversed(used), strict=True):
        along = along + moved * (share - inverse * _sum(turned * along))
    return np.asarray(-np.where(free, along, 0.0))


def _shorter(
    of: Callable[[Array], tuple[float, Array]],
    point: Array,
    value: float,
    slope: Array,
    towards: Array,
) -> tuple[Array, float, Array] | None:
    """Return the first of ever shorter steps that lowers the value; None where none does."""
    length = 1.0
    for _ in range(_HALVINGS):
        new = np.maximum(point + length * towards, 0.0)
        new_value, new_slope = of(new)
        if new_value < value and new_value <= value + 1e-4 * _sum(slope * (new - point)):
            return new, new_value, new_slope
        length /= 2
    return None


# Linear algebra whose every bit is the same on every machine.
#
# Libraries of linear algebra add up in an order that depends on the processor, so that the last
# bits of what they find do too.  Where numbers are rounded to whole ones that a ledger or a
# certificate states, that is not enough.  Here everything is elementwise, in a fixed order: sums,
# differences, products, quotients and square roots of doubles are rounded as IEEE 754 says, on
# every machine.


_ROUNDS = 60
_CLOSE = 1e-11


def product(left: Array, right: Array) -> Array:
    """Return the matrix product, added up column by column.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    result = np.zeros((len(left), right.shape[1]))
    for index in range(left.shape[1]):
        result += left[:, index, None] * right[index]
    return result


_SLICE = 21
# So few products at once are added by one thread; several that wait for each other cost more.
_SERIAL = 1 << 18


def sliced_product(left: Array, right: Array) -> Array:
    """Return the matrix product to about 2^-40 of its largest terms, the same on every machine.

    >>> sliced_product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    # Each matrix is cut into two of whole numbers below 2^21.  A sum of up to 2^10 products of them
    # is exact in a double, whatever the order in which a library adds, or with which instructions.
    # Longer sums are cut first.
    most = 1 << (52 - 2 * _SLICE)
    result = np.zeros((len(left), right.shape[1]))
    for start in range(0, left.shape[1], most):
        high, low, one = _slices(left[:, start : start + most])
        top, bottom, other = _slices(right[start : start + most])
        wide = max(1, _SERIAL // (len(left) * len(top)))
        for at in range(0, right.shape[1], wide):
            part = slice(at, at + wide)
            crossed = high @ bottom[:, part] + low @ top[:, part]
            result[:, part] += (high @ top[:, part] + crossed / (1 << _SLICE)) * (one * other)
    return result


def _slices(matrix: Array) -> tuple[Array, Array, float]:
    """Return two matrices of whole numbers, and the power of two that is their unit."""
    exponent = math.frexp(float(np.abs(matrix).max(initial=0.0)))[1] - _SLICE
    scaled = np.ldexp(matrix, -exponent)
    high = np.rint(scaled)
    return high, np.rint((scaled - high) * (1 << _SLICE)), math.ldexp(1.0, exponent)


def trace_of_product(left: Array, right: Array) -> float:
    """Return the trace of ``left @ right.T``: the sum of the products, rounded once."""
    return math.fsum((left * right).ravel().tolist())


def cholesky(matrix: Array) -> Array:
    """Return the lower triangular L with ``L L^T`` equal to a positive definite matrix.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    rest, factor = matrix.copy(), np.zeros_like(matrix)
    tolerance = 1e-14 * float(np.diag(matrix).max())
    for index in range(len(matrix)):
        root = math.sqrt(max(float(rest[index, index]), tolerance))
        factor[index:, index] = rest[index:, index] / root
        factor[index, index] = root
        below = factor[index + 1 :, index]
        rest[index + 1 :, index + 1 :] -= below[:, None] * below
    return factor


def inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix, by elimination without exchanges.

    >>> inverse(np.array([[2.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    result = matrix.copy()
    for index in range(len(result)):
        pivot = float(result[index, index])
        row, column = result[index] / pivot, result[:, index].copy()
        column[index] = 0.0
        result -= column[:, None] * row
        result[:, index] = -column / pivot
        result[index] = row
        result[index, index] = 1 / pivot
    return result


def square_root(matrix: Array) -> Array:
    """Return the positive definite square root of a positive definite matrix.

    >>> square_root(np.array([[4.0, 0.0], [0.0, 9.0]])).round(9).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    # The iteration of Denman and Beavers, ``Y <- (c Y + (c Z)^-1) / 2`` and
    # ``Z <- (c Z + (c Y)^-1) / 2`` from the matrix and the identity, under which Y goes to the root
    # and Z to its inverse (Higham, *Functions of matrices*, 2008, section 6.3).  The numbers c
    # speed up its beginning.
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


# The strategy with the smallest total error under Laplace noise, among p-identities.
#
# Under pure differential privacy the program over all strategies is not convex.  A p-identity is
# the cells and p sums of cells more, with weights: ``A = [D; T D]`` with T >= 0 of p rows, and D
# the diagonal matrix that makes every column add up to 1 (McKenna, Miklau, Hay, Machanavajjhala,
# *Optimizing error of high-dimensional statistical queries under differential privacy*, VLDB 2018).
# All that is computed with are matrices of p rows (and, by :mod:`tacit.workload.strategies`, the
# same on every machine): with c = 1 + the column sums of T, ``H = c c^T * G`` and ``S = I + T
# T^T``,
#
#     trace(G (A^T A)^-1) = trace H - trace(S^-1 T H T^T).
#
# The cells may be blocks of cells that are measured by a strategy of their own, of covariance V^-1
# with the row sums u: then ``T H T^T`` and S become ``T H' T^T`` and ``I + T diag(r) T^T``, with
# ``c_a c_b u^T G_ab u`` in H' and ``r = 1^T u``, and ``trace H`` the sum of ``c_a^2 trace(G_aa
# V^-1)`` (:mod:`tacit.workload.structured`).  Blocks of one cell have r = 1 and H' = H.


_STEPS = 400
_GOLDEN = (5**0.5 - 1) / 2


def p_identity(gram: Array, sums: int) -> Array:
    """Return a p-identity with columns that add up to 1, of little error for W^T W.

    >>> found = p_identity(np.ones((4, 4)), 1)
    >>> found.shape, np.allclose(found.sum(axis=0), 1)
    ((5, 4), True)
    """
    size = len(gram)
    multiply = product if size <= 64 else sliced_product
    rows = sums_of_blocks(Blocks(gram, np.diag(gram), np.ones(size)), sums, multiply)
    return np.asarray(np.vstack([np.eye(size), rows]) / (1 + rows.sum(axis=0)))


class Blocks(NamedTuple):
    """Questions by blocks that are measured, and get sums next to them.

    With V^-1 for the covariance of the cells of a block and u for its row sums, gram has
    ``u_a^T G_ab u_b``, diagonal ``trace(G_aa V^-1)``, and sizes the variance of a block's sum.
    """

    gram: Array
    diagonal: Array
    sizes: Array


def sums_of_blocks(
    blocks: Blocks, sums: int, multiply: Callable[[Array, Array], Array] = sliced_product
) -> Array:
    """Return the coefficients T >= 0 of sums of blocks that lower the total error."""
    trace = float(blocks.diagonal.sum())
    scaled = Blocks(blocks.gram / trace, blocks.diagonal / trace, blocks.sizes)
    # a sum of a block with much noise gets small coefficients
    start = _scattered(sums, len(blocks.sizes)) / np.sqrt(blocks.sizes)
    return minimise(lambda weights: _error(weights, scaled, multiply), start, _STEPS, 2e-3)


def _scattered(sums: int, size: int) -> Array:
    """Return numbers of [0, 1) without a pattern, the same each time: where a search begins."""
    positions = np.arange(sums * size, dtype=np.float64).reshape(sums, size)
    coarse = 997 * (_GOLDEN * (positions + 1) ** 2 % 1.0)
    return np.asarray((coarse + 2**0.5 * positions**3) % 1.0)


def _error(
    weights: Array, blocks: Blocks, multiply: Callable[[Array, Array], Array] = product
) -> tuple[float, Array]:
    """Return the total error of a p-identity, and its gradient in T."""
    gram, diagonal, sizes = blocks
    total = 1 + weights.sum(axis=0)
    across = np.ascontiguousarray(weights.T)
    inside = multiply(inverse(np.eye(len(weights)) + multiply(weights * sizes, across)), weights)
    half = multiply(inside * total, gram)
    whole = half * total
    square = multiply(whole, across)
    value = trace_of_product(total**2, diagonal) - float(np.trace(square))
    by_total = 2 * (total * diagonal - (weights * half).sum(axis=0))
    return value, -2 * (whole - multiply(square, inside) * sizes) + by_total


# The strategy with the smallest total error under Gaussian noise: a convex program, solved.
#
# Let G = W^T W for the questions W, and X = A^T A for a strategy A.  Where one row moves A x by at
# most 1 in L2, ``diag X <= 1``, noise of deviation s on A x gives the total squared error
# ``s^2 trace(G X^-1)`` (Li, Miklau, Hay, McGregor, Rastogi, *The matrix mechanism*, VLDB J. 2015),
# convex in X.  Its dual: for multipliers v > 0 with R = diag(v)^(1/2)
#
#     max over v of (trace (R G R)^(1/2))^2 / sum v,   reached by X = R^-1 (R G R)^(1/2) R^-1.
#
# *Proof that it is a bound.*  For every X with ``diag X <= 1``, ``trace(G X^-1) sum v >= trace(G
# X^-1) trace(R X R) >= (trace (R G R)^(1/2))^2``, the last step by Cauchy and Schwarz for the
# nuclear norm of ``(W X^(-1/2)) (X^(1/2) R)``.  At v = 1 it is the bound of singular values.
#
# Multipliers are found as a fixed point, ``v <- diag (R G R)^(1/2)`` (Denisov, McMahan, Rush,
# Smith, Thakurta, NeurIPS 2022, section 4.2); the two values show how far from the optimum X can
# be.


_GAP = 5e-4
# Added to G, relative to its mean diagonal: cells that no question needs are reported a little too.
_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Optimum:
    """A strategy as X = A^T A with ``diag X <= 1``, and what no strategy can be below."""

    square: Array
    bound: float  # at most the total squared error of every strategy, for noise of deviation 1
    multipliers: Array  # the numbers v at which X was found

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
    regularised = gram + np.eye(size) * (_RIDGE * np.trace(gram) / size)
    multipliers, best = np.ones(size), 0.0
    root, square = np.ones(size), np.eye(size)
    for _ in range(_ROUNDS):
        root = np.sqrt(multipliers)
        values, vectors = np.linalg.eigh(root[:, None] * regularised * root)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-15))
        middle = (vectors * roots) @ vectors.T
        trace = float(roots.sum())
        best = max(best, trace**2 / float(multipliers.sum()))
        square = middle / root[:, None] / root
        maximum = float(np.diag(square).max())
        # trace(G X^-1) = trace(R G R M^-1) = trace M, and X is scaled to a diagonal of 1 at most
        if maximum * trace <= best * (1 + _GAP):
            break
        multipliers = np.maximum(np.diag(middle), 1e-12 * float(np.diag(middle).max()))
    square = (square + square.T) / (2 * float(np.diag(square).max()))
    values = np.linalg.eigvalsh(root[:, None] * gram * root)  # of the questions without the ridge
    bound = float(np.sqrt(np.maximum(values, 0.0)).sum()) ** 2 / float((root**2).sum())
    return Optimum(square, bound, root**2)


# A strategy of integers: what gets noise, how far one row moves it, what follows from it.


# No entry is larger, so that sums over all rows of a table stay far within 64 bits.
_LARGEST = 1 << 20
MAX_DENSE = 4096  # a matrix is formed for at most this many cells


@dataclass(frozen=True, eq=False)
class Strategy:
    """Whole-number combinations of cells that get noise.

    Attributes:
        name: how it was found.
        matrix: one combination a row, of shape (combinations, cells).
        norm: ``"L1"`` for Laplace noise, ``"L2"`` for Gaussian noise.

    *Sensitivity.*  A row that is added or removed changes one cell by one, hence the combinations
    by a column of the matrix: by its L1 norm, an integer, or its L2 norm, whose square is one.
    So the largest norm of a column is exact, whatever the matrix was rounded from.

    >>> tree = block_tree(4, 2, "L1")
    >>> tree.matrix.shape, tree.sensitivity
    ((7, 4), Fraction(3, 1))
    """

    name: str
    matrix: NDArray[np.int64]
    norm: str

    def __post_init__(self) -> None:
        ends = self.matrix.min(initial=0), self.matrix.max(initial=0)  # abs() keeps -2^63 negative
        if self.matrix.ndim != 2 or max(-int(ends[0]), int(ends[1])) > _LARGEST:
            raise UsageError("a strategy is a matrix of whole numbers of at most 2^20")

    @property
    def cells(self) -> int:
        """Number of cells of the domain."""
        return int(self.matrix.shape[1])

    @property
    def combinations(self) -> int:
        """How many combinations of cells get noise."""
        return len(self.matrix)

    @property
    def form(self) -> Any:
        """What the strategy is made of: rows of whole numbers, or a mapping of fewer numbers."""
        return self.matrix.tolist()

    def in_norm(self, norm: str) -> Strategy:
        """Return the same combinations with the sensitivity of another norm."""
        return Strategy(self.name, self.matrix, norm)

    def combined(self, counts: Any) -> Any:
        """Return the combinations of whole counts; exact.

        Args:
            counts: of the cells along the first axis.

        >>> identity(2, "L1").combined([3, 4]).tolist()
        [3, 4]
        """
        return np.tensordot(self.matrix.astype(object), np.asarray(counts, dtype=object), (1, 0))

    def estimated(self, numbers: Array) -> Array:
        """Return the counts of the cells by least squares."""
        return np.asarray(np.tensordot(self.inverse, numbers, (1, 0)))

    def require_all_cells(self) -> None:
        """Raise UsageError if the counts of the cells do not follow from the combinations."""
        # Without noise least squares returns the counts, whatever they are, or what the matrix
        # tells of them.  They are secret, so that no matrix can be made to tell just these.
        counts = np.frombuffer(secrets.token_bytes(self.cells), np.uint8).astype(np.int64)
        try:
            with np.errstate(all="ignore"):
                found = self.estimated(self.combined(counts).astype(np.float64))
        except np.linalg.LinAlgError:
            found = np.full(self.cells, np.nan)
        if not np.abs(found - counts).max() < 0.01:
            raise UsageError(
                "the sums of a certificate do not say how many rows each value or bin has"
            )

    @cached_property
    def squared_sensitivity(self) -> int:
        """The square of the L2 sensitivity, or of the L1 sensitivity; exact."""
        if self.norm == "L1":
            return int(np.abs(self.matrix).sum(axis=0).max()) ** 2
        return max(sum(int(v) ** 2 for v in column if v) for column in self.matrix.T)

    @property
    def sensitivity(self) -> Fraction:
        """Sensitivity of the combinations to one row, in the norm: exact, or rounded up for L2."""
        root = math.isqrt(self.squared_sensitivity)
        if root * root == self.squared_sensitivity:
            return Fraction(root)
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

    # Variances and covariances for noise of variance 1.

    @property
    def cell_variances(self) -> Array:
        """The variance of each cell, for noise of variance 1."""
        return np.diag(self.covariance) / float(self.squared_sensitivity)

    @property
    def prefix_variances(self) -> Array:
        """The variance of each prefix sum, for noise of variance 1."""
        sums = np.cumsum(np.cumsum(self.covariance, axis=0), axis=1)
        return np.diag(sums) / float(self.squared_sensitivity)

    def covariances_with(self, weights: Array) -> Array:
        """Return the covariance of every cell with a weighted sum of them."""
        return np.asarray(self.covariance @ weights) / float(self.squared_sensitivity)


def rounded(name: str, factor: Array, norm: str, scale: int) -> Strategy:
    """Return a strategy of real numbers times a scale, rounded to integers.

    >>> rounded("example", np.array([[0.5, 0.26], [0.0, 0.001]]), "L1", 100).matrix.tolist()
    [[50, 26]]
    """
    # Rows that become zero are left out.
    matrix = np.rint(factor * scale).astype(np.int64)
    return Strategy(name, matrix[np.abs(matrix).sum(axis=1) > 0], norm)


def identity(cells: int, norm: str) -> Strategy:
    """Return the strategy that adds noise to each cell."""
    return Strategy("identity", np.eye(cells, dtype=np.int64), norm)


def block_tree(cells: int, branching: int, norm: str) -> Strategy:
    """Return the strategy that adds noise to every block of cells of a tree.

    >>> block_tree(4, 2, "L2").matrix.tolist()[:3]
    [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    """
    # Hay, Rastogi, Miklau, Suciu, *Boosting the accuracy of differentially private histograms
    # through consistency* (VLDB 2010).
    width = 1
    while width < cells:
        width *= branching
    rows: list[Sequence[tuple[int, int]]] = []
    while width >= 1:
        rows.append([(start, min(start + width, cells)) for start in range(0, cells, width)])
        width //= branching
    blocks = [block for level in rows for block in level]
    matrix = np.zeros((len(blocks), cells), dtype=np.int64)
    for index, (start, end) in enumerate(blocks):
        matrix[index, start:end] = 1
    return Strategy(f"tree of {branching}", matrix, norm)


def wavelet(cells: int, norm: str) -> Strategy:
    """Return the strategy of Haar wavelets: differences of halves, and the total.

    >>> wavelet(4, "L1").matrix.tolist()
    [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]
    """
    # Xiao, Wang, Gehrke, *Differential privacy via wavelet transforms* (ICDE 2010).
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
