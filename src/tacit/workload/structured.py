"""Strategies of many cells, stored in a few numbers: kernels, blocks, and products of these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.exact_convolution import convolution
from tacit.errors import UsageError
from tacit.workload.strategies import MAX_DENSE, Strategy

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# No entry of what a structured strategy is made of is larger.
_LARGEST = 1 << 40

# **A reflected kernel times weights.**  The cells are put on a circle of N places together with
# their mirror image, and the counts, each times a whole weight d_j, are folded with an even kernel
# t of whole numbers.  With ``T_ij = t(i - j) + s t(i + j + c)`` the strategy is ``A = T diag(d)``:
#
# - odd (s = -1, c = 2, N = 2 n + 2): functions that are zero next to both ends, whose eigenvectors
#   are sines;
# - even (s = 1, c = 1, N = 4 n + 2, ``t(m + N / 2) = -t(m)``): functions that are level at the
#   first cell and zero after the last, whose eigenvectors are ``cos((2 k - 1) pi (2 j + 1) /
#   (4 n + 2))``.
#
# *Theorem* (sensitivity).  Let r(m) be the sum of ``t(k) t(m - k)`` over the circle, halved for
# even.  Column j of A has the squared L2 norm ``d_j^2 (r(0) + s r(2 j + c))``.  *Proof.*  Extend a
# vector of the cells to the circle by its symmetry: to an odd function, or to one that is even
# about -1/2 and changes its sign half way round.  Folding such a function with t (halved for even,
# where each cell has two images and two negatives of them) gives one of the same symmetry, and on
# the cells it is T times the vector.  So ``T T`` folds twice: it is of the same form as T, with r
# in place of t.  T is symmetric, hence the squared norm of its column j is entry (j, j) of ``T T``.
# All r(m) are computed in whole numbers (:mod:`tacit.arithmetic.exact_convolution`), so the
# sensitivity is exact.
#
# *Why these.*  The covariance that is best where every column counts the same is ``(W^T W)^(1/2)``.
# For all ranges ``W^T W`` is n + 1 times the inverse of the second difference with zeros at both
# ends, and for prefix sums the inverse of that with a level first end.  So the eigenvectors of the
# two are those above, and T is the fourth root of ``W^T W``: with ``|1 - z|^(-1/2)`` as its
# spectrum, whose kernel on the line is ``a_k = a_(k-1) (k - 3/4) / (k - 1/4)``, two images of the
# circle added.  The weights d make the columns equally long, as a fixed point of the optimum would.
# Its total is within 0.3% of the convex optimum for 64 to 1,024 cells.
#
# *Errors.*  With the eigenvalues of T the covariance of the cells is ``D^-1 T^-2 D^-1``, of the
# same form between the weights, and a prefix sum has as its variance the sum of a corner of it.
# Such sums over all corners take ``O(n (log n)^2)`` steps, by halves.


class _Structured(Strategy):
    """What the strategies here have in common: matrices only where they are few cells."""

    @cached_property
    def inverse(self) -> Array:
        check_dense(self.cells)
        return self.estimated(np.eye(self.combinations))

    @cached_property
    def covariance(self) -> Array:
        return np.asarray(self.inverse @ self.inverse.T) * float(self.squared_sensitivity)


class ReflectedStrategy(_Structured):
    """A strategy that folds weighted cells with a kernel, reflected at both ends."""

    def __init__(self, kernel: Sequence[int], weights: Sequence[int], *, even: bool) -> None:
        """Take the kernel from 0 to half the circle, and a weight for each cell."""
        cells = len(weights)
        if not cells or len(kernel) != cells + (1 if even else 2):
            raise UsageError("a reflected kernel has one number more than cells, or two if odd")
        if min(weights) < 1 or max(map(abs, [*kernel, *weights])) > 1 << 30:
            raise UsageError("a reflected kernel has whole numbers and weights of at most 2^30")
        object.__setattr__(self, "name", "reflected kernel")
        object.__setattr__(self, "norm", "L2")
        object.__setattr__(self, "kernel", np.array(kernel, dtype=np.int64))
        object.__setattr__(self, "weights", np.array(weights, dtype=np.int64))
        object.__setattr__(self, "even", even)

    kernel: Integers
    weights: Integers
    even: bool

    @property
    def cells(self) -> int:
        return len(self.weights)

    @property
    def combinations(self) -> int:
        return self.cells

    @property
    def form(self) -> dict[str, Any]:
        kind = "even" if self.even else "odd"
        return {"kernel": self.kernel.tolist(), "weights": self.weights.tolist(), "kind": kind}

    def in_norm(self, norm: str) -> Strategy:
        return self if norm == "L2" else super().in_norm(norm)

    @property
    def _sign(self) -> int:
        return 1 if self.even else -1

    @property
    def _apart(self) -> int:
        return 1 if self.even else 2

    @cached_property
    def _circle(self) -> Integers:
        """The kernel at every place of the circle."""
        if not self.even:
            return np.concatenate([self.kernel, self.kernel[-2:0:-1]])
        half = np.concatenate([self.kernel, -self.kernel[:0:-1]])
        return np.concatenate([half, -half])

    @cached_property
    def squared_norms(self) -> list[int]:
        """The squared L2 norm of each column; exact."""
        circle = self._circle
        size = len(circle)
        folded = convolution(circle, circle)
        folded[: size - 1] += folded[size:]
        twice = 2 * np.arange(self.cells) + self._apart
        square = folded[0] + self._sign * folded[twice % size]
        if self.even:
            square = square // 2
        return [int(v) * int(d) ** 2 for v, d in zip(square, self.weights, strict=True)]

    @cached_property
    def squared_sensitivity(self) -> int:
        """The square of the L2 sensitivity; exact."""
        return max(self.squared_norms)

    @cached_property
    def matrix(self) -> Integers:
        """The combinations as a matrix, where the cells are few enough."""
        check_dense(self.cells)
        at = np.arange(self.cells)
        size, circle = len(self._circle), self._circle
        near, far = circle[(at[:, None] - at) % size], circle[(at[:, None] + at + self._apart)]
        return np.asarray((near + self._sign * far) * self.weights)

    def combined(self, counts: Any) -> Any:
        """Return the combinations of whole counts, in lines along the first axis; exact."""
        lines = np.asarray(counts, dtype=object).reshape(self.cells, -1)
        weighted = lines * self.weights.astype(object)[:, None]
        n, size = self.cells, len(self._circle)
        near = self._circle[np.arange(1 - n, n) % size]
        far = self._circle[(np.arange(2 * n - 1) + self._apart) % size]
        combined = []
        for line in weighted.T:
            own = convolution(near, line)[n - 1 : 2 * n - 1]
            mirrored = convolution(far, line[::-1])[n - 1 : 2 * n - 1]
            combined.append(own + self._sign * mirrored)
        return np.array(combined, dtype=object).T.reshape(np.shape(counts))

    # ---- what follows from the noisy numbers

    @cached_property
    def _eigenvalues(self) -> Array:
        """The eigenvalues of T, at the frequencies of the circle; infinite where it has none."""
        values = np.fft.rfft(self._circle).real
        known = np.zeros(len(values), dtype=bool)
        if self.even:
            known[1::2] = True
            values = values / 2
        else:
            known[1:-1] = True
        if not (values[known] > 0).all():
            raise UsageError("a reflected kernel has a transform above zero")
        return np.where(known, values, np.inf)

    def _solved(self, lines: Array) -> Array:
        """Return ``T^-1`` times some columns."""
        size, start = len(self._circle), 0 if self.even else 1
        images = 2 if self.even else 1
        wide = np.zeros((size, lines.shape[1]))
        wide[start : start + self.cells] = lines
        wide[size - 1 - np.arange(self.cells)] += self._sign * lines
        spectrum = images / self._eigenvalues
        solved = np.fft.irfft(np.fft.rfft(wide, axis=0) * spectrum[:, None], size, axis=0)
        return np.asarray(solved[start : start + self.cells])

    def estimated(self, numbers: Array) -> Array:
        lines = numbers.reshape(self.cells, -1)
        return (self._solved(lines) / self.weights[:, None]).reshape(numbers.shape)

    @cached_property
    def _inner(self) -> Array:
        """The kernel of ``T^-2``."""
        images = 2 if self.even else 1
        return np.asarray(np.fft.irfft(images / self._eigenvalues**2, len(self._circle)))

    @cached_property
    def cell_variances(self) -> Array:
        far = self._inner[(2 * np.arange(self.cells) + self._apart) % len(self._inner)]
        return np.asarray((self._inner[0] + self._sign * far) / self.weights.astype(float) ** 2)

    @cached_property
    def prefix_variances(self) -> Array:
        shares = 1 / self.weights.astype(np.float64)
        before = _sums_below(self._inner, self._sign, self._apart, shares)
        return np.asarray(np.cumsum(self.cell_variances + 2 * shares * before))

    def covariances_with(self, weights: Array) -> Array:
        each = (weights / self.weights)[:, None]
        return np.asarray(self._solved(self._solved(each))[:, 0] / self.weights)


def _sums_below(kernel: Array, sign: int, apart: int, shares: Array) -> Array:
    """Return of each cell i the sum over all j < i of the shares times ``M_ij``."""
    # M_ij is the kernel at i - j and, with a sign, at i + j + apart.  By halves: of each block of
    # 2 b cells the first half tells the second in one product of transforms.
    cells = len(shares)
    wide = 1 << (cells - 1).bit_length()
    padded = np.zeros(wide)
    padded[:cells] = shares
    sums, b = np.zeros(wide), 1
    while b < wide:
        first = padded.reshape(-1, 2 * b)[:, :b]
        starts = 2 * b * np.arange(len(first))
        steps = np.arange(2 * b)
        near = kernel[(steps + 1) % len(kernel)]
        far = kernel[(2 * starts[:, None] + b + steps + apart) % len(kernel)]
        length = 4 * b
        product = np.fft.rfft(far, length) * np.fft.rfft(first[:, ::-1], length) * sign
        product += np.fft.rfft(near, length) * np.fft.rfft(first, length)
        sums.reshape(-1, 2 * b)[:, b:] += np.fft.irfft(product, length)[:, b - 1 : 2 * b - 1]
        b *= 2
    return sums[:cells]


# **Blocks.**  The cells are cut into blocks of w (the last may have fewer).  Each block is measured
# by the same whole matrix B times a whole weight d_a, and next to these are sums of blocks, with
# the whole coefficients S.  A cell j of block a moves the combinations by ``d_a |B e_j| + |S e_a|``
# in L1: an integer, so that the sensitivity is exact.  With ``V = B^T B`` of a block (of its own
# columns, in the last), ``u = V^-1 1`` and ``v_a = 1^T u / d_a^2``, least squares is
#
#     ``(A^T A)^-1 = P - P E^T S^T (I + S diag(v) S^T)^-1 S E P``,  ``P = diag(V^-1 / d_a^2)``,
#
# with E for the sums of blocks (Sherman, Morrison and Woodbury).


class BlockStrategy(_Structured):
    """A strategy that measures blocks of cells alike, and sums of blocks next to them."""

    def __init__(
        self, inner: Any, sums: Any, weights: Sequence[int], cells: int, norm: str = "L1"
    ) -> None:
        """Take the matrix of a block, the sums of blocks, the blocks' weights, and the cells."""
        matrix, outer = np.array(inner, dtype=np.int64), np.array(sums, dtype=np.int64)
        outer = outer.reshape(-1, len(weights))
        blocks = -(-cells // matrix.shape[1]) if matrix.ndim == 2 and matrix.size else 0
        if blocks != len(weights) or min(weights) < 1:
            raise UsageError("blocks have a weight each, and cover all cells")
        ends = [int(e) for m in (matrix, outer) for e in (-int(m.min(initial=0)), m.max(initial=0))]
        if max(ends) > _LARGEST:
            raise UsageError("blocks and sums of them have whole numbers of at most 2^40")
        object.__setattr__(self, "name", f"blocks of {matrix.shape[1]} and sums of them")
        object.__setattr__(self, "norm", norm)
        object.__setattr__(self, "inner", matrix)
        object.__setattr__(self, "sums", outer)
        object.__setattr__(self, "weights", np.array(weights, dtype=np.int64))
        object.__setattr__(self, "_cells", cells)

    inner: Integers
    sums: Integers
    weights: Integers
    _cells: int

    @property
    def cells(self) -> int:
        return self._cells

    @property
    def combinations(self) -> int:
        return len(self.weights) * len(self.inner) + len(self.sums)

    @property
    def form(self) -> dict[str, Any]:
        return {
            "blocks": self.inner.tolist(),
            "sums": self.sums.tolist(),
            "weights": self.weights.tolist(),
            "cells": self.cells,
        }

    def in_norm(self, norm: str) -> Strategy:
        return BlockStrategy(self.inner, self.sums, self.weights.tolist(), self.cells, norm)

    @cached_property
    def squared_sensitivity(self) -> int:
        """The square of the sensitivity in the norm; exact."""
        power = 1 if self.norm == "L1" else 2
        own, above = (np.abs(each.astype(object)) ** power for each in (self.inner, self.sums))
        columns = own.sum(axis=0)
        outer = above.sum(axis=0) if len(above) else [0] * len(self.weights)
        last = int(max(columns[: self._last]))
        full = [int(max(columns))] * (len(self.weights) - 1)
        weights = self.weights.tolist()
        each = [
            d**power * n + int(s) for d, n, s in zip(weights, [*full, last], outer, strict=True)
        ]
        largest = int(max(each))
        return largest**2 if self.norm == "L1" else largest

    @property
    def _wide(self) -> int:
        return int(self.inner.shape[1])

    @property
    def _last(self) -> int:
        """How many cells the last block has."""
        return self.cells - self._wide * (len(self.weights) - 1)

    @cached_property
    def matrix(self) -> Integers:
        """The combinations as a matrix, where the cells are few enough."""
        check_dense(self.cells)
        own = np.kron(np.diag(self.weights), self.inner)
        above = np.repeat(self.sums, self._wide, axis=1)
        return np.asarray(np.vstack([own, above])[:, : self.cells])

    def combined(self, counts: Any) -> Any:
        """Return the combinations of whole counts, in lines along the first axis; exact."""
        lines = np.asarray(counts, dtype=object).reshape(self.cells, -1)
        blocks = self._by_block(lines)
        own = np.tensordot(self.inner.astype(object), blocks, (1, 1))  # (rows, blocks, lines)
        own = np.swapaxes(own * self.weights.astype(object)[:, None], 0, 1)
        above = np.dot(self.sums.astype(object), blocks.sum(axis=1))
        every = np.concatenate([own.reshape(-1, lines.shape[1]), above])
        return every.reshape(-1, *np.shape(counts)[1:])

    def _by_block(self, lines: Any) -> Any:
        """Return lines of cells by block, with zeros behind the last."""
        wide = np.zeros((len(self.weights) * self._wide, lines.shape[1]), dtype=lines.dtype)
        wide[: self.cells] = lines
        return wide.reshape(len(self.weights), self._wide, -1)

    # ---- what follows from the noisy numbers

    @cached_property
    def _inverses(self) -> tuple[Array, Array]:
        """``V^-1`` of a block, and that of the last, with zeros for cells that it has not."""
        wide = self.inner.astype(np.float64)
        last, few = np.zeros((self._wide, self._wide)), wide[:, : self._last]
        last[: self._last, : self._last] = np.linalg.inv(few.T @ few)
        return np.asarray(np.linalg.inv(wide.T @ wide)), last

    def _within(self, blocks: Array) -> Array:
        """Return P times columns by block."""
        full, last = self._inverses
        solved = np.concatenate([full @ blocks[:-1], (last @ blocks[-1])[None]])
        return np.asarray(solved / self.weights.astype(np.float64)[:, None, None] ** 2)

    @cached_property
    def _outer(self) -> Array:
        """The matrix ``S^T (I + S diag(v) S^T)^-1 S``."""
        sums = self.sums.astype(np.float64)
        full, last = self._inverses
        known = np.full(len(self.weights), full.sum())
        known[-1] = last.sum()
        known /= self.weights.astype(np.float64) ** 2
        middle = np.eye(len(sums)) + (sums * known) @ sums.T
        return np.asarray(sums.T @ np.linalg.solve(middle, sums))

    def _solved(self, blocks: Array) -> Array:
        """Return ``(A^T A)^-1`` times columns by block."""
        within = self._within(blocks)
        outer = self._outer @ within.sum(axis=1)
        return within - self._within(np.broadcast_to(outer[:, None], within.shape))

    def estimated(self, numbers: Array) -> Array:
        lines = numbers.reshape(self.combinations, -1)
        split = len(lines) - len(self.sums)
        own = lines[:split].reshape(len(self.weights), len(self.inner), -1)
        blocks = self.inner.T.astype(np.float64) @ own * self.weights[:, None, None]
        blocks = blocks + (self.sums.T.astype(np.float64) @ lines[split:])[:, None]
        cells = self._solved(blocks).reshape(-1, lines.shape[1])[: self.cells]
        return np.asarray(cells.reshape(-1, *numbers.shape[1:]))

    @cached_property
    def _corners(self) -> tuple[Array, Array]:
        """The variances of the cells and those of the prefix sums."""
        # Of a prefix sum that ends in block a after r cells: with p for these cells and e for the
        # blocks before, the variance is p^T P p + sum v_b of the blocks before, less y^T C y for
        # the sums y by block of P p and P e.
        full, last = self._inverses
        squares = self.weights.astype(np.float64) ** 2
        known = np.append(np.full(len(squares) - 1, full.sum()), last.sum()) / squares
        before = np.concatenate([[0.0], np.cumsum(known)[:-1]])
        outer = self._outer
        with_before = np.concatenate(
            [np.zeros((1, len(known))), np.cumsum(outer * known, axis=1).T[:-1]]
        )  # row a: C times the known of the blocks before a
        twice = np.array([(with_before[a, :a] * known[:a]).sum() for a in range(len(known))])
        cells, prefixes = [], []
        for a, square in enumerate(squares):
            own = (full if a < len(squares) - 1 else last) / square
            steps = own.sum(axis=1)  # the sum over the block of each column of P
            sums = np.cumsum(steps)
            corner = np.diag(np.cumsum(np.cumsum(own, axis=0), axis=1))
            cells.append(np.diag(own) - outer[a, a] * steps**2)
            less = twice[a] + 2 * sums * with_before[a, a] + outer[a, a] * sums**2
            prefixes.append(corner + before[a] - less)
        n = self.cells
        return np.asarray(np.concatenate(cells)[:n]), np.asarray(np.concatenate(prefixes)[:n])

    @property
    def cell_variances(self) -> Array:
        return self._corners[0]

    @property
    def prefix_variances(self) -> Array:
        return self._corners[1]

    def covariances_with(self, weights: Array) -> Array:
        return np.asarray(self._solved(self._by_block(weights[:, None])).ravel()[: self.cells])


# **Products.**  Questions about boxes are products of questions about each axis, and so are their
# strategies: one row moves the combinations by a product of columns, whose norm (L1 or L2) is the
# product of theirs.  The covariance is a product too, hence the total squared error.  For Gaussian
# noise a product of optima is an optimum: the dual value of the convex program at the product of
# the multipliers is the product of the dual values.


class ProductStrategy(_Structured):
    """A strategy for boxes of cells: one for each axis, multiplied."""

    def __init__(self, factors: Sequence[Strategy]) -> None:
        """Take the strategies of the axes, all of one norm."""
        if len({factor.norm for factor in factors}) != 1:
            raise UsageError("a product has one or more strategies of one norm")
        object.__setattr__(self, "name", " times ".join(factor.name for factor in factors))
        object.__setattr__(self, "norm", factors[0].norm)
        object.__setattr__(self, "factors", tuple(factors))

    factors: tuple[Strategy, ...]

    @property
    def cells(self) -> int:
        return math.prod(factor.cells for factor in self.factors)

    @property
    def combinations(self) -> int:
        return math.prod(factor.combinations for factor in self.factors)

    @property
    def form(self) -> dict[str, Any]:
        return {"product": [factor.form for factor in self.factors]}

    def in_norm(self, norm: str) -> Strategy:
        return ProductStrategy([factor.in_norm(norm) for factor in self.factors])

    @cached_property
    def squared_sensitivity(self) -> int:
        """The square of the sensitivity in the norm; exact."""
        return math.prod(int(factor.squared_sensitivity) for factor in self.factors)

    @cached_property
    def matrix(self) -> Integers:
        """The combinations as a matrix, where the cells are few enough."""
        check_dense(self.cells)
        whole = np.ones((1, 1), dtype=np.int64)
        for factor in self.factors:
            whole = np.kron(whole, factor.matrix)
        return whole

    def combined(self, counts: Any) -> Any:
        """Return the combinations of whole counts, the last axis varying fastest; exact."""
        return self._along(np.asarray(counts, dtype=object), "combined")

    def estimated(self, numbers: Array) -> Array:
        return np.asarray(self._along(numbers, "estimated"))

    def _along(self, values: Any, method: str) -> Any:
        sizes = [f.cells if method == "combined" else f.combinations for f in self.factors]
        wide = values.reshape(*sizes, *values.shape[1:])
        for axis, factor in enumerate(self.factors):
            wide = np.moveaxis(getattr(factor, method)(np.moveaxis(wide, axis, 0)), 0, axis)
        return wide.reshape(-1, *values.shape[1:])


def check_dense(cells: int) -> None:
    """Raise if there are more cells than a matrix is formed for."""
    if cells > MAX_DENSE:
        raise UsageError(
            f"the matrix of a strategy for {cells:,} cells takes {8 * cells**2 / 1e9:,.1f} GB and "
            "more; use combined() and estimated()"
        )


def decoded(form: Any, norm: str) -> Strategy:
    """Return the strategy that a form describes.

    Raises:
        UsageError: a form that is none.

    >>> strategy = decoded({"kernel": [4, 2, 1], "weights": [1, 1], "kind": "even"}, "L2")
    >>> strategy.matrix.tolist(), strategy.squared_sensitivity
    ([[6, 3], [3, 3]], 45)
    """
    if not isinstance(form, Mapping):
        return Strategy("listed", _whole(form), norm)
    try:
        if form.keys() == {"kernel", "weights", "kind"} and form["kind"] in ("even", "odd"):
            kernel, weights = (_line(form[name]) for name in ("kernel", "weights"))
            return ReflectedStrategy(kernel, weights, even=form["kind"] == "even").in_norm(norm)
        if form.keys() == {"blocks", "sums", "weights", "cells"}:
            cells = as_integer(form["cells"], "the number of cells", minimum=1)
            inner, sums = _whole(form["blocks"]), [_line(row) for row in form["sums"]]
            return BlockStrategy(inner, sums, _line(form["weights"]), cells, norm)
        if form.keys() == {"product"} and form["product"]:
            return ProductStrategy([decoded(each, norm) for each in form["product"]])
    except (TypeError, OverflowError):
        pass
    raise UsageError("a strategy is rows of whole numbers, a kernel, blocks, or a product of these")


def _line(numbers: Any) -> list[int]:
    return [as_integer(n, "a number of a strategy") for n in numbers]


def _whole(rows: Any) -> Integers:
    lines = [_line(row) for row in rows]
    if not lines or not lines[0] or len({len(line) for line in lines}) > 1:
        raise UsageError("a strategy has rows of whole numbers, all of one length")
    return np.array(lines, dtype=np.int64)
