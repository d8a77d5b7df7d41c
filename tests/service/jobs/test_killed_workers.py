"""A process that is killed at any place of a release: one charge, one noise, and it goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.postgres_server import Database
from support.service import other_process
from support.service.hosting import DECLARED, hosted_clinic
from support.service.other_process import ADA, PLACES, QUESTION
from tacit.accounting import epsilon
from tacit.service.hosting.ask import Ask
from tacit.service.jobs.queue import LEASE
from tacit.service.settings import Settings
from tacit.service.web.state import State

SCRIPT = Path(other_process.__file__)


class Mortals:
    """Processes that are killed, one after the other; what they import is imported once."""

    def __init__(self) -> None:
        command = [sys.executable, str(SCRIPT), "killed_in_turn"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def end(self, folder: Path, place: str) -> int:
        """How a process ended that was to be killed at a place."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), place]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def mortals() -> Iterator[Mortals]:
    made = Mortals()
    yield made
    made.process.communicate(timeout=60)


def later() -> float:
    """A clock of a machine on which the lease of the dead is over."""
    return time.time() + 3 * LEASE / 2


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_place(tmp_path: Path, mortals: Mortals, place: str) -> None:
    goes_on(hosted_clinic(tmp_path), mortals, place)


IN_SHORT = ("in the charge",)


@pytest.mark.parametrize(
    "place", [p if p in IN_SHORT else pytest.param(p, marks=pytest.mark.slow) for p in PLACES]
)
def test_killed_at_every_place_on_postgresql(
    tmp_path: Path, postgres: Database, mortals: Mortals, place: str
) -> None:
    """The database of the service and the ledger are on a server, which lives on."""
    dsn = postgres.dsn()
    ledger = f"{dsn}{'&' if '?' in dsn else '?'}ledger=visits"
    folder = hosted_clinic(tmp_path, f"database = '{dsn}'\n", f"ledger = '{ledger}'\n{DECLARED}")
    goes_on(folder, mortals, place)


def goes_on(folder: Path, mortals: Mortals, place: str) -> None:
    """A process is killed at a place, and another one goes on with what it left."""
    settings = Settings.load(folder)
    first = State.open(settings)
    assert first.datasets.of("visits").ledger(None).spent.is_nothing
    first.datasets.close()
    first.database.close()
    assert mortals.end(folder, place) == -signal.SIGKILL
    state = State.open(settings, later)
    ledger = state.datasets.of("visits").ledger(None)
    before = ledger.history()
    assert len(before) <= 1
    job = state.desk.submit("visits", ADA, Ask.from_json(QUESTION), "once")
    state.workers.start()
    end = time.monotonic() + 90
    while (found := state.desk.queue.find(job.id)) is None or found.state != "over":
        assert time.monotonic() < end, found
        time.sleep(0.02)
    (entry,) = ledger.history()
    assert found.outcome == "done"
    assert ledger.spent == epsilon(1)
    assert state.desk.answer(found).to_dict()["n"] == entry.answer["columns"][0]["value"]  # type: ignore[index]
    if before and before[0].answer is not None:
        assert before[0].answer == entry.answer
    assert [event.event for event in ledger.events()].count("answer") == 1
    ledger.verify_chain()
    state.close()
