"""Files of reports, and their shuffling."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.calls import public
from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.local.oracle import Oracle, oracle_from
from tacit.local.wire import ID_BYTES, Reason, Wire, mechanism_code
from tacit.noise import random_bytes
from tacit.noise.bits import words64
from tacit.outside import read_json

# Batch files: a header once, then records of one size; read in bounded memory, appended safely.


MAGIC = b"TACITLB"
VERSION = 1
_FIXED = struct.Struct("<7sB32s2sHIII")
_WITH_IDS = 1
_LONGEST_DESCRIPTION = 1 << 26
CHUNK_BYTES = 1 << 23


@dataclass(frozen=True)
class Header:
    """The header of a batch file."""

    # ====== ===== ==========================================================
    # offset bytes content
    # ====== ===== ==========================================================
    # 0      7     "TACITLB"
    # 7      1     version, 1
    # 8      32    fingerprint of the mechanism: SHA-256 of its description
    # 40     2     mechanism: the first two bytes of the SHA-256 of its name
    # 42     2     1 where records carry ids, else 0
    # 44     4     bits of a payload
    # 48     4     bytes of the description
    # 52     4     CRC-32 of everything before, and of the description
    # 56     .     the description, as JSON
    # ====== ===== ==========================================================

    fingerprint: bytes
    mechanism: bytes
    with_ids: bool
    payload_bits: int
    description: bytes

    @classmethod
    def of(cls, oracle: Oracle, with_ids: bool) -> Header:
        """Return the header of a file of this mechanism's reports."""
        wire = Wire(oracle)
        text = json.dumps(oracle.describe(), sort_keys=True, separators=(",", ":")).encode()
        code = mechanism_code(wire.name)
        return cls(wire.fingerprint, code, with_ids, oracle.layout.bits, text)

    @property
    def record_bytes(self) -> int:
        """The size of one record."""
        return (self.payload_bits + 7) // 8 + ID_BYTES * self.with_ids

    @property
    def size(self) -> int:
        """The size of the header."""
        return _FIXED.size + len(self.description)

    def pack(self) -> bytes:
        """Return the bytes of the header."""
        fields = (MAGIC, VERSION, self.fingerprint, self.mechanism, int(self.with_ids))
        sizes = (self.payload_bits, len(self.description))
        check = zlib.crc32(_FIXED.pack(*fields, *sizes, 0)[:-4] + self.description)
        return _FIXED.pack(*fields, *sizes, check) + self.description

    def oracle(self) -> Oracle:
        """Build the mechanism that the file describes."""
        try:
            made = oracle_from(read_json(self.description))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the file does not describe a local mechanism: {error}") from None
        if bytes.fromhex(made.fingerprint) != self.fingerprint:
            raise UsageError("the file's description and its fingerprint do not agree")
        return made

    def refusal(self, oracle: Oracle) -> Reason | None:
        """Return why records of this file are not reports of ``oracle``, or None if they are."""
        wanted = Header.of(oracle, self.with_ids)
        if self.mechanism != wanted.mechanism:
            return "mechanism"
        same = self.fingerprint == wanted.fingerprint and self.payload_bits == wanted.payload_bits
        return None if same else "schema"


def read_header(file: BinaryIO) -> Header | Reason:
    """Read the header at the start of an open file, or say why there is none."""
    fixed = file.read(_FIXED.size)
    if fixed[:7] != MAGIC:
        return "not a report"
    if len(fixed) < _FIXED.size:
        return "length"
    _, version, fingerprint, mechanism, flags, bits, length, check = _FIXED.unpack(fixed)
    if version != VERSION:
        return "version"
    if length > _LONGEST_DESCRIPTION:
        return "length"
    description = file.read(length)
    if len(description) < length:
        return "length"
    if zlib.crc32(fixed[:-4] + description) != check or flags not in (0, _WITH_IDS) or not bits:
        return "not a report"
    return Header(fingerprint, mechanism, bool(flags), bits, description)


class Chunk(NamedTuple):
    """Some records of a file: ids ((n, 16) uint8, or None) and payloads ((n, bytes) uint8)."""

    ids: NDArray[np.uint8] | None
    payloads: NDArray[np.uint8]


def read_records(
    file: BinaryIO, header: Header, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Chunk | int]:
    """Read the records after the header, a bounded number at a time."""
    # The arrays are views of one buffer that the next step overwrites.  A record that is cut short
    # at the end of the file comes last, as the number of its bytes.
    size = header.record_bytes
    per_chunk = max(1, chunk_bytes // size)
    buffer = np.empty(per_chunk * size, np.uint8)
    while True:
        filled = _fill(file, memoryview(buffer.data))
        complete, rest = divmod(filled, size)
        if complete:
            records = buffer[: complete * size].reshape(complete, size)
            cut = ID_BYTES * header.with_ids
            yield Chunk(records[:, :cut] if cut else None, records[:, cut:])
        if rest:
            yield rest
        if filled < len(buffer):
            return


def _fill(file: BinaryIO, view: memoryview) -> int:
    filled = 0
    while filled < len(view):
        got = file.readinto(view[filled:])  # type: ignore[attr-defined]
        if not got:
            break
        filled += got
    return filled


@public
def write_reports(
    path: str | os.PathLike[str],
    oracle: Oracle,
    reports: Sequence[object] | NDArray[np.generic],
    *,
    ids: bool = True,
) -> int:
    """Write a new batch file; returns how many reports it holds.

    Args:
        path: the file; it must not exist yet.
        oracle: the mechanism.
        reports: what ``oracle.perturb_many`` gave.
        ids: give each report a random id, by which a replay is known.

    Raises:
        DataSourceError: the file exists or cannot be written.
        UsageError: a report that the mechanism cannot have made.
    """
    records = _records(oracle, reports, ids)
    try:
        with open(path, "xb") as file:
            file.write(Header.of(oracle, ids).pack())
            file.write(records)
    except FileExistsError:
        raise DataSourceError(f"{Path(path).name} exists; append to it, or name another") from None
    except OSError as error:
        raise DataSourceError(f"{Path(path).name} cannot be written: {error.strerror}") from None
    return len(reports)


@public
def append_reports(
    path: str | os.PathLike[str], oracle: Oracle, reports: Sequence[object] | NDArray[np.generic]
) -> int:
    """Append to a batch file of the same mechanism (created, with ids, if it does not exist).

    Several processes may append to one file: each holds its lock meanwhile.  A record that a
    crash cut short is cut away first.  Returns how many reports were appended.

    Raises:
        MismatchError: the file holds reports of another mechanism or question.
        DataSourceError: the file cannot be written, or is not a batch file.
        UsageError: a report that the mechanism cannot have made.
    """
    fresh = Header.of(oracle, with_ids=True)
    try:
        with open(path, "a+b") as file, locked(file):
            file.seek(0)
            header = read_header(file)
            if file.seek(0, os.SEEK_END) == 0:
                file.write(fresh.pack())
                header = fresh
            header = _same_or_refuse(header, oracle, Path(path).name)
            records = _records(oracle, reports, header.with_ids)
            end = file.seek(0, os.SEEK_END)
            torn = (end - header.size) % header.record_bytes
            file.truncate(end - torn)
            file.seek(0, os.SEEK_END)
            file.write(records)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataSourceError(f"{Path(path).name} cannot be written: {error.strerror}") from None
    return len(reports)


def _same_or_refuse(header: Header | Reason, oracle: Oracle, name: str) -> Header:
    if isinstance(header, str):
        raise DataSourceError(f"{name} is not a batch of reports ({header}); nothing was changed")
    refusal = header.refusal(oracle)
    if refusal is not None:
        raise MismatchError(
            f"{name} contains reports of another "
            f"{'question' if refusal == 'schema' else 'mechanism'}; "
            "write these to a file of their own",
            header.fingerprint.hex(),
            oracle.fingerprint,
        )
    return header


def _records(oracle: Oracle, reports: Any, ids: bool) -> bytes:
    payloads = Wire(oracle).pack(reports)
    if not ids:
        return payloads.tobytes()
    n = len(payloads)
    numbers = np.frombuffer(random_bytes(ID_BYTES * n), np.uint8).reshape(n, ID_BYTES)
    return np.concatenate([numbers, payloads], axis=1).tobytes()


@contextmanager
def locked(file: BinaryIO) -> Iterator[None]:
    """Hold the file's lock where the system has one (elsewhere one process appends at a time)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    yield  # closing the file, which the caller does at once, releases the lock


def random_order(n: int) -> NDArray[np.intp]:
    """Return a permutation of n things, each with probability exactly 1/n!, from secure bits.

    >>> sorted(random_order(4).tolist())
    [0, 1, 2, 3]
    """
    # Independent keys of 64 bits are sorted.  Given that all differ, each order is equally
    # likely; keys of which two are equal are all thrown away.
    while True:
        keys = words64(n)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


@public
def shuffle_reports(
    sources: Iterable[str | os.PathLike[str]],
    destination: str | os.PathLike[str],
    oracle: Oracle,
) -> tuple[int, dict[Reason, int]]:
    """Write all valid reports of batch files to a new one, in random order and without ids.

    Ids are dropped because a device knows its own; so replays are looked for before the shuffler
    (:class:`~tacit.local.Collector` with ``replay=``), not after.  All reports are stored in
    memory.

    Args:
        sources: the batch files to read.
        destination: the batch file to write; it must not exist yet.
        oracle: the mechanism.

    Returns:
        How many reports were written, and how many were left out, by reason.

    Raises:
        DataSourceError: a file that cannot be read, or a destination that exists.
    """
    wire, accepted, refused = Wire(oracle), [oracle.layout.empty(0)], dict[Reason, int]()

    def refuse(reason: Reason, number: int) -> None:
        if number:
            refused[reason] = refused.get(reason, 0) + number

    for path in sources:
        for part in _parts(path, oracle):
            if isinstance(part, Chunk):
                batch, good = wire.unpack(part.payloads)
                accepted.append(batch[good])
                refuse("range", len(good) - int(np.count_nonzero(good)))
            else:
                refuse(part, 1)
    reports: NDArray[Any] = np.concatenate(accepted)
    write_reports(destination, oracle, reports[random_order(len(reports))], ids=False)
    return len(reports), refused


def _parts(path: str | os.PathLike[str], oracle: Oracle) -> Iterable[Chunk | Reason]:
    try:
        with open(path, "rb", buffering=0) as file:
            header = read_header(file)
            refusal = header if isinstance(header, str) else header.refusal(oracle)
            if isinstance(header, str) or refusal is not None:
                yield refusal or "not a report"
                return
            for part in read_records(file, header):
                yield "length" if isinstance(part, int) else part
    except OSError as error:
        raise DataSourceError(f"{Path(path).name} cannot be read: {error.strerror}") from None
