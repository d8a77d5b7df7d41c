"""Strategies for the cells of several questions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.expressions.dialect import bin_names
from tacit.workload.marginals import Subset, cheapest_cover, total_of

# How a question reads the bins of a column: each alone, the first ones, or all ranges of them.
#
# A question takes a matrix W of zeros and ones times the counts of the bins.  The rows of W are
# never written out: ranges of 256 bins are 32,896.


Array = NDArray[np.float64]

READINGS = ("cells", "ranges", "prefix_sums")
SHARES = "shares"  # prefix sums next to their total: what is counted are prefix sums


def counted_as(reading: str) -> str:
    """Return the sums of bins that a question is answered from.

    >>> counted_as("shares"), counted_as("ranges")
    ('prefix_sums', 'ranges')
    """
    return "prefix_sums" if reading == SHARES else reading


def size_of(reading: str, bins: int) -> int:
    """Return how many numbers a question has.

    >>> [size_of(reading, 4) for reading in READINGS]
    [4, 10, 4]
    """
    return bins * (bins + 1) // 2 if reading == "ranges" else bins


def names_of(reading: str, edges: Sequence[Fraction]) -> list[str]:
    """Return what the numbers are called.

    >>> names_of("prefix_sums", [0, 18, 99]), names_of("ranges", [0, 18, 99])
    (['[0, 18)', '[0, 99]'], ['[0, 18)', '[0, 99]', '[18, 99]'])
    """
    if reading == "cells":
        return bin_names(edges)
    first = edges[:1] if counted_as(reading) == "prefix_sums" else edges
    last = edges[-1]
    return [
        f"[{show(low)}, {show(high)}{']' if high == last else ')'}"
        for low, high in itertools.product(first, edges)
        if low < high
    ]


def taken(reading: str, cells: Array) -> Array:
    """Return the answers, from the counts of the bins along the last axis.

    >>> taken("ranges", np.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 3.0, 7.0, 2.0, 6.0, 4.0]
    """
    if reading == "cells":
        return cells
    sums = np.cumsum(cells, axis=-1)
    if reading == "prefix_sums":
        return np.asarray(sums)
    low, high = _pairs(cells.shape[-1])
    prefix = np.concatenate([np.zeros_like(sums[..., :1]), sums], axis=-1)
    return np.asarray(prefix[..., high] - prefix[..., low])


def squares(reading: str, covariance: Array) -> Array:
    """Return the variance of each answer, from the covariance of the counts of the bins."""
    if reading == "cells":
        return np.asarray(np.diag(covariance))
    sums = np.cumsum(np.cumsum(covariance, axis=0), axis=1)
    if reading == "prefix_sums":
        return np.asarray(np.diag(sums))
    low, high = _pairs(len(covariance))
    padded = np.pad(sums, ((1, 0), (1, 0)))
    sums_of_squares = padded[high, high] + padded[low, low] - 2 * padded[low, high]
    return np.asarray(np.maximum(sums_of_squares, 0.0))


def magnitudes(reading: str, weights: Array) -> Array:
    """Return the sum of the sizes of the weights that each answer has, from those of the bins."""
    # weights: of each bin the weights of the noisy numbers, shape (bins, numbers).
    largest = np.zeros(size_of(reading, len(weights)))
    for column in weights.T:
        largest += np.abs(taken(reading, column))
    return largest


def _pairs(bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    low, high = np.triu_indices(bins + 1, 1)
    return low, high


# Which counts of cells get noise, and how much, so that many questions have little error together.
#
# Let the domain be a product of axes i with n_i cells, every row being in one cell of each, and let
# a question ask for some cells of the marginal on a set A of axes.  With ``P = I - 1 1^T / n`` on
# an axis, the count of a cell a is the sum over the subsets B of A of ``prod_(i in A - B) 1 / n_i``
# times the entry a of the residual of B, which is the product of P over B of the marginal on B
# (:mod:`tacit.workload.marginals`).  If the residual of B is known with the covariance ``s_B
# prod_(i in B) P``, the residuals being independent, the variance of that cell is
#
#     ``v_A = sum over B of s_B prod_(i in B) (1 - 1 / n_i) prod_(i in A - B) 1 / n_i^2``,
#
# the same for every cell of the marginal.
#
# *Gaussian noise* goes to integers: ``Q_B = prod_(i in B) (n_i I - 1 1^T)`` of the marginal on
# B.  One row is in one cell and moves it by a column of Q_B, whose squared norm is exactly ``prod
# n_i (n_i - 1)``.  With ``w_A`` for the number of cells asked of A times their weight, the total
# ``sum w_A v_A`` is ``sum c_B s_B``, and is least where the share of B in rho goes with ``g_B =
# sqrt(c_B p_B)``, ``c_B p_B = sum over A of w_A prod_(i in B) (1 - 1 / n_i)^2 prod_(i in A - B) 1 /
# n_i^2``, ``p_B = prod_(i in B) (1 - 1 / n_i)``.
#
# *Theorem.*  The total is at most that of one question after the other with the best split.
# *Proof.*  With all shares at their best the total is ``(sum_B g_B)^2 / (2 rho)``.  The square root
# of a sum is at most the sum of the roots, so ``sum_B g_B <= sum_A sqrt(w_A) sum_(B in A) prod_B (1
# - 1 / n_i) prod_(A - B) 1 / n_i = sum_A sqrt(w_A)``, for the inner sum is the product of ``(1 - 1
# / n_i) + 1 / n_i``.  One by one, noise of sensitivity 1 and a share r_A give ``sum w_A / (2 rho
# r_A)``, which is least at ``(sum_A sqrt(w_A))^2 / (2 rho)``.  For shares rounded to multiples of
# 2^-20 the theorem holds up to a few parts in a million.
#
# *Laplace noise* goes to whole marginals; a row moves each by 1.  The best split one by one (shares
# with ``w_A^(1/3)``) is compared with the marginals that a search finds
# (:mod:`tacit.workload.marginals`), and the better is taken; least squares is at most the
# answer of the first by itself, since no linear unbiased estimate has less variance (Gauss and
# Markov).
#
# Shares are whole multiples of a public unit, computed in integers for Gaussian noise, so
# that every machine finds the same.


MOST_CELLS = 1 << 22  # this many cells all marginals that get noise may have together
_MAX_SETS = 20_000
_BITS = 40
_UNIT = 1 << 20
_LAPLACE_UNIT = 1 << 12


def subsets_of(subset: Subset) -> Iterator[Subset]:
    """Yield the subsets of a set of axes, the smaller first.

    >>> list(subsets_of((0, 2)))
    [(), (0,), (2,), (0, 2)]
    """
    for width in range(len(subset) + 1):
        yield from itertools.combinations(subset, width)


@dataclass(frozen=True)
class CellStrategy:
    """The counts that get noise, with their shares of the loss.

    >>> pairs = CellStrategy((2, 3), (((0, 1), 2), ((0,), 1)), residual=True)
    >>> [subset for subset, _ in pairs.measured], sum(share for _, share in pairs.measured)
    ([(), (0,), (1,), (0, 1)], Fraction(1, 1))
    """

    sizes: tuple[int, ...]  # how many cells each axis has
    # the marginals that are asked, each with the number of its cells times their weight
    wanted: tuple[tuple[Subset, int], ...]
    residual: bool  # whether residuals get noise (Gaussian), or whole marginals (Laplace)

    def __post_init__(self) -> None:
        sets = sum(1 << len(subset) for subset, _ in self.wanted)
        cells = sum(self.cells(subset) for subset, _ in self.wanted)
        if cells > MOST_CELLS or sets > 8 * _MAX_SETS or len(self.needed) > _MAX_SETS:
            raise UsageError(
                f"the questions have {cells:,} cells in {sets:,} sets of columns, beyond what is "
                f"planned together (at most {MOST_CELLS:,} cells and {_MAX_SETS:,} sets): ask for "
                "fewer columns at once, list fewer keys, or use wider bins"
            )

    def cells(self, subset: Subset) -> int:
        """Return how many cells the marginal on some axes has."""
        return math.prod(self.sizes[i] for i in subset)

    @cached_property
    def needed(self) -> tuple[Subset, ...]:
        """The sets whose residuals the answers are made of, the smaller first."""
        needed = {part for subset, _ in self.wanted for part in subsets_of(subset)}
        return tuple(sorted(needed, key=lambda subset: (len(subset), subset)))

    @cached_property
    def measured(self) -> tuple[tuple[Subset, Fraction], ...]:
        """The counts that get noise, with their shares, which add up to one."""
        measured = self._gaussian() if self.residual else self._laplace()
        total = sum(measured.values())
        return tuple((subset, Fraction(share, total)) for subset, share in measured.items())

    @cached_property
    def total(self) -> float:
        """The total squared error, for noise whose variance is the squared sensitivity."""
        known, cells = dict.fromkeys(self.needed, 0.0), self.cells
        for subset, share in self.measured:
            if self.residual:  # of Q over prod n, with the variance stretch / share
                known[subset] = (
                    self.squared_row_sensitivity(subset) / float(share) / cells(subset) ** 2
                )
                continue
            # a union of what is asked has more subsets than are needed; there are few then
            parts = subsets_of(subset) if subset in known else self._needed_within(subset)
            for part in parts:
                known[part] += float(share) ** 2 * cells(part) / cells(subset)
        if not self.residual:
            known = {part: 1 / precision for part, precision in known.items()}
        total = 0.0
        for subset, weight in self.wanted:
            for part in subsets_of(subset):
                factor = math.prod(1 - 1 / self.sizes[i] for i in part)
                rest = cells(subset) // cells(part)
                total += weight * known[part] * factor / rest**2
        return total

    @cached_property
    def weights(self) -> dict[Subset, float]:
        """Weights of the squared residuals in the weighted total over all cells.

        >>> CellStrategy((2, 3), (((0, 1), 6), ((0,), 2)), residual=True).weights[0,]
        1.3333333333333333
        """
        # A marginal on S is the sum over its parts A of the residuals of A, each spread evenly over
        # the rest of S; these are orthogonal, so the square of its norm is
        # ``sum_A |r_A|^2 / rest``.
        weights = dict.fromkeys(self.needed, 0.0)
        for subset, weight in self.wanted:
            for part in subsets_of(subset):
                weights[part] += weight * self.cells(part) / self.cells(subset) ** 2
        return weights

    def _needed_within(self, subset: Subset) -> list[Subset]:
        return [part for part in self.needed if set(part) <= set(subset)]

    def _gaussian(self) -> dict[Subset, int]:
        squares = dict.fromkeys(self.needed, 0)
        for subset, weight in self.wanted:
            below = self.cells(subset) ** 2
            for part in subsets_of(subset):
                above = math.prod(self.sizes[i] - 1 for i in part) ** 2
                squares[part] += (weight * above << 2 * _BITS) // below
        roots = {part: math.isqrt(square) for part, square in squares.items()}
        total = sum(roots.values())
        return {part: max(1, root * _UNIT // total) for part, root in roots.items()}

    def _laplace(self) -> dict[Subset, int]:
        counts: dict[Subset, float] = {}
        for subset, weight in self.wanted:
            for part in subsets_of(subset):
                rest = math.prod(self.sizes[i] for i in subset if i not in part)
                factor = math.prod(1 - 1 / self.sizes[i] for i in part)
                counts[part] = counts.get(part, 0.0) + weight * factor / rest**2
        alone: dict[Subset, float] = {}
        for subset, weight in self.wanted:
            alone[subset] = alone.get(subset, 0.0) + weight
        cover = cheapest_cover(self.sizes, counts, MOST_CELLS)
        tried = [
            {subset: math.cbrt(weight) for subset, weight in alone.items()},
            dict(zip(cover.sets, cover.shares, strict=True)),
        ]
        best: tuple[float, dict[Subset, int]] | None = None
        for shares in tried:
            total = sum(shares.values())
            units = self._in_units({s: share / total for s, share in shares.items()})
            error = total_of(self.sizes, counts, units) * sum(units.values()) ** 2
            if best is None or error < best[0] * (1 - 1e-6):
                best = error, units
        assert best is not None
        return best[1]

    def _in_units(self, shares: Mapping[Subset, float]) -> dict[Subset, int]:
        """Return shares in whole units; all that is asked lies within something that has one."""
        units = {subset: round(share * _LAPLACE_UNIT) for subset, share in shares.items()}
        units = {subset: share for subset, share in units.items() if share}
        for subset, _ in self.wanted:
            if subset not in units and not any(set(subset) <= set(known) for known in units):
                units[subset] = 1
        return units

    def squared_row_sensitivity(self, subset: Subset) -> int:
        """Return the square of how far one row moves what gets noise, exactly.

        >>> CellStrategy((2, 3), (((0, 1), 2),), residual=True).squared_row_sensitivity((0, 1))
        12
        """
        if not self.residual:
            return 1
        return math.prod(self.sizes[i] * (self.sizes[i] - 1) for i in subset)


# Which cells the engine counts, so that the counts of all sets of axes are sums of them.
#
# The counts on a set of axes are sums of those on any set that holds it, in integers.  Only
# cells that occur come out of the engine, so one query about eight columns can represent the
# queries about all their pairs.  Where many sets are asked for, the axes are put into blocks of at
# most 2^10 cells, in their order; a set is counted within the union of the blocks that it touches,
# if this has at most 2^20 cells, and else on its own.  All pairs of m columns, b to a block, take
# about ``(m / b)^2 / 2`` queries in place of ``m^2 / 2``.


_FEW = 16  # this many sets are counted each on its own
_BLOCK = 1 << 10


def largest_sets(wanted: Iterable[Subset]) -> dict[Subset, Subset]:
    """Return for each wanted set, and each part of one, a largest wanted set that holds it.

    >>> largest_sets([(0,), (0, 1), (2,)])[0,]
    (0, 1)
    """
    largest: dict[Subset, Subset] = {}
    for subset in sorted(set(wanted), key=lambda s: (-len(s), s)):
        if subset not in largest:
            for part in subsets_of(subset):
                largest.setdefault(part, subset)
    return largest


def counted_sets(wanted: Iterable[Subset], sizes: Sequence[int]) -> dict[Subset, Subset]:
    """Return for each wanted set, and each part of one, the set whose cells the engine counts.

    >>> pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    >>> len(set(counted_sets(pairs, [5] * 8).values())), counted_sets(pairs, [5] * 8)[0, 7]
    (3, (0, 1, 2, 3, 4, 5, 6, 7))
    """
    sets = largest_sets(wanted)
    largest = list(dict.fromkeys(sets.values()))
    if len(largest) <= _FEW:
        return sets
    blocks = _blocks(sorted({i for subset in largest for i in subset}), sizes)
    unions = {}
    for subset in largest:
        union = tuple(sorted({i for axis in subset for i in blocks[axis]}))
        within = math.prod(sizes[i] for i in union) <= _BLOCK**2
        unions[subset] = union if within else subset
    return {part: unions[subset] for part, subset in sets.items()}


def _blocks(axes: Sequence[int], sizes: Sequence[int]) -> dict[int, Subset]:
    """Return the block of each axis."""
    blocks: dict[int, Subset] = {}
    block: list[int] = []
    for axis in axes:
        if block and math.prod(sizes[i] for i in (*block, axis)) > _BLOCK:
            blocks |= dict.fromkeys(block, tuple(block))
            block = []
        block.append(axis)
    return blocks | dict.fromkeys(block, tuple(block))


def summed(cells: Any, weights: Any, counted: Subset, subset: Subset, sizes: Sequence[int]) -> Any:
    """Return the weight of each cell of a set of axes, exact, from the cells that occur.

    >>> summed([0, 3, 4], [5, 6, 7], (0, 1), (0,), [2, 3]).tolist()
    [5, 13]
    """
    # weights: their weights, integers.  Their sum is the weight of all rows, which has 64 bits
    #   like each of them, being that of the one cell of no axes.
    shape = tuple(sizes[i] for i in subset)
    rest = np.asarray(cells, dtype=np.int64)
    index = np.zeros_like(rest)
    stride = 1
    for axis in reversed(counted):
        rest, own = np.divmod(rest, sizes[axis])
        if axis in subset:
            index += own * stride
            stride *= sizes[axis]
    totals = np.zeros(math.prod(shape), dtype=np.int64)
    np.add.at(totals, index, np.asarray(weights, dtype=np.int64))
    return totals.astype(object).reshape(shape)
