"""Arrow tables and streams for DuckDB: by the types that their schema declares.

A column of a type that the engine has no reading for (halves, decimals of 256 bits) is left out
before the engine sees it: it is refused where a question names it, and hinders no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import DataSourceError
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.columns import column_of, schema_of, types_of
from tacit.tables.engines.duckdb.engine import DuckEngine

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Stream", "arrow_types", "carried", "in_unicode", "open_arrow", "streamed", "unread"]


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
    names = table.schema.names
    if len({name.casefold() for name in names}) < len(names):
        raise DataSourceError("two columns have one name, capitals or not; rename one of them")
    known = arrow_types(table.schema, engine)
    usable = {name: declared for name, declared in known.items() if declared is not None}
    if not usable:
        raise DataSourceError("no column of this table has a type that can be read")
    told = schema_of(usable)
    columns = [told[n] if n in told else unread(n, table.schema.field(n).type) for n in names]
    if hasattr(table, "num_rows"):
        part = table if len(usable) == len(names) else table.select(list(usable))
        relation = engine.register(part)
        if _texts(part.schema):

            def check() -> None:
                cleaned = in_unicode(part)
                if cleaned is not part:
                    engine.register(cleaned, relation)

            engine.before_reading(check)
        return relation, Schema(columns)
    kept = carried(usable)
    return streamed(lambda: _narrowed(table, list(kept)), kept, engine), Schema(columns)


def carried(types: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that are brought into the engine: those that a question can name.

    What is in the others may fail on the way, by their values: a list over an enumeration fails
    where all lists are empty.
    """
    return {n: t for n, t in types.items() if column_of(n, t).kind != "other"} or dict(types)


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
        begun.append(rows())
        stream = engine.register(Stream(_readable(begun[-1])))
        engine.rows(f"insert into {relation} select * from {stream}")

    engine.before_reading(fill)
    return relation


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
        return types
    except (duckdb.Error, DataSourceError):
        return None


def unread(name: str, kind: Any) -> Column:
    """Return a column that nothing can be asked of; ``kind`` is its type in Arrow."""
    problem = f"has the Arrow type {kind}, which the engine does not read; cast it in the source"
    return Column(name, "other", "VARCHAR", problem)


def _narrowed(reader: Any, names: list[str]) -> Any:
    import pyarrow as pa

    schema = pa.schema([reader.schema.field(name) for name in names])

    def batches() -> Iterator[Any]:
        for batch in reader:
            yield batch.select(names)

    return pa.RecordBatchReader.from_batches(schema, batches())
