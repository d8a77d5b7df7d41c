"""Every mechanism on the wire, against everything that can arrive in place of its reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from local.every_mechanism import CASES, ORACLES, N, every_mechanism, reports_of
from tacit.local import (
    Collector,
    Oracle,
    Wire,
    append_reports,
    write_reports,
)
from tacit.local.wire import PAYLOAD_AT, REASONS


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
    oracle = ORACLES[name]
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
    oracle = ORACLES[name]
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
    oracle = ORACLES[name]
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
    collector = Collector(ORACLES[name])
    sent = Wire(ORACLES[name]).to_json(reports_of(name, 1)[0])
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
    wire = Wire(ORACLES[name])
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
    oracle = ORACLES[name]
    collector = Collector(oracle)
    for other in CASES:
        if other == name:
            continue
        assert not collector.add_report(Wire(ORACLES[other]).encode(reports_of(other, 1)[0]))
        assert not collector.add_json(Wire(ORACLES[other]).to_json(reports_of(other, 1)[0]))
        path = tmp_path / other.replace(" ", "")
        append_reports(path, ORACLES[other], reports_of(other, 3))
        assert collector.add_file(path) == 0
    assert collector.n == 0
    assert sum(collector.refused.values()) == 5 * (len(CASES) - 1)
    assert set(collector.refused) <= {"schema", "mechanism"}


@pytest.mark.few(4)
@every_mechanism
@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_a_replay_counts_once(name: str, replay: Any, tmp_path: Path) -> None:
    from tacit.local.collector import Bitmap

    oracle, reports = ORACLES[name], reports_of(name)
    collector = Collector(oracle, replay=Bitmap(14) if replay == "bitmap" else replay)
    path = tmp_path / "day.reports"
    append_reports(path, oracle, reports)
    assert [collector.add_file(path) for _ in range(3)] == [N, 0, 0]
    assert collector.refused == {"replay": 2 * N}
    assert collector.state == oracle.aggregate(reports)
