"""The wire: every report comes back, and everything else is refused for the right reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.every_mechanism import ORACLES as EVERY
from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.local import (
    DirectEncoding,
    FrequencyOracle,
    HadamardResponse,
    OptimizedLocalHashing,
    RandomizedResponse,
    SubsetSelection,
    TwoStage,
    UnaryEncoding,
    Wire,
    append_reports,
    oracle_from,
    write_reports,
)
from tacit.local.batch_file import Chunk, Header, read_header, read_records
from tacit.local.oracle import MODULES, Layout
from tacit.local.wire import PAYLOAD_AT, REASONS, mechanism_code
from tacit.noise.bits import injected

VECTORS = Path(__file__).parents[0] / "vectors"
ORACLES: dict[str, FrequencyOracle] = {
    "one bit": RandomizedResponse(p="3/4"),
    "ten bits": DirectEncoding(1000, epsilon=1),
    "seventeen bits": DirectEncoding(70_000, epsilon=1),
    "thirty-four bits": OptimizedLocalHashing(1000, epsilon=1),
    "thirteen items": UnaryEncoding(13, epsilon=1),
    "sixteen items": UnaryEncoding(16, epsilon=1),
    "hadamard": HadamardResponse(300, epsilon=2),
    "sets": SubsetSelection(13, epsilon=1),
    "two stages": TwoStage(DirectEncoding(13, epsilon=2), UnaryEncoding(13, epsilon=1)),
}
all_oracles = pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES.keys())


class Rows(DirectEncoding):
    """A mechanism whose reports are rows of 3 integers below 1000: 30 bits."""

    @property
    def layout(self) -> Layout:
        return Layout("integers", 3, 1000)


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


ALL_VECTORS = [*vectors("reports"), *vectors("others")]


@pytest.mark.few(4)
@pytest.mark.parametrize("vector", ALL_VECTORS, ids=lambda v: v["name"])
def test_report_vectors(vector: dict[str, Any]) -> None:
    oracle = oracle_from(vector["oracle"])
    wire = Wire(oracle)
    for case in vector["cases"]:
        random = bytes.fromhex(case["random"])
        taken = 0

        def take(n: int, random: bytes = random) -> bytes:
            nonlocal taken
            taken += n
            return random[taken - n : taken]

        with injected(take):
            report = oracle.perturb(case["answer"])
        number = take(16)
        sent = wire.encode(report, number)
        assert (sent.hex(), taken) == (case["bytes"], len(random))
        assert json.loads(wire.to_json(report, number)) == case["json"]
        assert np.array_equal(wire.decode(sent).report, report)


def test_every_mechanism_has_vectors() -> None:
    told = {vector["oracle"]["mechanism"] for vector in ALL_VECTORS}
    assert told == set(MODULES) == {type(oracle).__name__ for oracle in EVERY.values()}


@pytest.mark.parametrize("vector", vectors("headers"), ids=lambda v: v["oracle"]["mechanism"])
def test_header_vectors(vector: dict[str, Any]) -> None:
    made = Header.of(oracle_from(vector["oracle"]), vector["ids"])
    assert made.pack().hex() == vector["bytes"]
    assert made.oracle() == oracle_from(vector["oracle"])


@all_oracles
def test_everything_comes_back(oracle: FrequencyOracle) -> None:
    wire, k = Wire(oracle), len(oracle.domain)
    reports = oracle.perturb_many([oracle.domain.labels[i % k] for i in range(300)])
    packed = wire.pack(reports)
    assert packed.shape == (300, -(-oracle.layout.bits // 8))
    batch, good = wire.unpack(packed)
    assert good.all()
    assert np.array_equal(batch, reports)
    assert [len(part) for part in wire.unpack(wire.pack(reports[:0]))] == [0, 0]
    for report in reports[:5]:
        sent = wire.encode(report)
        assert len(sent) == wire.report_bytes
        assert np.array_equal(wire.decode(sent).report, report)
        found = wire.read_json(wire.to_json(report))
        assert np.array_equal(found.report, report)  # type: ignore[union-attr]


def test_rows_of_integers_are_packed_to_the_bit() -> None:
    wire = Wire(Rows(1000, epsilon=1))
    rows = np.array([[0, 1, 2], [999, 998, 997], [512, 0, 511]], np.uint16)
    packed = wire.pack(rows)
    number = int.from_bytes(packed[1].tobytes(), "little")
    assert packed.shape == (3, 4)
    assert [number >> 10 * i & 1023 for i in range(3)] == [999, 998, 997]
    batch, good = wire.unpack(packed)
    assert good.all()
    assert np.array_equal(batch, rows)
    assert [len(part) for part in wire.unpack(wire.pack(rows[:0]))] == [0, 0]
    packed[0, 3] |= 0x40  # beyond the 30 bits
    packed[2, 0] |= 0xFF
    packed[2, 1] |= 0x03  # 1023
    assert wire.unpack(packed)[1].tolist() == [False, True, False]
    assert isinstance(wire.read_json(wire.to_json(rows[1])), tuple)


@all_oracles
def test_each_way_to_be_no_report(oracle: FrequencyOracle) -> None:
    wire = Wire(oracle)
    sent = wire.encode(oracle.perturb(oracle.domain.labels[0]))
    other = Wire(DirectEncoding(999, epsilon=1))
    reasons = {
        b"": "not a report",
        b"\x00" * len(sent): "not a report",
        sent[:20]: "length",
        sent[:-1]: "length",
        sent + b"\x00": "length",
        sent[:3] + b"\x02" + sent[4:]: "version",
        sent[:4] + b"\xff\xff" + sent[6:]: "mechanism",
        sent[:6] + other.schema + sent[22:]: "schema",
    }
    for data, reason in reasons.items():
        assert wire.read(data) == reason
        assert reason in REASONS
        with pytest.raises(UsageError, match=reason):
            wire.decode(data)


@all_oracles
def test_every_payload_is_a_report_or_refused(oracle: FrequencyOracle) -> None:
    """All ones is out of range wherever a payload has room for it, and never raises."""
    wire = Wire(oracle)
    head = wire.encode(oracle.perturb(oracle.domain.labels[0]))[:PAYLOAD_AT]
    found = wire.read(head + b"\xff" * wire.payload_bytes)
    full = Wire(ORACLES["sixteen items"])
    assert (found != "range") == (wire == full)


@given(data=st.binary(max_size=60))
def test_noise_never_raises(data: bytes) -> None:
    wire = Wire(ORACLES["sets"])
    head = wire.encode(ORACLES["sets"].perturb(0))
    assert wire.read(data) in REASONS
    found = wire.read(head[:PAYLOAD_AT] + data)
    assert isinstance(found, tuple) or found in ("length", "range")
    assert wire.read_json(data) in REASONS


def test_json_is_read_strictly() -> None:
    wire = Wire(ORACLES["thirteen items"])
    good = json.loads(wire.to_json(ORACLES["thirteen items"].perturb(3)))
    direct = Wire(ORACLES["ten bits"])
    number = json.loads(direct.to_json(7))
    cases: list[tuple[Wire, dict[str, Any], str]] = [
        (wire, good | {"tacit_report": 2}, "version"),
        (wire, good | {"tacit_report": True}, "version"),
        (wire, good | {"mechanism": "Other"}, "mechanism"),
        (wire, good | {"schema": "0" * 32}, "schema"),
        (wire, good | {"schema": None}, "schema"),
        (wire, good | {"id": good["id"].upper() + "0"}, "length"),
        (wire, good | {"id": "+" * 32}, "length"),
        (wire, good | {"more": 1}, "length"),
        (wire, good | {"report": "0" * 14}, "length"),
        (wire, good | {"report": "0" * 12 + "2"}, "range"),
        (wire, good | {"report": 5}, "length"),
        (direct, number | {"report": 1000}, "range"),
        (direct, number | {"report": -1}, "range"),
        (direct, number | {"report": 10**30}, "range"),
        (direct, number | {"report": 7.0}, "range"),
        (direct, number | {"report": True}, "range"),
        (direct, number | {"report": [7]}, "range"),
        (direct, number | {"report": float("nan")}, "range"),
    ]
    for reader, fields, reason in cases:
        assert reader.read_json(json.dumps(fields)) == reason, fields
    for text in ("", "[]", "null", "{}", "[" * 100_000, b"\xff\xfe"):
        assert wire.read_json(text) == "not a report"


def test_only_possible_reports_are_written() -> None:
    with pytest.raises(UsageError):
        Wire(ORACLES["ten bits"]).encode(1000)
    with pytest.raises(UsageError, match="16 bytes"):
        Wire(ORACLES["ten bits"]).encode(1, b"short")


def test_mechanisms_have_codes_of_their_own() -> None:
    import tacit.local.oracle as base

    names = set(base._KNOWN)
    assert len({mechanism_code(name) for name in names}) == len(names) > 8


def read_all(path: Path) -> tuple[Header, list[Chunk | int]]:
    with path.open("rb") as file:
        header = read_header(file)
        assert isinstance(header, Header)
        parts = [
            part if isinstance(part, int) else Chunk(part.ids, part.payloads.copy())
            for part in read_records(file, header, chunk_bytes=64)
        ]
    return header, parts


def payloads(parts: list[Chunk | int]) -> np.ndarray[Any, Any]:
    return np.concatenate([p.payloads for p in parts if isinstance(p, Chunk)])


@all_oracles
@pytest.mark.parametrize("ids", [True, False])
def test_batch_files(oracle: FrequencyOracle, ids: bool, tmp_path: Path) -> None:
    path = tmp_path / "day.reports"
    first, second = (oracle.perturb_many([oracle.domain.labels[0]] * n) for n in (50, 7))
    write_reports(path, oracle, first, ids=ids)
    assert append_reports(path, oracle, second) == 7
    header, parts = read_all(path)
    assert header.oracle() == oracle
    assert path.stat().st_size == header.size + 57 * header.record_bytes
    batch, good = Wire(oracle).unpack(payloads(parts))
    assert good.all()
    assert np.array_equal(batch, np.concatenate([first, second]))
    with pytest.raises(DataSourceError, match="exists"):
        write_reports(path, oracle, first)


def test_an_append_cuts_away_what_a_crash_left(tmp_path: Path) -> None:
    oracle, path = ORACLES["seventeen bits"], tmp_path / "torn.reports"
    reports = oracle.perturb_many(range(10))
    append_reports(path, oracle, reports)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert isinstance(read_all(path)[1][-1], int)
    append_reports(path, oracle, reports)
    batch, good = Wire(oracle).unpack(payloads(read_all(path)[1]))
    assert good.all()
    assert np.array_equal(batch, np.concatenate([reports[:-1], reports]))


def test_append_refuses_other_files_and_leaves_them(tmp_path: Path) -> None:
    oracle = ORACLES["ten bits"]
    path, foreign = tmp_path / "a.reports", tmp_path / "notes.txt"
    append_reports(path, ORACLES["one bit"], [0, 1])
    foreign.write_text("shopping list")
    before = path.read_bytes()
    with pytest.raises(MismatchError, match="another"):
        append_reports(path, oracle, [5])
    with pytest.raises(DataSourceError, match="not a batch"):
        append_reports(foreign, oracle, [5])
    assert path.read_bytes() == before
    assert foreign.read_text() == "shopping list"


@pytest.mark.full
def test_every_changed_byte_of_a_header_is_noticed(tmp_path: Path) -> None:
    oracle, path = ORACLES["one bit"], tmp_path / "h.reports"
    append_reports(path, oracle, [0, 1])
    data = path.read_bytes()
    size = Header.of(oracle, True).size
    for place in range(size):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with path.open("rb") as file:
            assert not isinstance(read_header(file), Header), place
    for length in range(size):
        path.write_bytes(data[:length])
        with path.open("rb") as file:
            assert not isinstance(read_header(file), Header), length
