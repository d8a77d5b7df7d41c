"""Tables of Delta and Iceberg for DuckDB, read by their logs."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from weakref import proxy

from tacit.errors import DataSourceError, UsageError, need
from tacit.expressions.schema import Column, Schema
from tacit.tables.engines.base import refuse_like_names
from tacit.tables.engines.duckdb.engine import DUCKDB, DuckEngine, column_of
from tacit.tables.engines.duckdb.frames import import_batches
from tacit.tables.engines.duckdb.parquet import checked_columns, listed_parquet
from tacit.tables.engines.files import METADATA, MetadataPath, check_nothing

# A log says which files a table consists of, in each of its versions, and what its columns are.
# Opening reads the log of one version and the footers of its files, and no row.  The files are then
# read as any Parquet files are (:mod:`tacit.tables.engines.duckdb.parquet`): the libraries that
# read the logs read no row of them, and no statistics decide which files or rows count.
#
# *Columns* have the types of the log.  A column is found in a file by the id or the physical name
# that the log gives it, so that a renamed column is one column; where a file has none of it, it is
# missing there, or has the value that the log gives for the file (a partition).
#
# *Deleted rows* are left out by their positions.  Which these are is read at the first query, like
# a row.


class LakeFile(NamedTuple):
    """A Parquet file of a table."""

    path: str
    parts: Mapping[str, str | None]  # by column, the text of the value of all its rows
    name: str = ""  # as the log writes the path


class LakeColumn(NamedTuple):
    """A column, as the log declares it."""

    name: str
    kind: str  # of DuckDB; empty for one that no statistic reads
    stored: str | None  # its name in the files; None where the id alone counts
    number: int | None = None  # its id in the files; None where the name alone counts
    is_zoned: bool = False  # a moment, which is read in UTC


class LakeTable(NamedTuple):
    """A version of a table."""

    files: list[LakeFile]
    columns: list[LakeColumn]
    # what yields the positions of deleted rows, as pairs of arrays: of files, and of rows in them
    deleted: Callable[[], Iterator[tuple[Any, Any]]] | None = None
    beside: Sequence[str] = ()  # files that may list deleted rows


_TYPES = {
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "float": "FLOAT",
    "double": "DOUBLE",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "int": "INTEGER",
    "long": "BIGINT",
    "date": "DATE",
    "uuid": "UUID",
    "timestamp_ntz": "TIMESTAMP",
    "timestamptz": "TIMESTAMP",
    "timestamp": "TIMESTAMP",
}
DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_NESTED = "has a type that has no place in a private statistic; take what you need out of it first"
_NO_DETAILS = "(details are withheld: they may quote the data)"


def named_table(source: Any) -> tuple[str | MetadataPath, Any] | None:
    """Return the folder and the version of an open table of deltalake or pyiceberg."""
    library, kind = type(source).__module__.split(".")[0], type(source).__name__
    if library == "deltalake" and kind == "DeltaTable":
        return _local(source.table_uri, "a table"), {"version": source.version()}
    if library == "pyiceberg" and hasattr(source, "metadata_location"):
        snapshot = source.current_snapshot()
        named = {} if snapshot is None else {"snapshot": snapshot.snapshot_id}
        return MetadataPath(_local(source.metadata_location, "a table")), named
    return None


def open_lake(
    kind: str,
    read: Callable[[str, Any, Callable[[str], None]], LakeTable],
    location: str,
    version: Any,
    engine: DuckEngine,
    check: Callable[[str], None],
) -> tuple[str, Schema, list[str]]:
    """Return the relation that a version of a table will be, its columns, and its files."""
    table = read(location, version, check)
    names = [column.name for column in table.columns]
    refuse_like_names(names)
    for file in table.files:
        check(file.path)
        if not os.path.isfile(file.path):
            raise DataSourceError(
                f"{location} is a table of {kind} whose log names {Path(file.path).name}, and that "
                "file is gone, as VACUUM, cleaning and expired snapshots leave it: name a version "
                "that is there"
            )
    columns = [
        column_of(column.name, column.kind)
        if column.kind
        else Column(column.name, "other", "VARCHAR", _NESTED, reads="")
        for column in table.columns
    ]
    return (
        _relation(table, engine),
        Schema(columns),
        [*table.beside, *(file.path for file in table.files)],
    )


def _relation(table: LakeTable, engine: DuckEngine) -> str:
    """Return the relation of the files of a table."""
    if not table.files:
        empty = ", ".join(_cell("null", "", c) for c in table.columns)
        return f"(select {empty} where false)"
    groups = listed_parquet([file.path for file in table.files], engine)
    by_path = {file.path: file for file in table.files}
    ordered = [by_path[path] for group in groups for path in group.files]
    parted = [c for c in table.columns if c.kind and any(c.name in f.parts for f in ordered)]
    parts = deleted = ""
    if parted:
        numbers = [str(number) for number in range(len(ordered))]
        values = [[file.parts.get(c.name) for file in ordered] for c in parted]
        parts = engine.store_text([numbers, *values])
    if table.deleted is not None:
        deleted = engine.empty_table({"file": "BIGINT", "row": "BIGINT"})
        numbered = {file.name: number for number, file in enumerate(ordered)}
        engine.before_reading(
            partial(_import_deleted, table.deleted, numbered, deleted, proxy(engine))
        )
    selects, first = [], 0
    for group in groups:
        checked = checked_columns(group.types)
        if not group.ids and all(column.stored is None for column in table.columns):
            raise DataSourceError(
                f"{Path(group.files[0]).name} gives its columns no ids, and the table has no names "
                "for such files (schema.name-mapping.default): have the engine that wrote it "
                "rewrite its data files"
            )
        cells, needs = [], False
        for column in table.columns:
            by_id = column.number is not None and group.ids
            stored = group.ids.get(column.number or 0) if by_id else column.stored
            if column in parted and stored not in group.types:
                needs = True
                cells.append(_cell(f"p.c{parted.index(column) + 1}", "VARCHAR", column))
            elif stored in group.types:
                own = group.types[str(stored)]
                if column.kind and stored in checked:
                    raise DataSourceError(f"column {column.name!r} {checked[str(stored)]}")
                cells.append(_cell(f"m.{DUCKDB.identifier(str(stored))}", own, column))
            else:
                cells.append(_cell("null", "", column))
        sql = f"select {', '.join(cells)} from {group.view} as m"
        number = f"m.tacit_0 + {first}"
        if needs:
            sql += f" join {parts} as p on cast(p.c0 as bigint) = {number}"
        if deleted:
            sql += f' anti join {deleted} as d on d.file = {number} and d."row" = m.tacit_1'
        selects.append(sql)
        first += len(group.files)
    return f"({' union all '.join(selects)})"


def _cell(cell: str, own: str, column: LakeColumn) -> str:
    """Return the SQL of a cell of one type as the type of its column; none of them can fail."""
    name = DUCKDB.identifier(column.name)
    if not column.kind:
        return f"cast(null as varchar) as {name}"
    if own == column.kind:
        return f"{cell} as {name}"
    if own == "TIMESTAMP WITH TIME ZONE":  # a cast would be to the time zone of this machine
        cell = f"case when isfinite({cell}) then make_timestamp(epoch_us({cell})) end"
    elif own == "TIMESTAMPTZ_NS":
        cell = f"make_timestamp(epoch_ns({cell}) // 1000)"
    return f"try_cast({cell} as {column.kind}) as {name}"


def _import_deleted(
    deleted: Callable[[], Iterator[tuple[Any, Any]]],
    numbered: Mapping[str, int],
    table: str,
    engine: DuckEngine,
) -> None:
    import pyarrow as pa

    schema = pa.schema([("file", pa.int64()), ("row", pa.int64())])

    def batches(failed: list[str]) -> Iterator[Any]:
        try:
            for file, rows in deleted():
                if len(rows) and file in numbered:
                    numbers = pa.repeat(pa.scalar(numbered[file], pa.int64()), len(rows))
                    positions = pa.array(rows, pa.int64())
                    yield pa.RecordBatch.from_arrays([numbers, positions], schema=schema)
        except Exception:
            failed.append("the list of deleted rows")

    import_batches(table, schema, batches, engine)


def _type_of(declared: Any) -> str:
    """Return DuckDB's type of a column; empty where no statistic reads it.

    >>> [_type_of(t) for t in ("long", "decimal(9,2)", "decimal(9, 2)", {"type": "map"}, "fixed")]
    ['BIGINT', 'DECIMAL(9,2)', 'DECIMAL(9,2)', '', '']
    """
    digits = DECIMAL.fullmatch(declared) if isinstance(declared, str) else None
    if digits:
        return f"DECIMAL({digits[1]},{digits[2]})"
    return _TYPES.get(declared, "") if isinstance(declared, str) else ""


def _local(address: str, what: str) -> str:
    """Return the path of a local file or folder, of an address or a path."""
    kind, path = address[:7].casefold(), address  # FILE:// is one too
    if kind == "file://":
        path = unquote(address[7:])
    elif kind.startswith("file:/"):
        path = address[5:]
    if "://" in path:
        raise DataSourceError(
            f"{what} at an address ({path.partition('://')[0]}://) is not read by its log: copy "
            "the table to a local folder, with its log"
        )
    return path.rstrip("/") or "/"


@contextmanager
def refused(location: str, kind: str, advice: str) -> Iterator[None]:
    """Return a block that reads a log: an error names the table, and quotes nothing."""
    try:
        yield
        return
    except (MemoryError, UsageError, DataSourceError):
        raise
    except Exception as error:
        failure = type(error).__name__
    raise DataSourceError(
        f"the log of {location}, a table of {kind}, cannot be read ({failure}): {advice} "
        f"{_NO_DETAILS}"
    )


# ---- Delta


# What a reader of a table must know of, and this one does.
_FEATURES = {
    *("columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview"),
    *("v2Checkpoint", "vacuumProtocolCheck", "variantType", "variantType-preview"),
    *("variantShredding", "variantShredding-preview"),
}


def delta_table(root: str, version: int | None, check: Callable[[str], None]) -> LakeTable:
    """Return the table at a version, or at its latest."""
    import_table = need("deltalake", "lake").DeltaTable
    import pyarrow as pa

    log = _log_files(root, check)
    advice, beside = "it is damaged, or in a format that deltalake does not read", []
    if check is not check_nothing:
        with refused(root, "Delta", advice):
            beside = _vector_files(root, log)
    for file in beside:
        check(file)
    if version is not None:
        with refused(root, "Delta", advice):
            latest = import_table(root).version()
        if version > latest:
            raise DataSourceError(
                f"{root} has no version {version}: its latest is {latest}; name one up to that"
            )
        advice = f"its version {version} is no longer in the log, or damaged: name a later one"
    with refused(root, "Delta", advice):
        table = import_table(root, version=version)
        features = set(table.protocol().reader_features or ())
        configured = table.metadata().configuration
        fields = json.loads(table.schema().to_json())["fields"]
        actions = pa.table(table.get_add_actions())
        parted = set(table.metadata().partition_columns)
    if unknown := sorted(features - _FEATURES):
        raise DataSourceError(
            f"{root} is a table of Delta with the feature {unknown[0]}, which Tacit does not read: "
            "write its rows to a new table without it"
        )
    mapping = configured.get("delta.columnMapping.mode") or "none"
    columns = [_delta_column(field, mapping) for field in fields]
    given: dict[str, list[str | None]] = {}
    with refused(root, "Delta", advice):
        for column in columns:
            if column.name in parted and column.kind:
                cells = actions["partition"].combine_chunks().field(column.name)
                given[column.name] = cells.cast(pa.string()).to_pylist()
        paths = [_delta_path(root, path) for path in actions["path"].to_pylist()]
    files = [
        LakeFile(path, {name: cells[i] for name, cells in given.items()}, os.path.realpath(path))
        for i, path in enumerate(paths)
    ]
    deleted = None
    if "deletionVectors" in features:
        listed = frozenset(file.name for file in files)
        deleted = partial(_delta_deleted, root, table, listed)
    return LakeTable(files, columns, deleted, beside)


def _delta_path(root: str, path: str) -> str:
    if re.match(
        r"[a-zA-Z][a-zA-Z0-9+.-]*:/", path
    ):  # of another table, which this one was cloned from
        return _local(path, "a file")
    return os.path.normpath(os.path.join(root, unquote(path)))


def _delta_column(field: Mapping[str, Any], mapping: str) -> LakeColumn:
    name, declared, more = field["name"], field["type"], field.get("metadata", {})
    stored = more.get("delta.columnMapping.physicalName", name) if mapping != "none" else name
    number = more.get("delta.columnMapping.id") if mapping == "id" else None
    return LakeColumn(name, _type_of(declared), stored, number, declared == "timestamp")


def _log_files(root: str, check: Callable[[str], None]) -> list[str]:
    """Return the files of the log of a table of Delta, each of which may be read."""
    log = os.path.join(root, "_delta_log")
    check(log)
    files = []
    for folder, below, names in os.walk(log):
        files += [os.path.join(folder, name) for name in names]
        for name in below:
            if os.path.islink(os.path.join(folder, name)):  # files in it would not be seen here
                raise DataSourceError(
                    f"the log of {root} has a link in place of its folder {name}: bring the folder "
                    "itself there"
                )
    for file in files:
        check(file)
    return files


def _vector_files(root: str, log: Sequence[str]) -> list[str]:
    """Return the files of the deletion vectors that any commit or checkpoint of a log names."""
    # Of every version, since deltalake tells those of none.  What another parser could read as a
    # path that it is not here is refused.
    import pyarrow.parquet as pq

    places, prefixes = set(), set()
    for file in log:
        actions: list[dict[str, Any]] = []
        if file.endswith(".parquet"):
            columns = ["add.deletionVector", "sidecar.path"]
            actions = pq.ParquetFile(file).read(columns=columns).to_pylist()
        elif file.endswith(".json"):
            with open(file, encoding="utf-8") as lines:
                texts = [line for line in lines if line.strip()]
            actions = [json.loads(text, object_pairs_hook=_named_once) for text in texts]
        for action in actions:
            if re.search(r"[^\w.-]", (action.get("sidecar") or {}).get("path") or ""):
                raise LookupError
            vector = (action.get("add") or {}).get("deletionVector")
            kind, place = (vector["storageType"], vector["pathOrInlineDv"]) if vector else ("i", "")
            if kind == "p" and re.fullmatch(r"file:///[^\\?#\x00-\x20]+", place):
                places.add(os.path.normpath(_local(place, "a file")))
            elif kind == "u" and re.fullmatch(r"[\w-]*", place[:-20]):
                prefixes.add(place[:-20])
            elif kind != "i":
                raise LookupError
    folders = [escape(os.path.join(root, prefix)) for prefix in prefixes]
    found = [file for f in folders for file in glob(os.path.join(f, "deletion_vector_*.bin"))]
    return sorted([*places, *found])


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise LookupError
    return named


def _delta_deleted(root: str, table: Any, names: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yield the positions of the rows that deletion vectors mark, file by file."""
    # table: the one that was opened: a log that is written again would bring deleted rows back
    import numpy as np
    import pyarrow as pa

    for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
        for path, kept in zip(batch["filepath"], batch["selection_vector"], strict=True):
            name = os.path.realpath(_delta_path(root, path.as_py()))
            if name not in names:  # deleted rows must not come back for a name
                raise LookupError
            yield name, np.flatnonzero(~kept.values.to_numpy(zero_copy_only=False))


# ---- Iceberg


def iceberg_table(location: str, snapshot: str | None, check: Callable[[str], None]) -> LakeTable:
    """Return the table at a snapshot, or at its latest."""
    need("pyiceberg.table", "lake")
    from pyiceberg.table import StaticTable

    path = location if location.casefold().endswith(METADATA) else _latest_metadata(location)
    root = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    advice = "it is damaged, or in a format that pyiceberg does not read"
    with refused(location, "Iceberg", advice):
        files = _local_files(root, check)
        metadata = _metadata(path, files)
        moved = files.moved = partial(_moved, metadata.location, root)
        table = StaticTable(("table",), metadata, path, files, None)
    number = None if snapshot is None else int(snapshot)
    if number is not None and table.snapshot_by_id(number) is None:
        raise DataSourceError(
            f"{location} has no snapshot {snapshot}: it has expired, or is of another table; "
            "name one of those that its log lists"
        )
    equality = False
    with refused(location, "Iceberg", advice):
        scan = table.scan(snapshot_id=number)
        schema, specs = scan.projection(), table.specs()
        try:
            tasks = list(scan.plan_files())
        except (ValueError, NotImplementedError) as error:
            equality = "equality deletes" in str(error)
            if not equality:
                raise
    if equality:
        raise DataSourceError(
            f"{location} is a table of Iceberg with equality deletes, which pyiceberg does not "
            "read: have the engine that wrote it rewrite its data files (rewrite_data_files), or "
            "name an earlier snapshot"
        )
    with refused(location, "Iceberg", advice):
        mapping = _names_by_id(table.name_mapping())
        columns = [
            LakeColumn(
                *(f.name, _type_of(str(f.field_type)), mapping.get(f.field_id), f.field_id),
                str(f.field_type) == "timestamptz",
            )
            for f in schema.fields
        ]
        for field in schema.fields:
            if getattr(field, "initial_default", None) is not None:
                raise DataSourceError(
                    f"column {field.name!r} of {location} has a default for files that were "
                    "written before it, which Tacit does not read: rewrite its data files"
                )
        data = [_iceberg_file(task.file, specs, schema, moved) for task in tasks]
        deletes: dict[str, tuple[Any, set[str]]] = {}  # with the data files that each is for
        for task in tasks:
            for file in task.delete_files:
                deletes.setdefault(file.file_path, (file, set()))[1].add(task.file.file_path)
    for path, (file, _) in deletes.items():
        if file.file_format.value.upper() not in ("PARQUET", "PUFFIN"):
            raise DataSourceError(
                f"{Path(path).name}, which lists deleted rows of a table of Iceberg, is neither "
                "Parquet nor Puffin: rewrite its data files (rewrite_data_files)"
            )
    listed = partial(_iceberg_deleted, files, list(deletes.values())) if deletes else None
    return LakeTable(data, columns, listed)


def _latest_metadata(root: str) -> str:
    """Return the newest file of metadata in the folder of a table."""
    folder = os.path.join(root, "metadata")
    hint = os.path.join(folder, "version-hint.text")
    names = [name for name in os.listdir(folder) if name.casefold().endswith(METADATA)]
    if os.path.isfile(hint):
        with open(hint, encoding="utf-8", errors="replace") as file:
            said = file.read(200).strip()
        for name in (said, f"v{said}.metadata.json", f"{said}.metadata.json"):
            if name in names:
                return os.path.join(folder, name)
    if not names:
        raise DataSourceError(
            f"{root} looks like a table of Iceberg, and no file in its folder metadata ends in "
            f"{METADATA[0]}: bring its metadata back, or put data of another kind elsewhere"
        )
    numbered = {name: int((re.match(r"v?(\d{1,18})", name) or [0, -1])[1]) for name in names}
    latest = [name for name in names if numbered[name] == max(numbered.values())]
    if len(latest) > 1:
        raise DataSourceError(
            f"{root} is a table of Iceberg with {len(latest)} files of metadata that may be the "
            f"latest, and its catalog alone knows: name one of them, such as metadata/{latest[0]}, "
            "or in Python, pass catalog.load_table(...)"
        )
    return os.path.join(folder, latest[0])


def _moved(original: str, root: str, path: str) -> str:
    """Return where a file of a table is, which may have been moved since it was written."""
    start = original.rstrip("/") + "/"
    if path.startswith(start):
        return os.path.normpath(os.path.join(root, path[len(start) :]))
    return _local(path, "a file")


def _names_by_id(mapping: Any) -> dict[int, str]:
    """Return the names of columns in files that have no ids, where a table declares them."""
    if mapping is None:
        return {}
    return {f.field_id: f.names[0] for f in mapping.root if f.field_id is not None and f.names}


def _iceberg_file(
    file: Any, specs: Mapping[int, Any], schema: Any, moved: Callable[[str], str]
) -> LakeFile:
    name = file.file_path
    if file.file_format.value.upper() != "PARQUET" or file.key_metadata is not None:
        raise DataSourceError(
            f"{Path(name).name} of a table of Iceberg is {file.file_format.value.upper()}"
            f"{', encrypted' if file.key_metadata is not None else ''}: only Parquet files without "
            "encryption are read; rewrite the table so"
        )
    parts: dict[str, str | None] = {}
    known = {field.field_id: field for field in schema.fields}
    for index, part in enumerate(specs[file.spec_id].fields):
        field = known.get(part.source_id)
        if field is not None and str(part.transform) == "identity":
            value = file.partition[index]
            shown = (
                None if value is None else part.transform.to_human_string(field.field_type, value)
            )
            parts[field.name] = shown
    return LakeFile(moved(name), parts, name)


def _metadata(path: str, files: Any) -> Any:
    from pyiceberg.serializers import FromInputFile

    return FromInputFile.table_metadata(files.new_input(path))


def _iceberg_deleted(
    files: Any, deletes: Sequence[tuple[Any, set[str]]]
) -> Iterator[tuple[str, Any]]:
    """Yield the positions of the rows that files of deletes list, data file by data file."""
    import pyarrow.parquet as pq
    from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
    from pyiceberg.table.puffin import PuffinFile

    for file, names in deletes:
        stored = files.new_input(file.file_path).open()
        if file.file_format.value.upper() == "PUFFIN":
            for vector in deletion_vectors_from_puffin_file(PuffinFile(stored.read())):
                if vector.referenced_data_file in names:  # others have a later one elsewhere
                    yield vector.referenced_data_file, vector.to_vector().to_numpy()
            continue
        for batch in pq.ParquetFile(stored).iter_batches(columns=["file_path", "pos"]):
            paths, rows = batch["file_path"].to_numpy(False), batch["pos"].to_numpy(False)
            for path in names.intersection(paths):
                yield path, rows[paths == path]


def _local_files(root: str, check: Callable[[str], None]) -> Any:
    """Return what pyiceberg opens files with: local ones that may be read, and no others."""
    from pyiceberg.io import FileIO, InputFile

    class Local(InputFile):  # type: ignore[misc]
        def __init__(self, location: str, path: str) -> None:
            super().__init__(location)
            self._path = path

        def __len__(self) -> int:
            return os.path.getsize(self._path)

        def exists(self) -> bool:
            return os.path.isfile(self._path)

        def open(self, seekable: bool = True) -> Any:
            with open(self._path, "rb") as file:
                return io.BytesIO(file.read())

    class LocalFiles(FileIO):  # type: ignore[misc]
        moved: Callable[[str], str] = staticmethod(partial(_local, what="a file"))

        def new_input(self, location: str) -> Any:
            path = self.moved(location)
            check(path)
            return Local(location, path)

        def new_output(self, location: str) -> Any:
            raise NotImplementedError

        def delete(self, location: Any) -> None:
            raise NotImplementedError

    return LocalFiles()
