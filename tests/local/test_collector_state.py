"""The file of a collector: it comes back whole, and one that was damaged is never read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import DataSourceError
from tacit.local import (
    Collector,
    DirectEncoding,
    Wire,
)
from tacit.local.collector import Kept, read_kept, write_kept, write_whole

ORACLE = DirectEncoding(["a", "b", "c"], epsilon=1)


@pytest.fixture
def written(tmp_path):
    place = tmp_path / "day.state"
    sums = np.array([3, 0, 1], dtype=np.int64)
    write_kept(place, Kept(ORACLE, 4, sums, {"length": 2}, None, None, "1e-9"))
    return place


def test_all_comes_back(written):
    found = read_kept(written)
    assert (found.oracle, found.n, found.sums.tolist()) == (ORACLE, 4, [3, 0, 1])
    assert (dict(found.refused), found.seen, found.outliers) == ({"length": 2}, None, "1e-9")


def test_every_changed_byte_is_found(written):
    data = written.read_bytes()
    for place in range(0, len(data), 7):
        changed = bytearray(data)
        changed[place] ^= 1
        written.write_bytes(changed)
        with pytest.raises(DataSourceError, match=r"not the state of a collector|is damaged"):
            read_kept(written)
    written.write_bytes(data[:-5])
    with pytest.raises(DataSourceError, match="damaged"):
        read_kept(written)


def test_a_sealed_file_that_holds_something_else_is_refused(written):
    body = written.read_bytes()[:-32].replace(b'"n": 4', b'"n":-4')
    written.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(DataSourceError, match=r"cannot be|not a state that can be resumed"):
        read_kept(written)


def test_a_file_that_cannot_be_replaced_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataSourceError, match="cannot be written"):
        write_whole(tmp_path / "folder", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "forged",
    [{"n": -5}, {"n": "x"}, {"n": 1.5}, {"n": True}, {"sums": -1}, {"sums": 4}, {"sums": "a"},
     {"refused": []}, {"refused": {"mood": 1}}, {"refused": {"range": -1}}, {"replay": "none"},
     {"replay": None}, {"replay": 5}, {"outliers": "x"}, {"outliers": "1e-9"}, {"oracle": {}},
     {"fingerprint": "00"}, {"shards": [2, 2]}, {"shards": "x"}, {"shards": []}],
    ids=str,
)  # fmt: skip
def test_a_state_with_a_right_checksum_and_wrong_content(forged: Any, tmp_path: Path) -> None:
    oracle, path = DirectEncoding(5, epsilon=1), tmp_path / "state"
    collector = Collector(oracle, replay="exact")
    assert collector.add_report(Wire(oracle).encode(1))
    collector.save(path)
    data = path.read_bytes()[:-32]
    size = int.from_bytes(data[8:16], "little")
    header, rest = json.loads(data[16 : 16 + size]), data[16 + size :]
    text = json.dumps(header | forged).encode()
    body = data[:8] + len(text).to_bytes(8, "little") + text + rest
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(DataSourceError, match=r"cannot be|collector|can be resumed"):
        Collector.load(path)
