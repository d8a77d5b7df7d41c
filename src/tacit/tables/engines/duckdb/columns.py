"""Columns as DuckDB describes them: by declared types, in which no value of the data stands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.expressions.schema import Column, Schema, kind_of
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.dialect import DUCKDB
from tacit.tables.engines.duckdb.engine import DuckEngine

__all__ = ["column_of", "described", "schema_of", "shield", "shielded", "types_of"]

_UTC = {
    "TIMESTAMP WITH TIME ZONE": (
        *("TIMESTAMP", "(case when isfinite({x}) then make_timestamp(epoch_us({x})) end)"),
    ),
    "TIMESTAMPTZ_NS": ("TIMESTAMP_NS", "make_timestamp_ns(epoch_ns({x}))"),
}
"""Types of times with a zone: those of the time in UTC, and how it is read."""
_FAR = 1 << 500
"""No bounds reach beyond it (:mod:`tacit.expressions.grid`)."""
_BIG = {
    "UHUGEINT": "cast({x} as double)",
    "BIGNUM": (
        "cast(case when {x} is not null then greatest(least({x}, "
        f"cast('{_FAR}' as bignum)), cast('-{_FAR}' as bignum)) end as double)"
    ),
}
"""Types of whole numbers that are wider than the plan computes in, and how they become doubles."""
_VALUES = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")


def types_of(relation: str, engine: DuckEngine) -> dict[str, str]:
    """Return the engine's type of each column of a relation."""
    return {row[0]: row[1] for row in engine.rows(f"describe select * from {relation}")}


def described(relation: str, engine: DuckEngine) -> Schema:
    """Return the columns of a relation.

    Raises:
        DataSourceError: two whose names differ only in capital letters.
    """
    return schema_of(types_of(relation, engine))


def schema_of(types: dict[str, str]) -> Schema:
    """Return the columns of these types.

    Raises:
        DataSourceError: two whose names differ only in capital letters.
    """
    refuse_like_names(types)
    return Schema([column_of(name, declared) for name, declared in types.items()])


def shield(cell: str) -> str:
    """Return the SQL of a cell of which the engine knows nothing beside its value.

    DuckDB derives from the statistics of a file which comparisons are true of all its rows, which
    row groups it may leave out, and how narrow a type holds a column.  A writer may leave NaN out
    of them, or be wrong.  It knows none of the result of ``try``, whose value is that of the
    column, and compares it row by row; those of ``coalesce`` and ``struct_extract`` are passed on.
    """
    return f"try({cell})"


def shielded(relation: str, names: Iterable[str]) -> str:
    """Return a relation with the columns of one, all of them behind :func:`shield`."""
    quoted = map(DUCKDB.identifier, names)
    return f"(select {', '.join(f'{shield(q)} as {q}' for q in quoted)} from {relation})"


def column_of(name: str, declared: str) -> Column:
    """Return a column of a type.

    The values that an enumeration allows may be taken from the data, so they are left out.  A time
    with a zone is a moment, and is read in UTC, whatever zone the connection is set to; what is
    infinite is missing.  A whole number that may be wider than 126 bits is read as a decimal is.

    >>> column_of("who", "ENUM('Ada', 'O''Hara')[]").declared
    'ENUM[]'
    >>> column_of("at", "TIMESTAMP WITH TIME ZONE").kind
    'date'
    """
    known = declared.upper()
    if known in _UTC:
        plain, reads = _UTC[known]
        return Column(name, "date", plain, reads=reads)
    if known in _BIG:
        return Column(name, "decimal", declared, reads=_BIG[known], identity="{x}")
    return Column(name, kind_of(declared), _VALUES.sub("ENUM", declared))
