"""A long storm on the ledger: many writers, killed at random, again and again."""

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
