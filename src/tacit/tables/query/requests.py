"""Requests to the engine in integers, and their answers."""

# Weights are multiples of ``1 / unit.one`` (:mod:`tacit.tables.privacy_unit`), so every count
# and sum below is ``unit.one`` times the number that it represents.

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn, TypeAlias

from tacit.errors import UsageError
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid


@dataclass(frozen=True)
class Rows:
    """The weight of all rows in each group: integers of shape (groups,)."""

    # The values that are read, each with its grid.
    columns: ClassVar[tuple[tuple[Expression, Grid], ...]] = ()


@dataclass(frozen=True)
class People:
    """The number of people of each group: integers of shape (groups,), without weights."""

    columns: ClassVar[tuple[tuple[Expression, Grid], ...]] = ()


@dataclass(frozen=True)
class _OfValue:
    value: Expression
    grid: Grid

    weighted: ClassVar[bool] = True  # whether rows count with the weights of their people

    @property
    def columns(self) -> tuple[tuple[Expression, Grid], ...]:
        """The value that is read, with its grid."""
        return ((self.value, self.grid),)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        rest = [getattr(self, n) for n in self.__dataclass_fields__ if n != "value"]
        return type(self), str(self.value.to_json()), *rest

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OfValue) and self._identity == other._identity


@dataclass(frozen=True, eq=False)
class Moments(_OfValue):
    """Sums over the rows with a value, in offsets z of the grid: integers of shape (groups, 4)."""

    # The columns: the weight of rows with a value, of rows without, ``sum w z``, ``sum w z^2``.
    # The one-sided sums follow exactly: of ``z`` the third, of ``cells - z`` the first times
    # ``cells`` less the third.  Without ``squares`` the last column is zeros, for less work.

    squares: bool = True


@dataclass(frozen=True, eq=False)
class Products:
    """Sums of products of offsets over the rows that have all of some values."""

    # Integers of shape (groups, 1 + len(products)): the weight of the rows in which no value is
    # missing, then for each product ``sum w z_i z_j ...`` over these rows.

    columns: tuple[tuple[Expression, Grid], ...]  # the values, each with its grid
    # the positions of the factors among the columns, such as ``(0,)`` and ``(0, 1)``
    products: tuple[tuple[int, ...], ...]

    weighted: ClassVar[bool] = True

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return tuple((str(value.to_json()), grid) for value, grid in self.columns), self.products

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Products) and self._identity == other._identity


@dataclass(frozen=True, eq=False)
class Total(_OfValue):
    """The sum of grid points q, each person's total bounded by k max|q|: shape (groups,)."""


@dataclass(frozen=True, eq=False)
class Bins(_OfValue):
    """The weight of rows between ``edges``: integers of shape (groups, bins)."""

    # ``edges`` are offsets on the grid, rising, from its first point to its last; a bin holds its
    # lower edge, the last one its upper too.  Values beyond the bounds of the grid are in no bin.

    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in itertools.pairwise(self.edges))
        if len(self.edges) < 2 or not rising:
            raise UsageError("a histogram needs at least two edges that the grid can tell apart")
        if self.edges[0] != 0 or self.edges[-1] != self.grid.cells:
            raise UsageError("the outer edges of a histogram are the bounds of its grid")


@dataclass(frozen=True, eq=False)
class Cells(_OfValue):
    """For each group the cells ``z >> shift`` that occur, rising, and their weights."""

    # A list of pairs of int64 arrays, one pair a group.  Enough for every quantile, to 2^shift
    # steps.

    shift: int = 0

    bins: ClassVar[int] = 1  # how many lists of cells each group has


def unread_bits(request: Request) -> int:
    """Return how many of the last bits of its offsets do not matter to a request.

    >>> from tacit.expressions.expression import col
    >>> grid = Grid.for_bounds(0, 16, bits=8)
    >>> unread_bits(Bins(col("x"), grid, (0, 64, 256))), unread_bits(Moments(col("x"), grid))
    (6, 0)
    """
    if type(request) is Cells:
        return request.shift
    if isinstance(request, Bins):  # two offsets between the same multiples are in the same bin
        return (math.gcd(*request.edges) & -math.gcd(*request.edges)).bit_length() - 1
    return 0


@dataclass(frozen=True, eq=False)
class Distinct:
    """The number of values of each group, with a bound per person: shape (groups,)."""

    value: Expression

    columns: ClassVar[tuple[tuple[Expression, Grid], ...]] = ()

    def __hash__(self) -> int:
        return hash((Distinct, str(self.value)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distinct) and self.value.to_json() == other.value.to_json()


Sums: TypeAlias = Rows | Moments | Products  # what one statement adds up
Request: TypeAlias = Sums | People | Total | Bins | Cells | Distinct


class ExactAggregates:
    """Exact answers, by request.  They are not private: never shown, copied out or pickled.

    >>> ExactAggregates({}, 3)
    <exact aggregates of 0 requests in 3 groups, not shown>
    """

    __slots__ = ("_answers", "groups")

    def __init__(self, answers: Mapping[Any, Any], groups: int) -> None:
        self._answers = dict(answers)
        self.groups = groups

    def of(self, request: Request) -> Any:
        """Return the exact answer to a request, for noise to be added to."""
        return self._answers[request]

    def __repr__(self) -> str:
        size = f"{len(self._answers)} requests in {self.groups} groups"
        return f"<exact aggregates of {size}, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact aggregates cannot be copied or pickled: they are not private")
