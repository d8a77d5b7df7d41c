"""Many random histories of a ledger; ``TACIT_HISTORIES=100000`` for as many as one has time for.

``TACIT_HISTORIES_POSTGRES`` says how many in PostgreSQL, which takes some ten times as long for
each: by default a fifth.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest

from support.accounting import service_machine
from support.accounting.ledger_machine import histories
from support.accounting.ledger_places import FilePlace, ServerPlace
from support.servers.left_out import leave_out
from support.servers.postgres_server import PostgresServer, missing

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
