"""The PostgreSQL of the tests goes when they end, and what was left out is told."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.servers.left_out import reason, told

TESTS = Path(__file__).parents[2]
KILLED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
from support.servers.postgres_server import PostgresServer
server = PostgresServer()
print(server.folder, server.port, flush=True)
input()
"""
RUN = """
from support.servers.left_out import leave_out, reason
import pytest

@pytest.fixture(scope="session")
def engine():
    leave_out("an engine", "apt-get install engine")

@pytest.mark.parametrize("k", range(3))
def test_engine(engine, k): ...

@pytest.mark.skipif(True, reason=reason("a browser", "apt-get install browser"))
def test_browser(): ...

@pytest.mark.skipif(True, reason="another one")
def test_other(): ...
"""


def test_a_database_is_fresh_and_outlives_a_crash_of_the_server(postgres):
    assert postgres.run("CREATE TABLE a AS SELECT 1 AS x", "SELECT * FROM a") == [(1,)]
    postgres.server.kill()
    assert postgres.server.pid is None
    postgres.server.start()
    assert postgres.run("SELECT * FROM a") == [(1,)]
    with postgres.server.database() as other:
        assert other.run("SELECT to_regclass('a')") == [(None,)]


def test_a_role_of_the_tests_has_no_rights_of_its_own(postgres):
    user = postgres.server.role("a_reader")
    assert postgres.run("SELECT current_user::text", user=user) == [("a_reader",)]
    postgres.run("REVOKE CREATE ON SCHEMA public FROM public")  # as it is from 15 on
    with pytest.raises(Exception, match="permission denied"):
        postgres.run("CREATE TABLE b (x int)", user=user)


@pytest.mark.usefixtures("postgres_server")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_the_server_goes_with_the_process_that_made_it(sign):
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with worker:
        assert worker.stdout is not None
        folder, port = worker.stdout.readline().split()
        assert Path(folder).is_dir()
        worker.send_signal(sign)
        worker.wait(30)
    deadline = time.monotonic() + 60
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))


def test_what_was_left_out_is_counted_by_what_was_missing():
    reports = [
        SimpleNamespace(longrepr=("a.py", 1, f"Skipped: {reason('Java', 'apt-get install x')}")),
        SimpleNamespace(longrepr=("b.py", 2, f"Skipped: {reason('Java', 'apt-get install x')}")),
        SimpleNamespace(longrepr=("c.py", 3, "Skipped: the folder is absent")),
        SimpleNamespace(longrepr="an expected failure"),
    ]
    assert told(reports) == ["2 tests left out for want of Java: apt-get install x"]


@pytest.mark.full
@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_the_run_says_at_its_end_what_was_left_out(tmp_path, workers):
    (tmp_path / "test_it.py").write_text(RUN)
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", f"pythonpath={TESTS}", *workers, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )
    lines = done.stdout.splitlines()
    assert "3 tests left out for want of an engine: apt-get install engine" in lines, done.stdout
    assert "1 test left out for want of a browser: apt-get install browser" in lines
    assert "another" not in done.stdout


def test_a_session_is_used_again_and_holds_nothing_of_who_had_it(postgres):
    import psycopg

    from support.servers.kept_connections import KeptConnections

    def connect(address, _):
        return psycopg.connect(address, autocommit=True)

    kept, address = KeptConnections(connect), postgres.dsn()
    first = kept.connect(address, "a test")
    server_process = first.info.backend_pid
    first.execute("SET work_mem = '77kB'")
    first.execute("CREATE TABLE done (x int)")
    first.execute("BEGIN")
    first.execute("INSERT INTO done VALUES (1)")
    first.close()
    assert first.closed
    with pytest.raises(psycopg.OperationalError, match="closed"):
        first.execute("SELECT 1")

    second = kept.connect(address, "a test")
    assert second.info.backend_pid == server_process
    assert second.execute("SELECT count(*) FROM done").fetchone() == (0,)
    assert second.execute("SHOW work_mem").fetchone() != ("77kB",)
    first.close()
    assert not second.closed

    kept.kept = False
    third = kept.connect(address, "a test")
    assert third.info.backend_pid != server_process
    third.close()
    second.close()
    kept.clear()
    kept.kept = True
    with kept.connect(address, "a test") as fourth:
        assert fourth.info.backend_pid != server_process
    kept.clear()
