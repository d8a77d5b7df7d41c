"""The wire: every report comes back, and everything else is refused for the right reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.every_mechanism import CASES, N, every_mechanism, reports_of
from local.every_mechanism import ORACLES as BATCH_FILE_ORACLES
from local.every_mechanism import ORACLES as EVERY
from local.every_mechanism import ORACLES as HOSTILE_WIRE_ORACLES
from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.local import (
    Collector,
    DirectEncoding,
    FrequencyOracle,
    HadamardResponse,
    OptimizedLocalHashing,
    Oracle,
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


# Every mechanism on the wire, against everything that can arrive in place of its reports.


def impossible(oracle: Oracle) -> bytes | None:
    """A payload of the right size that the mechanism cannot send, or None where all are sent."""
    wire = Wire(oracle)
    rng = np.random.default_rng(7)
    tried = [b"\xff" * wire.payload_bytes, bytes(wire.payload_bytes)]
    tried += [rng.bytes(wire.payload_bytes) for _ in range(50)]
    for payload in tried:
        if not wire.unpack(np.frombuffer(payload, np.uint8)[None])[1][0]:
            return payload
    return None


@pytest.mark.few(4)
@every_mechanism
def test_no_changed_byte_and_no_other_length_disturbs_anything(name: str) -> None:
    """Each is refused for the right reason, or is another report that may be sent."""
    oracle = HOSTILE_WIRE_ORACLES[name]
    wire, sent = Wire(oracle), Wire(oracle).encode(reports_of(name, 1)[0])
    collector, accepted = Collector(oracle), 0
    expected = {"not a report": 0, "version": 0, "mechanism": 0, "schema": 0, "range": 0}
    for place in range(len(sent)):
        for change in (0x01, 0x80, 0xFF):
            data = sent[:place] + bytes([sent[place] ^ change]) + sent[place + 1 :]
            found = collector.add_report(data)
            accepted += found
            if place < PAYLOAD_AT - 16:
                kind = ("not a report", "version", "mechanism", "schema")
                expected[kind[sum(place >= edge for edge in (3, 4, 6))]] += 1
                assert not found
            elif place < PAYLOAD_AT:
                assert found  # another id is another report
            else:
                expected["range"] += not found
                if found:
                    assert oracle.valid(np.asarray(wire.decode(data).report)[None]).all()
    lengths = [n for n in range(len(sent) + 20) if n != len(sent)]
    for n in lengths:
        assert not collector.add_report((sent + b"\x00" * 20)[:n])
    assert collector.n == accepted
    assert collector.refused["length"] == len(lengths) - 3
    told = collector.refused
    assert told["not a report"] == expected.pop("not a report") + 3  # the three that are too short
    assert {k: v for k, v in told.items() if k in expected} == {
        k: v for k, v in expected.items() if v
    }


@every_mechanism
def test_values_that_cannot_be_are_refused_everywhere(name: str, tmp_path: Path) -> None:
    oracle = HOSTILE_WIRE_ORACLES[name]
    payload = impossible(oracle)
    if payload is None:
        assert oracle.layout.bits % 8 == 0  # every bit pattern of whole bytes may be sent
        return
    wire, good = Wire(oracle), reports_of(name)
    head = wire.encode(good[0])[:PAYLOAD_AT]
    assert wire.read(head + payload) == "range"
    collector, path = Collector(oracle), tmp_path / "mixed"
    write_reports(path, oracle, good, ids=False)
    with path.open("ab") as file:
        file.write(payload * 3)
    assert collector.add_file(path) == N
    assert collector.refused == {"range": 3}
    assert collector.state == oracle.aggregate(good)


@pytest.mark.few(4)
@every_mechanism
def test_json_that_the_mechanism_cannot_send_is_refused(name: str) -> None:
    """It ended with an error that named the oracle, so that one line stopped a collector."""
    oracle = HOSTILE_WIRE_ORACLES[name]
    collector, layout = Collector(oracle), oracle.layout
    good = json.loads(Wire(oracle).to_json(reports_of(name, 1)[0]))
    rng = np.random.default_rng(5)
    accepted = 0
    for _ in range(60):
        bits = "".join(map(str, rng.integers(0, 2, layout.width)))
        listed = [int(v) % layout.limit for v in rng.integers(0, 2**62, layout.width)]
        plain = {"bits": bits, "integer": listed[0], "integers": listed}[layout.kind]
        accepted += collector.add_json(json.dumps(good | {"report": plain}))
    assert collector.n == accepted
    assert sum(collector.refused.values()) == 60 - accepted
    assert not set(collector.refused) - {"range"}


@pytest.mark.few(4)
@every_mechanism
def test_json_of_any_size_and_depth_is_answered(name: str) -> None:
    collector = Collector(HOSTILE_WIRE_ORACLES[name])
    sent = Wire(HOSTILE_WIRE_ORACLES[name]).to_json(reports_of(name, 1)[0])
    number = json.loads(sent)["id"]
    hostile = ["[" * 200_000, '{"a":' * 200_000, '{"tacit_report":' + "9" * 100_000 + "}"]
    hostile += ['{"tacit_report":1e999999999}', '{"tacit_report":NaN}', "\ufeff" + sent, sent[:-1]]
    hostile += [sent.replace(number, odd * 32) for odd in ("\ud800", "\\ud800", "\u0660")]
    assert not any(collector.add_json(text) for text in hostile)
    assert not any(collector.add_json(text.encode("utf-8", "replace")) for text in hostile[:5])
    assert sum(collector.refused.values()) == len(hostile) + 5
    assert not collector.add_json(sent + " " * 10_000_000)
    assert collector.add_json(json.dumps(json.loads(sent), indent=16))


@every_mechanism
def test_json_of_another_kind_is_refused(name: str) -> None:
    wire = Wire(HOSTILE_WIRE_ORACLES[name])
    good = json.loads(wire.to_json(reports_of(name, 1)[0]))
    odd = [None, True, -1, 1.5, "x", "", [], {}, [[1]], 10**30, good["report"], [None], ["1"]]
    for report in odd:
        found = wire.read_json(json.dumps(good | {"report": report}))
        if report is good["report"]:
            assert isinstance(found, tuple)
        else:
            assert found in ("range", "length") or isinstance(report, int)
    for field in good:
        missing = {k: v for k, v in good.items() if k != field}
        assert wire.read_json(json.dumps(missing)) in REASONS


@pytest.mark.few(12)
@every_mechanism
def test_a_report_of_another_question_is_none_of_this_one(name: str, tmp_path: Path) -> None:
    oracle = HOSTILE_WIRE_ORACLES[name]
    collector = Collector(oracle)
    for other in CASES:
        if other == name:
            continue
        assert not collector.add_report(
            Wire(HOSTILE_WIRE_ORACLES[other]).encode(reports_of(other, 1)[0])
        )
        assert not collector.add_json(
            Wire(HOSTILE_WIRE_ORACLES[other]).to_json(reports_of(other, 1)[0])
        )
        path = tmp_path / other.replace(" ", "")
        append_reports(path, HOSTILE_WIRE_ORACLES[other], reports_of(other, 3))
        assert collector.add_file(path) == 0
    assert collector.n == 0
    assert sum(collector.refused.values()) == 5 * (len(CASES) - 1)
    assert set(collector.refused) <= {"schema", "mechanism"}


@pytest.mark.few(4)
@every_mechanism
@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_a_replay_counts_once(name: str, replay: Any, tmp_path: Path) -> None:
    from tacit.local.collector import Bitmap

    oracle, reports = HOSTILE_WIRE_ORACLES[name], reports_of(name)
    collector = Collector(oracle, replay=Bitmap(14) if replay == "bitmap" else replay)
    path = tmp_path / "day.reports"
    append_reports(path, oracle, reports)
    assert [collector.add_file(path) for _ in range(3)] == [N, 0, 0]
    assert collector.refused == {"replay": 2 * N}
    assert collector.state == oracle.aggregate(reports)


# Batch files: they come back as written, and forged ones are refused.


@pytest.mark.few(4)
@every_mechanism
def test_forged_batch_files(name: str, tmp_path: Path) -> None:
    """A header that lies about what follows it: refused, whatever it says."""
    oracle = BATCH_FILE_ORACLES[name]
    true = Header.of(oracle, True)
    body = b"".join(Wire(oracle).pack(reports_of(name, 4)).tobytes() for _ in range(3))
    forged = [
        Header(true.fingerprint, true.mechanism, True, true.payload_bits + 8, true.description),
        Header(true.fingerprint, true.mechanism, True, (1 << 32) - 1, true.description),
        Header(true.fingerprint, b"\0\0", True, true.payload_bits, true.description),
        Header(bytes(32), true.mechanism, True, true.payload_bits, true.description),
    ]
    collector, path = Collector(oracle), tmp_path / "forged"
    for header in forged:
        path.write_bytes(header.pack() + body)
        assert collector.add_file(path) == 0
    assert collector.n == 0
    assert set(collector.refused) == {"schema", "mechanism"}
    other = DirectEncoding(77, epsilon=1)
    path.write_bytes(Header.of(other, False).pack() + body)
    assert collector.add_file(path) == 0


@pytest.mark.few(4)
@every_mechanism
def test_reports_come_back_by_every_way(name: str, tmp_path: Path) -> None:
    oracle, reports = BATCH_FILE_ORACLES[name], reports_of(name)
    wire, path = Wire(oracle), tmp_path / "day.reports"
    packed = wire.pack(reports)
    assert packed.shape == (N, -(-oracle.report_bits // 8))
    batch, good = wire.unpack(packed)
    assert good.all()
    assert np.array_equal(batch, reports)
    whole, single, text, filed = (Collector(oracle, replay="exact") for _ in range(4))
    ids = np.eye(N, 16, dtype=np.uint8) + np.arange(N, dtype=np.uint8)[:, None]
    assert whole.add(reports, ids) == N
    append_reports(path, oracle, reports)
    assert filed.add_file(path) == N
    for report in reports:
        assert single.add_report(wire.encode(report))
        assert text.add_json(wire.to_json(report))
    for collector in (single, text, filed):
        assert collector.state == whole.state == oracle.aggregate(reports)
        assert collector.refused == {}
    filed.save(tmp_path / "state")
    assert Collector.load(tmp_path / "state").state == filed.state
    again = oracle_from(json.loads(json.dumps(oracle.describe())))
    assert Wire(again).schema == wire.schema
