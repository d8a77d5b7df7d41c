"""Ledgers in a file of SQLite."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from tacit.accounting.ledger_chain import (
    FORMAT,
    Event,
    Head,
    Wanted,
    read_event,
    read_head,
    stale_ledger_error,
    stored_head,
)
from tacit.errors import LedgerError

# The files that a process has open: those used last, at most this many.
#
# An open ledger takes three of the files that a process may open (the file, its log, and the index
# of the log), and a service with some thousand ledgers would run out of them.  So code that opens a
# file tells it here, and the file that no one has used for longest is closed; its next use opens it
# again.  A file in use is never closed: it holds a lock meanwhile, and is passed over.  So at most
# :data:`MAX_OPEN_LEDGERS` are open, and those in use at one time beyond that.


MAX_OPEN_LEDGERS = 100  # how many ledgers a process keeps open


class Resting(Protocol):
    """A file that can be closed for a while."""

    used: float  # when it was used last, as ``time.monotonic()`` counts

    def rest(self) -> bool:
        """Close it unless it is in use; return whether it is closed now."""


class OpenFiles:
    """The open files of a process; threads share one, and each step is whole without a lock."""

    def __init__(self, maximum: int = MAX_OPEN_LEDGERS) -> None:
        self.most = maximum
        self._files: weakref.WeakValueDictionary[int, Resting] = weakref.WeakValueDictionary()

    def opened(self, file: Resting) -> None:
        """Take a file that was opened, and close those used longest ago that are too many."""
        self._files[id(file)] = file
        live = [one for live in self._files.valuerefs() if (one := live()) is not None]
        over = len(live) - self.most
        for one in sorted(live, key=lambda one: one.used) if over > 0 else ():
            if over > 0 and one is not file:
                self.closed(one)  # before it rests: who uses it in between, brings it back
                if one.rest():
                    over -= 1
                else:
                    self._files[id(one)] = one

    def closed(self, file: Resting) -> None:
        """Let go of a file that was closed."""
        self._files.pop(id(file), None)


# What the errors of SQLite mean for a ledger, and what to do.


BUSY_TIMEOUT = 60.0  # seconds to wait for another writer

_PROBE = 1 << 16  # bytes, more than SQLite writes at once to the files next to the ledger

CAUSES = {
    "NOTADB": "is not a ledger: the file is something else. Name another file",
    "CANTOPEN": "cannot be opened: look whether the folder exists and can be written",
    "READONLY": "cannot be written, and a ledger must be: look at the rights of file and folder",
    "PERM": "cannot be written, and a ledger must be: look at the rights of file and folder",
    "FULL": "cannot grow: the disk is full; nothing more was spent. Make room and ask again",
    "BUSY": f"was held by another process for {BUSY_TIMEOUT:.0f} s; nothing more was spent",
    "CORRUPT": "is damaged: restore the disk, not an old copy, which would forget what was spent",
    "IOERR": "met a failing disk; look at its history before asking again",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as :class:`LedgerError` that explain them."""
    try:
        yield
    except sqlite3.Error as error:
        kind = kind_of(error)
        if kind == "IOERR" and _is_full(path.parent):
            kind = "FULL"
        cause = CAUSES.get(kind, f"cannot be used: {error}")
        raise LedgerError(f"the ledger {str(path)!r} {cause}") from error


def _is_full(folder: Path) -> bool:
    """True if the disk is full: SQLite reports some writes to a full disk as failures."""
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


# A ledger in one SQLite file: durable, and safe among the processes of one machine.
#
# - Each write starts with ``BEGIN IMMEDIATE``, which takes SQLite's only write lock before
#   anything is read.  (Reading first and writing later lets two processes see the same remainder
#   and both spend it.)
# - The write-ahead log is on and every commit is synced to the disk, so a charge outlives the
#   process, and the machine, from the moment that ``write()`` is left.
# - A process that dies inside a transaction leaves nothing of it: the lock ends with the process,
#   and the next one to come finds the last commit.
#
# The log of the latest commits is next to the file (``-wal``) while the ledger is in use or
# after a crash, and belongs to it.  The locks work among processes of one machine on a local disk;
# machines that share a budget need one in PostgreSQL
# (:mod:`tacit.accounting.ledger_postgres`).
#
# A process keeps the files of the latest ledgers open, and opens the others again when they are
# used (:mod:`tacit.accounting.ledger_sqlite`).  A file that was closed meanwhile must be the
# same one: its inode, and the last event that stood in it.


_APPLICATION = 0x54414349  # "TACI", by which the file is known

_SCHEMA = (
    "CREATE TABLE event (sequence INTEGER PRIMARY KEY, about TEXT, body TEXT NOT NULL,"
    " hash TEXT NOT NULL)",
    "CREATE INDEX event_about ON event (about)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL,"
    " hash TEXT NOT NULL, total TEXT NOT NULL, spent TEXT NOT NULL)",
)

# A connection must not be used, nor even closed, in a process forked from the one that made it.
_inherited: list[sqlite3.Connection] = []

open_files = OpenFiles()


class SqliteStore:
    """The events of one ledger in the file at ``path``."""

    # path: the file; its folder must exist and be writable.

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = Path(os.path.realpath(path))
        self._locks: dict[int, threading.Lock] = {}
        self._closed = False
        self._rested: Head | None = None  # what stood in the file when it was closed for a while
        self._refuse_what_is_no_file(create)
        if create:
            self._make()
        self.used = time.monotonic()
        self._open()
        with explained(self._path):
            self._prepare(create)
        self._inode = os.stat(self._path).st_ino
        open_files.opened(self)

    @property
    def name(self) -> str:
        """Name of the file in messages."""
        return f"the ledger {str(self._path)!r}"

    def home(self) -> dict[str, str]:
        """Return the path and the inode of the file; a copy has another of each."""
        return {"path": str(self._path), "inode": str(self._inode)}

    @contextmanager
    def write(self, wanted: Wanted | None = None) -> Iterator[_SqliteTransaction]:
        """Hold the write lock of the file; see :meth:`Store.write`."""
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            self._refuse_if_replaced()
            yield transaction

    @contextmanager
    def read(self, wanted: Wanted | None = None) -> Iterator[_SqliteTransaction]:
        """See one state of the file; see :meth:`Store.read`."""
        with self._transaction("BEGIN") as transaction:
            yield transaction

    def close(self) -> None:
        """Close the file; the last one to close it folds the log into it."""
        self._closed = True
        open_files.closed(self)
        self._finalizer()

    def rest(self) -> bool:
        """Close the file until it is used again; return whether it is closed."""
        # It stays open while it is in use, and where what is in it cannot be read.
        lock = self._lock()
        if not lock.acquire(blocking=False):
            return False
        try:
            if self._process == os.getpid() and self._finalizer.alive:
                self._rested = _SqliteTransaction(self._connection).head()
                self._finalizer()
            return True
        except (sqlite3.Error, LedgerError):
            return False
        finally:
            lock.release()

    def _lock(self) -> threading.Lock:
        # One lock a process: after a fork, that of the parent may be held by a thread of its own.
        return self._locks.setdefault(os.getpid(), threading.Lock())

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[_SqliteTransaction]:
        with self._lock(), explained(self._path):
            self.used = time.monotonic()
            self._wake()
            try:
                self._connection.execute(begin)
                yield _SqliteTransaction(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _wake(self) -> None:
        """Open the file where this process has it not open now, and see that it is the same."""
        inherited = os.getpid() != self._process
        if self._closed or (self._finalizer.alive and not inherited):
            return
        if inherited:
            _inherited.append(self._connection)
        self._refuse_if_replaced()  # before SQLite makes files next to another one
        self._open()
        try:
            self._refuse_if_replaced()
            self._refuse_if_older()
        except BaseException:
            self._finalizer()
            raise
        open_files.opened(self)

    def _refuse_if_older(self) -> None:
        """Raise if the file lacks the last event seen in it: an inode may be reused."""
        rested = self._rested
        if rested is not None:
            event = _SqliteTransaction(self._connection).at(rested.sequence)
            if event is None or event.hash != rested.hash:
                raise stale_ledger_error(self.name)

    def _make(self) -> None:
        """Create the file before SQLite does, for its owner alone: it contains answers."""
        # SQLite gives the files next to it (``-wal``, ``-shm``) the same rights.
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass  # its owner decides who reads it
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise LedgerError(f"{self.name} {CAUSES['FULL' if full else 'CANTOPEN']}") from None

    def _open(self) -> None:
        """Open the file that is there; SQLite makes none in its place."""
        location = self._path.as_posix()
        root = "" if location.startswith("/") else "/"
        with explained(self._path):
            connection = sqlite3.connect(
                f"file://{root}{quote(os.fsencode(location))}?mode=rw",
                uri=True,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
        self._finalizer = weakref.finalize(self, _close, connection, os.getpid())
        self._connection, self._process = connection, os.getpid()
        with explained(self._path):
            self._connection.execute("PRAGMA synchronous = EXTRA")
            self._connection.execute("PRAGMA fullfsync = ON")

    @staticmethod
    def begun(path: Path) -> bool:
        """Return whether a file holds anything: not one whose beginning was cut short."""
        # A process that was killed while it began a ledger leaves an empty file, or tables without
        # an event.  Nothing was charged there, and the next one starts again.
        try:
            if not path.exists() or path.stat().st_size == 0:
                return False
            store = SqliteStore(path, create=False)
        except (LedgerError, OSError):
            return True  # opening it reports what is wrong
        try:
            with store.read() as transaction:
                return transaction.head() is not None
        except LedgerError:
            return True
        finally:
            store.close()

    def _refuse_what_is_no_file(self, create: bool) -> None:
        try:
            self._refuse_by_kind(create)
        except OSError as error:
            raise LedgerError(f"{self.name} cannot be opened: {error.strerror}") from None

    def _refuse_by_kind(self, create: bool) -> None:
        if self._path.is_dir():
            raise LedgerError(f"{str(self._path)!r} is a folder; name a file for the ledger in it")
        if not self._path.parent.is_dir():
            raise LedgerError(
                f"{self.name} cannot be created: there is no folder {str(self._path.parent)!r}"
            )
        if not (create or self._path.exists()):
            raise LedgerError(f"{self.name} does not exist: create it first, or check the path")
        if self._path.exists() and self._path.stat().st_size == 0:
            log = self._path.with_name(f"{self._path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise LedgerError(
                    f"{self.name} was emptied, and its log {log.name} was not: charges would be "
                    "forgotten. Bring the latest file back"
                )
            if not create:
                raise LedgerError(
                    f"{self.name} is empty: its creation was interrupted before anything was "
                    "charged. Give a budget to create it again"
                )
        if self._path.exists():
            self._refuse_other_names(self._path.stat())
        # SQLite takes a file too short for its header as an empty one, and would write over it.
        if self._path.exists() and 0 < self._path.stat().st_size < 512:
            raise LedgerError(f"{str(self._path)!r} is not a ledger of Tacit: name another file")

    def _refuse_other_names(self, status: os.stat_result) -> None:
        """Raise for a hard link: each name has its own log, and never sees the other's."""
        if status.st_nlink > 1:
            raise LedgerError(
                f"{self.name} has a second name, a hard link: what is charged under one name is "
                "unknown under the other. Nothing more was spent; remove the other name (find "
                "-samefile shows it), or keep a copy in its place"
            )

    def _refuse_if_replaced(self) -> None:
        try:
            status = os.stat(self._path)
        except OSError:
            status = None
        if status is not None:
            self._refuse_other_names(status)
        if status is None or status.st_ino != self._inode:
            raise LedgerError(
                f"{self.name} was removed or replaced by another file while in use; "
                "nothing more was spent. Put it back, or open the new one"
            )

    def _prepare(self, create: bool) -> None:
        """Make the tables in an empty file, and refuse a file that is something else."""
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            application = run("PRAGMA application_id").fetchone()[0]
            empty = run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if application != _APPLICATION and not (empty and create):
                raise LedgerError(
                    f"{str(self._path)!r} is not a ledger of Tacit: name another file"
                )
            if application != _APPLICATION:
                for statement in _SCHEMA:
                    run(statement)
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {FORMAT}")
            version = run("PRAGMA user_version").fetchone()[0]
            if version > FORMAT:
                raise LedgerError(
                    f"{self.name} was written by a newer Tacit (format {version}, and this one "
                    f"reads {FORMAT}): upgrade Tacit"
                )
            run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                run("ROLLBACK")
            raise
        self._turn_on_the_log()

    def _turn_on_the_log(self) -> None:
        """Turn on the write-ahead log, again while others are turning it on or off."""
        # SQLite waits for other locks on its own; but of two connections that both have the file
        # open and both want it alone, one learns at once that it is busy.
        end = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if kind_of(error) != "BUSY" or time.monotonic() >= end:
                    raise
            time.sleep(0.005)


class _SqliteTransaction:
    """The queries, inside one transaction of a connection; see :class:`Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute

    def head(self) -> Head | None:
        return read_head(self._run("SELECT sequence, hash, total, spent FROM head").fetchone())

    def append(self, *events: Event, head: Head) -> None:
        if self._run("PRAGMA user_version").fetchone()[0] != FORMAT:
            self._run(f"PRAGMA user_version = {FORMAT}")
        for event in events:
            self._run(
                "INSERT INTO event (sequence, about, body, hash) VALUES (?, ?, ?, ?)",
                (event.sequence, event.key, event.text, event.hash),
            )
        row = stored_head(head)
        if head.sequence == 1:
            self._run(
                "INSERT INTO head (one, sequence, hash, total, spent) VALUES (1, ?, ?, ?, ?)", row
            )
        else:
            self._run("UPDATE head SET sequence = ?, hash = ?, total = ?, spent = ?", row)

    def clear(self) -> None:
        self._run("DELETE FROM event")
        self._run("DELETE FROM head")

    def about(self, key: str | None) -> list[Event]:
        if key is None:
            return list(self._select("WHERE about IS NULL"))
        return list(self._select("WHERE about = ?", key))

    def at(self, sequence: int) -> Event | None:
        return next(self._select("WHERE sequence = ?", sequence), None)

    def events(self, after: int = 0) -> Iterator[Event]:
        return self._select("WHERE sequence > ?", after)

    def _select(self, where: str, *values: object) -> Iterator[Event]:
        query = f"SELECT sequence, about, body, hash FROM event {where} ORDER BY sequence"
        return map(read_event, self._run(query, values))


def _close(connection: sqlite3.Connection, process: int) -> None:
    if os.getpid() != process:
        _inherited.append(connection)  # Python closes what no one refers to
    else:
        with suppress(sqlite3.Error):  # the charges are durable; closing only tidies up
            connection.close()
