"""Sums over rows whose people are bounded, by what bounding takes away.

Let row i of person p have the weight ``w_p`` of :mod:`tacit.tables.spec.privacy_unit`: ``one``
where p is within the limit, and less where p is beyond it.  Call p *heavy* in the second case, and
``one - w_p`` what each row of p has *lost*.

*Theorem.*  For any whole numbers ``x_i``, such as indicators of a group or a cell, offsets, or
their squares,

    ``sum_i w_p(i) x_i  =  one sum_i x_i  -  sum_(i of heavy people) (one - w_p(i)) x_i``.

*Proof.*  ``w = one - (one - w)``, and ``one - w = 0`` for everyone who is not heavy.  All of it is
in whole numbers, so it is an equality of bits.

So the rows are added up as they are, at the speed of the plain aggregate, and only those of heavy
people meet another table.  Where it costs an engine more to read the rows once more than to look
everybody up, it adds up ``w x`` itself.

*One reading.*  All of this holds for rows that are the same whenever they are looked at.  A view
that draws its rows, a file that is replaced, a function that is not deterministic show others to
each scan, of one statement too.  So the rows are read once: the engine keeps what it read, in a
table of its own or a named subquery that is materialised, and people are counted and given
weights in that; or people are added up in one pass, and their sums are given the weights
(:mod:`tacit.tables.query.people_first`).

*Theorem.*  Then a person adds at most what is declared to every statement, whatever was read.
*Proof.*  The statement is a function of one multiset of rows, and the theorems hold for each.

*Several statements* of one release may read other rows each.  Let r be all that is drawn while
they read.  For every r, reading i shows rows D_i, and of neighbouring tables rows that differ in
one person's only, if what is shown of a person is a function of that person's own rows and of r;
so the mechanism on reading i loses what it declares, given all that came before, and the losses
add up as they do in adaptive composition.  Divergences of mixtures over r are no larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.expressions.dialect import Dialect
from tacit.expressions.integer_sql import Whole, product, type_of

__all__ = ["BoundedRows", "Term", "heavy_people", "weighted"]


@dataclass(frozen=True)
class Term:
    """What is added up over rows: a product of whole numbers, or the rows themselves.

    Attributes:
        factors: the numbers; none of them for the number of rows.
        present: without factors, a column: only rows that have it count.
        most: what the product with the weight is proven to be at most in absolute value; None for
            what the intervals of the factors say.
        in_all: what all the products together are proven to be at most; None for what
            :data:`~tacit.expressions.integer_sql.ROWS` of them could be.
    """

    factors: tuple[Whole, ...] = ()
    present: str = ""
    most: int | None = None
    in_all: int | None = None

    def product(self, weight: Whole | None, dialect: Dialect) -> Whole:
        """Return the product, times the weight if there is one."""
        weights = [] if weight is None else [weight]
        return product([*self.factors, *weights], dialect, self.most)

    def sum(self, weight: Whole | None, dialect: Dialect) -> str:
        """Return the SQL of the sum, each row times its weight if it has one."""
        if self.factors:
            return self.product(weight, dialect).total(dialect, self.in_all).sql
        if weight is None:
            return f"count({self.present or '*'})"
        if self.present:
            shown = f"case when {self.present} is not null then {weight.sql} end"
            weight = Whole(shown, weight.low, weight.high)
        return weight.total(dialect).sql


@dataclass(frozen=True)
class BoundedRows:
    """Rows to be added up, with the weights of their people.

    Attributes:
        base: SQL of a query, of the rows.
        dialect: the engine's.
        one: the weight of a row of a person within the limit.
        weight: the column of ``base`` with the weight; empty where it is one.
        heavy: SQL of a query of :func:`heavy_people`; empty where there are none to look for.
        kept: whether ``base`` reads a table that the engine keeps for this query alone, and that
            need not be kept once more.
    """

    base: str
    dialect: Dialect
    one: int = 1
    weight: str = ""
    heavy: str = ""
    kept: bool = False

    @property
    def named(self) -> str:
        """The SQL that names ``base``, which is read once, and ``heavy``."""
        keep = "not materialized" if self.kept else "materialized"
        return f"with base as {keep} ({self.base}), heavy as {self.dialect.once} ({self.heavy})"

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
        group = f" group by {place}" if place else ""
        place = place or d.literal(0)

        def lines(rows: str, weight: str, scale: int) -> str:
            weighs = Whole(weight, 0, self.one) if weight else None
            parts = ", ".join(f"{term.sum(weighs, d)} as s{i}" for i, term in enumerate(terms))
            shown = f"{place} as place, {d.literal(scale)} as scale, {parts}"
            return f"select {shown} from {rows}{test}{group}"

        if not self.heavy:
            return lines(f"({self.base}) as r", self.weight, 1 if self.weight else self.one)
        own = Whole("w", 0, self.one)
        if not d.apart and all(term.product(own, d).type == "integer" for term in terms):
            return lines(f"({weighted(self)}) as r", "w", 1)
        meet = d.meets.format(x="base.u", y="heavy.v")
        return f"{self.named} {lines('base', '', self.one)} union all " + lines(
            f"base join heavy on {meet}", "lost", -1
        )


def heavy_people(
    mass: Whole | None,
    limit: int,
    one: int,
    dialect: Dialect,
    *,
    numbers: bool = False,
) -> str:
    """Return the SQL of the people ``v`` of ``base`` beyond the limit, and what rows have ``lost``.

    Args:
        mass: a row's mass, at least zero or NULL for none; None where every row has mass 1.
        limit: the most mass of a person.
        one: the weight of a row of a person within the limit.
        dialect: the engine's.
        numbers: whether people are numbers, which some engines sort faster than they hash.

    People are grouped by themselves, never by a hash of themselves: two people of one hash would
    share a weight, and one of them could move the other's.
    """
    total = "count(*)"
    if mass:  # where it is only near, it is so far beyond the limit that the share is 0 either way
        near = dialect.near_sum(mass.sql, one * limit)
        total = near or dialect.cast(mass.total(dialect).sql, "wide")
    type_of(one * limit)
    share = dialect.divide(dialect.literal(one * limit), total, wide=mass is not None)
    lost = f"{dialect.literal(one)} - {dialect.cast(share, 'integer')}"
    rows = dialect.ordered.format(rows="base") if numbers and mass is None else "base"
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
        f"{rows.named} select base.*, {one} - coalesce(heavy.lost, {d.literal(0)}) as w "
        "from base left join heavy on base.u = heavy.v"
    )
