"""Released counts of cells, with the noise on every sum of them.

A sum of cells takes a weight vector t_i along each axis: cell (j_1, ..., j_k) counts with the
weight ``t_1[j_1] ... t_k[j_k]``.  The released counts are linear in independent noisy numbers, so
the error of a sum follows from the weights that it gives to these numbers:

- *Cells with noise of their own* (a histogram, a count by groups): each has its weight.
- *Cells from a strategy along one axis* (:mod:`tacit.tables.together.family`): along that axis the
  weights are ``t A^+``, and the squares of them add up to ``t (A^T A)^-1 t``.
- *Cells from marginals* (:mod:`tacit.tables.together.cell_counts`): with P t = t less its mean, the
  numbers of a noisy marginal S have, for each set B of axes whose residual they tell with the share
  c, the weights ``c P t_i`` along the axes i of B, 1 along the other axes of S, times ``sum(t_i) /
  n_i`` for the axes i of the table that are not in B.  Weights of different B are orthogonal, since
  those of one of them add up to zero along an axis where the others are constant; so their squares
  add up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Noise
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.cell_counts import CellsPart
from tacit.tables.together.family import Family
from tacit.tables.together.intervals import laplace_half_width, laplace_reach
from tacit.workload.marginals import Subset

__all__ = ["AloneCells", "CountedCells", "FamilyCells", "MarginalCells"]

Array = NDArray[np.float64]
Term = tuple[NoiseLaw, Array, Array]
"""Of some numbers with noise of one distribution: for each sum, how the squares of the weights add
up, and their sizes."""


@dataclass(frozen=True, eq=False)
class CountedCells(ABC):
    """Counts of the cells of some axes.

    Attributes:
        axes: the axes.
        complete: of each axis, whether its cells hold every row: then a sum over all of them asks
            nothing of the axis.
        values: the counts, one axis of the array for each axis.
    """

    axes: tuple[Axis, ...]
    complete: tuple[bool, ...]
    values: Array

    @abstractmethod
    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return what the noise of sums is made of.

        Args:
            weights: of each axis, of shape (sums, cells) or (1, cells).
        """

    def sums(self, weights: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Return sums of cells, their standard errors and the half-widths of their intervals.

        Args:
            weights: of each axis, of shape (sums, cells) or (1, cells).
        """
        several = [place for place, each in enumerate(weights) if len(each) > 1]
        rest = self.values
        for place in reversed(range(len(weights))):
            if place not in several:
                rest = np.tensordot(rest, weights[place][0], (place, 0))
        if len(several) == 1:
            value = weights[several[0]] @ rest
        else:
            each = zip(*(weights[place] for place in several), strict=True)
            value = np.array(
                [reduce(lambda a, t: np.tensordot(t, a, (0, 0)), one, rest) for one in each]
                if several
                else [rest]
            )
        terms = self.terms(weights)
        squared = sum(law.variance * squares for law, squares, _ in terms)
        error = np.sqrt(np.broadcast_to(squared, value.shape))
        return value, error, np.broadcast_to(self.half_widths(terms), value.shape)

    def half_widths(self, terms: Sequence[Term]) -> Array:
        """Return the half-widths of intervals that hold for every weighted sum of the noise."""
        deviation = np.sqrt(sum(law.scale**2 * squares for law, squares, _ in terms))
        steps = sum(law.grid * sizes for law, _, sizes in terms)
        if any(law.kind == "laplace" for law, _, _ in terms):
            return np.asarray(math.sqrt(2) * laplace_reach(LEVEL) * deviation + steps)
        z = NoiseLaw("gaussian", 1.0, 0.0).half_width((1.0,), LEVEL)
        return np.asarray(z * deviation + steps)


@dataclass(frozen=True, eq=False)
class AloneCells(CountedCells):
    """Cells that have noise of their own, of one distribution."""

    law: NoiseLaw

    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return the squares and the sizes of the weights of the cells."""
        squares = _product((each**2).sum(axis=1) for each in weights)
        return [(self.law, squares, _product(np.abs(each).sum(axis=1) for each in weights))]

    def half_widths(self, terms: Sequence[Term]) -> Array:
        """Return the half-widths; of Laplace noise on cells that are added up, the quantile."""
        ((law, squares, sizes),) = terms
        if law.kind != "laplace" or not np.array_equal(squares, sizes):  # others than 0 and 1
            return super().half_widths(terms)
        counts = np.unique(squares)
        each = [laplace_half_width(((law, 1.0, int(n)),), LEVEL) for n in counts]
        return np.asarray(np.array(each)[np.searchsorted(counts, squares)])


@dataclass(frozen=True, eq=False)
class FamilyCells(CountedCells):
    """Cells from a strategy along one axis."""

    family: Family
    paid: Noise

    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return the squares and the sizes of the weights of the noisy numbers."""
        strategy, along = self.family.strategy(self.paid.norm), self.family.along
        told = [w @ strategy.inverse if i == along else w for i, w in enumerate(weights)]
        squares = _product((each**2).sum(axis=1) for each in told)
        sizes = _product(np.abs(each).sum(axis=1) for each in told)
        return [(self.family.law(self.paid), squares, sizes)]


@dataclass(frozen=True, eq=False)
class MarginalCells(CountedCells):
    """Cells from noisy marginals.

    Attributes:
        subset: the axes of the table, as numbers of the axes of the plan, in their order.
        part: the counts of the plan.
        noise: what they may lose.
    """

    subset: Subset
    part: CellsPart
    noise: Noise

    def terms(self, weights: Sequence[Array]) -> list[Term]:
        """Return the squares and the sizes of the weights of the noisy numbers."""
        own = dict(zip(self.subset, weights, strict=True))
        mean = {i: each.mean(axis=1) for i, each in own.items()}
        bent = {i: each - each.mean(axis=1, keepdims=True) for i, each in own.items()}
        found = []
        for measured, law, told in self.part.told(self.noise):
            squares, sizes = np.zeros(1), np.zeros(1)
            size = {i: self.part.axes[i].size for i in measured}
            for part, share in told:
                if not set(part) <= set(self.subset):
                    continue
                copies = math.prod(size[i] for i in measured if i not in part)
                rest = _product(mean[i] for i in self.subset if i not in part)
                squares = squares + share**2 * copies * rest**2 * _product(
                    (bent[i] ** 2).sum(axis=1) for i in part
                )
                sizes = sizes + abs(share) * copies * np.abs(rest) * _product(
                    np.abs(bent[i]).sum(axis=1) for i in part
                )
            found.append((law, squares, sizes))
        return found


def _product(each: Iterator[Array] | Sequence[Array]) -> Array:
    found = np.ones(1)
    for one in each:
        found = found * one
    return found
