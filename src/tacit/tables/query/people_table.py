"""A table of one row a person, made of all of a person's rows, as a relation in SQL.

*Theorem.*  A person who comes or goes adds or removes at most one row of it, their own, and no
other row changes.  *Proof.*  The rows are grouped by the person (by nothing that a person could
share with another: see :meth:`~tacit.tables.spec.privacy_unit.PersonUnit.person`), and the values
of a row are functions of the multiset of that person's rows that the filter keeps: a count, a sum
of whole numbers, a least or a greatest.  Who has no such row has none here.  So the table is a
disjoint union over people, whatever was read, and as many rows of a person as there are may count.

*Values.*  Nothing that is fractional is added up in floating point.  A value x becomes the whole
number ``floor(x 10^p + 1/2)`` first, and what is added up, compared and divided is whole:

- a **sum** is the exact sum of those numbers, held within its bounds at the end.  Each of them is
  held within ``2^61``, at least 2^14 times the bounds, so that ROWS of them are below 2^101;
- a **mean** is the exact sum of numbers that are held within the bounds, divided and rounded down;
- a **least** or **greatest** value is one of the numbers, held within the bounds;
- a **count** is at most :data:`~tacit.expressions.integer_sql.ROWS`, and so is a **count of
  different values**, which are distinguished as in :mod:`tacit.tables.query.distinct_values`: a
  missing value is none.

For whole numbers p is zero.  Else it is the largest for which the bounds are at most ``2^46`` in
those units (0 to 22), and what comes out, ``n / 10^p``, is a quotient of two numbers that doubles
hold exactly: the double nearest to the decimal number, the same on every engine, and 30.3 for three
times 10.1.  A value is off by half a unit at most, about ``10^-13`` of the larger bound.

*Missing.*  A person whose values are all missing has a missing sum, mean, least and greatest.

*One reading.*  The relation stands once in each statement, and reads the table once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from tacit.arithmetic.exact import show
from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid
from tacit.expressions.integer_sql import Whole
from tacit.expressions.schema import Column, Schema
from tacit.expressions.undeclared_columns import read_as
from tacit.tables.open_source import Source
from tacit.tables.query.distinct_values import identity_sql
from tacit.tables.query.keys_sql import key_part_sql
from tacit.tables.query.row_values import condition_sql, offset_sql
from tacit.tables.spec.privacy_unit import PersonUnit

__all__ = ["PersonValue", "Statistic", "person_column", "person_source", "units_of"]

Statistic: TypeAlias = Literal["count", "distinct", "sum", "mean", "min", "max"]

_FAR = 61
"""One value of a sum is at most 2^61 units from zero, and so is a whole bound."""
_FINE, _COARSE = 1 << 46, 1 << 20
"""A bound of fractions is at most so many units from zero, and at least so many."""
_EXACT = 1 << 53
_TENS = 22
"""Whole numbers and powers of ten up to which all are doubles."""


@dataclass(frozen=True)
class PersonValue:
    """One column of the table: a statistic of a person's rows.

    Attributes:
        name: of the column.
        statistic: what it is.
        kind: of what comes out: ``integer``, ``float``, ``text`` or ``date``.
        column: what it is of, by name; None for a count.
        grid: its bounds in units of ``10^-places``; None for counts, text and dates.
        places: how many digits after the point are counted in.
    """

    name: str
    statistic: Statistic
    kind: str
    column: str | None = None
    grid: Grid | None = None
    places: int = 0


def units_of(lower: Fraction, upper: Fraction, *, whole: bool) -> tuple[Grid, int]:
    """Return the bounds of a person's value in whole units, and how many digits units have.

    Args:
        lower: the public lower bound.
        upper: the public upper bound, above it.
        whole: whether what comes out is a whole number.

    Raises:
        UsageError: bounds that are too far from zero, or too near to it.

    >>> grid, places = units_of(Fraction(0), Fraction(5000), whole=False)
    >>> grid.last == 5000 * 10**places, places
    (True, 10)
    """
    far, told = max(abs(lower), abs(upper)), f"the bounds {show(lower)} and {show(upper)}"
    if whole:
        if far > 1 << _FAR:
            raise UsageError(
                f"{told} are too far from zero: whole numbers of at most 2^{_FAR} can be held"
            )
        return Grid(lower, upper, 0), 0
    places = next((p for p in range(_TENS, 0, -1) if far * 10**p <= _FINE), 0)
    if not _COARSE <= far * 10**places <= _EXACT:
        raise UsageError(f"{told} are too far from zero, or too near to it: rescale the column")
    grid = Grid(lower * 10**places, upper * 10**places, 0)
    if not grid.cells:
        raise UsageError(f"{told} are closer than can be distinguished: rescale the column")
    return grid, places


def person_column(column: Column) -> Column:
    """Return the person column of the table, which holds what distinguished people in the rows."""
    declared = column.declared
    if column.kind in ("text", "undeclared") and declared.upper() != "UUID":
        declared = "VARCHAR"
    if column.kind == "float":
        declared = "DOUBLE"
    return replace(
        column, declared=declared, reads=column.reads if column.identity else "{x}", problem=""
    )


def person_source(
    source: Source,
    unit: PersonUnit,
    where: Expression | None,
    derived: Mapping[str, Expression],
    values: Sequence[PersonValue],
    schema: Schema,
) -> Source:
    """Return the table of one row a person, in the engine of the table itself.

    Args:
        source: the table.
        unit: whose rows are one person's.
        where: which rows count, or None.
        derived: columns that are computed from each row, in terms of the table's own.
        values: the columns beside the person.
        schema: the person column and those, in order.

    Raises:
        UsageError: a column that is not there, or of a kind that does not fit.
    """
    d, names = source.engine.dialect, [f"v{i}" for i in range(len(values))]
    columns, found = [], []
    for name, value in zip(names, values, strict=True):
        if value.column is None:
            found.append(d.cast("count(*)", "integer"))
            continue
        of = derived.get(value.column, Expression("col", (), (value.column,)))
        columns.append(f"{_row_sql(of, value, source.schema, d)} as {name}")
        found.append(_value_sql(name, value, d))
    columns.append(f"{unit.person(source.schema, d)} as u")
    condition = condition_sql(where, source.schema, d)
    test = f" where ({condition})" if condition else ""
    rows = d.fence.format(
        sql=f"select {', '.join(columns)} from {source.relation} as tacit_rows{test}"
    )
    listed = ", ".join(f"{sql} as {name}" for sql, name in zip(found, names, strict=True))
    people = f"select u, {listed} from ({rows}) as tacit_owned where u is not null group by u"
    shown = [f"{sql} as {d.identifier(n)}" for sql, n in zip(["u", *names], schema, strict=True)]
    relation = f"(select {', '.join(shown)} from ({people}) as tacit_people)"
    return Source(source.name, schema, source.engine, relation, counted=source.counted)


def _row_sql(of: Expression, value: PersonValue, schema: Schema, d: Dialect) -> str:
    """Return the SQL of what is looked at in a row."""
    if value.statistic == "distinct":
        return identity_sql(of, schema, d)[0]
    if value.grid is None:
        return key_part_sql(of, value.kind, schema, d)
    number = read_as(of, "read_numeric", schema)
    if value.places:
        number = number * float(10**value.places)
    return offset_sql(number, _grid_of_rows(value), schema, d)


def _grid_of_rows(value: PersonValue) -> Grid:
    """Return the grid of the values of rows: of a sum, one that is far wider than its bounds."""
    assert value.grid is not None
    if value.statistic != "sum":
        return value.grid
    return Grid(Fraction(-(1 << _FAR)), Fraction(1 << _FAR), 0)


def _value_sql(z: str, value: PersonValue, d: Dialect) -> str:
    """Return the SQL of a person's value, from the column ``z`` of their rows."""
    if value.statistic == "distinct":
        return d.cast(f"count(distinct {z})", "integer")
    if value.grid is None:
        return f"{value.statistic}({z})"
    rows, grid = _grid_of_rows(value), value.grid
    offset = Whole(z, 0, rows.cells)
    if value.statistic == "sum":
        total = offset.plus(rows.first, d).total(d).held(grid.first, grid.last, d)
        # the sum of no values would be zero
        units = replace(total, sql=f"case when count({z}) > 0 then {total.sql} end")
    elif value.statistic == "mean":
        total, count = offset.total(d), f"nullif(count({z}), 0)"
        mean = d.divide(d.cast(total.sql, "wide"), count, wide=True)
        units = Whole(d.cast(mean, "integer"), 0, rows.cells).plus(rows.first, d)
    else:
        units = Whole(f"{value.statistic}({z})", 0, rows.cells).plus(rows.first, d)
    whole = d.cast(units.sql, "integer")
    if value.kind == "integer":
        return whole
    return f"({d.cast(whole, 'double')} / {d.literal(float(10**value.places))})"
