"""Connections to PostgreSQL, and what may be told of their errors."""

from __future__ import annotations

import hashlib
import os
import select
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tacit.errors import need

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

# Why a connection to PostgreSQL failed over TLS, and what to do: from libpq's words, in ours.


# The first whose words are there; where libpq tried twice, with TLS and without, the first counts.
_CAUSES = {
    "certificate verify failed": (
        "its TLS certificate has expired, or is not signed by an authority in the file of "
        "sslrootcert: ask its administrator for the certificate of the authority, and do not "
        "connect without it, since it may be somebody else's server"
    ),
    "does not match host name": (
        "its TLS certificate is for another host: write the name that it is for, with hostaddr= "
        "beside it where that name leads elsewhere"
    ),
    "root certificate file": (
        "the file of sslrootcert is not there, or holds no certificate: give the path of the "
        "certificate of the authority that signed the server's"
    ),
    "requires a valid client certificate": (
        "it asks for a certificate of yours: give the files with sslcert= and sslkey="
    ),
    "certificate authentication failed": (
        "the certificate of sslcert is not for the user of the address"
    ),
    "private key": (
        "the file of sslkey is not there, does not belong to sslcert, or may be read by others "
        "(chmod 600)"
    ),
    "certificate file": "the file of sslcert is not there, or holds no certificate",
    "tlsv1 alert": (
        "it does not accept the certificate of sslcert: ask its administrator for one that its "
        "own authority has signed"
    ),
    "no encryption": "it refuses connections without TLS: write sslmode=verify-full",
    "server does not support ssl": (
        "it offers no TLS, which sslmode demands: ask its administrator to turn ssl on"
    ),
    "ssl error": "it and this computer do not agree on TLS (sslmode, ssl_min_protocol_version)",
}


def tls_cause(message: str) -> str | None:
    """Return what went wrong with TLS, or None where it was something else.

    >>> print(tls_cause("server does not support SSL, but SSL was required"))
    it offers no TLS, which sslmode demands: ask its administrator to turn ssl on
    >>> tls_cause("password authentication failed; no pg_hba.conf entry, no encryption") is None
    True
    """
    text = message.casefold()
    if "password authentication failed" in text:
        return None
    return next((cause for words, cause in _CAUSES.items() if words in text), None)


# A connection to PostgreSQL, made the same way for a table that is read and for a ledger.
#
# An address may hold a password.  So nothing here raises out of psycopg while it connects, since
# the frames behind such an error would hold the password; and libpq's words, which repeat what it
# took for a host or a port, are returned for the caller to mask or to put in words of its own.


_DEFAULTS = {
    "connect_timeout": "10",
    # a server of which nothing is heard ends the wait
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "fallback_application_name": "tacit",
}


@dataclass(frozen=True)
class Refused:
    """Why there is no connection."""

    # libpq's words, which may repeat a secret: not to be shown as they are
    message: str = field(repr=False)
    password: bool = False  # whether the server asked for one


def read_options(address: str) -> dict[str, Any] | None:
    """Return the options of libpq that an address holds; None where it is no address."""
    psycopg, conninfo = need("psycopg", "postgres"), need("psycopg.conninfo", "postgres")
    try:
        options: dict[str, Any] = conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return None
    return options


def with_defaults(given: Mapping[str, Any], **more: str) -> dict[str, Any]:
    """Add what was not given, nor set in the environment (``PGCONNECT_TIMEOUT``).

    >>> with_defaults({"keepalives_count": "9"}, tcp_user_timeout="30000")["keepalives_count"]
    '9'
    """
    wanted = {**_DEFAULTS, **more}
    known = {k: v for k, v in wanted.items() if f"PG{k.upper()}" not in os.environ}
    return {**known, **given}


def connect(options: Mapping[str, Any]) -> Connection | Refused:
    """Return a connection whose transactions start and end by hand, or why there is none."""
    psycopg = need("psycopg", "postgres")
    try:
        made: Connection = psycopg.connect(
            **{**options, "client_encoding": "utf8"}, autocommit=True, prepare_threshold=None
        )
        return made
    except psycopg.Error as error:
        pgconn = error.pgconn
        return Refused(str(error), pgconn is not None and bool(pgconn.needs_password))


def prepare_where_direct(connection: Connection) -> None:
    """Have the server prepare what :func:`run_all` sends, unless a pooler is in between."""
    # A pooler in transaction mode would run a statement that another one prepared under the name.
    # It has a number of its own for the connection, and not that of the server's process.  psycopg
    # prepares nothing itself: after a rollback it has the server forget all that is prepared.
    row = connection.execute("select pg_backend_pid()").fetchone()
    if row is not None and row[0] == connection.info.backend_pid:
        _prepared[connection] = {}


def is_cut(state: str | None, connection: Connection) -> bool:
    """Return whether an error with this SQLSTATE means that the connection is gone."""
    return connection.closed or (state or "").startswith(("08", "57P"))


# Statements that go to libpq itself, several in one message: a way to the server and back takes
# longer than most of them, and a cursor of psycopg as long again.  Values and rows are converted by
# psycopg.


Statement: TypeAlias = tuple[str, Sequence[Any]]  # with parameters $1, $2, and their values


class Done(NamedTuple):
    """What a statement did."""

    rows: list[tuple[Any, ...]]
    changed: int  # rows that it inserted, changed or returned


# By the text and the types of its values, the name of each statement that a server has prepared: of
# connections on which it may.
_Key: TypeAlias = tuple[str, tuple[int, ...]]
_prepared: weakref.WeakKeyDictionary[Connection, dict[_Key, bytes]] = weakref.WeakKeyDictionary()


def run_all(connection: Connection, statements: Iterable[Statement]) -> list[Done]:
    """Run statements in one message, one after another, up to the first that fails."""
    # Without BEGIN they are one transaction.  The server prepares them, unless a pooler may be in
    # between.  After an interrupt the connection is closed: replies may be on their way.
    libpq, expected = connection.pgconn, list[_Key | None]()
    ready = [(text, *_dumped(connection, values)) for text, values in statements]
    names = _prepared.get(connection)
    try:
        libpq.enter_pipeline_mode()
        for text, sent, types in ready:
            if names is None:
                libpq.send_query_params(text.encode(), sent, types)
            else:
                key = text, types
                if key not in names:
                    names[key] = _name(key)
                    libpq.send_prepare(names[key], text.encode(), types)
                    expected.append(key)
                libpq.send_query_prepared(names[key], sent)
            expected.append(None)
        libpq.pipeline_sync()
        results = _received(libpq)
        libpq.exit_pipeline_mode()
    except BaseException:
        connection.close()
        raise
    found, ok = list(zip(expected, results, strict=True)), _of("pq").ExecStatus.COMMAND_OK
    for what, result in found:
        if what is not None and names is not None and result.status != ok:
            del names[what]
    # An error is that of the first that fails, a preparation or not.
    return [one for what, result in found if (one := _done(connection, result)) and what is None]


def _name(key: _Key) -> bytes:
    # Of the statement itself: wherever the name is known, it is of no other one.
    return b"tacit_" + hashlib.sha256(repr(key).encode()).hexdigest()[:32].encode()


def _dumped(connection: Connection, values: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """Return values as they are sent, and their types."""
    if not values:
        return [], ()
    writer = _of("adapt").Transformer(connection)
    sent = writer.dump_sequence(values, [_of("adapt").PyFormat.TEXT] * len(values))
    return sent, writer.types


def _received(libpq: Any) -> list[Any]:
    """Return the replies to all statements of a message."""
    end = _of("pq").ExecStatus.PIPELINE_SYNC
    while libpq.flush():
        _wait(libpq.socket, True)
        libpq.consume_input()
    results: list[Any] = []
    while True:
        while libpq.is_busy():
            _wait(libpq.socket)
            libpq.consume_input()
        result = libpq.get_result()
        if result is None:  # between the replies of two statements
            if libpq.status != _of("pq").ConnStatus.OK:
                raise _of("errors").OperationalError("the connection was cut")
            continue
        if result.status == end:
            return results
        results.append(result)


def _wait(socket: int, to_write: bool = False) -> None:
    """Wait until a socket can be read, or written to."""
    if sys.platform == "win32":
        select.select([socket], [socket] if to_write else [], [])
    else:  # select takes no socket beyond a thousand open files
        poll = select.poll()
        poll.register(socket, select.POLLIN | (select.POLLOUT if to_write else 0))
        poll.poll()


def _done(connection: Connection, result: Any) -> Done:
    statuses = _of("pq").ExecStatus
    if result.status == statuses.TUPLES_OK:
        reader = _of("adapt").Transformer(connection)
        reader.set_pgresult(result)
        return Done(reader.load_rows(0, result.ntuples, tuple), result.ntuples)
    if result.status == statuses.COMMAND_OK:
        return Done([], result.command_tuples or 0)
    raise _of("errors").error_from_result(result)


@cache
def _of(module: str) -> Any:
    return need(f"psycopg.{module}", "postgres")
