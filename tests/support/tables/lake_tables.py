"""Tables of Delta and Iceberg with logs that their Python writers do not write."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    data += bytes(-len(data) % 4)
    text = ""
    for start in range(0, len(data), 4):
        number = int.from_bytes(data[start : start + 4], "big")
        text += "".join(Z85[number // 85**power % 85] for power in range(4, -1, -1))
    return text


def commit(folder: Path, version: int, actions: Sequence[Mapping[str, Any]]) -> None:
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


def added(folder: Path) -> list[dict[str, Any]]:
    """Return the files that the first commit of a table of Delta added."""
    first = (folder / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    return [action["add"] for action in map(json.loads, first) if "add" in action]


def delete_by_vector(folder: Path, version: int, path: str, rows: Sequence[int]) -> None:
    """Commit a deletion vector for one of the first files of a table of Delta."""
    from pyroaring import BitMap

    (add,) = [add for add in added(folder) if add["path"] == path]
    bitmap = struct.pack("<IQI", 1681511377, 1, 0) + BitMap(rows).serialize()
    vector = {"storageType": "i", "pathOrInlineDv": z85(bitmap), "sizeInBytes": len(bitmap)}
    marked = {**add, "deletionVector": {**vector, "cardinality": len(rows)}}
    remove = {"path": path, "dataChange": True, "deletionTimestamp": 1, "size": add["size"]}
    commit(folder, version, [{"remove": remove}, {"add": marked}])


def mapped_table(folder: Path, mode: str, data: Any, names: Mapping[str, str]) -> None:
    """Write a table of Delta whose columns have other names in its file."""
    import pyarrow.parquet as pq

    folder.mkdir()
    pq.write_table(data, folder / "f.parquet")
    fields = [
        {
            "name": name,
            "type": kind,
            "nullable": True,
            "metadata": {
                "delta.columnMapping.id": number,
                "delta.columnMapping.physicalName": f"col-{number}",
            },
        }
        for number, (name, kind) in enumerate(names.items(), 1)
    ]
    metadata = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "createdTime": 1,
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["day"],
        "configuration": {
            "delta.columnMapping.mode": mode,
            "delta.columnMapping.maxColumnId": str(len(names)),
        },
    }
    file = {
        "path": "f.parquet",
        "size": os.path.getsize(folder / "f.parquet"),
        "partitionValues": {f"col-{len(names)}": "2024-01-02"},
        "modificationTime": 1,
        "dataChange": True,
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    commit(folder, 0, [{"protocol": protocol}, {"metaData": metadata}, {"add": file}])


def iceberg_catalog(folder: Path) -> Any:
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("c", type="in-memory", warehouse=folder.as_uri())
    catalog.create_namespace("n")
    return catalog


def delete_by_file(table: Any, content: str, form: str, data: bytes) -> str:
    """Write a snapshot of a table of Iceberg with a file of deletes; return its metadata."""
    from pyiceberg.manifest import (
        DataFile,
        DataFileContent,
        FileFormat,
        ManifestContent,
        ManifestEntry,
        ManifestEntryStatus,
        ManifestWriterV2,
        write_manifest_list,
    )
    from pyiceberg.table.snapshots import Operation, Snapshot, Summary

    class Deletes(ManifestWriterV2):
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

        def prepare_entry(self, entry: Any) -> Any:
            return entry

    root, new = table.location(), 77
    path = f"{root}/data/deletes.{form.lower()}"
    Path(path.removeprefix("file://")).write_bytes(data)
    file = DataFile.from_args(
        content=DataFileContent[content],
        file_path=path,
        file_format=FileFormat[form],
        partition=table_partition(),
        record_count=1,
        file_size_in_bytes=len(data),
        equality_ids=[1] if content == "EQUALITY_DELETES" else None,
    )
    file.spec_id = table.spec().spec_id
    current = table.current_snapshot()
    number = current.sequence_number + 1
    manifest = f"{root}/metadata/deletes-m0.avro"
    with Deletes(
        table.spec(), table.schema(), table.io.new_output(manifest), new, "null"
    ) as writer:
        writer.add_entry(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED,
                snapshot_id=new,
                sequence_number=number,
                file_sequence_number=number,
                data_file=file,
            )
        )
    written = writer.to_manifest_file()
    listed = f"{root}/metadata/snap-deletes.avro"
    output = table.io.new_output(listed)
    with write_manifest_list(2, output, new, current.snapshot_id, number, "null") as manifests:
        manifests.add_manifests([written, *current.manifests(table.io)])
    snapshot = Snapshot(
        snapshot_id=new,
        parent_snapshot_id=current.snapshot_id,
        sequence_number=number,
        timestamp_ms=current.timestamp_ms + 1,
        manifest_list=listed,
        summary=Summary(Operation.DELETE),
        schema_id=table.schema().schema_id,
    )
    old = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(old.read_text())
    metadata["snapshots"].append(json.loads(snapshot.model_dump_json()))
    metadata["current-snapshot-id"] = new
    metadata["refs"]["main"]["snapshot-id"] = new
    metadata["last-sequence-number"] = number
    location = old.parent / "00099-deletes.metadata.json"
    location.write_text(json.dumps(metadata))
    return str(location)


def table_partition() -> Any:
    from pyiceberg.typedef import Record

    return Record()


def puffin(path: str, rows: Sequence[int]) -> bytes:
    """Return a file of one deletion vector of Iceberg."""
    from pyroaring import BitMap

    bitmap = struct.pack("<I", 1) + bytes(4) + struct.pack("<I", 0) + BitMap(rows).serialize()
    body = b"\xd1\xd3\x39\x64" + bitmap
    blob = struct.pack(">I", len(body)) + body + bytes(4)
    fields = {
        "type": "deletion-vector-v1",
        "fields": [],
        "snapshot-id": 77,
        "sequence-number": 2,
        "offset": 4,
        "length": len(blob),
        "properties": {"referenced-data-file": path},
    }
    footer = json.dumps({"blobs": [fields]}).encode()
    magic = b"PFA1"
    return magic + blob + magic + footer + struct.pack("<I", len(footer)) + bytes(4) + magic
