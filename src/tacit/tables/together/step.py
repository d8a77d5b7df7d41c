"""The step of a chain that counts the cells of some columns, and combines the counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import Space, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.report.text.vocabulary import say_step, so_many
from tacit.tables.chain.row_steps import VectorStep, weight_of
from tacit.tables.spec.cell_axis import Axis

__all__ = ["CellCounts"]


@register
@dataclass(frozen=True)
class CellCounts(VectorStep):
    """Count the rows in each cell of a marginal, or combine these counts.

    **Map.** A row is in exactly one cell.  The counts move by ``d`` under d rows, in L1 and in L2.
    The residual is ``Q = prod_i (n_i I - 1 1^T)`` of the counts; a row moves it by one column of Q,
    which has on each axis ``n - 1`` once and ``-1`` in the other n - 1 places: the squared norm is
    ``prod ((n - 1)^2 + (n - 1)) = prod n (n - 1)``, so d rows move it by at most ``d sqrt(prod n
    (n - 1))`` in L2; and by ``d prod 2 (n - 1)`` in L1.  Both are attained, by d rows in one cell.
    Sums are a matrix of whole numbers on one axis, for each cell of the others: a row moves them by
    one column of it, and d rows by at most d times the largest norm of a column, attained too.

    Attributes:
        columns: what the axes are called.
        cells: how many cells each axis has, one for everything else included.
        axes: of each axis its columns, and the edges where it has bins; left out where every axis
            is the column that it is called.  A name does not say which: two axes of one column may
            have as many bins, and a column may be called as an axis is.
        residual: whether the counts are combined into the residual.
        sums: a matrix by which they are combined on one axis, a row a sum; none without.
        along: the place of that axis.
    """

    columns: Any = ()
    cells: Any = ()
    residual: bool = False
    one: int = 1
    sums: Any = ()
    along: int = 0
    axes: Any = None

    name: ClassVar[str] = "cell_counts"

    def __hash__(self) -> int:
        return hash((self.columns, self.cells, self.residual, self.sums, str(self.axes)))

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
        sums = tuple(tuple(as_integer(n, "a weight of a sum") for n in row) for row in self.sums)
        object.__setattr__(self, "sums", sums)
        if len(self.columns) != len(sizes) or self.size != math.prod(self.shape):
            raise UsageError("cells are counted over named axes, one number for each cell")
        if any(len(row) != sizes[self.along] for row in sums) or (sums and self.residual):
            raise UsageError("a sum has a weight for each cell of its axis")
        object.__setattr__(self, "columns", tuple(map(str, self.columns)))
        if self.axes is not None:
            given = [{name: list(map(str, axis[name])) for name in axis} for axis in self.axes]
            if len(given) != len(sizes) or any(a.keys() - {"edges"} != {"columns"} for a in given):
                raise UsageError("an axis has columns, and edges where it has bins")
            object.__setattr__(self, "axes", given)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many numbers there are along each axis."""
        if not self.sums:
            return tuple(self.cells)
        return (*self.cells[: self.along], len(self.sums), *self.cells[self.along + 1 :])

    @property
    def stretch(self) -> Fraction:
        """How far one row moves the vector, exact or rounded up."""
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
        return self._end(space, weight_of(self.one), self.stretch)

    def combined(self, counts: Any) -> list[int]:
        """Return the vector, exact, from the counts of all cells, shape :attr:`cells`."""
        if self.residual:
            for axis, n in enumerate(counts.shape):
                counts = n * counts - counts.sum(axis=axis, keepdims=True)
        if self.sums:
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
        name = step["columns"][step["along"]]
        return (
            f"Count the rows in each cell of {over}, and combine them into "
            f"{so_many(str(len(step['sums'])), 'sum', 'sums')} along {name}"
        )
    if not step["residual"]:
        return f"Count the rows in each cell of {over}"
    return f"Count the rows in each cell of {over}, less what fewer of these columns tell"


def _edge_words(axis: Mapping[str, Any]) -> str:
    return f", with the edges {', '.join(axis['edges'])}" if axis.get("edges") else ""


say_step("cell_counts", _step_words)
