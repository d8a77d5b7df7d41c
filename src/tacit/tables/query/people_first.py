"""Sums over rows whose people are bounded, where people are added up first, in a single pass.

An engine may be one that cannot promise to keep what it has read: what stands twice in a statement
may be read twice, and two readings may differ.  So the rows stand in it once.  They are added up by
person and place; each of these sums meets the mass that its person has in all places, in a window;
and then the sums, times their person's weight, are added up by place.

*Theorem.*  For a place P and whole numbers ``x_i`` of rows, ``sum_(i in P) w_p(i) x_i = sum_p w_p
sum_(i of p in P) x_i``.  *Proof.*  The weight is the same in all rows of a person.  All of it is in
whole numbers, so it is an equality of bits.

*A person with very many rows.*  Sums by person and place are made in part where the rows are, so a
task emits a line for each place that a person has rows in, however many those are; and what
meets in one task of the window is a line a place, of which there are as many as numbers in the
answer.  So no task ever holds, sorts or receives more of one person than the answer is long, beside
the rows that it reads itself.

*Widths.*  Let ``|x_i| <= m_i c`` with the mass ``m_i`` of row i and a public c.  Then of a person p
within the limit ``|w_p sum x_i| <= one m_p c <= one limit c``, and of one beyond it ``w_p sum m_i c
<= one limit c``: so the product of a sum and its weight is at most ``one limit c``, and all of them
together are at most ``one c`` times the mass of all rows.  A sum of the ``x_i`` beyond ``one limit
c`` belongs to a person of more mass than ``one limit``, whose weight is 0: so it may be a near one,
and so may the mass of a person in a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.expressions.integer_sql import ROWS, Whole, product, type_of
from tacit.tables.query.weighted_rows import BoundedRows, Term

__all__ = ["PeopleFirst"]


@dataclass(frozen=True, kw_only=True)
class PeopleFirst(BoundedRows):
    """Rows to be added up by person first, in one pass over what is read.

    Attributes:
        limit: the most mass of a person.
        mass: a row's mass, at least zero or NULL for none, and at least what is added up is in
            absolute value; None where every row has mass 1.
    """

    limit: int
    mass: Whole | None = None

    def sums(self, place: str, terms: Sequence[Term], where: str = "") -> str:
        """Return the SQL of lines ``place, scale, sums ...``, one a place.

        Args:
            place: as for :meth:`BoundedRows.sums`.
            terms: what is added up.
            where: a test of the rows that are added up; those that fail it have their mass too.
        """
        d = self.dialect
        if where:
            place = f"case when {where} then {place or d.literal(0)} end"
        rows = f"select *, {place} as place from ({self.base}) as b" if place else self.base
        people, own = self._people(rows, "u, place" if place else "u", terms)
        met = f"select *, {self._everywhere if place else 'm'} as own from ({people}) as s"
        weighed = f"select *, {self._weight} as w from ({met}) as p"
        found = ", ".join(
            f"{self._sum(*each)} as s{i}" for i, each in enumerate(zip(terms, own, strict=True))
        )
        shown = f"{'place' if place else d.literal(0)} as place, {d.literal(1)} as scale, {found}"
        end = " where place is not null group by place" if place else ""
        return f"select {shown} from ({weighed}) as w{end}"

    def _people(self, rows: str, by: str, terms: Sequence[Term]) -> tuple[str, list[Whole]]:
        """Return the SQL of people with their mass ``m`` and their sums, and what these are."""
        own = [self._own(term) for term in terms]
        sums = ", ".join(f"{total.sql} as o{i}" for i, total in enumerate(own))
        sql = f"select {by}, {self._mass.sql} as m, {sums} from ({rows}) as r group by {by}"
        return sql, [replace(total, sql=f"o{i}") for i, total in enumerate(own)]

    @property
    def _within(self) -> int:
        """The most mass of a person, times the weight of a row of someone within the limit."""
        type_of(self.one * self.limit)
        return self.one * self.limit

    @property
    def _mass(self) -> Whole:
        """A person's mass in a place."""
        if self.mass is None:
            return Whole("count(*)", 0, ROWS)
        return self.mass.near_total(self._within, self.dialect)

    @property
    def _everywhere(self) -> str:
        """The SQL of a person's mass in all places, of which there are fewer than rows."""
        total = self.dialect.wide_total if self.mass else "sum({x})"
        return f"{total.format(x='m')} over (partition by u)"

    @property
    def _weight(self) -> str:
        """The SQL of the weight of someone with the mass ``own``."""
        d = self.dialect
        share = d.divide(d.literal(self._within), "own", wide=self.mass is not None)
        share, one = d.cast(share, "integer"), d.literal(self.one)
        return f"case when own > {d.literal(self.limit)} then {share} else {one} end"

    def _each(self, term: Term) -> int:
        """Return the most that is added up of a row, for each unit of its mass."""
        if self.mass or not term.factors:
            return 1
        return product(term.factors, self.dialect).most

    def _own(self, term: Term) -> Whole:
        """Return what is added up of a person in a place."""
        if not term.factors:
            return Whole(f"count({term.present or '*'})", 0, ROWS)
        own = product(term.factors, self.dialect)
        return own.near_total(self._within * self._each(term), self.dialect)

    def _sum(self, term: Term, own: Whole) -> str:
        """Return the SQL of the sum over people of what is added up of them, and their weight."""
        each, mass = self._each(term), self.mass.most if self.mass else 1
        weighed = product([Whole("w", 0, self.one), own], self.dialect, self._within * each)
        return weighed.total(self.dialect, self.one * ROWS * mass * each).sql
