"""Rows that are kept whole or left out: what mechanisms on data sets need of people with many rows.

Weights (:mod:`tacit.tables.contributions`) bound a sum; they make no data set.  Where a mechanism
reads records, so many rows of a person are kept as a person may have, and each counts one.

*Theorem.*  For every salt, a person who comes or goes adds or removes at most ``rows`` rows, in at
most ``groups`` groups and, where people are put in bins, in one bin of each; and nobody else's rows
or bins change.  *Proof.*  What is kept, and the bin, are functions of the salt and the person's own
rows: they are put in the order of a digest, the first are kept, and the bin is a digest of the
person.  Rows that tie in the digest are equal in all that is read of them.  No property of the
digest is used beside its being a function; how evenly it spreads people only makes answers better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.tables.bounded_rows import BoundedRows
from tacit.tables.contributions import few_groups, salted_digest
from tacit.tables.dialect import Dialect
from tacit.tables.requests import Cells

if TYPE_CHECKING:
    from tacit.tables.query import Query

__all__ = ["WholeCells", "in_bins", "in_few_groups", "whole_rows"]

_DIGITS = 7
"""Digits of the digest that make a number: 28 bits."""


@dataclass(frozen=True, eq=False)
class WholeCells(Cells):
    """The cells that occur among rows that are kept whole, and how many rows are in each.

    Attributes:
        parts: how many bins of people each group has.
        groups: the most groups of a person; None where it does not matter.
    """

    parts: int = 1
    groups: int | None = None

    weighted: ClassVar[bool] = False

    @property
    def bins(self) -> int:  # type: ignore[override]
        """How many lists of cells each group has."""
        return self.parts

    def rows(self, query: Query) -> tuple[BoundedRows, str]:
        """Return whole rows of weight one, and the name of the offset in them."""
        d = query._dialect
        kept = query._select([f"{query._offset(self.value, self.grid)} as z0"])
        person = query._spelled
        if self.groups is not None:
            kept = in_few_groups(kept, self.groups, d, person)
        kept = whole_rows(kept, query.unit.rows, d, person)
        if self.parts > 1:
            kept = in_bins(kept, self.parts, d, person)
        return BoundedRows(kept, d), "z0"


def whole_rows(base: str, rows: int, dialect: Dialect, person: str = "u") -> str:
    """Return the SQL of the rows with a value, at most ``rows`` of a person, each of weight one.

    Args:
        base: SQL of a query with the person ``u``, the group ``code`` and the offset ``z0``.
        rows: the most rows of a person.
        dialect: the engine's.
        person: SQL of ``u`` as it enters the digest.
    """
    draw = salted_digest([person, "code", "z0"], dialect)
    drawn = f"select u, code, z0, {draw} as draw from ({base}) as own where z0 is not null"
    placed = (
        f"select *, row_number() over (partition by u order by draw) as place from ({drawn}) as d"
    )
    return f"select u, code, z0 from ({placed}) as placed where place <= {rows}"


def in_few_groups(base: str, groups: int, dialect: Dialect, person: str = "u") -> str:
    """Return the SQL of the rows that are in one of at most ``groups`` groups of their person."""
    few = few_groups(base, ["code"], groups, dialect, person)
    return (
        f"select r.u, r.code, r.z0 from ({base}) as r join ({few}) as f "
        "on r.u = f.u and r.code = f.code"
    )


def in_bins(kept: str, bins: int, dialect: Dialect, person: str = "u") -> str:
    """Return the SQL of rows whose code is that of their person's bin in their group.

    Args:
        kept: SQL of a query with ``u``, ``code`` and ``z0``.
        bins: how many a group has; the bin ``b`` of the group ``c`` has the code ``c bins + b``.
        dialect: the engine's.
        person: SQL of ``u`` as it enters the digest.
    """
    marked = f"select *, {salted_digest([person], dialect)} as mark from ({kept}) as kept"
    number = " + ".join(
        f"(position(substr(mark, {i + 1}, 1) in '0123456789abcdef') - 1) * {16**i}"
        for i in range(_DIGITS)
    )
    numbered = f"select code, z0, {dialect.cast(number, 'integer')} as place from ({marked}) as m"
    size = dialect.literal(bins)
    quotient = dialect.divide("place", size, wide=False)
    rest = f"place - {quotient} * {size}"
    code = f"{dialect.cast('code', 'integer')} * {size} + {rest}"  # below groups times bins
    return f"select {code} as code, z0 from ({numbered}) as n"
