"""The file of a collector: written whole or not at all, and never read if it was damaged.

The file: ``"TACITLC1"``, the length of a JSON header (8 bytes), the header, the sums as
little-endian int64, the memory of ids, and the SHA-256 of all before.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.errors import DataSourceError, UsageError
from tacit.local.base.oracle import Oracle, oracle_from
from tacit.local.collecting.replay_guard import Seen, Shards, seen_from
from tacit.local.collecting.wire import REASONS, Reason
from tacit.outside import read_json

__all__ = ["Kept", "read_kept", "write_kept", "write_whole"]

_MAGIC = b"TACITLC1"
_DIGEST = 32


@dataclass(frozen=True)
class Kept:
    """All that a collector knows."""

    oracle: Oracle
    n: int
    sums: NDArray[np.int64]
    refused: Mapping[Reason, int]
    seen: Seen | None
    shards: Shards | None
    outliers: str | None


def write_kept(path: Path, kept: Kept) -> None:
    """Save to a file, which after a crash is either complete or the former one.

    Raises:
        DataSourceError: the file cannot be written.
    """
    memory = b"" if kept.seen is None else kept.seen.to_bytes()
    header = {
        "oracle": kept.oracle.describe(),
        "fingerprint": kept.oracle.fingerprint,
        "n": kept.n,
        "sums": len(kept.sums),
        "refused": dict(kept.refused),
        "replay": None if kept.seen is None else kept.seen.kind,
        "shards": None if kept.shards is None else kept.shards.describe(),
        "outliers": kept.outliers,
    }
    text = json.dumps(header, sort_keys=True).encode()
    sums = kept.sums.astype("<i8").tobytes()
    body = b"".join([_MAGIC, len(text).to_bytes(8, "little"), text, sums, memory])
    write_whole(path, body + hashlib.sha256(body).digest())


def read_kept(path: Path) -> Kept:
    """Read what :func:`write_kept` wrote.

    Raises:
        DataSourceError: the file cannot be read, is not that of a collector, or was damaged.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataSourceError(f"{path.name} cannot be read: {error.strerror}") from None
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if not body.startswith(_MAGIC):
        raise DataSourceError(f"{path.name} is not the state of a collector")
    if hashlib.sha256(body).digest() != digest:
        raise DataSourceError(f"{path.name} is damaged: its checksum does not hold; use a copy")
    try:
        return _resumed(body[len(_MAGIC) :])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataSourceError(f"{path.name} is not a state that can be resumed: {error}") from None


def _resumed(body: bytes) -> Kept:
    length = int.from_bytes(body[:8], "little")
    header, rest = read_json(body[8 : 8 + length], "its head"), body[8 + length :]
    oracle = oracle_from(header["oracle"])
    if oracle.fingerprint != header["fingerprint"]:
        raise UsageError("its mechanism is built differently by this version of Tacit")
    cut = 8 * as_integer(header["sums"], "the number of sums", minimum=0)
    seen = None if header["replay"] is None else seen_from(header["replay"], rest[cut:])
    if seen is None and len(rest) > cut:
        raise UsageError("there are bytes left over")
    sums = np.frombuffer(rest[:cut], "<i8").astype(np.int64)
    if sums.shape != oracle.empty().sums.shape:
        raise UsageError("its sums are not those of its mechanism")
    shards = header.get("shards")
    return Kept(
        oracle,
        as_integer(header["n"], "the number of reports", minimum=0),
        sums,
        _refused(header["refused"]),
        seen,
        None if shards is None else Shards.from_description(shards),
        header["outliers"],
    )


def _refused(told: Mapping[str, Any]) -> dict[Reason, int]:
    if set(told) - set(REASONS):
        raise UsageError(
            "reports were refused for reasons that this version of Tacit does not know"
        )
    counts = {reason: as_integer(told.get(reason, 0), reason, minimum=0) for reason in REASONS}
    return {reason: count for reason, count in counts.items() if count}


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by another at once: written beside it, forced to the disk, then renamed."""
    try:
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise DataSourceError(f"{path.name} cannot be written: {error.strerror}") from None
