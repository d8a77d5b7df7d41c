"""The tables of a ledger in PostgreSQL: making them, and refusing what is not as it must be.

A ledger is a pair of tables in the schema ``tacit``: ``clinic_event``, the chain, and
``clinic_head``, one row of totals.  So a database holds many ledgers, each with rights of its
own.  A comment on the first table says what it is, and in which format; comments are public,
follow the table, and are changed by its owner only.

A role that charges needs to add events and to change the totals, and nothing more: without the
right to change or remove an event, a forged total is found by ``verify_chain``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.accounting.ledger.hash_chain import FORMAT
from tacit.accounting.ledger.postgres.connection import SETTINGS, run
from tacit.errors import LedgerError, need

if TYPE_CHECKING:
    from tacit.postgres.connection import Connection

__all__ = ["Facts", "Tables"]

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
    """What a connection reports of the server and of the tables of a ledger.

    Attributes:
        system: the number of the server's data, or None where the role may not ask for it.
        version: of the server, such as 15.
        standby: whether it only follows another server.
        synced: whether it syncs its commits to the disk at all.
        role: who is connected.
        database: the number of the database.
        table: the number of the table of events, or None where there is none.
        comment: of that table.
        reads: whether the role may read the tables.
        writes: whether it may add to them.
    """

    system: str | None
    version: int
    standby: bool
    synced: bool
    role: str
    database: str
    table: str | None
    comment: str | None
    reads: bool | None
    writes: bool | None

    @property
    def home(self) -> dict[str, str]:
        """What distinguishes the ledger from a copy of it."""
        home = {"database": self.database, "table": str(self.table)}
        return home if self.system is None else {"system": self.system, **home}


class Tables:
    """The two tables of a ledger.

    Args:
        ledger: the name of the ledger, a plain word.
        name: what to call it in a message.
    """

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

    def begun(self, connection: Connection) -> bool:
        """Return whether there are tables with an event, or some that this role may not read.

        A process that was killed while it began a ledger leaves tables without an event: nothing
        was charged there, and it can begin anew.
        """
        found = self.look(connection)
        if found.table is None or not found.reads:
            return found.table is not None
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

    def refuse_server(self, found: Facts, *, writes: bool) -> None:
        """Refuse a server that cannot keep a budget.

        Raises:
            LedgerError: it is too old, loses what was written, or only follows another one.
        """
        if found.version < _OLDEST:
            raise LedgerError(
                f"{self._name} is in PostgreSQL {found.version}: upgrade the server to {_OLDEST} "
                "or newer, or name another one"
            )
        if not found.synced:
            raise LedgerError(
                f"{self._name} is on a server with fsync = off, which forgets charges when its "
                "machine fails: turn fsync on, or name another server"
            )
        if found.standby and writes:
            raise LedgerError(
                f"{self._name} is on a server that only follows another one: give the address of "
                "the primary, or all hosts and target_session_attrs=read-write"
            )

    def refuse_tables(self, found: Facts, *, writes: bool) -> None:
        """Refuse what is no ledger, a newer one, or one that the role may not use.

        Raises:
            LedgerError: with the remedy.
        """
        if found.table is None:
            raise LedgerError(f"{self._name} does not exist: create it first, or check the address")
        match = _FORMAT.fullmatch(found.comment or "")
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
        if not found.reads or (writes and not found.writes):
            raise LedgerError(f"{self._name} {self.remedy(found.role)}")
