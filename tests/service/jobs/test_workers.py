"""Workers: threads that answer, and say nothing of how long they took."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service.jobs import add, find
from tacit.errors import BudgetError
from tacit.service.database import Database
from tacit.service.jobs import workers as module
from tacit.service.jobs.queue import MOST_ATTEMPTS, Job, Outcome, Queue
from tacit.service.jobs.workers import Workers
from tacit.service.problem import Problem


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    database.create()
    yield Queue(database, time.time)
    database.close()


def over(queue: Queue, job: Job) -> Job:
    end = time.monotonic() + 20
    while (found := find(queue, job)).state != "over":
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def test_they_answer_wake_up_and_stop(queue: Queue) -> None:
    told = threading.Event()
    workers = Workers(queue, lambda _: Outcome(True), told.set, 2)
    workers.start()
    job = add(queue, started=time.time())
    workers.wake()
    assert over(queue, job).outcome == "done"
    assert told.wait(10)
    workers.stop()
    late = add(queue)
    time.sleep(0.05)
    assert find(queue, late).state == "queued"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BudgetError("more than remains"), "budget_exceeded"),
        (Problem("conflict", "declared anew"), "conflict"),
        (ValueError("ada has HIV"), "internal"),
        (MemoryError("ada has HIV"), "internal"),
    ],
)
def test_an_error_becomes_an_outcome_without_the_words_of_an_engine(
    queue: Queue, error: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_job: Job) -> Outcome:
        raise error

    workers = Workers(queue, fail, lambda: None, 1)
    workers.start()
    job = add(queue)
    workers.wake()
    found = over(queue, job)
    workers.stop()
    assert found.outcome == "failed"
    assert json.loads(str(found.error))["error"]["code"] == code
    assert "HIV" not in str(found.error)


def test_a_job_that_kills_its_workers_is_given_up(queue: Queue) -> None:
    job = add(queue, attempts=MOST_ATTEMPTS)
    workers = Workers(queue, lambda _: Outcome(True), lambda: None, 1)
    workers.start()
    found = over(queue, job)
    workers.stop()
    assert found.outcome == "failed"
    assert "stopped 5 times" in str(found.error)


def test_a_database_that_is_away_is_waited_for(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    lost: list[str] = []
    errors = [Problem("unavailable", "the database failed"), RuntimeError("ada has HIV")]

    def away(name: str) -> None:
        whole = getattr(queue, name)

        def fails(*given: Any) -> Any:
            if lost.count(name) < 3:
                lost.append(name)
                raise errors[lost.count(name) % 2]
            return whole(*given)

        monkeypatch.setattr(queue, name, fails)

    away("claim")
    away("finish")
    workers = Workers(queue, lambda _: Outcome(True), lambda: None, 1)
    workers.start()
    job = add(queue)
    assert over(queue, job).outcome == "done"
    workers.stop()
    assert [lost.count(name) for name in ("claim", "finish")] == [3, 3]


def test_a_lease_is_renewed_for_what_is_worked_on_and_nothing_else(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    monkeypatch.setattr(module, "LEASE", 0.03)
    renewed: list[list[str]] = []
    monkeypatch.setattr(queue, "renew", lambda _worker, names: renewed.append(names))
    go_on = threading.Event()

    def work(_job: Job) -> Outcome:
        go_on.wait(20)
        return Outcome(True)

    workers = Workers(queue, work, lambda: None, 1)
    job = add(queue)
    workers.start()
    end = time.monotonic() + 20
    while [job.id] not in renewed:
        assert time.monotonic() < end
        time.sleep(0.01)
    go_on.set()
    over(queue, job)
    time.sleep(0.1)
    workers.stop()
    assert renewed[-1] == []
