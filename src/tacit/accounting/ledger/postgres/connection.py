"""Reaching a ledger's PostgreSQL, and its errors in plain words.

Nothing here shows a password.  libpq repeats in its errors what it took for a host or a port, so
its words are masked (how it is reached: :mod:`tacit.postgres.connection`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.postgres.address import Address
from tacit.accounting.ledger.store import LostError
from tacit.errors import LedgerError, need
from tacit.postgres import connection as postgres
from tacit.postgres.connection import Refused, is_cut, read_options, with_defaults
from tacit.postgres.tls_errors import tls_cause

if TYPE_CHECKING:
    import psycopg

    from tacit.postgres.connection import Connection

__all__ = ["PATIENCE", "SETTINGS", "connect", "explained", "is_lost", "run", "words"]

PATIENCE = 60.0
"""Seconds to wait for another writer, or for a server that went away in the middle of a commit."""

# What was sent and is acknowledged by nobody ends the connection, milliseconds.
_SILENCE = "30000"

# Only for one transaction each, so that a pooler may stand in between.  What is asked for is found
# in the catalogue of the system alone, whatever functions somebody has put into other schemas; and
# a machine that falls silent while it holds the lock loses it.
SETTINGS: str = (
    "SET LOCAL search_path = pg_catalog, pg_temp;"
    "SET LOCAL lock_timeout = '60s';"
    "SET LOCAL statement_timeout = '120s';"
    "SET LOCAL idle_in_transaction_session_timeout = '60s';"
)


def connect(address: Address, name: str) -> Connection:
    """Connect, for transactions that are started and ended by hand.

    Raises:
        LedgerError: the address holds what libpq does not know.
        LostError: the server cannot be reached, or does not let this user in.
        MissingExtraError: psycopg is not installed.
    """
    found = _attempt(address)
    if found is None:
        raise LedgerError(
            f"{name} cannot be reached: its address has an option that libpq does not know; it "
            "knows sslmode, sslrootcert, connect_timeout and others"
        )
    if not isinstance(found, Refused):
        return found
    cause = address.masked(found.told)
    if (tls := tls_cause(cause)) is not None:
        raise LostError(f"{name} cannot be reached: {tls}. Nothing more was spent")
    raise LostError(
        f"{name} cannot be reached: {cause}. Nothing more was spent. Check host, port, user, "
        "password (PGPASSWORD or the file .pgpass keep it out of the address) and at the "
        "server's pg_hba.conf, and ask again"
    )


def _attempt(address: Address) -> Connection | Refused | None:
    """Return a connection, or why there is none, or None for a wrong option.

    The options stand in this frame alone, which no error of ours has behind it.
    """
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
    "55P03": f"was held by another writer for {PATIENCE:.0f} s; nothing more was spent",
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
    """Turn an error of the database into one of ours, inside a transaction before its commit.

    Args:
        name: of the ledger.
        connection: that is used inside.
        remedy: what to say where a right is missing.

    Raises:
        LostError: the connection was cut; nothing was written.
        LedgerError: anything else.
    """
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
