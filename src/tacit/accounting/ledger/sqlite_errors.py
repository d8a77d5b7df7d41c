"""What the errors of SQLite mean for a ledger, and what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import LedgerError

__all__ = ["CAUSES", "PATIENCE", "explained", "kind_of"]

PATIENCE = 60.0
"""Seconds to wait for another writer."""

_PROBE = 1 << 16  # bytes, more than SQLite writes at once to the files beside the ledger

CAUSES = {
    "NOTADB": "is not a ledger: the file is something else. Name another file",
    "CANTOPEN": "cannot be opened: look whether the folder exists and can be written",
    "READONLY": "cannot be written, and a ledger must be: look at the rights of file and folder",
    "PERM": "cannot be written, and a ledger must be: look at the rights of file and folder",
    "FULL": "cannot grow: the disk is full; nothing more was spent. Make room and ask again",
    "BUSY": f"was held by another process for {PATIENCE:.0f} s; nothing more was spent",
    "CORRUPT": "is damaged: restore the disk, not an old copy, which would forget what was spent",
    "IOERR": "met a failing disk; look at its history before asking again",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say what an error of SQLite means for whoever uses the ledger at a path.

    Raises:
        LedgerError: with the cause.
    """
    try:
        yield
    except sqlite3.Error as error:
        kind = kind_of(error)
        if kind == "IOERR" and _is_full(path.parent):
            kind = "FULL"
        cause = CAUSES.get(kind, f"cannot be used: {error}")
        raise LedgerError(f"the ledger {str(path)!r} {cause}") from error


def _is_full(folder: Path) -> bool:
    """Whether a little more cannot be written: SQLite calls some writes to a full disk failures."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            probe.write(b"\0" * _PROBE)
            os.fsync(probe.fileno())
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return False


def kind_of(error: sqlite3.Error) -> str:
    """Return the primary code of an error, such as ``BUSY`` for ``SQLITE_BUSY_SNAPSHOT``."""
    return str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_").split("_")[0]
