"""Steps from a table to an aggregate, each with its stability map."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np

from tacit.arithmetic.exact import as_integer
from tacit.arithmetic.roots_and_bisection import sqrt_up
from tacit.core import (
    Category,
    Domain,
    Frame,
    L1Distance,
    L2Distance,
    Metric,
    Number,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Vector,
    register,
    register_space,
)
from tacit.errors import MismatchError, UsageError
from tacit.report.text import for_each_group, listed, person_words, say_step, so_many
from tacit.tables.noise import Array
from tacit.tables.privacy_unit import Person, person_columns, person_json, person_or_none

# The space of a table: its columns, its distance in people, and what comes out of it.


KINDS: dict[str, Any] = {"integer": int, "float": float, "decimal": float, "boolean": bool}


class Answers:
    """Exact integer vectors, by the step that asked for them.  Never shown, never pickled."""

    def __init__(self, answers: Mapping[Step, Any]) -> None:
        self._answers = dict(answers)

    def of(self, step: Step) -> Any:
        """Return the exact vector for a step."""
        return self._answers[step]

    def __repr__(self) -> str:
        return f"<exact aggregates of {len(self._answers)} parts, not shown>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("exact aggregates cannot be pickled: they are not private")


class CountedGroups(Domain):
    """For each group a counted histogram: a pair (cells that occur, how many of each)."""

    groups: int
    # how many steps the grid has: one less than it has points
    cells: int

    kind: ClassVar[str]  # its name in certificates
    noun: ClassVar[str]  # what a group has of so many points

    def describe(self) -> dict[str, Any]:
        """Return the domain as plain JSON values."""
        return {"domain": self.kind, "groups": self.groups, "cells": self.cells}

    def __str__(self) -> str:
        return f"the {self.noun.format(self.cells + 1)} in each of {self.groups} groups"

    def contains(self, value: Any) -> bool:
        """Return whether there is one histogram a group."""
        return isinstance(value, Sequence) and len(value) == self.groups

    def read(self, value: Any) -> Any:
        """Return the histograms as they are."""
        return value

    def sample(self, source: random.Random) -> Any:
        """Draw histograms of a few records."""
        drawn = []
        for _ in range(self.groups):
            cells = sorted(source.sample(range(self.cells + 1), min(3, self.cells + 1)))
            drawn.append((np.array(cells), np.array([source.randint(1, 4) for _ in cells])))
        return drawn


@dataclass(frozen=True)
class Table(Frame):
    """A table that stays in its engine: the names and kinds of its columns.

    >>> Table.of({"age": "integer", "site": "text"}).names
    ('age', 'site')
    """

    @classmethod
    def of(cls, columns: Mapping[str, str]) -> Table:
        """Return the domain of a table from its column names and kinds."""
        pairs = [(name, KINDS.get(kind, Category())) for name, kind in columns.items()]
        return cls(tuple(pairs))

    def read(self, value: Any) -> Any:
        """Return the aggregates that the engine computed, as they are."""
        return value if isinstance(value, Answers) else super().read(value)

    def describe(self) -> dict[str, Any]:
        return {"domain": "table", "columns": list(self.names)}


@dataclass(frozen=True)
class UnitDistance(Metric):
    """People added or removed, each with all their rows: symmetric distance in units of privacy.

    >>> u = {"person": [1, 1, 2], "visits": [3, 4, 5]}
    >>> v = {"person": [1, 1], "visits": [3, 4]}
    >>> UnitDistance("person").distance(u, v)
    Fraction(1, 1)
    """

    # A person whose rows differ counts as one removed and one added.  Without a person column every
    # row is a person.

    column: Person | None = None

    carries = (Frame,)

    def distance(self, u: Any, v: Any) -> Fraction | float:
        """Count the people to add and to remove."""
        if self.column is None:
            return SymmetricDistance().distance(u, v)
        left, right = self._people(u), self._people(v)
        total = 0
        for person in left.keys() | right.keys():
            if left.get(person) != right.get(person):
                total += (person in left) + (person in right)
        return Fraction(total)

    def _people(self, data: Any) -> dict[Any, Counter[Any]]:
        rows_of: dict[Any, Counter[Any]] = {}
        names = list(data)
        for row in zip(*(np.asarray(data[n]).tolist() for n in names), strict=True):
            record = dict(zip(names, map(str, row), strict=True))
            person = tuple(record[name] for name in person_columns(self.column))
            rows_of.setdefault(person, Counter())[tuple(record.items())] += 1
        return rows_of

    def describe(self) -> dict[str, Any]:
        return {"metric": "UnitDistance", "column": person_json(self.column)}

    def __str__(self) -> str:
        names = " and ".join(person_columns(self.column))
        unit = f"people ({names}), each with all their rows," if names else "rows"
        return f"{unit} added or removed"


def table_space(columns: Mapping[str, str], person: Person | None) -> Space:
    """Return the space that every chain from a table starts in."""
    return _table_space(tuple(columns.items()), person)


@lru_cache(maxsize=64)
def _table_space(columns: tuple[tuple[str, str], ...], person: Person | None) -> Space:
    """Return the space of a table, of which many questions ask the same."""
    return Space(Table.of(dict(columns)), UnitDistance(person))


@register_space("table")
def _described_space(description: Mapping[str, Any]) -> Space:
    """Build the space of a table from its description: names are enough for every map here."""
    columns = {str(name): "other" for name in description["domain"]["columns"]}
    return table_space(columns, person_or_none(description["metric"].get("column")))


# The chain from a table to integers, as steps whose maps a certificate can re-derive.
#
# A question to a table is answered by one scan inside the engine; what comes out is stored in
# :class:`~tacit.tables.steps.Answers`, one integer vector for each step that ends a chain.
# The steps here state what such a vector is and how far one person can move it;
# ``tacit.tables.query.integer_query`` computes it.


class TableStep(Step):
    """A step on the rows of a table; its function hands the engine's answers on."""

    def _require(self, space: Space, metric: type[Metric]) -> None:
        if not isinstance(space.domain, Table) or not isinstance(space.metric, metric):
            raise MismatchError(
                f"{self.name} works on a table under the {metric.__name__}, not on ({space})",
                space,
                self,
            )


@register
@dataclass(frozen=True)
class FilterRows(TableStep):
    """Keep the rows that a total expression selects."""

    # **Map.** ``d -> d``: a row is kept or left without looking at others, so people whose rows are
    # the same on both sides keep the same rows, and one person remains one person.

    expression: Any

    name: ClassVar[str] = "filter"

    def __hash__(self) -> int:
        return hash(str(self.expression))

    def build(self, space: Space) -> Transformation:
        """Return the filter on a table."""
        self._require(space, UnitDistance)
        return Transformation(space, space, lambda answers: answers, lambda d: d, step=self)


@register
@dataclass(frozen=True)
class DerivedColumn(TableStep):
    """Add a column computed from each row alone by a total expression; map ``d -> d``."""

    column: str
    kind: str
    expression: Any

    name: ClassVar[str] = "derive"

    def __hash__(self) -> int:
        return hash((self.column, str(self.expression)))

    def build(self, space: Space) -> Transformation:
        """Return the table with one column more (or replaced)."""
        self._require(space, UnitDistance)
        columns = [(n, d) for n, d in space.domain.columns if n != self.column]  # type: ignore[attr-defined]
        domain = Table((*columns, (self.column, KINDS.get(self.kind, Category()))))
        return Transformation(
            space, Space(domain, space.metric), lambda answers: answers, lambda d: d, step=self
        )


@register
@dataclass(frozen=True)
class JoinTable(TableStep):
    """Put the columns of another table next to the rows, by the person or by a public key."""

    # **Map.** ``d -> d``: a row of a join by the person is made of rows of one person, in whose
    # tables it is added and removed; a row that meets a public table is a function of itself and of
    # public values.  The theorems are proven in :mod:`tacit.tables.query.joins`.

    table: str  # the name of the other table
    how: str  # ``"left"`` or ``"inner"``
    on: Any  # pairs of a column of the rows and the column of the table that is equal to it
    columns: Any  # of each column that is added its name here, its name there, and its kind
    public: str | None = None  # a digest of a public table's rows; None for a protected table
    # of a protected table, how many rows of a person are joined; who has more has no match
    most: int | None = None

    name: ClassVar[str] = "join"

    def __hash__(self) -> int:
        return hash((self.table, self.how, str(self.on), self.public))

    def build(self, space: Space) -> Transformation:
        """Return the table with the columns of the other one."""
        self._require(space, UnitDistance)
        columns, person = space.domain.columns, space.metric.column  # type: ignore[attr-defined]
        known = {name for name, _ in columns}
        by_person = [here for here, _ in self.on] == [*person_columns(person)]
        if self.public is None and (person is None or not by_person):
            raise MismatchError(
                f"{self.table} is protected, so it is joined only by the person", space, self
            )
        if not known >= {here for here, _ in self.on}:
            raise MismatchError(f"the join with {self.table} is on other columns", space, self)
        added = tuple((here, KINDS.get(kind, Category())) for here, _, kind in self.columns)
        output = Space(Table((*columns, *added)), space.metric)
        return Transformation(space, output, lambda answers: answers, lambda d: d, step=self)


@register
@dataclass(frozen=True)
class BoundContributions(TableStep):
    """Bound contributions: at most ``rows`` rows per person count, in at most ``groups`` groups."""

    # **Map.** ``d -> rows d``, from people to rows under the symmetric distance.  What is kept of a
    # person, and with which weight, is decided from that person's own rows (and public or fresh
    # random choices) alone; so a person who comes or goes adds or removes at most ``rows`` rows'
    # weight and moves no one else's.

    rows: int
    groups: int

    name: ClassVar[str] = "bound_contributions"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", as_integer(self.rows, "rows", minimum=1))
        object.__setattr__(self, "groups", as_integer(self.groups, "groups", minimum=1))

    def build(self, space: Space) -> Transformation:
        """Return the bound on a table whose distance is in people."""
        self._require(space, UnitDistance)
        output = Space(space.domain, SymmetricDistance())
        return Transformation(
            space, output, lambda answers: answers, lambda d: d * self.rows, step=self
        )


@dataclass(frozen=True)
class VectorStep(TableStep):
    """A step that ends in a vector over the groups: ``size`` coordinates under L1 or L2."""

    # Rows carry weights that are multiples of ``1 / one``, so a weighted row count lies on that
    # grid. The size is None where the groups are all keys that could be, of which the data has
    # some.

    size: int | None
    norm: str

    norms: ClassVar[tuple[str, ...]] = ("L1", "L2")

    def __post_init__(self) -> None:
        if self.norm not in self.norms:
            raise UsageError(f"the norm is {' or '.join(map(repr, self.norms))}, not {self.norm!r}")

    @property
    def metric(self) -> Metric:
        """The metric of the vector."""
        return L1Distance() if self.norm == "L1" else L2Distance()

    def _end(self, space: Space, number: Number, stability: Fraction) -> Transformation:
        output = Space(Vector(number, size=self.size), self.metric)
        return Transformation(
            space, output, lambda answers: answers.of(self), lambda d: d * stability, step=self
        )


def weight_of(one: int) -> Number:
    """Return the numbers that weighted counts lie on: multiples of ``1 / one``."""
    return Number("int" if one == 1 else "float", grid=Fraction(1, one))


# The step from rows to a table of one row a person.


@register
@dataclass(frozen=True)
class PerPerson(TableStep):
    """Make one row of all rows of each person."""

    # **Map.** ``d -> d``, from people with all their rows to people with one row each.  A row is a
    # function of its person's own rows, of however many there are, and who has none has no row.  So
    # a person who comes or goes adds or removes their own row and moves no other; the table of two
    # data sets that differ in d people differs in at most d people.  (Some differ no more: two
    # versions of a person may have one total.)

    columns: Any  # names and kinds of the columns that come out, the person first
    values: Any  # the columns next to the person, each with what it is of a person's rows

    name: ClassVar[str] = "per_person"

    def __hash__(self) -> int:
        return hash((str(self.columns), str(self.values)))

    def build(self, space: Space) -> Transformation:
        """Return the table of people."""
        self._require(space, UnitDistance)
        person = person_columns(space.metric.column)  # type: ignore[attr-defined]
        names = [str(name) for name, _ in self.columns]
        if not person or not {*person} <= {*names}:
            raise MismatchError(
                f"{self.name} makes one row of each person's rows: name the column that "
                "identifies people, and keep it among the columns",
                space,
                self,
            )
        output = Space(Table.of(dict(self.columns)), space.metric)
        return Transformation(space, output, lambda answers: answers, lambda d: d, step=self)


def _step_words(step: Mapping[str, Any]) -> str:
    made = [f"{label} is {person_words(value)}" for label, value in step["values"]]
    return f"Make one row of all rows of each person: {'; '.join(made)}"


def _moves(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "person", "people")


say_step("per_person", _step_words, _moves)


# Sums of products of several columns, in one vector with a small and exact sensitivity.
#
# Covariance, correlation and regression need of the rows ``n``, ``sum u_i`` and ``sum u_i u_j``.
# :class:`Basis` says in which coordinates they are released, and :class:`ProductsByGroup` is the
# step of the chain that does so.


MOST_CORNERS = 4  # the most columns whose corners are released: beyond, products have less noise
MOST_COLUMNS = 13  # the most columns whose products are added up

# The places of the columns that are multiplied: ``()`` counts rows, ``(0, 0)`` is a square.
Factors: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Basis:
    """The coordinates in which sums of products of m columns are released.

    >>> basis = Basis((10, 10), squares=(0, 1), corners=True)
    >>> basis.width, basis.sensitivity("L1"), basis.monomials
    (6, Fraction(3, 2), ((), (0,), (1,), (0, 1), (0, 0), (1, 1)))
    """

    # A value at the offset z of 0..Q lies at ``s = 2 z / Q - 1`` in [-1, 1] on its column: centred,
    # so that a product of columns is at most one in absolute value.  With ``corners`` a row adds
    #
    # - ``prod_i (1 + h_i s_i) / 2`` to the coordinate of each corner h in {-1, 1}^m, and
    # - ``(s_i^2 - 1/2) / 2`` to one more for each column whose square is needed;
    #
    # without, it adds
    #
    # - 1, every ``s_i`` and every ``s_i s_j`` (i < j), each to its coordinate, and
    # - ``s_i^2 - 1/2`` for each column whose square is needed.
    #
    # All of ``n``, ``sum s_i``, ``sum s_i s_j`` and the squares are sums of the coordinates.
    #
    # **Sensitivity.**  Let r squares be needed.  *In L1 with corners* one row adds at most
    # ``1 + r / 4``: the corners are not negative and sum to
    # ``prod_i ((1 + s_i) / 2 + (1 - s_i) / 2) = 1``, and ``|s^2 - 1/2| <= 1/2``.  *In L2* the
    # corners' squares sum to ``prod_i (1 + s_i^2) / 2``.  With ``p_i = s_i^2`` in [0, 1] the square
    # of the norm, ``prod_i (1 + p_i) / 2 + sum (p_i - 1/2)^2 / 4``, is convex in each p_i alone, so
    # its maximum is where each is 0 or 1; there the second sum is r / 16, and the first term is
    # largest, at 1, where all are 1.  So the norm is at most ``sqrt(1 + r / 16)``.  *Without
    # corners*, by the same two arguments, at most ``1 + m + m (m - 1) / 2 + r / 2`` in L1 and
    # ``sqrt(1 + m + m (m - 1) / 2 + r / 4)`` in L2.  All four are attained where every value is at
    # a bound, so they are exact; the roots are rounded up.

    cells: tuple[int, ...]
    squares: tuple[int, ...]  # the positions of the columns whose squares are needed
    corners: bool  # whether the coordinates are those of corners

    @classmethod
    def smallest(cls, cells: tuple[int, ...], squares: tuple[int, ...], norm: str) -> Basis:
        """Return the basis with less noise: corners under L1, for a few columns."""
        return cls.of(cells, squares, norm == "L1" and len(cells) <= MOST_CORNERS)

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, cells: tuple[int, ...], squares: tuple[int, ...], corners: bool) -> Basis:
        """Return a basis, the same one for the same columns: its matrices are computed once."""
        return cls(cells, squares, corners)

    @property
    def width(self) -> int:
        """The number of coordinates of a group."""
        return len(self._coordinates)

    @cached_property
    def monomials(self) -> tuple[Factors, ...]:
        """The products whose sums are asked for: of none, of one and of two columns."""
        indices = range(len(self.cells))
        pairs = [*itertools.combinations(indices, 2), *((i, i) for i in self.squares)]
        return ((), *((i,) for i in indices), *pairs)

    @cached_property
    def products(self) -> tuple[Factors, ...]:
        """The products of offsets in the coordinates, without the number of rows."""
        if not self.corners:
            return self.monomials[1:]
        indices = range(len(self.cells))
        several = [f for n in indices for f in itertools.combinations(indices, n + 1)]
        return (*several, *((i, i) for i in self.squares))

    def sensitivity(self, norm: str) -> Fraction:
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
        indices = range(len(self.cells))
        if self.corners:
            every = ((), *(f for f in self.products if len({*f}) == len(f)))
            size = Fraction(1, 2 ** len(self.cells))
            plain = [
                {factors: size * math.prod(h[i] for i in factors) for factors in every}
                for h in itertools.product((-1, 1), repeat=len(self.cells))
            ]
        else:
            pairs = itertools.combinations(indices, 2)
            plain = [{f: Fraction(1)} for f in [(), *((i,) for i in indices), *pairs]]
        a = self._share
        return plain + [{(i, i): a, (): -a / 2} for i in self.squares]

    def _expanded(self, factors: Factors) -> dict[Factors, Fraction]:
        """Return a product of s as a polynomial of the offsets: ``s = 2 z / Q - 1``."""
        terms: dict[Factors, Fraction] = {(): Fraction(1)}
        for i in factors:
            step: dict[Factors, Fraction] = {}
            for f, c in terms.items():
                above = (*f, i)
                step[above] = step.get(above, Fraction(0)) + c * Fraction(2, self.cells[i])
                step[f] = step.get(f, Fraction(0)) - c
            terms = step
        return terms

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

    def vector(self, sums: Any) -> list[int]:
        """The coordinates of each group, in units of ``1 / unit``, from what was added up."""
        integers = [[int(c * self.unit) for c in line] for line in self._in_offsets]
        rows = np.asarray(sums, dtype=object).tolist()
        return [
            sum(c * int(value) for c, value in zip(line, row, strict=True))
            for row in rows
            for line in integers
        ]

    @cached_property
    def decoding(self) -> Array:
        """The sums of the monomials of s by the coordinates: shape (monomials, coordinates)."""
        matrix = np.zeros((len(self.monomials), self.width))
        plain = self.width - len(self.squares)
        for row, factors in enumerate(self.monomials):
            if len(factors) == 2 and factors[0] == factors[1]:
                matrix[row] = matrix[0] / 2
                matrix[row, plain + self.squares.index(factors[0])] = 1 / self._share
            elif self.corners:
                corners = itertools.product((-1, 1), repeat=len(self.cells))
                matrix[row, :plain] = [math.prod(h[i] for i in factors) for h in corners]
            else:
                matrix[row, row] = 1.0
        return matrix

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
    """Add up products of columns, centred, over the rows that have all of them, in each group."""

    # Columns are clamped to their bounds, on grids of this many ``cells``; the coordinates are
    # those of :class:`Basis`.  A row in which one of the columns is missing adds nothing.
    #
    # **Map.** ``d -> d`` times the sensitivity of the basis in the norm, for one row: d rows move
    # the vector by at most d times that, by the triangle inequality; weights scale what a row adds.

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
        return self._end(space, Number("float", grid=grid), basis.sensitivity(self.norm))


def _products_step_words(step: Mapping[str, Any]) -> str:
    columns = zip(step["columns"], step["bounds"], strict=True)
    clamped = [f"{name} (clamped to [{low}, {high}])" for name, (low, high) in columns]
    return (
        f"Add up {listed(clamped)}, and their products, in the rows that have all of them"
        f"{for_each_group(step)}"
    )


def _products_moves(step: Mapping[str, Any], shown: str) -> str:
    return f"{shown} in all, in sums of {listed(step['columns'])} that are rescaled to [-1, 1]"


say_step("products", _products_step_words, _products_moves)
