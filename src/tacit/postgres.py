"""Connections to PostgreSQL, and what may be told of their errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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


def is_cut(state: str | None, connection: Connection) -> bool:
    """Return whether an error with this SQLSTATE means that the connection is gone."""
    return connection.closed or (state or "").startswith(("08", "57P"))
