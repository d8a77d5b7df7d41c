"""A long storm on the ledger: many writers, killed at random, again and again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from support.accounting import service_machine
from support.accounting.ledger_machine import histories
from support.accounting.ledger_places import FilePlace, ServerPlace
from support.servers.left_out import leave_out
from support.servers.postgres_server import PostgresServer, missing
from tacit.accounting import create_ledger, epsilon, open_ledger

WORKER = Path(__file__).parents[2] / "accounting" / "ledger" / "ledger_worker.py"
COST = epsilon("1/100")


def start(action, *arguments):
    worker = subprocess.Popen(
        [sys.executable, str(WORKER), action, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout.readline() == "ready\n"
    worker.stdin.write("go\n")
    worker.stdin.flush()
    return worker


def end(worker):
    with contextlib.suppress(ProcessLookupError):
        worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdin.close()
    worker.stdout.close()


@pytest.mark.slow
def test_eight_writers_and_sixty_kills(tmp_path):
    path = tmp_path / "storm.ledger"
    create_ledger(path, dataset="d", budget=epsilon(10**6)).close()
    crew = [start("storm", path) for _ in range(8)]
    kills = 0
    try:
        for _ in range(60):
            time.sleep(random.uniform(0, 0.3))
            place = random.randrange(len(crew))
            end(crew[place])
            kills += 1
            crew[place] = start("storm", path)
    finally:
        for worker in crew:
            end(worker)
            kills += 1
    with open_ledger(path) as ledger:
        history = ledger.history()
        assert len(history) > kills
        assert ledger.spent.amount == len(history) * COST.amount
        assert sum(entry.state == "open" for entry in history) <= kills
        ledger.verify_chain()
        (sound,) = ledger._store._connection.execute("PRAGMA integrity_check").fetchone()
        assert sound == "ok"


@pytest.mark.slow
def test_eight_racing_writers_many_times(tmp_path):
    for turn in range(15):
        path = tmp_path / f"{turn}.ledger"
        create_ledger(path, dataset="d", budget=epsilon(1)).close()
        crew = [start("race", path, 20) for _ in range(8)]
        told = [json.loads(worker.stdout.readline()) for worker in crew]
        for worker in crew:
            end(worker)
        assert sum(granted for granted, _ in told) == 100
        with open_ledger(path) as ledger:
            assert ledger.spent == ledger.total
            assert ledger.verify_chain() == 101


# Many random histories of a ledger; ``TACIT_HISTORIES=100000`` for as many as one has time for.
#
# ``TACIT_HISTORIES_POSTGRES`` says how many in PostgreSQL, which takes some ten times as long for
# each: by default a fifth.


MANY = int(os.environ.get("TACIT_HISTORIES", "10000"))
MANY_IN_POSTGRES = int(os.environ.get("TACIT_HISTORIES_POSTGRES", str(MANY // 5)))


@pytest.fixture
def memory_folder(tmp_path):
    """A folder in memory, where the machine has one: syncing a file costs nothing there."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=memory))
    folder.chmod(0o755)  # a server runs as another user
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_no_history_of_many_grants_more_than_the_budget(memory_folder):
    begin = random.randrange(10**9)
    histories(FilePlace(memory_folder), range(begin, begin + MANY))


@pytest.mark.slow
def test_nor_one_of_many_in_postgresql(memory_folder, monkeypatch):
    if (lacking := missing()) is not None:
        leave_out(*lacking)
    monkeypatch.setattr("tempfile.tempdir", str(memory_folder))
    server = PostgresServer(log_statement="none", log_connections="off")
    try:
        server.trust()
        with server.database() as database:
            begin = random.randrange(10**9)
            place = ServerPlace(database, reboots=True)
            histories(place, range(begin, begin + MANY_IN_POSTGRES))
    finally:
        server.remove()


@pytest.mark.slow
@pytest.mark.parametrize("approval", [False, True])
def test_nor_one_of_a_service(memory_folder, approval):
    begin = random.randrange(10**9)
    made = service_machine.template(memory_folder / "made", approval=approval)
    service_machine.histories(made, range(begin, begin + MANY // 50), approval=approval)
