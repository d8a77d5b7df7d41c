"""Tables for the tests, in every engine that the plan runs in.

A loader puts rows, dictionaries of Python values, into a table of an engine and opens it.  Types
are named as DuckDB names them; a loader of another engine writes its own for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from tacit.tables.open_source import Source, open_source

Load = Callable[..., Source]  # of rows and types; options are those of ``open_source``


CHUNK = 50  # rows of one statement


@functools.cache
def one_connection() -> duckdb.DuckDBPyConnection:
    """The connection of all tables of this process: to start DuckDB takes longer than a test."""
    return duckdb.connect()


def in_duckdb(request: pytest.FixtureRequest) -> Load:
    """A loader of DuckDB: each table takes the place of the one before."""

    def load(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], **options: Any) -> Source:
        connection = one_connection()
        columns = ", ".join(f'"{n.replace(chr(34), chr(34) * 2)}" {t}' for n, t in types.items())
        connection.execute(f"create or replace table data ({columns})")
        marks = ", ".join(f"cast(? as {t.partition(' collate')[0]})" for t in types.values())
        for start in range(0, len(rows), CHUNK):
            chunk = [[row[name] for name in types] for row in rows[start : start + CHUNK]]
            connection.execute(
                f"insert into data values {', '.join([f'({marks})'] * len(chunk))}",
                [value for row in chunk for value in row],
            )
        return open_source(connection, "data", **options)

    return load


POSTGRES_TYPES = {
    "varchar": "text",
    "double": "double precision",
    "hugeint": "numeric(38, 0)",
    "tinyint": "smallint",
}


def in_postgres(request: pytest.FixtureRequest) -> Load:
    """A loader of PostgreSQL: a role that may read one table, and do nothing else, opens it."""
    database = request.getfixturevalue("postgres")
    role = database.server.role("reader")

    def load(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], **options: Any) -> Source:
        names = [f'"{n.replace(chr(34), chr(34) * 2)}"' for n in types]
        kinds = [POSTGRES_TYPES.get(t, t) for t in types.values()]
        columns = ", ".join(f"{n} {k}" for n, k in zip(names, kinds, strict=True))
        with database.connect() as connection:
            connection.execute(f'drop table if exists "data"; create table "data" ({columns})')
            connection.execute(f'grant select on "data" to {role}')
            with connection.cursor().copy('copy "data" from stdin') as copy:
                for row in rows:
                    copy.write_row([row[name] for name in types])
        return open_source(database.dsn(role), "data", **options)

    return load


SPARK_TYPES = {"varchar": "string", "hugeint": "decimal(38,0)"}


def in_spark(request: pytest.FixtureRequest) -> Load:
    """A loader of Spark: a DataFrame of the session that the tests share."""
    session = request.getfixturevalue("spark")

    def load(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], **options: Any) -> Source:
        quoted = [f"`{n.replace('`', '``')}`" for n in types]
        kinds = [SPARK_TYPES.get(t, t) for t in types.values()]
        shape = ", ".join(f"{n} {k}" for n, k in zip(quoted, kinds, strict=True))
        whole = [k.startswith("decimal") for k in kinds]
        lines = [
            tuple(
                Decimal(row[n]) if d and row[n] is not None else row[n]
                for n, d in zip(types, whole, strict=True)
            )
            for row in rows
        ]
        return open_source(session.createDataFrame(lines, shape), **options)

    return load


ENGINES = {"duckdb": in_duckdb, "postgresql": in_postgres, "spark": in_spark}
"""Loaders of the engines; a missing engine skips the test."""
