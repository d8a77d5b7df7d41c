"""Ledgers in PostgreSQL."""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from tacit import postgres
from tacit.accounting.ledger_chain import (
    FORMAT,
    Event,
    Head,
    LostError,
    Wanted,
    read_event,
    read_head,
    same_home,
    stored_head,
)
from tacit.errors import LedgerError, need
from tacit.postgres import (
    Refused,
    Statement,
    is_cut,
    prepare_where_direct,
    read_options,
    run_all,
    tls_cause,
    with_defaults,
)

if TYPE_CHECKING:
    import psycopg

    from tacit.postgres import Connection

# The address of a ledger in PostgreSQL: ``postgresql://user@host/database?ledger=clinic``.
#
# It is an address as libpq reads it, with one more option: ``ledger``, the name of the ledger in
# the database (``main`` where none is given).  All else is passed on, TLS options such as
# ``sslmode`` and ``sslrootcert`` among them.
#
# An address may hold a password, and a password must never be shown.  So an address is shown only
# through :func:`shown`, and one that cannot be taken apart with certainty is refused without a word
# of it being repeated: in ``postgresql://ann:pa/ss@host/db`` a part of the password stands where
# the database should.


_SCHEME = re.compile(r"postgres(ql)?:")
_ADDRESS = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    r"(?P<hosts>[^@/?#]*)(?:/(?P<database>[^@/?#]*))?(?:\?(?P<options>[^@?#]*))?"
)
_HOST = re.compile(r"(\[[\w:.%]+\]|[\w.%-]*)(:\d+)?", re.ASCII)
_OPTION = re.compile(r"(?P<name>\w+)=(?P<value>[^&=]*)", re.ASCII)
_INVALID_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_SHOWN = {"user", "host", "hostaddr", "port", "dbname"}
_FORM = (
    "an address is written postgresql://user@host:5432/database?ledger=name, with %40 for @, "
    "%2F for /, %3A for :, %3F for ?, %23 for # and %25 for % inside a password"
)


def is_address(path: str | os.PathLike[str] | None) -> bool:
    """Return whether a ledger's place is one in a database server, and not a file.

    >>> is_address("postgresql://ann@db.example/clinic"), is_address("clinic.ledger")
    (True, False)
    """
    return path is not None and _SCHEME.match(os.fspath(path)) is not None


def shown(path: str | os.PathLike[str]) -> str:
    """Return a ledger's place as it may be shown: a file as it is, an address without secrets.

    >>> shown("postgresql://ann:secret@db.example/clinic?sslmode=verify-full&ledger=visits")
    'postgresql://ann@db.example/clinic?ledger=visits'
    >>> shown("clinic.ledger")
    'clinic.ledger'
    """
    return Address.parse(path).shown if is_address(path) else os.fspath(path)


@dataclass(frozen=True)
class Address:
    """An address, taken apart."""

    # what libpq is given, secrets among it; it is in no ``repr``
    connect: str = field(repr=False)
    ledger: str  # the name of the ledger in the database
    shown: str  # the address without its secrets and without options that say nothing of the place
    secrets: tuple[str, ...] = field(repr=False)  # every password in it, as written and as meant

    @classmethod
    def parse(cls, path: str | os.PathLike[str]) -> Address:
        """Take an address apart.

        >>> Address.parse("postgresql://ann:secret@db.example/clinic")
        Address(ledger='main', shown='postgresql://ann@db.example/clinic?ledger=main')
        """
        text = os.fspath(path)
        match = _ADDRESS.fullmatch(text)
        if match is None or _INVALID_ESCAPE.search(text):
            raise LedgerError(f"the address of the ledger cannot be read: {_FORM}")
        hosts, pairs = match["hosts"], _options(match["options"])
        if not all(_HOST.fullmatch(host) for host in hosts.split(",")) or not text.isprintable():
            raise LedgerError(f"the address of the ledger cannot be read: {_FORM}")
        ledger = dict(pairs).get("ledger", "main")
        if not _NAME.fullmatch(ledger):
            raise LedgerError(
                "the name of a ledger in a database, ?ledger=name, starts with a to z and has "
                f"at most 40 characters of a to z, 0 to 9 and _; {ledger!r} does not"
            )
        handed_on = [f"{name}={value}" for name, value in pairs if name != "ledger"]
        shown = [f"{name}={value}" for name, value in pairs if name in _SHOWN]
        user = f"{match['user']}@" if match["user"] else ""
        shown_address = f"postgresql://{user}{hosts}/{match['database'] or ''}"
        secrets = [match["password"] or "", *(v for n, v in pairs if n.endswith("password"))]
        return cls(
            text.partition("?")[0] + ("?" + "&".join(handed_on) if handed_on else ""),
            ledger,
            f"{shown_address}?{'&'.join([*shown, f'ledger={ledger}'])}",
            tuple({form for secret in secrets if secret for form in (secret, unquote(secret))}),
        )

    def masked(self, text: str) -> str:
        """Return a text without the secrets of this address, on one line."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return "; ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _options(text: str | None) -> list[tuple[str, str]]:
    matches = [_OPTION.fullmatch(pair) for pair in (text or "").split("&") if pair]
    if None in matches:
        raise LedgerError(f"the address of the ledger cannot be read: {_FORM}")
    pairs = [(option["name"], option["value"]) for option in matches if option is not None]
    if len(dict(pairs)) < len(pairs):
        raise LedgerError("an option of the address of the ledger is given twice")
    return pairs


# Reaching a ledger's PostgreSQL, and its errors in plain words.
#
# Nothing here shows a password.  libpq repeats in its errors what it took for a host or a port, so
# its words are masked (how it is reached: :mod:`tacit.postgres`).


# Seconds to wait for another writer, or for a server that went away in the middle of a commit.
BUSY_TIMEOUT = 60.0

# What was sent and is acknowledged by no one ends the connection, milliseconds.
_SILENCE = "30000"

# Only for one transaction each, so that a pooler may be in between.  What is asked for is found
# in the catalogue of the system alone, whatever functions someone has put into other schemas; and
# a machine that falls silent while it holds the lock loses it.
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "lock_timeout": "60s",
    "statement_timeout": "120s",
    "idle_in_transaction_session_timeout": "60s",
}
SETTINGS: str = "SELECT {};".format(
    ", ".join(f"pg_catalog.set_config('{k}', '{v}', true)" for k, v in _SETTINGS.items())
)


def connect(address: Address, name: str) -> Connection:
    """Connect, for transactions that are started and ended by hand."""
    connection = _attempt(address)
    if connection is None:
        raise LedgerError(
            f"{name} cannot be reached: its address has an option that libpq does not know; it "
            "knows sslmode, sslrootcert, connect_timeout and others"
        )
    if not isinstance(connection, Refused):
        return connection
    cause = address.masked(connection.message)
    if (tls := tls_cause(cause)) is not None:
        raise LostError(f"{name} cannot be reached: {tls}. Nothing more was spent")
    raise LostError(
        f"{name} cannot be reached: {cause}. Nothing more was spent. Check host, port, user, "
        "password (PGPASSWORD or the file .pgpass keep it out of the address) and at the "
        "server's pg_hba.conf, and ask again"
    )


def _attempt(address: Address) -> Connection | Refused | None:
    """Return a connection, or why there is none, or None for a wrong option."""
    # The options are in this frame alone, which no error of ours has behind it.
    given = read_options(address.connect)
    if given is None:
        return None
    return postgres.connect(with_defaults(given, tcp_user_timeout=_SILENCE))


def run(connection: Connection, statements: str) -> Any:
    """Run several statements in one message; return the cursor at the result of the last one."""
    cursor = connection.execute(statements)
    while cursor.nextset():
        pass
    return cursor


_CAUSES = {
    "42P01": "was removed while in use; nothing more was spent. Put it back, or open another one",
    "55P03": f"was held by another writer for {BUSY_TIMEOUT:.0f} s; nothing more was spent",
    "57014": "took too long, or was cancelled at the server; nothing more was spent. Ask again",
    "53100": "cannot grow: the server's disk is full; nothing more was spent. Make room and ask "
    "again",
    "53200": "met a server without memory left; nothing more was spent. Ask again",
    "25006": "is on a server that only follows another one: give the address of the primary",
    "23505": "was written by two at once past its lock: look whether a pooler in between splits "
    "transactions. Nothing more was spent",
    "58030": "met a failing disk; look at the server's history before asking again",
    "XX001": "is damaged: restore the disk, not an old copy, which would forget what was spent",
    "XX002": "is damaged: restore the disk, not an old copy, which would forget what was spent",
}


def is_lost(error: psycopg.Error, connection: Connection) -> bool:
    """Return whether an error means that the connection is gone."""
    return is_cut(error.sqlstate, connection) or error.sqlstate == "25P03"


@contextmanager
def explained(name: str, connection: Connection, remedy: Callable[[], str]) -> Iterator[None]:
    """Turn an error of the database into one of ours, inside a transaction before its commit."""
    psycopg = need("psycopg", "postgres")
    try:
        yield
    except psycopg.Error as error:
        if is_lost(error, connection):
            raise LostError(
                f"{name} was interrupted ({words(error)}) before anything was written; nothing "
                "more was spent. Ask again"
            ) from error
        if error.sqlstate == "42501":
            raise LedgerError(f"{name} {remedy()}") from error
        cause = _CAUSES.get(error.sqlstate or "", f"cannot be used: {words(error)}")
        raise LedgerError(f"{name} {cause}") from error


def words(error: psycopg.Error) -> str:
    """Return the first line of what the server or libpq said, without what was asked of it."""
    text = error.diag.message_primary or str(error)
    return re.sub(r"\s+", " ", text.partition("\n")[0]).strip()


# The tables of a ledger in PostgreSQL: making them, and refusing what is not as it must be.
#
# A ledger is a pair of tables in the schema ``tacit``: ``clinic_event``, the chain, and
# ``clinic_head``, one row of totals.  So a database holds many ledgers, each with rights of its
# own.  A comment on the first table says what it is, and in which format; comments are public,
# follow the table, and are changed by its owner only.
#
# A role that charges needs to add events and to change the totals, and nothing more: without the
# right to change or remove an event, a forged total is found by ``verify_chain``.


_OLDEST = 13
_SCHEMA = "tacit"
_FORMAT = re.compile(r"Tacit ledger, format (\d+)")
_CREATION = 0x54414349  # "TACI", the advisory lock of those who make tables

# Keys may be of any length, which a hash index takes and a B-tree does not.
_TABLES = """
CREATE TABLE {event} (sequence BIGINT PRIMARY KEY, about TEXT, body TEXT NOT NULL,
    hash TEXT NOT NULL, token TEXT NOT NULL);
CREATE INDEX ON {event} USING hash (about);
CREATE INDEX ON {event} (sequence) WHERE about IS NULL;
CREATE TABLE {head} (one INTEGER PRIMARY KEY CHECK (one = 1), sequence BIGINT NOT NULL,
    hash TEXT NOT NULL, total TEXT NOT NULL, spent TEXT NOT NULL);
COMMENT ON TABLE {event} IS 'Tacit ledger, format {format}';
"""

_FACTS = """
SELECT current_setting('server_version_num')::int / 10000, pg_is_in_recovery(),
    current_setting('fsync') = 'on', current_user::text,
    (SELECT oid::text FROM pg_database WHERE datname = current_database()),
    e.oid::text, obj_description(e.oid, 'pg_class'),
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(e.oid, 'SELECT')
        AND has_table_privilege(h.oid, 'SELECT'),
    has_table_privilege(e.oid, 'INSERT') AND has_table_privilege(h.oid, 'UPDATE')
FROM (SELECT) AS one
LEFT JOIN pg_namespace n ON n.nspname = %s
LEFT JOIN pg_class e ON e.relnamespace = n.oid AND e.relname = %s
LEFT JOIN pg_class h ON h.relnamespace = n.oid AND h.relname = %s
"""
_SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"


@dataclass(frozen=True)
class Facts:
    """Facts about the server and the tables of a ledger."""

    system: str | None  # the number of the server's data, or None where the role may not ask for it
    version: int  # of the server, such as 15
    standby: bool  # whether it only follows another server
    synced: bool  # whether it syncs its commits to the disk at all
    role: str
    database: str  # the number of the database
    table: str | None  # the number of the table of events, or None where there is none
    comment: str | None
    reads: bool | None  # whether the role may read the tables
    writes: bool | None  # whether it may add to them

    @property
    def home(self) -> dict[str, str]:
        """Identity of the ledger, different from that of a copy."""
        home = {"database": self.database, "table": str(self.table)}
        return home if self.system is None else {"system": self.system, **home}


class LedgerTables:
    """The two tables of a ledger."""

    def __init__(self, ledger: str, name: str) -> None:
        self.event = f"{_SCHEMA}.{ledger}_event"
        self.head = f"{_SCHEMA}.{ledger}_head"
        self._names = f"{ledger}_event", f"{ledger}_head"
        self._name = name

    def look(self, connection: Connection) -> Facts:
        """Look at the server and at the tables; changes nothing."""
        psycopg = need("psycopg", "postgres")
        run(connection, f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}")
        row = connection.execute(_FACTS, (_SCHEMA, *self._names)).fetchone()
        assert row is not None
        try:
            system = connection.execute(_SYSTEM).fetchone()
        except psycopg.errors.InsufficientPrivilege:  # taken away by some who run databases
            system = None
        connection.execute("ROLLBACK")
        return Facts(system[0] if system else None, *row)

    def totals(self, wanted: Wanted) -> Statement:
        """Return the statement that reads the totals, and fetches what is wanted with them."""
        where, values = dict[int, str](), list[Any]()
        if wanted.keys:
            values.append(list(wanted.keys))
            where[_OF_KEYS] = f"about = ANY (${len(values)}::text[])"
        if wanted.after is not None:
            values.append(wanted.after)
            where[_AFTER] = f"sequence > ${len(values)}"
        if wanted.at is not None:
            values.append(wanted.at)
            this = f"sequence = ${len(values)}"
            where[_AT] = f"{this} AND NOT EXISTS (SELECT FROM {self.head} WHERE {this})"
        each = (_EVENTS.format(part=k, event=self.event, where=w) for k, w in where.items())
        head = _HEAD.format(event=self.event, head=self.head)
        return "".join((head, *each, " ORDER BY 1, 2")), values

    def begun(self, connection: Connection) -> bool:
        """Return whether there are tables with an event, or some that this role may not read."""
        # A process that was killed while it began a ledger leaves tables without an event: nothing
        # was charged there, and it can begin again.
        facts = self.look(connection)
        if facts.table is None or not facts.reads:
            return facts.table is not None
        run(connection, f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}")
        row = connection.execute(f"SELECT EXISTS (SELECT FROM {self.event})").fetchone()
        connection.execute("ROLLBACK")
        return row is None or bool(row[0])

    def make(self, connection: Connection) -> None:
        """Make the tables, unless others do so in this moment."""
        run(connection, f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {SETTINGS}")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION,))
        ask = (
            "SELECT to_regnamespace(%s) IS NULL, EXISTS (SELECT FROM pg_tables WHERE"
            " schemaname = %s AND tablename = %s)"
        )
        row = connection.execute(ask, (_SCHEMA, _SCHEMA, self._names[0])).fetchone()
        assert row is not None
        no_schema, made = row
        if no_schema:
            connection.execute(f"CREATE SCHEMA {_SCHEMA}")
        if not made:
            run(connection, _TABLES.format(event=self.event, head=self.head, format=FORMAT))
        connection.execute("COMMIT")

    def remedy(self, role: str) -> str:
        """Return what gives a role the rights to use the ledger."""
        return (
            f"is closed to the role {role!r}, which lacks a right. Its owner gives it: "
            f'GRANT USAGE ON SCHEMA {_SCHEMA} TO "{role}"; '
            f'GRANT SELECT, INSERT ON {self.event} TO "{role}"; '
            f'GRANT SELECT, UPDATE ON {self.head} TO "{role}"'
        )

    def remedy_to_make(self, role: str) -> str:
        """Return what gives a role the rights to begin the ledger."""
        return (
            f"cannot be created by the role {role!r}, which lacks a right. The owner of the "
            f"database gives it: CREATE SCHEMA IF NOT EXISTS {_SCHEMA}; "
            f'GRANT USAGE, CREATE ON SCHEMA {_SCHEMA} TO "{role}"'
        )

    def refuse_server(self, facts: Facts, *, writes: bool) -> None:
        """Raise if the server cannot enforce a budget."""
        if facts.version < _OLDEST:
            raise LedgerError(
                f"{self._name} is in PostgreSQL {facts.version}: upgrade the server to {_OLDEST} "
                "or newer, or name another one"
            )
        if not facts.synced:
            raise LedgerError(
                f"{self._name} is on a server with fsync = off, which forgets charges when its "
                "machine fails: turn fsync on, or name another server"
            )
        if facts.standby and writes:
            raise LedgerError(
                f"{self._name} is on a server that only follows another one: give the address of "
                "the primary, or all hosts and target_session_attrs=read-write"
            )

    def refuse_tables(self, facts: Facts, *, writes: bool) -> None:
        """Raise if this is not a ledger, a newer one, or one that the role may not use."""
        if facts.table is None:
            raise LedgerError(f"{self._name} does not exist: create it first, or check the address")
        match = _FORMAT.fullmatch(facts.comment or "")
        if match is None:
            raise LedgerError(
                f"{self._name} is not a ledger of Tacit: the table {self.event} has no comment "
                "that says so. Name another ledger, with ?ledger=name"
            )
        if int(match[1]) > FORMAT:
            raise LedgerError(
                f"{self._name} was written by a newer Tacit (format {match[1]}, and this one reads "
                f"{FORMAT}): upgrade Tacit"
            )
        if not facts.reads or (writes and not facts.writes):
            raise LedgerError(f"{self._name} {self.remedy(facts.role)}")


# A ledger in PostgreSQL: one budget, shared by many analysts on many hosts.
#
# - **The lock comes first.**  A write starts with ``LOCK TABLE ... IN EXCLUSIVE MODE`` on the
#   totals, before anything is read; readers go on.  ``SELECT ... FOR UPDATE`` would not do: while
#   the ledger is empty it finds no row to lock, and two could begin the same ledger.  Each
#   statement after the lock sees all that was committed before it (``READ COMMITTED``, forced,
#   since an earlier snapshot would show an earlier remainder).
# - **A commit is durable.**  ``synchronous_commit`` is raised to ``on`` in each transaction where
#   the server is set to less, and a server with ``fsync = off`` is refused.
# - **An interrupted commit is unknown, and is found out.**  When the connection is cut while
#   ``COMMIT`` is under way, no one can know whether it happened.  Every transaction writes a token
#   of its own next to its event; the store connects again, waits for the lock (which the
#   interrupted transaction holds until it is over), and looks whether the token is there.  If the
#   server does not come back in time, the error says that it is not known, and nothing is released.
# - **A home.**  The number of the server's data (``system_identifier``), of the database and of the
#   table distinguish a ledger from a dump of it that was restored elsewhere or next to it.  All
#   three stay when the server restarts, when it is moved with its data, and when a streaming
#   standby takes its position; host names, ports and the timeline are no part of it, since they
#   change then. What has the same home is a *physical* copy of the whole server: after a fail-over
#   the old primary must never run again, and a standby that was behind has forgotten the last
#   charges.
#
# What is set on a connection lasts for one transaction only, so a pooler may be in between.


# One message starts a transaction and brings the totals, and what is going to be read: each more
# costs a way to the server and back, while everybody else waits for the lock.
_HEAD = """
SELECT 0, h.sequence, h.hash, h.total, h.spent, '{event}'::regclass::oid::text
    FROM (SELECT) AS one LEFT JOIN {head} h ON true
"""
_OF_KEYS, _AFTER, _AT = 1, 2, 3  # the number of the totals is 0
_EVENTS = " UNION ALL SELECT {part}, sequence, about, body, hash, NULL FROM {event} WHERE {where}"
_WRITE = f"""
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {SETTINGS}
SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') <> 'remote_apply';
LOCK TABLE {{head}} IN EXCLUSIVE MODE;
"""
_LOOK = SETTINGS  # a message is a transaction by itself
_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}"
# A commit may wait for a standby, and must not be given up when it has already happened here.
_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"

_LINK = """
WITH linked AS (INSERT INTO {event} (sequence, about, body, hash, token)
    VALUES {rows} RETURNING sequence)
"""
_FIRST = (
    "INSERT INTO {head} (one, sequence, hash, total, spent)"
    " SELECT 1, linked.sequence, %s, %s, %s FROM linked"
)
_NEXT = (
    "UPDATE {head} h SET sequence = many.latest, hash = %s, total = %s, spent = %s"
    " FROM (SELECT min(sequence) AS earliest, max(sequence) AS latest FROM linked) many"
    " WHERE h.sequence = many.earliest - 1"
)

_CLOSED = "is closed to this role: look at its rights in the database"

# A connection must not be used, nor even closed, in a process forked from the one that made it.
_inherited: list[Connection] = []


class PostgresStore:
    """The events of one ledger in a database."""

    # writes: refuse a role that may not write; without it, one that may read is enough.

    def __init__(self, address: str, *, create: bool, writes: bool = True) -> None:
        self._address = Address.parse(address)
        self._tables = LedgerTables(self._address.ledger, self.name)
        self._writes = writes
        self._locks: dict[int, threading.Lock] = {}
        self._closed = False
        self._home: dict[str, str] | None = None
        self._open(create)

    @staticmethod
    def exists(address: str) -> bool:
        """Return whether there is such a ledger: not one whose beginning was cut short."""
        parsed = Address.parse(address)
        name = f"the ledger {parsed.shown!r}"
        with connect(parsed, name) as connection, explained(name, connection, lambda: _CLOSED):
            return LedgerTables(parsed.ledger, name).begun(connection)

    @property
    def name(self) -> str:
        """Name of the ledger in messages, without its password."""
        return f"the ledger {self._address.shown!r}"

    def home(self) -> dict[str, str]:
        """Return the numbers of the server's data, of the database and of the table."""
        return dict(self._home or {})

    def __repr__(self) -> str:
        return f"<PostgresStore of {self.name}>"

    @contextmanager
    def write(self, wanted: Wanted | None = None) -> Iterator[_PostgresTransaction]:
        """Hold the lock of the ledger; see :meth:`Store.write`."""
        with self._turn():
            self._tables.refuse_server(self._found, writes=True)
            table, row, fetched = self._begin(_WRITE, wanted)
            transaction = _PostgresTransaction(self._connection, self._tables, row, fetched)
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
    def read(self, wanted: Wanted | None = None) -> Iterator[_PostgresTransaction]:
        """See one state of the ledger; see :meth:`Store.read`."""
        begin, kind = (_READ, _PostgresTransaction) if wanted is None else (_LOOK, _PostgresLook)
        with self._turn():
            _, row, fetched = self._begin(begin, wanted)
            try:
                with self._explained():
                    yield kind(self._connection, self._tables, row, fetched)
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
                prepare_where_direct(self._connection)
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
        facts = self._tables.look(self._connection)
        self._tables.refuse_server(facts, writes=self._writes)
        if facts.table is None and create:
            self._remedy = self._tables.remedy_to_make(facts.role)
            self._tables.make(self._connection)
            facts = self._tables.look(self._connection)
        self._remedy = self._tables.remedy(facts.role)
        self._tables.refuse_tables(facts, writes=self._writes)
        self._found = facts
        return facts.home

    # --- a transaction -------------------------------------------------------------------------

    def _begin(self, statements: str, wanted: Wanted | None = None) -> _Begun:
        """Begin a transaction, on a new connection where the old one was cut in the meantime."""
        if self._closed:
            raise LedgerError(f"{self.name} is closed: open it again")
        if os.getpid() != self._process:
            _inherited.append(self._connection)
            self._open()
        try:
            return self._run(statements, wanted or Wanted())
        except LostError:
            self._finalizer()
        self._open()
        return self._run(statements, wanted or Wanted())

    def _run(self, statements: str, wanted: Wanted) -> _Begun:
        first = statements.format(head=self._tables.head).strip().rstrip(";").split(";")
        try:
            with self._explained():
                message = [*((text, ()) for text in first), self._tables.totals(wanted)]
                (_, *totals, table), *rows = run_all(self._connection, message)[-1].rows
        except BaseException:
            self._undo()
            raise
        return _Begun(table, totals, _Fetched(wanted, rows))

    def _undo(self) -> None:
        """End a transaction without keeping anything; close a connection that cannot do so."""
        psycopg = need("psycopg", "postgres")
        states = psycopg.pq.TransactionStatus
        with suppress(psycopg.Error):
            if self._connection.info.transaction_status in (states.INTRANS, states.INERROR):
                self._connection.execute("ROLLBACK")
        if self._connection.info.transaction_status != states.IDLE:
            self._finalizer()

    def _commit(self, transaction: _PostgresTransaction) -> None:
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
        """Return if an interrupted commit happened after all."""
        end = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                # With the lock, which the interrupted transaction may still hold.
                _, row, fetched = self._begin(_WRITE)
                transaction = _PostgresTransaction(self._connection, self._tables, row, fetched)
                with self._explained():
                    happened = transaction.wrote(sequence, token)
                break
            except LedgerError:
                if time.monotonic() >= end:
                    raise LostError(
                        f"{self.name} was interrupted ({cause}) while a charge or an answer was "
                        f"being written, and did not come back within {BUSY_TIMEOUT:.0f} s to say "
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


class _Fetched(NamedTuple):
    """Events that came with the totals."""

    wanted: Wanted
    rows: list[tuple[Any, ...]]  # of each the number of what was wanted, and the event

    def about(self, key: str | None) -> list[Event] | None:
        """Return the events of a key; None where they were not fetched."""
        if key is None or key not in self.wanted.keys:
            return None
        return [event for event in self._of(_OF_KEYS) if event.key == key]

    def after(self, sequence: int) -> list[Event] | None:
        if self.wanted.after is None or sequence < self.wanted.after:
            return None
        return [event for event in self._of(_AFTER) if event.sequence > sequence]

    def at(self, sequence: int) -> Event | None:
        return next((event for event in self._of(_AT) if event.sequence == sequence), None)

    def _of(self, part: int) -> Iterator[Event]:
        return (read_event(event) for number, *event, _ in self.rows if number == part)


class _Begun(NamedTuple):
    """What is known of a ledger as a transaction starts."""

    table: str  # the number of its table
    totals: list[Any]
    fetched: _Fetched


class _PostgresTransaction:
    """The queries, inside one transaction of a connection; see :class:`Transaction`."""

    def __init__(
        self, connection: Connection, tables: LedgerTables, row: list[Any], fetched: _Fetched
    ) -> None:
        self._connection = connection
        self._tables = tables
        self._row = row  # the totals, as they are read when the transaction starts
        self._fetched = fetched
        self.token = secrets.token_hex(16)
        self.sequence: int | None = None

    def head(self) -> Head | None:
        return None if self._row[0] is None else read_head(self._row)

    def append(self, *events: Event, head: Head) -> None:
        self.sequence = head.sequence
        statement = _LINK + (_FIRST if head.sequence == 1 else _NEXT)
        values: list[Any] = []
        for event in events:
            values += [event.sequence, event.key, event.text, event.hash, self.token]
        _, digest, *budgets = stored_head(head)
        rows = ", ".join(["(%s, %s, %s, %s, %s)"] * len(events))
        statement = statement.format(event=self._tables.event, head=self._tables.head, rows=rows)
        done = self._connection.execute(statement, (*values, digest, *budgets))
        if done.rowcount != 1:
            raise LedgerError(
                "the totals of the ledger do not match its chain of events: it was changed. "
                "Nothing more was spent"
            )
        self._row = [head.sequence, digest, *budgets]
        self._fetched = _Fetched(Wanted(), [])  # there is one more now

    def clear(self) -> None:
        run(self._connection, f"DELETE FROM {self._tables.event}; DELETE FROM {self._tables.head}")
        self._row, self._fetched = [None, None, None, None], _Fetched(Wanted(), [])

    def about(self, key: str | None) -> list[Event]:
        if key is None:
            return list(self._select("WHERE about IS NULL"))
        fetched = self._fetched.about(key)
        return list(self._select("WHERE about = %s", key)) if fetched is None else fetched

    def at(self, sequence: int) -> Event | None:
        fetched = self._fetched.at(sequence)
        return fetched or next(self._select("WHERE sequence = %s", sequence), None)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Go through all events in order, a thousand at a time."""
        fetched = self._fetched.after(after)
        if fetched is not None:
            yield from fetched
            return
        last = after
        while True:
            rows = list(self._select("WHERE sequence > %s", last, limit=" LIMIT 1000"))
            if not rows:
                return
            yield from rows
            last = rows[-1].sequence

    def wrote(self, sequence: int, token: str) -> bool:
        """Return whether an earlier transaction, with this token, was committed."""
        ask = f"SELECT FROM {self._tables.event} WHERE sequence = %s AND token = %s"
        return self._connection.execute(ask, (sequence, token)).fetchone() is not None

    def _select(self, where: str, *values: object, limit: str = "") -> Iterator[Event]:
        ask = f"SELECT sequence, about, body, hash FROM {self._tables.event} {where}"
        rows = self._connection.execute(f"{ask} ORDER BY sequence{limit}", values)
        return map(read_event, rows)


class _PostgresLook(_PostgresTransaction):
    """The queries after a transaction that is over: of the state that it saw."""

    # An event is never changed, so that state is all events up to the last one of it.

    def _select(self, where: str, *values: object, limit: str = "") -> Iterator[Event]:
        ask = f"SELECT sequence, about, body, hash FROM {self._tables.event} {where}"
        run(self._connection, f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {SETTINGS}")
        rows = self._connection.execute(
            f"{ask} AND sequence <= %s ORDER BY sequence{limit}", (*values, self._row[0] or 0)
        ).fetchall()
        run(self._connection, "ROLLBACK")
        return map(read_event, rows)


def _close(connection: Connection, process: int) -> None:
    if os.getpid() == process:
        connection.close()
