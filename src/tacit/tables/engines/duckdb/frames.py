"""Tables in memory: Arrow, pandas and polars, read by declared types."""

from __future__ import annotations

import datetime
import os
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import DataSourceError
from tacit.expressions.dialect import is_unicode
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.engine import DUCKDB, DuckEngine, column_of, types_of
from tacit.tables.engines.files import refuse_table_format

if TYPE_CHECKING:
    import pyarrow

    from tacit.tables.engines.duckdb.view_files import RelationEngine

# The text of a Python object in a column of a data frame: by the rule of its own type.
#
# No cell decides how another one is read, and no method of an unknown class is called.


_MAX_BITS = 256
_BYTES, _BATCHES = 1 << 22, 256  # of batches that are imported together
_SHARE = 8  # what is read where it is takes at most this part of the memory of the engine


def texts(cells: Iterable[Any]) -> Any:
    """Return cells as an array of text and None."""
    cleaned = [cell_text(cell) for cell in cells]
    array = np.empty(len(cleaned), dtype=object)
    array[:] = cleaned
    return array


def cell_text(cell: Any) -> str | None:
    """Return the text of a cell; None if it is missing, or of a type without a text.

    >>> [cell_text(c) for c in ("a", True, 3, 2.5, Decimal("NaN"), b"x", [1], float("nan"))]
    ['a', 'true', '3', '2.5', None, None, None, None]
    """
    # Text is itself; truth values are ``true`` and ``false``; numbers are written in their shortest
    # form, NaN is missing; times with a zone are in UTC, dates and times in ISO 8601.
    if isinstance(cell, str):
        text = str.__str__(cell) if type(cell) is str else "".join(str.__iter__(cell))
        return text if is_unicode(text) else None
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    if isinstance(cell, np.generic) and not isinstance(cell, (np.floating, np.integer)):
        return _moment_text(cell) if isinstance(cell, np.datetime64) else None
    if isinstance(cell, (int, np.integer)):
        integer = int.__int__(cell) if isinstance(cell, int) else int(cell)
        return str(integer) if integer.bit_length() <= _MAX_BITS else None
    if isinstance(cell, (float, np.floating)):
        number = float.__float__(cell) if isinstance(cell, float) else float(cell)
        return None if number != number else repr(number)
    if isinstance(cell, Decimal):
        return None if Decimal.is_nan(cell) else Decimal.__str__(cell)
    if isinstance(cell, datetime.date):
        return _date_text(cell)
    return str(uuid.UUID.__str__(cell)) if isinstance(cell, uuid.UUID) else None


def _moment_text(moment: Any) -> str | None:
    return None if np.isnat(moment) else str(moment)


def _date_text(cell: Any) -> str | None:
    if cell != cell:  # NaT, which calls itself a time
        return None
    if not isinstance(cell, datetime.datetime):
        return datetime.date.isoformat(cell)
    try:
        if cell.tzinfo is not None:
            cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
        return str(cell.isoformat(" "))
    except (OverflowError, ValueError):  # beyond the years 1 to 9999 in UTC
        return None


# Arrow tables and streams for DuckDB: by the types that their schema declares.
#
# Of a column of a type that no statistic reads (lists, blobs, unions, decimals of 256 bits) the
# engine sees which cells are missing, and nothing else: no other column is affected.  A time in
# seconds or milliseconds with a zone goes there as the time in UTC: the engine would turn it into
# microseconds, which may not hold it.


class Stream:
    """A table that hands its Arrow stream on to another connection."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def open_arrow(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of a table, a batch or a reader of pyarrow, and its columns."""
    import pyarrow as pa

    shown, columns, types = shown_schema(table.schema, engine)
    if isinstance(table, pa.RecordBatch):  # DuckDB 1.4 reads a batch once
        table = pa.Table.from_batches([table])
    if hasattr(table, "num_rows"):
        if shown == table.schema and not _texts(shown) and not _narrow_decimals(shown):
            return engine.register(table), Schema(columns)
        relation = engine.register(shown.empty_table())

        def check() -> None:
            engine.register(as_shown(table, shown), relation)

        engine.before_reading(check)
        return relation, Schema(columns)
    return streamed(lambda: _stream_as_shown(table, shown), types, engine), Schema(columns)


def open_arrow_stream(
    schema: pyarrow.Schema, rows: Callable[[], Any], engine: DuckEngine
) -> tuple[str, Schema]:
    """Return the relation of what yields a reader of pyarrow of a known schema, and its columns."""
    shown, columns, types = shown_schema(schema, engine)
    return streamed(lambda: _stream_as_shown(rows(), shown), types, engine), Schema(columns)


def open_columns(table: Mapping[Any, Any], engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of columns by name, and these; arrays of numpy have their types."""
    # A list, and an array of objects or text, is undeclared, as a column of objects of pandas is.
    names = list(table)
    if not all(isinstance(name, str) and name for name in names):
        raise DataSourceError("the columns of a dict are named by text that is not empty")
    refuse_like_names(names)
    lengths = set()
    for name, cells in table.items():
        if not isinstance(cells, (list, tuple, np.ndarray)) or getattr(cells, "ndim", 1) != 1:
            raise DataSourceError(
                f"column {name!r} of the dict is a {type(cells).__name__}, not a list or an array "
                "of one dimension"
            )
        lengths.add(len(cells))
    if len(lengths) > 1:
        raise DataSourceError("the columns of the dict have different lengths")
    table = {
        n: cells
        if _is_native(getattr(cells, "dtype", None))
        else cells.astype(_native(cells.dtype))
        for n, cells in table.items()
    }
    how = {n: _array_reading(cells) for n, cells in table.items()}
    declared = {n: _sql_type(table[n].dtype) for n in names if how[n] == "plain"}
    columns = [_column(n, how[n], declared, getattr(table[n], "dtype", None)) for n in names]
    kept = {n: np.array(table[n]) if how[n] in ("plain", "half") else table[n] for n in names}
    masks = {
        n: np.array(np.ma.getmaskarray(cells))
        for n, cells in table.items()
        if isinstance(cells, np.ma.MaskedArray) and how[n] != "other"
    }

    def made() -> dict[str, Any]:
        return {
            n: texts(cells)
            if how[n] == "undeclared"
            else np.full(len(cells), None, dtype=object)
            if how[n] == "other"
            else cells.astype("float32")
            if how[n] == "half"
            else cells
            for n, cells in kept.items()
        }

    types = {n: declared.get(n, c.declared) for n, c in zip(names, columns, strict=True)}
    relation = engine.empty_table(types)

    def fill() -> None:
        quoted = ", ".join(map(engine.dialect.identifier, names))
        picked = ", ".join(
            f"case when not m{i} then {cell} end" if name in masks else cell
            for i, name in enumerate(names)
            for cell in [f"try_cast(c{i} as {types[name]})"]
        )
        arrays = {f"c{i}": cells for i, cells in enumerate(made().values())}
        arrays |= {f"m{names.index(name)}": mask for name, mask in masks.items()}
        with engine.all_or_nothing():
            engine.rows(
                f"insert into {relation} ({quoted}) select {picked} from {engine.register(arrays)}"
            )

    engine.before_reading(fill)
    return relation, Schema(columns)


def _array_reading(cells: Any) -> str:
    """Return how a list or an array is read, by its type alone."""
    if not isinstance(cells, np.ndarray) or cells.dtype.kind in "OUT":
        return "undeclared"
    if cells.dtype.kind == "M" and np.datetime_data(cells.dtype)[0] not in ("s", "ms", "us", "ns"):
        return "undeclared"
    return _reading(cells.dtype)


def _is_native(dtype: Any) -> bool:
    """Return whether a type has the order of bytes of this machine, as the engine needs it."""
    return not isinstance(dtype, np.dtype) or dtype.isnative


def _native(dtype: Any) -> Any:
    return dtype.newbyteorder("=")


def names_of(names: Iterable[str]) -> list[str]:
    """Return the names of columns, one without a name by its position, as in a CSV file.

    >>> names_of(["", "age"])
    ['column1', 'age']
    """
    return [name or f"column{index}" for index, name in enumerate(names, 1)]


def shown_schema(
    schema: pyarrow.Schema, engine: DuckEngine
) -> tuple[pyarrow.Schema, list[Column], dict[str, str]]:
    """Return the columns as the engine and as questions see them, and their types."""
    import pyarrow as pa

    names = names_of(schema.names)
    if names:
        refuse_like_names(names)
    fields = [
        field.remove_metadata().with_name(name).with_type(without_zone(field.type))
        for name, field in zip(names, schema, strict=True)
    ]
    known = arrow_types(pa.schema(fields), engine)
    if all(declared is None for declared in known.values()):
        raise DataSourceError("no column of this table has a type that can be read")
    columns = [
        unread(name, field.type) if known[name] is None else column_of(name, str(known[name]))
        for name, field in zip(names, schema, strict=True)
    ]
    shown = [
        pa.field(field.name, pa.bool_()) if column.kind == "other" else field
        for field, column in zip(fields, columns, strict=True)
    ]
    types = {c.name: "BOOLEAN" if c.kind == "other" else str(known[c.name]) for c in columns}
    return pa.schema(shown), columns, types


def without_zone(kind: Any) -> Any:
    """Return the type of the time in UTC, for one of times with a zone that may be far."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz and kind.unit in ("s", "ms"):
        return pa.timestamp(kind.unit)
    return kind


def as_shown(table: Any, shown: pyarrow.Schema) -> Any:
    """Return a table or batch with the columns of :func:`shown_schema`."""
    import pyarrow as pa

    columns = []
    for index, field in enumerate(shown):
        column, kind = table.column(index), table.schema.field(index).type
        if kind != field.type and pa.types.is_boolean(field.type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            marks = [_present(chunk) for chunk in chunks]
            column = pa.chunked_array(marks, pa.bool_()) if column is not chunks[0] else marks[0]
        elif kind != field.type:
            column = column.cast(pa.timestamp(kind.unit))
        columns.append(column)
    return sound(type(table).from_arrays(columns, schema=shown))


def _present(chunk: Any) -> Any:
    """Return true for each cell that is there, else null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    there = pc.is_valid(chunk)
    return pc.if_else(there, there, pa.scalar(None, pa.bool_()))


def _stream_as_shown(reader: Any, shown: pyarrow.Schema) -> Any:
    import pyarrow as pa

    batches = (as_shown(batch, shown) for batch in reader)
    return pa.RecordBatchReader.from_batches(shown, batches)


# Types that Arrow has no integer for: DuckDB makes doubles of some.
_AS_TEXT = ("HUGEINT", "UHUGEINT", "BIGNUM")


def carried(types: Mapping[str, str]) -> str:
    """Return the SQL by which the columns of a relation are imported."""
    # Of one that no statistic reads, only which cells are missing: what is in it may fail on the
    # way, by its values, as a list over an enumeration does where all lists are empty.
    shown = []
    for name, declared in types.items():
        cell = quoted = DUCKDB.identifier(name)
        if column_of(name, declared).kind == "other":
            cell = f"case when {quoted} is not null then true end"
        elif declared in _AS_TEXT:
            cell = f"cast({quoted} as varchar)"
        shown.append(f"{cell} as {quoted}")
    return ", ".join(shown)


def streamed(
    rows: Callable[[], Any],
    types: Mapping[str, str],
    engine: DuckEngine,
    files: RelationEngine | None = None,
) -> str:
    """Return a table that the first query fills with ``rows()``, which emits a stream."""
    # files: the engine that reads the Parquet files of a relation.
    relation = engine.empty_table(types)
    started: list[Any] = []

    def fill() -> None:
        if started and hasattr(started[0], "read_next_batch"):  # rows that were read are gone
            raise DataSourceError(
                "the reader failed before, and cannot be read from its beginning again: open "
                "the table again; what was charged is not lost: the same question, asked again, "
                "is completed at no further cost"
            )
        stream = engine.register(Stream(_start(rows, started)))
        engine.rows(f"insert into {relation} select * from {stream}")

    engine.before_reading(fill if files is None else partial(files.fill, fill))
    return relation


def import_batches(
    table: str,
    schema: pyarrow.Schema,
    batches: Callable[[list[str]], Iterator[pyarrow.RecordBatch]],
    engine: DuckEngine,
    cells: Sequence[str] = ("*",),
) -> None:
    """Fill a table with batches of Arrow, or raise where they note a file that failed."""
    # cells: the SQL of the columns of the table, of those of the batches.
    # An error within a stream would reach the engine, whose message may quote the data.
    #
    # A transaction of all of them would hold a copy of the rows in each thread, and another one at
    # its end.  So each part is committed; what a fill that failed left is removed by the next one,
    # which comes before any query.
    import pyarrow as pa

    failed: list[str] = []
    relation = engine.register(schema.empty_table())
    engine.rows(f"delete from {table}")
    for part in _joined(batches(failed)):
        engine.register(pa.Table.from_batches(part, schema), relation)
        engine.rows(f"insert into {table} select {', '.join(cells)} from {relation}")
    engine.register(schema.empty_table(), relation)
    if failed:
        raise unread_to_its_end(failed[0])


def _joined(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[list[pyarrow.RecordBatch]]:
    """Yield batches together that are small: the engine plans each import anew."""
    part: list[pyarrow.RecordBatch] = []
    size = 0
    for batch in batches:
        part.append(batch)
        size += batch.nbytes
        if size >= _BYTES or len(part) >= _BATCHES:
            yield part
            part, size = [], 0
    if part:
        yield part


def hold_batches(
    table: str,
    relation: str,
    schema: pyarrow.Schema,
    batches: Callable[[list[str]], Iterator[pyarrow.RecordBatch]],
    engine: DuckEngine,
) -> None:
    """Have the view of a table show batches where they are, or fill it with those of a long file.

    Raises where they note a file that failed.
    """
    import pyarrow as pa

    failed: list[str] = []
    read = batches(failed)
    held, left = deque[Any](), engine.memory // _SHARE

    def each(noted: list[str]) -> Iterator[Any]:
        while held:
            yield held.popleft()
        yield from read
        noted += failed

    for batch in read:
        held.append(batch)
        left -= batch.nbytes
        if left < 0:  # too many to stay here: the engine may spill them
            import_batches(table, schema, each, engine)
            return
    if failed:
        raise unread_to_its_end(failed[0])
    rows = engine.register(pa.Table.from_batches(held, schema))
    engine.view(f"select * from {rows}", relation)


def batches_of(arrays: Sequence[Any], schema: pyarrow.Schema) -> list[Any]:
    """Return columns as batches: one, or several where texts are more than Arrow holds in one."""
    import pyarrow as pa  # which makes several arrays of more than 2^31 bytes of text

    batches: list[Any] = pa.Table.from_arrays(arrays, schema=schema).to_batches()
    return batches


def unread_to_its_end(path: str) -> DataSourceError:
    """Return the error of a file whose rows could not be read."""
    return DataSourceError(
        f"{Path(path).name} could not be read to its end: it was moved or changed since it was "
        "opened, is damaged or cut short, or its disk fails; what was charged is not lost: the "
        "same question, asked again, is completed at no further cost"
    )


def _start(rows: Callable[[], Any], started: list[Any]) -> Any:
    """Return the stream of some rows; a relation of DuckDB is read when it starts."""
    import duckdb

    try:
        started.append(rows())
        return _readable(started[-1])
    except duckdb.Error as error:
        failure = type(error).__name__
    # raised here, not above: the message may quote the data
    raise DataSourceError(
        f"the relation could not be read ({failure}; its message is withheld because it may quote "
        "the data): check it with DuckDB itself, or open the files that it reads"
    )


def _readable(rows: Any) -> Any:
    """Return a stream whose cells the engine can read, batch by batch (:func:`sound`)."""
    # Others can only come from Arrow; where pyarrow is missing the stream stays as it is.
    try:
        import pyarrow as pa
    except ImportError:
        return rows
    reader = pa.RecordBatchReader.from_stream(rows)
    if not _texts(reader.schema) and not _narrow_decimals(reader.schema):
        return reader
    return pa.RecordBatchReader.from_batches(reader.schema, map(sound, reader))


def _texts(schema: pyarrow.Schema) -> list[int]:
    """Return the positions of the columns of text."""
    import pyarrow as pa

    plain = (pa.string(), pa.large_string(), pa.string_view())
    kinds = [getattr(field.type, "value_type", field.type) for field in schema]
    return [index for index, kind in enumerate(kinds) if kind in plain]


_NARROW = 18  # digits of a decimal, for which DuckDB takes at most 64 of its 128 bits


def _narrow_decimals(schema: pyarrow.Schema) -> list[int]:
    """Return the positions of decimals that DuckDB holds in fewer bits than Arrow."""
    import pyarrow as pa

    kinds = [field.type for field in schema]
    return [
        index
        for index, kind in enumerate(kinds)
        if pa.types.is_decimal128(kind) and kind.precision <= _NARROW
    ]


def sound(table: Any) -> Any:
    """Return a table or batch with text that is not UTF-8 and decimals that are too long missing.

    No reader of Arrow checks either; a table without such cells is returned as it is.
    """
    # For a decimal that does not fit, DuckDB gives what was in its memory before: another row's.
    import pyarrow as pa
    import pyarrow.compute as pc

    for index in _narrow_decimals(table.schema):
        field = table.schema.field(index)
        most = Decimal(f"{10**field.type.precision - 1}e{-field.type.scale}")
        column, low, high = table.column(index), *(pa.scalar(n, field.type) for n in (-most, most))
        inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
        if pc.all(inside).as_py() is False:
            column = pc.if_else(inside, column, pa.scalar(None, field.type))
            table = table.set_column(index, field, column)
    for index in _texts(table.schema):
        column, field = table.column(index), table.schema.field(index)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        cleaned = [_cleaned(chunk) for chunk in chunks]
        if all(new is old for new, old in zip(cleaned, chunks, strict=True)):
            continue
        joined = pa.chunked_array(cleaned, field.type) if column is not chunks[0] else cleaned[0]
        table = table.set_column(index, field, joined)
    return table


def _cleaned(chunk: Any) -> Any:
    import pyarrow as pa

    try:
        chunk.validate(full=True)
        return chunk
    except pa.ArrowInvalid:
        pass
    kind = chunk.type
    plain = chunk.dictionary_decode() if pa.types.is_dictionary(kind) else chunk
    cells = [_decoded(cell) for cell in plain.cast(pa.large_binary()).to_pylist()]
    return pa.array(cells, plain.type).cast(kind)


def _decoded(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


# The engine's types of those types of Arrow that contain no others, once known.
_SIMPLE: dict[Any, str | None] = {}
_MAX_SIMPLE_TYPES = 256


def arrow_types(schema: pyarrow.Schema, engine: DuckEngine) -> Mapping[str, str | None]:
    """Return the engine's types of columns; None for one that it has no reading for."""
    fields = [field.remove_metadata() for field in schema]
    if all(field.type in _SIMPLE for field in fields):
        return {field.name: _SIMPLE[field.type] for field in fields}
    types = _types(fields, engine)
    if types is not None:
        known = [f for f in fields if f.name in types and not f.type.num_fields]
        if len(_SIMPLE) < _MAX_SIMPLE_TYPES:
            _SIMPLE.update({f.type: types[f.name] for f in known})
        return types
    by_field: dict[str, str | None] = {}
    for field in fields:  # one by one: which of them is it
        by_field |= _types([field], engine) or {field.name: None}
    return by_field


def _types(fields: Sequence[Any], engine: DuckEngine) -> dict[str, str | None] | None:
    """Return the engine's types of columns, by name; None where it does not read one of them."""
    import duckdb
    import pyarrow as pa

    try:
        relation = engine.register(pa.schema(fields).empty_table())
        with engine.dry_run():  # of no rows: it ends on its own
            types: dict[str, str | None] = dict(types_of(relation, engine))
        # DuckDB 1.4 calls a column of nulls a column of integers
        return types | {field.name: '"NULL"' for field in fields if pa.types.is_null(field.type)}
    except (duckdb.Error, DataSourceError, pa.ArrowException):
        return None


def unread(name: str, kind: Any) -> Column:
    """Return a column that no question can use; ``kind`` is its type in Arrow."""
    problem = f"has the Arrow type {kind}, which the engine does not read; cast it in the source"
    return Column(name, "other", "VARCHAR", problem)


# Open a pandas or polars frame for DuckDB: by the names and types of its columns alone.
#
# What has one type for all its cells is read in place, or by the type that Arrow declares.  A
# column of Python objects is undeclared: at the first query each of its cells becomes text by
# :func:`cell_text`.  So is a column of categories that are text, numbers, truth values or objects;
# one of dates or times is read as these.  A column of a type that has no reading (periods,
# intervals, complex numbers), and one of categories of such a type, is refused where a question
# names it; no other is affected.


_NULLABLE = {
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "boolean"),
}
_ARROW_CATEGORIES = (
    *("string", "large_string", "string_view", "bool", "int", "uint", "float", "double"),
    *("halffloat", "decimal"),
)


def open_pandas(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of a pandas frame and its columns; no cell is read."""
    for index, name in enumerate(table.columns, start=1):
        if not isinstance(name, str):
            raise DataSourceError(
                f"column {index} of the pandas table is named by {type(name).__name__}, not by "
                "text: give names, as in table.rename(columns=str) or table.columns = ['id', 'age']"
            )
    names = names_of(table.columns)
    refuse_like_names(names)
    if names != list(table.columns):
        table = table.set_axis(names, axis=1)
    swapped = {n: _native(d) for n, d in table.dtypes.items() if not _is_native(d)}
    table = table.astype(swapped) if swapped else table
    types = {name: _type_read(dtype) for name, dtype in table.dtypes.items()}
    how = {name: _reading(dtype) for name, dtype in types.items()}
    plain = [name for name in names if how[name] == "plain"]
    declared = {name: _sql_type(types[name]) for name in plain}
    declared |= _arrow_columns(types, how, engine)
    for name, dtype in types.items():
        if how[name] == "zoned":
            declared[name] = _sql_type(f"datetime64[{dtype.unit}]")
        elif how[name] == "other":
            declared[name] = "BOOLEAN"
    columns = [_column(name, how[name], declared, types[name]) for name in names]
    numpy = all(type(dtype).__module__.startswith("numpy") for dtype in table.dtypes)
    if names and numpy and len(plain) == len(names):
        return engine.register(table), Schema(columns)

    def made() -> Any:
        cells = {name: _cells(_as_read(table[name], types[name]), how[name]) for name in names}
        return _as_arrow(cells) if "arrow" in how.values() else cells

    return _later(made, columns, engine, declared), Schema(columns)


def _arrow_columns(
    types: Mapping[str, Any], how: dict[str, str], engine: DuckEngine
) -> dict[str, str]:
    """Return the types of columns that are stored in Arrow; None if they cannot be read."""
    names = [name for name, reading in how.items() if reading == "arrow"]
    if not names:
        return {}
    import pyarrow as pa

    shape = pa.schema([(name, types[name].pyarrow_dtype) for name in names])
    _, columns, types_read = shown_schema(shape, engine)
    how.update({c.name: "other" for c in columns if c.kind == "other"})
    return types_read


def _as_arrow(cells: dict[str, Any]) -> Any:
    import pyarrow as pa

    text = {n: pa.string() for n, c in cells.items() if isinstance(c, np.ndarray)}
    arrow_table = pa.table({n: pa.array(column, text.get(n)) for n, column in cells.items()})
    bare = [field.with_type(without_zone(field.type)) for field in arrow_table.schema]
    return as_shown(arrow_table, pa.schema(bare))


def open_polars(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of a polars frame or lazy frame and its columns; no row is read."""
    import polars as pl

    lazy = isinstance(table, pl.LazyFrame)
    schema = table.collect_schema() if lazy else table.schema
    if lazy:  # the plan shows the first file of each scan, and no rows
        refuse_table_format(list(filter(os.path.exists, _scans(table.explain(optimized=False)))))
    names = names_of(schema)
    refuse_like_names(names)
    kinds = dict(zip(names, schema.dtypes(), strict=True))
    how = {name: _polars_reading(kind) for name, kind in kinds.items()}
    plain = {n: kind for n, kind in kinds.items() if how[n] == "plain"}
    declared: dict[str, str] = {}
    if plain:
        shape = pl.DataFrame(schema=plain).to_arrow().schema
        shown, known_columns, declared = shown_schema(shape, engine)
        how.update({n: "zoned" for n in plain if shape.field(n).type != shown.field(n).type})
        how.update({c.name: "other" for c in known_columns if c.kind == "other"})
    declared |= {n: _WIDE[str(kinds[n])] for n in names if how[n] == "wide"}
    declared |= {n: "BOOLEAN" for n in names if how[n] == "other"}
    columns = [_column(name, how[name], declared, kinds[name]) for name in names]
    if not lazy and set(how.values()) <= {"plain"} and names == list(schema):
        return engine.register(table), Schema(columns)

    def made() -> Any:
        collected = _collected(table) if lazy else table
        return pl.DataFrame(
            [_polars_cells(collected.to_series(i), name, how[name]) for i, name in enumerate(names)]
        )

    return _later(made, columns, engine, declared), Schema(columns)


def _scans(plan: str) -> list[str]:
    r"""Return the first file of each scan in a plan of polars.

    >>> _scans("FILTER x\nFROM\\n  Parquet SCAN [/a/0.parquet, ... 3 other sources]")
    ['/a/0.parquet']
    """
    found = re.findall(r" SCAN \[(.+?)(?:, \.\.\. \d+ other \w+)?\]$", plan, re.MULTILINE)
    return list(dict.fromkeys(path for f in found for path in (f, *f.split(", "))))


def _collected(frame: Any) -> Any:
    """Return the rows of a lazy frame, whose filters see rows and no statistics of a file."""
    # Pushed down to a Parquet file, a filter leaves out row groups by statistics, which leave NaN
    # out: in polars 1.9 other rows decide whether a row with NaN passes.
    import polars as pl

    try:
        if hasattr(pl, "QueryOptFlags"):
            return frame.collect(optimizations=pl.QueryOptFlags(predicate_pushdown=False))
        return frame.collect(predicate_pushdown=False)
    except BaseException as error:
        failure = type(error).__name__
        if not isinstance(error, Exception) and failure != "PanicException":
            raise
    # raised here, not above: the message may quote the data
    raise DataSourceError(
        f"the lazy frame could not be read ({failure}; its message is withheld because it may "
        "quote the data): check it with polars itself, or collect it first"
    )


# Types of polars that the engine does not take from it, but from text.
_WIDE = {"Int128": "HUGEINT", "UInt128": "UHUGEINT"}


def _polars_reading(kind: Any) -> str:
    name = str(kind)
    if name == "Object":
        return "undeclared"
    return "wide" if name in _WIDE else "half" if name == "Float16" else "plain"


def _polars_cells(cells: Any, name: str, how: str) -> Any:
    """Return the cells of a series as the engine reads them."""
    import polars as pl

    if how == "undeclared":
        return pl.Series(name, list(texts(cells.to_list())), dtype=pl.String)
    if how == "other":
        there = cells.is_not_null().to_list()
        return pl.Series(name, [mark or None for mark in there], dtype=pl.Boolean)
    if how == "zoned":
        integers = cells.to_physical()
        return integers.cast(pl.Datetime(cells.dtype.time_unit)).alias(name)
    if how == "wide":
        try:
            return cells.cast(pl.String).alias(name)
        except pl.exceptions.InvalidOperationError:  # the first releases with the type
            written = [None if cell is None else str(cell) for cell in cells.to_list()]
            return pl.Series(name, written, dtype=pl.String)
    return cells.cast({"half": pl.Float32}.get(how, cells.dtype)).alias(name)


def _type_read(dtype: Any) -> Any:
    """Return the type that a column is read by: of categories of dates or times theirs."""
    if type(dtype).__name__ != "CategoricalDtype":
        return dtype
    own = dtype.categories.dtype
    return own if _reading(own) == "zoned" or getattr(own, "kind", "") == "M" else dtype


def _reading(dtype: Any) -> str:
    """Return how a column is read, by its type alone."""
    name, family = str(dtype), type(dtype).__name__
    if family == "ArrowDtype":
        return "arrow"
    if family == "CategoricalDtype":
        return "undeclared" if _says_something(dtype.categories.dtype) else "other"
    if name == "object":
        return "undeclared"
    if family == "StringDtype":
        return "text"
    if family == "DatetimeTZDtype":
        return "zoned"
    kind = getattr(dtype, "kind", "")
    numpy = type(dtype).__module__.startswith("numpy")
    if name in _NULLABLE or (numpy and kind in "biuM"):
        return "plain"
    if numpy and kind == "f":
        return {2: "half", 4: "plain", 8: "plain"}.get(dtype.itemsize, "other")
    return "other"


def _says_something(dtype: Any) -> bool:
    """True if categories of a type are text, numbers, truth values or objects, each as text."""
    how = _reading(dtype)
    if how != "arrow":
        return how in ("plain", "half", "text", "undeclared")
    return str(dtype.pyarrow_dtype).startswith(_ARROW_CATEGORIES)


def _column(name: str, how: str, declared: dict[str, str], dtype: Any) -> Column:
    if how == "other":
        kind = getattr(getattr(dtype, "categories", None), "dtype", dtype)
        problem = (
            "has a type that has no place in a private statistic; turn it into numbers, text, "
            "dates or truth values"
        )
        if type(kind).__name__ == "IntervalDtype":
            problem = (
                "holds intervals, as pandas.cut makes them; turn them into text with .astype(str), "
                f"or cut the numbers in the question: tc.col({name!r}).cut([0, 10, 20])"
            )
        return Column(name, "other", "VARCHAR", problem)
    fixed = {"undeclared": "VARCHAR", "text": "VARCHAR", "half": "FLOAT"}
    column = column_of(name, fixed.get(how) or declared[name])
    return replace(column, kind="undeclared") if how == "undeclared" else column


def _sql_type(dtype: Any) -> str:
    """Return the engine's type of a column that is read as it is.

    >>> _sql_type("Int64"), _sql_type("uint8"), _sql_type("datetime64[ns]")
    ('BIGINT', 'UTINYINT', 'TIMESTAMP_NS')
    """
    name = str(dtype).lower()
    if name.startswith("datetime64"):
        unit = name[11:-1].upper()
        return "TIMESTAMP" if unit == "US" else f"TIMESTAMP_{unit}"
    if name.startswith("bool"):
        return "BOOLEAN"
    sign = "U" if name.startswith("u") else ""
    integer_types = {"8": "TINYINT", "16": "SMALLINT", "32": "INTEGER", "64": "BIGINT"}
    fixed = {"float32": "FLOAT", "float64": "DOUBLE"}
    return fixed.get(name) or sign + integer_types[name.lstrip("uint")]


def _as_read(column: Any, dtype: Any) -> Any:
    """Return a column of categories that are read by their own type as that type."""
    return column if column.dtype == dtype else column.astype(dtype)


def _cells(column: Any, how: str) -> Any:
    if how in ("undeclared", "text"):
        return texts(column.tolist())
    if how == "zoned":
        return column.dt.tz_convert("UTC").dt.tz_localize(None)
    if how == "other":
        return column.notna().astype("boolean").replace(False, None)
    # a copy in order: DuckDB cannot take every view of an array
    return column.astype("float32") if how == "half" else column.copy()


def _later(
    made: Callable[[], Any], columns: list[Column], engine: DuckEngine, declared: dict[str, str]
) -> str:
    """Return a table that the first query fills; ``declared`` are types that the engine stated."""
    table = engine.empty_table({c.name: declared.get(c.name, c.declared) for c in columns})
    engine.before_reading(partial(_fill, made, columns, table, engine))
    return table


def _fill(made: Callable[[], Any], columns: list[Column], table: str, engine: DuckEngine) -> None:
    rows = made()
    if isinstance(rows, dict):
        import pandas

        rows = pandas.DataFrame(rows)
    names = [engine.dialect.identifier(c.name) for c in columns]
    listed = ", ".join(names)
    relation = engine.register(rows)
    with engine.all_or_nothing():
        engine.rows(f"insert into {table} ({listed}) select {listed} from {relation}")
