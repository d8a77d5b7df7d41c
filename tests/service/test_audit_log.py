"""The audit log: one chain, whoever writes; nothing is changed, and what was changed shows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tacit.errors import UsageError, VerificationError
from tacit.service.audit_log import ACTIONS, AuditLog
from tacit.service.database import Database
from tacit.service.problem import Problem

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


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    yield made
    made.close()


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
    with pytest.raises(VerificationError, match="not in the audit log any more"):
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
        *("mechanism", "version", "changes"),
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
