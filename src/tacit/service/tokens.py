"""Tokens: made, stored as digests, checked and withdrawn."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from binascii import Error as NoBase64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import sqlalchemy as sa

from tacit.service.access import Caller, Grant, plain_name
from tacit.service.database import Database, Prepared, metadata
from tacit.service.problem import Problem

# Stored tokens, without their text, and the people who can be behind one.


OPERATOR = "operator"  # maker of the tokens that no curator made
LOGIN_NAMES = "login:"  # prefix of the names of accounts of the organisation's own login

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
    """A token as stored: everything but its text."""

    caller: Caller
    kind: str
    parent: str | None
    created: float
    ended: float | None  # when it became void, in seconds since 1970, or None
    why: str | None  # ``expired``, ``revoked`` or ``used``


class Note(Protocol):
    """Records a change of a token, in the transaction that makes it."""

    def __call__(
        self, run: sa.Connection, action: str, who: str, token: Caller, details: Mapping[str, Any]
    ) -> None:
        """Record who did what (``token_made``) to which token."""


def silent(
    run: sa.Connection, action: str, who: str, token: Caller, details: Mapping[str, Any]
) -> None:
    """Record nothing."""


def behind(database: Database, identifier: str, name: str) -> frozenset[str]:
    """Return who can have used a token: its owner, its maker, the maker's maker, and so on."""
    # The operator and the organisation's login, who make tokens for everybody, are left out.
    names = {name}
    issuer = token_table.c.issued_by
    with database.read() as run:
        left = list(run.execute(sa.select(issuer).where(token_table.c.id == identifier)).scalars())
        while left:
            maker = left.pop()
            if maker not in (OPERATOR, LOGIN_NAMES, *names):
                names.add(maker)
                query = sa.select(issuer).where(token_table.c.name == maker).distinct()
                left += run.execute(query).scalars()
    return frozenset(names)


def root(database: Database, identifier: str) -> str:
    """Return the token that one was narrowed from, in the end: itself where it was not."""
    # What a token may do this many times, all that were narrowed from it may do together.
    own = (token_table.c.id, token_table.c.parent)
    family = sa.select(*own).where(token_table.c.id == identifier).cte(recursive=True)
    family = family.union(sa.select(*own).join(family, family.c.parent == token_table.c.id))
    first: str | None = database.scalar(sa.select(family.c.id).where(family.c.parent.is_(None)))
    return first or identifier


# Tokens: signed, stored as a hash, and void once expired, revoked or their parent is.
#
# A token is ``tacit_`` and 72 bytes in the letters of a URL: an identifier (16), a secret (24), and
# a signature over both (32) under the key of the service.  A guess fails at the signature, before
# anything is looked up; of a token the database has the identifier and a SHA-256 of the whole, so
# that who reads the database can present none, and who writes to it can sign none.
#
# *Clock.*  A token is void from its expiry on.  The first process that sees the expiry pass writes
# it down, and it stays void, whatever a clock says later.


# Of a program, of a sign-in to the pages, and of a link that opens the pages once.
BEARER, SESSION, ONCE = "bearer", "session", "once"
_TAKEN = (OPERATOR, "service")
MAX_SECONDS = 366 * 24 * 3600  # the longest life of a token
_PREFIX = "tacit_"
_ID, _SECRET, _SIGNATURE = 16, 24, 32
_SWEEP = 10.0  # seconds between two looks for tokens that expired


class Tokens:
    # key: signs them; at least 32 bytes, stored in the folder and not in the database.

    def __init__(
        self,
        database: Database,
        key: bytes,
        clock: Callable[[], float] = time.time,
        note: Note = silent,
    ) -> None:
        self._database = database
        self._key = key
        self._clock = clock
        self._note = note
        self._swept = -_SWEEP

    def create(
        self,
        name: str,
        grants: Iterable[Grant],
        seconds: float,
        *,
        team: str | None = None,
        issued_by: str = OPERATOR,
        kind: str = BEARER,
    ) -> tuple[str, Caller]:
        """Make a token.  Its text is returned here, and never again."""
        plain_name(name, "the name of a token")
        if team is not None:
            plain_name(team, "the team of a token")
        if name.startswith(LOGIN_NAMES) and issued_by != LOGIN_NAMES:
            raise Problem(
                "invalid_request",
                f"names that begin with {LOGIN_NAMES} are those of the organisation's own login",
                "choose another name",
            )
        if name in _TAKEN:
            raise Problem(
                "invalid_request",
                f"{name!r} is what the audit log calls the {name} of the service",
                "choose another name",
            )
        given = tuple(sorted(set(grants)))
        if not given:
            raise Problem("invalid_request", "a token without a grant allows nothing: name a role")
        expires = self._clock() + _life(seconds)
        with self._database.begin(lock="tokens") as run:
            new = Caller(name, team, given, "", expires, issued_by)
            made = self._store(run, new, kind, parent=None)
            self._note_made(run, "token_made", issued_by, made[1], kind, "login")
            return made

    def narrow(
        self, parent: Caller, grants: Iterable[Grant] | None, seconds: float, kind: str = BEARER
    ) -> tuple[str, Caller]:
        """Make a token from another that allows no more, lives no longer, and has the same name."""
        given = parent.grants if grants is None else tuple(sorted(set(grants)))
        if not given or not parent.covers(given):
            raise Problem(
                "forbidden",
                "a narrowed token allows something that yours does not",
                "leave out what you do not have; GET /v1/me lists what you have",
            )
        expires = min(parent.expires, self._clock() + _life(seconds))
        with self._database.begin(lock="tokens") as run:
            self._alive(self._find(run, parent.token_id))
            narrowed = Caller(parent.name, parent.team, given, "", expires, parent.issued_by)
            made = self._store(run, narrowed, kind, parent=parent.token_id)
            self._note_made(run, "token_narrowed", parent.name, made[1], kind, "token")
            return made

    def check(self, text: str, kind: str = BEARER) -> Caller:
        identifier = self.signed(text)
        if identifier is None:
            raise _unknown()
        self._sweep()
        row = self._read(identifier)
        if row is not None and self._clock() >= row["expires"]:
            self._write_expired()
        return self._checked(row, text, kind).caller

    def use_once(self, text: str, seconds: float) -> tuple[str, Caller]:
        """Make the token of a sign-in from that of a link, which becomes void."""
        identifier = self.signed(text)
        if identifier is None:
            raise _unknown()
        with self._database.begin(lock="tokens") as run:
            link = self._checked(self._find(run, identifier), text, ONCE).caller
            used = {"ended": self._clock(), "ended_why": "used"}
            run.execute(token_table.update().where(token_table.c.id == identifier).values(used))
            expires = self._clock() + _life(seconds)
            caller = Caller(link.name, link.team, link.grants, "", expires, link.issued_by)
            made = self._store(run, caller, SESSION, parent=identifier)
            self._note_made(run, "token_narrowed", link.name, made[1], SESSION, "link")
            return made

    def revoke(self, identifier: str, by: str = OPERATOR) -> int:
        """Make a token void, and all that were narrowed from it; return how many that were."""
        with self._database.begin(lock="tokens") as run:
            family = (
                sa.select(token_table.c.id)
                .where(token_table.c.id == identifier)
                .cte(recursive=True)
            )
            children = sa.select(token_table.c.id).join(family, token_table.c.parent == family.c.id)
            family = family.union(children)
            alive = sa.select(token_table.c.id).where(
                token_table.c.id.in_(sa.select(family.c.id)), token_table.c.ended.is_(None)
            )
            alive_ids = list(run.execute(alive).scalars())
            ended = {"ended": self._clock(), "ended_why": "revoked"}
            run.execute(token_table.update().where(token_table.c.id.in_(alive_ids)).values(ended))
            row = self._find(run, identifier)
            if row is not None and alive_ids:
                signed = _stored(row)
                action = "sign_out" if signed.kind == SESSION else "token_revoked"
                also = {} if signed.kind == SESSION else {"also": len(alive_ids) - 1}
                self._note(run, action, by, signed.caller, also)
        return len(alive_ids)

    def still(self, caller: Caller) -> None:
        """Raise if the token of a caller became void since it was checked."""
        row = self._read(caller.token_id)
        if row is None and caller.issued_by == LOGIN_NAMES and self._clock() < caller.expires:
            return  # a token of the organisation's login, which made it
        self._alive(row)

    def get(self, identifier: str) -> Stored | None:
        row = self._read(identifier)
        return None if row is None else _stored(row)

    def latest(self) -> float:
        """Return when the newest token was made; 0 if there is none."""
        return float(self._database.scalar(sa.select(sa.func.max(token_table.c.created))) or 0)

    def listed(self, after: str = "", limit: int = 1000) -> list[Stored]:
        """Return the stored tokens, in the order of their public names."""
        query = (
            sa.select(token_table)
            .where(token_table.c.id > after)
            .order_by(token_table.c.id)
            .limit(limit)
        )
        with self._database.read() as run:
            return [_stored(row) for row in run.execute(query).mappings()]

    def _note_made(
        self, run: sa.Connection, action: str, who: str, made: Caller, kind: str, way: str
    ) -> None:
        """Record a new token: that of a sign-in by its way, any other by its grants."""
        details: dict[str, Any] = {"expires": int(made.expires)}
        if kind == SESSION:
            self._note(run, "sign_in", made.name, made, {**details, "way": way})
            return
        details |= {
            "for": made.name,
            "role": [grant.role for grant in made.grants],
            "dataset": [grant.dataset for grant in made.grants],
        }
        if action == "token_made" and made.team is not None:
            details["team"] = made.team
        self._note(run, action, who, made, details)

    def _store(
        self, run: sa.Connection, caller: Caller, kind: str, parent: str | None
    ) -> tuple[str, Caller]:
        body = secrets.token_bytes(_ID + _SECRET)
        text = _PREFIX + base64url(body + self._signature(body))
        made = replace(caller, token_id=body[:_ID].hex())
        run.execute(
            token_table.insert().values(
                id=made.token_id,
                hash=_hash(text),
                kind=kind,
                name=made.name,
                team=made.team,
                grants=json.dumps([grant.to_fields() for grant in made.grants]),
                parent=parent,
                issued_by=made.issued_by,
                created=self._clock(),
                expires=made.expires,
            )
        )
        return text, made

    def signed(self, text: str) -> str | None:
        """Return the identifier in a token that this service signed, or None."""
        data = _bytes(text)
        if data is None or len(data) != _ID + _SECRET + _SIGNATURE:
            return None
        body, signature = data[:-_SIGNATURE], data[-_SIGNATURE:]
        good = hmac.compare_digest(self._signature(body), signature)
        return body[:_ID].hex() if good else None

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, b"tacit token 1\0" + body, "sha256")

    def _find(self, run: sa.Connection, identifier: str) -> Mapping[str, Any] | None:
        return next(iter(TOKEN.mappings(run, identifier=identifier)), None)

    def _read(self, identifier: str) -> Mapping[str, Any] | None:
        return next(iter(self._database.mappings(TOKEN, identifier=identifier)), None)

    def _checked(self, row: Mapping[str, Any] | None, text: str, kind: str) -> Stored:
        if row is None or not hmac.compare_digest(row["hash"], _hash(text)):
            raise _unknown()
        return self._alive(row, kind)

    def _alive(self, row: Mapping[str, Any] | None, kind: str | None = None) -> Stored:
        stored = None if row is None else _stored(row)
        if stored is None or (kind is not None and stored.kind != kind):
            raise _unknown()
        if stored.ended is not None or self._clock() >= stored.caller.expires:
            why = stored.why or "expired"
            if kind == ONCE:
                opened = "was opened before" if why == "used" else f"is void: {why}"
                raise Problem("unauthenticated", f"this link {opened}", "ask for a new one")
            raise Problem("unauthenticated", f"the token is void: {why}", "ask for a new one")
        return stored

    def _sweep(self) -> None:
        """Mark expired tokens, at most once per interval."""
        now = self._clock()
        if abs(now - self._swept) < _SWEEP:
            return
        self._swept = now
        if self._database.scalar(sa.select(token_table.c.id).where(*_past(now)).limit(1)):
            self._write_expired()

    def _write_expired(self) -> None:
        """Mark expired tokens: they stay expired if the clock is set back."""
        ended = {"ended": token_table.c.expires, "ended_why": "expired"}
        with self._database.begin(lock="tokens") as run:
            run.execute(token_table.update().where(*_past(self._clock())).values(ended))


TOKEN = Prepared(sa.select(token_table).where(token_table.c.id == sa.bindparam("identifier")))


def _past(now: float) -> tuple[sa.ColumnElement[bool], ...]:
    return token_table.c.expires <= now, token_table.c.ended.is_(None)


def _stored(row: Mapping[str, Any] | sa.RowMapping) -> Stored:
    grants = tuple(Grant.from_fields(fields) for fields in json.loads(row["grants"]))
    caller = Caller(row["name"], row["team"], grants, row["id"], row["expires"], row["issued_by"])
    return Stored(
        caller, row["kind"], row["parent"], row["created"], row["ended"], row["ended_why"]
    )


def _unknown() -> Problem:
    """Return the one answer to whatever is no token of ours."""
    return Problem(
        "unauthenticated",
        "the token is not one of this service",
        "send one that it made: Authorization: Bearer tacit_...",
    )


def _life(seconds: float) -> float:
    if not 0 < seconds <= MAX_SECONDS:
        raise Problem("invalid_request", "a token must live for more than 0 and at most 366 days")
    return seconds


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def base64url(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes | None:
    """Return the bytes of a token, or None; each token has one way to be written."""
    if not text.startswith(_PREFIX) or len(text) > 200:
        return None
    try:
        data = base64.b64decode(text[len(_PREFIX) :], altchars=b"-_", validate=True)
    except (NoBase64, ValueError):
        return None
    return data if base64url(data) == text[len(_PREFIX) :] else None
