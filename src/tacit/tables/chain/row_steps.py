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

from tacit.arithmetic.exact import as_integer
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
from tacit.errors import MismatchError, UsageError
from tacit.tables.chain.space import KINDS, Table, UnitDistance

__all__ = [
    "BoundContributions",
    "DerivedColumn",
    "FilterRows",
    "JoinTable",
    "TableStep",
    "VectorStep",
    "weight_of",
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
class JoinTable(TableStep):
    """Put the columns of another table beside the rows, by the person or by a public key.

    **Map.** ``d -> d``: a row of a join by the person is made of rows of one person, in whose
    tables it is added and removed; a row that meets a public table is a function of itself and of
    public values.  The theorems are proven in :mod:`tacit.tables.query.join_sql`.

    Attributes:
        table: the name of the other table.
        how: ``"left"`` or ``"inner"``.
        on: pairs of a column of the rows and the column of the table that is equal to it.
        columns: of each column that is added its name here, its name there, and its kind.
        public: a digest of a public table's rows; None for a protected table.
        most: of a protected table, how many rows of a person are joined; who has more has no match.
    """

    table: str
    how: str
    on: Any
    columns: Any
    public: str | None = None
    most: int | None = None

    name: ClassVar[str] = "join"

    def __hash__(self) -> int:
        return hash((self.table, self.how, str(self.on), self.public))

    def build(self, space: Space) -> Transformation:
        """Return the table with the columns of the other one."""
        self._require(space, UnitDistance)
        columns, person = space.domain.columns, space.metric.column  # type: ignore[attr-defined]
        known = {name for name, _ in columns}
        if self.public is None and (person is None or [here for here, _ in self.on] != [person]):
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
    """Bound contributions: at most ``rows`` rows per person count, in at most ``groups`` groups.

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
class VectorStep(TableStep):
    """A step that ends in a vector over the groups: ``size`` coordinates under L1 or L2.

    Rows carry weights that are multiples of ``1 / one``, so a weighted row count lies on that grid.
    The size is None where the groups are all keys that could be, of which the data has some.
    """

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

    def _end(self, space: Space, number: Number, stretch: Fraction) -> Transformation:
        output = Space(Vector(number, size=self.size), self.metric)
        return Transformation(
            space, output, lambda answers: answers.of(self), lambda d: d * stretch, step=self
        )


def weight_of(one: int) -> Number:
    """Return the numbers that weighted counts lie on: multiples of ``1 / one``."""
    return Number("int" if one == 1 else "float", grid=Fraction(1, one))
