"""Open a table for DuckDB: files, data frames, tables of a DuckDB database.

Opening looks at what is public of a table, and at no row: the first lines of CSV files
(:mod:`tacit.tables.engines.duckdb.csv_files`), the footers of Parquet files, the names and types of
a data frame.  What has to be brought into the engine is brought in by the first query.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from tacit.errors import DataSourceError, UsageError, did_you_mean, need
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import EngineMemoryError, Opened, closed_on_failure
from tacit.tables.engines.csv.format import CsvOptions, csv_format, refuse_csv
from tacit.tables.engines.duckdb.arrow import carried, open_arrow, streamed
from tacit.tables.engines.duckdb.columns import described, schema_of, shielded, types_of
from tacit.tables.engines.duckdb.csv_files import open_csv
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.frame import open_pandas, open_polars
from tacit.tables.engines.duckdb.parquet import open_parquet
from tacit.tables.engines.duckdb.remote import check_remote, is_remote, public_part
from tacit.tables.engines.duckdb.view_files import OpaqueSqlError, ViewFiles
from tacit.tables.engines.file_kinds import kind_of
from tacit.tables.engines.files import ConfinedPath, data_files, database_file, typed

__all__ = ["beside_in_duckdb", "holds_csv", "open_in_duckdb"]

_OWN_COLUMNS = "a table of a database declares its own columns"


def open_in_duckdb(
    source: Any,
    table: str | None,
    csv: CsvOptions,
    memory_limit: str | None,
    threads: int | None,
) -> Opened:
    """Open a path, a table in memory, or a table of a DuckDB database, in DuckDB.

    Args:
        source: as :func:`tacit.tables.open_source` takes it.
        table: the table of a database.
        csv: what is said of CSV files.
        memory_limit: the most memory of the engine.
        threads: how many threads it uses.

    Raises:
        DataSourceError: nothing there, not readable, empty, or broken.
        UsageError: no table named in a database, or one named where there is none.
    """
    csv_format(**csv)  # refuses now what does not fit
    if not isinstance(source, (str, os.PathLike)):
        refuse_csv(csv, "this table declares its own columns")
    connection = source if _is(source, "DuckDBPyConnection") else None
    path = isinstance(source, (str, os.PathLike))
    database = path and database_file(source)
    if connection is not None and table is None:
        raise UsageError("name the table: open_source(connection, table='visits')")
    if connection is None and table is not None and not database:
        if path and not is_remote(os.fspath(source)):
            data_files(source)  # a database of another program is named as such
        raise UsageError("table= belongs to a database; this source is a single table")
    place = ""
    if database:
        refuse_csv(csv, _OWN_COLUMNS)
        place = _check_database(source, table)
    engine = DuckEngine(memory_limit, threads, connection, alone=path)
    with closed_on_failure(engine):
        if database:
            opened = _from_database(source, place, str(table), engine)
            engine.count(opened.relation)
            return opened
        if connection is not None:  # the settings of somebody's own connection stay as they are
            relation, schema = _named(str(table), engine)
            return Opened(str(table), schema, engine, relation)
        if path:
            opened = _from_path(source, csv, engine)
            engine.count(opened.relation)
            return opened
        relation, schema = _from_frame(source, engine) or _from_memory(source, engine)
        engine.count(relation, _length(source))
        types = [(column.name, column.declared, column.reads) for column in schema.values()]
        engine.in_memory(repr((type(source).__module__, type(source).__qualname__, types)))
        return Opened("table", schema, engine, relation)


def _is(value: object, class_name: str) -> bool:
    return type(value).__name__ == class_name


def _named(table: str, engine: DuckEngine, database: str = "") -> tuple[str, Schema]:
    """Return the relation of a table or view of the database in use, and its columns.

    The statistics of a table of DuckDB's own are made by itself and cover all values.  A view may
    read files, and so may a table of another kind of database.
    """
    known = [
        row[0] if row[1] == "main" else f"{row[1]}.{row[0]}"
        for row in engine.rows("select table_name, table_schema from information_schema.tables")
    ]
    if table not in known:
        raise DataSourceError(f"there is no table {table!r}; {did_you_mean(table, known)}")
    schema, _, bare = table.rpartition(".") if "." in table else ("main", "", table)
    names = list(map(engine.dialect.identifier, filter(None, (database, schema, bare))))
    relation = ".".join(names)
    columns = described(relation, engine)
    if not _is_own(schema, bare, engine):
        relation = shielded(_of_files(relation, schema, bare, engine), columns)
    return relation, columns


def _is_own(schema: str, table: str, engine: DuckEngine) -> bool:
    """Return whether all that has this name is a table that DuckDB itself stores."""
    called = "where schema_name = {} and {}_name = {}"
    schema_, table_ = map(engine.dialect.literal, (schema, table))
    stores = f"""
        select type = 'duckdb' from duckdb_tables() join duckdb_databases() using (database_name)
        {called.format(schema_, "table", table_)}
        union all select false from duckdb_views() {called.format(schema_, "view", table_)}
    """
    found = [own for (own,) in engine.rows(stores)]
    return bool(found) and all(found)


def _of_files(relation: str, schema: str, view: str, engine: DuckEngine) -> str:
    """Return a view with the Parquet files in it read as files are; another as it is.

    Raises:
        DataSourceError: it may read Parquet files, and cannot be rewritten.
    """
    database = engine.rows("select current_database()")[0][0]
    rewriter = ViewFiles(engine)
    try:
        sql = rewriter.of_view(str(database), schema, view)
        if sql is None:
            return relation
        before, name = types_of(relation, engine), engine.view(sql)
        if types_of(name, engine) == before:
            return name
        why = "has other columns when its files are named one by one"
    except OpaqueSqlError as error:
        why = str(error)
    except EngineMemoryError:
        raise
    except DataSourceError:
        why = "DuckDB refuses the SQL that reads them so"
    if not rewriter.may_read_parquet(relation):
        return relation
    raise DataSourceError(
        f"{view!r} reads Parquet files, of which one cell could fail every question, and it cannot "
        f"be read in another way ({why}): open the files themselves, name them in "
        "read_parquet('...') in the view, or make a table of it"
    )


def _check_database(path: str | os.PathLike[str], table: str | None) -> str:
    """Return the place of a database, and refuse one that is not there."""
    told, place = os.fspath(path), typed(path)
    if table is None:
        raise UsageError(f"{told} is a database: name the table, as in table='visits'")
    if isinstance(path, ConfinedPath):
        path.check(place)
    if not os.path.isfile(place):
        raise DataSourceError(f"there is no file {told}")
    if not os.access(place, os.R_OK):
        raise DataSourceError(f"{told}: no right to read it; ask for read access")
    return os.path.realpath(place)


def beside_in_duckdb(
    path: str | os.PathLike[str], table: str | None, csv: CsvOptions, engine: DuckEngine
) -> Opened:
    """Open another file, or a table of a database, in an engine that has one open.

    Raises:
        DataSourceError: nothing there, not readable, empty, or broken.
    """
    with engine.opening():
        if not database_file(path):
            return _from_path(path, csv, engine)
        refuse_csv(csv, _OWN_COLUMNS)
        return _from_database(path, _check_database(path, table), str(table), engine)


def _from_database(
    path: str | os.PathLike[str], place: str, table: str, engine: DuckEngine
) -> Opened:
    data = engine.attached(place)
    if isinstance(path, ConfinedPath):
        _refuse_files_of_views(place, table)
    engine.rows(f"use {engine.dialect.identifier(data)}")
    relation, schema = _named(table, engine, data)
    engine.rows("use memory")
    return Opened(f"{Path(os.fspath(path)).name}:{table}", schema, engine, relation)


def _refuse_files_of_views(place: str, table: str) -> None:
    """Refuse a table of a database if reading it reads anything outside the database.

    Raises:
        DataSourceError: it does.
    """
    with closed_on_failure(engine := DuckEngine()):
        data = engine.attached(place)
        # DuckDB opens each file when it prepares a query, so a description shows whether it may.
        engine.rows("set enable_external_access = false")
        engine.rows(f"use {engine.dialect.identifier(data)}")
        try:
            _named(table, engine, data)
        except EngineMemoryError:
            raise
        except DataSourceError:
            raise DataSourceError(
                f"{table!r} reads files outside of its database, which no table of this service "
                "may: make a table of it, as in create table t as from the_view"
            ) from None
    engine.close()


def _from_frame(table: Any, engine: DuckEngine) -> tuple[str, Schema] | None:
    """Open a frame, a table of pyarrow or a relation of DuckDB; None for another table."""
    if _is(table, "Series"):
        raise DataSourceError(
            "a Series is one column, not a table: give the data frame that it belongs to, or "
            "series.to_frame()"
        )
    if type(table).__module__.startswith("polars.") and hasattr(table, "lazy"):
        return open_polars(table, engine)
    if hasattr(table, "dtypes") and hasattr(table, "iloc"):
        return open_pandas(table, engine)
    if type(table).__module__.split(".")[0] == "pyarrow" and hasattr(table, "__arrow_c_stream__"):
        return open_arrow(table, engine)
    if _is(table, "DuckDBPyRelation"):
        types = dict(zip(table.columns, map(str, table.types), strict=True))
        part = table.project(carried(types))
        schema = schema_of(types)
        held = {n: "BOOLEAN" if schema[n].kind == "other" else t for n, t in types.items()}
        return streamed(lambda: part, held, engine), schema
    return None


def _length(table: Any) -> int | None:
    """Return how many rows a table of pandas, polars or pyarrow holds; None where it must count."""
    held = type(table).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")
    return len(table) if held and hasattr(table, "__len__") else None


def _from_memory(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Open whatever yields an Arrow stream: its schema now, its rows at the first query."""
    if hasattr(table, "__arrow_c_stream__"):
        arrow = need("pyarrow", "arrow")
        return open_arrow(arrow.RecordBatchReader.from_stream(table), engine)
    raise DataSourceError(
        f"a {type(table).__name__} is not a table: give a path, a pandas, polars or Arrow table, "
        "or a DuckDB relation"
    )


def _from_path(source: str | os.PathLike[str], csv: CsvOptions, engine: DuckEngine) -> Opened:
    path = os.fspath(source)
    if is_remote(path):
        return _from_address(path, csv, engine)
    files, place = data_files(source), typed(source)
    if isinstance(source, ConfinedPath):  # a link may take the place of a file before it is read
        engine.before_reading(partial(_check_all, source, files))
    label = Path(path.rstrip("/")).name or Path(place).resolve().name
    if kind_of(files[0]) == "csv":
        relation, schema = open_csv(files, csv_format(**csv), engine)
    else:
        refuse_csv(csv, "a Parquet file declares its own columns")
        relation, schema = open_parquet(place, files, engine)
    return Opened(label, schema, engine, relation)


def _check_all(path: ConfinedPath, files: list[str]) -> None:
    for file in files:
        path.check(file)


def _from_address(address: str, csv: CsvOptions, engine: DuckEngine) -> Opened:
    check_remote(address, engine)
    label = Path(public_part(address).rstrip("/")).name
    if not public_part(address).casefold().endswith((".parquet", ".pq")):
        raise DataSourceError(
            f"{public_part(address)} is a CSV file at an address, whose lines Tacit cannot check "
            "before the engine reads them: copy it to a local folder, or turn it into Parquet"
        )
    refuse_csv(csv, "a Parquet file declares its own columns")
    relation, schema = open_parquet(address, [address], engine)
    return Opened(label, schema, engine, relation)


def holds_csv(path: str | os.PathLike[str]) -> bool:
    """Return whether a path, a folder or a glob stands for CSV files, which declare no types.

    Raises:
        DataSourceError: there is nothing, or what is there cannot be read.
    """
    return not is_remote(os.fspath(path)) and kind_of(data_files(path)[0]) == "csv"
