"""Where a history takes place: a file, or tables of a server; and what can happen to a place.

Each place can empty itself for the next history, tell what *another* connection sees, cut a
process off, lose the power at an instruction, and be put back to an old state of itself.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from support.servers.postgres_server import Database
from tacit.accounting import ledger_chain as any_store
from tacit.accounting import ledger_postgres as postgres_store
from tacit.accounting import ledger_sqlite as sqlite_store
from tacit.errors import LedgerError

__all__ = ["FilePlace", "Place", "ServerPlace", "refused"]


class FilePlace:
    """A ledger in a file of a folder of its own.

    Power is lost as on a disk: what was synced stays, and of what was written to the log since, a
    part of any length.
    """

    server = False

    def __init__(self, folder: Path) -> None:
        self.where = folder / "own.ledger"
        self._log = folder / "own.ledger-wal"
        self._synced = 0

    @contextmanager
    def quick(self) -> Iterator[None]:
        """Let nobody wait for a lock: who waits, waits for itself."""
        patience, sqlite_store.BUSY_TIMEOUT = sqlite_store.BUSY_TIMEOUT, 0.0
        try:
            yield
        finally:
            sqlite_store.BUSY_TIMEOUT = patience

    def renew(self, seed: int = 0) -> None:
        """Remove everything, for the next history."""
        for path in self.where.parent.iterdir():
            path.unlink()
        self._synced = 0

    def was_busy(self, told: str) -> bool:
        """Return whether an error is one that this place may answer."""
        return "held by another process" in told

    def cut(self, ledger: Any) -> None:
        """Let the process of a handle die: nothing that it still does has any effect."""
        connection = ledger._store._connection
        with suppress(sqlite3.Error):
            connection.set_authorizer(None)
            if connection.in_transaction:
                connection.rollback()
            connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)

    def end(self, ledger: Any) -> None:
        """Let the process die, and let go of its file."""
        self.cut(ledger)
        with suppress(sqlite3.Error):
            ledger._store._connection.close()

    def settle(self) -> None:
        """Note that what is written is synced: an operation has returned."""
        with suppress(FileNotFoundError):
            self._synced = self._log.stat().st_size

    def charges(self) -> list[str]:
        """Return the keys that were charged, as another process finds them."""
        with closing(sqlite3.connect(self.where)) as connection:
            found = connection.execute("SELECT about FROM event WHERE body LIKE '%\"charge\",%'")
            return [about for (about,) in found]

    def synced(self, ledger: Any) -> bool:
        """Return whether each commit of a handle is synced to the disk."""
        return ledger._store._connection.execute("PRAGMA synchronous").fetchone() == (3,)

    # --- the machine goes down ---------------------------------------------------------------

    def image(self) -> tuple[bytes, bytes]:
        """Return what stands in the files at this instruction."""
        log = self._log.read_bytes() if self._log.exists() else b""
        return self.where.read_bytes(), log

    def reboot(self, image: tuple[bytes, bytes], draw: random.Random) -> None:
        """Put there what a disk holds after the power was lost; all handles are closed before."""
        whole, log = image
        with open(self.where, "r+b") as file:  # the same file, not another of its name
            file.write(whole)
            file.truncate()
        for path in self.where.parent.glob("own.ledger-*"):
            path.unlink()
        self._log.write_bytes(log[: draw.randint(min(self._synced, len(log)), len(log))])

    # --- an old state ------------------------------------------------------------------------

    def state(self) -> bytes:
        """Return a backup."""
        with (
            closing(sqlite3.connect(self.where)) as source,
            closing(sqlite3.connect(":memory:")) as copy,
        ):
            source.backup(copy)
            return copy.serialize()

    def put_back(self, state: bytes) -> None:
        """Write a backup into the same file; all handles are closed before."""
        for path in self.where.parent.glob("own.ledger-*"):
            path.unlink()
        with open(self.where, "r+b") as file:
            file.write(state)
            file.truncate()

    def hostile(self, opened: Callable[[Path], Any], charge: list[Callable[[], Any]]) -> list[Any]:
        """Return what somebody may try with the file: each must be refused by everybody.

        Args:
            opened: opens a ledger at a path, and closes it.
            charge: a charge by each process.
        """
        copy, link, aside = (self.where.with_name(n) for n in ("copy.ledger", "link.ledger", "o"))

        def a_copy() -> None:
            shutil.copy(self.where, copy)
            with suppress(FileNotFoundError):
                shutil.copy(self._log, f"{copy}-wal")
            refused(lambda: opened(copy))
            for path in self.where.parent.glob("copy.ledger*"):
                path.unlink()

        def a_second_name() -> None:
            os.link(self.where, link)
            try:
                refused(lambda: opened(link))
                refused(charge[0])
            finally:
                link.unlink()

        def an_old_file() -> None:
            self.where.rename(aside)
            shutil.copy(aside, self.where)
            try:
                for each in charge:
                    refused(each)
            finally:
                aside.replace(self.where)

        return [a_copy, a_second_name, an_old_file]


class ServerPlace:
    """A ledger in tables of a server, used again and again: each history begins with none in them.

    What is simulated, and how: a process that crashes, or whose connection is cut, is a handle
    whose connection is closed, so that the server undoes what was not committed.  In most histories
    the session is kept for whoever connects next (:mod:`support.servers.kept_connections`); in
    every fifteenth nobody gets a session that was used, and the tables are made anew.  Where the
    power is lost, all the processes of the server are killed in the midst of a transaction, and it
    starts again from what it had written by then.  Its folder is in memory, where syncing costs
    nothing and loses nothing; ``fsync`` stays on, since the ledger refuses a server without.

    Args:
        database: in which its tables are made.
        name: of the ledger.
        reboots: whether the server may be stopped at once, which takes a second.
    """

    server = True

    def __init__(self, database: Database, name: str = "own", *, reboots: bool = False) -> None:
        import psycopg

        from support.servers.kept_connections import KeptConnections

        self._database, self._name, self.reboots = database, name, reboots
        self.where = f"{database.dsn()}?ledger={name}"
        self._psycopg = psycopg
        self._eye: Any = None
        self._connections = KeptConnections(postgres_store.connect)

    @contextmanager
    def quick(self) -> Iterator[None]:
        """Let nobody wait: for a lock that it holds itself, nor for a server that is there."""
        write, pauses = postgres_store._WRITE, any_store._PAUSES
        assert "'lock_timeout', '60s'" in write
        postgres_store._WRITE = write.replace("'lock_timeout', '60s'", "'lock_timeout', '1ms'")
        any_store._PAUSES = (0.0, 0.0)
        connect, postgres_store.connect = postgres_store.connect, self._connections.connect
        try:
            yield
        finally:
            postgres_store._WRITE, any_store._PAUSES = write, pauses
            postgres_store.connect = connect
            self._forget()

    def _run(self, statement: str, *values: Any) -> Any:
        if self._eye is None or self._eye.closed:
            self._eye = self._psycopg.connect(self._database.dsn(), autocommit=True)
        return self._eye.execute(statement.format(f"tacit.{self._name}"), values or None)

    def _forget(self) -> None:
        self._connections.clear()
        if self._eye is not None:
            self._eye.close()

    def renew(self, seed: int = 0) -> None:
        """Empty the tables, for the next history; every fifteenth begins without any."""
        self._connections.kept = bool(seed % 15)
        if not self._connections.kept:
            self._forget()
            self._run("DROP TABLE IF EXISTS {0}_head, {0}_event")
        elif self._run("SELECT to_regclass('{}_event') IS NOT NULL").fetchone()[0]:
            self._run("DELETE FROM {0}_head; DELETE FROM {0}_event")

    def was_busy(self, told: str) -> bool:
        """Return whether an error is one that this place may answer."""
        return "held by another writer" in told or "was interrupted" in told

    def cut(self, ledger: Any) -> None:
        """Cut the connection of a handle."""
        ledger._store._connection.close()

    end = cut

    def settle(self) -> None:
        """Do nothing: the server syncs before it answers."""

    def charges(self) -> list[str]:
        """Return the keys that were charged, as another process finds them."""
        found = self._run("SELECT about FROM {}_event WHERE body::json->>'event' = 'charge'")
        return [about for (about,) in found]

    def synced(self, ledger: Any) -> bool:
        """Return whether each commit is synced to the disk."""
        found = self._run("SELECT current_setting('fsync'), current_setting('full_page_writes')")
        return found.fetchone() == ("on", "on")

    @contextmanager
    def word_lost(self, draw: random.Random) -> Iterator[None]:
        """Lose the connection in the midst of the next commit: before it, or behind it."""
        real, behind, left = postgres_store.run, draw.random() < 0.5, [True]

        def run(connection: Any, statements: str) -> Any:
            if statements != postgres_store._COMMIT or not left:
                return real(connection, statements)
            left.clear()
            if behind:
                real(connection, statements)
            connection.close()
            raise self._psycopg.OperationalError("the connection was lost")

        postgres_store.run = run
        try:
            yield
        finally:
            postgres_store.run = real

    def image(self) -> None:
        """Stop the server as a machine that fails would."""
        self._forget()
        self._database.server.kill()

    def reboot(self, image: None, draw: random.Random) -> None:
        """Start it again."""
        self._database.server.start()

    def state(self) -> tuple[Any, Any]:
        """Return what a standby holds that follows up to this moment."""
        events = self._run("SELECT * FROM {}_event").fetchall()
        return events, self._run("SELECT * FROM {}_head").fetchall()

    def put_back(self, state: tuple[Any, Any]) -> None:
        """Let that standby take over: the same home, and an older state."""
        with self._run("SELECT 1").connection.transaction():
            self._run("DELETE FROM {0}_head; DELETE FROM {0}_event")
            for row in state[0]:
                self._run("INSERT INTO {}_event VALUES (%s, %s, %s, %s, %s)", *row)
            for row in state[1]:
                self._run("INSERT INTO {}_head VALUES (%s, %s, %s, %s, %s)", *row)

    def hostile(self, opened: Any, charge: Any) -> list[Any]:
        """Return nothing: copies of a server are tried where dumps and standbys are."""
        return []


Place = FilePlace | ServerPlace


def refused(action: Callable[[], Any]) -> None:
    """Do what the ledger must refuse."""
    try:
        action()
    except LedgerError:
        return
    raise AssertionError("it was not refused")
