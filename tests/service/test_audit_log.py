"""The audit log: one chain, whoever writes; nothing is changed, and what was changed shows."""

from __future__ import annotations

import gc
import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from support.service.client import ADDRESS, Client, running
from support.threads import at_once
from tacit.errors import UsageError, VerificationError
from tacit.service import database as store
from tacit.service.access import Caller, Grant
from tacit.service.audit_log import ACTIONS, AuditLog, BatchWriter, noted_in
from tacit.service.database import VERSION, Database, Prepared, metadata
from tacit.service.problem import Problem
from tacit.service.tokens import ONCE, Tokens

WRITERS = """
import os
import sys
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database
for writer in range(int(sys.argv[2])):
    if os.fork() == 0:  # each has a database of its own, and all import once
        database = Database(sys.argv[1])
        log = AuditLog(database)
        for n in range(int(sys.argv[3])):
            log.write("previewed", f"writer {writer}", dataset="visits", details={"cost": str(n)})
        database.close()
        os._exit(0)
for _ in range(int(sys.argv[2])):
    _, status = os.wait()
    assert status == 0
"""


def test_events_are_read_in_their_order_from_either_end(database: Database) -> None:
    log = AuditLog(database)
    for n in range(5):
        log.write("previewed", f"person {n}")
    assert [e.who[-1] for e in log.read(after=2, limit=2)] == ["2", "3"]
    assert [e.sequence for e in log.read(limit=2, newest_first=True)] == [5, 4]
    assert [e.sequence for e in log.read(after=4, limit=2, newest_first=True)] == [3, 2]
    assert log.verify() == 5


def test_an_event_of_an_undone_transaction_never_was(database: Database) -> None:
    log = AuditLog(database)
    log.write("service_started", "service")
    with suppress(RuntimeError), database.begin() as run:
        log.write("token_made", "operator", connection=run)
        raise RuntimeError
    with database.begin() as run:
        log.write("token_revoked", "operator", connection=run)
    assert [e.action for e in log.read()] == ["service_started", "token_revoked"]
    assert log.verify() == 2


@pytest.mark.parametrize(
    "change", ["update audit_event set event = 'x'", "delete from audit_event"]
)
def test_the_database_refuses_to_change_an_event(database: Database, change: str) -> None:
    AuditLog(database).write("service_started", "service")
    with pytest.raises((Problem, sa.exc.IntegrityError)), database.begin() as run:
        run.execute(sa.text(change))
    assert AuditLog(database).verify() == 1


def without_triggers(database: Database, *changes: str) -> None:
    with database.begin() as run:
        for verb in ("update", "delete"):
            run.execute(sa.text(f"drop trigger audit_no_{verb}"))
        for change in changes:
            run.execute(sa.text(change))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            """update audit_event set event = replace(event, '"who":"b"', '"who":"x"')""",
            "event 2 .* was changed",
        ),
        ("delete from audit_event where sequence = 2", "event 2 .* does not follow"),
        ("delete from audit_event where sequence = 1", "event 1 .* does not follow"),
        ("update audit_event set event = '[]' where sequence = 3", "cannot be read"),
        ("update audit_event set sequence = 9 where sequence = 3", "event 3 .* does not follow"),
    ],
)
def test_who_changes_the_database_is_found(database: Database, change: str, fault: str) -> None:
    log = AuditLog(database)
    for who in "abc":
        log.write("sign_in", who)
    without_triggers(database, change)
    with pytest.raises(VerificationError, match=fault):
        log.verify()


def test_a_log_that_was_cut_or_written_anew_lacks_what_was_noted(database: Database) -> None:
    log = AuditLog(database)
    noted = [log.write("sign_in", who) for who in "abc"][-1]
    assert log.verify((noted.sequence, noted.hash)) == 3
    without_triggers(database, "delete from audit_event where sequence = 3")
    assert log.verify() == 2
    with pytest.raises(VerificationError, match="no longer in the audit log"):
        log.verify((noted.sequence, noted.hash))


def test_the_log_of_the_process_notes_the_event_before(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    log = AuditLog(database)
    with caplog.at_level("INFO", logger="tacit.service"):
        first = log.write("sign_in", "ada")
        log.write("sign_out", "ada")
    fields: Any = caplog.records[-1].tacit_fields  # type: ignore[attr-defined]
    assert log.verify((fields["after"], fields["hash"])) == 2
    assert fields["hash"] == first.hash


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"action": "sign_on", "who": "ada"}, "did you mean"),
        ({"action": "sign_in", "who": "ada", "outcome": "good"}, "an outcome is one of"),
        ({"action": "sign_in", "who": "ada", "details": {"secret": "x"}}, "no detail 'secret'"),
        ({"action": "previewed", "who": "ada", "details": {"cost": 0.5}}, "is text, a whole"),
    ],
)
def test_what_is_not_on_the_lists_is_not_written(
    database: Database, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        AuditLog(database).write(**given)
    assert AuditLog(database).read() == []


def test_odd_text_is_stored_and_cut(database: Database) -> None:
    log = AuditLog(database)
    odd = "a\x00b\nc\u202e\ud800" + "x" * 1000
    made = log.write("release_refused", odd, dataset=odd, details={"reason": odd})
    assert len(made.who) == len(made.details["reason"]) == 500
    assert made.who.startswith("a\x00b\nc\u202e\ufffdx")
    assert log.read() == [made]
    assert log.verify() == 1


def test_no_action_has_room_for_a_value() -> None:
    """What may stand in the details: the names of facts that were public or typed by a person."""
    known = {
        *("way", "expires", "action", "because", "for", "team", "role", "dataset", "also"),
        *("cost", "code", "reason", "replayed", "budget", "caps", "digest", "number"),
        *("mechanism", "version", "changes", "schedule"),
    }
    assert {detail for details in ACTIONS.values() for detail in details} == known


def race(address: str, processes: int, each: int) -> None:
    words = [sys.executable, "-c", WRITERS, address, str(processes), str(each)]
    subprocess.run(words, check=True, timeout=300)
    database = Database(address)
    log = AuditLog(database)
    assert log.verify() == processes * each
    for n in range(processes):
        own = [e.details["cost"] for e in log.read(limit=10_000) if e.who == f"writer {n}"]
        assert own == [str(i) for i in range(each)]
    database.close()


def test_many_threads_write_one_chain(database: Database, tmp_path: Path) -> None:
    other = Database(f"sqlite:///{tmp_path}/service.db")
    logs = [AuditLog(database), AuditLog(other)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: logs[n % 2].write("sign_in", str(n)), range(40)))
    assert logs[0].verify() == 40
    assert sorted(int(event.who) for event in logs[1].read()) == list(range(40))
    other.close()


@pytest.mark.full
def test_many_processes_write_one_chain(database: Database, tmp_path: Path) -> None:
    race(f"sqlite:///{tmp_path}/service.db", 6, 100)


def test_on_postgresql_many_processes_write_one_chain(postgres: Any) -> None:
    database = Database(postgres.dsn())
    database.create()
    race(postgres.dsn(), 6, 100)
    for change in ("update audit_event set event = ''", "truncate audit_event"):
        with pytest.raises(Problem), database.begin() as run:
            run.execute(sa.text(change))
    assert AuditLog(database).verify() == 600
    event = AuditLog(database).read(limit=1)[0]
    assert json.loads(json.dumps(event.to_json()))["hash"] == event.hash
    database.close()


# What happens to tokens stands in the audit log, and nothing of a token's secret does.


GRANTS = [Grant("analyst", "visits")]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(tmp_path) as client:
        yield client


def test_each_change_of_a_token(database: Database) -> None:
    audit = AuditLog(database)
    tokens = Tokens(database, bytes(32), note=noted_in(audit))
    text, made = tokens.create("ada", GRANTS, 60, team="oncology", issued_by="mia")
    narrowed = tokens.narrow(made, None, 60)[1]
    tokens.revoke(made.token_id, by="mia")
    link, _ = tokens.create("bob", GRANTS, 60, kind=ONCE)
    signed = tokens.use_once(link, 60)[1]
    tokens.revoke(signed.token_id, by="bob")
    seen = [event.to_json() for event in audit.read()]
    assert [(one["action"], one["who"]) for one in seen] == [
        ("token_made", "mia"),
        ("token_narrowed", "ada"),
        ("token_revoked", "mia"),
        ("token_made", "operator"),
        ("sign_in", "bob"),
        ("sign_out", "bob"),
    ]
    assert seen[0]["subject"] == made.token_id
    assert seen[0]["details"]["for"] == "ada"
    assert seen[0]["details"]["role"] == ["analyst"]
    assert seen[1]["subject"] == narrowed.token_id
    assert seen[2]["details"] == {"also": 1}
    assert seen[4]["details"]["way"] == "link"
    assert not any(secret in str(seen) for secret in (text, link))
    audit.verify()


def test_a_token_that_is_not_made_is_not_noted(database: Database) -> None:
    audit = AuditLog(database)
    tokens = Tokens(database, bytes(32), note=noted_in(audit))
    made = tokens.create("ada", GRANTS, 60)[1]
    tokens.revoke(made.token_id)
    before = audit.length()
    with pytest.raises(Problem):
        tokens.narrow(made, None, 60)
    assert tokens.revoke(made.token_id) == 0
    assert audit.length() == before


def test_a_token_that_cannot_be_noted_is_not_made(database: Database) -> None:
    def broken(*_: object) -> None:
        raise Problem("unavailable", "the log is full")

    tokens = Tokens(database, bytes(32), note=broken)
    with pytest.raises(Problem):
        tokens.create("ada", GRANTS, 60)
    assert tokens.listed() == []


def test_sign_ins_and_refusals_of_people(client: Client) -> None:
    token = client.token("analyst", name="ada")
    cookie = client.post("/sign-in", data={"token": token}).headers["set-cookie"].partition(";")[0]
    client.post("/sign-out", headers={"Cookie": cookie, "Origin": ADDRESS})
    assert client.get("/v1/tokens", token=token).status_code == 403
    auditor = client.token("auditor")
    seen = client.get("/v1/audit?limit=100", token=auditor).json()["items"]
    actions = [one["action"] for one in seen]
    for action in ("sign_in", "sign_out", "denied"):
        (one,) = [event for event in seen if event["action"] == action]
        assert one["who"] == "ada", actions
    (denied,) = [event for event in seen if event["action"] == "denied"]
    assert denied["outcome"] == "refused"
    assert denied["details"]["action"] == "GET /v1/tokens"
    assert token not in str(seen)


def test_one_token_fills_no_log(client: Client) -> None:
    token = client.token("analyst")
    before = client.state.audit.length()
    for _ in range(30):
        assert client.get("/v1/tokens", token=token).status_code == 403
    assert client.state.audit.length() - before == 20


# Events that threads write at once: each in the log before its thread goes on, in one chain.


THREADS = 12


def caller(number: int) -> Caller:
    return Caller(f"person {number}", None, (), f"token {number}", 0)


def all_at_once(batch_writer: BatchWriter, audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One event is being written until all others wait; return how many each transaction wrote."""
    write, sizes = audit.write_together, []

    def held(acts: Any) -> Any:
        batch = list(acts)
        end = time.monotonic() + 30
        while not sizes and len(batch_writer._write._waiting) < THREADS:
            assert time.monotonic() < end
            time.sleep(0.001)
        sizes.append(len(batch))
        return write(batch)

    monkeypatch.setattr(audit, "write_together", held)
    result: list[Any] = []

    def act(number: int) -> None:
        try:
            batch_writer.acted("previewed", caller(number), dataset="visits", details={"cost": "1"})
            seen = [event.who for event in audit.read()]
            result.append(f"person {number}" in seen)
        except Problem as problem:
            result.append(problem.code)

    with ThreadPoolExecutor(THREADS + 1) as pool:
        list(pool.map(act, range(THREADS + 1)))
    return sizes, result


def test_those_who_wait_are_written_together_and_each_before_it_goes_on(
    any_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = AuditLog(any_database)
    audit.write("service_started", "service")
    sizes, result = all_at_once(BatchWriter(audit), audit, monkeypatch)
    assert sizes == [1, THREADS]
    assert result == [True] * (THREADS + 1)
    events = audit.read(after=1)
    assert sorted(event.who for event in events) == sorted(
        caller(number).name for number in range(THREADS + 1)
    )
    assert all(event.token == event.who.replace("person", "token") for event in events)
    assert audit.verify() == THREADS + 2


def test_what_cannot_be_written_is_refused_to_all_who_waited_for_it(
    any_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = AuditLog(any_database)
    batch_writer, broken = BatchWriter(audit), threading.Event()
    begin = any_database.begin

    def away(lock: str | None = None) -> Any:
        if broken.is_set():
            raise Problem("unavailable", "the database is away")
        broken.set()
        return begin(lock)

    monkeypatch.setattr(any_database, "begin", away)
    _, result = all_at_once(batch_writer, audit, monkeypatch)
    assert result.count("unavailable") == THREADS
    assert result.count(True) == 1
    monkeypatch.undo()
    batch_writer.acted("previewed", caller(99))
    assert audit.verify() == 2


# The database of the service: transactions, locks, and errors that tell nothing.


counted = sa.Table(
    "counted_by_a_test",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("n", sa.Integer),
)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        dsn: str = request.getfixturevalue("postgres").dsn()
        return dsn
    return f"sqlite:///{tmp_path}/service.db"


@pytest.fixture
def own_database(address: str) -> Iterator[Database]:
    made = Database(address)
    made.create()
    yield made
    made.close()


def test_creating_again_changes_nothing(address: str, own_database: Database) -> None:
    other = Database(address)
    other.create()
    assert other.reachable()
    other.close()


def test_many_may_create_at_once(address: str) -> None:
    def create() -> None:
        made = Database(address)
        made.create()
        assert made.reachable()
        made.close()

    at_once(create, times=6)
    made = Database(address)
    with made.read() as run:
        assert run.execute(sa.text("select count(*) from tacit_service")).scalar() == 1
    made.close()


def test_what_reads_and_then_writes_is_not_overtaken(own_database: Database) -> None:
    with own_database.begin() as run:
        run.execute(counted.insert().values(id=1, n=0))

    def add() -> None:
        for _ in range(25):
            with own_database.begin(lock="count") as run:
                n = run.execute(sa.select(counted.c.n)).scalar_one()
                run.execute(counted.update().values(n=n + 1))

    at_once(add, times=4)
    with own_database.read() as run:
        assert run.execute(sa.select(counted.c.n)).scalar_one() == 100


def test_what_raises_leaves_nothing(own_database: Database) -> None:
    with pytest.raises(ZeroDivisionError), own_database.begin() as run:
        assert run.execute(counted.insert().values(id=7, n=0)).rowcount / 0
    with own_database.read() as run:
        assert run.execute(sa.select(counted.c.id)).all() == []


def test_an_error_says_no_value(own_database: Database) -> None:
    with pytest.raises(Problem) as caught, own_database.begin() as run:
        run.execute(sa.text("select * from nothere where x = :x"), {"x": "secret"})
    assert caught.value.code == "unavailable"
    assert "secret" not in str(caught.value.to_json())
    assert "nothere" not in str(caught.value.to_json())
    assert caught.value.__suppress_context__


def test_a_newer_database_is_refused(address: str, own_database: Database) -> None:
    with own_database.begin() as run:
        run.execute(sa.text("update tacit_service set version = :v"), {"v": VERSION + 1})
    other = Database(address)
    with pytest.raises(UsageError, match="newer Tacit"):
        other.create()
    other.close()


def test_the_key_is_settled_once(own_database: Database) -> None:
    assert own_database.register_key("a" * 64)
    assert own_database.register_key("a" * 64)
    assert not own_database.register_key("b" * 64)


def test_the_clock_is_near_that_of_the_database(own_database: Database) -> None:
    assert abs(own_database.clock_ahead()) < 60


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mysql://x", "is a file"),
        ("service.db", "is a file"),
        ("postgresql://ann:pa/ss@host/db", "cannot be read"),
        ("postgresql://ann@host/db?ledger=a", "no \\?ledger="),
    ],
)
def test_addresses_that_are_none(address: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        Database(address)
    assert "pa/ss" not in str(caught.value)


@pytest.mark.full
def test_a_server_that_is_not_there() -> None:
    database = Database("postgresql://ann:secret@127.0.0.1:1/db")
    assert not database.reachable()
    with pytest.raises(UsageError, match="cannot be used") as caught:
        database.create()
    assert "secret" not in str(caught.value)
    assert "secret" not in database.name
    database.close()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        Database(f"sqlite:///{tmp_path}/nothere/service.db")


def test_threads_that_write_to_a_file_wait_in_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None holds a connection that SQLite lets sleep; a lock that is never free is an error."""
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    held: list[int] = []

    def write(_: int) -> None:
        with made.begin() as run:
            run.execute(sa.text("select 1"))
            held.append(made._engine.pool.checkedout())  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert held == [1] * 40
    monkeypatch.setattr(store, "_TIMEOUT", 0.01)
    with made.begin(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, 0)
        with pytest.raises(Problem, match="others write to it"):
            waiting.result()
    write(0)
    made.close()


def test_connections_are_closed_with_the_last_reference(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path}/service.db") as made:
        made.create()
        assert made.reachable()
        pool, opened = made._engine.pool, _open_of(made)
        opened[0].execute("select 1")
    assert made._engine.pool is not pool
    _all_closed(opened)
    made.create()
    engine, opened = made._engine, _open_of(made)
    pool = engine.pool
    del made
    gc.collect()
    assert engine.pool is not pool  # as dispose() leaves it
    _all_closed(opened)


def _open_of(database: Database) -> list[Any]:
    """The connections of the driver that stay open: the one that writes, and those that read."""
    database.rows(Prepared(sa.select(sa.literal(1))))
    connections = database._open
    assert connections._writer is not None
    return [connections._writer.connection.driver_connection, *connections._idle]


def _all_closed(connections: list[Any]) -> None:
    assert len(connections) == 2
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("select 1")
