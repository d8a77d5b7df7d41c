"""A small client of the PostgreSQL protocol, written from the manual alone."""

from __future__ import annotations

import socket
import ssl
import struct
from dataclasses import dataclass, field
from typing import Any

START = 196608
SSL_REQUEST, CANCEL = 80877103, 80877102


@dataclass
class Reply:
    """What came until the server was ready: columns, rows, tags, and the fields of errors."""

    columns: list[str] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)  # their types
    rows: list[tuple[str | None, ...]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    error: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    status: str = ""
    kinds: str = ""  # the letter of each message


def packet(code: int, body: bytes = b"") -> bytes:
    return struct.pack("!ii", len(body) + 8, code) + body


def message(kind: str, body: bytes = b"") -> bytes:
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def text(*words: str) -> bytes:
    return b"".join(word.encode() + b"\0" for word in words)


class WireClient:
    """A connection, which is closed at the end of a block."""

    def __init__(
        self,
        port: int,
        token: str,
        database: str = "visits",
        *,
        context: ssl.SSLContext | None = None,
        **parameters: str,
    ) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        if context is not None:
            self.send(packet(SSL_REQUEST))
            assert self._read(1) == b"S"
            self.socket = context.wrap_socket(self.socket)
        given = {"user": "ada", "database": database, **parameters}
        words = [word for pair in given.items() for word in pair]
        self.send(packet(START, text(*words) + b"\0"))
        first = self.reply(until="RE")
        if not first.error:
            self.send(message("p", text(token)))
            first = self.reply()
        self.first = first

    def __enter__(self) -> WireClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def query(self, sql: str) -> Reply:
        self.send(message("Q", text(sql)))
        return self.reply()

    def prepared(self, sql: str, *values: str, types: tuple[int, ...] = ()) -> Reply:
        """Parse, describe, bind and execute."""
        parse = text("", sql) + struct.pack("!h", len(types)) + b"".join(map(_int, types))
        cells = b"".join(struct.pack("!i", len(v)) + v.encode() for v in values)
        bind = text("", "") + struct.pack("!hh", 0, len(values)) + cells + struct.pack("!h", 0)
        parts = [message("P", parse), message("D", b"S" + text("")), message("B", bind)]
        self.send(b"".join([*parts, message("E", text("") + _int(0)), message("S")]))
        return self.reply()

    def reply(self, until: str = "Z") -> Reply:
        """Read until the server is ready, or ends the connection."""
        made = Reply()
        while True:
            head = self._read(5)
            if not head:
                return made
            kind, body = chr(head[0]), self._read(struct.unpack("!i", head[1:])[0] - 4)
            made.kinds += kind
            if kind in "EN":
                parts = body.decode().rstrip("\0").split("\0")
                found = {part[0]: part[1:] for part in parts if part}
                made.error = found if kind == "E" else made.error
                made.notices += [found["M"]] if kind == "N" else []
            elif kind == "T":
                made.columns, made.types = _described(body)
            elif kind == "t":
                made.parameters = [number for (number,) in struct.iter_unpack("!i", body[2:])]
            elif kind == "D":
                made.rows.append(tuple(_cells(body)))
            elif kind == "C":
                made.tags.append(body.rstrip(b"\0").decode())
            elif kind == "K":
                self.key = body
            elif kind == "Z":
                made.status = body.decode()
            if kind in until:
                return made

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionError:
                return b""
            if not part:
                return b""
            data += part
        return data


def _int(number: int) -> bytes:
    return struct.pack("!i", number)


def _described(body: bytes) -> tuple[list[str], list[int]]:
    (number,), at = struct.unpack_from("!h", body), 2
    names, types = [], []
    for _ in range(number):
        end = body.index(b"\0", at)
        names.append(body[at:end].decode())
        types.append(struct.unpack_from("!i", body, end + 7)[0])
        at = end + 19
    return names, types


def _cells(body: bytes) -> list[Any]:
    (number,), at = struct.unpack_from("!h", body), 2
    cells: list[Any] = []
    for _ in range(number):
        (size,) = struct.unpack_from("!i", body, at)
        at += 4
        cells.append(None if size < 0 else body[at : at + size].decode())
        at += max(size, 0)
    return cells
