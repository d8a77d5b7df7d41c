"""Several collectors and processes: no report counts twice, however it is sent about."""

from __future__ import annotations

import hashlib
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from local.every_mechanism import ORACLES
from tacit.errors import DataSourceError, MismatchError, TacitError, UsageError
from tacit.local import (
    Collector,
    DirectEncoding,
    UnaryEncoding,
    Wire,
    append_reports,
    oracle_from,
    shard_of,
    write_reports,
)
from tacit.local.collecting.batch_file import Header
from tacit.local.collecting.replay_guard import Bitmap, Shards

UNARY = UnaryEncoding(13, epsilon=1)


def memory(replay: str) -> Any:
    return Bitmap(16) if replay == "bitmap" else replay


def sent(n: int) -> list[bytes]:
    wire = Wire(UNARY)
    return [wire.encode(r) for r in UNARY.perturb_many([i % 13 for i in range(n)])]


@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_two_collectors_that_counted_one_report_are_not_added(replay: str) -> None:
    a, b = (Collector(UNARY, replay=memory(replay)) for _ in range(2))
    (report,) = sent(1)
    assert a.add_report(report)
    assert b.add_report(report)
    with pytest.raises(MismatchError, match="both"):
        _ = a + b
    assert a.n == b.n == 1


@pytest.mark.full
@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_shards_count_every_report_once(replay: str, tmp_path: Path) -> None:
    reports = sent(600)
    fleet = [Collector(UNARY, replay=memory(replay), shard=(i, 3)) for i in range(3)]
    for _ in range(2):  # each report arrives twice, and at every collector
        for report in reports:
            taken = [one.add_report(report) for one in fleet]
            assert sum(taken) == (_ == 0)
            if taken[shard_of(report, 3)] is False:
                assert _ == 1
    total = fleet[0] + fleet[2]
    total.save(tmp_path / "two")
    total = Collector.load(tmp_path / "two") + fleet[1]
    assert total.n == 600
    batch = np.array([Wire(UNARY).decode(report).report for report in reports])
    assert total.state == UNARY.aggregate(batch)
    assert total.refused == {"shard": 2 * 2 * 600, "replay": 600}
    assert not any(total.add_report(report) for report in reports)
    assert total.add_report(sent(1)[0])  # together they look after all ids
    again = Collector(UNARY, replay=memory(replay), shard=(0, 3))
    assert again.add_report(next(r for r in reports if shard_of(r, 3) == 0))
    with pytest.raises(MismatchError, match="both"):
        _ = fleet[0] + again


def test_shards_that_are_none() -> None:
    for shard in ((3, 3), (-1, 3), (0, 0), (0.5, 2)):
        with pytest.raises(UsageError):
            Collector(UNARY, replay="exact", shard=shard)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="replay"):
        Collector(UNARY, shard=(0, 2))
    assert Shards.of_both(Shards.one(0, 2), Shards.one(1, 3)) is None
    assert 0 <= shard_of(b"", 5) < 5


@pytest.mark.full
@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_processes_look_for_replays_together(replay: str, tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(3)]
    for path in paths[:2]:
        append_reports(path, UNARY, UNARY.perturb_many([3] * 200))
    paths[2].write_bytes(paths[0].read_bytes() + b"\xff" * 20)  # all again, one bad, one torn
    write_reports(tmp_path / "bare", UNARY, UNARY.perturb_many([1] * 9), ids=False)
    (tmp_path / "junk").write_bytes(b"junk")
    write_reports(tmp_path / "other", DirectEncoding(5, epsilon=1), [1, 2])
    files = [*paths, *(tmp_path / name for name in ("bare", "junk", "other"))]
    alone = Collector(UNARY, replay=memory(replay))
    alone.add_file(paths[1])
    many = Collector(UNARY, replay=memory(replay))
    many.add_file(paths[1])
    assert alone.add_files(files) == many.add_files(files, processes=3) == 200
    assert many.state == alone.state
    assert many.refused == alone.refused
    assert many.refused["replay"] == 200 + 200 + 9
    assert many.add_files(files, processes=2) == 0  # the memory came back


def test_ids_are_read_strictly() -> None:
    for replay in (None, "exact"):
        collector = Collector(UNARY, replay=replay)  # type: ignore[arg-type]
        batch = UNARY.perturb_many([1, 2, 3])
        for ids in (np.zeros((1, 16), np.uint8), np.zeros((3, 8), np.uint8), np.zeros((3, 16)),
                    np.zeros(3, np.uint8), [[300] * 16] * 3):  # fmt: skip
            with pytest.raises(UsageError, match="ids are"):
                collector.add(batch, ids)  # type: ignore[arg-type]
        assert collector.n == 0


def test_what_is_no_batch_or_report_is_counted_and_never_raises() -> None:
    collector = Collector(DirectEncoding(5, epsilon=1))
    for batch in ([[1, 2], [3]], None, "abc", [object()], 5, [1j], [2**70], [True], [1.0], [[]]):
        assert collector.add(batch) == 0
    for data in (None, "text", 5, [1], bytearray(b"TLR"), memoryview(b"TLRx")):
        assert not collector.add_report(data)  # type: ignore[arg-type]
        assert not collector.add_json(data)  # type: ignore[arg-type]
    assert collector.n == 0
    assert sum(collector.refused.values()) > 20
    assert collector.add([1, 2]) == 2


def changed(value: Any, chance: random.Random) -> Any:
    """Return a description with something in it exchanged."""
    odd = [None, -1, 0, 1e308, float("nan"), "x", "1e999999", "1/0", [], {}, [[]], 2**70, True,
           "9" * 5000, "1e-999", 2**40]  # fmt: skip
    if chance.random() < 0.25:
        return chance.choice(odd)
    if isinstance(value, dict) and value:
        key, copy = chance.choice(list(value)), dict(value)
        if chance.random() < 0.15:
            del copy[key]
        else:
            copy[key] = changed(value[key], chance)
        return copy
    if isinstance(value, list) and value:
        place, listed = chance.randrange(len(value)), list(value)
        listed[place] = changed(value[place], chance)
        return listed
    return chance.choice(odd)


@pytest.mark.parametrize("name", ORACLES)
def test_a_forged_description_is_refused_in_words(name: str) -> None:
    chance = random.Random(name)
    for _ in range(150):
        with suppress(TacitError):  # what it still describes is a mechanism
            assert oracle_from(changed(ORACLES[name].describe(), chance)).layout.bits > 0


def test_deep_descriptions_are_refused() -> None:
    nested: dict[str, Any] = DirectEncoding(5, epsilon=1).describe()
    for _ in range(3000):
        nested = {"mechanism": "PaddedSets", "oracle": nested, "length": 1}
    with pytest.raises(UsageError):
        oracle_from(nested)
    for text in (b"[" * 200_000, b"\xff", b"[]", b"9" * 9999):
        with pytest.raises(UsageError, match="describes no mechanism"):
            Header(bytes(32), b"ab", True, 8, text).oracle()


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
