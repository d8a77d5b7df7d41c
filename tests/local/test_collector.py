"""The collector: exact sums, whatever arrives, however it is split, stopped or attacked."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tacit.errors import DataSourceError, MismatchError, UsageError
from tacit.local import (
    Collector,
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
    influence,
    shard_of,
    write_reports,
)
from tacit.local.collector import (
    Bitmap,
    CollectorState,
    ExactSet,
    Shards,
    read_state,
    seen_from,
    write_atomically,
    write_state,
)
from tacit.local.poisoning import honest_bounds

ORACLES: dict[str, FrequencyOracle] = {
    "two coins": RandomizedResponse(p="3/4"),
    "direct": DirectEncoding(100, epsilon=1),
    "unary": UnaryEncoding(13, epsilon=1),
    "hashing": OptimizedLocalHashing(100, epsilon=1),
    "hadamard": HadamardResponse(100, epsilon=1),
    "sets": SubsetSelection(13, epsilon=1),
    "two stages": TwoStage(DirectEncoding(9, epsilon=2), DirectEncoding(9, epsilon=1)),
}
all_oracles = pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES.keys())
UNARY = ORACLES["unary"]


def reports_of(oracle: FrequencyOracle, n: int) -> np.ndarray:
    k = len(oracle.domain)
    return oracle.perturb_many([oracle.domain.labels[i * i % k] for i in range(n)])


@pytest.mark.few(9)
@all_oracles
def test_all_ways_in_come_to_the_same_sums(oracle: FrequencyOracle, tmp_path: Path) -> None:
    reports = reports_of(oracle, 500)
    wanted = oracle.aggregate(reports)
    wire, path = Wire(oracle), tmp_path / "all.reports"
    whole, single, text, filed = (Collector(oracle) for _ in range(4))
    assert whole.add(reports) == 500
    append_reports(path, oracle, reports)
    assert filed.add_file(path) == 500
    assert all(single.add_report(wire.encode(r)) for r in reports)
    assert all(text.add_json(wire.to_json(r)) for r in reports)
    for collector in (whole, single, text, filed):
        assert collector.state == wanted
        assert collector.refused == {}
    assert whole.estimate().counts.tolist() == oracle.estimate(reports).counts.tolist()


@given(cuts=st.lists(st.integers(0, 200), max_size=4), turn=st.randoms(use_true_random=False))
@examples(0.25)
def test_collectors_add_up_in_any_split_and_order(cuts: list[int], turn: object) -> None:
    reports = reports_of(UNARY, 200)
    parts = np.split(reports, sorted(cuts))
    turn.shuffle(parts)  # type: ignore[attr-defined]
    total = Collector(UNARY)
    for part in parts:
        one = Collector(UNARY)
        one.add(part)
        one.add_report(b"junk")
        total = total + one
    assert total.state == UNARY.aggregate(reports)
    assert total.refused == {"not a report": len(parts)}


def test_bad_reports_are_refused_counted_and_disturb_nothing(tmp_path: Path) -> None:
    oracle, foreign = ORACLES["direct"], DirectEncoding(101, epsilon=1)
    wire, good = Wire(oracle), reports_of(oracle, 50)
    collector = Collector(oracle)
    mixed = np.concatenate([good.astype(np.int64), [100, 10**9, -1, 2**40]])
    assert collector.add(mixed) == 50
    assert collector.add(np.zeros((3, 2), np.uint8)) == 0
    assert collector.add(np.array([1.0, np.nan])) == 0
    assert collector.add(np.array([], np.uint8)) == 0
    sent = wire.encode(good[0])
    for data in (b"", sent[:-1], sent + b"0", sent[:-1] + b"\x64", Wire(foreign).encode(3)):
        assert not collector.add_report(data)
    assert not collector.add_report(Wire(ORACLES["unary"]).encode(reports_of(UNARY, 1)[0]))
    write_reports(tmp_path / "foreign", foreign, [1, 2, 3])
    (tmp_path / "noise").write_bytes(b"\x00" * 1000)
    write_reports(tmp_path / "torn", oracle, good, ids=False)
    with (tmp_path / "torn").open("ab") as file:
        file.write(b"\xff" * 3)  # one byte each, above 99
    append_reports(tmp_path / "cut", oracle, good)
    whole = (tmp_path / "cut").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-1])
    for name in ("foreign", "noise"):
        assert collector.add_file(tmp_path / name) == 0
    assert collector.add_file(tmp_path / "torn") == 50
    assert collector.add_file(tmp_path / "cut") == 49
    assert collector.refused == {
        "not a report": 2,
        "mechanism": 1,
        "schema": 4,
        "length": 6,
        "range": 10,
    }
    wanted = oracle.aggregate(good)
    total = wanted + wanted + oracle.aggregate(good[:-1])
    assert collector.state == total
    with pytest.raises(DataSourceError, match="gone"):
        collector.add_file(tmp_path / "gone")


def test_a_report_of_the_right_size_that_no_set_can_be() -> None:
    oracle = ORACLES["sets"]
    collector = Collector(oracle)
    batch = np.concatenate([reports_of(oracle, 5), [[0xFF, 0x1F], [0xFF, 0xFF], [0, 0]]])
    assert collector.add(batch.astype(np.uint8)) == 5
    assert collector.refused == {"range": 3}


@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_replays_are_refused(replay: str, tmp_path: Path) -> None:
    path = tmp_path / "day.reports"
    append_reports(path, UNARY, reports_of(UNARY, 300))
    seen = Bitmap(16) if replay == "bitmap" else replay
    collector = Collector(UNARY, replay=seen)  # type: ignore[arg-type]
    assert collector.add_file(path) == 300
    state = collector.state
    assert collector.add_file(path) == 0
    sent = Wire(UNARY).encode(UNARY.perturb(2))
    assert [collector.add_report(sent) for _ in range(3)] == [True, False, False]
    assert collector.refused == {"replay": 302}
    assert collector.n == state.n + 1
    collector.save(tmp_path / "state")
    again = Collector.load(tmp_path / "state")
    assert again.add_file(path) == 0
    assert not again.add_report(sent)
    assert again.add(reports_of(UNARY, 2)) == 0  # without an id nobody can tell


def test_a_refused_report_does_not_use_up_an_id() -> None:
    wire = Wire(UNARY)
    collector = Collector(UNARY, replay="exact")
    report = UNARY.perturb(1)
    sent = wire.encode(report, b"i" * 16)
    assert not collector.add_report(sent[:-1] + b"\xff")
    assert collector.add_report(sent)


def test_replays_within_one_batch_and_between_collectors() -> None:
    ids = np.arange(64, dtype=np.uint8).reshape(4, 16)[[0, 1, 0, 2, 1, 0]]
    for seen in (ExactSet(), Bitmap(12)):
        fresh = seen.fresh(ids, np.array([True, True, True, False, True, True]))
        assert fresh.tolist() == [True, True, False, False, False, False]
        other = seen_from(seen.kind, seen.to_bytes())
        assert other.fresh(ids, np.ones(6, bool)).tolist() == [False] * 3 + [True] + [False] * 2
    a, b = (Collector(UNARY, replay="exact") for _ in range(2))
    sent = Wire(UNARY).encode(UNARY.perturb(1))
    assert a.add_report(sent)
    assert b.add_report(sent)
    with pytest.raises(MismatchError, match="both"):
        _ = a + b
    with pytest.raises(MismatchError, match="replays"):
        _ = a + Collector(UNARY)


def test_the_bitmap_refuses_as_few_honest_reports_as_it_says() -> None:
    seen, rng = Bitmap(16), np.random.default_rng(1)
    seen.fresh(rng.integers(0, 256, (4000, 16), dtype=np.uint8), np.ones(4000, bool))
    asked = 20_000
    new = seen.fresh(rng.integers(0, 256, (asked, 16), dtype=np.uint8), np.ones(asked, bool))
    refused = asked - int(new.sum())
    expected = asked * seen.false_refusals(4000)  # 44: a batch is compared with those before it
    assert abs(refused - expected) < 5 * expected**0.5


def test_saved_and_resumed_to_the_last_bit(tmp_path: Path) -> None:
    path = tmp_path / "state"
    collector = Collector(UNARY, outliers="1e-9")
    collector.add(reports_of(UNARY, 100))
    collector.add_report(b"junk")
    collector.save(path)
    again = Collector.load(path)
    assert again.state == collector.state
    assert again.refused == collector.refused
    again.add(reports_of(UNARY, 10))
    again.save(path)
    assert Collector.load(path).n == 110
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_a_damaged_state_is_never_resumed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    collector = Collector(UNARY)
    collector.add(reports_of(UNARY, 100))
    collector.save(path)
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(DataSourceError):
            Collector.load(path)
        path.write_bytes(data[:place])
        with pytest.raises(DataSourceError):
            Collector.load(path)
    with pytest.raises(DataSourceError, match="none"):
        Collector.load(tmp_path / "none")
    with pytest.raises(DataSourceError, match="cannot be written"):
        collector.save(tmp_path / "no" / "folder")


@pytest.mark.full
def test_several_processes(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.reports" for i in range(3)]
    reports = [reports_of(UNARY, 100 + i) for i in range(3)]
    for path, batch in zip(paths, reports, strict=True):
        append_reports(path, UNARY, batch)
    (tmp_path / "bad").write_bytes(b"no")
    collector = Collector(UNARY)
    assert collector.add_files([*paths, tmp_path / "bad"], processes=2) == 303
    assert collector.state == UNARY.aggregate(np.concatenate(reports))
    assert collector.refused == {"not a report": 1}


def test_memory_does_not_grow_with_the_number_of_reports(tmp_path: Path) -> None:
    oracle = UnaryEncoding(256, epsilon=1)
    batch = reports_of(oracle, 20_000)
    peaks = []
    for times in (15, 60):
        path = tmp_path / f"{times}.reports"
        for _ in range(times):
            append_reports(path, oracle, batch)
        collector = Collector(oracle)
        tracemalloc.start()
        collector.add_file(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert collector.n == times * 20_000
    assert peaks[1] < 1.3 * peaks[0] + 2**20


def test_only_sums_of_the_same_question_add_up() -> None:
    with pytest.raises(MismatchError, match="different mechanisms"):
        _ = Collector(UNARY) + Collector(UnaryEncoding(13, epsilon=2))
    with pytest.raises(UsageError, match="exact"):
        Collector(UNARY, replay="some")  # type: ignore[arg-type]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("oracle", "people"),
    [
        (DirectEncoding(1024, epsilon=1), 596.4),
        (OptimizedLocalHashing(1024, epsilon=1), 3.33),
        (UnaryEncoding(1024, epsilon=1), 3.16),
        (HadamardResponse(1024, epsilon=1, blocks=1), 2.16),
    ],
    ids=lambda o: type(o).__name__,
)
def test_influence_of_crafted_reports(oracle: FrequencyOracle, people: float) -> None:
    told = influence(oracle, 10, n=10_000)
    assert float(told.per_report) == pytest.approx(people, rel=0.003)
    assert "10 poisoned reports" in str(told)
    # attained: the poisoned report that supports item 5 in place of nothing
    distinct = {r.tobytes(): r for r in oracle.perturb_many([5] * 30_000)}
    drawn = list(distinct.values())[:3000]
    supporting = max(drawn, key=lambda r: oracle.estimate(np.array([r]))[5])
    gained = oracle.estimate(np.array([supporting]))[5]
    assert gained == pytest.approx(float(told.per_report), rel=1e-6)


def test_outliers_are_bounded() -> None:
    oracle = UnaryEncoding(1024, epsilon=1)
    honest = oracle.perturb_many(np.arange(3000) % 1024)
    poisoned = np.full((7, 128), 255, np.uint8)
    collector = Collector(oracle, outliers="1e-9")
    assert collector.add(np.concatenate([honest, poisoned, 0 * poisoned])) == 3000
    assert collector.refused == {"outlier": 14}
    with pytest.raises(UsageError, match="unary"):
        Collector(DirectEncoding(5, epsilon=1), outliers="1e-9")
    with pytest.raises(UsageError, match="above 0"):
        Collector(oracle, outliers=0)


def test_honest_bounds_keep_what_they_promise() -> None:
    """Against the exact law of the number of ones, in fractions."""
    from fractions import Fraction
    from math import comb

    for k, p, q, miss in (
        (5, "3/4", "1/4", "0.01"),
        (20, "1/2", "1/8", "1e-6"),
        (9, "1/4", "7/8", "0.1"),
    ):
        oracle = UnaryEncoding(k, p=p, q=q)
        own, other = oracle.support
        rest = [comb(k - 1, j) * other**j * (1 - other) ** (k - 1 - j) for j in range(k)]
        law = [
            own * (rest[t - 1] if t else 0) + (1 - own) * (rest[t] if t < k else 0)
            for t in range(k + 1)
        ]
        assert sum(law) == 1
        found = honest_bounds(oracle, miss)
        assert sum(law[found.minimum : found.maximum + 1]) >= 1 - Fraction(miss)
        assert sum(law[: found.minimum]) <= Fraction(miss) / 2 < sum(law[: found.minimum + 1])
        assert sum(law[found.maximum + 1 :]) <= Fraction(miss) / 2 < sum(law[found.maximum :])


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


# No report counts twice: collectors, shards and processes that share a memory.


REPLAY_GUARD_UNARY = UnaryEncoding(13, epsilon=1)


def memory(replay: str) -> Any:
    return Bitmap(16) if replay == "bitmap" else replay


def sent(n: int) -> list[bytes]:
    wire = Wire(REPLAY_GUARD_UNARY)
    return [wire.encode(r) for r in REPLAY_GUARD_UNARY.perturb_many([i % 13 for i in range(n)])]


@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_two_collectors_that_counted_one_report_are_not_added(replay: str) -> None:
    a, b = (Collector(REPLAY_GUARD_UNARY, replay=memory(replay)) for _ in range(2))
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
    fleet = [Collector(REPLAY_GUARD_UNARY, replay=memory(replay), shard=(i, 3)) for i in range(3)]
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
    batch = np.array([Wire(REPLAY_GUARD_UNARY).decode(report).report for report in reports])
    assert total.state == REPLAY_GUARD_UNARY.aggregate(batch)
    assert total.refused == {"shard": 2 * 2 * 600, "replay": 600}
    assert not any(total.add_report(report) for report in reports)
    assert total.add_report(sent(1)[0])  # together they look after all ids
    again = Collector(REPLAY_GUARD_UNARY, replay=memory(replay), shard=(0, 3))
    assert again.add_report(next(r for r in reports if shard_of(r, 3) == 0))
    with pytest.raises(MismatchError, match="both"):
        _ = fleet[0] + again


def test_shards_that_are_none() -> None:
    for shard in ((3, 3), (-1, 3), (0, 0), (0.5, 2)):
        with pytest.raises(UsageError):
            Collector(REPLAY_GUARD_UNARY, replay="exact", shard=shard)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="replay"):
        Collector(REPLAY_GUARD_UNARY, shard=(0, 2))
    assert Shards.of_both(Shards.one(0, 2), Shards.one(1, 3)) is None
    assert 0 <= shard_of(b"", 5) < 5


@pytest.mark.full
@pytest.mark.parametrize("replay", ["exact", "bitmap"])
def test_processes_look_for_replays_together(replay: str, tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(3)]
    for path in paths[:2]:
        append_reports(path, REPLAY_GUARD_UNARY, REPLAY_GUARD_UNARY.perturb_many([3] * 200))
    paths[2].write_bytes(paths[0].read_bytes() + b"\xff" * 20)  # all again, one bad, one torn
    write_reports(
        tmp_path / "bare", REPLAY_GUARD_UNARY, REPLAY_GUARD_UNARY.perturb_many([1] * 9), ids=False
    )
    (tmp_path / "junk").write_bytes(b"junk")
    write_reports(tmp_path / "other", DirectEncoding(5, epsilon=1), [1, 2])
    files = [*paths, *(tmp_path / name for name in ("bare", "junk", "other"))]
    alone = Collector(REPLAY_GUARD_UNARY, replay=memory(replay))
    alone.add_file(paths[1])
    many = Collector(REPLAY_GUARD_UNARY, replay=memory(replay))
    many.add_file(paths[1])
    assert alone.add_files(files) == many.add_files(files, processes=3) == 200
    assert many.state == alone.state
    assert many.refused == alone.refused
    assert many.refused["replay"] == 200 + 200 + 9
    assert many.add_files(files, processes=2) == 0  # the memory came back


# The file of a collector: it comes back whole, and one that was damaged is never read.


ORACLE = DirectEncoding(["a", "b", "c"], epsilon=1)


@pytest.fixture
def written(tmp_path):
    place = tmp_path / "day.state"
    sums = np.array([3, 0, 1], dtype=np.int64)
    write_state(place, CollectorState(ORACLE, 4, sums, {"length": 2}, None, None, "1e-9"))
    return place


def test_all_comes_back(written):
    found = read_state(written)
    assert (found.oracle, found.n, found.sums.tolist()) == (ORACLE, 4, [3, 0, 1])
    assert (dict(found.refused), found.seen, found.outliers) == ({"length": 2}, None, "1e-9")


def test_every_changed_byte_is_found(written):
    data = written.read_bytes()
    for place in range(0, len(data), 7):
        changed = bytearray(data)
        changed[place] ^= 1
        written.write_bytes(changed)
        with pytest.raises(DataSourceError, match=r"not the state of a collector|is damaged"):
            read_state(written)
    written.write_bytes(data[:-5])
    with pytest.raises(DataSourceError, match="damaged"):
        read_state(written)


def test_a_sealed_file_that_holds_something_else_is_refused(written):
    body = written.read_bytes()[:-32].replace(b'"n": 4', b'"n":-4')
    written.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(DataSourceError, match=r"cannot be|not a state that can be resumed"):
        read_state(written)


def test_a_file_that_cannot_be_replaced_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataSourceError, match="cannot be written"):
        write_atomically(tmp_path / "folder", b"new")
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
