"""Contribution bounding, in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tacit.expressions.dialect import Dialect
from tacit.expressions.grid import ROWS, Whole, product, type_of
from tacit.tables.engines.base import AddByPlace
from tacit.tables.privacy_unit import OneRowEach, PersonUnit, salted_digest
from tacit.tables.query.requests import Cells, Moments, Products, Request, Rows, Sums

# Sums over rows whose people are bounded, by what bounding takes away.
#
# Let row i of person p have the weight ``w_p`` of :mod:`tacit.tables.privacy_unit`: ``one``
# where p is within the limit, and less where p is beyond it.  Call p *heavy* in the second case,
# and ``one - w_p`` what each row of p has *lost*.
#
# *Theorem.*  For any integers ``x_i``, such as indicators of a group or a cell, offsets, or
# their squares,
#
#     ``sum_i w_p(i) x_i  =  one sum_i x_i  -  sum_(i of heavy people) (one - w_p(i)) x_i``.
#
# *Proof.*  ``w = one - (one - w)``, and ``one - w = 0`` for everyone who is not heavy.  All of it
# is in integers, so it is an equality of bits.
#
# So the rows are added up as they are, at the speed of the plain aggregate, and only those of heavy
# people meet another table.  Where it costs an engine more to read the rows once more than to look
# everybody up, it adds up ``w x`` itself.
#
# *One reading.*  All of this holds for rows that are the same whenever they are examined.  A view
# that draws its rows, a file that is replaced, a function that is not deterministic show others to
# each scan, of one statement too.  So the rows are read once: the engine keeps what it read, in a
# table of its own or a named subquery that is materialised, and people are counted and given
# weights in that; or people are added up in one pass, and their sums are given the weights
# (:mod:`tacit.tables.query.contribution_bounding`).
#
# *Theorem.*  Then a person adds at most what is declared to every statement, whatever was read.
# *Proof.*  The statement is a function of one multiset of rows, and the theorems hold for each.
#
# *Several statements* of one release may read other rows each.  Let r be all that is drawn while
# they read.  For every r, reading i shows rows D_i, and of neighbouring tables rows that differ in
# one person's only, if what is shown of a person is a function of that person's own rows and of r;
# so the mechanism on reading i loses what it declares, given all that came before, and the losses
# add up as they do in adaptive composition.  Divergences of mixtures over r are no larger.


@dataclass(frozen=True)
class Term:
    """A summand over rows: a product of integers, or the rows themselves."""

    factors: tuple[Whole, ...] = ()  # the numbers; none of them for the number of rows
    # without factors, a column: only rows that have it count
    present: str = ""
    # what the product with the weight is proven to be at most in absolute value; None for what the
    # intervals of the factors say
    bound: int | None = None
    # what all the products together are proven to be at most; None for what
    # :data:`~tacit.expressions.grid.ROWS` of them could be
    in_all: int | None = None

    def product(self, weight: Whole | None, dialect: Dialect) -> Whole:
        """Return the product, times the weight if there is one."""
        weights = [] if weight is None else [weight]
        return product([*self.factors, *weights], dialect, self.bound)

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
    """Rows to be added up, with the weights of their people."""

    base: str  # SQL of a query, of the rows
    dialect: Dialect
    one: int = 1  # the weight of a row of a person within the limit
    weight: str = ""  # the column of ``base`` with the weight; empty where it is one
    # SQL of a query of :func:`heavy_people`; empty where there are none to look for
    heavy: str = ""
    # SQL of the weight of a row from how many its person has, ``n``, where people are numbers and
    # ``heavy`` looks for them
    of_rows: str = ""
    # whether ``base`` reads a table that the engine keeps for this query alone, and that need not
    # be kept once more
    stored: bool = False
    # whether each row has the value that is counted, which else may be missing
    valued: bool = False
    # where ``base`` reads a part of the rows that is in arrays of this process: to add a number of
    # each row up from there costs less than to group them
    add: AddByPlace | None = None

    @property
    def named(self) -> str:
        """The SQL that names ``base``, which is read once, and ``heavy``."""
        keep = "not materialized" if self.stored else "materialized"
        return f"with base as {keep} ({self.base}), heavy as {self.dialect.once} ({self.heavy})"

    def sums(self, cell: str, terms: Sequence[Term], where: str = "") -> str:
        """Return the SQL of lines ``cell, scale, sums ...``, of which a place may have several."""
        # A sum over the weighted rows of a place is the sum over its lines of ``scale`` times
        # theirs.
        #
        # place: SQL of an integer that a row is counted at; empty for 0, of all rows.
        # where: a test that rows must pass; empty for none.
        d = self.dialect
        test = f" where {where}" if where else ""
        group = f" group by {cell}" if cell else ""
        cell = cell or d.literal(0)

        def lines(rows: str, weight: str, scale: int) -> str:
            weighs = Whole(weight, 0, self.one) if weight else None
            parts = ", ".join(f"{term.sum(weighs, d)} as s{i}" for i, term in enumerate(terms))
            shown = f"{cell} as place, {d.literal(scale)} as scale, {parts}"
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
    """The SQL of the people ``v`` of ``base`` beyond the limit, and what rows have ``lost``."""
    # mass: a row's mass, at least zero or NULL for none; None where every row has mass 1.
    #
    # People are grouped by themselves, never by a hash of themselves: two people of one hash would
    # share a weight, and one of them could move the other's.
    total = "count(*)"
    if mass:  # where it is only near, it is so far beyond the limit that the share is 0 either way
        near = dialect.near_sum(mass.sql, one * limit)
        total = near or dialect.cast(mass.total(dialect).sql, "wide")
    type_of(one * limit)
    share = dialect.divide(dialect.literal(one * limit), total, wide=mass is not None)
    lost = f"{dialect.literal(one)} - {dialect.cast(share, 'integer')}"
    rows = dialect.ordered.format(rows="base") if numbers and mass is None else "base"
    heavy = (
        f"select u as v, {lost} as lost from {rows} group by u "
        f"having {total} > {dialect.literal(limit)}"
    )
    return dialect.few.format(sql=heavy)


def weighted(rows: BoundedRows) -> str:
    """Return the SQL of the rows themselves, each with its weight in the column ``w``."""
    d = rows.dialect
    one = d.literal(rows.one)
    return (
        f"{rows.named} select base.*, {one} - coalesce(heavy.lost, {d.literal(0)}) as w "
        "from base left join heavy on base.u = heavy.v"
    )


# Sums over rows whose people are bounded, where people are added up first, in a single pass.
#
# An engine may be one that cannot promise to keep what it has read: what stands twice in a
# statement may be read twice, and two readings may differ.  So the rows are in it once.  They are
# added up by person and place; each of these sums meets the mass that its person has in all
# positions, in a window; and then the sums, times their person's weight, are added up by place.
#
# *Theorem.*  For a place P and integers ``x_i`` of rows, ``sum_(i in P) w_p(i) x_i = sum_p w_p
# sum_(i of p in P) x_i``.  *Proof.*  The weight is the same in all rows of a person.  All of it is
# in integers, so it is an equality of bits.
#
# *A person with very many rows.*  Sums by person and place are made in part where the rows are, so
# a task emits a line for each place that a person has rows in, however many those are; and what
# meets in one task of the window is a line a place, of which there are as many as numbers in the
# answer.  So no task ever holds, sorts or receives more of one person than the answer is long,
# next to the rows that it reads itself.
#
# *Widths.*  Let ``|x_i| <= m_i c`` with the mass ``m_i`` of row i and a public c.  Then of a person
# p within the limit ``|w_p sum x_i| <= one m_p c <= one limit c``, and of one beyond it ``w_p sum
# m_i c <= one limit c``: so the product of a sum and its weight is at most ``one limit c``, and all
# of them together are at most ``one c`` times the mass of all rows.  A sum of the ``x_i`` beyond
# ``one limit c`` belongs to a person of more mass than ``one limit``, whose weight is 0: so it may
# be a near one, and so may the mass of a person at a position.


@dataclass(frozen=True, kw_only=True)
class PeopleFirst(BoundedRows):
    """Rows to be added up by person first, in one pass over what is read."""

    limit: int  # the most mass of a person
    # a row's mass, at least zero or NULL for none, and at least what is added up is in absolute
    # value; None where every row has mass 1
    mass: Whole | None = None

    def sums(self, cell: str, terms: Sequence[Term], where: str = "") -> str:
        """Return the SQL of lines ``cell, scale, sums ...``, one a place."""
        d = self.dialect
        if where:
            cell = f"case when {where} then {cell or d.literal(0)} end"
        rows = f"select *, {cell} as place from ({self.base}) as b" if cell else self.base
        people, own = self._people(rows, "u, place" if cell else "u", terms)
        met = f"select *, {self._everywhere if cell else 'm'} as own from ({people}) as s"
        weighed = f"select *, {self._weight} as w from ({met}) as p"
        sums = ", ".join(
            f"{self._sum(*each)} as s{i}" for i, each in enumerate(zip(terms, own, strict=True))
        )
        shown = f"{'place' if cell else d.literal(0)} as place, {d.literal(1)} as scale, {sums}"
        end = " where place is not null group by place" if cell else ""
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
        """A person's mass at a position."""
        if self.mass is None:
            return Whole("count(*)", 0, ROWS)
        return self.mass.near_total(self._within, self.dialect)

    @property
    def _everywhere(self) -> str:
        """The SQL of a person's mass in all positions, of which there are fewer than rows."""
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
        """Return what is added up of a person at a position."""
        if not term.factors:
            return Whole(f"count({term.present or '*'})", 0, ROWS)
        own = product(term.factors, self.dialect)
        return own.near_total(self._within * self._each(term), self.dialect)

    def _sum(self, term: Term, own: Whole) -> str:
        """Return the SQL of the sum over people of what is added up of them, and their weight."""
        each, mass = self._each(term), self.mass.most if self.mass else 1
        weighed = product([Whole("w", 0, self.one), own], self.dialect, self._within * each)
        return weighed.total(self.dialect, self.one * ROWS * mass * each).sql


# Rows that are kept whole or left out: what mechanisms on data sets need of people with many rows.
#
# Weights (:mod:`tacit.tables.privacy_unit`) bound a sum; they make no data set.  Where a
# mechanism reads records, this many rows of a person are stored as a person may have, and each
# counts one.
#
# *Theorem.*  For every salt, a person who comes or goes adds or removes at most ``rows`` rows, in
# at most ``groups`` groups and, where people are put in bins, in one bin of each; and no one else's
# rows or bins change.  *Proof.*  What is kept, and the bin, are functions of the salt and the
# person's own rows: they are put in the order of a digest, the first are kept, and the bin is a
# digest of the person.  Rows that tie are equal in all that is read of them.  No property of the
# digest is used next to its being a function; how evenly it spreads people only makes answers
# better.


_DIGITS = 7  # digits of the digest that make a number: 28 bits


@dataclass(frozen=True, eq=False)
class RowCells(Cells):
    """The cells that occur among rows that are kept whole, and how many rows are in each."""

    parts: int = 1  # how many bins of people each group has
    groups: int | None = None  # the most groups of a person; None where it does not matter

    weighted: ClassVar[bool] = False

    @property
    def bins(self) -> int:  # type: ignore[override]
        """The number of lists of cells of each group."""
        return self.parts

    def bounded_rows(self, base: str, rows: int, dialect: Dialect, person: str) -> BoundedRows:
        """Return the rows of ``base`` that are kept, with their weights; see :func:`whole_rows`."""
        rows_sql = whole_rows(base, rows, self.groups, dialect, person)
        if self.parts > 1:
            rows_sql = in_bins(rows_sql, self.parts, dialect, person)
        return BoundedRows(rows_sql, dialect, rows, weight="w")


def whole_rows(base: str, rows: int, groups: int | None, dialect: Dialect, person: str) -> str:
    """Return the SQL of rows ``u, code, z0`` with a value, each kept ``w`` times."""
    # A person's rows that are equal are one line from the beginning, made in one pass over what is
    # read.  Each line is at least one row, so the lines after the first ``rows`` hold none that is
    # kept.
    #
    # base: SQL of a query with the person ``u``, the group ``code`` and the offset ``z0``.
    d = dialect
    lines = f"select u, code, z0, count(*) as n from ({base}) as r group by u, code, z0"
    if groups is not None:
        lines = _in_order(lines, "dense_rank()", ["code"], groups, d, person)
    valued = f"select u, code, z0, n from ({lines}) as lines where z0 is not null"
    first = _in_order(valued, "row_number()", ["code", "z0"], rows, d, person)
    upto = d.cast("sum(n) over (partition by u order by place)", "integer")
    added = f"select u, code, z0, n, {upto} as upto from ({first}) as kept"
    limit = d.literal(rows)
    return (
        f"select u, code, z0, least(n, {limit} - upto + n) as w from ({added}) as added "
        f"where upto - n < {limit}"
    )


def _in_order(
    lines: str, number: str, names: list[str], limit: int, dialect: Dialect, person: str
) -> str:
    """The SQL of a person's first lines, in the order of a digest of the columns ``names``."""
    # Where two digests are equal the columns themselves decide.
    drawn = f"select *, {salted_digest([person, *names], dialect)} as draw from ({lines}) as own"
    order = ", ".join(["draw", *names])
    placed = f"select *, {number} over (partition by u order by {order}) as place"
    numbered = f"{placed} from ({drawn}) as d"
    return f"select u, code, z0, n, place from ({numbered}) as placed where place <= {limit}"


def in_bins(rows: str, bins: int, dialect: Dialect, person: str) -> str:
    """Return the SQL of rows whose code is that of their person's bin in their group."""
    # kept: SQL of a query with ``u``, ``code``, ``z0`` and the weight ``w``.
    marked = f"select *, {salted_digest([person], dialect)} as mark from ({rows}) as kept"
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


# The plan without groups: each person is added up first, and then bounded as one row.
#
# A person's weight is the same in all their rows, so ``sum_i w x_i = w sum_i x_i``; the rows of a
# person are never examined again once they are added up, and there is no join.


def people_sql(
    base: str,
    names: Sequence[str],
    squared: Iterable[str],
    unit: PersonUnit,
    dialect: Dialect,
    *,
    numbers: bool,
) -> str:
    """Return the SQL of people with their weight ``w``, their rows ``c`` and their sums."""
    # base: SQL of a query with the person in the column ``u`` and the offsets in ``names``.
    # names: of the offsets' columns; of ``z0`` come the sums ``z0n`` of rows that have it, ``z0s``
    #   of it, and ``z0q`` of its square.
    squared = set(squared)
    sums = ["count(*) as c"]
    for z in names:
        offset = Whole(z, 0, _CELLS)
        long = dialect.cast(z, "integer")
        own = Whole(long, 0, _CELLS).near_total(_offset_limit(unit) * unit.one, dialect).sql
        sums += [f"count({z}) as {z}n", f"{own} as {z}s"]
        if z in squared:
            sums.append(f"{product([offset, offset], dialect).total(dialect).sql} as {z}q")
    rows = f"({base}) as r"
    if numbers and not names:
        rows = dialect.ordered.format(rows=rows)
    people = f"select {', '.join(sums)} from {rows} group by u"
    return f"select *, {weight_sql('c', unit, dialect)} as w from ({people}) as p"


def weight_sql(count: str, unit: OneRowEach | PersonUnit, dialect: Dialect) -> str:
    """Return the SQL of the weight of each row of a person, from how many rows the person has."""
    limit, one = dialect.literal(unit.rows), dialect.literal(unit.one)
    share = dialect.divide(dialect.literal(unit.one * unit.rows), count, wide=False)
    return dialect.cast(f"case when {count} > {limit} then {share} else {one} end", "integer")


def people_term(column: str, unit: PersonUnit, dialect: Dialect) -> Term:
    """Return the weighted sum of one of the columns over people."""
    # A person of c rows has a weight of at most ``one rows / c``, and sums of at most ``2^31 c``
    # and ``2^62 c``: so the product of the two is at most ``one rows 2^31``, or ``one rows 2^62``,
    # which with ``one = 2^20`` and ``rows <= 2^40`` is 2^122.  All people together have at most as
    # many rows as the table, of a weight of at most ``one`` each: ``2^40 one 2^62``, which is 2^122
    # too.
    #
    # Where the sum of offsets is kept near only, one beyond ``one rows 2^31`` belongs to a person
    # of more than ``one rows`` rows, whose weight is 0, and then it does not matter what the sum
    # is.
    rows, all_rows = unit.one * unit.rows, unit.one * ROWS
    if column[-1] in "cn":
        return Term((Whole(column, 0, ROWS),), bound=rows, in_all=all_rows)
    power = 2 if column[-1] == "q" else 1
    cells = _CELLS**power
    own = Whole(column, 0, cells)
    total = (
        own.near_total(_offset_limit(unit) * unit.one, dialect)
        if power == 1
        else own.total(dialect)
    )
    return Term((Whole(column, 0, total.most),), bound=rows * cells, in_all=all_rows * cells)


_CELLS = 1 << 31  # the most that an offset on a grid is


def _offset_limit(unit: PersonUnit) -> int:
    """Return the most that the offsets of a person are, in units of the largest weight."""
    return unit.rows * _CELLS


def clamped_total_sql(base: str, point: Whole, unit: PersonUnit, dialect: Dialect) -> str:
    """Return the SQL of the line ``0, one, sum`` of each person's total, held within the limit."""
    # A person of c rows has a total of at most ``c most``, before it is held and after: so all
    # totals together are at most ``2^40 most`` in absolute value, however large the limit is.
    limit = unit.rows * point.most
    own = point.near_total(limit * unit.one, dialect)
    people = f"select {dialect.cast(own.sql, own.type)} as own from ({base}) as rows_of group by u"
    clamped = product(
        [Whole("own", -own.most, own.most).clamped_not_null(-limit, limit, dialect)], dialect
    )
    everyone = clamped.total(dialect, ROWS * point.most).sql
    return f"select 0, {dialect.literal(unit.one)}, {everyone} from ({people}) as totals"


# The numbers of rows and the sums of offsets, of their squares and products, in one query.
#
# A product of offsets is added up over the rows in which none of its columns is missing: a product
# is NULL where a factor is, and its first factor is examined only where the other columns are
# there.


def column_names(offsets: Iterable[str]) -> dict[str, str]:
    """Name a column for each offset, by its SQL."""
    return {sql: f"z{i}" for i, sql in enumerate(dict.fromkeys(offsets))}


class MomentSums:
    """Sums for requests of rows, moments and products, and how their answers are read."""

    def __init__(self, requests: Sequence[Sums], offsets: Sequence[Sequence[str]]) -> None:
        self._offsets = dict(zip(requests, map(tuple, offsets), strict=True))
        self.offsets = list(dict.fromkeys(sql for used in offsets for sql in used))
        self._cells = {
            sql: grid.cells
            for request, used in self._offsets.items()
            for sql, (_, grid) in zip(used, request.columns, strict=True)
        }
        moments = [r for r in self._offsets if isinstance(r, Moments)]
        plain = dict.fromkeys(self._offsets[r][0] for r in moments)
        self.squared = {self._offsets[r][0] for r in moments if r.squares}
        kinds = [(sql, kind) for sql in plain for kind in "nsq"]
        self._sums: list[Any] = [
            *[("", "c"), *(k for k in kinds if k[1] != "q" or k[0] in self.squared)],
            *dict.fromkeys(key for r in self._offsets for key in self._products(r)),
        ]

    @property
    def by_people(self) -> bool:
        """True if each person can be added up first: not where rows lack some of the factors."""
        return not any(isinstance(r, Products) for r in self._offsets)

    def _products(self, request: Sums) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return what is added up for a request of products: its columns, and the factors."""
        offsets = self._offsets[request]
        return (
            [(offsets, p) for p in ((), *request.products)] if isinstance(request, Products) else []
        )

    def row_terms(self, names: Mapping[str, str]) -> list[Term]:
        """Return what is added up over rows, with the offsets in the columns ``names``."""

        def term(sql: Any, kind: Any) -> Term:
            if isinstance(sql, tuple):
                return factored([names[s] for s in sql], [self._cells[s] for s in sql], kind)
            if kind in "cn":
                return Term(present=names.get(sql, ""))
            return Term((Whole(names[sql], 0, self._cells[sql]),) * (2 if kind == "q" else 1))

        def factored(columns: list[str], cells: list[int], factors: tuple[int, ...]) -> Term:
            first, *rest = factors or (0,)
            lacking = [name for i, name in enumerate(columns) if i not in factors]
            shown = columns[first]
            if lacking:
                test = " and ".join(f"{name} is not null" for name in lacking)
                shown = f"(case when {test} then {shown} end)"
            wholes = [
                Whole(shown, 0, cells[first]),
                *(Whole(columns[i], 0, cells[i]) for i in rest),
            ]
            return Term(tuple(wholes)) if factors else Term(present=shown)

        return [term(*key) for key in self._sums]

    def people_terms(
        self, names: Mapping[str, str], unit: PersonUnit, dialect: Dialect
    ) -> list[Term]:
        """Return what is added up over the people of :func:`people_sql`."""
        return [people_term(names.get(s, "") + k, unit, dialect) for s, k in self._sums]

    def read(self, lines: Iterable[tuple[Any, ...]], groups: int) -> dict[Request, Any]:
        """Return the answers, from the lines ``code, scale, sums ...``."""
        table = [[0] * groups for _ in self._sums]
        for code, scale, *sums in lines:
            for row, value in zip(table, sums, strict=True):
                row[code] += int(scale) * int(value)
        arrays = (np.array(row, dtype=object) for row in table)
        column = dict(zip(self._sums, arrays, strict=True))
        rows, none = column["", "c"], np.zeros(groups, dtype=object)
        answers: dict[Request, Any] = {}
        for request, offsets in self._offsets.items():
            if isinstance(request, Rows):
                answers[request] = rows.copy()
            elif isinstance(request, Products):
                answers[request] = np.stack(
                    [column[key] for key in self._products(request)], axis=1
                )
            else:
                (sql,) = offsets
                present, total = column[sql, "n"], column[sql, "s"]
                squares = column[sql, "q"] if request.squares else none
                answers[request] = np.stack([present, rows - present, total, squares], axis=1)
        return answers
