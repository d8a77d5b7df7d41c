"""The address of a ledger in PostgreSQL: ``postgresql://user@host/database?ledger=clinic``.

It is an address as libpq reads it, with one more option: ``ledger``, the name of the ledger in the
database (``main`` where none is given).  All else is passed on, TLS options such as ``sslmode``
and ``sslrootcert`` among them.

An address may hold a password, and a password must never be shown.  So an address is shown only
through :func:`shown`, and one that cannot be taken apart with certainty is refused without a word
of it being repeated: in ``postgresql://ann:pa/ss@host/db`` a part of the password stands where
the database should.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from tacit.errors import LedgerError

__all__ = ["Address", "is_address", "shown"]

_SCHEME = re.compile(r"postgres(ql)?:")
_ADDRESS = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    r"(?P<hosts>[^@/?#]*)(?:/(?P<database>[^@/?#]*))?(?:\?(?P<options>[^@?#]*))?"
)
_HOST = re.compile(r"(\[[\w:.%]+\]|[\w.%-]*)(:\d+)?", re.ASCII)
_OPTION = re.compile(r"(?P<name>\w+)=(?P<value>[^&=]*)", re.ASCII)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
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

    Raises:
        LedgerError: an address that cannot be read; it is not repeated.

    >>> shown("postgresql://ann:secret@db.example/clinic?sslmode=verify-full&ledger=visits")
    'postgresql://ann@db.example/clinic?ledger=visits'
    >>> shown("clinic.ledger")
    'clinic.ledger'
    """
    return Address.parse(path).shown if is_address(path) else os.fspath(path)


@dataclass(frozen=True)
class Address:
    """An address, taken apart.

    Attributes:
        connect: what libpq is given, secrets among it; it stands in no ``repr``.
        ledger: the name of the ledger in the database.
        shown: the address without its secrets and without options that say nothing of the place.
        secrets: every password in it, as written and as meant.
    """

    connect: str = field(repr=False)
    ledger: str
    shown: str
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def parse(cls, path: str | os.PathLike[str]) -> Address:
        """Take an address apart.

        Raises:
            LedgerError: it cannot be read with certainty, or the name of the ledger is none.

        >>> Address.parse("postgresql://ann:secret@db.example/clinic")
        Address(ledger='main', shown='postgresql://ann@db.example/clinic?ledger=main')
        """
        text = os.fspath(path)
        found = _ADDRESS.fullmatch(text)
        if found is None or _BROKEN_ESCAPE.search(text):
            raise LedgerError(f"the address of the ledger cannot be read: {_FORM}")
        hosts, pairs = found["hosts"], _options(found["options"])
        if not all(_HOST.fullmatch(host) for host in hosts.split(",")) or not text.isprintable():
            raise LedgerError(f"the address of the ledger cannot be read: {_FORM}")
        ledger = dict(pairs).get("ledger", "main")
        if not _NAME.fullmatch(ledger):
            raise LedgerError(
                "the name of a ledger in a database, ?ledger=name, starts with a to z and has "
                f"at most 40 characters of a to z, 0 to 9 and _; {ledger!r} does not"
            )
        handed_on = [f"{name}={value}" for name, value in pairs if name != "ledger"]
        told = [f"{name}={value}" for name, value in pairs if name in _SHOWN]
        user = f"{found['user']}@" if found["user"] else ""
        place = f"postgresql://{user}{hosts}/{found['database'] or ''}"
        secrets = [found["password"] or "", *(v for n, v in pairs if n.endswith("password"))]
        return cls(
            text.partition("?")[0] + ("?" + "&".join(handed_on) if handed_on else ""),
            ledger,
            f"{place}?{'&'.join([*told, f'ledger={ledger}'])}",
            tuple({form for secret in secrets if secret for form in (secret, unquote(secret))}),
        )

    def masked(self, text: str) -> str:
        """Return a text without the secrets of this address, on one line."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return "; ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _options(text: str | None) -> list[tuple[str, str]]:
    found = [_OPTION.fullmatch(pair) for pair in (text or "").split("&") if pair]
    if None in found:
        raise LedgerError(f"the address of the ledger cannot be read: {_FORM}")
    pairs = [(option["name"], option["value"]) for option in found if option is not None]
    if len(dict(pairs)) < len(pairs):
        raise LedgerError("an option of the address of the ledger is given twice")
    return pairs
