"""Places for a ledger: a file, and tables in the PostgreSQL of the tests."""

import os
import warnings
from itertools import count

import pytest

_names = count(1)


@pytest.fixture(scope="session")
def ledger_database(postgres_server):
    """A database that the tests of this process put their ledgers into, side by side."""
    postgres_server.start()
    with postgres_server.database() as database:
        yield database


@pytest.fixture
def address(ledger_database):
    """The address of a ledger that is not there yet, in a server that runs."""
    ledger_database.server.start()
    return f"{ledger_database.dsn()}?ledger=test_{next(_names)}"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger can be begun that outlives its process: each test runs in both."""
    if request.param == "postgres":
        return request.getfixturevalue("address")
    return tmp_path / "clinic.ledger"


@pytest.fixture
def new_process(monkeypatch):
    """Forget what this process saw of ledgers, as the next one would not know it."""
    return lambda: monkeypatch.setattr("tacit.accounting.ledger_chain._seen", {})


@pytest.fixture
def forked():
    """Let a forked process do something, and see that it does not fail."""

    def run(work):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads of the test runner
            child = os.fork()
        if child == 0:
            code = 1
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0

    return run
