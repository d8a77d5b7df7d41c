"""Columns of the attacks as a table of DuckDB, and from there as a Parquet file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tacit.audit.attack_suite.system import Rows

__all__ = ["TABLE", "Column", "columns_of", "duckdb_table", "write_parquet"]

TABLE = "rows_of_people"

Column = tuple[Sequence[Any], str]
"""The values of a column, and its type as DuckDB names it."""


def columns_of(columns: Mapping[str, Rows]) -> dict[str, Column]:
    """Return columns with their types: whole numbers, floats or texts, None for what is missing.

    >>> columns_of({"x": [1, None], "y": [0.5, 2]})
    {'x': ([1, None], 'bigint'), 'y': ([0.5, 2.0], 'double')}
    """
    return {name: _column(rows) for name, rows in columns.items()}


def _column(rows: Rows) -> Column:
    kinds = {type(value) for value in rows if value is not None}
    if kinds <= {int, bool} and kinds:
        wide = max(abs(v) for v in rows if v is not None)
        if wide < 2**63:
            return [None if v is None else int(v) for v in rows], "bigint"
        return [None if v is None else float(v) for v in rows], "double"
    if kinds <= {int, float}:
        return [None if v is None else float(v) for v in rows], "double"
    return [None if v is None else str(v) for v in rows], "varchar"


def duckdb_table(columns: Mapping[str, Column]) -> Any:
    """Return a connection to a database in memory with one table."""
    connection = duckdb.connect(config={"threads": 1})
    names = ", ".join(f'"{name}" {kind}' for name, (_, kind) in columns.items())
    connection.execute(f"create table {TABLE} ({names})")
    arrays = {}
    for name, (values, kind) in columns.items():
        made = np.empty(len(values), dtype=object)
        made[:] = values
        if kind != "varchar" and None not in values:
            made = np.array(values, dtype=np.int64 if kind == "bigint" else np.float64)
        arrays[name] = made
    if all(len(array) for array in arrays.values()):
        _insert(connection, arrays)
    return connection


def _insert(connection: Any, arrays: Mapping[str, Any]) -> None:
    if all(array.dtype != object for array in arrays.values()):
        connection.register("given", dict(arrays))
        connection.execute(f"insert into {TABLE} select * from given")
        return
    marks = ", ".join("?" for _ in arrays)
    rows = list(zip(*(array.tolist() for array in arrays.values()), strict=True))
    connection.executemany(f"insert into {TABLE} values ({marks})", rows)


def write_parquet(columns: Mapping[str, Column], path: Path) -> None:
    """Write columns into a Parquet file."""
    with duckdb_table(columns) as connection:
        connection.execute(f"copy {TABLE} to '{path}' (format parquet)")
