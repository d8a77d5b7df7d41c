"""Open a table for DuckDB: files, data frames, tables of a DuckDB database.

Opening looks at what is public of a table, and at no row: the first lines of CSV files
(:mod:`tacit.tables.engines.duckdb.csv_files`), the footers of Parquet files, the names and types of
a data frame.  What has to be brought into the engine is brought in by the first query.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from pathlib import Path
from typing import Any

from tacit.errors import DataSourceError, UsageError, did_you_mean, need
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import Opened, closed_on_failure, new_name
from tacit.tables.engines.csv.format import CsvOptions, csv_format, refuse_csv
from tacit.tables.engines.duckdb.arrow import carried, open_arrow, streamed
from tacit.tables.engines.duckdb.columns import described, schema_of, shielded
from tacit.tables.engines.duckdb.csv_files import open_csv
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.frame import open_pandas, open_polars
from tacit.tables.engines.duckdb.parquet import open_parquet, times_in_millis
from tacit.tables.engines.duckdb.remote import check_remote, is_remote, public_part

__all__ = ["beside_in_duckdb", "data_files", "open_in_duckdb"]

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".pq")
_LEDGER = (".ledger", ".ledger-wal", ".ledger-shm")
_DATABASE = (".duckdb", ".ddb")
_OWN_COLUMNS = "a table of a database declares its own columns"
_NO_RIGHT = "no right to read it; ask for read access"


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
    database = isinstance(source, (str, os.PathLike)) and str(source).endswith(_DATABASE)
    if connection is not None and table is None:
        raise UsageError("name the table: open_source(connection, table='visits')")
    if connection is None and table is not None and not database:
        raise UsageError("table= belongs to a database; this source is a single table")
    if database:
        refuse_csv(csv, _OWN_COLUMNS)
        _check_database(str(source), table)
    path = isinstance(source, (str, os.PathLike))
    engine = DuckEngine(memory_limit, threads, connection, alone=path)
    with closed_on_failure(engine):
        if database:
            opened = _from_database(str(source), str(table), engine)
            engine.count(opened.relation)
            return opened
        if connection is not None:  # the settings of somebody's own connection stay as they are
            relation, schema = _named(str(table), engine)
            return Opened(str(table), schema, engine, relation)
        if path:
            opened = _from_path(os.fspath(source), csv, engine)
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
        _refuse_far_times(bare, engine)
        relation = shielded(relation, columns)
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


_PARQUET_NAME = re.compile(
    r"""'((?:[^']|'')+\.(?:parquet|pq))'|"((?:[^"]|"")+\.(?:parquet|pq))\"""", re.IGNORECASE
)


def _refuse_far_times(view: str, engine: DuckEngine) -> None:
    """Raise if a view reads Parquet files with times in milliseconds.

    One of them that microseconds do not hold would fail every question, and the view is not ours
    to write.  The files are those that its text names, and that of the views which it names.
    """
    texts = dict(engine.rows("select view_name, sql from duckdb_views() where not internal"))
    read, left = set(), [view]
    while left:
        sql = texts.pop(left.pop(), None) or ""
        read |= {(a or b).replace("''", "'") for a, b in _PARQUET_NAME.findall(sql)}
        left += [name for name in texts if name in sql]
    for file in sorted(read):
        try:
            names = times_in_millis(file, engine)
        except DataSourceError:  # it is not there: a question says so
            continue
        if names:
            raise DataSourceError(
                f"{view!r} reads Parquet files with times in milliseconds ({', '.join(names)}), of "
                "which a far one would fail every question: open the files themselves, write "
                "microseconds, or make a table of the view"
            )


def _check_database(path: str, table: str | None) -> None:
    if table is None:
        raise UsageError(f"{path} is a database: name the table, as in table='visits'")
    if not Path(path).is_file():
        raise DataSourceError(f"there is no file {path}")


def beside_in_duckdb(path: str, table: str | None, csv: CsvOptions, engine: DuckEngine) -> Opened:
    """Open another file, or a table of a database, in an engine that has one open.

    Raises:
        DataSourceError: nothing there, not readable, empty, or broken.
    """
    with engine.opening():
        if not path.endswith(_DATABASE):
            return _from_path(path, csv, engine)
        refuse_csv(csv, _OWN_COLUMNS)
        _check_database(path, table)
        return _from_database(path, str(table), engine)


def _from_database(path: str, table: str, engine: DuckEngine) -> Opened:
    file = engine.dialect.literal(path)
    known = f"select database_name from duckdb_databases() where path = {file}"
    if not engine.rows(known):
        engine.rows(f"attach {file} as {new_name()} (read_only)")
    data = engine.rows(known)[0][0]
    engine.rows(f"use {engine.dialect.identifier(data)}")
    relation, schema = _named(table, engine, data)
    engine.rows("use memory")
    return Opened(f"{Path(path).name}:{table}", schema, engine, relation)


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


def _from_path(path: str, csv: CsvOptions, engine: DuckEngine) -> Opened:
    if is_remote(path):
        check_remote(path, engine)
    files = [path] if is_remote(path) else data_files(path)
    label = (
        Path(public_part(path).rstrip("/")).name or Path(os.path.expanduser(path)).resolve().name
    )
    if not public_part(files[0]).casefold().endswith(_PARQUET):
        if is_remote(path):
            raise DataSourceError(
                f"{public_part(path)} is a CSV file at an address, whose lines Tacit cannot check "
                "before the engine reads them: copy it to a local folder, or turn it into Parquet"
            )
        relation, schema = open_csv(files, csv_format(**csv), engine)
        return Opened(label, schema, engine, relation)
    refuse_csv(csv, "a Parquet file declares its own columns")
    relation, schema = open_parquet(path, files, engine)
    return Opened(label, schema, engine, relation)


def holds_csv(path: str) -> bool:
    """Return whether a path, a folder or a glob stands for CSV files, which declare no types.

    Raises:
        DataSourceError: there is nothing, or what is there cannot be read.
    """
    return not is_remote(path) and not data_files(path)[0].casefold().endswith(_PARQUET)


def data_files(path: str) -> list[str]:
    """Return the data files that a path, a folder or a glob stands for, sorted."""
    if not path:
        raise DataSourceError("the path is empty: name a file or a folder ('.' is this one)")
    place = Path(os.path.expanduser(path))
    try:
        if place.is_dir():
            inside = (f for f in sorted(place.rglob("*")) if _is_data(str(f)))
            found = [str(f) for f in inside if not f.is_dir()]
            hint = "it holds no .csv or .parquet file"
        elif place.exists():
            found, hint = [str(place)], ""
        else:
            named = sorted(f for f in glob.glob(str(place), recursive=True) if not Path(f).is_dir())
            # The ledger stands beside the files by default: visits* means the tables.
            found = [f for f in named if not f.endswith(_LEDGER)]
            hint = _missing(place)
    except PermissionError:
        raise DataSourceError(f"{path}: {_NO_RIGHT}") from None
    except OSError:
        found, hint = [], "it cannot be looked through; name the files with a glob"
    if not found:
        raise DataSourceError(f"{path}: {hint}")
    for file in found:
        unfit = _unfit(file)
        if unfit:
            raise DataSourceError(f"{file} {unfit}")
    unknown = [f for f in found if not _is_data(f)]
    if unknown and unknown[0].casefold().endswith((".xlsx", ".xls", ".xlsm", ".ods")):
        raise DataSourceError(
            f"{unknown[0]} is a workbook: save it as CSV (UTF-8) or, in Python, pass "
            f"pandas.read_excel(...) in place of the path"
        )
    if unknown:
        raise DataSourceError(
            f"{unknown[0]} is not a CSV or Parquet file: name it .csv or .parquet"
        )
    if len({f.casefold().endswith(_PARQUET) for f in found}) > 1:
        raise DataSourceError(f"{path} mixes CSV and Parquet files; name one kind with a glob")
    return found


def _missing(place: Path) -> str:
    """Say why there is no file at a place."""
    if not place.parent.is_dir():
        return f"there is no folder {place.parent}"
    if not os.access(place.parent, os.R_OK | os.X_OK):
        return _NO_RIGHT
    return f"file not found; {did_you_mean(place.name, [f.name for f in place.parent.iterdir()])}"


def _unfit(file: str) -> str:
    """Say why a file cannot be read as a table; nothing where it can."""
    try:
        found = os.stat(file)
    except PermissionError:
        return _NO_RIGHT
    except OSError:
        return "leads to no file: repair the link, or bring the file back"
    if not stat.S_ISREG(found.st_mode):
        return (
            "is a pipe, a device or a socket, which can be read but once or never ends: write what "
            "comes out of it to a file, and name that"
        )
    if not os.access(file, os.R_OK):
        return _NO_RIGHT
    return "" if found.st_size else "is empty: a table needs at least the names of its columns"


def _is_data(path: str) -> bool:
    return path.casefold().endswith(_CSV + _PARQUET)
