"""Open a table for DuckDB: files, data frames, tables of a DuckDB database.

*CSV files* are read once, when they are opened, into the engine.  The first line holds the names,
and it alone decides the delimiter.  The kind of a column is decided over all its values, unless it
is declared with ``types``; a value that does not fit a declared kind is missing.  A line with too
many or too few fields makes the file broken: it is refused as a whole, since leaving lines out
would be silent.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import DataSourceError, UsageError, did_you_mean
from tacit.tables.engine import EngineMemoryError, Opened
from tacit.tables.engines.duck import DuckEngine
from tacit.tables.engines.remote import check_remote, is_remote, public_part, unreachable
from tacit.tables.schema import Column, Schema, kind_of

__all__ = ["open_in_duckdb"]

_TYPES = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}
_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".pq")


def open_in_duckdb(
    source: Any,
    table: str | None,
    types: Mapping[str, str] | None,
    memory_limit: str | None,
    threads: int | None,
) -> Opened:
    """Open a path, a table in memory, or a table of a DuckDB database, in DuckDB.

    Args:
        source: as :func:`tacit.tables.open_source` takes it.
        table: the table of a database.
        types: kinds of columns of a CSV file.
        memory_limit: the most memory of the engine.
        threads: how many threads it uses.

    Raises:
        DataSourceError: nothing there, not readable, empty, or broken.
        UsageError: no table named in a database, or one named where there is none.
    """
    connection = source if _is(source, "DuckDBPyConnection") else None
    database = isinstance(source, (str, os.PathLike)) and str(source).endswith((".duckdb", ".ddb"))
    if connection is not None and table is None:
        raise UsageError("name the table: open_source(connection, table='visits')")
    if connection is None and table is not None and not database:
        raise UsageError("table= belongs to a database; this source is a single table")
    if database:
        _check_database(str(source), table)
    engine = DuckEngine(memory_limit, threads, connection)
    try:
        if database:
            return _from_database(str(source), str(table), engine)
        if connection is not None:
            relation, label = _qualified(str(table), engine), str(table)
        elif isinstance(source, (str, os.PathLike)):
            relation, label = _from_path(os.fspath(source), types, engine)
        else:
            relation, label = _from_memory(source, engine), "table"
        if connection is None:  # the settings of somebody's own connection stay as they are
            engine.count(relation)
        return Opened(label, _describe(relation, engine), engine, relation)
    except BaseException:
        engine.close()
        raise


def _is(value: object, class_name: str) -> bool:
    return type(value).__name__ == class_name


def _describe(relation: str, engine: DuckEngine) -> Schema:
    found = engine.rows(f"describe select * from {relation}")
    names = [row[0] for row in found]
    folded = {n.casefold() for n in names}
    if len(folded) != len(names):
        raise DataSourceError("two columns differ only in capital letters; rename one of them")
    return Schema([Column(row[0], kind_of(row[1]), row[1]) for row in found])


def _qualified(table: str, engine: DuckEngine) -> str:
    known = [
        row[0] if row[1] == "main" else f"{row[1]}.{row[0]}"
        for row in engine.rows("select table_name, table_schema from information_schema.tables")
    ]
    if table not in known:
        raise DataSourceError(f"there is no table {table!r}; {did_you_mean(table, known)}")
    schema, _, bare = table.rpartition(".") if "." in table else ("main", "", table)
    return f"{engine.dialect.identifier(schema)}.{engine.dialect.identifier(bare)}"


def _check_database(path: str, table: str | None) -> None:
    if table is None:
        raise UsageError(f"{path} is a database: name the table, as in table='visits'")
    if not Path(path).is_file():
        raise DataSourceError(f"there is no file {path}")


def _from_database(path: str, table: str, engine: DuckEngine) -> Opened:
    engine.rows(f"attach {engine.dialect.literal(path)} as data (read_only)")
    engine.rows("use data")
    relation = _qualified(table, engine)
    schema = _describe(relation, engine)
    engine.rows("use memory")
    engine.count(f'"data".{relation}')
    return Opened(f"{Path(path).name}:{table}", schema, engine, f'"data".{relation}')


class _Stream:
    """A table that hands its Arrow stream on to another connection."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def _from_memory(table: Any, engine: DuckEngine) -> str:
    if _is(table, "LazyFrame"):
        table = table.collect()
    if _is(table, "DuckDBPyRelation"):
        return engine.materialise(f"select * from {engine.register(_Stream(table))}")
    if hasattr(table, "dtypes") and hasattr(table, "iloc"):
        return _from_pandas(table, engine)
    if hasattr(table, "__arrow_c_stream__"):
        if not hasattr(table, "schema") or not (
            hasattr(table, "num_rows") or _is(table, "DataFrame")
        ):
            return engine.materialise(f"select * from {engine.register(_Stream(table))}")
        return engine.register(table)
    raise DataSourceError(
        f"a {type(table).__name__} is not a table: give a path, a pandas, polars or Arrow table, "
        "or a DuckDB relation"
    )


def _from_pandas(table: Any, engine: DuckEngine) -> str:
    if not all(isinstance(c, str) for c in table.columns):
        raise DataSourceError("the columns of a pandas table must be named by text")
    # the kind of a column of Python objects is decided over all of them, not over a sample
    engine.rows(f"set pandas_analyze_sample = {max(len(table), 1000)}")
    relation = engine.register(table)
    if any(str(kind) == "object" for kind in table.dtypes):
        return engine.materialise(f"select * from {relation}")
    return relation


def _from_path(path: str, types: Mapping[str, str] | None, engine: DuckEngine) -> tuple[str, str]:
    if is_remote(path):
        check_remote(path, engine)
    files = [path] if is_remote(path) else _files(path)
    label = Path(public_part(path).rstrip("/")).name or Path(path).expanduser().resolve().name
    listed = "[" + ", ".join(engine.dialect.literal(f) for f in files) + "]"
    if public_part(files[0]).casefold().endswith(_PARQUET):
        if types:
            raise UsageError("types= is for CSV files; a Parquet file declares its own")
        relation = f"read_parquet({listed}, union_by_name = true)"
        _probe(path, f"select * from {relation} limit 0", engine)
        return relation, label
    delimiter = _delimiter(_remote_line(path, engine) if is_remote(path) else _first_line(files[0]))
    options = f"header = true, delim = {engine.dialect.literal(delimiter)}, sample_size = -1, " + (
        "quote = '\"', escape = '\"', union_by_name = true, auto_detect = true, strict_mode = true"
    )
    return _import_csv(path, listed, options, dict(types or {}), engine), label


def _import_csv(
    path: str, listed: str, options: str, types: dict[str, str], engine: DuckEngine
) -> str:
    d = engine.dialect
    for column, kind in types.items():
        if kind not in _TYPES:
            raise UsageError(f"{kind!r} of {column!r} is no kind; {did_you_mean(kind, _TYPES)}")
    raw = f"read_csv({listed}, {options}, all_varchar = true)"
    names = [row[0] for row in _probe(path, f"describe select * from {raw}", engine)]
    for column in types:
        if column not in names:
            raise UsageError(f"types= names {column!r}; {did_you_mean(column, names)}")
    as_text = ", ".join(f"{d.literal(c)}: 'VARCHAR'" for c in types)
    read = f"read_csv({listed}, {options}{', types = {' + as_text + '}' if types else ''})"
    try:
        table = engine.materialise(f"select * from {read}")
    except EngineMemoryError:
        raise
    except DataSourceError:
        table = ""
    if not table:
        raise _broken(path)
    return _mark_missing(_declare(table, names, types, engine), types, engine)


def _declare(table: str, names: Sequence[str], types: Mapping[str, str], engine: DuckEngine) -> str:
    """Give columns their declared kinds; a value that does not fit becomes missing.

    Not in the statement that reads the file: the reader would take the cast over, and raise.
    """
    if not types:
        return table
    d = engine.dialect
    quoted = {n: d.identifier(n) for n in names}
    picked = [
        f"try_cast({q} as {_TYPES[types[n]]}) as {q}" if n in types else q
        for n, q in quoted.items()
    ]
    declared = engine.materialise(f"select {', '.join(picked)} from {table}")
    engine.drop(table)
    return declared


def _mark_missing(table: str, types: Mapping[str, str], engine: DuckEngine) -> str:
    """Give undeclared text columns without one value the type of NULL, which fits every use."""
    d = engine.dialect
    found = [row[:2] for row in engine.rows(f"describe select * from {table}")]
    texts = [n for n, t in found if t == "VARCHAR" and n not in types]
    if not texts:
        return table
    counts = ", ".join(f"count({d.identifier(n)}) > 0" for n in texts)
    filled = dict(zip(texts, engine.rows(f"select {counts} from {table}")[0], strict=True))
    if all(filled.values()):
        return table
    kept = ", ".join(
        d.identifier(n) if filled.get(n, True) else f"null as {d.identifier(n)}" for n, _ in found
    )
    return f"(select {kept} from {table})"


def _probe(path: str, sql: str, engine: DuckEngine) -> list[tuple[Any, ...]]:
    try:
        return engine.rows(sql)
    except EngineMemoryError:
        raise
    except DataSourceError:
        pass
    raise _broken(path)


def _broken(path: str) -> DataSourceError:
    if is_remote(path):
        return unreachable(path)
    return DataSourceError(
        f"{path} cannot be read: it is damaged, or if it is text, not UTF-8 or with a line of "
        "more or fewer fields than the first names (details are withheld: they may quote the data)"
    )


def _files(path: str) -> list[str]:
    """Return the data files that a path, a folder or a glob stands for, sorted."""
    if not path:
        raise DataSourceError("the path is empty: name a file or a folder ('.' is this one)")
    place = Path(path).expanduser()
    try:
        if place.is_dir():
            found = [str(f) for f in sorted(place.rglob("*")) if _is_data(str(f))]
            hint = "it holds no .csv or .parquet file"
        elif place.exists():
            found, hint = [str(place)], ""
        else:
            found = sorted(f for f in glob.glob(str(place), recursive=True) if Path(f).is_file())
            siblings = [f.name for f in place.parent.iterdir()] if place.parent.is_dir() else []
            hint = f"there is nothing; {did_you_mean(place.name, siblings)}"
        readable = all(os.access(f, os.R_OK) for f in (found or [str(place.parent)]))
    except PermissionError:
        readable, found, hint = False, [], ""
    except OSError:
        readable, found, hint = True, [], "it cannot be looked through; name the files with a glob"
    if not readable:
        raise DataSourceError(f"{path}: no right to read it; ask for read access")
    if not found:
        raise DataSourceError(f"{path}: {hint}")
    unknown = [f for f in found if not _is_data(f)]
    if unknown:
        raise DataSourceError(f"{unknown[0]} is no CSV or Parquet file: name it .csv or .parquet")
    if len({f.casefold().endswith(_PARQUET) for f in found}) > 1:
        raise DataSourceError(f"{path} mixes CSV and Parquet files; name one kind with a glob")
    empty = [f for f in found if os.path.getsize(f) == 0]
    if empty:
        raise DataSourceError(
            f"{empty[0]} is empty: a table needs at least the names of its columns"
        )
    return found


def _is_data(path: str) -> bool:
    return path.casefold().endswith(_CSV + _PARQUET)


def _first_line(file: str) -> str:
    import gzip

    opened = gzip.open if file.casefold().endswith(".gz") else open
    try:
        with opened(file, "rt", encoding="utf-8-sig", errors="replace") as lines:
            return str(lines.readline(1 << 20))
    except (OSError, EOFError):
        return ""


def _remote_line(address: str, engine: DuckEngine) -> str:
    """Read the first line of a remote file, as one column with a delimiter that text has not."""
    whole = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, quote = '', "
    rest = "escape = '', delim = '\x1f', strict_mode = false"
    read = f"read_csv({engine.dialect.literal(address)}, {whole}{rest})"
    found = _probe(address, f"select line from {read} limit 1", engine)
    return str(found[0][0]) if found else ""


def _delimiter(first: str) -> str:
    """Decide the delimiter from the names in the first line, which are public."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", first)
    return max(",\t;|", key=bare.count)
