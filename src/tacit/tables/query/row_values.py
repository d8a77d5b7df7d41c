"""What a query reads of a row: whether a filter keeps it, and where its value is on a grid."""

from __future__ import annotations

from tacit.errors import UsageError
from tacit.expressions.dialect import Dialect
from tacit.expressions.expression import Expression
from tacit.expressions.grid import Grid
from tacit.expressions.schema import Schema
from tacit.expressions.undeclared_columns import read_as

__all__ = ["condition_sql", "offset_sql"]


def condition_sql(where: Expression | None, schema: Schema, dialect: Dialect) -> str | None:
    """Return the SQL of a filter, or None where there is none.

    Raises:
        UsageError: something that is no condition.

    >>> from tacit.expressions.expression import col
    >>> from tacit.expressions.schema import Column
    >>> people = Schema([Column("age", "integer", "BIGINT")])
    >>> condition_sql(col("age") + 1, people, Dialect("duckdb"))
    Traceback (most recent call last):
    tacit.errors.UsageError: a filter is a condition; (age + 1) is of kind float
    """
    if where is None:
        return None
    where = read_as(where, "read_boolean", schema)
    kind = where.kind(schema)
    if kind not in ("boolean", "missing"):
        raise UsageError(f"a filter is a condition; {where} is of kind {kind}")
    return where.sql(schema, dialect)


def offset_sql(
    value: Expression, grid: Grid, schema: Schema, dialect: Dialect, *, clamp: bool = True
) -> str:
    """Return the SQL of a value's offset on a grid; see :meth:`Grid.sql`.

    Raises:
        UsageError: a value that is no number.
    """
    value = read_as(value, "read_numeric", schema)
    kind = value.kind(schema)
    if kind not in ("integer", "float", "decimal", "boolean", "missing"):
        raise UsageError(f"{value} is of kind {kind}; this statistic needs numbers")
    if value.operation == "col":
        name = str(value.parameters[0])
        if schema.column(name).kind == "float":  # as it is, for the grid itself leaves NaN out
            plain = dialect.cast(dialect.column(name), "double")
            return grid.sql(plain, kind, dialect, clamp=clamp)
    return grid.sql(value.sql(schema, dialect), kind, dialect, clamp=clamp)
