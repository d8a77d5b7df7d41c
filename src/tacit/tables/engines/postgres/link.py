"""How PostgreSQL is reached: over a connection of our own, or over one that a user has open."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from tacit.errors import DataSourceError, UsageError, need
from tacit.postgres.connection import Refused, connect, read_options, with_defaults
from tacit.postgres.tls_errors import tls_cause

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["GivenLink", "Link", "OwnLink", "check_server"]

_OLDEST = 12
_PATIENCE = 5.0  # seconds to wait for a server to hear of a cancellation


class Link(Protocol):
    """A way to a server."""

    renews: bool
    """Whether a connection that was cut is made anew."""

    def connection(self) -> Connection[Any]:
        """Return an open connection that is in no transaction.

        Raises:
            DataSourceError: there is none to be had.
        """

    def end(self, connection: Connection[Any]) -> None:
        """End the transaction, so that nothing of it stays."""

    def cancel(self) -> None:
        """Have the server end the query that runs over this link, from another thread."""

    def close(self) -> None:
        """Close the connection."""


class OwnLink:
    """A connection of our own, made when it is needed and again when it was cut.

    Args:
        url: of the database; what libpq knows may stand in it, TLS options and a password too.

    Raises:
        UsageError: it is no URL that libpq can read.
    """

    renews = True

    def __init__(self, url: str) -> None:
        given = read_options(url)
        if given is None:
            raise UsageError(
                "the address of the database cannot be read (it is not repeated here, since it may "
                "hold a password): write postgresql://user@host:5432/database?sslmode=verify-full, "
                "with %40 for @, %2F for / and %3A for : inside a password"
            )
        self._options = with_defaults(given)
        self._connection: Connection[Any] | None = None
        self._lock = threading.Lock()
        self._close: weakref.finalize[..., OwnLink] | None = None

    def connection(self) -> Connection[Any]:
        """Return an open connection, a new one where there is none."""
        with self._lock:
            if self._connection is None or self._connection.closed:
                made = connect(self._options)
                if isinstance(made, Refused):
                    raise DataSourceError(f"PostgreSQL cannot be reached: {_cause(made)}")
                self._connection = made
                if self._close is not None:
                    self._close.detach()
                self._close = weakref.finalize(self, _shut, self._connection)
            return self._connection

    def end(self, connection: Connection[Any]) -> None:
        """Roll back; a connection that cannot do so any more is closed."""
        if not _rolled_back(connection):
            _shut(connection)

    def cancel(self) -> None:
        """Have the server end the query that runs."""
        if self._connection is not None:
            _cancel(self._connection)

    def close(self) -> None:
        """Close the connection."""
        if self._close is not None:
            self._close()

    def __repr__(self) -> str:
        return "<a link to PostgreSQL>"  # never the options: a password may be among them


class GivenLink:
    """An open connection of the user's, which is left as it was found.

    Args:
        connection: psycopg's.
    """

    renews = False

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._busy = False

    def connection(self) -> Connection[Any]:
        """Return the connection, unless its owner is in the middle of something."""
        if self._connection.closed:
            raise DataSourceError(
                "the connection to PostgreSQL was closed; keep it open while the table is in "
                "use, or give a URL, with which Tacit reconnects when a connection is cut"
            )
        pq = need("psycopg.pq", "postgres")
        pgconn = self._connection.pgconn
        if (
            pgconn.transaction_status != pq.TransactionStatus.IDLE
            or pgconn.pipeline_status != pq.PipelineStatus.OFF
        ):
            raise DataSourceError(
                "the connection is in the middle of a transaction, which would show the table "
                "as it was when the transaction started: commit or roll back first, or give a "
                "connection of its own"
            )
        self._busy = True
        return self._connection

    def end(self, connection: Connection[Any]) -> None:
        """Roll back what was started here."""
        _rolled_back(connection)
        self._busy = False

    def cancel(self) -> None:
        """Have the server end the query that runs, if it is one of ours."""
        if self._busy:
            _cancel(self._connection)

    def close(self) -> None:
        """Leave the connection open: it is its owner's."""


def check_server(connection: Connection[Any]) -> None:
    """Refuse a server that is too old, or whose text is not Unicode.

    Raises:
        DataSourceError: one of these.
    """
    version = connection.info.server_version // 10_000
    if version < _OLDEST:
        raise DataSourceError(
            f"the server is PostgreSQL {version}, and {_OLDEST} or newer is needed: copy the table "
            "into a newer server, or read it as a Parquet or CSV file"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise DataSourceError(
            f"the database's text is in {encoding}, which may hold characters outside of "
            "Unicode: copy the table into a database made with ENCODING 'UTF8'"
        )


def _cause(refused: Refused) -> str:
    """Return why there is no connection, from words that libpq has for it."""
    told = refused.told.casefold()
    if refused.password and "failed" not in told.partition("password")[2]:
        return "it asks for a password; set PGPASSWORD, or write a line in ~/.pgpass"
    if (cause := tls_cause(told)) is not None:
        return cause
    causes = {
        "invalid connection option": "the URL has an option that libpq does not know",
        "invalid sslmode value": "sslmode has a value that libpq does not know",
        "invalid integer value": "an option of the URL must be a whole number, and is not",
        "translate host name": "its host name is not known",
        "connection refused": "nothing listens at its host and port",
        "timeout expired": "it does not answer in time (connect_timeout)",
        # before pg_hba.conf: libpq tries once more without TLS, which may not be let in at all
        "password authentication failed": "it does not know this user with this password",
        "pg_hba.conf": "its pg_hba.conf lets nobody in from here with this user and database",
        "unsupported startup parameter": (
            "a pooler in between takes no options= in the URL: leave them out, set them for the "
            "role, or name them in its ignore_startup_parameters"
        ),
        'role "': "there is no such user, or the user may not connect",
        'database "': "there is no such database, or the user may not connect to it",
        "starting up": "it is starting; ask again in a moment",
        "shutting down": "it is shutting down",
        "too many": "it takes no more connections at present",
    }
    for words, cause in causes.items():
        if words in told:
            return cause
    return "look at host, port, user and database in the URL, and whether the server runs"


def _rolled_back(connection: Connection[Any]) -> bool:
    """End the transaction; return whether the connection can be used again."""
    psycopg = need("psycopg", "postgres")
    try:
        connection.rollback()
    except psycopg.Error:
        return False
    return not connection.closed


def _cancel(connection: Connection[Any]) -> None:
    with contextlib.suppress(Exception):  # the server may be gone, and the query with it
        connection.cancel_safe(timeout=_PATIENCE)


def _shut(connection: Connection[Any]) -> None:
    with contextlib.suppress(Exception):  # at exit the connection may be gone already
        connection.close()
