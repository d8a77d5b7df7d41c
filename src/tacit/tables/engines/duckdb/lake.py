"""Tables of Delta, Iceberg and Hudi for DuckDB, read by their logs."""

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
from tacit.tables.engines.duckdb.schema_files import avro_type, present_type
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
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
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
    location: str,
    version: Any,
    engine: DuckEngine,
    check: Callable[[str], None],
) -> tuple[str, Schema, list[str]]:
    """Return the relation that a version of a table will be, its columns, and its files."""
    read: Mapping[str, Callable[[str, Any, Callable[[str], None]], LakeTable]] = {
        "Delta": _delta,
        "Iceberg": _iceberg,
        "Hudi": _hudi,
    }
    table = read[kind](location, version, check)
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
    digits = _DECIMAL.fullmatch(declared) if isinstance(declared, str) else None
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
def _refused(location: str, kind: str, advice: str) -> Iterator[None]:
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


def _delta(root: str, version: int | None, check: Callable[[str], None]) -> LakeTable:
    import_table = need("deltalake", "lake").DeltaTable
    import pyarrow as pa

    log = _log_files(root, check)
    advice, beside = "it is damaged, or in a format that deltalake does not read", []
    if check is not check_nothing:
        with _refused(root, "Delta", advice):
            beside = _vector_files(root, log)
    for file in beside:
        check(file)
    if version is not None:
        with _refused(root, "Delta", advice):
            latest = import_table(root).version()
        if version > latest:
            raise DataSourceError(
                f"{root} has no version {version}: its latest is {latest}; name one up to that"
            )
        advice = f"its version {version} is no longer in the log, or damaged: name a later one"
    with _refused(root, "Delta", advice):
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
    with _refused(root, "Delta", advice):
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


def _iceberg(location: str, snapshot: str | None, check: Callable[[str], None]) -> LakeTable:
    need("pyiceberg.table", "lake")
    from pyiceberg.table import StaticTable

    path = location if location.casefold().endswith(METADATA) else _latest_metadata(location)
    root = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    advice = "it is damaged, or in a format that pyiceberg does not read"
    with _refused(location, "Iceberg", advice):
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
    with _refused(location, "Iceberg", advice):
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
    with _refused(location, "Iceberg", advice):
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


# ---- Hudi

# *What a table is.*  A file group is one set of rows, by its folder and its id; each commit that
# changes some of them writes the whole group to a new base file, whose name has the commit's
# instant.  At an instant, the table is the latest base file of each group, of those whose commits
# completed, without the groups that a completed commit replaced.  Source: the specifications of
# versions 6 and 8 of the format (https://hudi.apache.org/tech-specs, .../tech-specs-1point0).
#
# *Old commits* leave the timeline (they are archived), so a base file from before all of it counts
# too.  Archiving stops before the oldest commit that is pending, and writes of those that failed
# are removed before; what a savepoint keeps in the timeline is older than what was archived.
#
# *A file that is gone* must not be rows that are gone: what a commit says that it wrote, or wrote
# again (``prevCommit``), is a version of its group whether the file is there or not.
#
# This is read here and not by hudi-rs (0.5.0), which reads other rows, without a word, of a table
# whose files were cleaned, and of one with a commit at an hour that the clock of this machine
# leaves out: see docs/lake-tables.md.

_HUDI_VERSIONS = ("6", "8", "9")
_WRITES = ("commit", "deltacommit", "replacecommit", "compaction", "logcompaction", "clustering")
_INSTANT = re.compile(r"(\d{14,17})(?:_(\d{14,17}))?\.([a-z]+)(\.[a-z]+)?")
_BASE = re.compile(r"([^_]+)_[\d-]+_(\d{14,17})\.parquet")
_LOG = re.compile(r"\.(.+)_(\d{14,17})\.log\.\d+(?:_\d+-\d+-\d+)?")  # not one of changes (.cdc)
_HUDI_OWN = (
    *("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"),
    *("_hoodie_partition_path", "_hoodie_file_name", "_hoodie_operation"),
)
_PARTITION = ".hoodie_partition_metadata"  # in each folder of the table; not in one of copies
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_ARROW_TYPES = {
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32[day]": "DATE",
}


class _Timeline(NamedTuple):
    """The commits of a table of Hudi."""

    completed: dict[str, tuple[str, str]]  # by instant: when it completed, and the file of it
    start: str  # what is before is archived

    def has(self, instant: str) -> bool:
        return instant in self.completed or instant < self.start


def _hudi(root: str, instant: str | None, check: Callable[[str], None]) -> LakeTable:
    need("pyarrow", "lake")
    advice = "it is damaged, or in a format that Tacit does not read"
    own = os.path.join(root, ".hoodie")
    check(own)
    with _refused(root, "Hudi", advice):
        properties = _properties(os.path.join(own, "hoodie.properties"), check)
        is_new = _hudi_version(root, properties) != "6"
        folder = properties.get("hoodie.timeline.path", "timeline") if is_new else ""
        timeline = _timeline(os.path.join(own, folder), check)
    if is_new:  # what it says of its commits is in Avro
        need("fastavro", "lake")
    if instant is not None and instant not in timeline.completed:
        there = ", ".join(sorted(timeline.completed)[-3:])
        raise DataSourceError(
            f"{root} has no completed commit at the instant {instant}"
            + (f": its latest are {there}; name one that its timeline lists" if there else "")
        )
    upto = max(timeline.completed, default="") if instant is None else instant
    with _refused(root, "Hudi", advice):
        commits = {
            at: _commit(timeline.completed[at][1], is_new) for at in sorted(timeline.completed)
        }
        paths = _slices(root, upto, timeline, commits, is_new, check)
        columns = _hudi_columns(root, upto, commits, properties)
        given = properties.get("hoodie.table.partition.fields", "").split(",")
        fields = [name for field in given if (name := field.partition(":")[0].strip())]
        dropped = properties.get("hoodie.datasource.write.drop.partition.columns") == "true"
    if not dropped:
        return LakeTable([LakeFile(path, {}) for path in paths], columns)
    known = {column.name for column in columns}  # one that no commit declares is text
    columns += [LakeColumn(name, "VARCHAR", name) for name in fields if name not in known]
    return LakeTable(
        [LakeFile(p, _hudi_parts(root, p, fields, properties)) for p in paths], columns
    )


def _properties(path: str, check: Callable[[str], None]) -> dict[str, str]:
    r"""Return the properties in a file of Java.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
    ...     _ = file.write("#Of a table\na.b=c\\=d\\u00e9\n")
    ...     file.flush()
    ...     _properties(file.name, check_nothing)
    {'a.b': 'c=dé'}
    """
    check(path)
    properties = {}
    with open(path, encoding="latin-1") as file:
        for line in file:
            name, equals, value = line.strip().partition("=")
            if equals and name[0] not in "#!":
                properties[name] = re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", _unescaped, value)
    return properties


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]


def _hudi_version(root: str, properties: Mapping[str, str]) -> str:
    """Return the version of a table of Hudi that is read, or raise."""
    version = properties.get("hoodie.table.version", "")
    problem = ""
    if version not in _HUDI_VERSIONS:
        problem = f"in version {version} of its format" if version.isdigit() else "of no version"
    elif properties.get("hoodie.table.base.file.format", "PARQUET").upper() != "PARQUET":
        problem = "whose files are not Parquet"
    elif properties.get("hoodie.table.multiple.base.file.formats.enable") == "true":
        problem = "with files of several formats"
    elif properties.get("hoodie.bootstrap.base.path"):
        problem = "that was made of the files of another one (bootstrap)"
    if problem:
        raise DataSourceError(
            f"{root} is a table of Hudi {problem}: read are Parquet files of the versions "
            f"{', '.join(_HUDI_VERSIONS)}; {_HUDI_REMEDY}"
        )
    return version


_HUDI_REMEDY = "have Hudi upgrade it, or write its current rows to a new table"


def _timeline(folder: str, check: Callable[[str], None]) -> _Timeline:
    check(folder)
    completed: dict[str, tuple[str, str]] = {}
    saved, pending = set(), set()
    for name in os.listdir(folder):
        match = _INSTANT.fullmatch(name)
        if match is None:
            continue
        at, done, action, state = match.groups()
        if action == "savepoint":
            saved.add(at)
        elif state or action in ("inflight", "requested"):  # a commit has no action there
            pending |= {at} if action in (*_WRITES, "inflight", "requested") else set()
        elif action in ("commit", "deltacommit", "replacecommit"):
            path = os.path.join(folder, name)
            check(path)
            completed[at] = (done or at, path)
    started = {at for at in (*completed, *pending) if at not in saved}
    return _Timeline(completed, min(started or completed, default=""))


def _commit(path: str, is_new: bool) -> Mapping[str, Any]:
    """Return the metadata of a commit: in versions 8 and 9 in Avro, before in JSON."""
    if not is_new:
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
    else:
        with open(path, "rb") as packed:
            (read,) = need("fastavro", "lake").reader(packed)
    metadata: Mapping[str, Any] = read
    return metadata


def _slices(
    root: str,
    upto: str,
    timeline: _Timeline,
    commits: Mapping[str, Mapping[str, Any]],
    is_new: bool,
    check: Callable[[str], None],
) -> list[str]:
    """Return the base files that a table consists of at an instant."""
    groups: dict[tuple[str, str], dict[str, str]] = {}  # by folder and id: the files by instant
    logs: list[tuple[str, str, str]] = []
    for part, name in _hudi_files(root, check):
        if (base := _BASE.fullmatch(name)) and timeline.has(base[2]):
            files = groups.setdefault((part, base[1]), {})
            if files.setdefault(base[2], name) != name:  # which of them counts, no one says
                raise LookupError
        elif (log := _LOG.fullmatch(name)) and (not is_new or timeline.has(log[2])):
            logs.append((part, log[1], log[2]))
    gone = set()
    for at, metadata in commits.items():
        for part, ids in (metadata.get("partitionToReplaceFileIds") or {}).items():
            gone |= {(part, file) for file in ids if at <= upto}
        for part, stats in (metadata.get("partitionToWriteStats") or {}).items():
            for stat in stats:
                files = groups.setdefault((part, stat["fileId"]), {})
                name = (stat.get("path") or "").rpartition("/")[2]
                if base := _BASE.fullmatch(name):
                    files.setdefault(base[2], name)
                elif name and not _LOG.fullmatch(name):
                    raise LookupError
                if (before := stat.get("prevCommit") or "").isdigit():
                    files.setdefault(before, f"a file of the instant {before}")
    latest = {
        group: max(at for at in files if at <= upto)
        for group, files in groups.items()
        if group not in gone and any(at <= upto for at in files)
    }
    for part, file, at in logs:
        # Before version 8 a log has the instant of the base file that it changes, else its own.
        own = timeline.completed.get(at, (at, ""))[0] if is_new else at
        if (part, file) not in gone and at <= upto and own >= latest.get((part, file), ""):
            raise DataSourceError(
                f"{root} is a table of Hudi with changes that are not in its base files (merge on "
                "read), which Tacit does not merge: have Hudi compact it, or write its current "
                "rows to a new table"
            )
    chosen = [(part, groups[part, file][at]) for (part, file), at in latest.items()]
    return sorted(os.path.join(root, part, name) for part, name in chosen)


def _hudi_files(root: str, check: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """Yield the folder, as commits name it, and the name of each file in a folder of the table."""
    for folder, below, names in os.walk(root):
        if folder == root:
            below.remove(".hoodie")
        check(folder)
        for name in below:
            if os.path.islink(os.path.join(folder, name)):  # files in it would not be seen here
                raise DataSourceError(
                    f"{root} has a link in place of its folder {name}: bring the folder itself "
                    "there"
                )
        if folder == root or any(name.startswith(_PARTITION) for name in names):
            part = Path(os.path.relpath(folder, root)).as_posix()
            yield from (("" if part == "." else part, name) for name in names)


def _hudi_columns(
    root: str,
    upto: str,
    commits: Mapping[str, Mapping[str, Any]],
    properties: Mapping[str, str],
) -> list[LakeColumn]:
    """Return the columns that the latest commit declares, up to an instant."""
    declared = properties.get("hoodie.table.create.schema", "")
    for at, metadata in commits.items():
        extra = metadata.get("extraMetadata") or {}
        declared = extra.get("schema") or declared if at <= upto else declared
        if at <= upto and extra.get("latest_schema"):
            raise DataSourceError(
                f"{root} is a table of Hudi whose columns may have been renamed (schema on read), "
                f"which Tacit does not read: {_HUDI_REMEDY}"
            )
    columns = []
    for field in json.loads(declared)["fields"]:
        name, kind = field["name"], str(avro_type(present_type(field["type"])))
        digits = _DECIMAL.fullmatch(kind.replace("decimal128", "decimal"))
        type_ = f"DECIMAL({digits[1]},{digits[2]})" if digits else _ARROW_TYPES.get(kind, "")
        if kind.startswith("timestamp"):
            type_ = "TIMESTAMP"
        if name not in _HUDI_OWN:
            columns.append(LakeColumn(name, type_, name, None, kind.endswith("tz=UTC]")))
    return columns


def _hudi_parts(
    root: str, path: str, fields: Sequence[str], properties: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the values in the folders of a file, of columns that no file has."""
    maker = properties.get("hoodie.table.keygenerator.type") or properties.get(
        "hoodie.table.keygenerator.class", ""
    )
    folders = Path(os.path.relpath(os.path.dirname(path), root)).parts
    if not re.search("SIMPLE|COMPLEX", maker.upper()) or len(folders) != len(fields):
        raise DataSourceError(
            f"{root} is a table of Hudi without its partition columns in its files, and its "
            "folders are not their values: write its current rows to a new table"
        )
    parts: dict[str, str | None] = {}
    for name, folder in zip(fields, folders, strict=True):
        value = folder
        if properties.get("hoodie.datasource.write.hive_style_partitioning") == "true":
            value = folder.removeprefix(f"{name}=")
        if properties.get("hoodie.datasource.write.partitionpath.urlencode") == "true":
            value = unquote(value)
        parts[name] = None if value == _NO_VALUE else value
    return parts
