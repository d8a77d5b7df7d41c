"""The server of a ledger killed, restarted, cut off, full: the budget is never under-counted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from accounting.ledger.test_shared_budget import workers
from accounting.ledger_postgres.cut_wire import Wire
from accounting.ledger_postgres.roles import COST as TABLES_COST
from accounting.ledger_postgres.roles import as_role, remedy_of
from support.servers.left_out import leave_out
from support.servers.postgres_server import PostgresServer, _free_port, missing
from support.threads import at_once
from tacit.accounting import create_ledger, epsilon, open_ledger, restore_ledger
from tacit.accounting import ledger_postgres as postgres_store
from tacit.accounting.ledger import charge_once, parts_of, record_part
from tacit.accounting.ledger_chain import FORMAT, appended
from tacit.accounting.ledger_postgres import PostgresStore
from tacit.accounting.open_ledger import has_ledger
from tacit.errors import BudgetError, LedgerError

COST = epsilon("1/100")
BODY = {"question": {}, "cost": COST.to_json()}


@pytest.fixture
def ledger(address):
    create_ledger(address, dataset="d", budget=epsilon(1)).close()
    with open_ledger(address, dataset="d", budget=epsilon(1)) as ledger:
        yield ledger


@pytest.fixture
def wire(postgres_server):
    wire = Wire(postgres_server.port)
    yield wire
    wire.close()


@pytest.fixture
def wired(ledger, wire, address):
    """The same ledger as ``ledger``, by way of the wire."""
    with open_ledger(wire.through(address), dataset="d") as other:
        yield other


def cut_off(server, ledger):
    """Let the superuser end the connection of a ledger."""
    pid = ledger._store._connection.info.backend_pid
    with server.connect() as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


@pytest.fixture
def slow_machine(monkeypatch):
    """Wait as long as it takes for a server that is being started again."""
    monkeypatch.setattr("tacit.accounting.ledger_chain._PAUSES", (0.1,) * 3000)
    monkeypatch.setattr(postgres_store, "BUSY_TIMEOUT", 300)


def append(ledger, *, meanwhile=None, after=None):
    """Write a charge by hand, with something happening before it is stored, or after."""
    with ledger._store.write() as transaction:
        if meanwhile:
            meanwhile()
        appended(transaction, transaction.head(), "charge", "k", BODY)
        if after:
            after()


def later(seconds, work):
    thread = threading.Timer(seconds, work)
    thread.start()
    return thread


# --- the connection is cut -----------------------------------------------------------------------


def test_a_connection_cut_between_two_questions_is_made_anew(ledger, postgres_server):
    ledger.charge("a", COST, {})
    cut_off(postgres_server, ledger)
    assert ledger.charge("b", COST, {}).state == "open"
    cut_off(postgres_server, ledger)
    assert ledger.spent == COST + COST
    assert ledger.verify_chain() == 3


def test_a_connection_cut_in_mid_transaction_spends_nothing(ledger, postgres_server):
    with pytest.raises(LedgerError, match=r"interrupted.*nothing more was spent\. Ask again"):
        append(ledger, meanwhile=lambda: cut_off(postgres_server, ledger))
    assert ledger.spent.is_nothing
    assert ledger.charge("k", COST, {}).sequence == 2


def test_a_connection_cut_just_before_the_commit_is_found_out(ledger, postgres_server):
    with pytest.raises(LedgerError, match=r"interrupted.*was not written.*nothing more was spent"):
        append(ledger, after=lambda: cut_off(postgres_server, ledger))
    assert ledger.spent.is_nothing
    assert ledger.charge("k", COST, {}).sequence == 2


def test_a_commit_that_is_lost_on_its_way_spends_nothing(ledger, wired, wire):
    wire.cut = "before"
    with pytest.raises(LedgerError, match=r"was not written, and nothing more was spent"):
        wired.charge("k", COST, {})
    assert wire.commits == 1
    assert ledger.spent.is_nothing
    assert wired.charge("k", COST, {}).state == "open"
    assert ledger.spent == COST


def test_a_commit_whose_word_is_lost_counts_once(ledger, wired, wire):
    wire.cut = "after"
    entry = wired.charge("k", COST, {})
    assert (entry.state, wire.commits) == ("open", 1)
    assert ledger.spent == COST
    assert wired.record(entry, {"n": 1}).answer == {"n": 1}
    assert ledger.verify_chain() == 3


def test_an_event_of_another_in_the_place_of_a_lost_commit_is_not_taken_for_ours(
    ledger, wired, wire, monkeypatch
):
    """Another host charges the very same, to the letter, in the moment of the cut."""
    fixed = {"when": "2031-01-01T00:00:00.000+00:00"}
    from tacit.accounting import ledger_chain as chain

    real = chain.canonical

    def same_time(value, *rest, **options):
        if isinstance(value, dict) and "when" in value:
            value = value | fixed
        return real(value, *rest, **options)

    monkeypatch.setattr(chain, "canonical", same_time)
    find_out = wired._store._find_out

    def other_first(*arguments):
        assert ledger.charge("k", COST, {}).sequence == 2
        find_out(*arguments)

    monkeypatch.setattr(wired._store, "_find_out", other_first)
    wire.cut = "before"
    with pytest.raises(LedgerError, match="was not written"):
        wired.charge("k", COST, {})
    assert ledger.spent == COST  # by the other one; ours goes on under that charge
    assert wired.charge("k", COST, {}).sequence == 2
    assert ledger.spent == COST


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_answer_that_is_paid_is_recorded_in_spite_of_a_cut(ledger, wired, wire, moment):
    calls = []

    def answer():
        wire.cut = moment
        calls.append(1)
        return {"n": 7}

    assert wired.release("k", COST, {}, answer).answer == {"n": 7}
    assert (calls, wire.commits) == ([1], 1)
    assert ledger.release("k", COST, {}, lambda: pytest.fail("drawn anew")).answer == {"n": 7}
    assert ledger.spent == COST
    assert ledger.verify_chain() == 3


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_part_is_written_once_in_spite_of_a_cut(ledger, wired, wire, moment):
    entry = charge_once(wired, "k", COST, {})
    wire.cut = moment
    assert record_part(wired, entry, 0, {"n": 1})
    assert wire.commits == 1
    assert not record_part(wired, entry, 0, {"n": 1})  # not the caller's own: it tries once
    assert record_part(wired, entry, 1, {"n": 2})
    assert parts_of(ledger, entry) == [{"n": 1}, {"n": 2}]
    assert (ledger.spent, ledger.verify_chain()) == (COST, 4)


@pytest.mark.parametrize("other", [[], [{"n": 5}]])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_part_whose_fate_was_unknown_is_looked_for_when_the_server_is_back(
    ledger, wired, wire, moment, other, monkeypatch
):
    """The line stays dead for longer than the store waits; another host may go on meanwhile."""
    monkeypatch.setattr(postgres_store, "BUSY_TIMEOUT", 0)
    entry = charge_once(wired, "k", COST, {})
    undo, failed = wired._store._undo, []

    def and_the_line_is_dead():
        wire.down = wire.commits > 0 and not failed
        undo()

    def back(seconds):
        wire.down = False
        failed.append(seconds)
        for part in other:
            record_part(ledger, entry, len(parts_of(ledger, entry)), part)

    monkeypatch.setattr(wired._store, "_undo", and_the_line_is_dead)
    monkeypatch.setattr("tacit.accounting.ledger_chain.time.sleep", back)
    wire.cut = moment
    written = record_part(wired, entry, 0, {"n": 1})
    stands = parts_of(ledger, entry)
    assert written == (stands[0] == {"n": 1})
    assert written == (moment == "after" or not other)
    assert ledger.spent == COST


@pytest.mark.parametrize(("moment", "spent"), [("before", 0), ("after", 1)])
def test_a_commit_that_stays_unknown_is_told_and_releases_nothing(
    ledger, wired, wire, moment, spent, monkeypatch
):
    monkeypatch.setattr(postgres_store, "BUSY_TIMEOUT", 0.5)
    real_close = wired._store._undo

    def and_the_line_is_dead():
        wire.down = wire.commits > 0
        real_close()

    monkeypatch.setattr(wired._store, "_undo", and_the_line_is_dead)
    wire.cut = moment
    with pytest.raises(LedgerError, match=r"count it as spent\. No answer was given out") as caught:
        wired.release("k", COST, {}, lambda: pytest.fail("noise was drawn"))
    assert "whether it was" in str(caught.value)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match=r"cannot be reached.*Nothing more was spent"):
        wired.charge("k", COST, {})
    wire.down = False
    assert wired.spent.amount == spent * COST.amount
    assert wired.find("k") is None or wired.find("k").answer is None
    assert wired.release("k", COST, {}, lambda: {"n": 1}).answer == {"n": 1}
    assert ledger.spent == COST  # once, whether the first commit had happened or not


def test_the_keyboard_in_mid_transaction_leaves_nothing_and_no_lock(ledger, address):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        append(ledger, after=interrupt)
    assert ledger.spent.is_nothing
    with open_ledger(address, dataset="d") as other:
        other.charge("k", COST, {})
    assert ledger.spent == COST


def test_an_error_that_somebody_swallows_is_not_committed(ledger):
    import psycopg

    def swallow():
        with pytest.raises(psycopg.Error):
            ledger._store._connection.execute("SELECT 1 / 0")

    with pytest.raises(LedgerError, match="not written, and nothing more was spent"):
        append(ledger, after=swallow)
    assert ledger.spent.is_nothing


# --- the server dies -----------------------------------------------------------------------------


@pytest.mark.usefixtures("slow_machine")
@pytest.mark.parametrize("end", ["kill", "immediate", "fast"])
def test_a_server_that_dies_between_charge_and_answer_forgets_nothing(ledger, postgres_server, end):
    def answer():
        if end == "kill":
            postgres_server.kill()
        else:
            postgres_server.stop(end)
        threads.append(later(0.5, postgres_server.start))
        return {"n": 3}

    threads = []
    entry = ledger.release("k", COST, {}, answer)  # it waits until the answer can be recorded
    threads[0].join()
    assert entry.answer == {"n": 3}
    assert ledger.spent == COST
    assert ledger.release("k", COST, {}, lambda: pytest.fail("drawn anew")).answer == {"n": 3}
    assert ledger.verify_chain() == 3


def test_an_answer_whose_server_stays_away_leaves_the_release_open(
    ledger, postgres_server, monkeypatch
):
    monkeypatch.setattr("tacit.accounting.ledger_chain._PAUSES", (0.1, 0.1))

    def answer():
        postgres_server.kill()
        return {"n": 3}

    with pytest.raises(LedgerError, match=r"epsilon 0.01 was charged.*stays open.*no further cost"):
        ledger.release("k", COST, {}, answer)
    with pytest.raises(LedgerError, match=r"cannot be reached.*Nothing more was spent"):
        ledger.charge("other", COST, {})
    postgres_server.start()
    assert ledger.spent == COST
    assert ledger.find("k").state == "open"
    assert ledger.release("k", COST, {}, lambda: {"n": 4}).answer == {"n": 4}
    assert ledger.spent == COST


@pytest.mark.usefixtures("slow_machine")
def test_a_server_killed_in_mid_transaction_keeps_nothing_of_it(ledger, postgres_server):
    ledger.charge("before", COST, {})
    restarted = []

    def die():
        postgres_server.kill()
        restarted.append(later(0.5, postgres_server.start))

    with pytest.raises(LedgerError, match=r"was not written, and nothing more was spent"):
        append(ledger, after=die)
    restarted[0].join()
    assert ledger.spent == COST
    assert [entry.key for entry in ledger.history()] == ["before"]
    ledger.charge("k", COST, {})
    assert ledger.verify_chain() == 3


def test_a_charge_outlives_the_server_even_where_commits_are_not_synced(
    ledger, address, postgres_server
):
    with postgres_server.connect() as connection:
        for setting in ("synchronous_commit = off", "wal_writer_delay = '10s'"):
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")
    try:
        with open_ledger(address, dataset="d") as fresh:
            for k in range(2):
                fresh.charge(f"k{k}", COST, {})
                postgres_server.kill()
                postgres_server.start()
                assert fresh.spent.amount == (k + 1) * COST.amount
    finally:
        with postgres_server.connect() as connection:
            connection.execute("ALTER SYSTEM RESET ALL")
            connection.execute("SELECT pg_reload_conf()")


def test_hosts_that_race_while_the_server_is_killed_get_no_more_than_the_budget(
    ledger, address, postgres_server
):
    """Three processes charge until nothing is left, each of them many times cut off."""
    with workers(3, "persist", address) as crew:
        for worker in crew:
            assert worker.told() == "running"
        for _ in range(3):
            time.sleep(0.4)
            postgres_server.kill()
            postgres_server.start()
        told = [worker.told() for worker in crew]
    granted = sum(granted for granted, _ in told)
    history = ledger.history()
    # An unknown commit may count although its charge was never told; never the other way round.
    unknown = sum(unknown for _, unknown in told)
    assert granted <= len(history) <= granted + unknown
    assert ledger.spent == ledger.total == epsilon(1)
    assert len(history) == 100
    assert ledger.verify_chain() == 101


# --- locks and full disks ------------------------------------------------------------------------


def shorter(monkeypatch, setting, milliseconds):
    for name in ("_WRITE", "_READ"):
        text = getattr(postgres_store, name)
        assert f"'{setting}', '" in text
        begin, _, end = text.partition(f"'{setting}', '")
        text = f"{begin}'{setting}', '{milliseconds}ms'{end.partition(chr(39))[2]}"
        monkeypatch.setattr(postgres_store, name, text)


def test_a_ledger_held_too_long_by_another_is_told(ledger, postgres_server, monkeypatch, address):
    shorter(monkeypatch, "lock_timeout", 200)
    with open_ledger(address, dataset="d") as other:
        held = r"held by another.*nothing more"
        with other.chain.write(), pytest.raises(LedgerError, match=held):
            ledger.charge("k", COST, {})
        assert ledger.spent.is_nothing  # who only looks never waits
        ledger.charge("k", COST, {})


def test_readers_do_not_wait_for_a_writer(ledger, address):
    with open_ledger(address) as reader, ledger.chain.write() as (transaction, head):
        appended(transaction, head, "charge", "k", BODY)
        assert reader.spent.is_nothing
        assert reader.verify_chain() == 1
    assert ledger.spent == COST


def test_a_host_that_falls_silent_with_the_lock_loses_it(ledger, address, monkeypatch):
    shorter(monkeypatch, "idle_in_transaction_session_timeout", 300)
    with open_ledger(address, dataset="d") as other:
        with pytest.raises(LedgerError, match="nothing more was spent"):
            # the second one waits for the lock of the first, and gets it
            append(other, after=lambda: ledger.charge("mine", COST, {}))
        assert [entry.key for entry in other.history()] == ["mine"]


def test_a_cancelled_charge_spends_nothing(ledger, address, postgres_server):
    with open_ledger(address, dataset="d") as other, other.chain.write():
        pid = ledger._store._connection.info.backend_pid
        cancel = later(0.3, lambda: cancelled(postgres_server, pid))
        with pytest.raises(LedgerError, match=r"was cancelled at the server; nothing more"):
            ledger.charge("k", COST, {})
        cancel.join()
    assert ledger.spent.is_nothing
    ledger.charge("k", COST, {})


def cancelled(server, pid):
    with server.connect() as connection:
        connection.execute("SELECT pg_cancel_backend(%s)", [pid])


def test_without_the_lock_the_sequence_numbers_still_hold_the_budget(address, monkeypatch):
    """A mutant that takes no lock: two that read the same head make the same number."""
    lines = postgres_store._WRITE.splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("LOCK TABLE"))
    assert kept != postgres_store._WRITE
    monkeypatch.setattr(postgres_store, "_WRITE", kept)
    create_ledger(address, dataset="d", budget=epsilon("1/2")).close()
    granted, broken = [], []

    def work(name):
        with open_ledger(address, dataset="d") as ledger:
            for k in range(40):
                try:
                    granted.append(ledger.charge(f"{name}/{k}", COST, {}))
                except (BudgetError, LedgerError) as error:
                    broken.append(error)

    at_once(work, range(4))
    assert any(isinstance(error, LedgerError) for error in broken)  # so the lock is not idle
    with open_ledger(address) as ledger:
        assert len(granted) == len(ledger.history()) <= 50
        ledger.verify_chain()


@pytest.fixture
def small_disk(postgres_server):
    """A tablespace on a disk of four megabytes."""
    folder = postgres_server.folder / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if mounted:
        command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    if mounted:
        owner = postgres_server.data.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
    else:
        folder.rmdir()
        pytest.skip("a full disk is made by mounting a small one, for which there is no right here")
    try:
        with postgres_server.connect() as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        yield folder
    finally:
        postgres_server.start()
        with postgres_server.connect() as connection:
            connection.execute("DROP TABLESPACE IF EXISTS small")
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def test_a_full_disk_spends_nothing(small_disk, postgres_server):
    with postgres_server.database() as database:
        database.run("CREATE TABLE filler (x text) TABLESPACE small")
        with open_ledger(database.dsn(), dataset="d", budget=epsilon(1)) as ledger:
            ledger.charge("before", COST, {})
            for table in ("main_event", "main_head"):
                database.run(f"ALTER TABLE tacit.{table} SET TABLESPACE small")
            (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
            noise = os.urandom(200_000).hex()
            with pytest.raises(LedgerError, match=r"disk is full; nothing more was spent"):
                ledger.charge("k", COST, {"text": noise})
            assert ledger.spent == COST
            assert ledger.find("k") is None
            (small_disk / "ballast").unlink()
            ledger.charge("k", COST, {"text": noise})
            assert ledger.spent == COST + COST
            assert ledger.verify_chain() == 3


def test_a_stopped_process_does_not_keep_the_budget_from_others(ledger, address):
    """SIGSTOP inside the transaction, SIGKILL after: the lock ends with the connection."""
    with workers(1, "killed_inside", address) as (worker,):
        assert worker.told() == "inside"
        worker.process.send_signal(signal.SIGSTOP)
        later(0.3, worker.process.kill)
        assert ledger.charge("mine", COST, {}).state == "open"
    assert [entry.key for entry in ledger.history()] == ["mine"]


# The tables of a ledger in PostgreSQL: made once, told apart, and never another's.


def test_a_role_that_may_not_make_tables_is_refused_and_the_remedy_helps(postgres):
    curator = as_role(postgres, "junior")
    with pytest.raises(LedgerError, match=r"cannot be created by the role 'junior'") as refused:
        open_ledger(curator, dataset="d", budget=epsilon(1))
    assert not has_ledger(curator)
    postgres.run(*remedy_of(refused))
    with open_ledger(curator, dataset="d", budget=epsilon(1)) as ledger:
        assert ledger.charge("k", TABLES_COST, {}).state == "open"


def test_ledgers_of_one_database_are_apart(postgres):
    names = ["a", "a_event", "b_head", "user"]
    for k, name in enumerate(names):
        with create_ledger(
            f"{postgres.dsn()}?ledger={name}", dataset=name, budget=epsilon(1)
        ) as ledger:
            ledger.charge(f"k{k}", epsilon(f"{k + 1}/10"), {})
    for k, name in enumerate(names):
        with open_ledger(f"{postgres.dsn()}?ledger={name}", dataset=name) as ledger:
            assert ledger.spent == epsilon(f"{k + 1}/10")


def test_another_table_is_no_ledger_and_is_left_alone(postgres):
    postgres.run("CREATE SCHEMA tacit", "CREATE TABLE tacit.main_event (x int)")
    for use in (open_ledger, restore_ledger):
        with pytest.raises(LedgerError, match="not a ledger of Tacit"):
            use(postgres.dsn())
    with pytest.raises(LedgerError, match="not a ledger of Tacit"):
        open_ledger(postgres.dsn(), dataset="d", budget=epsilon(1))
    assert postgres.run("SELECT * FROM tacit.main_event") == []
    assert postgres.run("SELECT to_regclass('tacit.main_head')") == [(None,)]


def test_a_newer_format_is_refused(postgres, clinic):
    told = f"Tacit ledger, format {FORMAT + 1}"
    postgres.run(f"COMMENT ON TABLE tacit.clinic_event IS '{told}'")
    with pytest.raises(LedgerError, match=rf"newer Tacit \(format {FORMAT + 1}.*upgrade"):
        open_ledger(clinic)


def test_tables_without_an_event_are_a_beginning_that_was_cut_short(postgres):
    address = f"{postgres.dsn()}?ledger=begun"
    PostgresStore(address, create=True).close()  # killed here, before the first event
    assert not has_ledger(address)
    with pytest.raises(LedgerError, match="is empty"):
        open_ledger(address, create=False)
    with open_ledger(address, dataset="clinic", budget=epsilon(1)) as ledger:
        assert ledger.verify_chain() == 1
    assert has_ledger(address)


# A ledger on a primary that fails, whose streaming standby takes over.


POSTGRES_FAILOVER_COST = epsilon("1/100")


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
        entry = ledger.charge("before", POSTGRES_FAILOVER_COST, {})
        deadline = time.monotonic() + 60
        while not followed(second, entry):
            assert time.monotonic() < deadline
        with pytest.raises(LedgerError, match="only follows another one"):
            open_ledger(second, dataset="d")
        with (
            open_ledger(second) as looking,
            pytest.raises(LedgerError, match="only follows another"),
        ):
            looking.charge("k", POSTGRES_FAILOVER_COST, {})

        postgres.server.stop("immediate")
        with pytest.raises(LedgerError, match=r"cannot be reached.*Nothing more was spent"):
            ledger.charge("between", POSTGRES_FAILOVER_COST, {})
        promote()
        assert ledger.record(entry, {"n": 1}).answer == {"n": 1}
        assert ledger.charge("after", POSTGRES_FAILOVER_COST, {}).state == "open"
        assert ledger._store.home() == home
        assert ledger._store._connection.info.port == port
        assert ledger.spent == POSTGRES_FAILOVER_COST + POSTGRES_FAILOVER_COST
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
        kept = ledger.charge("kept", POSTGRES_FAILOVER_COST, {})
        deadline = time.monotonic() + 60
        while not followed(second, kept):
            assert time.monotonic() < deadline
        with psycopg.connect(second, autocommit=True) as connection:  # it follows no more
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute("SELECT count(*) FROM pg_stat_wal_receiver").fetchone()[0]:
                assert time.monotonic() < deadline
        lost = ledger.record(ledger.charge("lost", POSTGRES_FAILOVER_COST, {}), {"n": 1})
        assert not followed(second, lost)
        postgres.server.stop("immediate")
        promote()
        for again in ("lost", "another"):
            with pytest.raises(LedgerError, match="shows less than was already spent"):
                ledger.charge(again, POSTGRES_FAILOVER_COST, {})
        new_process()
        with open_ledger(second, dataset="d") as other:
            assert other.spent == POSTGRES_FAILOVER_COST
            assert not other.contains(lost.sequence, lost.hash)
            assert other.charge("lost", POSTGRES_FAILOVER_COST, {}).state == "open"
            assert other.verify_chain() == 3


def followed(address, entry):
    try:
        with open_ledger(address) as ledger:
            return ledger.contains(entry.sequence, entry.hash)
    except LedgerError as error:  # the tables, or their first event, are still on their way
        if "does not exist" in str(error) or "is empty" in str(error):
            return False
        raise


# The disk of the server's log of changes is full: it goes down, and no charge is forgotten.


POSTGRES_FULL_COST = epsilon("1/1000")


@pytest.fixture(name="small")
def _small():
    """A server whose ``pg_wal`` is a disk of 48 megabytes, and the folder of that disk."""
    lacking = missing()
    if lacking is not None:
        leave_out(*lacking)
    server = PostgresServer(min_wal_size="32MB", max_wal_size="32MB")
    disk, log = server.folder / "wal", server.data / "pg_wal"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=777", "tmpfs", str(disk)]
    try:
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
            leave_out("the right to mount a small disk", "run the tests as root")
        try:
            server.stop()
            owner = log.stat()
            place = disk / "pg_wal"
            shutil.copytree(log, place)
            for path in (place, *place.rglob("*")):
                os.chown(path, owner.st_uid, owner.st_gid)
            place.chmod(0o700)
            shutil.rmtree(log)
            log.symlink_to(place)
            server.start()
            yield server, disk
        finally:
            server.stop("immediate")
            subprocess.run(["umount", "-l", str(disk)], check=True)
    finally:
        server.remove()


@pytest.mark.full
@pytest.mark.xdist_group("postgres")
def test_a_full_disk_of_the_log_forgets_no_charge(small, monkeypatch):
    server, disk = small
    monkeypatch.setattr("tacit.accounting.ledger_postgres.BUSY_TIMEOUT", 2)
    create_ledger(server.dsn(), dataset="d", budget=epsilon(1)).close()
    granted, refused = 0, None
    with open_ledger(server.dsn(), dataset="d") as ledger:
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))
        for number in range(100):
            try:
                ledger.charge(f"k{number}", POSTGRES_FULL_COST, {"text": os.urandom(500_000).hex()})
            except LedgerError as error:
                refused = str(error)
                break
            granted += 1
    assert refused is not None, "the disk was never full"
    assert granted > 0
    assert "nothing more was spent" in refused or "count it as spent" in refused
    (disk / "ballast").unlink()
    server.stop("immediate")
    server.start()
    with open_ledger(server.dsn(), dataset="d") as ledger:
        unknown = "count it as spent" in refused
        spent = ledger.spent.amount / POSTGRES_FULL_COST.amount
        assert spent in ((granted, granted + 1) if unknown else (granted,))
        assert len(ledger.history()) == spent
        assert ledger.charge("after", POSTGRES_FULL_COST, {}).state == "open"
        assert ledger.verify_chain() == spent + 2
