"""A ledger in PostgreSQL: one budget, shared by many analysts on many hosts.

- **The lock comes first.**  A write begins with ``LOCK TABLE ... IN EXCLUSIVE MODE`` on the
  totals, before anything is read; readers go on.  ``SELECT ... FOR UPDATE`` would not do: while
  the ledger is empty it finds no row to lock, and two could begin the same ledger.  Each
  statement after the lock sees all that was committed before it (``READ COMMITTED``, forced,
  since an earlier snapshot would show an earlier remainder).
- **A commit is durable.**  ``synchronous_commit`` is raised to ``on`` in each transaction where
  the server is set to less, and a server with ``fsync = off`` is refused.
- **An interrupted commit is unknown, and is found out.**  When the connection is cut while
  ``COMMIT`` is under way, nobody can know whether it happened.  Every transaction writes a token
  of its own beside its event; the store connects again, waits for the lock (which the
  interrupted transaction holds until it is over), and looks whether the token is there.  If the
  server does not come back in time, the error says that it is not known, and nothing is released.
- **A home.**  The number of the server's data (``system_identifier``), of the database and of the
  table distinguish a ledger from a dump of it that was restored elsewhere or beside it.  All three
  stay when the server restarts, when it is moved with its data, and when a streaming standby takes
  its place; host names, ports and the timeline are no part of it, since they change then.  What has
  the same home is a *physical* copy of the whole server: after a fail-over the old primary must
  never run again, and a standby that was behind has forgotten the last charges.

What is set on a connection lasts for one transaction only, so a pooler may stand in between.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.hash_chain import Event, Head
from tacit.accounting.ledger.postgres.address import Address
from tacit.accounting.ledger.postgres.connection import (
    PATIENCE,
    SETTINGS,
    connect,
    explained,
    run,
    words,
)
from tacit.accounting.ledger.postgres.tables import Tables
from tacit.accounting.ledger.store import LostError, read_event, read_head, same_home, stored_head
from tacit.errors import LedgerError, need

if TYPE_CHECKING:
    from tacit.postgres.connection import Connection

__all__ = ["PostgresStore"]

# One message begins a transaction and brings the totals: each more costs a way to the server and
# back, while everybody else waits for the lock.
_HEAD = """
SELECT '{event}'::regclass::oid::text, h.sequence, h.hash, h.total, h.spent
    FROM (SELECT) AS one LEFT JOIN {head} h ON true;
"""
_WRITE = f"""
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {SETTINGS}
SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') <> 'remote_apply';
LOCK TABLE {{head}} IN EXCLUSIVE MODE;
{_HEAD}
"""
_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS} {_HEAD}"
# A commit may wait for a standby, and must not be given up when it has already happened here.
_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"

_LINK = """
WITH linked AS (INSERT INTO {event} (sequence, about, body, hash, token)
    VALUES (%s, %s, %s, %s, %s) RETURNING sequence)
"""
_FIRST = (
    "INSERT INTO {head} (one, sequence, hash, total, spent)"
    " SELECT 1, linked.sequence, %s, %s, %s FROM linked"
)
_NEXT = (
    "UPDATE {head} h SET sequence = linked.sequence, hash = %s, total = %s, spent = %s"
    " FROM linked WHERE h.sequence = linked.sequence - 1"
)

_CLOSED = "is closed to this role: look at its rights in the database"

# A connection must not be used, nor even closed, in a process forked from the one that made it.
_inherited: list[Connection] = []


class PostgresStore:
    """The events of one ledger in a database.

    Args:
        address: ``postgresql://user@host/database?ledger=name``, with any options of libpq.
        create: make the tables where there are none.
        writes: refuse a role that may not write; without it, one that may read is enough.

    Raises:
        LedgerError: the server cannot be reached, is too old or not durable; there is no such
            ledger, it is a newer one, or the role may not use it.
        MissingExtraError: psycopg is not installed.
    """

    def __init__(self, address: str, *, create: bool, writes: bool = True) -> None:
        self._address = Address.parse(address)
        self._tables = Tables(self._address.ledger, self.name)
        self._writes = writes
        self._locks: dict[int, threading.Lock] = {}
        self._closed = False
        self._home: dict[str, str] | None = None
        self._open(create)

    @staticmethod
    def exists(address: str) -> bool:
        """Return whether there is such a ledger: not one whose beginning was cut short.

        Raises:
            LedgerError: the server cannot be reached.
        """
        place = Address.parse(address)
        name = f"the ledger {place.shown!r}"
        with connect(place, name) as connection, explained(name, connection, lambda: _CLOSED):
            return Tables(place.ledger, name).begun(connection)

    @property
    def name(self) -> str:
        """What to call the ledger in a message; no password is in it."""
        return f"the ledger {self._address.shown!r}"

    def home(self) -> dict[str, str]:
        """Return the numbers of the server's data, of the database and of the table."""
        return dict(self._home or {})

    def __repr__(self) -> str:
        return f"<PostgresStore of {self.name}>"

    @contextmanager
    def write(self) -> Iterator[_Transaction]:
        """Hold the lock of the ledger; see :meth:`Store.write`."""
        with self._turn():
            self._tables.refuse_server(self._found, writes=True)
            table, *row = self._begin(_WRITE)
            transaction = _Transaction(self._connection, self._tables, row)
            try:
                if table != self.home()["table"]:
                    raise LedgerError(
                        f"{self.name} was removed or replaced by another one while in use; "
                        "nothing more was spent. Put it back, or open the new one"
                    )
                with self._explained():
                    yield transaction
            except BaseException:
                self._undo()
                raise
            self._commit(transaction)

    @contextmanager
    def read(self) -> Iterator[_Transaction]:
        """See one state of the ledger; see :meth:`Store.read`."""
        with self._turn():
            _, *row = self._begin(_READ)
            try:
                with self._explained():
                    yield _Transaction(self._connection, self._tables, row)
            finally:
                self._undo()  # there is nothing to keep

    def close(self) -> None:
        """Close the connection."""
        self._closed = True
        self._finalizer()

    # --- the connection ------------------------------------------------------------------------

    def _turn(self) -> threading.Lock:
        # One lock a process: after a fork, that of the parent may be held by a thread of its own.
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.name, self._connection, lambda: self._remedy)

    def _open(self, create: bool = False) -> None:
        """Connect, look where that is, and refuse what is no ledger, or another one than before."""
        self._process = os.getpid()
        self._remedy = _CLOSED
        self._connection = connect(self._address, self.name)
        self._finalizer = weakref.finalize(self, _close, self._connection, self._process)
        try:
            with self._explained():
                home = self._look(create)
            if self._home is not None and not same_home(self._home, home):
                raise LedgerError(
                    f"{self.name} is not the ledger that it was before the connection was cut: "
                    "its address leads to another server, or its tables were replaced. Nothing "
                    "more was spent; check where the address leads"
                )
        except BaseException:
            self._finalizer()
            raise
        self._home = home

    def _look(self, create: bool) -> dict[str, str]:
        """Return the home of the ledger, once it is there and as it must be."""
        found = self._tables.look(self._connection)
        self._tables.refuse_server(found, writes=self._writes)
        if found.table is None and create:
            self._remedy = self._tables.remedy_to_make(found.role)
            self._tables.make(self._connection)
            found = self._tables.look(self._connection)
        self._remedy = self._tables.remedy(found.role)
        self._tables.refuse_tables(found, writes=self._writes)
        self._found = found
        return found.home

    # --- a transaction -------------------------------------------------------------------------

    def _begin(self, statements: str) -> Any:
        """Begin a transaction, on a new connection where the old one was cut in the meantime."""
        if self._closed:
            raise LedgerError(f"{self.name} is closed: open it again")
        if os.getpid() != self._process:
            _inherited.append(self._connection)
            self._open()
        statements = statements.format(event=self._tables.event, head=self._tables.head)
        try:
            return self._run(statements)
        except LostError:
            self._finalizer()
        self._open()
        return self._run(statements)

    def _run(self, statements: str) -> Any:
        try:
            with self._explained():
                return run(self._connection, statements).fetchone()
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        """End a transaction without keeping anything; close a connection that cannot do so."""
        psycopg = need("psycopg", "postgres")
        states = psycopg.pq.TransactionStatus
        with suppress(psycopg.Error):
            if self._connection.info.transaction_status in (states.INTRANS, states.INERROR):
                self._connection.execute("ROLLBACK")
        if self._connection.info.transaction_status != states.IDLE:
            self._finalizer()

    def _commit(self, transaction: _Transaction) -> None:
        psycopg = need("psycopg", "postgres")
        try:
            done = run(self._connection, _COMMIT).statusmessage
            cause = None if done == "COMMIT" else "the server undid the transaction"
        except psycopg.Error as error:
            cause = words(error)
        except BaseException:  # the keyboard's interrupt: whether it is spent is seen later
            self._undo()
            raise
        if cause is not None:
            self._undo()
            if transaction.sequence is None:
                raise LostError(
                    f"{self.name} was interrupted ({cause}) before anything was written; nothing "
                    "more was spent. Ask again"
                )
            self._find_out(transaction.sequence, transaction.token, cause)

    def _find_out(self, sequence: int, token: str, cause: str) -> None:
        """Return if an interrupted commit happened after all.

        Raises:
            LostError: it did not happen, or the server did not come back in time to say.
        """
        end = time.monotonic() + PATIENCE
        while True:
            try:
                # With the lock, which the interrupted transaction may still hold.
                _, *row = self._begin(_WRITE)
                transaction = _Transaction(self._connection, self._tables, row)
                with self._explained():
                    happened = transaction.wrote(sequence, token)
                break
            except LedgerError:
                if time.monotonic() >= end:
                    raise LostError(
                        f"{self.name} was interrupted ({cause}) while a charge or an answer was "
                        f"being written, and did not come back within {PATIENCE:.0f} s to say "
                        "whether it was: count it as spent. No answer was given out. Ask again "
                        "when the server is back: what was charged is not charged twice"
                    ) from None
            finally:
                self._undo()
            time.sleep(0.2)
        if not happened:
            raise LostError(
                f"{self.name} was interrupted ({cause}) while a charge or an answer was being "
                "written; it was not written, and nothing more was spent. Ask again"
            )


class _Transaction:
    """The queries, inside one transaction of a connection; see :class:`Transaction`.

    Attributes:
        token: which no other transaction has.
        sequence: of the event that was appended; None while there is none.
    """

    def __init__(self, connection: Connection, tables: Tables, row: list[Any]) -> None:
        self._connection = connection
        self._tables = tables
        self._row = row  # the totals, as they are read when the transaction begins
        self.token = secrets.token_hex(16)
        self.sequence: int | None = None

    def head(self) -> Head | None:
        return None if self._row[0] is None else read_head(self._row)

    def append(self, event: Event, head: Head) -> None:
        self.sequence = event.sequence
        statement = _LINK + (_FIRST if event.sequence == 1 else _NEXT)
        row = (event.sequence, event.key, event.text, event.hash, self.token)
        _, digest, *budgets = stored_head(head)
        statement = statement.format(event=self._tables.event, head=self._tables.head)
        done = self._connection.execute(statement, (*row, digest, *budgets))
        if done.rowcount != 1:
            raise LedgerError(
                "the totals of the ledger do not match its chain of events: it was changed. "
                "Nothing more was spent"
            )
        self._row = [head.sequence, digest, *budgets]

    def about(self, key: str | None) -> list[Event]:
        if key is None:
            return list(self._select("WHERE about IS NULL"))
        return list(self._select("WHERE about = %s", key))

    def at(self, sequence: int) -> Event | None:
        return next(self._select("WHERE sequence = %s", sequence), None)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Go through all events in order, a thousand at a time."""
        last = after
        while True:
            found = list(self._select("WHERE sequence > %s", last, limit=" LIMIT 1000"))
            if not found:
                return
            yield from found
            last = found[-1].sequence

    def wrote(self, sequence: int, token: str) -> bool:
        """Return whether an earlier transaction, with this token, was committed."""
        ask = f"SELECT FROM {self._tables.event} WHERE sequence = %s AND token = %s"
        return self._connection.execute(ask, (sequence, token)).fetchone() is not None

    def _select(self, where: str, *values: object, limit: str = "") -> Iterator[Event]:
        ask = f"SELECT sequence, about, body, hash FROM {self._tables.event} {where}"
        rows = self._connection.execute(f"{ask} ORDER BY sequence{limit}", values)
        return map(read_event, rows)


def _close(connection: Connection, process: int) -> None:
    if os.getpid() == process:
        connection.close()
