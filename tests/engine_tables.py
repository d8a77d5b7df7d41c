"""Tables for the tests, in every engine that the plan runs in.

A loader puts rows, dictionaries of Python values, into a table of an engine and opens it.  Types
are named as DuckDB names them; a loader of another engine writes its own for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
import pytest

from tacit.tables.source import Source, open_source

Load = Callable[[Sequence[Mapping[str, Any]], Mapping[str, str]], Source]


def in_duckdb(request: pytest.FixtureRequest) -> Load:
    """A loader of DuckDB: each table has a connection of its own."""

    def load(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> Source:
        connection = duckdb.connect()
        columns = ", ".join(f'"{n.replace(chr(34), chr(34) * 2)}" {t}' for n, t in types.items())
        connection.execute(f"create table data ({columns})")
        if rows:
            marks = ", ".join("?" for _ in types)
            values = [[row[name] for name in types] for row in rows]
            connection.executemany(f"insert into data values ({marks})", values)
        return open_source(connection, "data")

    return load


ENGINES = {"duckdb": in_duckdb}
"""How to get the loader of each engine; one that the machine lacks leaves the test out."""
