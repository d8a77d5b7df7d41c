"""Sums of products of several columns, in one vector with a small and exact sensitivity.

Covariance, correlation and regression need of the rows ``n``, ``sum u_i`` and ``sum u_i u_j``.
:class:`Basis` says in which coordinates they are released, and :class:`ProductsByGroup` is the step
of the chain that does so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.square_root import sqrt_up
from tacit.core import Number, Space, SymmetricDistance, Transformation, register
from tacit.errors import UsageError
from tacit.report.text.vocabulary import for_each_group, say_step
from tacit.report.text.words import listed
from tacit.tables.chain.estimate import Array
from tacit.tables.chain.row_steps import VectorStep

__all__ = ["MOST_COLUMNS", "MOST_CORNERS", "Basis", "ProductsByGroup"]

MOST_CORNERS = 4
"""The most columns whose corners are released: beyond, products have less noise."""
MOST_COLUMNS = 13
"""The most columns whose products are added up."""

Factors: TypeAlias = tuple[int, ...]
"""The places of the columns that are multiplied: ``()`` counts rows, ``(0, 0)`` is a square."""


@dataclass(frozen=True)
class Basis:
    """The coordinates in which sums of products of m columns are released.

    A value at the offset z of 0..Q lies at ``s = 2 z / Q - 1`` in [-1, 1] on its column: centred,
    so that a product of columns is at most one in absolute value.  With ``corners`` a row adds

    - ``prod_i (1 + h_i s_i) / 2`` to the coordinate of each corner h in {-1, 1}^m, and
    - ``(s_i^2 - 1/2) / 2`` to one more for each column whose square is needed;

    without, it adds

    - 1, every ``s_i`` and every ``s_i s_j`` (i < j), each to its coordinate, and
    - ``s_i^2 - 1/2`` for each column whose square is needed.

    All of ``n``, ``sum s_i``, ``sum s_i s_j`` and the squares are sums of the coordinates.

    **Sensitivity.**  Let r squares be needed.  *In L1 with corners* one row adds at most
    ``1 + r / 4``: the corners are not negative and sum to ``prod_i ((1 + s_i) / 2 + (1 - s_i) / 2)
    = 1``, and ``|s^2 - 1/2| <= 1/2``.  *In L2* the corners' squares sum to
    ``prod_i (1 + s_i^2) / 2``.  With ``p_i = s_i^2`` in [0, 1] the square of the norm,
    ``prod_i (1 + p_i) / 2 + sum (p_i - 1/2)^2 / 4``, is convex in each p_i alone, so its maximum is
    where each is 0 or 1; there the second sum is r / 16, and the first term is largest, at 1, where
    all are 1.  So the norm is at most ``sqrt(1 + r / 16)``.  *Without corners*, by the same two
    arguments, at most ``1 + m + m (m - 1) / 2 + r / 2`` in L1 and
    ``sqrt(1 + m + m (m - 1) / 2 + r / 4)`` in L2.  All four are attained where every value is at a
    bound, so they are exact; the roots are rounded up.

    Attributes:
        cells: Q of each column.
        squares: the places of the columns whose squares are needed.
        corners: whether the coordinates are those of corners.

    >>> basis = Basis((10, 10), squares=(0, 1), corners=True)
    >>> basis.width, basis.stretch("L1"), basis.monomials
    (6, Fraction(3, 2), ((), (0,), (1,), (0, 1), (0, 0), (1, 1)))
    """

    cells: tuple[int, ...]
    squares: tuple[int, ...]
    corners: bool

    @classmethod
    def least(cls, cells: tuple[int, ...], squares: tuple[int, ...], norm: str) -> Basis:
        """Return the basis with less noise: corners under L1, for a few columns."""
        return cls.of(cells, squares, norm == "L1" and len(cells) <= MOST_CORNERS)

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, cells: tuple[int, ...], squares: tuple[int, ...], corners: bool) -> Basis:
        """Return a basis, the same one for the same columns: its matrices are worked out once."""
        return cls(cells, squares, corners)

    @property
    def width(self) -> int:
        """How many coordinates a group has."""
        return len(self._coordinates)

    @cached_property
    def monomials(self) -> tuple[Factors, ...]:
        """The products whose sums are asked for: of none, of one and of two columns."""
        places = range(len(self.cells))
        pairs = [*itertools.combinations(places, 2), *((i, i) for i in self.squares)]
        return ((), *((i,) for i in places), *pairs)

    @cached_property
    def products(self) -> tuple[Factors, ...]:
        """The products of offsets that the coordinates are made of, but for the number of rows."""
        if not self.corners:
            return self.monomials[1:]
        places = range(len(self.cells))
        several = [f for n in places for f in itertools.combinations(places, n + 1)]
        return (*several, *((i, i) for i in self.squares))

    def stretch(self, norm: str) -> Fraction:
        """Return how far one row moves the coordinates, in a norm; see the class."""
        m, r = len(self.cells), Fraction(len(self.squares))
        plain = Fraction(1) if self.corners else Fraction(1 + m + m * (m - 1) // 2)
        if norm == "L1":
            return plain + r * self._share / 2
        return sqrt_up(plain + r * self._share**2 / 4)

    @property
    def _share(self) -> Fraction:
        return Fraction(1, 2) if self.corners else Fraction(1)

    @cached_property
    def _coordinates(self) -> list[dict[Factors, Fraction]]:
        """Each coordinate as a polynomial of the s."""
        places = range(len(self.cells))
        if self.corners:
            every = ((), *(f for f in self.products if len({*f}) == len(f)))
            size = Fraction(1, 2 ** len(self.cells))
            plain = [
                {factors: size * math.prod(h[i] for i in factors) for factors in every}
                for h in itertools.product((-1, 1), repeat=len(self.cells))
            ]
        else:
            pairs = itertools.combinations(places, 2)
            plain = [{f: Fraction(1)} for f in [(), *((i,) for i in places), *pairs]]
        a = self._share
        return plain + [{(i, i): a, (): -a / 2} for i in self.squares]

    def _expanded(self, factors: Factors) -> dict[Factors, Fraction]:
        """Return a product of s as a polynomial of the offsets: ``s = 2 z / Q - 1``."""
        found: dict[Factors, Fraction] = {(): Fraction(1)}
        for i in factors:
            step: dict[Factors, Fraction] = {}
            for f, c in found.items():
                above = (*f, i)
                step[above] = step.get(above, Fraction(0)) + c * Fraction(2, self.cells[i])
                step[f] = step.get(f, Fraction(0)) - c
            found = step
        return found

    @cached_property
    def _in_offsets(self) -> list[list[Fraction]]:
        """Each coordinate by the number of rows and the products of offsets."""
        lines = []
        expanded = {f: self._expanded(f) for f in ((), *self.products)}
        for coordinate in self._coordinates:
            line: dict[Factors, Fraction] = dict.fromkeys(((), *self.products), Fraction(0))
            for factors, c in coordinate.items():
                for f, part in expanded[factors].items():
                    line[f] += c * part
            lines.append(list(line.values()))
        return lines

    @cached_property
    def unit(self) -> int:
        """The coordinates of rows are multiples of one over this."""
        return math.lcm(*(c.denominator for line in self._in_offsets for c in line))

    def vector(self, found: Any) -> list[int]:
        """Return the coordinates of each group, in units of ``1 / unit``, from what was added up.

        Args:
            found: whole numbers of shape (groups, 1 + len(products)).
        """
        whole = [[int(c * self.unit) for c in line] for line in self._in_offsets]
        rows = np.asarray(found, dtype=object).tolist()
        return [
            sum(c * int(value) for c, value in zip(line, row, strict=True))
            for row in rows
            for line in whole
        ]

    @cached_property
    def decoding(self) -> Array:
        """The sums of the monomials of s by the coordinates: shape (monomials, coordinates)."""
        found = np.zeros((len(self.monomials), self.width))
        plain = self.width - len(self.squares)
        for row, factors in enumerate(self.monomials):
            if len(factors) == 2 and factors[0] == factors[1]:
                found[row] = found[0] / 2
                found[row, plain + self.squares.index(factors[0])] = 1 / self._share
            elif self.corners:
                corners = itertools.product((-1, 1), repeat=len(self.cells))
                found[row, :plain] = [math.prod(h[i] for i in factors) for h in corners]
            else:
                found[row, row] = 1.0
        return found

    def even(self, rows: float) -> Array:
        """Return the coordinates of rows that are spread evenly over all bounds, independently."""
        mean: dict[Factors, float] = {(): 1.0}
        mean |= {(i, i): 1 / 3 for i in self.squares}
        each = [
            sum(float(c) * mean.get(f, 0.0) for f, c in line.items()) for line in self._coordinates
        ]
        return rows * np.array(each)


@register
@dataclass(frozen=True)
class ProductsByGroup(VectorStep):
    """Add up products of columns, centred, over the rows that have all of them, in each group.

    Columns are clamped to their bounds, on grids of so many ``cells``; the coordinates are those of
    :class:`Basis`.  A row in which one of the columns is missing adds nothing.

    **Map.** ``d -> d`` times the sensitivity of the basis in the norm, for one row: d rows move the
    vector by at most d times that, by the triangle inequality; weights scale what a row adds.
    """

    columns: tuple[str, ...]
    bounds: tuple[tuple[str, str], ...]
    cells: tuple[int, ...]
    squares: tuple[int, ...]
    corners: bool
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "products"

    @property
    def basis(self) -> Basis:
        """The coordinates of a group."""
        cells = tuple(as_integer(n, "cells", minimum=1) for n in self.cells)
        squares = tuple(as_integer(i, "a square", minimum=0) for i in self.squares)
        several = len(self.columns) == len(self.bounds) == len(cells) > 1
        if not several or not set(squares) <= set(range(len(cells))) or len(cells) > MOST_COLUMNS:
            raise UsageError(f"products are of 2 to {MOST_COLUMNS} columns, with bounds and cells")
        if len(set(squares)) < len(squares) or (self.corners and len(cells) > MOST_CORNERS):
            raise UsageError(f"a square is given once, and corners are of {MOST_CORNERS} columns")
        return Basis.of(cells, squares, bool(self.corners))

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        basis = self.basis
        grid = Fraction(1, as_integer(self.one, "one", minimum=1) * basis.unit)
        return self._end(space, Number("float", grid=grid), basis.stretch(self.norm))


def _step_words(step: Mapping[str, Any]) -> str:
    columns = zip(step["columns"], step["bounds"], strict=True)
    clamped = [f"{name} (clamped to [{low}, {high}])" for name, (low, high) in columns]
    return (
        f"Add up {listed(clamped)}, and their products, in the rows that have all of them"
        f"{for_each_group(step)}"
    )


def _moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{shown} in all, in sums of {listed(step['columns'])} that are rescaled to [-1, 1]"


say_step("products", _step_words, _moves)
