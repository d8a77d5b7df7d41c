"""The server of a ledger killed, restarted, cut off, full: the budget is never under-counted."""

import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from accounting.ledger.test_ledger_processes import workers
from accounting.ledger_postgres.cut_wire import Wire
from tacit.accounting import create_ledger, epsilon, open_ledger
from tacit.accounting import ledger_postgres as postgres_store
from tacit.accounting.ledger import charge_once, parts_of, record_part
from tacit.accounting.ledger_chain import appended
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
    monkeypatch.setattr(postgres_store, "PATIENCE", 300)


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
    monkeypatch.setattr(postgres_store, "PATIENCE", 0)
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
    monkeypatch.setattr(postgres_store, "PATIENCE", 0.5)
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
        assert f"{setting} = '" in text
        begin, _, end = text.partition(f"{setting} = '")
        text = f"{begin}{setting} = '{milliseconds}ms'{end.partition(chr(39))[2]}"
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

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
