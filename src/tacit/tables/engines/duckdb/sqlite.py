"""Tables of SQLite for DuckDB, read by the types that they declare."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import proxy

from tacit.errors import DataSourceError, did_you_mean
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.engine import DuckEngine, column_of
from tacit.tables.engines.duckdb.frames import batches_of, cell_text, import_batches, sound

# A column of SQLite holds values of any type, and its drivers take the type of a column from its
# first rows.  Here the declared type alone decides it, by SQLite's own rules of affinity, and each
# cell is read by its own type: one that is no value of the column's type is missing.  A column
# without such a type (a number with decimals, a date, none) is *undeclared*: the text of its
# cells, as of a CSV file.
#
# A view, and a column that is computed when it is read, may raise on a value: views are refused,
# and such columns are left out.
#
# Source: SQLite, *Datatypes in SQLite*, section 3.1, *Determination of column affinity*.


_ROWS = 512  # of a batch: more rows at once as Python's objects take memory, and save no time
_CELLS = {
    "BIGINT": "case typeof({x}) when 'integer' then {x} end",
    "DOUBLE": "case when typeof({x}) in ('integer', 'real') then cast({x} as real) end",
    "BOOLEAN": "case when typeof({x}) = 'integer' and {x} in (0, 1) then {x} end",
    "VARCHAR": "case typeof({x}) when 'text' then {x} end",
    "undeclared": "case when typeof({x}) <> 'blob' then {x} end",
}


class _Table(NamedTuple):
    """A table of a database."""

    path: str
    name: str
    types: tuple[tuple[str, str], ...]  # of each column its name, and its type here

    def sql(self) -> str:
        cells = [_CELLS[kind].format(x=_quoted(name)) for name, kind in self.types]
        return f"select {', '.join(cells)} from {_quoted(self.name)}"


def open_sqlite(path: str, table: str, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that a table will be, and its columns; no row is read."""
    try:
        opened = _described(path, table)
    except sqlite3.Error:
        opened = None
    if opened is None:
        raise DataSourceError(
            f"{path} cannot be read as a database of SQLite: it is encrypted, damaged or locked by "
            "another program; open it in SQLite, or export the table to a CSV file"
        )
    names = [name for name, _ in opened.types]
    refuse_like_names(names)
    columns = [
        Column(name, "undeclared", "VARCHAR") if kind == "undeclared" else column_of(name, kind)
        for name, kind in opened.types
    ]
    relation = engine.empty_table({column.name: column.declared for column in columns})
    engine.before_reading(partial(_import, opened, relation, proxy(engine)))
    return relation, Schema(columns)


def _connected(path: str) -> sqlite3.Connection:
    address = Path(os.path.abspath(path)).as_uri() + "?mode=ro"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    connection.text_factory = bytes  # text may be in no encoding, which would end the read
    connection.execute("pragma trusted_schema = off")
    return connection


def _described(path: str, table: str) -> _Table:
    with closing(_connected(path)) as connection:
        listed = "select type, name from sqlite_master where type in ('table', 'view')"
        kinds = {_text(name): _text(kind) for kind, name in connection.execute(listed)}
        if table not in kinds:
            known = [name for name in kinds if not name.startswith("sqlite_")]
            raise DataSourceError(f"there is no table {table!r}; {did_you_mean(table, known)}")
        if kinds[table] == "view":
            raise DataSourceError(
                f"{table!r} is a view of SQLite, which may fail on a value: make a table of it, as "
                f"in create table visits as select * from {table}"
            )
        described = connection.execute("select name, type from pragma_table_info(?)", (table,))
        types = [(_text(name), _type_of(_text(declared))) for name, declared in described]
    return _Table(path, table, tuple(types))


def _text(cell: bytes) -> str:
    return cell.decode(errors="replace")


def _type_of(declared: str) -> str:
    """Return the type of a column by the one that it is declared with.

    >>> [_type_of(t) for t in ("int", "varchar(9)", "double", "BOOLEAN", "DATE", "")]
    ['BIGINT', 'VARCHAR', 'DOUBLE', 'BOOLEAN', 'undeclared', 'undeclared']
    """
    name = declared.upper()
    if "INT" in name:
        return "BIGINT"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "VARCHAR"
    if any(part in name for part in ("REAL", "FLOA", "DOUB")):
        return "DOUBLE"
    return "BOOLEAN" if "BOOL" in name else "undeclared"


def _import(table: _Table, relation: str, engine: DuckEngine) -> None:
    import pyarrow as pa

    kinds = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}
    schema = pa.schema([(name, kinds.get(kind, pa.string())) for name, kind in table.types])
    import_batches(relation, schema, partial(_batches, table, schema), engine)


def _batches(table: _Table, schema: Any, failed: list[str]) -> Iterator[Any]:
    try:
        if _described(table.path, table.name) != table:
            raise DataSourceError("the table has other columns than when it was opened")
        with closing(_connected(table.path)) as connection:
            cursor = connection.execute(table.sql())
            while rows := cursor.fetchmany(_ROWS):
                arrays = [
                    _array(cells, kind, field.type)
                    for cells, (_, kind), field in zip(
                        zip(*rows, strict=True), table.types, schema, strict=True
                    )
                ]
                yield from map(sound, batches_of(arrays, schema))
    except (sqlite3.Error, DataSourceError, OSError):
        failed.append(table.path)


def _array(cells: Sequence[Any], kind: str, declared: Any) -> Any:
    import pyarrow as pa

    if kind == "BOOLEAN":
        cells = [None if cell is None else bool(cell) for cell in cells]
    elif kind == "undeclared":
        cells = [cell if isinstance(cell, bytes) else _written(cell) for cell in cells]
    if declared == pa.string():
        return pa.array(cells, pa.binary()).cast(declared, safe=False)
    return pa.array(cells, declared)


def _written(cell: Any) -> bytes | None:
    written = cell_text(cell)
    return None if written is None else written.encode()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
