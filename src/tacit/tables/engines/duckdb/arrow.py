"""Arrow tables and streams for DuckDB: by the types that their schema declares.

Of a column of a type that no statistic reads (lists, blobs, unions, decimals of 256 bits) the
engine sees which cells are missing, and nothing else: it hinders no other column.  A time in
seconds or milliseconds with a zone goes there as the time in UTC: the engine would turn it into
microseconds, which may not hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import DataSourceError
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.columns import column_of, types_of
from tacit.tables.engines.duckdb.dialect import DUCKDB
from tacit.tables.engines.duckdb.engine import DuckEngine

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "Stream",
    "arrow_types",
    "as_shown",
    "carried",
    "in_unicode",
    "names_of",
    "open_arrow",
    "shown_schema",
    "streamed",
    "unread",
    "without_zone",
]


class Stream:
    """A table that hands its Arrow stream on to another connection."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def open_arrow(table: Any, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation of a table, a batch or a reader of pyarrow, and its columns.

    Raises:
        DataSourceError: two columns that have one name, capitals or not.
    """
    import pyarrow as pa

    shown, columns, types = shown_schema(table.schema, engine)
    if isinstance(table, pa.RecordBatch):  # DuckDB 1.4 reads a batch once
        table = pa.Table.from_batches([table])
    if hasattr(table, "num_rows"):
        if shown == table.schema and not _texts(shown):
            return engine.register(table), Schema(columns)
        relation = engine.register(shown.empty_table())

        def check() -> None:
            engine.register(as_shown(table, shown), relation)

        engine.before_reading(check)
        return relation, Schema(columns)
    return streamed(lambda: _stream_as_shown(table, shown), types, engine), Schema(columns)


def names_of(names: Iterable[str]) -> list[str]:
    """Return the names of columns, one without a name by its place, as in a CSV file.

    >>> names_of(["", "age"])
    ['column1', 'age']
    """
    return [name or f"column{place}" for place, name in enumerate(names, 1)]


def shown_schema(
    schema: pyarrow.Schema, engine: DuckEngine
) -> tuple[pyarrow.Schema, list[Column], dict[str, str]]:
    """Return the columns as they are shown to the engine and as they are asked, and their types.

    Raises:
        DataSourceError: two columns that have one name, capitals or not, or none that can be read.
    """
    import pyarrow as pa

    names = names_of(schema.names)
    if len({name.casefold() for name in names}) < len(names):
        raise DataSourceError("two columns have one name, capitals or not; rename one of them")
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
    for place, field in enumerate(shown):
        column, kind = table.column(place), table.schema.field(place).type
        if kind != field.type and pa.types.is_boolean(field.type):
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            marks = [_present(chunk) for chunk in chunks]
            column = pa.chunked_array(marks, pa.bool_()) if column is not chunks[0] else marks[0]
        elif kind != field.type:
            column = column.cast(pa.timestamp(kind.unit))
        columns.append(column)
    return in_unicode(type(table).from_arrays(columns, schema=shown))


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


_AS_TEXT = ("HUGEINT", "UHUGEINT", "BIGNUM")
"""Types that Arrow has no whole number for: DuckDB makes doubles of some."""


def carried(types: Mapping[str, str]) -> str:
    """Return the SQL by which the columns of a relation are brought into the engine.

    Of one that no statistic reads, only which cells are missing: what is in it may fail on the way,
    by its values, as a list over an enumeration does where all lists are empty.
    """
    shown = []
    for name, declared in types.items():
        cell = quoted = DUCKDB.identifier(name)
        if column_of(name, declared).kind == "other":
            cell = f"case when {quoted} is not null then true end"
        elif declared in _AS_TEXT:
            cell = f"cast({quoted} as varchar)"
        shown.append(f"{cell} as {quoted}")
    return ", ".join(shown)


def streamed(rows: Callable[[], Any], types: Mapping[str, str], engine: DuckEngine) -> str:
    """Return a table that the first query fills with ``rows()``, which emits a stream."""
    relation = engine.empty_table(types)
    begun: list[Any] = []

    def fill() -> None:
        if begun and hasattr(begun[0], "read_next_batch"):  # what was read of it is gone
            raise DataSourceError(
                "the reader failed before, and cannot be read from its beginning again: open "
                "the table again; what was charged is not lost: the same question, asked again, "
                "is completed at no further cost"
            )
        stream = engine.register(Stream(_begun(rows, begun)))
        engine.rows(f"insert into {relation} select * from {stream}")

    engine.before_reading(fill)
    return relation


def _begun(rows: Callable[[], Any], begun: list[Any]) -> Any:
    """Return the stream of some rows; a relation of DuckDB is read when it begins."""
    import duckdb

    try:
        begun.append(rows())
        return _readable(begun[-1])
    except duckdb.Error as error:
        failure = type(error).__name__
    # raised here, not above: the message may quote the data
    raise DataSourceError(
        f"the relation could not be read ({failure}; its message is withheld because it may quote "
        "the data): check it with DuckDB itself, or open the files that it reads"
    )


def _readable(rows: Any) -> Any:
    """Return a stream whose text is UTF-8, batch by batch (:func:`in_unicode`).

    Text that is not can only come from Arrow; where pyarrow is missing the stream stays as it is.
    """
    try:
        import pyarrow as pa
    except ImportError:
        return rows
    reader = pa.RecordBatchReader.from_stream(rows)
    if not _texts(reader.schema):
        return reader
    return pa.RecordBatchReader.from_batches(reader.schema, map(in_unicode, reader))


def _texts(schema: pyarrow.Schema) -> list[int]:
    """Return the places of the columns of text."""
    import pyarrow as pa

    plain = (pa.string(), pa.large_string(), pa.string_view())
    kinds = [getattr(field.type, "value_type", field.type) for field in schema]
    return [place for place, kind in enumerate(kinds) if kind in plain]


def in_unicode(table: Any) -> Any:
    """Return a table or batch in which text that is no UTF-8 is missing: no reader of Arrow checks.

    One that holds none is returned as it is.
    """
    import pyarrow as pa

    for place in _texts(table.schema):
        column, field = table.column(place), table.schema.field(place)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        cleaned = [_cleaned(chunk) for chunk in chunks]
        if all(new is old for new, old in zip(cleaned, chunks, strict=True)):
            continue
        whole = pa.chunked_array(cleaned, field.type) if column is not chunks[0] else cleaned[0]
        table = table.set_column(place, field, whole)
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


_SIMPLE: dict[Any, str | None] = {}
"""The engine's types of those types of Arrow that hold no others, once it was asked."""
_MOST_SIMPLE = 256


def arrow_types(schema: pyarrow.Schema, engine: DuckEngine) -> Mapping[str, str | None]:
    """Return the engine's types of columns; None for one that it has no reading for."""
    fields = [field.remove_metadata() for field in schema]
    if all(field.type in _SIMPLE for field in fields):
        return {field.name: _SIMPLE[field.type] for field in fields}
    whole = _types(fields, engine)
    if whole is not None:
        known = [f for f in fields if f.name in whole and not f.type.num_fields]
        if len(_SIMPLE) < _MOST_SIMPLE:
            _SIMPLE.update({f.type: whole[f.name] for f in known})
        return whole
    found: dict[str, str | None] = {}
    for field in fields:  # one by one: which of them is it
        found |= _types([field], engine) or {field.name: None}
    return found


def _types(fields: Sequence[Any], engine: DuckEngine) -> dict[str, str | None] | None:
    """Return the engine's types of columns, by name; None where it does not read one of them."""
    import duckdb
    import pyarrow as pa

    try:
        relation = engine.register(pa.schema(fields).empty_table())
        with engine.rehearsal():  # of no rows: it ends by itself
            types: dict[str, str | None] = dict(types_of(relation, engine))
        # DuckDB 1.4 calls a column of nulls a column of integers
        return types | {field.name: '"NULL"' for field in fields if pa.types.is_null(field.type)}
    except (duckdb.Error, DataSourceError, pa.ArrowException):
        return None


def unread(name: str, kind: Any) -> Column:
    """Return a column that nothing can be asked of; ``kind`` is its type in Arrow."""
    problem = f"has the Arrow type {kind}, which the engine does not read; cast it in the source"
    return Column(name, "other", "VARCHAR", problem)
