"""The plan without groups: each person is added up first, and then bounded as one row.

A person's weight is the same in all their rows, so ``sum_i w x_i = w sum_i x_i``; the rows of a
person are never looked at again once they are added up, and there is no join.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacit.expressions.dialect import Dialect
from tacit.expressions.integer_sql import ROWS, Whole, product
from tacit.tables.query.weighted_rows import Term
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["clamped_total_sql", "people_sql", "people_term"]


def people_sql(
    base: str,
    names: Sequence[str],
    squared: Iterable[str],
    unit: PersonUnit,
    dialect: Dialect,
    *,
    numbers: bool,
) -> str:
    """Return the SQL of people with their weight ``w``, their rows ``c`` and their sums.

    Args:
        base: SQL of a query with the person in the column ``u`` and the offsets in ``names``.
        names: of the offsets' columns; of ``z0`` come the sums ``z0n`` of rows that have it,
            ``z0s`` of it, and ``z0q`` of its square.
        squared: those of the names that need their squares.
        unit: the bound.
        dialect: the engine's.
        numbers: whether people are numbers, which some engines sort faster than they hash.
    """
    squared = set(squared)
    sums = ["count(*) as c"]
    for z in names:
        offset = Whole(z, 0, _CELLS)
        long = dialect.cast(z, "integer")
        own = Whole(long, 0, _CELLS).near_total(_most(unit) * unit.one, dialect).sql
        sums += [f"count({z}) as {z}n", f"{own} as {z}s"]
        if z in squared:
            sums.append(f"{product([offset, offset], dialect).total(dialect).sql} as {z}q")
    rows = f"({base}) as r"
    if numbers and not names:
        rows = dialect.ordered.format(rows=rows)
    people = f"select {', '.join(sums)} from {rows} group by u"
    limit, one = dialect.literal(unit.rows), dialect.literal(unit.one)
    share = dialect.divide(dialect.literal(unit.one * unit.rows), "c", wide=False)
    weight = dialect.cast(f"case when c > {limit} then {share} else {one} end", "integer")
    return f"select *, {weight} as w from ({people}) as p"


def people_term(column: str, unit: PersonUnit, dialect: Dialect) -> Term:
    """Return the weighted sum of one of the columns over people.

    A person of c rows has a weight of at most ``one rows / c``, and sums of at most ``2^31 c`` and
    ``2^62 c``: so the product of the two is at most ``one rows 2^31``, or ``one rows 2^62``, which
    with ``one = 2^20`` and ``rows <= 2^40`` is 2^122.  All people together have at most as many
    rows as the table, of a weight of at most ``one`` each: ``2^40 one 2^62``, which is 2^122 too.

    Where the sum of offsets is kept near only, one beyond ``one rows 2^31`` belongs to a person of
    more than ``one rows`` rows, whose weight is 0, and then it does not matter what the sum is.
    """
    rows, all_rows = unit.one * unit.rows, unit.one * ROWS
    if column[-1] in "cn":
        return Term((Whole(column, 0, ROWS),), most=rows, in_all=all_rows)
    power = 2 if column[-1] == "q" else 1
    cells = _CELLS**power
    own = Whole(column, 0, cells)
    held = own.near_total(_most(unit) * unit.one, dialect) if power == 1 else own.total(dialect)
    return Term((Whole(column, 0, held.most),), most=rows * cells, in_all=all_rows * cells)


_CELLS = 1 << 31
"""The most that an offset on a grid is."""


def _most(unit: PersonUnit) -> int:
    """Return the most that the offsets of a person are, in units of the largest weight."""
    return unit.rows * _CELLS


def clamped_total_sql(base: str, point: Whole, unit: PersonUnit, dialect: Dialect) -> str:
    """Return the SQL of the line ``0, one, sum`` of each person's total, held within the limit.

    A person of c rows has a total of at most ``c most``, before it is held and after: so all totals
    together are at most ``2^40 most`` in absolute value, however large the limit is.

    Args:
        base: SQL of a query with the person in the column ``u``.
        point: what is added up.
        unit: of privacy: the limit is ``rows`` times the most that the point is.
        dialect: the engine's.
    """
    limit = unit.rows * point.most
    own = point.near_total(limit * unit.one, dialect)
    people = f"select {dialect.cast(own.sql, own.type)} as own from ({base}) as rows_of group by u"
    held = product([Whole("own", -own.most, own.most).held(-limit, limit, dialect)], dialect)
    everyone = held.total(dialect, ROWS * point.most).sql
    return f"select 0, {dialect.literal(unit.one)}, {everyone} from ({people}) as totals"
