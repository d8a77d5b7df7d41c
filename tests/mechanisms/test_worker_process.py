"""Bins that are answered in another process: deadlines, deaths, records that cannot be sent."""

import os
import threading
import time

import pytest

from tacit.mechanisms.sample_and_aggregate import sample_and_aggregate
from tacit.mechanisms.worker_process import Worker, _Deadline, packed

SURE = 10**9
"""An epsilon at which the noise is far below what is compared."""


def slow_or_dead(content):
    if 0 in content:
        time.sleep(60)
    if 1 in content:
        os._exit(1)
    print("not seen")
    return 8


@pytest.mark.full
def test_time_outs_and_deaths_cost_one_bin_each(capfd):
    pytest.importorskip("cloudpickle")
    m = sample_and_aggregate(
        slow_or_dead, 6, (0, 8), SURE, default=0, grid=1, timeout=0.5, parallel=2
    )
    data = list(range(60))
    started = time.monotonic()
    found = m(data)
    assert time.monotonic() - started < 30
    assert found in (pytest.approx(8 * 4 / 6, abs=0.01), pytest.approx(8 * 5 / 6, abs=0.01))
    seen = capfd.readouterr()
    assert seen.out + seen.err == ""


@pytest.mark.full
def test_a_deadline_that_passes_with_the_answer_harms_no_other_bin(monkeypatch):
    """The process may be killed just after it answered: the next bin gets a new one."""
    pytest.importorskip("cloudpickle")
    worker = Worker(packed(lambda content: [len(content)]), 60)
    late = _Deadline.__exit__

    def passes(deadline, *error):
        late(deadline, *error)
        deadline._pass()

    try:
        assert worker.answer([1, 2, 3]) == (3,)
        monkeypatch.setattr(_Deadline, "__exit__", passes)
        assert worker.answer([1, 2, 3]) is None
        monkeypatch.undo()
        assert worker.answer([1, 2]) == (2,)
    finally:
        worker.close()


@pytest.mark.full
def test_records_that_cannot_be_sent_cost_their_bin():
    pytest.importorskip("cloudpickle")
    lock = threading.Lock()  # cannot be written as bytes
    m = sample_and_aggregate(len, 2, (0, 8), SURE, default=0, grid=1, parallel=1)
    assert m([lock, lock, lock]) == pytest.approx(0, abs=0.01)
