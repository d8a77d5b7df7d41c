"""``tacit serve audit``: what it shows, and what it finds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tacit.service.audit_log import AuditLog
from tacit.service.database import Database


@pytest.fixture(autouse=True)
def _used(folder: Path) -> None:
    """A service that was used a little."""
    database = Database(f"sqlite:///{folder}/service.db")
    database.create()
    log = AuditLog(database)
    log.write("token_made", "operator", subject="t1", details={"for": "ada"})
    log.write("release_asked", "ada", dataset="visits", outcome="refused", details={"code": "x"})
    database.close()


def test_events_are_shown(tacit) -> None:
    out = tacit("serve audit .").out
    for word in ("token_made", "operator", "for ada", "release_asked (refused)", "visits"):
        assert word in out
    assert [e["action"] for e in tacit("serve audit . --json --last 1").json] == ["release_asked"]


def test_the_chain_is_verified(tacit, folder: Path) -> None:
    told = tacit("serve audit . --verify --json").json
    assert told["events"] == 2
    assert told["head"].startswith("2:")
    assert "2 events" in tacit(f"serve audit . --verify --noted {told['head']}").err
    elsewhere = "2:" + "0" * 64
    assert tacit(f"serve audit . --noted {elsewhere}").code == 1
    with sqlite3.connect(folder / "service.db") as database:
        database.execute("drop trigger audit_no_update")
        database.execute("update audit_event set event = replace(event, 'ada', 'eve')")
    database.close()
    done = tacit("serve audit . --verify")
    assert done.code == 1
    assert "event 1" in done.err


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("serve audit nothere", "there is no folder"),
        ("serve audit . --noted 5", "number and the hash"),
        ("serve audit . --last 0", "--last"),
        ("serve audit", "there is no folder 'audit'"),
    ],
)
def test_what_is_refused(words: str, told: str, tacit) -> None:
    done = tacit(words)
    assert done.code == 2
    assert told in done.err


def test_a_service_that_was_never_started(folder: Path, tacit) -> None:
    (folder / "service.db").unlink()
    done = tacit("serve audit .")
    assert done.code == 2
    assert "not started" in done.err
    assert not (folder / "service.db").exists()
