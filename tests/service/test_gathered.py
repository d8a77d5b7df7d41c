"""Events that threads write at once: each in the log before its thread goes on, in one chain."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tacit.service.access import Caller
from tacit.service.audit_log import AuditLog, Gathered
from tacit.service.database import Database
from tacit.service.problem import Problem

THREADS = 12


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.full)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    address = f"sqlite:///{tmp_path}/service.db"
    if request.param == "postgres":
        address = request.getfixturevalue("postgres").dsn()
    made = Database(address)
    made.create()
    yield made
    made.close()


def caller(number: int) -> Caller:
    return Caller(f"person {number}", None, (), f"token {number}", 0)


def all_at_once(gathered: Gathered, audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One event is being written until all others wait; return how many each transaction wrote."""
    write, sizes = audit.write_together, []

    def held(acts: Any) -> Any:
        batch = list(acts)
        end = time.monotonic() + 30
        while not sizes and len(gathered._waiting) < THREADS:
            assert time.monotonic() < end
            time.sleep(0.001)
        sizes.append(len(batch))
        return write(batch)

    monkeypatch.setattr(audit, "write_together", held)
    found: list[Any] = []

    def act(number: int) -> None:
        try:
            gathered.acted("previewed", caller(number), dataset="visits", details={"cost": "1"})
            seen = [event.who for event in audit.read()]
            found.append(f"person {number}" in seen)
        except Problem as problem:
            found.append(problem.code)

    with ThreadPoolExecutor(THREADS + 1) as pool:
        list(pool.map(act, range(THREADS + 1)))
    return sizes, found


def test_those_who_wait_are_written_together_and_each_before_it_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = AuditLog(database)
    audit.write("service_started", "service")
    sizes, found = all_at_once(Gathered(audit), audit, monkeypatch)
    assert sizes == [1, THREADS]
    assert found == [True] * (THREADS + 1)
    events = audit.read(after=1)
    assert sorted(event.who for event in events) == sorted(
        caller(number).name for number in range(THREADS + 1)
    )
    assert all(event.token == event.who.replace("person", "token") for event in events)
    assert audit.verify() == THREADS + 2


def test_what_cannot_be_written_is_refused_to_all_who_waited_for_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = AuditLog(database)
    gathered, broken = Gathered(audit), threading.Event()
    begin = database.begin

    def away(lock: str | None = None) -> Any:
        if broken.is_set():
            raise Problem("unavailable", "the database is away")
        broken.set()
        return begin(lock)

    monkeypatch.setattr(database, "begin", away)
    _, found = all_at_once(gathered, audit, monkeypatch)
    assert found.count("unavailable") == THREADS
    assert found.count(True) == 1
    monkeypatch.undo()
    gathered.acted("previewed", caller(99))
    assert audit.verify() == 2
