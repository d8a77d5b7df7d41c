"""What an error of SQLite means for a ledger."""

import errno
import sqlite3
from pathlib import Path

import pytest

from tacit.accounting.ledger_sqlite import explained
from tacit.errors import LedgerError


def failed(code, text="no"):
    error = sqlite3.OperationalError(text)
    error.sqlite_errorname = f"SQLITE_{code}"
    return error


@pytest.mark.parametrize(("number", "told"), [("ENOSPC", "disk is full"), ("EIO", "failing disk")])
def test_a_full_disk_is_not_called_a_failing_one(tmp_path, number, told, monkeypatch):
    """SQLite reports what it cannot write to the files beside a ledger as a failure."""

    def full(**_):
        raise OSError(getattr(errno, number), "no")

    monkeypatch.setattr("tacit.accounting.ledger_sqlite.tempfile.TemporaryFile", full)
    with pytest.raises(LedgerError, match=told), explained(tmp_path / "d.ledger"):
        raise failed("IOERR_SHMSIZE")


def test_an_error_of_another_kind_is_told_as_it_is():
    told = r"'d\.ledger' cannot be used: near"
    with pytest.raises(LedgerError, match=told), explained(Path("d.ledger")):
        raise failed("ERROR", "near")


def test_a_lock_that_is_held_spends_nothing():
    told = "held by another process for 60 s; nothing more was spent"
    with pytest.raises(LedgerError, match=told), explained(Path("d.ledger")):
        raise failed("BUSY_SNAPSHOT")
