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
    base: str, names: Sequence[str], squared: Iterable[str], unit: PersonUnit, dialect: Dialect
) -> str:
    """Return the SQL of people with their weight ``w``, their rows ``c`` and their sums.

    Args:
        base: SQL of a query with the person in the column ``u`` and the offsets in ``names``.
        names: of the offsets' columns; of ``z0`` come the sums ``z0n`` of rows that have it,
            ``z0s`` of it, and ``z0q`` of its square.
        squared: those of the names that need their squares.
        unit: the bound.
        dialect: the engine's.
    """
    squared = set(squared)
    sums = ["count(*) as c"]
    for z in names:
        long = dialect.cast(z, "integer")
        sums += [f"count({z}) as {z}n", f"coalesce({dialect.sum(long, wide=False)}, 0) as {z}s"]
        if z in squared:
            square = dialect.sum(f"{long} * {z}", wide=False)
            sums.append(f"coalesce({square}, 0) as {z}q")
    people = f"select {', '.join(sums)} from ({base}) as r group by u"
    limit, one = dialect.literal(unit.rows), dialect.literal(unit.one)
    share = dialect.divide(dialect.literal(unit.one * unit.rows), "c", wide=False)
    weight = dialect.cast(f"case when c > {limit} then {share} else {one} end", "integer")
    return f"select *, {weight} as w from ({people}) as p"


def people_term(column: str, *, wide: bool) -> Term:
    """Return the weighted sum of one of the columns over people."""
    return Term((column,), 1 << 63 if wide else 1)


def clamped_total_sql(base: str, own: Term, limit: int, one: int, dialect: Dialect) -> str:
    """Return the SQL of the line ``0, one, sum`` of each person's total, held within the limit."""
    people = f"select {own.sum('', 1, dialect)} as own from ({base}) as rows_of group by u"
    top, low = dialect.literal(limit), dialect.literal(-limit)
    held = f"greatest(least({dialect.cast('own', 'wide')}, {top}), {low})"
    scale = dialect.literal(one)
    return f"select 0, {scale}, coalesce({dialect.sum(held)}, 0) from ({people}) as totals"
