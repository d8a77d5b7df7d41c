"""The ledger among real processes, some of which are killed."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit.accounting import create_ledger, epsilon, open_ledger

WORKER = Path(__file__).with_name("ledger_worker.py")
COST = epsilon("1/100")


class Worker:
    """Another process, held at its start until it is let go."""

    def __init__(self, action, *arguments):
        command = [sys.executable, str(WORKER), action, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_ready(self):
        assert self.process.stdout.readline() == "ready\n"

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def told(self):
        return json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait() == -signal.SIGKILL

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@contextlib.contextmanager
def workers(count, action, *arguments):
    crew = [Worker(action, *arguments) for _ in range(count)]
    try:
        for worker in crew:
            worker.wait_until_ready()
        for worker in crew:
            worker.go()
        yield crew
    finally:
        for worker in crew:
            worker.end()


@pytest.fixture
def path(place):
    create_ledger(place, dataset="d", budget=epsilon(1)).close()
    return place


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "d.ledger"
    create_ledger(path, dataset="d", budget=epsilon(1)).close()
    return path


@pytest.mark.full
def test_eight_racing_processes_are_granted_exactly_the_budget(path):
    with workers(8, "race", path, 20) as crew:
        told = [worker.told() for worker in crew]
    assert sum(granted for granted, _ in told) == 100
    assert sum(refused for _, refused in told) == 60
    with open_ledger(path) as ledger:
        assert ledger.spent == ledger.total
        assert len(ledger.history()) == 100
        assert ledger.verify_chain() == 101


@pytest.mark.full
def test_processes_that_close_the_file_before_each_charge_are_granted_exactly_the_budget(file):
    with workers(4, "race", file, 40, "rests") as crew:
        told = [worker.told() for worker in crew]
    assert (sum(g for g, _ in told), sum(r for _, r in told)) == (100, 60)
    with open_ledger(file) as ledger:
        assert ledger.spent == ledger.total
        assert ledger.verify_chain() == 101


@pytest.mark.full
def test_the_naive_way_overspends(tmp_path):
    """Contrast: the same race on a number that is read, checked and written back."""
    path = tmp_path / "naive"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE budget (spent INTEGER)")
    connection.execute("INSERT INTO budget VALUES (0)")
    connection.close()
    with workers(4, "naive", path, 400) as crew:
        granted = sum(worker.told()[0] for worker in crew)
    assert granted > 100


@pytest.mark.full
def test_without_the_lock_the_sequence_numbers_still_hold_the_budget(file):
    """Two charges that read the same head make the same number, and only one can be kept."""
    with workers(4, "unlocked", file, 60) as crew:
        told = [worker.told() for worker in crew]
    assert sum(broken for _, broken in told) > 0  # so the lock is not idle
    with open_ledger(file) as ledger:
        assert len(ledger.history()) <= 100


@pytest.mark.full
def test_processes_that_begin_together_share_one_ledger(place):
    with workers(6, "begin", place) as crew:
        names = {worker.told() for worker in crew}
    assert len(names) == 1
    with open_ledger(place) as ledger:
        assert [event.event for event in ledger.events()] == ["create"]


@pytest.mark.full
def test_processes_that_ask_the_same_at_once_give_out_one_answer(path):
    with workers(6, "same", path) as crew:
        answers = {worker.told() for worker in crew}
    assert len(answers) == 1
    with open_ledger(path) as ledger:
        assert [entry.answer["n"] for entry in ledger.history()] == list(answers)
        assert ledger.spent == COST  # all of them together


def test_killed_inside_the_transaction_leaves_nothing_and_no_lock(path):
    with workers(1, "killed_inside", path) as (worker,):
        assert worker.told() == "inside"
        worker.kill()
    with open_ledger(path) as ledger:
        assert ledger.spent.is_nothing
        assert ledger.find("k") is None
        ledger.charge("k", COST, {})
        assert ledger.verify_chain() == 2


def test_killed_between_charge_and_answer_is_spent_and_not_lost(path):
    with workers(1, "killed_between", path) as (worker,):
        assert worker.told() == "charged"
        worker.kill()
    with open_ledger(path) as ledger:
        assert ledger.spent == COST
        assert ledger.find("k").state == "open"
        calls = []
        entry = ledger.release("k", COST, {}, lambda: calls.append(1) or {"n": 1})
        assert (entry.answer, calls) == ({"n": 1}, [1])  # no replay of what was never said
        assert ledger.spent == COST  # it went on under its own charge
        assert ledger.verify_chain() == 3


def test_killed_after_the_answer_replays_it_free(path):
    with workers(1, "killed_after", path) as (worker,):
        assert worker.told() == {"n": 7}
        worker.kill()
    with open_ledger(path) as ledger:
        assert ledger.release("k", COST, {}, lambda: pytest.fail("drawn anew")).answer == {"n": 7}
        assert ledger.spent == COST


@pytest.mark.full
def test_writers_killed_under_load_leave_a_sound_chain(place):
    create_ledger(place, dataset="d", budget=epsilon(10**6)).close()
    for _ in range(3):
        with workers(3, "storm", place) as crew:
            for worker in crew:
                assert worker.told() == "running"
            time.sleep(0.3)
            for worker in crew:
                worker.kill()
    with open_ledger(place) as ledger:
        history = ledger.history()
        assert len(history) > 9
        assert ledger.spent.amount == len(history) * COST.amount
        lost = [entry for entry in history if entry.state == "open"]
        assert len(lost) <= 9  # at most one unanswered charge for each that was killed
        ledger.verify_chain()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_shares_the_place_and_not_the_memory(path):
    with workers(1, "forked", path) as (worker,):
        status, keys, events, in_memory = worker.told()
    assert status == 0
    assert keys == ["before", "child", "parent"]
    assert events == 4
    assert in_memory == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights are other things on this system")
def test_a_read_only_folder_is_refused(file):
    folder = file.parent
    if os.getuid() == 0:  # the worker becomes nobody, who must be able to look inside
        for above in folder.parents:
            if above.name.startswith(("pytest-", "popen-", "test_")):
                above.chmod(0o755)
    file.chmod(0o444)
    folder.chmod(0o555)
    try:
        with workers(1, "powerless", file) as (worker,):
            opened, created = worker.told(), worker.told()
    finally:
        folder.chmod(0o755)
        file.chmod(0o644)
    assert "cannot be" in opened
    assert "look whether the folder exists and can be written" in created
    assert [found.name for found in folder.iterdir()] == [file.name]
    with open_ledger(file) as ledger:
        assert ledger.spent.is_nothing
