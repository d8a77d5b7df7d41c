"""Rows that are kept whole or left out: what mechanisms on data sets need of people with many rows.

Weights (:mod:`tacit.tables.spec.privacy_unit`) bound a sum; they make no data set.  Where a
mechanism reads records, so many rows of a person are kept as a person may have, and each counts
one.

*Theorem.*  For every salt, a person who comes or goes adds or removes at most ``rows`` rows, in at
most ``groups`` groups and, where people are put in bins, in one bin of each; and nobody else's rows
or bins change.  *Proof.*  What is kept, and the bin, are functions of the salt and the person's own
rows: they are put in the order of a digest, the first are kept, and the bin is a digest of the
person.  Rows that tie are equal in all that is read of them.  No property of the digest is used
beside its being a function; how evenly it spreads people only makes answers better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.expressions.dialect import Dialect
from tacit.tables.query.requests import Cells
from tacit.tables.query.weighted_rows import BoundedRows
from tacit.tables.spec.privacy_unit import salted_digest

__all__ = ["WholeCells", "in_bins", "whole_rows"]

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

    def kept(self, base: str, rows: int, dialect: Dialect, person: str) -> BoundedRows:
        """Return the rows of ``base`` that are kept, with their weights; see :func:`whole_rows`."""
        kept = whole_rows(base, rows, self.groups, dialect, person)
        if self.parts > 1:
            kept = in_bins(kept, self.parts, dialect, person)
        return BoundedRows(kept, dialect, rows, weight="w")


def whole_rows(base: str, rows: int, groups: int | None, dialect: Dialect, person: str) -> str:
    """Return the SQL of rows ``u, code, z0`` with a value, and how many such are kept as ``w``.

    A person's rows that are equal are one line from the beginning, made in one pass over what is
    read.  Each line is at least one row, so the lines after the first ``rows`` hold none that is
    kept.

    Args:
        base: SQL of a query with the person ``u``, the group ``code`` and the offset ``z0``.
        rows: the most rows of a person.
        groups: the most groups of a person; None where it does not matter.
        dialect: the engine's.
        person: SQL of ``u`` as it enters the digest.
    """
    d = dialect
    lines = f"select u, code, z0, count(*) as n from ({base}) as r group by u, code, z0"
    if groups is not None:
        lines = _in_order(lines, "dense_rank()", ["code"], groups, d, person)
    valued = f"select u, code, z0, n from ({lines}) as lines where z0 is not null"
    first = _in_order(valued, "row_number()", ["code", "z0"], rows, d, person)
    upto = d.cast("sum(n) over (partition by u order by place)", "integer")
    added = f"select u, code, z0, n, {upto} as upto from ({first}) as kept"
    most = d.literal(rows)
    return (
        f"select u, code, z0, least(n, {most} - upto + n) as w from ({added}) as added "
        f"where upto - n < {most}"
    )


def _in_order(
    lines: str, number: str, names: list[str], most: int, dialect: Dialect, person: str
) -> str:
    """Return the SQL of a person's first lines, in the order of a digest of the columns ``names``.

    Where two digests are equal the columns themselves decide.
    """
    drawn = f"select *, {salted_digest([person, *names], dialect)} as draw from ({lines}) as own"
    order = ", ".join(["draw", *names])
    placed = f"select *, {number} over (partition by u order by {order}) as place"
    place = f"{placed} from ({drawn}) as d"
    return f"select u, code, z0, n, place from ({place}) as placed where place <= {most}"


def in_bins(kept: str, bins: int, dialect: Dialect, person: str) -> str:
    """Return the SQL of rows whose code is that of their person's bin in their group.

    Args:
        kept: SQL of a query with ``u``, ``code``, ``z0`` and the weight ``w``.
        bins: how many a group has; the bin ``b`` of the group ``c`` has the code ``c bins + b``.
        dialect: the engine's.
        person: SQL of ``u`` as it enters the digest.
    """
    marked = f"select *, {salted_digest([person], dialect)} as mark from ({kept}) as kept"
    number = " + ".join(
        f"(position(substr(mark, {i + 1}, 1) in '0123456789abcdef') - 1) * {16**i}"
        for i in range(_DIGITS)
    )
    numbered = (
        f"select code, z0, w, {dialect.cast(number, 'integer')} as place from ({marked}) as m"
    )
    size = dialect.literal(bins)
    quotient = dialect.divide("place", size, wide=False)
    rest = f"place - {quotient} * {size}"
    code = f"{dialect.cast('code', 'integer')} * {size} + {rest}"  # below groups times bins
    return f"select {code} as code, z0, w from ({numbered}) as n"
