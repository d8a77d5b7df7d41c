"""Columns as DuckDB describes them: by declared types, in which no value of the data stands."""

from __future__ import annotations

import re

from tacit.expressions.schema import Column, Schema, kind_of
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.engine import DuckEngine

__all__ = ["column_of", "described", "schema_of", "types_of"]

_ZONED = "TIMESTAMP WITH TIME ZONE"
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


def column_of(name: str, declared: str) -> Column:
    """Return a column of a type.

    The values that an enumeration allows may be taken from the data, so they are left out.  A time
    with a zone is a moment, and is read in UTC, whatever zone the connection is set to; what is
    infinite is missing.

    >>> column_of("who", "ENUM('Ada', 'O''Hara')[]").declared
    'ENUM[]'
    >>> column_of("at", "TIMESTAMP WITH TIME ZONE").kind
    'date'
    """
    if declared.upper() == _ZONED:
        reads = "(case when isfinite({x}) then make_timestamp(epoch_us({x})) end)"
        return Column(name, "date", "TIMESTAMP", reads=reads)
    return Column(name, kind_of(declared), _VALUES.sub("ENUM", declared))
