"""What is stored of tokens: all but the tokens, and who can be behind one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

from tacit.service.access.caller import Caller
from tacit.service.store.database import Database, metadata

__all__ = ["LOGIN_NAMES", "OPERATOR", "Note", "Stored", "behind", "root", "silent", "token_table"]

OPERATOR = "operator"
"""Who makes the tokens that no curator made."""
LOGIN_NAMES = "login:"
"""What the names of accounts of the organisation's own login begin with."""

token_table = sa.Table(
    "token",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("team", sa.String(100)),
    sa.Column("grants", sa.Text, nullable=False),
    sa.Column("parent", sa.String(32), index=True),
    sa.Column("issued_by", sa.String(100), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("expires", sa.Float, nullable=False, index=True),
    sa.Column("ended", sa.Float),
    sa.Column("ended_why", sa.String(20)),
)


@dataclass(frozen=True)
class Stored:
    """What is stored of a token: all but the token.

    Attributes:
        ended: since when it is void, in seconds since 1970; None where it is not.
        why: ``expired``, ``revoked`` or ``used``.
    """

    caller: Caller
    kind: str
    parent: str | None
    created: float
    ended: float | None
    why: str | None


class Note(Protocol):
    """Writes down what happens to a token, in the transaction in which it happens."""

    def __call__(
        self, run: sa.Connection, action: str, who: str, token: Caller, details: Mapping[str, Any]
    ) -> None:
        """Write down who did what (``token_made``) to which token."""


def silent(
    run: sa.Connection, action: str, who: str, token: Caller, details: Mapping[str, Any]
) -> None:
    """Write nothing down."""


def behind(database: Database, identifier: str, name: str) -> frozenset[str]:
    """Return who can have used a token: whose it is, who made it, who made theirs, and so on.

    The operator and the organisation's login, who make tokens for everybody, are left out.

    Args:
        database: of the service.
        identifier: the public name of the token.
        name: whose it is.
    """
    names = {name}
    issuer = token_table.c.issued_by
    with database.read() as run:
        left = list(run.execute(sa.select(issuer).where(token_table.c.id == identifier)).scalars())
        while left:
            maker = left.pop()
            if maker not in (OPERATOR, LOGIN_NAMES, *names):
                names.add(maker)
                asked = sa.select(issuer).where(token_table.c.name == maker).distinct()
                left += run.execute(asked).scalars()
    return frozenset(names)


def root(database: Database, identifier: str) -> str:
    """Return the token that one was narrowed from, in the end: itself where it was not.

    What a token may do so many times, all that were narrowed from it may do together.

    Args:
        database: of the service.
        identifier: the public name of the token.
    """
    own = (token_table.c.id, token_table.c.parent)
    family = sa.select(*own).where(token_table.c.id == identifier).cte(recursive=True)
    family = family.union(sa.select(*own).join(family, family.c.parent == token_table.c.id))
    with database.read() as run:
        asked = sa.select(family.c.id).where(family.c.parent.is_(None))
        return run.execute(asked).scalar() or identifier
