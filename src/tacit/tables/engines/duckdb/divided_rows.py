"""Rows of whole numbers, divided into parts in one enciphered file."""

from __future__ import annotations

import ctypes
import hashlib
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataSourceError

# DuckDB writes and enciphers the files of a partition itself, at 110 MB a second: its own cipher is
# AES without the processor's instructions, its random numbers are not for keys, and its makers call
# it unsafe.  So rows of whole numbers alone leave it as arrays and are written here, by what every
# Python has, in half the time.
#
# *Cipher.*  Chunk i of the file is ``chunk XOR SHAKE128(key, i)``, with a random key of 256 bits
# that is in memory alone.  *Theorem.*  The file tells no more than the lengths of the chunks to
# anyone who cannot tell SHAKE128 with such a key (FIPS 202, 128 bits of security) from a random
# function.  *Proof.*  No number i comes twice under a key, so with a random function each chunk
# meets a pad of its own that nothing else depends on: a one-time pad.  Where the system allows it
# the file has no name from the start, and is gone with the process, however that ends.


# Of the declared types of DuckDB, those that an array holds as they are.
WHOLE_TYPES: dict[str, type[np.integer[Any]]] = {
    "TINYINT": np.int8,
    "SMALLINT": np.int16,
    "INTEGER": np.int32,
    "BIGINT": np.int64,
    "UTINYINT": np.uint8,
    "USMALLINT": np.uint16,
    "UINTEGER": np.uint32,
    "UBIGINT": np.uint64,
}
_NARROW = (np.uint8, np.uint16, np.uint32)
_SLICE = 1 << 18  # rows that are put in the order of their parts at once
_SPREAD = 2  # numbers that are counted by index reach at most so many times their number


class _Chunk(NamedTuple):
    """Where rows of one part are in the file."""

    number: int
    start: int
    rows: int
    types: tuple[np.dtype[Any], ...]

    @property
    def size(self) -> int:
        return self.rows * sum(kind.itemsize for kind in self.types)


class DividedRows:
    """Columns of whole numbers in parts, in an enciphered file of a folder.

    >>> with DividedRows(tempfile.gettempdir(), 2, [np.int64]) as rows:
    ...     rows.add([np.array([7, 8, -9]), np.array([1, 0, 1], dtype=np.uint16)])
    ...     [[column.tolist() for column in rows.part(i)] for i in range(2)]
    [[[8]], [[7, -9]]]
    """

    def __init__(self, folder: str | Path, parts: int, types: Sequence[type]) -> None:
        self.types = types
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._key = secrets.token_bytes(32)
        self._parts: list[list[_Chunk]] = [[] for _ in range(parts)]
        self._end = self._chunks = 0

    def __enter__(self) -> DividedRows:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def clear(self) -> None:
        """Forget all rows."""
        for chunks in self._parts:
            chunks.clear()

    def add(self, columns: Sequence[NDArray[Any]]) -> None:
        """Write rows, each to the part in the last column, which has 16 bits."""
        for start in range(0, len(columns[-1]), _SLICE):
            *several, part = (column[start : start + _SLICE] for column in columns)
            order = part.argsort(kind="stable")  # in two passes, as 16 bits are
            ends = np.bincount(part, minlength=len(self._parts)).cumsum().tolist()
            ordered = [narrowed(column).take(order) for column in several]
            for chunks, a, b in zip(self._parts, [0, *ends], ends, strict=False):
                if a < b:
                    chunks.append(self._written([column[a:b] for column in ordered]))

    def rows(self, number: int) -> int:
        """Return how many rows a part has."""
        return sum(chunk.rows for chunk in self._parts[number])

    def part(self, number: int) -> list[NDArray[Any]]:
        """Return the columns of a part."""
        kinds = zip(self.types, *(chunk.types for chunk in self._parts[number]), strict=True)
        columns = [np.empty(self.rows(number), np.result_type(*each[1:] or each)) for each in kinds]
        at = 0
        for several in self.pieces(number):
            for column, piece in zip(columns, several, strict=True):
                column[at : at + len(piece)] = piece
            at += len(several[0])
        return columns

    def pieces(self, number: int) -> Iterator[list[NDArray[Any]]]:
        """Return the columns of a part, some rows after others."""
        for chunk in self._parts[number]:
            data, start, columns = self._read(chunk), 0, []
            for kind in chunk.types:
                end = start + chunk.rows * kind.itemsize
                columns.append(data[start:end].view(kind))
                start = end
            yield columns

    def _written(self, columns: Sequence[NDArray[Any]]) -> _Chunk:
        kinds = tuple(column.dtype for column in columns)
        chunk = _Chunk(self._chunks, self._end, len(columns[0]), kinds)
        data = np.concatenate([column.view(np.uint8) for column in columns])
        data ^= self._pad(chunk)
        if self._file.write(data.data) != len(data):
            raise OSError("the disk is full")
        self._chunks += 1
        self._end += chunk.size
        return chunk

    def _read(self, chunk: _Chunk) -> NDArray[np.uint8]:
        data = np.empty(chunk.size, np.uint8)
        try:
            self._file.seek(chunk.start)
            whole = self._file.readinto(data.data) == chunk.size
        except OSError:
            whole = False
        if not whole:
            raise DataSourceError("rows that were written to the temporary folder cannot be read")
        data ^= self._pad(chunk)
        return data

    def _pad(self, chunk: _Chunk) -> NDArray[np.uint8]:
        pad = hashlib.shake_128(self._key + chunk.number.to_bytes(8, "little"))
        return np.frombuffer(pad.digest(chunk.size), np.uint8)


def narrowed(column: NDArray[Any], *, copy: bool = False) -> NDArray[Any]:
    """Return numbers in as few bytes as hold them."""
    if len(column) and column.min() >= 0:
        most = int(column.max())
        for kind in _NARROW:
            if most <= np.iinfo(kind).max:
                return column.astype(kind, copy=copy)
    return column.copy() if copy else column


def occurrences(numbers: NDArray[Any]) -> NDArray[np.uint32] | None:
    """Return how often each of the numbers occurs; None where they are too far apart to index.

    >>> occurrences(np.array([5, 3, 5])).tolist(), occurrences(np.array([0, 1 << 60]))
    ([2, 1, 2], None)
    """
    if not len(numbers):
        return np.zeros(0, np.uint32)
    first = numbers.min()
    if int(numbers.max()) - int(first) > _SPREAD * len(numbers):
        return None
    if numbers.dtype != np.uint64:  # 8 bits do not hold the difference of two numbers of 8 bits
        numbers = numbers.astype(np.int64, copy=False)
    indices: NDArray[np.int64] = (numbers - numbers.dtype.type(first)).astype(np.int64, copy=False)
    counts: NDArray[np.uint32] = np.bincount(indices).astype(np.uint32)
    return np.take(counts, indices)


# Arrow's C stream interface, as far as arrays of whole numbers need it: DuckDB hands out batches of
# rows in it, without any other package.  https://arrow.apache.org/docs/format/CStreamInterface.html


class _Array(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers")),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.POINTER(ctypes.c_void_p)),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class _Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.c_void_p),  # its capsule does that
        ("private_data", ctypes.c_void_p),
    )


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes, _pointer_in.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


class StreamError(Exception):
    """What a stream says has failed; it may quote the data."""


def batches(capsule: object, types: Sequence[type]) -> Iterator[list[NDArray[Any]]]:
    """Return the batches of a stream of columns of whole numbers, none missing."""
    # Each is the stream's own memory, and must not be used after the next one was asked for.
    address = _pointer_in(capsule, b"arrow_array_stream")
    stream = _Stream.from_address(address)
    while True:
        batch = _Array()
        if stream.get_next(address, ctypes.addressof(batch)):
            message = stream.get_last_error(address) or b""
            raise StreamError(message.decode(errors="replace"))
        if not batch.release:
            return
        try:
            columns = [_Array.from_address(batch.children[i]) for i in range(len(types))]
            yield [_numbers(*each) for each in zip(columns, types, strict=True)]
        finally:
            batch.release(ctypes.addressof(batch))


def _numbers(column: Any, kind: type) -> NDArray[Any]:
    if not column.length:
        return np.empty(0, kind)
    size = np.dtype(kind).itemsize
    start = column.buffers[1] + column.offset * size
    return np.frombuffer((ctypes.c_char * (column.length * size)).from_address(start), kind)
