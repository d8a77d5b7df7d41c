"""Arrow tables and streams for DuckDB: by the types that their schema declares.

A column of a type that the engine has no reading for (halves, decimals of 256 bits) is left out
before the engine sees it: it is refused where a question names it, and hinders no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tacit.errors import DataSourceError
from tacit.tables.engines.duck import DuckEngine
from tacit.tables.engines.duck_columns import column_of, schema_of, types_of
from tacit.tables.schema import Column, Schema

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Stream", "arrow_types", "carried", "open_arrow", "streamed", "unread"]


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
        return engine.register(part), Schema(columns)
    kept = carried(usable)
    return streamed(lambda: _narrowed(table, list(kept)), kept, engine), Schema(columns)


def carried(types: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that are brought into the engine: those that a question can name.

    What is in the others may fail on the way, by their values: a list over an enumeration fails
    where all lists are empty.
    """
    return {n: t for n, t in types.items() if column_of(n, t).kind != "other"} or dict(types)


def streamed(rows: Callable[[], Any], types: Mapping[str, str], engine: DuckEngine) -> str:
    """Return a table that the first query fills with ``rows()``, which hands on a stream."""
    relation = engine.empty_table(types)

    def fill() -> None:
        stream = engine.register(Stream(rows()))
        engine.rows(f"insert into {relation} select * from {stream}")

    engine.before_reading(fill)
    return relation


def arrow_types(schema: pyarrow.Schema, engine: DuckEngine) -> Mapping[str, str | None]:
    """Return the engine's types of columns; None for one that it has no reading for."""
    import duckdb
    import pyarrow as pa

    found: dict[str, str | None] = {}
    for field in schema:
        try:
            shape = engine.register(pa.schema([field.remove_metadata()]).empty_table())
            (found[field.name],) = types_of(shape, engine).values()
        except (duckdb.Error, DataSourceError):
            found[field.name] = None
    return found


def unread(name: str, kind: Any) -> Column:
    """Return a column that nothing can be asked of; ``kind`` is its type in Arrow."""
    problem = f"has the Arrow type {kind}, which the engine does not read; cast it in the source"
    return Column(name, "other", "VARCHAR", problem)


def _narrowed(reader: Any, names: list[str]) -> Any:
    import pyarrow as pa

    if names == reader.schema.names:
        return reader
    schema = pa.schema([reader.schema.field(name) for name in names])

    def batches() -> Iterator[Any]:
        for batch in reader:
            yield batch.select(names)

    return pa.RecordBatchReader.from_batches(schema, batches())
