"""Families of counts that share their cells, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import Space, Step, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.mechanisms import Gaussian
from tacit.report.text import say_step, so_many
from tacit.tables.cell_axis import Axis
from tacit.tables.joint.strategy import magnitudes, squares
from tacit.tables.noise import GridNoise, laplace_tail_bound, normal_quantile
from tacit.tables.statistics.part import Noise
from tacit.tables.steps import VectorStep, weight_of
from tacit.workload.range_strategies import best_strategy, check_bins, total_of
from tacit.workload.strategies import Strategy
from tacit.workload.structured import decoded

# The step of a chain that counts the cells of some columns, and combines the counts.


@register
@dataclass(frozen=True)
class CellCounts(VectorStep):
    """Count the rows in each cell of a marginal, or combine these counts."""

    # **Map.** A row is in exactly one cell.  The counts move by ``d`` under d rows, in L1 and in
    # L2. The residual is ``Q = prod_i (n_i I - 1 1^T)`` of the counts; a row moves it by one column
    # of Q, which has on each axis ``n - 1`` once and ``-1`` in the other n - 1 places: the squared
    # norm is ``prod ((n - 1)^2 + (n - 1)) = prod n (n - 1)``, so d rows move it by at most
    # ``d sqrt(prod n (n - 1))`` in L2; and by ``d prod 2 (n - 1)`` in L1.  Both are attained, by d
    # rows in one cell. Sums are a matrix of integers on one axis, for each cell of the others:
    # a row moves them by one column of it, and d rows by at most d times the largest norm of a
    # column, attained too.

    columns: Any = ()  # what the axes are called
    cells: Any = ()  # how many cells each axis has, one for everything else included
    residual: bool = False  # whether the counts are combined into the residual
    one: int = 1
    # by what they are combined on one axis: a matrix, a row a sum, or the form of a strategy for
    # its first cells (:mod:`tacit.workload.structured`)
    sums: Any = ()
    along: int = 0  # the position of that axis
    # of each axis its columns, and the edges where it has bins; left out where every axis is the
    # column that it is called.  A name does not say which: two axes of one column may have as many
    # bins, and a column may be called as an axis is.
    axes: Any = None

    name: ClassVar[str] = "cell_counts"

    def __hash__(self) -> int:
        sums = str(self.sums) if isinstance(self.sums, Mapping) else self.sums
        return hash((self.columns, self.cells, self.residual, sums, str(self.axes)))

    @classmethod
    def of(cls, axes: Sequence[Axis], **others: Any) -> CellCounts:
        """Return the step that counts the cells of some axes."""
        each = [axis.described() for axis in axes]
        plain = all(one == {"columns": [axis.name]} for one, axis in zip(each, axes, strict=True))
        return cls(
            columns=tuple(axis.name for axis in axes),
            cells=tuple(axis.size for axis in axes),
            axes=None if plain else each,
            **others,
        )

    @property
    def counted(self) -> list[dict[str, Any]]:
        """Of each axis its columns, and the edges of its bins."""
        return [{"columns": [name]} for name in self.columns] if self.axes is None else self.axes

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = tuple(
            as_integer(n, "the number of cells of an axis", minimum=2) for n in self.cells
        )
        object.__setattr__(self, "cells", sizes)
        if isinstance(self.sums, Mapping):
            wide = self._strategy.cells > sizes[self.along]
        else:
            sums = tuple(
                tuple(as_integer(n, "a weight of a sum") for n in row) for row in self.sums
            )
            object.__setattr__(self, "sums", sums)
            wide = any(len(row) != sizes[self.along] for row in sums)
        if len(self.columns) != len(sizes) or self.size != math.prod(self.shape):
            raise UsageError("cells are counted over named axes, one number for each cell")
        if wide or (self.sums and self.residual):
            raise UsageError("a sum has a weight for each cell of its axis")
        object.__setattr__(self, "columns", tuple(map(str, self.columns)))
        if self.axes is not None:
            given = [{name: list(map(str, axis[name])) for name in axis} for axis in self.axes]
            if len(given) != len(sizes) or any(a.keys() - {"edges"} != {"columns"} for a in given):
                raise UsageError("an axis has columns, and edges where it has bins")
            object.__setattr__(self, "axes", given)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis."""
        if not self.sums:
            return tuple(self.cells)
        sums = self._strategy.combinations if isinstance(self.sums, Mapping) else len(self.sums)
        return (*self.cells[: self.along], sums, *self.cells[self.along + 1 :])

    @cached_property
    def _strategy(self) -> Strategy:
        return decoded(self.sums, self.norm)

    @property
    def sensitivity(self) -> Fraction:
        """The sensitivity of the vector to one row, exact or rounded up."""
        if isinstance(self.sums, Mapping):
            return self._strategy.sensitivity
        if self.sums:
            columns = list(zip(*self.sums, strict=True))
            if self.norm == "L1":
                return Fraction(max(sum(map(abs, column)) for column in columns))
            return sqrt_up(Fraction(max(sum(n * n for n in column) for column in columns)))
        if not self.residual:
            return Fraction(1)
        if self.norm == "L1":
            return Fraction(math.prod(2 * (n - 1) for n in self.cells))
        return sqrt_up(Fraction(math.prod(n * (n - 1) for n in self.cells)))

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, weight_of(self.one), self.sensitivity)

    def combined(self, counts: Any) -> list[int]:
        """Return the vector, exact, from the counts of all cells, shape :attr:`cells`."""
        if self.residual:
            for axis, n in enumerate(counts.shape):
                counts = n * counts - counts.sum(axis=axis, keepdims=True)
        if isinstance(self.sums, Mapping):
            first = np.moveaxis(counts, self.along, 0)[: self._strategy.cells]
            counts = np.moveaxis(self._strategy.combined(first), 0, self.along)
        elif self.sums:
            matrix = np.array(self.sums, dtype=object)
            counts = np.moveaxis(np.tensordot(matrix, counts, (1, self.along)), 0, self.along)
        return [int(value) for value in counts.ravel()]


def _step_words(step: Mapping[str, Any]) -> str:
    if not step["columns"]:
        return "Count all rows"
    axes = step.get("axes") or [{}] * len(step["columns"])
    over = " and ".join(
        f"{name} ({n} cells{_edge_words(axis)})"
        for name, n, axis in zip(step["columns"], step["cells"], axes, strict=True)
    )
    if step.get("sums"):
        name, sums = step["columns"][step["along"]], step["sums"]
        count = decoded(sums, "L2").combinations if isinstance(sums, Mapping) else len(sums)
        return (
            f"Count the rows in each cell of {over}, and combine them into "
            f"{so_many(str(count), 'sum', 'sums')} along {name}"
        )
    if not step["residual"]:
        return f"Count the rows in each cell of {over}"
    return f"Count the rows in each cell of {over}, less what fewer of these columns tell"


def _edge_words(axis: Mapping[str, Any]) -> str:
    return f", with the edges {', '.join(axis['edges'])}" if axis.get("edges") else ""


say_step("cell_counts", _step_words)


# How far weighted sums of many independent Laplace noises are off.


Array = NDArray[np.float64]


# Questions that read the bins of one column in order, answered from one strategy.
#
# Ranges and prefix sums by the same groups are sums of the same cells: for each cell of the other
# axes, a matrix W of zeros and ones times the counts of the bins.  One strategy A of integers,
# found for all of these questions (:mod:`tacit.workload.range_strategies`), is multiplied with the
# counts and gets noise; the counts of the bins follow by least squares, and with them every answer.
# A row is in one cell of the other axes, where it moves the numbers by one column of A.


_BITS = 96


def added_noise(noise: Noise, moved: Fraction) -> Step:
    """Return the noise for a sensitivity, whose losses add up to a fraction of few digits.

    >>> granted = Noise("gaussian", Fraction(1, 30), 1)
    >>> loss = (3 / added_noise(granted, Fraction(3)).scale) ** 2 / 2
    >>> loss <= granted.loss, float(1 - loss / granted.loss) < 1e-25, loss.denominator.bit_count()
    (True, True, 1)
    """
    # With Gaussian noise of the scale ``moved / r`` the loss is ``r^2 / 2``.  Here r is the largest
    # multiple of a power of two whose loss is at most what is granted; so the losses of hundreds of
    # chains have a power of two below them, and their sum has too.
    if noise.kind == "laplace":
        return noise.mechanism(moved)
    bits = _BITS + max(0, noise.loss.denominator.bit_length() - noise.loss.numerator.bit_length())
    root = math.isqrt((2 * noise.loss.numerator << 2 * bits) // noise.loss.denominator)
    return Gaussian(moved / Fraction(root, 1 << bits))


@dataclass(frozen=True)
class Family:
    """Questions about the cells of the same axes, of which one is read in order."""

    axes: tuple[Axis, ...]
    along: int  # the position of the one that is read in order
    # of each reading how many times it is asked, each by its weight: the number of cells of the
    # other axes times the importance
    weights: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        check_bins(self.bins)

    @property
    def bins(self) -> int:
        """The number of bins in order."""
        return self.axes[self.along].listed

    @property
    def others(self) -> int:
        """The number of cells of the other axes."""
        return math.prod(a.size for index, a in enumerate(self.axes) if index != self.along)

    @cached_property
    def _readings(self) -> tuple[int, dict[str, float]]:
        """The common factor of the weights, and of each reading its weight without it."""
        common = math.gcd(*(weight for _, weight in self.weights))
        each: dict[str, float] = {}
        for reading, weight in self.weights:
            each[reading] = each.get(reading, 0.0) + weight // common
        return common, each

    def strategy(self, norm: str) -> Strategy:
        """Return what is combined for noise of a norm."""
        if norm not in self._strategies:
            self._strategies[norm] = best_strategy(self._readings[1], self.bins, norm)
        return self._strategies[norm]

    @cached_property
    def _strategies(self) -> dict[str, Strategy]:
        return {}

    def use_stated(self, steps: Iterable[Mapping[str, Any]]) -> None:
        """Take the strategy that a step of a certificate states, if one is about these cells."""
        # Another version may have found another strategy for the same question.  Whatever the
        # strategy is, its sensitivity is derived from its whole numbers.
        cells = [axis.name for axis in self.axes], [axis.size for axis in self.axes], self.along
        for step in steps:
            if (step["columns"], step["cells"], step["along"]) != cells or not step["sums"]:
                continue
            form, norm = step["sums"], str(step["norm"])
            if not isinstance(form, Mapping):
                if any(any(row[self.bins :]) for row in form):
                    raise UsageError("a sum of bins counts cells of no bin")
                form = [row[: self.bins] for row in form]
            stated = decoded(form, norm)
            if norm not in ("L1", "L2") or stated.cells != self.bins:
                raise UsageError(
                    "a strategy of a certificate is not about the bins of its question"
                )
            stated.require_all_cells()
            self._strategies[norm] = stated

    def total(self, norm: str) -> float:
        """Return the total squared error, for noise whose variance is the squared sensitivity."""
        common, each = self._readings
        return common * total_of(self.strategy(norm), tuple(each.items()))

    def chain(self, noise: Noise) -> tuple[Step, Step]:
        """Return what is computed, and the noise on it."""
        strategy = self.strategy(noise.norm)
        unlisted = [0] * (self.axes[self.along].size - self.bins)
        sums = strategy.form
        if not isinstance(sums, Mapping):
            sums = [[*row, *unlisted] for row in sums]
        step = CellCounts.of(
            self.axes,
            size=self.others * strategy.combinations,
            norm=noise.norm,
            one=noise.one,
            sums=sums,
            along=self.along,
        )
        return step, added_noise(noise, noise.rows * step.sensitivity)

    def distribution(self, noise: Noise) -> GridNoise:
        """Return the noise on each number."""
        sensitivity = self.strategy(noise.norm).sensitivity
        return noise.distribution(noise.rows * sensitivity, Fraction(1, noise.one))

    def counts(self, numbers: Sequence[Any], noise: Noise) -> Array:
        """Return the counts of the cells, without those of no bin, from the noisy numbers."""
        strategy = self.strategy(noise.norm)
        shape = [axis.size for axis in self.axes]
        shape[self.along] = strategy.combinations
        noisy = np.asarray(numbers, dtype=np.float64).reshape(shape)
        counts = strategy.estimated(np.moveaxis(noisy, self.along, 0))
        return np.asarray(np.moveaxis(counts, 0, self.along))

    def errors(self, reading: str, noise: Noise) -> Array:
        """Return the standard error of each number of a question along the axis."""
        strategy, distribution = self.strategy(noise.norm), self.distribution(noise)
        each = squares(reading, strategy.covariance) / float(strategy.squared_sensitivity)
        return np.asarray(np.sqrt(each * distribution.variance))

    def half_widths(self, reading: str, noise: Noise, level: float) -> Array:
        """Return the half-width of the interval of each number of a question along the axis."""
        # A discrete variable is less than a step of its grid from a continuous one (see
        # :meth:`tacit.tables.noise.GridNoise.half_width`).
        strategy, distribution = self.strategy(noise.norm), self.distribution(noise)
        each = squares(reading, strategy.covariance) / float(strategy.squared_sensitivity)
        steps = distribution.grid * magnitudes(reading, strategy.inverse)
        return np.asarray(self.unit_half_width(noise, level) * np.sqrt(each) + steps)

    def unit_half_width(self, noise: Noise, level: float) -> float:
        """Return the half-width for a combination whose weights have squares that add up to 1."""
        # Steps of the grid come on top of it.
        distribution = self.distribution(noise)
        if distribution.kind == "laplace":
            return math.sqrt(2) * distribution.scale * laplace_tail_bound(level)
        return normal_quantile(level) * distribution.scale
