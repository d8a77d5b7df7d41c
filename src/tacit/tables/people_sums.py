"""The plan without groups: each person is added up first, and then bounded as one row.

A person's weight is the same in all their rows, so ``sum_i w x_i = w sum_i x_i``; the rows of a
person are never looked at again once they are added up, and there is no join.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tacit.tables.bounded_rows import Term
from tacit.tables.contributions import PersonUnit
from tacit.tables.dialect import Dialect

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
        long = dialect.cast(z, "integer")
        own = dialect.near_sum(long, _most(unit) * unit.one)
        own = own or f"coalesce({dialect.sum(long, wide=False)}, 0)"
        sums += [f"count({z}) as {z}n", f"{own} as {z}s"]
        if z in squared:
            square = dialect.sum(f"{long} * {z}", wide=False)
            sums.append(f"coalesce({square}, 0) as {z}q")
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

    A person of c rows has a weight of at most ``one rows / c``, and so weighted offsets of at most
    ``one rows 2^31``; one whose sum of offsets is beyond that has the weight 0, and then it does
    not matter what the sum is.  So it is enough to have it near.
    """
    if column[-1] in "cn":
        return Term((column,))
    near = column[-1] == "s" and dialect.near_sum(column, _most(unit) * unit.one)
    return Term((column,), _most(unit) if near else 1 << 63)


def _most(unit: PersonUnit) -> int:
    """Return the most that the offsets of a person are, in units of the largest weight."""
    return unit.rows << 31


def clamped_total_sql(base: str, own: Term, limit: int, one: int, dialect: Dialect) -> str:
    """Return the SQL of the line ``0, one, sum`` of each person's total, held within the limit."""
    near = dialect.near_sum(own.factors[0], limit * one)
    total = near or dialect.cast(own.sum("", 1, dialect), "wide")
    people = f"select {total} as own from ({base}) as rows_of group by u"
    held = f"greatest(least(own, {dialect.literal(limit)}), {dialect.literal(-limit)})"
    scale = dialect.literal(one)
    everyone = f"coalesce({dialect.sum(held, wide=near is None)}, 0)"
    return f"select 0, {scale}, {everyone} from ({people}) as totals"
