"""Tables of Hudi, which has no writer in Python: written as its format is published.

Versions 6 and 8 of https://hudi.apache.org/tech-specs and https://hudi.apache.org/tech-specs-1point0:
``hoodie.properties``, instants of a timeline with the metadata of their commits, and base files
with the columns of Hudi before those of the table.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

OWN = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
_AVRO: dict[Any, Any] = {
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
    pa.decimal128(9, 2): {
        "type": "fixed",
        "name": "fixed",
        "size": 4,
        "logicalType": "decimal",
        "precision": 9,
        "scale": 2,
    },
    pa.list_(pa.int64()): {"type": "array", "items": "long"},
}
_STAT = {
    "fileId": "string",
    "path": "string",
    "prevCommit": "string",
    "numWrites": "long",
    "fileSizeInBytes": "long",
    "partitionPath": "string",
    "baseFile": "string",
}


def avro_schema(schema: pa.Schema) -> str:
    fields = [
        {"name": field.name, "type": ["null", _AVRO[field.type]], "default": None}
        for field in schema
    ]
    return json.dumps({"type": "record", "name": "t_record", "fields": fields})


class Hudi:
    """A table of Hudi that is written commit by commit."""

    def __init__(self, folder: Path, version: int = 6, **properties: str) -> None:
        self.folder, self.version = folder, version
        self.timeline = folder / ".hoodie" / ("timeline" if version >= 8 else "")
        self.timeline.mkdir(parents=True)
        own = {
            "hoodie.table.name": "t",
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.version": str(version),
            "hoodie.timeline.layout.version": "2" if version >= 8 else "1",
            "hoodie.table.base.file.format": "PARQUET",
            "hoodie.table.recordkey.fields": "p",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        }
        named = {f"hoodie.{key.replace('__', '.')}": value for key, value in properties.items()}
        lines = [f"{key}={value}" for key, value in (own | named).items()]
        (folder / ".hoodie" / "hoodie.properties").write_text("\n".join(["#Properties", *lines]))

    def base_file(
        self, at: str, file: str, data: pa.Table, part: str = "", was: str = "null"
    ) -> dict[str, Any]:
        """Write a base file of a file group; return what its commit says of it."""
        name = f"{file}_0-1-0_{at}.parquet"
        path = self.folder / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".hoodie_partition_metadata").write_text(f"commitTime={at}\n")
        keys = [str(row) for row in range(len(data))]
        cells = [at, at, keys, part, name]
        own = [pa.array(c if isinstance(c, list) else [c] * len(data), pa.string()) for c in cells]
        stored = pa.table(
            [*own, *data.columns], names=[*(f"_hoodie_{n}" for n in OWN), *data.column_names]
        )
        pq.write_table(stored, path)
        size = path.stat().st_size
        return {
            "fileId": file,
            "path": f"{part}/{name}".lstrip("/"),
            "prevCommit": was,
            "numWrites": len(data),
            "fileSizeInBytes": size,
            "partitionPath": part,
        }

    def commit(
        self,
        at: str,
        stats: Sequence[Mapping[str, Any]],
        schema: pa.Schema | None,
        *,
        action: str = "commit",
        replaced: Mapping[str, Sequence[str]] | None = None,
        is_completed: bool = True,
        **extra: str,
    ) -> None:
        """Write an instant of the timeline."""
        parts: dict[str, list[Mapping[str, Any]]] = {}
        for stat in stats:
            parts.setdefault(stat["partitionPath"], []).append(stat)
        more = dict(extra) if schema is None else {"schema": avro_schema(schema), **extra}
        metadata: dict[str, Any] = {
            "partitionToWriteStats": parts,
            "extraMetadata": more,
            "operationType": "UPSERT" if replaced is None else "INSERT_OVERWRITE",
        }
        if replaced is not None:
            metadata["partitionToReplaceFileIds"] = replaced
        inflight = "inflight" if (self.version, action) == (6, "commit") else f"{action}.inflight"
        (self.timeline / f"{at}.{action}.requested").write_bytes(b"")
        (self.timeline / f"{at}.{inflight}").write_bytes(b"")
        if not is_completed:
            return
        if self.version >= 8:
            (self.timeline / f"{at}_{int(at) + 500}.{action}").write_bytes(_in_avro(metadata))
        else:
            (self.timeline / f"{at}.{action}").write_text(json.dumps(metadata))

    def write(self, at: str, file: str, data: pa.Table, part: str = "", was: str = "null") -> None:
        """Commit one base file."""
        self.commit(at, [self.base_file(at, file, data, part, was)], data.schema)

    def log_file(self, at: str, file: str, part: str = "") -> None:
        (self.folder / part / f".{file}_{at}.log.1_0-1-0").write_bytes(b"#HUDI#")


def _in_avro(metadata: Mapping[str, Any]) -> bytes:
    """Return the metadata of a commit as version 8 stores it."""
    import fastavro

    def fields(kinds: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"name": n, "type": ["null", k], "default": None} for n, k in kinds.items()]

    stat = {"type": "record", "name": "HoodieWriteStat", "fields": fields(_STAT)}
    kinds: dict[str, Any] = {
        "partitionToWriteStats": {"type": "map", "values": {"type": "array", "items": stat}},
        "extraMetadata": {"type": "map", "values": "string"},
        "operationType": "string",
    }
    name = "HoodieCommitMetadata"
    if "partitionToReplaceFileIds" in metadata:
        name = "HoodieReplaceCommitMetadata"
        ids = {"type": "array", "items": "string"}
        kinds["partitionToReplaceFileIds"] = {"type": "map", "values": ids}
    schema = {
        "type": "record",
        "name": name,
        "namespace": "org.apache.hudi.avro.model",
        "fields": fields(kinds),
    }
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema), [metadata])
    return file.getvalue()
