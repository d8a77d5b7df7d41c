"""A matrix of linear queries on a vector of aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from tacit.arithmetic.exact import Number as NumberLike
from tacit.arithmetic.exact import as_fraction
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import (
    L1Distance,
    L2Distance,
    LInfinityDistance,
    Number,
    Space,
    Step,
    Transformation,
    Vector,
    register,
)
from tacit.errors import MismatchError, UsageError
from tacit.transformations.aggregates.count_by_category import norm_named

__all__ = ["LinearQueries"]

Rows = tuple[tuple[Fraction, ...], ...]


@register
@dataclass(frozen=True)
class LinearQueries(Step):
    """Multiply a vector of aggregates, such as a histogram, by a public matrix: one row per query.

    Exact: with the entries on a common denominator, whole units go to whole units.

    Args:
        matrix: rows of rational numbers, as many columns as the vector has numbers.
        metric: the norm in which the answers move; None for that of the vector.

    **Map**, for ``y = A x``, by the norm of x and that of y.

    - L1 to any norm: ``d -> d max_j ||A e_j||``, the largest norm of a *column*: ``A (u - v)`` is a
      sum of columns with weights whose sizes add up to d; attained by moving one number.  (A square
      root, for L2, is rounded up; so is every other below.)
    - L-infinity to L-infinity: ``d -> d max_i`` of the L1 norm of row i; attained by the signs of
      the row.  To L1 the sum of all these, to L2 the root of the sum of their squares.
    - L2 to L2: ``d`` times the smaller of the Frobenius norm and ``sqrt(c r)``, with c and r the
      largest L1 norms of a column and of a row; both bound the spectral norm (Schur's test for the
      second).  To L-infinity: the largest L2 norm of a row, attained.

    Raises:
        UsageError: an empty or ragged matrix, entries that are not numbers, an unknown norm.

    Example:
        >>> counts = Space(Vector(int, size=3), L1Distance())
        >>> ranges = counts >> LinearQueries([[1, 1, 0], [0, 1, 1]])
        >>> ranges([5, 6, 7]).tolist(), ranges.map(1)
        ([11, 13], Fraction(2, 1))
    """

    matrix: Sequence[Sequence[NumberLike]]
    metric: str | None = None

    name: ClassVar[str] = "linear_queries"

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _read(self.matrix))
        if self.metric is not None:
            norm_named(self.metric)

    def build(self, space: Space) -> Transformation:
        """Return the queries on a vector of numbers.

        Args:
            space: what the step works on: a space, or the end of a chain before it.

        Raises:
            MismatchError: no vector on a grid with as many numbers as the matrix has columns, or
                no bound leads from its norm to the other.
        """
        matrix = cast("tuple[tuple[Fraction, ...], ...]", self.matrix)
        domain, columns = space.domain, len(matrix[0])
        element = domain.element if isinstance(domain, Vector) else None
        if not isinstance(element, Number) or (element.grid is None and element.kind != "int"):
            raise MismatchError(
                f"linear_queries works on a vector of numbers on a grid, not on {domain}",
                space,
                self,
            )
        if domain.size != columns:  # type: ignore[attr-defined]
            raise MismatchError(
                f"the matrix has {columns} columns, and the domain is: {domain}", space, self
            )
        target = space.metric if self.metric is None else norm_named(self.metric)
        norm = _operator_norm(matrix, space.metric, target)
        if norm is None:
            raise MismatchError(f"no bound leads from {space.metric} to {target}", space, self)
        common = math.lcm(*(x.denominator for row in matrix for x in row))
        whole = [[int(x * common) for x in row] for row in matrix]
        grid = (element.grid or Fraction(1)) / common
        kind = "int" if grid.denominator == 1 else "float"
        output = Space(Vector(Number(kind, grid=grid), size=len(whole)), target)

        def answer(values: Any) -> Any:
            units = values.tolist() if isinstance(values, np.ndarray) else list(values)
            found = [sum(a * u for a, u in zip(row, units, strict=True)) for row in whole]
            return np.array(found, dtype=object)

        return Transformation(space, output, answer, norm, step=self)


def _read(matrix: Any) -> Rows:
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise UsageError("a matrix is a list of rows, each a list of numbers") from None
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise UsageError("a matrix has at least one row and one column, and rows of one length")
    plain = [[x.item() if isinstance(x, np.generic) else x for x in row] for row in rows]
    return tuple(tuple(as_fraction(x, "an entry of the matrix") for x in row) for row in plain)


def _operator_norm(matrix: Rows, source: Any, target: Any) -> Callable[[Fraction], Fraction] | None:
    rows = [[abs(x) for x in row] for row in matrix]
    columns = list(zip(*rows, strict=True))
    by_row, by_column = [sum(row) for row in rows], [sum(column) for column in columns]
    squares = {"row": _squares(rows), "column": _squares(columns)}
    if isinstance(source, L1Distance):
        if isinstance(target, L1Distance):
            return _times(max(by_column))
        if isinstance(target, L2Distance):
            return _times_root(max(squares["column"]))
        return _times(max(x for row in rows for x in row))
    if isinstance(source, LInfinityDistance):
        if isinstance(target, L1Distance):
            return _times(sum(by_row))
        if isinstance(target, L2Distance):
            return _times_root(sum(Fraction(s) ** 2 for s in by_row))
        return _times(max(by_row))
    if not isinstance(source, L2Distance) or isinstance(target, L1Distance):
        return None
    if isinstance(target, L2Distance):
        return _times_root(min(sum(squares["row"]), max(by_row) * max(by_column)))
    return _times_root(max(squares["row"]))


def _squares(lines: Any) -> list[Fraction]:
    return [sum((Fraction(x) ** 2 for x in line), Fraction(0)) for line in lines]


def _times(factor: Fraction | int) -> Callable[[Fraction], Fraction]:
    return lambda d: d * factor


def _times_root(square: Fraction | int) -> Callable[[Fraction], Fraction]:
    return lambda d: sqrt_up(d * d * square)
