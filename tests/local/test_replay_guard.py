"""No report counts twice: collectors, shards and processes that share a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import MismatchError, UsageError
from tacit.local import (
    Collector,
    DirectEncoding,
    UnaryEncoding,
    Wire,
    append_reports,
    shard_of,
    write_reports,
)
from tacit.local.collector import Bitmap, Shards

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
