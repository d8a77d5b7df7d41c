"""The wire: how reports travel and lie in files, and how anything that is no report is refused."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.enclosure import Enclosure
from tacit.arithmetic.exact import float_up
from tacit.calls import public
from tacit.errors import DataSourceError, UsageError
from tacit.local.frequency.bit_vectors import UnaryEncoding
from tacit.local.frequency.direct_encoding import DirectEncoding
from tacit.local.frequency.hadamard_response import HadamardResponse
from tacit.local.frequency.local_hashing import LocalHashing
from tacit.local.oracle import FrequencyOracle, Oracle
from tacit.noise import random_bytes

# Integers are little-endian and bits are counted from the least significant one.
#
# **One report**, 38 bytes and its payload::
#
#     0   3   "TLR"
#     3   1   version, 1
#     4   2   mechanism: the first two bytes of the SHA-256 of its name
#     6   16  schema: the first 16 bytes of the fingerprint, a SHA-256 of oracle.describe()
#     22  16  a random id, by which a replay is known
#     38  .   payload
#
# **A payload** has the same size for every report of a mechanism: the values of the report, each of
# ``layout.value_bits`` bits, sequentially; the last byte is filled with zeros.  So a payload
# takes ``ceil(layout.bits / 8)`` bytes, and a file of them is read as an array, without a loop.
#
# **A batch file** says its header once (see :class:`Header`); what follows is records of one size:
# the id, if the file keeps ids, and the payload.  Records end on bytes, so that a file is appended
# to by writing at its end; a record that a crash cut short is cut away by the next append.


MAGIC = b"TLR"
VERSION = 1
ID_BYTES = 16
SCHEMA_BYTES = 16
_SCHEMA_AT = len(MAGIC) + 3
_ID_AT = _SCHEMA_AT + SCHEMA_BYTES
PAYLOAD_AT = _ID_AT + ID_BYTES
# A report in JSON is no longer than this and so much for each number or bit, however spaced.
_JSON_MOST, _JSON_EACH = 4096, 64

Reason: TypeAlias = Literal[
    "not a report",
    "version",
    "mechanism",
    "schema",
    "length",
    "range",
    "shard",
    "replay",
    "outlier",
]
# Why a report is refused, in the order in which it is examined.
# ``length``: cut short, or bytes left over; ``range``: a value that the mechanism cannot send;
# ``shard``: an id that another collector looks after; ``replay``: an id that was seen before;
# ``outlier``: see :mod:`tacit.local.poisoning`.
REASONS: tuple[Reason, ...] = get_args(Reason)


class Decoded(NamedTuple):
    """A report that was read: its id, and the report as ``oracle.layout`` states."""

    id: bytes
    report: object


def mechanism_code(name: str) -> bytes:
    """Return the two bytes by which a mechanism is known on the wire.

    >>> mechanism_code("DirectEncoding").hex()
    '8cce'
    """
    return hashlib.sha256(name.encode()).digest()[:2]


@public
@dataclass(frozen=True)
class Wire:
    """Reads and writes the reports of one mechanism.

    Args:
        oracle: the mechanism; both sides must have built it alike.

    Raises:
        UsageError: ``oracle`` is not a mechanism.

    Example:
        >>> from tacit.local import DirectEncoding
        >>> wire = Wire(DirectEncoding(["a", "b", "c"], epsilon=1))
        >>> sent = wire.encode(2)
        >>> len(sent), int(wire.decode(sent).report)
        (39, 2)
        >>> wire.decode(sent[:-1])
        Traceback (most recent call last):
        ...
        tacit.errors.UsageError: this report is refused (length): 38 bytes, not 39
    """

    oracle: Oracle

    def __post_init__(self) -> None:
        if not isinstance(self.oracle, Oracle):
            raise UsageError("give a local mechanism, such as UnaryEncoding(items, epsilon=1)")

    @cached_property
    def fingerprint(self) -> bytes:
        """The SHA-256 of the mechanism's description: 32 bytes."""
        return bytes.fromhex(self.oracle.fingerprint)

    @cached_property
    def name(self) -> str:
        """The name of the mechanism."""
        return str(self.oracle.describe()["mechanism"])

    @property
    def schema(self) -> bytes:
        """The part of the fingerprint that every report carries."""
        return self.fingerprint[:SCHEMA_BYTES]

    @cached_property
    def payload_bytes(self) -> int:
        """The size of a payload."""
        return (self.oracle.layout.bits + 7) // 8

    @property
    def report_bytes(self) -> int:
        """The size of one report that travels alone."""
        return PAYLOAD_AT + self.payload_bytes

    @cached_property
    def _head(self) -> bytes:
        return MAGIC + bytes([VERSION]) + mechanism_code(self.name) + self.schema

    def pack(self, reports: object) -> NDArray[np.uint8]:
        """Return the payloads of a batch of reports: (n, payload_bytes) of uint8.

        Args:
            reports: a batch, as :meth:`~tacit.local.Oracle.perturb_many` returns it.

        Raises:
            UsageError: a report that the mechanism cannot have made.
        """
        layout = self.oracle.layout
        given = layout.check(reports)
        if not self.oracle.valid(given).all():
            raise UsageError(
                f"{self.name} cannot have made this report, so it is not written; drop such "
                "reports with oracle.valid(reports)"
            )
        batch = np.ascontiguousarray(given, layout.dtype)
        if layout.kind == "bits":
            return batch
        values = batch.reshape(len(batch), layout.width)
        if layout.kind == "integer" or layout.value_bits == 8 * values.itemsize:
            return _bytes_of(values)[:, : self.payload_bytes]
        bits = np.unpackbits(_bytes_of(values), axis=1, bitorder="little")
        wide = bits.reshape(len(batch), layout.width, 8 * values.itemsize)
        value_part = wide[:, :, : layout.value_bits]
        return np.packbits(value_part.reshape(len(batch), layout.bits), axis=1, bitorder="little")

    def unpack(self, payloads: NDArray[np.uint8]) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
        """Return the reports in payloads, and which of them the mechanism can have made.

        Args:
            payloads: (n, payload_bytes) of uint8.
        """
        layout = self.oracle.layout
        batch: NDArray[np.generic]
        if layout.kind == "bits":
            batch, clean = np.ascontiguousarray(payloads), None
        elif layout.kind == "integer":
            batch, clean = _widened(payloads, layout.dtype)[:, 0], None
        else:
            batch, clean = self._integers(payloads)
        good = self.oracle.valid(batch)
        return batch, good if clean is None else good & clean

    def _integers(
        self, payloads: NDArray[np.uint8]
    ) -> tuple[NDArray[np.generic], NDArray[np.bool_] | None]:
        layout = self.oracle.layout
        n, size = len(payloads), layout.dtype.itemsize
        if layout.value_bits == 8 * size:
            return _widened(payloads, layout.dtype), None
        bits = np.unpackbits(payloads, axis=1, bitorder="little")
        wide = np.zeros((n, layout.width, 8 * size), np.uint8)
        wide[:, :, : layout.value_bits] = bits[:, : layout.bits].reshape(
            n, layout.width, layout.value_bits
        )
        packed = np.packbits(wide.reshape(n, layout.width * 8 * size), axis=1, bitorder="little")
        clean: NDArray[np.bool_] = bits[:, layout.bits :].sum(axis=1) == 0
        return packed.view(layout.dtype.newbyteorder("<")).astype(layout.dtype, copy=False), clean

    def encode(self, report: object, report_id: bytes | None = None) -> bytes:
        """Return the bytes of one report.

        Args:
            report: what ``oracle.perturb`` gave.
            report_id: 16 bytes that no other report has; random ones by default.

        Raises:
            UsageError: a report that the mechanism cannot have made, an id of another size.
        """
        chosen = random_bytes(ID_BYTES) if report_id is None else report_id
        if len(chosen) != ID_BYTES:
            raise UsageError(f"a report's id has {ID_BYTES} bytes, not {len(chosen)}")
        payload: bytes = self.pack(np.asarray(report)[None])[0].tobytes()
        return self._head + chosen + payload

    def read(self, data: bytes) -> Decoded | Reason:
        """Return a report, or why these bytes are not a report of this mechanism; never raises."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            return "not a report"
        reason = self._refusal(data)
        if reason is not None:
            return reason
        payload = np.frombuffer(data, np.uint8, offset=PAYLOAD_AT)[None]
        reports, good = self.unpack(payload)
        return Decoded(bytes(data[_ID_AT:PAYLOAD_AT]), reports[0]) if good[0] else "range"

    def _refusal(self, data: bytes) -> Reason | None:
        head = self._head
        if bytes(data[:3]) != MAGIC:
            return "not a report"
        if len(data) < PAYLOAD_AT:
            return "length"
        if data[3] != VERSION:
            return "version"
        if data[4:6] != head[4:6]:
            return "mechanism"
        if data[_SCHEMA_AT:_ID_AT] != head[_SCHEMA_AT:]:
            return "schema"
        return None if len(data) == self.report_bytes else "length"

    def decode(self, data: bytes) -> Decoded:
        """Return one report.

        Raises:
            UsageError: bytes that are not a report of this mechanism; says which part is wrong.
        """
        decoded = self.read(data)
        if isinstance(decoded, str):
            about = f"{len(data)} bytes, not {self.report_bytes}"
            detail = f": {about}" if decoded == "length" else ""
            raise UsageError(f"this report is refused ({decoded}){detail}")
        return decoded

    def to_json(self, report: object, report_id: bytes | None = None) -> str:
        """Return one report as JSON that a person can read.

        A report of bits is text of zeros and ones, the first item first.

        Raises:
            UsageError: a report that the mechanism cannot have made, an id of another size.
        """
        decoded = self.decode(self.encode(report, report_id))
        return json.dumps(
            {
                "tacit_report": VERSION,
                "mechanism": self.name,
                "schema": self.schema.hex(),
                "id": decoded.id.hex(),
                "report": self._plain(decoded.report),
            }
        )

    def _plain(self, report: Any) -> int | str | list[int]:
        layout = self.oracle.layout
        if layout.kind == "integer":
            return int(report)
        if layout.kind == "integers":
            return [int(v) for v in report]
        bits = np.unpackbits(report, bitorder="little", count=layout.width)
        return "".join("01"[b] for b in bits)

    def read_json(self, text: str | bytes) -> Decoded | Reason:
        """Return a report that :meth:`to_json` wrote, or why the text is not one; never raises.

        Args:
            text: JSON, as text or UTF-8.
        """
        fields = _json_object(text, _JSON_MOST + _JSON_EACH * self.oracle.layout.width)
        if fields is None or "tacit_report" not in fields:
            return "not a report"
        if fields["tacit_report"] is True or fields["tacit_report"] != VERSION:
            return "version"
        if fields.get("mechanism") != self.name:
            return "mechanism"
        if fields.get("schema") != self.schema.hex():
            return "schema"
        number = _hex(fields.get("id"))
        if len(fields) != 5 or number is None:
            return "length"
        return self._from_plain(fields.get("report"), number)

    def _from_plain(self, value: Any, number: bytes) -> Decoded | Reason:
        layout = self.oracle.layout
        batch: NDArray[np.generic]
        if layout.kind == "bits":
            if not isinstance(value, str) or len(value) != layout.width:
                return "length"
            if set(value) - set("01"):
                return "range"
            bits = np.frombuffer(value.encode(), np.uint8) - ord("0")
            batch = np.packbits(bits, bitorder="little")[None]
        else:
            listed = value if layout.kind == "integers" else [value]
            if not isinstance(listed, list) or len(listed) != layout.width:
                return "length"
            if not all(type(v) is int and 0 <= v < layout.limit for v in listed):
                return "range"
            row = np.array(listed, layout.dtype)
            batch = row[None] if layout.kind == "integers" else row
        return Decoded(number, batch[0]) if self.oracle.valid(batch)[0] else "range"


def _bytes_of(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return the little-endian bytes of each row of whole numbers."""
    little = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    return little.view(np.uint8).reshape(len(values), values.shape[1] * values.itemsize)


def _widened(payloads: NDArray[np.uint8], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    """Read rows of little-endian bytes as numbers of a type that may have more bytes."""
    size = dtype.itemsize
    if payloads.shape[1] % size:
        filled = np.zeros((len(payloads), size), np.uint8)
        filled[:, : payloads.shape[1]] = payloads
        payloads = filled
    contiguous = np.ascontiguousarray(payloads)
    return contiguous.view(dtype.newbyteorder("<")).astype(dtype, copy=False)


def _json_object(text: str | bytes, maximum: int) -> Mapping[str, Any] | None:
    if not isinstance(text, (str, bytes, bytearray)) or len(text) > maximum:
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _hex(text: Any) -> bytes | None:
    """Return the id that lower-case hexadecimal text spells, or None."""
    if not isinstance(text, str) or len(text) != 2 * ID_BYTES:
        return None
    return bytes.fromhex(text) if not set(text) - set("0123456789abcdef") else None


_PLACEHOLDER = "__TACIT_SURVEY__"
_LARGEST_SAFE = 1 << 53


@public
def client_config(oracle: FrequencyOracle) -> dict[str, object]:
    """Return what ``tacit-local.js`` needs to make reports of a mechanism, as plain JSON values.

    Every probability is an integer over a power of two, so the browser draws with
    exactly the probabilities of the Python mechanism.

    Raises:
        UsageError: a mechanism that the browser's client does not have.

    Example:
        >>> from tacit.local import RandomizedResponse
        >>> client_config(RandomizedResponse(["yes", "no"], p="3/4"))["draw"]
        {'kind': 'direct', 'items': 2, 'p': {'numerator': '3', 'bits': 2}}
    """
    draw = _draw(oracle)
    items, wire = oracle.domain, Wire(oracle)
    labels = items.describe()["items"]
    return {
        "tacit_client": 1,
        "mechanism": wire.name,
        "code": mechanism_code(wire.name).hex(),
        "schema": wire.schema.hex(),
        "labels": labels,
        "other": -1 if items.other is None else items.index_of(items.other),
        "missing": items.index_of(None),
        "payloadBits": oracle.layout.bits,
        "draw": draw,
    }


def _draw(oracle: FrequencyOracle) -> dict[str, Any]:
    if oracle.layout.kind == "integer" and oracle.layout.limit > _LARGEST_SAFE:
        raise UsageError("the browser's client writes numbers up to 2**53: use fewer buckets")
    if isinstance(oracle, DirectEncoding):
        return {"kind": "direct", "items": len(oracle.domain), "p": _share(oracle.p)}
    if isinstance(oracle, UnaryEncoding):
        shares = {"p": _share(oracle.p), "q": _share(oracle.q)}
        return {"kind": "unary", "items": len(oracle.domain), **shares}
    if isinstance(oracle, LocalHashing):
        sizes = {"buckets": oracle.buckets, "seedBits": oracle.seed_bits}
        return {"kind": "hashing", "p": _share(oracle.p), **sizes}
    if isinstance(oracle, HadamardResponse):
        sizes = {"blocks": oracle.blocks, "blockSize": oracle.block_size}
        return {"kind": "hadamard", "keep": _share(oracle.keep), **sizes}
    raise UsageError(
        f"the browser's client has no {type(oracle).__name__}; it has RandomizedResponse, "
        "DirectEncoding, UnaryEncoding, local hashing and HadamardResponse"
    )


def _share(p: Fraction) -> dict[str, Any]:
    return {"numerator": str(p.numerator), "bits": p.denominator.bit_length() - 1}


@public
def write_page(
    folder: str | os.PathLike[str],
    oracle: FrequencyOracle,
    question: str,
    *,
    send_to: str | None = None,
    collected_by: str = "",
) -> Path:
    """Write a page that asks one question, and its script; returns the path of the page.

    The page randomises the answer on the device, shows exactly what will be sent, and sends it (a
    POST of the bytes of the report) when the person agrees.  Serve the folder over HTTPS: browsers
    give secure random bits and modules only to pages over HTTPS, or of the same machine.

    Args:
        folder: where to write ``survey.html`` and ``tacit-local.js``; created if it does not exist.
        oracle: the mechanism, over at most 200 listed answers.
        question: what is asked.
        send_to: the address that takes reports; without one the page shows the report only.
        collected_by: who collects, shown on the page.

    Raises:
        UsageError: a mechanism that the browser does not have, or too many answers for a page.
        DataSourceError: the folder cannot be written.
    """
    config = client_config(oracle)
    if len(oracle.domain) > 200:
        raise UsageError("a page shows at most 200 answers; write one of your own over the script")
    survey = {
        "question": question,
        "collectedBy": collected_by,
        "sendTo": send_to,
        "epsilon": float_up(Enclosure.of(oracle.epsilon).upper),
        "config": config,
    }
    text = json.dumps(survey, ensure_ascii=True).replace("<", "\\u003c")
    page = _shipped("survey.html").replace(_PLACEHOLDER, text)
    directory = Path(folder)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "survey.html").write_text(page, encoding="utf-8")
        (directory / "tacit-local.js").write_text(_shipped("tacit-local.js"), encoding="utf-8")
    except OSError as error:
        raise DataSourceError(f"{directory} cannot be written: {error.strerror}") from None
    return directory / "survey.html"


def _shipped(name: str) -> str:
    return (files("tacit.local") / "js" / name).read_text(encoding="utf-8")
