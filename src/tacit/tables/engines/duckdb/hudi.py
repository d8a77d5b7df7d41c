"""Tables of Hudi for DuckDB, read by their timelines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from tacit.errors import DataSourceError, need
from tacit.tables.engines.duckdb.lake import (
    DECIMAL,
    LakeColumn,
    LakeFile,
    LakeTable,
    refused,
)
from tacit.tables.engines.duckdb.schema_files import avro_type, present_type

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

_VERSIONS = ("6", "8", "9")
_WRITES = ("commit", "deltacommit", "replacecommit", "compaction", "logcompaction", "clustering")
_INSTANT = re.compile(r"(\d{14,17})(?:_(\d{14,17}))?\.([a-z]+)(\.[a-z]+)?")
_BASE = re.compile(r"([^_]+)_[\d-]+_(\d{14,17})\.parquet")
_LOG = re.compile(r"\.(.+)_(\d{14,17})\.log\.\d+(?:_\d+-\d+-\d+)?")  # not one of changes (.cdc)
_OWN = (
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


def hudi_table(root: str, instant: str | None, check: Callable[[str], None]) -> LakeTable:
    """Return the table at an instant, or at its latest commit."""
    need("pyarrow", "lake")
    advice = "it is damaged, or in a format that Tacit does not read"
    own = os.path.join(root, ".hoodie")
    check(own)
    with refused(root, "Hudi", advice):
        properties = _properties(os.path.join(own, "hoodie.properties"), check)
        is_new = _version(root, properties) != "6"
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
    with refused(root, "Hudi", advice):
        commits = {
            at: _commit(timeline.completed[at][1], is_new) for at in sorted(timeline.completed)
        }
        paths = _slices(root, upto, timeline, commits, is_new, check)
        columns = _columns(root, upto, commits, properties)
        given = properties.get("hoodie.table.partition.fields", "").split(",")
        fields = [name for field in given if (name := field.partition(":")[0].strip())]
        dropped = properties.get("hoodie.datasource.write.drop.partition.columns") == "true"
    if not dropped:
        return LakeTable([LakeFile(path, {}) for path in paths], columns)
    known = {column.name for column in columns}  # one that no commit declares is text
    columns += [LakeColumn(name, "VARCHAR", name) for name in fields if name not in known]
    return LakeTable([LakeFile(p, _parts(root, p, fields, properties)) for p in paths], columns)


def _properties(path: str, check: Callable[[str], None]) -> dict[str, str]:
    r"""Return the properties in a file of Java.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
    ...     _ = file.write("#Of a table\na.b=c\\=d\\u00e9\n")
    ...     file.flush()
    ...     _properties(file.name, lambda path: None)
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


def _version(root: str, properties: Mapping[str, str]) -> str:
    """Return the version of a table of Hudi that is read, or raise."""
    version = properties.get("hoodie.table.version", "")
    problem = ""
    if version not in _VERSIONS:
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
            f"{', '.join(_VERSIONS)}; {_REMEDY}"
        )
    return version


_REMEDY = "have Hudi upgrade it, or write its current rows to a new table"


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
    for part, name in _files(root, check):
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


def _files(root: str, check: Callable[[str], None]) -> Iterator[tuple[str, str]]:
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


def _columns(
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
                f"which Tacit does not read: {_REMEDY}"
            )
    columns = []
    for field in json.loads(declared)["fields"]:
        name, kind = field["name"], str(avro_type(present_type(field["type"])))
        digits = DECIMAL.fullmatch(kind.replace("decimal128", "decimal"))
        type_ = f"DECIMAL({digits[1]},{digits[2]})" if digits else _ARROW_TYPES.get(kind, "")
        if kind.startswith("timestamp"):
            type_ = "TIMESTAMP"
        if name not in _OWN:
            columns.append(LakeColumn(name, type_, name, None, kind.endswith("tz=UTC]")))
    return columns


def _parts(
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
