"""A ledger on a primary that fails, whose streaming standby takes over."""

import shutil
import time

import pytest

from support.servers.postgres_server import _free_port
from tacit.accounting import create_ledger, epsilon, open_ledger
from tacit.errors import LedgerError

COST = epsilon("1/100")


@pytest.fixture
def standby(postgres):
    """The port of a standby that follows the server of the tests, and how to promote it."""
    server, port = postgres.server, _free_port()
    folder, log = server.folder / "standby", server.folder / "standby.log"
    copied = server._run("pg_basebackup", "-D", folder, "-R", "-c", "fast", "-d", server.dsn())
    assert copied.returncode == 0, copied.stdout

    def control(*words):
        done = server._run("pg_ctl", "-D", folder, *words)
        assert done.returncode == 0, done.stdout + log.read_text(errors="replace")

    control("-l", log, "-o", f"-p {port}", "start")
    yield port, lambda: control("promote")
    control("-m", "immediate", "stop")
    shutil.rmtree(folder)
    server.start()


def test_a_ledger_goes_on_where_the_standby_takes_over(postgres, standby):
    port, promote = standby
    first = postgres.dsn()
    create_ledger(first, dataset="d", budget=epsilon(1)).close()
    second = first.replace(f":{postgres.server.port}/", f":{port}/")
    either = first.replace(
        f":{postgres.server.port}/", f":{postgres.server.port},127.0.0.1:{port}/"
    )
    with open_ledger(f"{either}?target_session_attrs=read-write", dataset="d") as ledger:
        home = ledger._store.home()
        entry = ledger.charge("before", COST, {})
        deadline = time.monotonic() + 60
        while not followed(second, entry):
            assert time.monotonic() < deadline
        with pytest.raises(LedgerError, match="only follows another one"):
            open_ledger(second, dataset="d")
        with (
            open_ledger(second) as looking,
            pytest.raises(LedgerError, match="only follows another"),
        ):
            looking.charge("k", COST, {})

        postgres.server.stop("immediate")
        with pytest.raises(LedgerError, match=r"cannot be reached.*Nothing more was spent"):
            ledger.charge("between", COST, {})
        promote()
        assert ledger.record(entry, {"n": 1}).answer == {"n": 1}
        assert ledger.charge("after", COST, {}).state == "open"
        assert ledger._store.home() == home
        assert ledger._store._connection.info.port == port
        assert ledger.spent == COST + COST
        assert ledger.verify_chain() == 4
    open_ledger(second, dataset="d").close()  # the same home: no copy, and nothing to restore


def test_a_standby_that_was_behind_is_noticed_by_whoever_saw_more(postgres, standby, new_process):
    """And by nobody else: a process that begins then cannot know, and a certificate can."""
    import psycopg

    port, promote = standby
    first = postgres.dsn()
    create_ledger(first, dataset="d", budget=epsilon(1)).close()
    second = first.replace(f":{postgres.server.port}/", f":{port}/")
    either = first.replace(
        f":{postgres.server.port}/", f":{postgres.server.port},127.0.0.1:{port}/"
    )
    with open_ledger(f"{either}?target_session_attrs=read-write", dataset="d") as ledger:
        kept = ledger.charge("kept", COST, {})
        deadline = time.monotonic() + 60
        while not followed(second, kept):
            assert time.monotonic() < deadline
        with psycopg.connect(second, autocommit=True) as connection:  # it follows no more
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SELECT count(*) FROM pg_stat_wal_receiver").fetchone()[0]:
                assert time.monotonic() < deadline
        lost = ledger.record(ledger.charge("lost", COST, {}), {"n": 1})
        assert not followed(second, lost)
        postgres.server.stop("immediate")
        promote()
        for again in ("lost", "another"):
            with pytest.raises(LedgerError, match="shows less than was already spent"):
                ledger.charge(again, COST, {})
        new_process()
        with open_ledger(second, dataset="d") as other:
            assert other.spent == COST
            assert not other.contains(lost.sequence, lost.hash)
            assert other.charge("lost", COST, {}).state == "open"
            assert other.verify_chain() == 3


def followed(address, entry):
    try:
        with open_ledger(address) as ledger:
            return ledger.contains(entry.sequence, entry.hash)
    except LedgerError as error:  # the tables, or their first event, are still on their way
        if "does not exist" in str(error) or "is empty" in str(error):
            return False
        raise
