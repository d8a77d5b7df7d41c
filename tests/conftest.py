"""Servers that tests share, and what the run says at its end about tests that were left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from left_out import leave_out, told
from postgres_server import Database, PostgresServer, missing
from spark_session import LocalSpark
from spark_session import missing as missing_of_spark


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of this process's own, started when the first test asks for it."""
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[Database]:
    """A fresh database in a server that runs, whatever an earlier test did to it."""
    postgres_server.start()
    with postgres_server.database() as database:
        yield database


@pytest.fixture(scope="session")
def local_spark() -> Iterator[LocalSpark]:
    """A Spark of this process's own, started when the first test asks for it."""
    lacking = missing_of_spark()
    if lacking is not None:
        leave_out(*lacking)
    local = LocalSpark()
    yield local
    local.remove()


@pytest.fixture
def spark(local_spark: LocalSpark) -> Any:
    """A session of Spark that runs, whatever an earlier test did to it."""
    return local_spark.session()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out for want of a program, and what brings it."""
    for line in told(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)
