"""Copies of columns of integers and of text in a Parquet file, as they are stored."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from tacit.errors import DataSourceError

# How a reader reads a column is in the footer: a number of the Thrift compact protocol
# (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md) declares an
# INT64 as a time, and bytes as text.  The copy has the same pages, and a footer that declares
# neither and has no statistics
# (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).
# The pages are copied as bytes: no value is examined.


_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)
_INT64, _BYTES = 2, 6
_MEANING = (6, 10)  # the fields of a column that declare the meaning of its numbers or bytes
_PIECE = 1 << 20

# A struct: the type and the value of each field by its number; of a list those of its items.
Struct = dict[int, tuple[int, Any]]


def extract_columns(source: str, names: Sequence[str], target: str) -> None:
    """Write columns of INT64 or bytes to a file of their own, named ``c0``, ``c1``, ..."""
    try:
        with open(source, "rb") as file, open(target, "xb") as copy:
            copy.write(_MAGIC)
            footer = _encode(_narrowed(_footer(file), names, file, copy))
            copy.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)
    except (OSError, LookupError, ValueError, struct.error):
        failed = True
    else:
        failed = False
    if failed:  # raised here: what the error quotes may be data
        raise DataSourceError(f"{source} is damaged, or was written again while it was open")


def _footer(file: BinaryIO) -> Struct:
    size = file.seek(0, os.SEEK_END)
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    file.seek(size - 8 - length)
    return _Reader(file.read(length)).struct()


def _narrowed(footer: Struct, names: Sequence[str], file: BinaryIO, copy: BinaryIO) -> Struct:
    """Copy the pages of columns, and return the footer of the copy."""
    fields = _fields(footer)
    root: Struct = {4: (_BINARY, b"schema"), 5: (5, len(names))}
    schema = [root]
    for number, name in enumerate(names):
        first, *below = fields[name.encode()]
        if not below and first[1][1] not in (_INT64, _BYTES):
            raise ValueError
        schema += map(_meaningless, [{**first, 4: (_BINARY, f"c{number}".encode())}, *below])
    groups = []
    for group in footer[4][1][1]:
        chunks: dict[bytes, list[Struct]] = {}
        for column in group[1][1][1]:
            chunks.setdefault(column[3][1][3][1][1][0], []).append(column[3][1])
        ours = [
            _moved(chunk, number, file, copy)
            for number, name in enumerate(names)
            for chunk in chunks[name.encode()]
        ]
        size = sum(c[3][1][6][1] for c in ours)
        groups.append({1: (_LIST, (_STRUCT, ours)), 2: (6, size), 3: group[3]})
    return {
        1: footer[1],
        2: (_LIST, (_STRUCT, schema)),
        3: footer[3],
        4: (_LIST, (_STRUCT, groups)),
    }


def _fields(footer: Struct) -> dict[bytes, list[Struct]]:
    """Return the top-level columns by name, each with all that are within it, depth first."""
    (_, *listed), columns = footer[2][1][1], {}
    while listed:
        end = left = 1
        while left:
            left += listed[end - 1].get(5, (5, 0))[1] - 1
            end += 1
        columns[listed[0][4][1]] = listed[: end - 1]
        del listed[: end - 1]
    return columns


def _meaningless(field: Struct) -> Struct:
    """Return a column without the meaning of its integers or bytes, or one of others."""
    stored = field.get(1, (5, None))[1] in (_INT64, _BYTES)
    return {n: value for n, value in field.items() if not (stored and n in _MEANING)}


def _moved(chunk: Struct, number: int, file: BinaryIO, copy: BinaryIO) -> Struct:
    """Copy the pages of a column in a group of rows, and return their part of the footer."""
    first = chunk[9][1]
    if chunk.get(11, (6, 0))[1]:
        first = min(first, chunk[11][1])
    moved = copy.tell() - first
    _copy(file, first, chunk[7][1], copy)
    metadata: Struct = {n: chunk[n] for n in (1, 2, 4, 5, 6, 7, 9, 11) if n in chunk}
    metadata[3] = (_LIST, (_BINARY, [f"c{number}".encode(), *chunk[3][1][1][1:]]))
    for offset in (9, 11):
        if metadata.get(offset, (6, 0))[1]:
            metadata[offset] = (6, metadata[offset][1] + moved)
    return {2: (6, first + moved), 3: (_STRUCT, metadata)}


def _copy(file: BinaryIO, first: int, length: int, copy: BinaryIO) -> None:
    file.seek(first)
    while length:
        piece = file.read(min(length, _PIECE))
        if not piece:
            raise ValueError
        copy.write(piece)
        length -= len(piece)


class _Reader:
    """Reads values of the Thrift compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data, self._position = data, 0

    def _bytes(self, length: int) -> bytes:
        data = self._data[self._position : self._position + length]
        if len(data) < length:
            raise ValueError
        self._position += length
        return data

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def struct(self) -> Struct:
        """Return a struct."""
        fields: Struct = {}
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._zigzag()
            kind = byte & 15
            fields[number] = kind, None if kind in (_TRUE, _FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            byte = self._byte()
            length = byte >> 4 if byte >> 4 < 15 else self._varint()
            return byte & 15, [self._value(byte & 15) for _ in range(length)]
        if kind == _STRUCT:
            return self.struct()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError


def _encode(struct: Struct) -> bytes:
    """Return a struct of integers, bytes, lists and structs in the compact protocol."""
    parts = [b""]
    for number in sorted(struct):
        kind, value = struct[number]
        parts.append(bytes([kind]) + _varint(_zigzag(number)) + _ENCODE[kind](value))
    return b"".join([*parts, b"\0"])


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def _encode_list(value: tuple[int, list[Any]]) -> bytes:
    kind, items = value
    header = bytes([0xF0 | kind]) + _varint(len(items))
    return header + b"".join(map(_ENCODE[kind], items))


_ENCODE: dict[int, Callable[[Any], bytes]] = {
    **dict.fromkeys(_INTEGERS, lambda number: _varint(_zigzag(number))),
    _BINARY: lambda text: _varint(len(text)) + text,
    _LIST: _encode_list,
    _STRUCT: _encode,
}
