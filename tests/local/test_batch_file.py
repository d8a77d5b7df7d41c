"""Batch files: they come back as written, and forged ones are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from local.every_mechanism import ORACLES, N, every_mechanism, reports_of
from tacit.local import (
    Collector,
    DirectEncoding,
    Wire,
    append_reports,
    oracle_from,
)
from tacit.local.batch_file import Header


@pytest.mark.few(4)
@every_mechanism
def test_forged_batch_files(name: str, tmp_path: Path) -> None:
    """A header that lies about what follows it: refused, whatever it says."""
    oracle = ORACLES[name]
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
    oracle, reports = ORACLES[name], reports_of(name)
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
