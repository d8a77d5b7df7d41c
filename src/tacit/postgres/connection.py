"""A connection to PostgreSQL, made the same way for a table that is read and for a ledger.

An address may hold a password.  So nothing here raises out of psycopg while it connects, since the
frames behind such an error would hold the password; and libpq's words, which repeat what it took
for a host or a port, are returned for the caller to mask or to put in words of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.errors import need

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

__all__ = ["Refused", "connect", "is_cut", "read_options", "with_defaults"]

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
    """Why there is no connection.

    Attributes:
        told: libpq's words, which may repeat a secret: not to be shown as they are.
        password: whether the server asked for one.
    """

    told: str = field(repr=False)
    password: bool = False


def read_options(address: str) -> dict[str, Any] | None:
    """Return the options of libpq that an address holds; None where it is no address."""
    psycopg, conninfo = need("psycopg", "postgres"), need("psycopg.conninfo", "postgres")
    try:
        found: dict[str, Any] = conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return None
    return found


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
