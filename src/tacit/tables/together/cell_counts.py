"""Counts of cells that get noise together: the step, and the part that answers them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid
from tacit.report.text.vocabulary import say_step, so_many
from tacit.tables.chain.estimate import Estimate
from tacit.tables.chain.noise_law import NoiseLaw
from tacit.tables.chain.part import LEVEL, Columns, Noise, Part
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.query.requests import Cells, Request
from tacit.tables.spec.cell_axis import Axis
from tacit.tables.together.intervals import Term, laplace_half_width
from tacit.tables.together.strategy import CellStrategy, subsets_of
from tacit.workload.marginals import Subset

__all__ = ["AskedCells", "CellCounts", "CellsPart"]

Array = NDArray[np.float64]
_Details = tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]


@register
@dataclass(frozen=True)
class CellCounts(VectorStep):
    """Count the rows in each cell of a marginal, or combine these counts into its residual.

    **Map.** A row is in exactly one cell.  The counts move by ``d`` under d rows, in L1 and in L2.
    The residual is ``Q = prod_i (n_i I - 1 1^T)`` of the counts; a row moves it by one column of Q,
    which has on each axis ``n - 1`` once and ``-1`` in the other n - 1 places: the squared norm is
    ``prod ((n - 1)^2 + (n - 1)) = prod n (n - 1)``, so d rows move it by at most ``d sqrt(prod n
    (n - 1))`` in L2; and by ``d prod 2 (n - 1)`` in L1.  Both are attained, by d rows in one cell.

    Attributes:
        columns: what the axes are called.
        cells: how many cells each axis has, one for everything else included.
        residual: whether the counts are combined.
    """

    columns: Any = ()
    cells: Any = ()
    residual: bool = False
    one: int = 1

    name: ClassVar[str] = "cell_counts"

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = tuple(
            as_integer(n, "the number of cells of an axis", minimum=2) for n in self.cells
        )
        if len(self.columns) != len(sizes) or self.size != math.prod(sizes):
            raise UsageError("cells are counted over named axes, one number for each cell")
        object.__setattr__(self, "cells", sizes)
        object.__setattr__(self, "columns", tuple(map(str, self.columns)))

    @property
    def stretch(self) -> Fraction:
        """How far one row moves the vector, exact or rounded up."""
        if not self.residual:
            return Fraction(1)
        if self.norm == "L1":
            return Fraction(math.prod(2 * (n - 1) for n in self.cells))
        return sqrt_up(Fraction(math.prod(n * (n - 1) for n in self.cells)))

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), self.stretch)


@dataclass(frozen=True)
class AskedCells:
    """The cells of one question: all listed ones of some axes.

    Attributes:
        axes: the axes, in the order in which its numbers stand; none for all rows.
        importance: how much the squared error of each of its numbers counts.
    """

    axes: tuple[Axis, ...]
    importance: int = 1

    @property
    def listed(self) -> int:
        """How many numbers it has."""
        return math.prod(axis.listed for axis in self.axes)


@dataclass(frozen=True)
class CellsPart(Part):
    """The counts of all questions of a plan, from one strategy."""

    asked: tuple[AskedCells, ...]

    @property
    def title(self) -> str:
        """Say what the part is."""
        return f"counts of {so_many(str(len(self.asked)), 'question', 'questions')} together"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all questions, each column once, with the keys of all of them."""
        found: list[Axis] = []
        for axis in (axis for asked in self.asked for axis in asked.axes):
            place = next((i for i, known in enumerate(found) if known.same(axis)), None)
            if place is None:
                found.append(axis)
            else:
                found[place] = found[place].joined(axis)
        return tuple(found)

    def subset(self, asked: AskedCells) -> tuple[int, ...]:
        """Return which axes a question is about, in its own order."""
        same = [[known.same(axis) for known in self.axes].index(True) for axis in asked.axes]
        if len(set(same)) < len(same):
            raise UsageError("a question counts cells of a column twice")
        return tuple(same)

    def strategy(self, kind: str) -> CellStrategy:
        """Return what gets noise of a kind, and how much."""
        if kind not in self._strategies:
            weights: dict[Subset, int] = {}
            for asked in self.asked:
                subset = tuple(sorted(self.subset(asked)))
                weights[subset] = weights.get(subset, 0) + asked.listed * asked.importance
            sizes = tuple(axis.size for axis in self.axes)
            self._strategies[kind] = CellStrategy(sizes, tuple(weights.items()), kind == "gaussian")
        return self._strategies[kind]

    @cached_property
    def _strategies(self) -> dict[str, CellStrategy]:
        return {}

    def _shares(self, noise: Noise) -> list[tuple[Subset, Noise, Fraction]]:
        """Return what gets noise: its axes, its share, and its sensitivity in rows of a person."""
        strategy = self.strategy(noise.kind)
        return [
            (s, noise.split(share), noise.rows * sqrt_up(Fraction(strategy.squared_stretch(s))))
            for s, share in strategy.measured
        ]

    def _laws(self, noise: Noise) -> list[tuple[Subset, NoiseLaw]]:
        grid = Fraction(1, noise.one)
        return [(subset, part.law(moved, grid)) for subset, part, moved in self._shares(noise)]

    # ---- what is asked of the engine

    def chains(self, size: int, by: tuple[str, ...], noise: Noise) -> list[tuple[Step, Step]]:
        """Return a chain for each set of axes: counts or their residual, and additive noise."""
        found: list[tuple[Step, Step]] = []
        for subset, share, moved in self._shares(noise):
            axes = [self.axes[i] for i in subset]
            step = CellCounts(
                size=math.prod(axis.size for axis in axes),
                norm=noise.norm,
                columns=tuple(axis.name for axis in axes),
                cells=tuple(axis.size for axis in axes),
                residual=noise.kind == "gaussian",
                one=noise.one,
            )
            found.append((step, share.mechanism(moved)))
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {axis.name: place for place, axis in enumerate(self.axes)}

    def _of(self, step: Step) -> Subset:
        assert isinstance(step, CellCounts)
        return tuple(self._places[name] for name in step.columns)

    @cached_property
    def _largest(self) -> list[Subset]:
        """The sets of axes that the engine counts the cells of; all others lie within one."""
        found: list[Subset] = []
        wanted = {tuple(sorted(self.subset(asked))) for asked in self.asked}
        for subset in sorted(wanted, key=lambda s: (-len(s), s)):
            if not any(set(subset) <= set(known) for known in found):
                found.append(subset)
        return found

    @cached_property
    def _covers(self) -> dict[Subset, Subset]:
        """Of each set of axes, the counted one that it is summed from."""
        found: dict[Subset, Subset] = {}
        for largest in self._largest:
            for part in subsets_of(largest):
                found.setdefault(part, largest)
        return found

    def request(self, step: Step, columns: Columns) -> Request:
        """Ask for the weight of the rows in each cell of a set of axes, by one number a row."""
        cover = self._covers[self._of(step)]
        cells = math.prod(self.axes[i].size for i in cover)
        return Cells(self._code(cover, columns), Grid.for_bounds(0, max(cells, 2), whole=True))

    def _code(self, subset: Subset, columns: Columns) -> Expression:
        codes: list[Any] = []
        stride = math.prod(self.axes[i].size for i in subset)
        for axis in (self.axes[i] for i in subset):
            stride //= axis.size
            code = axis.code(columns.value)
            codes.append(code if stride == 1 else code * stride)
        return reduce(lambda a, b: a + b, codes) if codes else _NOTHING

    def vector(self, step: Step, found: Any) -> Any:
        """Return the counts of the cells, or their residual, from the cells that occur."""
        subset = self._of(step)
        cover = self._covers[subset]
        shape = tuple(self.axes[i].size for i in cover)
        whole = np.zeros(math.prod(shape), dtype=object)
        ((cells, weights),) = found
        whole[np.asarray(cells, dtype=np.int64)] = np.asarray(weights).astype(object)
        gone = tuple(place for place, i in enumerate(cover) if i not in subset)
        counts = np.asarray(whole.reshape(shape).sum(axis=gone), dtype=object)
        assert isinstance(step, CellCounts)
        if step.residual:
            for axis, n in enumerate(counts.shape):
                counts = n * counts - counts.sum(axis=axis, keepdims=True)
        return [int(value) for value in counts.ravel()]

    # ---- what follows from the noisy numbers

    def estimates(self, released: Sequence[Any], noise: Noise) -> dict[str, Estimate]:
        """Return the counts of each question, by least squares: they add up with one another."""
        residuals = self._residuals(released, noise)
        found = {}
        for asked in self.asked:
            value = self._cells(asked, residuals)
            error = np.full_like(value, self._error(asked, noise))
            half = self._half_width(asked, noise, LEVEL)
            low, high = np.maximum(value - half, 0.0), np.maximum(value + half, 0.0)
            found[key_of(asked)] = Estimate(value, error, low, high)
        return found

    def _residuals(self, released: Sequence[Any], noise: Noise) -> Mapping[Subset, Array]:
        """Return the residual of each set of axes, from all noisy numbers that tell of it."""
        laws = self._laws(noise)
        shares = self._details(noise)[0]
        found: dict[Subset, Array] = {}
        for (subset, _), numbers in zip(laws, released, strict=True):
            shape = tuple(self.axes[i].size for i in subset)
            noisy = np.asarray(numbers, dtype=np.float64).reshape(shape)
            parts = [subset] if noise.kind == "gaussian" else list(subsets_of(subset))
            for part in parts:
                share = shares.get((part, subset), 0.0)
                gone = tuple(place for place, i in enumerate(subset) if i not in part)
                told = _centred(noisy.sum(axis=gone) if gone else noisy) * share
                found[part] = found[part] + told if part in found else told
        return found

    def _variances(self, noise: Noise) -> dict[Subset, float]:
        """Return the number s_B of the residual of each set B (:mod:`strategy`)."""
        return self._details(noise)[1]

    def _details(
        self, noise: Noise
    ) -> tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]:
        if noise not in self._known:
            laws = self._laws(noise)
            if noise.kind == "gaussian":
                n = {s: math.prod(self.axes[i].size for i in s) for s, _ in laws}
                alone = {(s, s): 1 / n[s] for s, _ in laws}
                self._known[noise] = alone, {s: law.variance / n[s] ** 2 for s, law in laws}
            else:
                self._known[noise] = self._combined(laws)
        found: _Details = self._known[noise]
        return found

    def _combined(
        self, laws: Sequence[tuple[Subset, NoiseLaw]]
    ) -> tuple[dict[tuple[Subset, Subset], float], dict[Subset, float]]:
        precise: dict[Subset, dict[Subset, float]] = {}
        for subset, law in laws:
            for part in subsets_of(subset):
                rest = math.prod(self.axes[i].size for i in subset if i not in part)
                precise.setdefault(part, {})[subset] = 1 / (max(law.variance, 1e-300) * rest)
        whole = {part: sum(each.values()) for part, each in precise.items()}
        told = {(p, s): v / whole[p] for p, each in precise.items() for s, v in each.items()}
        return told, {part: 1 / total for part, total in whole.items()}

    @cached_property
    def _known(self) -> dict[Noise, Any]:
        return {}

    def _cells(self, asked: AskedCells, residuals: Mapping[Subset, Array]) -> Array:
        """Return the listed cells of a question, shape (1,) or (1, cells)."""
        order = self.subset(asked)
        subset = tuple(sorted(order))
        shape = tuple(self.axes[i].size for i in subset)
        whole = np.zeros(shape)
        for part in subsets_of(subset):
            kept = tuple(self.axes[i].size if i in part else 1 for i in subset)
            rest = math.prod(self.axes[i].size for i in subset if i not in part)
            whole = whole + residuals[part].reshape(kept) / rest
        if not order:
            return np.asarray(whole).reshape(1)
        own = whole.transpose([subset.index(i) for i in order])
        listed = [self.axes[i].places(axis) for i, axis in zip(order, asked.axes, strict=True)]
        return np.asarray(own[np.ix_(*listed)]).reshape(1, -1)

    def _error(self, asked: AskedCells, noise: Noise) -> float:
        subset, variances = self.subset(asked), self._variances(noise)
        total = 0.0
        for part in subsets_of(tuple(sorted(subset))):
            rest = math.prod(self.axes[i].size for i in subset if i not in part)
            kept = math.prod(1 - 1 / self.axes[i].size for i in part)
            total += variances[part] * kept / rest**2
        return math.sqrt(total)

    def _half_width(self, asked: AskedCells, noise: Noise, level: float) -> float:
        """Return the half-width of the interval of every cell of a question."""
        subset = tuple(sorted(self.subset(asked)))
        if noise.kind == "laplace":
            return laplace_half_width(tuple(self._terms(subset, noise)), level)
        z = NoiseLaw("gaussian", 1.0, 0.0).half_width((1.0,), level)
        # the discrete Gaussian is below a continuous one plus a step, on each side
        steps = 0.0
        for part in subsets_of(subset):
            rest = math.prod(self.axes[i].size for i in subset)
            steps += math.prod(2 * (1 - 1 / self.axes[i].size) for i in part) / rest
        return z * self._error(asked, noise) + steps / noise.one

    def _terms(self, subset: Subset, noise: Noise) -> list[Term]:
        """Return the weights of all noisy numbers in one cell, the equal ones together."""
        told, found = self._details(noise)[0], []
        sizes = [axis.size for axis in self.axes]
        for measured, law in self._laws(noise):
            shared = tuple(i for i in subset if i in measured)
            apart = math.prod(sizes[i] for i in measured if i not in shared)
            for equal in subsets_of(shared):
                weight = 0.0
                for part in subsets_of(shared):
                    rest = math.prod(sizes[i] for i in subset if i not in part)
                    bent = math.prod((i in equal) - 1 / sizes[i] for i in part)
                    weight += told[part, measured] * bent / rest
                copies = apart * math.prod(sizes[i] - 1 for i in shared if i not in equal)
                found.append((law, weight, copies))
        return found

    def expected_error(self, kind: str, noise: Noise, rows: float) -> float:
        """Return the standard error of a number of a question, the same for any data."""
        return self._error(self._asked[kind], noise)

    def half_width(self, kind: str, noise: Noise, rows: float, level: float) -> float | None:
        """Return the half-width of every interval of a question."""
        return self._half_width(self._asked[kind], noise, level)

    @cached_property
    def _asked(self) -> dict[str, AskedCells]:
        return {key_of(asked): asked for asked in self.asked}


def key_of(asked: AskedCells) -> str:
    """Return what the part knows a question by."""
    return repr([[axis.columns, axis.keys, axis.edges] for axis in asked.axes])


def _centred(counts: Array) -> Array:
    """Return counts less their mean along every axis."""
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts


_NOTHING = Expression("literal", (), (0,))
"""The number of a row's cell where there is but one."""


def _step_words(step: Mapping[str, Any]) -> str:
    if not step["columns"]:
        return "Count all rows"
    over = " and ".join(
        f"{name} ({n} cells)" for name, n in zip(step["columns"], step["cells"], strict=True)
    )
    if not step["residual"]:
        return f"Count the rows in each cell of {over}"
    return f"Count the rows in each cell of {over}, less what fewer of these columns tell"


say_step("cell_counts", _step_words)
