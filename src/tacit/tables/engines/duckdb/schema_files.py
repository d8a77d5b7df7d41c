"""Files of Arrow, ORC and Avro for DuckDB, read by their schemas."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from weakref import proxy

from tacit.errors import DataSourceError, need
from tacit.expressions.dialect import is_unicode
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.engines.duckdb.frames import (
    as_shown,
    batches_of,
    hold_batches,
    shown_schema,
)
from tacit.tables.engines.files import without_details

# Opening reads the schema in a file and no row.  Rows are read once, at the first query, batch by
# batch.  The engine reads those of small files where they are, as those of a table of Arrow; those
# of larger ones go into a table of its own, which it may spill.
#
# *Total:* a cell becomes a value by its own bytes.  Text that is no UTF-8 is missing.  Of Avro the
# stored numbers are read, and what they mean is applied here, since its reader ends the whole read
# for one day that Python cannot express.  pyarrow ends the read of an ORC file for one far time, so
# columns of times are refused there; days are not affected.


_ROWS = 16_384  # of a batch
_ORC_TIME = (
    "holds times of ORC, of which pyarrow ends every question for a far one: write days, or a "
    "Parquet file"
)


def open_schema_files(files: Sequence[str], kind: str, engine: DuckEngine) -> tuple[str, Schema]:
    """Return the relation that the files will be together, and their columns; no row is read."""
    pa: Any = need("pyarrow", "arrow")
    schemas = [_schema(path, kind) for path in files]
    for path, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise DataSourceError(
                f"{Path(files[0]).name} and {Path(path).name} have other columns or types: open "
                "them one by one"
            )
    problems = {}
    if kind == "orc":
        problems = {f.name: _ORC_TIME for f in schemas[0] if _has_time(f.type)}
        problems |= {
            name: f"has a name that pyarrow takes for a part of {f.name!r}: rename one of them"
            for f in schemas[0]
            for name in schemas[0].names
            if f.type.num_fields and name.startswith(f"{f.name}.")
        }
    read = pa.schema([pa.field(f.name, _plain(f.type)) for f in schemas[0]])
    shown, columns, types = shown_schema(read, engine)
    names = dict(zip(shown.names, schemas[0].names, strict=True))
    columns = [
        Column(c.name, "other", "VARCHAR", problems[names[c.name]], reads="")
        if names[c.name] in problems
        else c
        for c in columns
    ]
    if all(c.kind == "other" for c in columns):
        raise DataSourceError(f"no column of {files[0]} has a type that can be read")
    # Of a column that no statistic reads, which cells are missing is read, as of a table of Arrow.
    used = [names[c.name] for c in columns if names[c.name] not in problems]
    types = {c.name: types[c.name] for c in columns if names[c.name] not in problems}
    table = engine.empty_table(types)
    relation = engine.view(f"select * from {table}")
    kept = pa.schema([shown.field(name) for name in types])
    fill = partial(
        _import, list(files), kind, schemas[0], used, kept, table, relation, proxy(engine)
    )
    engine.before_reading(fill)
    others = [c.name for c in columns if names[c.name] in problems]
    blanks = "".join(f", null as {engine.dialect.identifier(name)}" for name in others)
    return f"(select *{blanks} from {relation})", Schema(columns)


def _plain(kind: Any) -> Any:
    """Return the type of the values of a column of categories, or the type itself."""
    return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind


def _has_time(kind: Any) -> bool:
    inside = (kind.field(i).type for i in range(kind.num_fields))
    return str(kind).startswith("timestamp") or any(map(_has_time, inside))


def _schema(path: str, kind: str) -> Any:
    return without_details(path, lambda: _SCHEMAS[kind](path).remove_metadata())


def _import(
    files: list[str],
    kind: str,
    schema: Any,
    used: list[str],
    shown: Any,
    table: str,
    relation: str,
    engine: DuckEngine,
) -> None:
    import pyarrow as pa

    def batches(failed: list[str]) -> Iterator[Any]:
        for path in files:
            try:
                if not _SCHEMAS[kind](path).remove_metadata().equals(schema):
                    raise DataSourceError("the file has another schema than when it was opened")
                for batch in _BATCHES[kind](path, used):
                    batch.validate()
                    columns = [batch.column(batch.schema.get_field_index(name)) for name in used]
                    plain = [
                        c.dictionary_decode() if str(c.type).startswith("dictionary") else c
                        for c in columns
                    ]
                    yield as_shown(pa.RecordBatch.from_arrays(plain, names=shown.names), shown)
            except Exception:
                failed.append(path)

    hold_batches(table, relation, shown, batches, engine)


# ---- Arrow and ORC


def _arrow_file(path: str) -> Any:
    import pyarrow as pa

    with open(path, "rb") as file:
        if file.read(4) == b"FEA1":
            raise DataSourceError(
                f"{path} is a Feather file of version 1: write it again with a newer pyarrow"
            )
    return pa.ipc.open_file(pa.OSFile(path))


def _arrow_batches(path: str, used: list[str]) -> Iterator[Any]:
    reader = _arrow_file(path)
    for index in range(reader.num_record_batches):
        yield reader.get_batch(index)


def _arrow_stream(path: str) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.OSFile(path))


def _orc(path: str) -> Any:
    return need("pyarrow.orc", "arrow").ORCFile(path)


def _orc_batches(path: str, used: list[str]) -> Iterator[Any]:
    # A stripe is 64 MB of a file, and ORCFile reads it at once.
    import pyarrow as pa
    from pyarrow import dataset, fs

    file = dataset.OrcFileFormat().make_fragment(path, fs.LocalFileSystem())
    size, given = _ROWS, 0
    while True:
        passed = 0
        try:
            for batch in file.to_batches(
                columns=used,
                batch_size=size,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            ):
                passed += batch.num_rows
                if passed > given:
                    yield batch.slice(batch.num_rows - (passed - given))
                    given = passed
            return
        except pa.ArrowCapacityError:  # more than 2^31 bytes of text in a column of one batch
            if size == 1:
                raise
            size = max(1, size // 16)


# ---- Avro


# What unpacks blocks of rows that Python itself does not.
_UNPACKERS = {"snappy": "cramjam", "zstandard": "zstandard", "lz4": "lz4"}


def _avro_fields(path: str) -> dict[str, Any]:
    """Return the columns of an Avro file, each with the schema of its values."""
    with open(path, "rb") as file:
        read = need("fastavro", "files").reader(file)
    schema, module = read.writer_schema, _UNPACKERS.get(read.codec)
    if module is not None:
        try:
            __import__(module)
        except ImportError:
            raise DataSourceError(
                f"{path} is packed with {read.codec}: run: pip install {module}"
            ) from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise DataSourceError(f"{path} holds no records of one schema: it is not a table")
    if _recursive(schema):
        raise DataSourceError(
            f"the schema of {path} has a type within itself, so a value of it may be too deep to "
            "be read: write the file again without that column"
        )
    return {field["name"]: present_type(field["type"]) for field in schema["fields"]}


def _recursive(kind: Any, within: tuple[str, ...] = ()) -> bool:
    """Return whether a named type occurs in its own definition."""
    if isinstance(kind, list):
        return any(_recursive(one, within) for one in kind)
    if not isinstance(kind, dict):
        return kind in within
    within = (*within, kind["name"]) if "name" in kind else within
    fields = [field["type"] for field in kind.get("fields", ())]
    parts = [kind[part] for part in ("type", "items", "values") if part in kind]
    return _recursive([*parts, *fields], within)


def present_type(kind: Any) -> Any:
    """Return the type of Avro of the values that are there, of a union of one type and null."""
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        kind = others[0] if len(others) == 1 else "union"
    nested = isinstance(kind, dict) and isinstance(kind.get("type"), (dict, list))
    return present_type(kind["type"]) if nested else kind


def _avro_schema(path: str) -> Any:
    import pyarrow as pa

    return pa.schema([(name, avro_type(kind)) for name, kind in _avro_fields(path).items()])


def avro_type(kind: Any) -> Any:
    """Return the type of Arrow of the values of a type of Avro."""
    import pyarrow as pa

    name = kind if isinstance(kind, str) else str(kind.get("type"))
    meaning = "" if isinstance(kind, str) else kind.get("logicalType", "")
    if meaning == "decimal":
        digits = kind["precision"]
        return pa.decimal128(digits, kind.get("scale", 0)) if digits <= 38 else pa.binary()
    times = {"millis": "ms", "micros": "us", "nanos": "ns"}
    if name == "long" and "timestamp-" in meaning:
        zone = None if meaning.startswith("local") else "UTC"
        return pa.timestamp(times[meaning.rpartition("-")[2]], zone)
    if name == "int" and meaning == "date":
        return pa.date32()
    plain = {
        "string": pa.string(),
        "enum": pa.string(),
        "boolean": pa.bool_(),
        "int": pa.int64(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
    }
    return pa.binary() if meaning.startswith("time-") else plain.get(name, pa.binary())


def _avro_batches(path: str, used: list[str]) -> Iterator[Any]:
    import pyarrow as pa

    fields = _avro_fields(path)
    schema = pa.schema([(name, avro_type(fields[name])) for name in used])
    with open(path, "rb") as file:
        rows = need("fastavro", "files").reader(
            _without_meanings(file), handle_unicode_errors="surrogateescape"
        )
        cells: list[list[Any]] = [[] for _ in used]
        for row in rows:
            for name, column in zip(used, cells, strict=True):
                column.append(row[name])
            if len(cells[0]) == _ROWS:
                yield from _avro_rows(cells, schema, fields)
                cells = [[] for _ in used]
        yield from _avro_rows(cells, schema, fields)


def _avro_rows(cells: list[list[Any]], schema: Any, fields: Mapping[str, Any]) -> list[Any]:
    import pyarrow as pa

    arrays = []
    for column, field in zip(cells, schema, strict=True):
        read = _reading(field.type, fields[field.name])
        array = pa.array(
            [None if cell is None else read(cell) for cell in column], _raw(field.type)
        )
        arrays.append(array.cast(field.type))
    return batches_of(arrays, schema)


def _raw(kind: Any) -> Any:
    import pyarrow as pa

    if str(kind).startswith("timestamp"):
        return pa.int64()
    return pa.int32() if str(kind).startswith("date") else kind


def _reading(kind: Any, declared: Any) -> Callable[[Any], Any]:
    """Return how a stored value becomes one of a type; what does not fit is missing."""
    name = str(kind)
    if name == "string":
        return lambda cell: cell if is_unicode(cell) else None
    if name.startswith("date"):
        return lambda cell: cell if -(2**31) <= cell < 2**31 else None
    if name.startswith("decimal"):
        limit, scale = 10**kind.precision, kind.scale

        def number(cell: bytes) -> Decimal | None:
            whole = int.from_bytes(cell, "big", signed=True)
            # by its digits, since an operation rounds to those of the context
            return Decimal(f"{whole}e-{scale}") if -limit < whole < limit else None

        return number
    if name == "binary":  # no statistic reads it: that it is there is all
        return lambda _: b""
    return lambda cell: cell


def _without_meanings(file: Any) -> Any:
    """Return a stream of an Avro file whose schema declares stored types alone."""
    # The header is a map of texts and a mark of 16 bytes that ends each block of rows.
    avro = need("fastavro", "files")
    header = {
        "type": "record",
        "name": "header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
    read = avro.schemaless_reader(file, header, None)
    stored = _stored(json.loads(read["meta"]["avro.schema"]))
    read["meta"]["avro.schema"] = json.dumps(stored).encode()
    start = io.BytesIO()
    avro.schemaless_writer(start, header, read)
    start.seek(0)
    return _Joined(start, file)


def _stored(schema: Any) -> Any:
    """Return a schema without the meanings of its types."""
    if isinstance(schema, dict):
        return {
            k: _stored(v) if k != "default" else v for k, v in schema.items() if k != "logicalType"
        }
    return [_stored(one) for one in schema] if isinstance(schema, list) else schema


class _Joined:
    """A stream of two, one after the other."""

    def __init__(self, first: Any, then: Any) -> None:
        self._first, self._then = first, then

    def read(self, size: int = -1) -> bytes:
        """Return as many bytes, or fewer at the end."""
        given: bytes = self._first.read(size)
        if size < 0 or len(given) < size:
            given += self._then.read(size - len(given) if size >= 0 else -1)
        return given


_SCHEMAS: Mapping[str, Callable[[str], Any]] = {
    "arrow": lambda path: _arrow_file(path).schema,
    "arrow stream": lambda path: _arrow_stream(path).schema,
    "orc": lambda path: _orc(path).schema,
    "avro": _avro_schema,
}
_BATCHES: Mapping[str, Callable[[str, list[str]], Iterator[Any]]] = {
    "arrow": _arrow_batches,
    "arrow stream": lambda path, used: iter(_arrow_stream(path)),
    "orc": _orc_batches,
    "avro": _avro_batches,
}
