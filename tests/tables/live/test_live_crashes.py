"""A count over time survives its processes: killed ones, many at once, and one that was slow."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tacit as tc
from tacit.accounting import open_ledger
from tacit.accounting.ledger import parts_of
from tacit.errors import DataSourceError
from tacit.tables.live import counter as time_counter

WORKER = Path(__file__).with_name("live_worker.py")


@pytest.fixture(name="files")
def _files(tmp_path):
    source = tmp_path / "visits.csv"
    lines = ["hour,who", *(f"{n % 60},{n % 17}" for n in range(400))]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source, tmp_path / "visits.ledger"


def start(files, way, *ends):
    command = [sys.executable, str(WORKER), *map(str, files), way, *map(str, ends)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if process.stdout.readline() != "ready\n":
        pytest.fail(process.communicate()[1])
    return process


def finish(process):
    out, err = process.communicate("go\n", timeout=300)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def run(files, way, *ends):
    return finish(start(files, way, *ends))


def recorded(files):
    with open_ledger(files[1]) as ledger:
        ledger.verify_chain()
        charges = ledger.history()
        assert len(charges) == 1
        assert ledger.spent == tc.epsilon(1)
        return parts_of(ledger, charges[0])


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize(
    ("way", "parts"),
    [("die after the charge", 0), ("die before the part", 1), ("die after the part", 2)],
)
def test_what_is_killed_is_continued_at_no_cost(files, way, parts):
    """Killed at its worst moments it has shown nothing that the next one contradicts."""
    shown = []
    if way != "die after the charge":  # which the first update alone can do
        code, shown, err = run(files, "finish", 10)
        assert code == 0, err
    code, out, err = run(files, way, 20)
    assert (code, out) == (-signal.SIGKILL, []), err
    before = recorded(files)
    assert len(before) == parts
    code, out, err = run(files, "finish", 10, 20, 40)
    assert code == 0, err
    assert [len(table["period"]) for table in out] == [max(10, 10 * parts), 20, 40]
    for table in [*shown, *out]:
        for name, column in table.items():
            assert out[2][name][: len(column)] == column
    after = recorded(files)
    assert after[:parts] == before
    assert out[2]["count"] == [n for part in after for n in part["blocks"][: _size(part)]]


def _size(part):
    """How many of a part's blocks are periods: they stand first."""
    first, end = part["periods"]
    return end - first


@pytest.mark.full
def test_many_at_once_publish_the_same_numbers(files):
    ends = [1, 2, 7, 13, 14, 30, 31, 59, 60]
    processes = [start(files, "finish", *ends[i % 2 :: 1 + i % 2]) for i in range(3)]
    done = [finish(process) for process in processes]
    for code, _, err in done:
        assert code == 0, err
    last = [out[-1] for _, out, _ in done]
    longest = max(last, key=lambda table: len(table["period"]))
    assert len(longest["period"]) == 60
    for _, out, _ in done:
        for table in out:
            for name, column in table.items():
                assert longest[name][: len(column)] == column
    parts = recorded(files)
    ends = [part["periods"] for part in parts]
    assert [first for first, _ in ends] == [0, *(end for _, end in ends[:-1])]


def opened(files):
    return tc.Session(files[0], unit=tc.unit("who", rows=3), budget=tc.epsilon(1), ledger=files[1])


def asked(session):
    return session.count_over_time("hour", start=0, every=1, periods=60, epsilon=1)


@pytest.mark.full
def test_a_slow_update_throws_its_part_away_and_reads_again(files, monkeypatch):
    """What it read is older than what was published meanwhile, which the proof forbids."""
    read = time_counter.counts_of_periods
    reads = []
    with opened(files) as slow, opened(files) as quick:
        asked(slow).update(now=5)

        def interrupted(source, query, step, first, closed):
            found = read(source, query, step, first, closed)
            reads.append((source is slow.source, first, closed))
            if len(reads) == 1:
                other.append(asked(quick).update(now=20))  # reads later, and is published first
            return found

        other = []
        monkeypatch.setattr(time_counter, "counts_of_periods", interrupted)
        answer = asked(slow).update(now=30)
        mine = [(first, closed) for is_slow, first, closed in reads if is_slow]
        assert [closed for _, closed in mine] == [30, 30]  # read twice
        assert mine[0][0] < mine[1][0]  # the second time less was left
        assert answer.column("count")["value"][:20] == other[0].column("count")["value"]
        assert asked(quick).update(now=30).to_dict() == answer.to_dict()
        assert [part["periods"] for part in recorded(files)] == [[0, 5], [5, 20], [20, 30]]
        # and one that comes too late altogether returns what stands, though it saw another now
        assert asked(quick).update(now=8).replayed


def test_a_table_that_cannot_be_read_costs_nothing_more(files):
    with opened(files) as session:
        asked(session).update(now=5)
        kept = files[0].read_text(encoding="utf-8")
        files[0].unlink()
        with pytest.raises(DataSourceError):
            asked(session).update(now=20)
        files[0].write_text(kept, encoding="utf-8")
        answer = asked(session).update(now=20)
        assert len(answer) == 20
    assert [part["periods"] for part in recorded(files)] == [[0, 5], [5, 20]]
