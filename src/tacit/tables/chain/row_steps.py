"""The chain from a table to integers, as steps whose maps a certificate can re-derive.

A question to a table is answered by one scan inside the engine; what comes out is held in
:class:`~tacit.tables.chain.space.Answers`, one integer vector for each step that ends a chain.  The
steps here state what such a vector is and how far one person can move it;
``tacit.tables.query.integer_query`` computes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tacit.arithmetic.exact import as_fraction, as_integer
from tacit.core import (
    Category,
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
)
from tacit.core.spaces.metric import sqrt_up
from tacit.errors import MismatchError, UsageError
from tacit.tables.chain.space import KINDS, Table, UnitDistance

__all__ = [
    "BoundContributions",
    "DerivedColumn",
    "FilterRows",
    "HistogramByGroup",
    "MomentsByGroup",
    "PeopleByGroup",
    "RowsByGroup",
    "SumByGroup",
    "TableStep",
]


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
    """Keep the rows that a total expression selects.

    **Map.** ``d -> d``: a row is kept or left without looking at others, so people whose rows are
    the same on both sides keep the same rows, and one person remains one person.
    """

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
        kept = [(n, d) for n, d in space.domain.columns if n != self.column]  # type: ignore[attr-defined]
        domain = Table((*kept, (self.column, KINDS.get(self.kind, Category()))))
        return Transformation(
            space, Space(domain, space.metric), lambda answers: answers, lambda d: d, step=self
        )


@register
@dataclass(frozen=True)
class BoundContributions(TableStep):
    """Let each person weigh at most ``rows`` rows, in at most ``groups`` groups.

    **Map.** ``d -> rows d``, from people to rows under the symmetric distance.  What is kept of a
    person, and with which weight, is decided from that person's own rows (and public or fresh
    random choices) alone; so a person who comes or goes adds or removes at most ``rows`` rows'
    weight and moves nobody else's.
    """

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
class _VectorStep(TableStep):
    """A step that ends in a vector over the groups: ``size`` coordinates under L1 or L2.

    Rows carry weights that are multiples of ``1 / one``, so a weighted row count lies on that grid.
    The size is None where the groups are all keys that could be, of which the data has some.
    """

    size: int | None
    norm: str

    def __post_init__(self) -> None:
        if self.norm not in ("L1", "L2"):
            raise UsageError(f"the norm is 'L1' or 'L2', not {self.norm!r}")

    def _end(self, space: Space, number: Number, stretch: Fraction) -> Transformation:
        metric = L1Distance() if self.norm == "L1" else L2Distance()
        output = Space(Vector(number, size=self.size), metric)
        return Transformation(
            space, output, lambda answers: answers.of(self), lambda d: d * stretch, step=self
        )


def _weights(one: int) -> Number:
    """Return the numbers that weighted counts lie on: multiples of ``1 / one``."""
    return Number("int" if one == 1 else "float", grid=Fraction(1, one))


@register
@dataclass(frozen=True)
class RowsByGroup(_VectorStep):
    """Count the rows of each group.

    **Map.** ``d -> d`` in L1 and in L2: a row is in one group, where it counts one; so d rows move
    the vector by at most d in L1, and in L2 by at most the same (all of them in one group).
    """

    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "count_rows"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, _weights(self.one), Fraction(1))


@register
@dataclass(frozen=True)
class PeopleByGroup(_VectorStep):
    """Count the people of each group, each in at most ``groups`` groups.

    **Map.** ``d -> groups d`` in L1: a person counts one in each of at most ``groups`` groups.
    In L2 ``d -> sqrt(groups) d`` (rounded up): one person moves at most ``groups`` coordinates by
    one, and by the triangle inequality d people at most d times as far.
    """

    groups: int
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "count_people"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, UnitDistance)
        groups = Fraction(as_integer(self.groups, "groups", minimum=1))
        return self._end(space, _weights(1), groups if self.norm == "L1" else sqrt_up(groups))


@register
@dataclass(frozen=True)
class HistogramByGroup(_VectorStep):
    """Count the values of a column between edges, in each group.

    **Map.** ``d -> d`` in L1 and in L2: a row is in one bin of one group.
    """

    column: str
    edges: tuple[str, ...]
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "histogram"

    def build(self, space: Space) -> Transformation:
        """Return the counts."""
        self._require(space, SymmetricDistance)
        return self._end(space, _weights(self.one), Fraction(1))


@register
@dataclass(frozen=True)
class MomentsByGroup(_VectorStep):
    """Split every row of a column between the Bernstein polynomials of a degree, and add up.

    A value x in [lower, upper] becomes ``y = (x - lower) / (upper - lower)`` in [0, 1], and its row
    is divided between ``B_j(y) = C(degree, j) y^j (1 - y)^(degree - j)``, j = 0..degree.  Degree 1
    gives the two one-sided sums ``sum (1 - y)`` and ``sum y``; degree 2 serves the variance too.
    With ``missing`` a last coordinate counts rows without a value; else they are left out.

    **Map.** ``d -> d`` in L1: the polynomials are not negative and sum to one (the binomial
    theorem), so a row moves the coordinates of its group by one in all; a row without a value moves
    one coordinate by one.  In L2 no more, since L2 is at most L1.  So count, sum, mean and variance
    come out of one vector at the sensitivity of a single count, where separate noisy sums would
    each be charged.

    All of it on the grid: y is a multiple of ``1 / cells``, hence ``B_j`` one of
    ``1 / cells^degree``, and weights are multiples of ``1 / one``.
    """

    column: str
    lower: str
    upper: str
    cells: int
    degree: int
    missing: bool
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "moments"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        cells = as_integer(self.cells, "cells", minimum=1)
        degree = as_integer(self.degree, "degree", minimum=1)
        if degree > 2:
            raise UsageError("moments are of degree 1 or 2")
        grid = Fraction(1, as_integer(self.one, "one", minimum=1) * cells**degree)
        return self._end(space, Number("float", grid=grid), Fraction(1))


@register
@dataclass(frozen=True)
class SumByGroup(_VectorStep):
    """Add up a column in each group.

    **Map.** ``d -> d max(|lower|, |upper|)`` in L1 and L2: the farthest from zero that one row's
    value can be.  Values are clamped to the bounds, on a grid of ``cells`` steps between them of
    which both bounds are multiples; a person's values are weighted down to ``rows`` times that.
    """

    column: str
    lower: str
    upper: str
    cells: int
    one: int = 1
    by: tuple[str, ...] = ()

    name: ClassVar[str] = "sum_by_group"

    def build(self, space: Space) -> Transformation:
        """Return the sums."""
        self._require(space, SymmetricDistance)
        low, high = as_fraction(self.lower), as_fraction(self.upper)
        cells = as_integer(self.cells, "cells", minimum=1)
        if low >= high:
            raise UsageError("the bounds of a sum must rise")
        step = (high - low) / cells
        if (low / step).denominator != 1:
            raise UsageError("the bounds of a sum must be multiples of its grid")
        lattice = Number("float", grid=step / as_integer(self.one, "one", minimum=1))
        return self._end(space, lattice, max(abs(low), abs(high)))
