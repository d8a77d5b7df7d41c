"""Sums over rows whose people are bounded, by what bounding takes away.

Let row i of person p have the weight ``w_p`` of :mod:`tacit.tables.contributions`: ``one`` where p
is within the limit, and less where p is beyond it.  Call p *heavy* in the second case, and ``one -
w_p`` what each row of p has *lost*.

*Theorem.*  For any whole numbers ``x_i``, such as indicators of a group or a cell, offsets, or
their squares,

    ``sum_i w_p(i) x_i  =  one sum_i x_i  -  sum_(i of heavy people) (one - w_p(i)) x_i``.

*Proof.*  ``w = one - (one - w)``, and ``one - w = 0`` for everyone who is not heavy.  All of it is
in whole numbers, so it is an equality of bits.

So the rows are added up as they are, at the speed of the plain aggregate, and only those of heavy
people meet another table.  An engine for which it is dearer to read the rows once more than to look
everybody up adds up ``w x`` itself.  Either way it is one query: the engine shows one state of the
table to it, so that nobody's rows can be added up under a weight that was found before some of them
came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.tables.dialect import Dialect

__all__ = ["BoundedRows", "Term", "heavy_people", "weighted"]


@dataclass(frozen=True)
class Term:
    """What is added up over rows: a product of whole numbers, or the rows themselves.

    Attributes:
        factors: SQL of the numbers; none of them for the number of rows.
        most: the most that the product is, in absolute value.
        present: without factors, a column: only rows that have it count.
    """

    factors: tuple[str, ...] = ()
    most: int = 1
    present: str = ""

    def is_wide(self, one: int) -> bool:
        """Whether the product, times a weight of at most ``one``, may take more than 64 bits."""
        return self.most * one >= 1 << 63

    def sum(self, weight: str, one: int, dialect: Dialect) -> str:
        """Return the SQL of the sum, each row times its weight, of at most ``one``, if it has one.

        Args:
            weight: the weight's column; none where it is empty.
            one: the most that a weight is.
            dialect: the engine's.
        """
        if not self.factors and not weight:
            return f"count({self.present or '*'})"
        if not self.factors:
            chosen = f"case when {self.present} is not null then {weight} end"
            chosen = chosen if self.present else weight
            return f"coalesce({dialect.sum(chosen, wide=False, most=one)}, 0)"
        wide = self.is_wide(one if weight else 1)
        first, *rest = self.factors
        long = dialect.cast(first, "wide" if wide else "integer")
        product = " * ".join([long, *rest, *([weight] if weight else [])])
        return f"coalesce({dialect.sum(product, wide=wide)}, 0)"


@dataclass(frozen=True)
class BoundedRows:
    """Rows to be added up, with the weights of their people.

    Attributes:
        base: SQL of a query, of the rows.
        dialect: the engine's.
        one: the weight of a row of a person within the limit.
        weight: the column of ``base`` with the weight; empty where it is one.
        heavy: SQL of a query of :func:`heavy_people`; empty where there are none to look for.
        hint: how the engine should join the rows with the people of ``heavy``.
    """

    base: str
    dialect: Dialect
    one: int = 1
    weight: str = ""
    heavy: str = ""
    hint: str = ""

    def sums(self, place: str, terms: Sequence[Term], where: str = "") -> str:
        """Return the SQL of lines ``place, scale, sums ...``, of which a place may have several.

        A sum over the weighted rows of a place is the sum over its lines of ``scale`` times theirs.

        Args:
            place: SQL of a whole number that a row is counted at; empty for 0, of all rows.
            terms: what is added up.
            where: a test that rows must pass; empty for none.
        """
        d = self.dialect
        test = f" where {where}" if where else ""
        group = " group by place" if place else ""
        place = place or d.literal(0)

        def lines(rows: str, weight: str, scale: int, hint: str = "") -> str:
            parts = ", ".join(
                f"{term.sum(weight, self.one, d)} as s{i}" for i, term in enumerate(terms)
            )
            shown = f"{place} as place, {d.literal(scale)} as scale, {parts}"
            return f"select {hint} {shown} from {rows}{test}{group}"

        if not self.heavy:
            return lines(f"({self.base}) as r", self.weight, 1 if self.weight else self.one)
        if not d.apart and not any(term.is_wide(self.one) for term in terms):
            return lines(f"({weighted(self)}) as r", "w", 1)
        meet = d.meets.format(x="base.u", y="heavy.v")
        return (
            f"with base as {d.inline} ({self.base}), heavy as {d.once} ({self.heavy}) "
            + lines("base", "", self.one)
            + " union all "
            + lines(f"base join heavy on {meet}", "lost", -1, self.hint)
        )


def heavy_people(
    mass: str,
    limit: int,
    one: int,
    dialect: Dialect,
    *,
    wide: bool,
    rows: str = "base",
    numbers: bool = False,
) -> str:
    """Return the SQL of the people ``v`` beyond the limit, with what a row of theirs has ``lost``.

    Args:
        mass: SQL of a row's mass, a whole number of at least zero or NULL for none; empty where
            every row has mass 1.
        limit: the most mass of a person.
        one: the weight of a row of a person within the limit.
        dialect: the engine's.
        wide: whether a mass may take more than 64 bits.
        rows: a relation with the person in the column ``u``, never NULL.
        numbers: whether people are numbers, which some engines sort faster than they hash.

    People are grouped by themselves, never by a hash of themselves: two people of one hash would
    share a weight, and one of them could move the other's.
    """
    total = "count(*)"
    if mass:  # where it is only near, it is so far beyond the limit that the share is 0 either way
        whole = dialect.cast(dialect.sum(mass, wide=wide), "wide")
        total = dialect.near_sum(mass, one * limit) or whole
    share = dialect.divide(dialect.literal(one * limit), total, wide=bool(mass))
    lost = f"{dialect.literal(one)} - {dialect.cast(share, 'integer')}"
    rows = dialect.ordered.format(rows=rows) if numbers and not mass else rows
    found = (
        f"select u as v, {lost} as lost from {rows} group by u "
        f"having {total} > {dialect.literal(limit)}"
    )
    return dialect.few.format(sql=found)


def weighted(rows: BoundedRows) -> str:
    """Return the SQL of the rows themselves, each with its weight in the column ``w``."""
    d = rows.dialect
    one = d.literal(rows.one)
    return (
        f"with base as {d.inline} ({rows.base}), heavy as {d.once} ({rows.heavy}) "
        f"select {rows.hint} base.*, {one} - coalesce(heavy.lost, {d.literal(0)}) as w "
        "from base left join heavy on base.u = heavy.v"
    )
