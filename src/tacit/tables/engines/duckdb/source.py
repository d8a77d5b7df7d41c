"""Tables that DuckDB opens: files, data frames, and tables of its databases."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import itertools
import lzma
import os
import re
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote
from weakref import proxy

from tacit.calls import calls_inside
from tacit.errors import DataSourceError, DataSourceWarning, UsageError, did_you_mean, need
from tacit.expressions.dialect import Dialect, is_date, is_unicode, read_cell
from tacit.expressions.schema import Schema
from tacit.tables.engines.base import (
    EngineMemoryError,
    Opened,
    closed_on_failure,
)
from tacit.tables.engines.csv import (
    BLOCK,
    LINE_LIMIT,
    CsvFormat,
    CsvOptions,
    Notice,
    Utf8Stream,
    body_of,
    cleaned,
    csv_format,
    declared_sql,
    file_lines,
    refuse_csv,
    split,
)
from tacit.tables.engines.duckdb.engine import (
    ClosedConnectionError,
    DuckEngine,
    described,
    open_connection,
    schema_of,
    shielded,
    types_of,
)
from tacit.tables.engines.duckdb.frames import (
    carried,
    open_arrow,
    open_arrow_stream,
    open_columns,
    open_pandas,
    open_polars,
    streamed,
)
from tacit.tables.engines.duckdb.hudi import hudi_table
from tacit.tables.engines.duckdb.lake import delta_table, iceberg_table, open_lake
from tacit.tables.engines.duckdb.parquet import (
    OpaqueSqlError,
    check_remote,
    is_remote,
    open_parquet,
    public_part,
)
from tacit.tables.engines.duckdb.schema_files import open_schema_files
from tacit.tables.engines.duckdb.sqlite import open_sqlite
from tacit.tables.engines.duckdb.survey import open_survey
from tacit.tables.engines.duckdb.text_rows import filled, open_json_lines, text_columns
from tacit.tables.engines.duckdb.view_files import (
    RelationEngine,
    UntypedRowsError,
    ViewFiles,
    embeds_rows,
    may_read_parquet,
)
from tacit.tables.engines.duckdb.workbook import open_workbooks
from tacit.tables.engines.files import (
    SCHEMAS,
    SURVEYS,
    ConfinedPath,
    MetadataPath,
    PathList,
    TableFormatError,
    check_nothing,
    data_files,
    database_file,
    folder_columns,
    lake_of,
    misnamed,
    pack_of,
    refuse_table_format,
    typed,
)
from tacit.tables.engines.files import kind_of as kind_of_file
from tacit.tables.engines.fixed_width import FixedColumn, by_bytes, field_sql, scaled_sql

# Open CSV files for DuckDB, which is given their rows in a form that it can read in one way only.
#
# Opening reads the first line of each file, for the names, and nothing else.  The rows are read
# once, at the first query: :mod:`tacit.tables.engines.csv` writes them again into a pipe in
# the engine's private folder, from which DuckDB fills a table of its own, with every option of its
# reader set. Nothing of them is written to the disk on the way.


_FIRST = 1 << 16
_LITTLE = 1 << 25  # bytes of files that one thread reads
_serial = itertools.count()


class CsvFile(NamedTuple):
    """A file with its format and the names of its columns, and those that its folders name."""

    path: str
    form: CsvFormat
    names: tuple[str, ...]
    parts: tuple[tuple[str, str | None], ...] = ()


def open_csv(
    files: Sequence[str],
    form: CsvFormat,
    engine: DuckEngine,
    notice: Callable[[CsvFile], Notice] | None = None,
    *,
    folder: str,
) -> tuple[str, Schema]:
    """Return the relation that the files will be, and its columns; no row is read."""
    # folder: the path that was named; folders such as year=2024 in it are columns.
    # With a ``notice``, which gets the faults of the lines, all columns stay text.
    opened = _with_parts(csv_files(files, form), folder)
    names = list(
        dict.fromkeys(
            n for file in opened for n in [*file.names, *(part for part, _ in file.parts)]
        )
    )
    # What is read as names may be records, if the files have no line of names.
    schema = text_columns(names, form, engine)
    if notice is not None:
        form = replace(form, types={})
        schema = text_columns(names, form, engine)
    table = engine.empty_table({c.name: c.declared for c in schema.values()})
    engine.before_reading(partial(import_csv, opened, form, table, proxy(engine), notice))
    return table, schema


def csv_files(files: Sequence[str], form: CsvFormat) -> list[CsvFile]:
    """Return the files with the names of their columns, and warn of names that look like data."""
    opened = []
    for path in files:
        own = form.for_file(path)
        if form.delimiter is None and _unsaid(path):
            raise UsageError(
                f"{Path(path).name} says by its name that it is data, and not what separates its "
                "fields: declare that, as in delimiter=';'"
            )
        names = own.names or _first_names(path, own)
        opened.append(CsvFile(path, own, names))
    if form.names is None:
        for file in {f.names: f for f in opened}.values():
            _warn_of_names(file)
    return opened


def _with_parts(files: list[CsvFile], folder: str) -> list[CsvFile]:
    """Return the files with the columns that their folders name, and no file does."""
    own = {name.casefold() for file in files for name in file.names}
    named = dict.fromkeys(folder_columns(folder, [file.path for file in files]))
    parts = [name for name in named if name and name.casefold() not in own]
    return [
        CsvFile(*file[:3], tuple((name, _part_value(file.path, name)) for name in parts))
        for file in files
    ]


def _part_value(path: str, name: str) -> str | None:
    """Return the value of a column in the names of the folders of a file."""
    value = next(p[len(name) + 1 :] for p in Path(path).parts[::-1] if p.startswith(f"{name}="))
    text = unquote(value, errors="surrogateescape")
    return text if is_unicode(text) and text != "__HIVE_DEFAULT_PARTITION__" else None


def _unsaid(path: str) -> bool:
    """Return whether the name of a file leaves open what separates its fields."""
    return path.casefold().removesuffix(pack_of(path)).endswith(".dat")


def _first_names(path: str, form: CsvFormat) -> tuple[str, ...]:
    """Return the names in the first line; one without a name gets its position."""
    line, short = _first_line(path, form), Path(path).name
    if line is None:
        raise DataSourceError(
            f"{short} {misnamed(path) or 'cannot be unpacked: it is damaged, or cut short'}"
        )
    fields = split(line, form)
    excel = re.fullmatch(rb"\"?sep=(.)\"?", line)
    if excel:
        sign = excel[1].decode("latin-1")
        raise DataSourceError(
            f"the first line of {short} is for Excel, and says what separates the fields: say so, "
            f"as in delimiter={sign!r}, skip={form.skip + 1}"
        )
    if not line or isinstance(fields, str):
        wrong = misnamed(path)
        raise DataSourceError(f"{short} {wrong}" if wrong else _nameless(short, line, form))
    names = _named(fields)
    if len({name.casefold() for name in names}) < len(names):
        raise DataSourceError(
            f"two columns in the first line of {short} have one name, capitals or not: rename one "
            "of them; or if that line is a record and not the names, give these: "
            "header=['id', 'age', ...]"
        )
    return names


def _nameless(short: str, line: bytes, form: CsvFormat) -> str:
    """Return why a first line has no names: it is public, or this must not be reported."""
    where = f"the first line of {short} holds no names:"
    if not line:
        return f"{where} it is empty"
    if len(line) > LINE_LIMIT:
        return f"{where} it is longer than 1 MiB"
    if b"\0" in line:
        return (
            f"{where} it holds a NUL, as text in UTF-16 does: if it is that, say so, as in "
            "encoding='utf-16'"
        )
    try:
        line.decode(form.text_encoding)
    except UnicodeDecodeError:
        return (
            f"{where} it is not text in the encoding {form.encoding}: say which it is, as in "
            "encoding='latin-1'"
        )
    for sign in ",;\t|":
        fields = split(line, replace(form, delimiter=sign))
        if len(fields) > 1 and not isinstance(fields, str):
            return (
                f"{where} its fields are separated by another character than "
                f"{form.delimiter!r}: say so, as in delimiter={sign!r}"
            )
    return (
        f"{where} it has a quote that is not closed, or text behind a closed one: say how it is "
        "quoted, as in quote=\"'\" or, for none, quote=''"
    )


def _named(fields: Sequence[str]) -> tuple[str, ...]:
    return tuple(name or f"column{index}" for index, name in enumerate(fields, 1))


def _first_line(path: str, form: CsvFormat) -> bytes | None:
    """Return the first line; None where the file cannot be unpacked, whose error may quote it."""
    with _opened(path) as file:
        try:
            return body_of(_lines(file, form, _FIRST), form)[1]
        except _DAMAGED:
            return None


def _lines(file: BinaryIO, form: CsvFormat, block: int = BLOCK) -> Iterator[bytes]:
    """Return the lines of a file in blocks, those of UTF-16 in UTF-8."""
    text: Any = file if form.text_encoding == form.encoding else Utf8Stream(file, form.encoding)
    return file_lines(text, form.text_encoding, block)


def _warn_of_names(file: CsvFile) -> None:
    """Warn of names that look like a record: they are public, and would publish it."""
    # Row names of R and the index of pandas have no name: an empty first field alone is no record.
    odd = [
        index
        for index, name in enumerate(file.names, 1)
        if name == f"column{index}" or read_cell("read_number", name) is not None or is_date(name)
    ]
    if odd == [1] and file.names[0] == "column1" and len(file.names) > 1:
        odd = []
    short = Path(file.path).name
    if odd:
        warnings.warn(
            f"the first line of {short} may be a record: {len(odd)} of its {len(file.names)} "
            "fields are numbers, dates or empty. It is taken for the names of the columns, which "
            "are public. If it is a record, give the names: header=['id', 'age', ...]",
            DataSourceWarning,
            stacklevel=calls_inside(),
        )
        return
    # A sign that occurs in the names more often than there are gaps between them.
    gaps = len(file.names) - 1
    often = [sign for sign in ";\t|," if sum(n.count(sign) for n in file.names) > gaps]
    if often:
        suspect = next(name for name in file.names if often[0] in name)
        warnings.warn(
            f"{short} has a {'single ' if not gaps else ''}column with the name {suspect!r}: if "
            f"its fields are separated by another character, say so, as in delimiter={often[0]!r}",
            DataSourceWarning,
            stacklevel=calls_inside(),
        )


# ---- the rows


def import_csv(
    files: Sequence[CsvFile],
    form: CsvFormat,
    table: str,
    engine: DuckEngine,
    notice: Callable[[CsvFile], Notice] | None = None,
) -> None:
    """Fill the table with the rows of all files, or with none."""
    # Each thread has a copy of what it writes: of little, that is more than the time is worth.
    little = False
    with contextlib.suppress(OSError):  # one that is gone is named where it is read
        little = sum(os.path.getsize(file.path) for file in files) <= _LITTLE
    with engine.in_one_thread() if little else contextlib.nullcontext(), engine.all_or_nothing():
        for (_, names, _), group in itertools.groupby(files, lambda f: (f.form, f.names, f.parts)):
            _import_alike(list(group), names, form, table, engine, notice)


def _import_alike(
    files: list[CsvFile],
    names: tuple[str, ...],
    form: CsvFormat,
    table: str,
    engine: DuckEngine,
    notice: Callable[[CsvFile], Notice] | None,
) -> None:
    d, own = engine.dialect, files[0].form
    failed: list[str] = []
    cells = [f"c{cell}" for cell in range(own.fields or len(names))]
    listed = ", ".join(f"{d.literal(cell)}: 'VARCHAR'" for cell in cells)
    fixed = (
        f"auto_detect = false, header = true, columns = {{{listed}}}, compression = 'none', "
        f"delim = {d.literal(own.delimiter)}, quote = {d.literal(own.quote)}, escape = "
        f"{d.literal(own.quote)}, nullstr = [''], allow_quoted_nulls = true, new_line = '\\n', "
        f"max_line_size = {1 << 22}, buffer_size = {1 << 23}, strict_mode = true"
        + (", parallel = false" if own.multiline > 1 else "")
    )
    if form.layout:
        values = [_fixed(column, form, d) for column in form.layout]
    else:
        values = [
            declared_sql(filled(cell, form, d), form.types.get(name), form, d)
            for cell, name in zip(cells, names, strict=True)
        ]
    values += [
        declared_sql(filled(d.literal(value), form, d), form.types.get(name), form, d)
        if value
        else "null"
        for name, value in files[0].parts
    ]
    picked = ", ".join(values)
    targets = ", ".join(map(d.identifier, [*names, *(name for name, _ in files[0].parts)]))
    assert engine.folder is not None  # files have an engine of their own
    with _piped(_rows(files, cells, notice, failed), engine.folder) as pipe:
        read = f"read_csv({d.literal(pipe)}, {fixed})"
        engine.rows(f"insert into {table} ({targets}) select {picked} from {read}")
    if failed:
        raise DataSourceError(
            f"{Path(failed[0]).name} could not be read to its end: it was moved, is damaged, has "
            "other names of columns than when it was opened, or its disk fails; what was "
            "charged is not lost: the same question, asked again, is completed at no further "
            "cost"
        )


def _fixed(column: FixedColumn, form: CsvFormat, d: Dialect) -> str:
    """Return the value of a field of fixed width, of the only cell of its line."""
    text = filled(field_sql("c0", column, form.positions, d), form, d)
    kind = form.types.get(column.name)
    if kind is None and column.decimals:  # of a table that is checked, where all stays text
        number = scaled_sql(declared_sql(text, "float", form, d), text, column, form.decimal, d)
        return f"coalesce(cast({number} as varchar), {text})"
    value = declared_sql(text, kind, form, d)
    return scaled_sql(value, text, column, form.decimal, d) if kind == "float" else value


def _rows(
    files: Sequence[CsvFile],
    cells: Sequence[str],
    notice: Callable[[CsvFile], Notice] | None,
    failed: list[str],
) -> Iterator[bytes]:
    """Yield a line of names, and then all rows rewritten; a file that fails is noted."""
    yield ((files[0].form.delimiter or ",").join(cells) + "\n").encode()
    for file in files:
        try:
            with _opened(file.path) as lines:
                passed, line, blocks = body_of(_lines(lines, file.form), file.form)
                if file.form.names is None:
                    fields = split(line, file.form)
                    if isinstance(fields, str) or _named(fields) != file.names:
                        raise DataSourceError("the file has other names than when it was opened")
                note = None if notice is None else _from_line(notice(file), passed)
                if file.form.positions == "bytes" and file.form.text_encoding == "utf-8":
                    blocks = map(by_bytes, blocks)
                width = file.form.fields or len(file.names)
                yield from cleaned(blocks, file.form, width, note)
        except _UNREADABLE:
            failed.append(file.path)


def _from_line(notice: Notice, passed: int) -> Notice:
    return lambda line, wrong: notice(passed + line, wrong)


@contextlib.contextmanager
def _piped(blocks: Iterable[bytes], folder: Path) -> Iterator[str]:
    """Write blocks into a pipe while the engine reads it."""
    path = str(folder / f"rows{next(_serial)}")
    os.mkfifo(path, 0o600)

    def write() -> None:
        # a reader that has gone has its own error to report
        with contextlib.suppress(BrokenPipeError), open(path, "wb", buffering=1 << 20) as pipe:
            for block in blocks:
                pipe.write(block)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield path
    finally:
        while writer.is_alive():  # it waits for a reader that never came, or that has gone
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            writer.join(0.01)
        os.unlink(path)


def _opened(path: str) -> BinaryIO:
    """Open a file for reading, unpacked where its name says that it is packed."""
    try:
        if not os.path.isfile(path):  # a pipe in its position would block
            raise FileNotFoundError
        return _unpacked(path)  # type: ignore[no-any-return]
    except OSError:
        pass
    raise DataSourceError(f"{path} cannot be read: it was moved, or may not be read any more")


def _unpacked(path: str) -> Any:
    """Return the reader of a file that may be packed, as its name says."""
    pack = pack_of(path)
    if pack == ".zst":
        if sys.version_info >= (3, 14):
            from compression import zstd

            return zstd.open(path, "rb")
        return need("pyarrow", "arrow").input_stream(path, compression="zstd")
    readers: dict[str, Any] = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return readers[pack](path, "rb")


# What the readers of packed files raise where one is damaged or cut short.
_DAMAGED: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError

    _DAMAGED = (*_DAMAGED, ZstdError)
_UNREADABLE: tuple[type[Exception], ...] = (*_DAMAGED, DataSourceError)


# Open a table for DuckDB: files, data frames, tables of a DuckDB database.
#
# Opening reads the public part of a table, and no row: the first lines of CSV files
# (:mod:`tacit.tables.engines.duckdb.source`), the footers of Parquet files, the names and types
# of a data frame.  Rows that must be imported are so by the first query.


# In a plan: what DuckDB before 2.0 reads Arrow with, and what may have filters handed on to it.
_ARROW = re.compile(r"(?<!PYTHON_)ARROW_SCAN\b")
_HANDED_ON = re.compile(r"Filters:|JOIN|TOP_N")
_OWN_COLUMNS = "a table of a database declares its own columns"


def open_in_duckdb(
    source: Any,
    table: str | None,
    csv: CsvOptions,
    memory_limit: str | None,
    threads: int | None,
) -> Opened:
    """Open a path, a table in memory, or a table of a DuckDB database, in DuckDB."""
    csv_format(**csv)  # raises now for what does not fit
    if not isinstance(source, (str, os.PathLike)):
        refuse_csv(csv, "this table declares its own columns")
    connection = source if _is(source, "DuckDBPyConnection") else None
    path = isinstance(source, (str, os.PathLike))
    lake = lake_of(source) if path else ""
    database = path and not lake and database_file(source)
    if connection is not None and table is None:
        raise UsageError("name the table: open_source(connection, table='visits')")
    if connection is None and table is not None and not database:
        if path and not lake and not is_remote(os.fspath(source)):
            data_files(source)  # a database of another program is named as such
        raise UsageError("table= belongs to a database; this source is a single table")
    database_path = ""
    if database:
        refuse_csv(csv, _OWN_COLUMNS)
        database_path = _check_database(source, table)
    engine = DuckEngine(memory_limit, threads, connection, alone=path)
    with closed_on_failure(engine):
        if database:
            opened = _from_database(source, database_path, str(table), engine)
            engine.count(opened.relation)
            return opened
        if connection is not None:  # a user's settings stay as they are
            relation, schema = _source_named(str(table), engine)
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


def _source_named(
    table: str, engine: DuckEngine, database: str = "", confined: str | None = None
) -> tuple[str, Schema]:
    """Return the relation of a table or view of the database in use, and its columns."""
    engine.read_in_place()
    # DuckDB makes the statistics of its own tables, and they cover all values.  A view may read
    # files, and so may a table of another kind of database.
    known = [
        row[0] if row[1] == "main" else f"{row[1]}.{row[0]}"
        for row in engine.rows("select table_name, table_schema from information_schema.tables")
    ]
    if table not in known:
        why = f"there is no table {table!r}; {did_you_mean(table, known)}"
        if engine.folder is None:  # a connection that was given
            why += ". What only this connection knows (a temporary table or view, a frame of "
            why += f"register()) is given as connection.table({table!r})"
        raise DataSourceError(why)
    schema, _, bare = table.rpartition(".") if "." in table else ("main", "", table)
    names = list(map(engine.dialect.identifier, filter(None, (database, schema, bare))))
    relation = ".".join(names)
    own = _is_own(schema, bare, engine)
    if confined is not None and not own:
        return _of_confined_view(confined, table, ".".join(names[-2:]), engine)
    columns = described(relation, engine)
    if not own:
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
    flags = [own for (own,) in engine.rows(stores)]
    return bool(flags) and all(flags)


def _of_files(relation: str, schema: str, view: str, engine: DuckEngine) -> str:
    """Return a view with the Parquet files in it read as files are; another as it is."""
    database = engine.rows("select current_database()")[0][0]
    rewriter = ViewFiles(engine)
    name, why = _file_by_file(
        lambda: rewriter.of_view(str(database), schema, view),
        lambda: types_of(relation, engine),
        engine,
    )
    if why and may_read_parquet(rewriter.texts, lambda: _plan(relation, engine)):
        raise _opaque(repr(view), why, " in the view")
    return name or relation


def _file_by_file(
    rewritten: Callable[[], str | None], types: Callable[[], dict[str, str]], engine: DuckEngine
) -> tuple[str | None, str]:
    """Return a view of SQL that names each Parquet file, or why there is none."""
    # Neither where the SQL reads no Parquet file.
    try:
        sql = rewritten()
        if sql is None:
            return None, ""
        expected, name = types(), engine.view(sql)
        if types_of(name, engine) == expected:
            return name, ""
        return None, "has other columns when its files are named one by one"
    except OpaqueSqlError as error:
        return None, str(error)
    except (ClosedConnectionError, EngineMemoryError, TableFormatError, UntypedRowsError):
        raise
    except DataSourceError:
        return None, "DuckDB refuses the SQL that reads them so"


def _plan(relation: str, engine: DuckEngine) -> str:
    return "".join(str(row[-1]) for row in engine.rows(f"explain select * from {relation}"))


def _opaque(what: str, why: str, where: str) -> DataSourceError:
    return DataSourceError(
        f"{what} reads Parquet files, of which one cell could fail every question, and it cannot "
        f"be read in another way ({why}): open the files themselves, name them in "
        f"read_parquet('...'){where}, or make a table of it"
    )


def _check_database(path: str | os.PathLike[str], table: str | None) -> str:
    """Return the location of a database; raise if it is missing."""
    shown, location = os.fspath(path), typed(path)
    if isinstance(path, ConfinedPath):
        path.check(location)
    if not os.path.isfile(location):
        raise DataSourceError(f"there is no file {shown}")
    if table is None:
        raise UsageError(f"{shown} is a database: name the table, as in table='visits'")
    if not os.access(location, os.R_OK):
        raise DataSourceError(f"{shown}: no right to read it; ask for read access")
    return os.path.realpath(location)


def open_another_in_duckdb(
    path: str | os.PathLike[str], table: str | None, csv: CsvOptions, engine: DuckEngine
) -> Opened:
    """Open another file, or a table of a database, in an engine that has one open."""
    with engine.opening():
        if not database_file(path):
            return _from_path(path, csv, engine)
        refuse_csv(csv, _OWN_COLUMNS)
        return _from_database(path, _check_database(path, table), str(table), engine)


def _from_database(
    path: str | os.PathLike[str], location: str, table: str, engine: DuckEngine
) -> Opened:
    label = f"{Path(os.fspath(path)).name}:{table}"
    if kind_of_file(location) == "sqlite":
        if isinstance(path, ConfinedPath):  # a file may become a link meanwhile
            engine.before_reading(partial(_check_all, path, [location]))
        relation, schema = open_sqlite(location, table, engine)
        return Opened(label, schema, engine, relation)
    data = engine.attached(location)
    engine.rows(f"use {engine.dialect.identifier(data)}")
    confined = location if isinstance(path, ConfinedPath) else None
    relation, schema = _source_named(table, engine, data, confined)
    engine.rows("use memory")
    return Opened(label, schema, engine, relation)


def _of_confined_view(
    database_path: str, table: str, relation: str, engine: DuckEngine
) -> tuple[str, Schema]:
    """Return a view's rows and columns, as an engine without any file but the database has them."""
    # DuckDB opens the files of a view whenever it plans a query, and which ones may depend on its
    # settings: so the engine that finds none is the one that reads the rows.
    apart = DuckEngine()
    with closed_on_failure(apart):
        data = apart.attached(database_path)
        apart.rows(f"set memory_limit = '{engine.memory // 1000}KB'")
        apart.rows(f"use {apart.dialect.identifier(data)}")
        apart.confine()
        try:
            types = types_of(relation, apart)
        except EngineMemoryError:
            raise
        except DataSourceError:
            refused = True
        else:
            refused = False
        if refused:
            raise DataSourceError(
                f"{table!r} reads files outside of its database, which no table of this service "
                "may: make a table of it, as in create table t as from the_view"
            )
        schema = schema_of(types)
        sql = f"select {carried(types)} from {relation}"
        return streamed(lambda: apart.stream(sql), _carried_types(types), engine), schema


def _from_frame(table: Any, engine: DuckEngine) -> tuple[str, Schema] | None:
    """Open a frame, a table of pyarrow or a relation of DuckDB; None for another table."""
    if _is(table, "DuckDBPyRelation"):
        return _open_relation(table, engine)
    if _is(table, "Series"):
        raise DataSourceError(
            "a Series is one column, not a table: give the data frame that it belongs to, or "
            "series.to_frame()"
        )
    if type(table).__module__.startswith("polars.") and hasattr(table, "lazy"):
        return open_polars(table, engine)
    if hasattr(table, "dtypes") and hasattr(table, "iloc"):
        return open_pandas(table, engine)
    if isinstance(table, dict):
        return open_columns(table, engine)
    if type(table).__module__.split(".")[0] == "pyarrow":
        if hasattr(table, "__arrow_c_stream__"):
            return open_arrow(table, engine)
        if hasattr(table, "get_fragments"):
            return _open_dataset(table, engine)
    return None


def _open_dataset(dataset: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Open a dataset of pyarrow: its schema now, its rows at the first query."""
    _check_dataset(dataset)

    def rows() -> Any:
        _check_dataset(dataset)  # files may have been written again
        # no filter, so that no statistics decide which rows are read
        return dataset.scanner(
            batch_size=1 << 14, batch_readahead=1, fragment_readahead=1, use_threads=False
        ).to_reader()

    return open_arrow_stream(dataset.schema, rows, engine)


def _check_dataset(dataset: Any) -> None:
    """Raise if a dataset may leave rows out, or if one row may decide how others are read."""
    if getattr(dataset, "_scan_options", None):
        raise DataSourceError(
            "the dataset selects rows, and pyarrow does so by the statistics of files: give it "
            "without its filter, and select rows in the question (where=)"
        )
    for child in getattr(dataset, "children", ()):
        _check_dataset(child)
    if not hasattr(dataset, "files"):
        return
    kind = dataset.format.default_extname
    if kind not in ("parquet", "arrow", "ipc", "feather"):
        raise DataSourceError(
            f"the dataset is of {kind} files, whose types or times pyarrow takes from rows: open "
            "the files themselves, as in tc.Session('visits/*.csv', ...)"
        )
    if dataset.filesystem.type_name != "local":
        raise DataSourceError(
            "the dataset is not of local files, and may be of a table whose log says which of them "
            "count: read it into a table of pyarrow, or open its files"
        )
    refuse_table_format(dataset.files)
    for file in dataset.files:
        _check_types(file, dataset)


def _check_types(file: str, dataset: Any) -> None:
    """Raise if a file of a dataset has a column in another type: a cast fails by one value."""
    import pyarrow as pa

    try:
        own = dataset.format.inspect(file, dataset.filesystem)  # anew: a fragment keeps its schema
    except (OSError, pa.ArrowException):
        own = None
    if own is None:
        raise DataSourceError(
            f"{Path(file).name} of the dataset cannot be read: it was moved, or is damaged"
        )
    for field in own:
        number = dataset.schema.get_field_index(field.name)
        if number < 0 or pa.types.is_null(field.type):
            continue
        expected = dataset.schema.field(number).type
        if field.type != expected:
            raise DataSourceError(
                f"column {field.name!r} of the dataset is {expected}, and {field.type} in "
                f"{Path(file).name}: write its files with one type, or open the files themselves, "
                "as in tc.Session('visits/*.parquet', ...)"
            )


def _open_relation(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Open a relation of DuckDB: its columns now, its rows at the first query."""
    with open_connection():
        types = dict(zip(table.columns, map(str, table.types), strict=True))
    schema, carried_types = schema_of(types), _carried_types(types)
    own = RelationEngine(table)
    try:
        name = _relation_of_files(table, types, own)
    finally:
        own.leave()
    if name is None:
        part = table.project(carried(types))
        return streamed(lambda: part, carried_types, engine), schema
    sql = f"select {carried(types)} from {name}"
    return streamed(lambda: own.stream(sql), carried_types, engine, own), schema


def _carried_types(types: dict[str, str]) -> dict[str, str]:
    """Return the types in which the columns of a relation are imported."""
    return {n: "BOOLEAN" if c.kind == "other" else types[n] for n, c in schema_of(types).items()}


def _relation_of_files(table: Any, types: dict[str, str], engine: RelationEngine) -> str | None:
    """Return a relation with the Parquet files in it read as files are; None where it has none."""
    if table.type == "MATERIALIZED_RELATION":  # its rows were read before
        return None
    sql = str(table.sql_query())
    texts = [sql]

    def rewritten() -> str | None:
        nonlocal texts
        rewriter = ViewFiles(engine)
        texts = rewriter.texts
        query = rewriter.of_query(sql)
        named = ", ".join(map(engine.dialect.identifier, types))
        return query and f"select * from ({query}) as tacit_view({named})"

    if embeds_rows(sql):  # names of files in the text may come from the rows
        texts = []
        name, why = None, "it was made of rows that were read before"
    else:
        name, why = _file_by_file(rewritten, lambda: types, engine)
    if why and may_read_parquet(texts, table.explain):
        raise _opaque("the relation", why, "")
    # last, since DuckDB cannot explain files with some statistics, which ends a transaction
    _refuse_by_plan(lambda: _plan(name, engine) if name else str(table.explain()))
    return name


def _refuse_by_plan(explain: Callable[[], str]) -> None:
    """Raise if a relation reads pandas, or if DuckDB before 2.0 hands its filter on to Arrow."""
    # DuckDB takes the type of a column of objects from some rows.  pyarrow prunes the files of a
    # dataset by their statistics, which leave NaN out: other rows decide whether a row with NaN
    # passes.  DuckDB 2.0 compares floating-point numbers itself.  A plan shows neither the types of
    # a frame nor whether a dataset is read or a table in memory.
    try:
        shown = explain()
    except Exception:  # it is read like any other, or refused by its text
        return
    if "PANDAS_SCAN" in shown:
        raise DataSourceError(
            "the relation reads a data frame of pandas, of which DuckDB takes the types from some "
            "of the rows, so that one cell may end every question: give the data frame itself, and "
            "select rows in the question (where=), or make a table of it"
        )
    if _ARROW.search(shown) and _HANDED_ON.search(shown):
        raise DataSourceError(
            "the relation selects rows of an Arrow object, and DuckDB before 2.0 has Arrow do so, "
            "by the statistics of files where it reads files: use a newer DuckDB (pip install -U "
            "duckdb), select rows in the question (where=), or give the Arrow object itself"
        )


def _length(table: Any) -> int | None:
    """Return the rows of a table of pandas, polars or pyarrow; None if they must be counted."""
    in_memory = type(table).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")
    return len(table) if in_memory and hasattr(table, "__len__") else None


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
        engine.is_changed()  # it loads what reads from there
        return _from_address(path, csv, engine)
    if lake := lake_of(source):
        return _from_lake(lake, source, csv, engine)
    files, location = data_files(source), typed(source)
    kind = kind_of_file(files[0])
    is_csv = kind == "csv"
    if isinstance(source, ConfinedPath):  # a file may become a link meanwhile
        once = kind != "parquet"  # Parquet files are read by every query
        before = engine.before_reading if once else engine.before_each
        before(partial(_check_all, source, files))
    label = Path(path.rstrip("/")).name or Path(location).resolve().name
    folder = source.folder if isinstance(source, PathList) else location
    if is_csv:
        others: Any = {name: value for name, value in csv.items() if name in _OF_OTHERS}
        refuse_csv(others, "this is a CSV file")
        relation, schema = open_csv(files, csv_format(**csv), engine, folder=folder)
    elif kind in SURVEYS:
        given: Any = {name: value for name, value in csv.items() if name != "encoding"}
        refuse_csv(given, f"the dictionary in {label} declares its columns")
        encoding = csv.get("encoding") and csv_format(**csv).encoding
        table = open_survey(files, kind, engine, encoding)
        return Opened(label, table.schema, engine, table.relation, table.missing, table.labels)
    elif kind in SCHEMAS:
        refuse_csv(csv, f"the schema in {label} declares its columns")
        relation, schema = open_schema_files(files, kind, engine)
    elif kind == "json lines":
        refuse_csv(csv, f"{label} has none of that", but=_OF_CELLS)
        relation, schema = open_json_lines(files, csv_format(**csv), engine)
    elif kind == "excel":
        refuse_csv(csv, f"{label} is a workbook", but=(*_OF_CELLS, "skip", "sheet"))
        relation, schema = open_workbooks(files, csv_format(**csv), engine)
    else:
        refuse_csv(csv, "a Parquet file declares its own columns")
        relation, schema = open_parquet(folder, files, engine)
    return Opened(label, schema, engine, relation)


_OF_CELLS = ("types", "header", "null", "date_format", "time_format", "decimal", "thousands")
# Of each format with a log the option that names a version, and what reads the log.
_LAKES: dict[str, tuple[str, Any]] = {
    "Delta": ("version", delta_table),
    "Iceberg": ("snapshot", iceberg_table),
    "Hudi": ("instant", hudi_table),
}
_OF_OTHERS = (*(own for own, _ in _LAKES.values()), "sheet")  # options that no CSV file has


def _from_lake(
    kind: str, source: str | os.PathLike[str], csv: CsvOptions, engine: DuckEngine
) -> Opened:
    """Open a table of Delta, Iceberg or Hudi, by its log."""
    location, form = typed(source), csv_format(**csv)
    if isinstance(source, MetadataPath):
        location = source.metadata
    own, read = _LAKES[kind]
    refuse_csv(csv, f"a table of {kind} declares its own columns", but=[own])
    check = source.check if isinstance(source, ConfinedPath) else check_nothing
    check(location)
    relation, schema, files = open_lake(kind, read, location, getattr(form, own), engine, check)
    if isinstance(source, ConfinedPath):
        engine.before_each(partial(_check_all, source, files))
    label = Path(os.fspath(source).rstrip("/")).name or Path(location).resolve().name
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


def files_kind(path: str | os.PathLike[str]) -> str:
    """Return the kind of some files; nothing of remote ones, and of a table with a log."""
    if is_remote(os.fspath(path)) or lake_of(path):
        return ""
    return kind_of_file(data_files(path)[0])


def text_kind(path: str | os.PathLike[str]) -> str:
    """Return the kind of files that declare no types, such as ``"csv"``; of other files ``""``."""
    kind = files_kind(path)
    return kind if kind in ("csv", "json lines", "excel") else ""
