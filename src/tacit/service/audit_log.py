"""The audit log of a service."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack

import sqlalchemy as sa

from tacit.errors import UsageError, VerificationError, did_you_mean
from tacit.outside import read_json
from tacit.service.access import Caller
from tacit.service.database import Database, GroupCommit, Pending, Prepared, metadata
from tacit.service.telemetry import log
from tacit.service.tokens import Note

# The audit log: who did what and when, with which outcome, in one order that only grows.
#
# Every event carries the SHA-256 of the one before it, as the events of a ledger do.  So no event
# can be changed, dropped or put in between without changing the hash of all later ones, and
# triggers in the database refuse to change or delete a row at all.  Whoever owns the database can
# drop the triggers and write a whole new chain.  Against that the hash of an event is noted
# somewhere else (it is in the line of the structured log about the next event), and
# :meth:`AuditLog.verify` checks that the noted event is still where it was.
#
# An event has the action, the person, the token, the data set and the release or
# token. Its details come from a short list for each action (:data:`ACTIONS`), and are costs,
# budgets, reasons that a person wrote, and names: never a value of the data, an answer, a token's
# secret or an engine's message.
#
# The order is the sequence number.  The time is the clock of the machine that wrote, and nothing
# depends on it.


# Actions, and the details that each may have.
ACTIONS: Mapping[str, frozenset[str]] = {
    action: frozenset(details)
    for action, details in {
        "sign_in": ("way", "expires"),
        "sign_out": (),
        "denied": ("action", "because"),
        "token_made": ("for", "team", "role", "dataset", "expires"),
        "token_narrowed": ("for", "role", "dataset", "expires"),
        "token_revoked": ("also",),
        "previewed": ("cost",),
        "release_asked": ("cost", "code", "schedule"),
        "release_approved": (),
        "release_refused": ("reason",),
        "release_cancelled": (),
        "release_answered": ("cost", "replayed", "code"),
        "budget_raised": ("budget", "reason"),
        "caps_changed": ("caps",),
        "declaration_changed": ("digest", "changes"),
        "refreshed": ("way", "code", "number"),
        "dashboard_begun": ("cost",),
        "schedule_begun": ("cost",),
        "schedule_cancelled": (),
        "collection_begun": ("mechanism",),
        "service_started": ("version",),
        "service_stopped": (),
    }.items()
}

# ``refused``: by a rule or a person; ``failed``: by something that broke.
OUTCOMES = ("done", "refused", "failed")

_GENESIS = "0" * 64
_FORMAT = 1
_MAX_TEXT = 500
# The number of the lock under which PostgreSQL lets one process append at a time.
_LOCK = 0x7AC17A0D17

_events = sa.Table(
    "audit_event",
    metadata,
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("event", sa.Text, nullable=False),
)

_REFUSAL = "the audit log is only added to"
_TRIGGERS = {
    "sqlite": [
        f"create trigger audit_no_{verb} before {verb} on audit_event "
        f"begin select raise(abort, '{_REFUSAL}'); end"
        for verb in ("update", "delete")
    ],
    "postgresql": [
        "create or replace function audit_only_grows() returns trigger language plpgsql as "
        f"$$ begin raise exception '{_REFUSAL}'; end $$",
        "create trigger audit_only_grows before update or delete or truncate on audit_event "
        "for each statement execute function audit_only_grows()",
    ],
}


@sa.event.listens_for(_events, "after_create")
def _only_grows(_table: sa.Table, connection: sa.Connection, **_: Any) -> None:
    """Add triggers with which the database refuses to change or delete an event."""
    for statement in _TRIGGERS[connection.dialect.name]:
        connection.exec_driver_sql(statement)


@dataclass(frozen=True, slots=True)
class AuditEvent:
    sequence: int  # 1 for the first event, and one more for each after it
    when: str  # the time by the clock of the machine that wrote, ISO 8601, UTC
    who: str  # the name of the person or device, or ``operator`` or ``service``
    team: str | None  # the team of that person, or None
    token: str | None  # the public number of the token that was used, or None
    action: str  # one of :data:`ACTIONS`
    outcome: str  # one of :data:`OUTCOMES`
    dataset: str | None  # the data set or collection that it was about, or None
    subject: str | None  # the release, token, dashboard or schedule that it was about, or None
    details: dict[str, Any]  # further fields of the action
    previous: str  # the hash of the event before
    hash: str  # SHA-256 of this one as it is stored

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class About(TypedDict, total=False):
    """Context of an event, as :meth:`AuditLog.write` takes it."""

    outcome: str
    team: str | None
    token: str | None  # its public number, never its secret
    dataset: str | None
    subject: str | None
    # those that the action may carry: text, integers, lists and mappings of them; text beyond 500
    # characters is cut
    details: Mapping[str, Any] | None
    # a transaction of the store that the event becomes part of: it is then there if and only if
    # the rest is.  Others that append wait for its end, so write the event last; a thread that has
    # a transaction open must pass it here.
    connection: sa.Connection | None


class AuditLog:
    """The audit log of a service, in its store; any number of processes write to it.

    >>> import tempfile
    >>> from tacit.service.database import Database
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = Database(f"sqlite:///{folder}/service.db")
    ...     database.create()
    ...     audit = AuditLog(database)
    ...     made = audit.write("token_made", "operator", subject="t1", details={"for": "ada"})
    ...     asked = audit.write("release_asked", "ada", dataset="visits", outcome="refused")
    ...     print(audit.verify(), [event.action for event in audit.read()])
    ...     database.close()
    2 ['token_made', 'release_asked']
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, action: str, who: str, **about: Unpack[About]) -> AuditEvent:
        """Append an event, durably."""
        # who: the name of the person or device; ``operator`` at the machine itself, ``service`` for
        #   what the service does by its clock.
        (event,) = self._append([_body(action, who, about)], about.get("connection"))
        return event

    def acted(self, action: str, caller: Caller, **about: Unpack[About]) -> AuditEvent:
        """Append an act of a caller, with their name, team and token."""
        return self.write(action, caller.name, **_by(caller, about))

    def write_together(
        self, acts: Iterable[tuple[str, str, About]], connection: sa.Connection | None = None
    ) -> list[AuditEvent]:
        """Append events in one transaction, that of ``connection`` if there is one: all or none."""
        return self._append([_body(*act) for act in acts], connection)

    def _append(
        self, bodies: Iterable[dict[str, Any]], connection: sa.Connection | None = None
    ) -> list[AuditEvent]:
        with self._transaction(connection) as run:
            events = _appended(run, bodies)
        for event in events:
            # What is noted is there for certain: the event before each where their transaction is
            # over, else that before it.
            first = event if connection is None else events[0]
            before: dict[str, Any] = {"after": first.sequence - 1, "hash": first.previous}
            log("audit", action=event.action, outcome=event.outcome, **before)
        return events

    @contextmanager
    def _transaction(self, given: sa.Connection | None) -> Iterator[sa.Connection]:
        if given is None:
            with self._database.begin(lock=_LOCK) as run:
                yield run
            return
        if given.dialect.name == "postgresql":
            _LOCKED.add(given)
        yield given

    def read(
        self, after: int = 0, limit: int = 100, *, newest_first: bool = False
    ) -> list[AuditEvent]:
        # after: the sequence number after which to start (0: at the beginning; with
        #   ``newest_first`` 0 means the end, and other numbers the event before which).
        order = _events.c.sequence
        query = sa.select(_events).order_by(order.desc() if newest_first else order).limit(limit)
        if after:
            query = query.where(order < after if newest_first else order > after)
        elif not newest_first:
            query = query.where(order > 0)
        return [_parse(row.event, row.hash) for row in self._database.rows(query)]

    def length(self) -> int:
        return int(self._database.scalar(sa.select(sa.func.max(_events.c.sequence))) or 0)

    def verify(self, noted: tuple[int, str] | None = None) -> int:
        """Check every hash and every link, and return the number of events."""
        # noted: the sequence number and the hash of an event that was noted elsewhere; it must
        #   still be there.
        before, previous, after = 0, _GENESIS, 0
        noted_seen = noted is None
        query = sa.select(_events).order_by(_events.c.sequence).limit(1000)
        while rows := self._database.rows(query.where(_events.c.sequence > after)):
            for row in rows:
                read = _parse(row.event, row.hash)
                if (row.sequence, read.sequence, read.previous) != (before + 1,) * 2 + (previous,):
                    raise VerificationError(
                        f"event {before + 1} of the audit log does not follow the one before it"
                    )
                if _digest(row.event) != row.hash:
                    raise VerificationError(
                        f"event {row.sequence} of the audit log was changed after it was written"
                    )
                before, previous = row.sequence, row.hash
                noted_seen = noted_seen or (row.sequence, row.hash) == noted
            after = before
        if not noted_seen:
            raise VerificationError(
                "the noted event is no longer in the audit log: events were "
                "removed, or all of it was rewritten"
            )
        return before


def _appended(run: sa.Connection, bodies: Iterable[dict[str, Any]]) -> list[AuditEvent]:
    """Append events, in a transaction that excludes other writers."""
    last = _LAST.rows(run)
    sequence, previous = last[0] if last else (0, _GENESIS)
    events: list[AuditEvent] = []
    for body in bodies:
        sequence += 1
        body |= {"format": _FORMAT, "sequence": sequence, "previous": previous}
        body["when"] = datetime.now(UTC).isoformat(timespec="milliseconds")
        stored = _STORED.encode(body)
        previous = _digest(stored)
        _ADD.add(run, sequence=sequence, hash=previous, event=stored)
        del body["format"]
        events.append(AuditEvent(**body, hash=previous))
    return events


_LOCKED = Prepared(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
_STORED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_LAST = Prepared(
    sa.select(_events.c.sequence, _events.c.hash).order_by(_events.c.sequence.desc()).limit(1)
)
_ADD = Prepared(_events.insert(), ["sequence", "hash", "event"])


def _by(caller: Caller, about: About) -> About:
    return {**about, "team": caller.team, "token": caller.token_id}


def _body(action: str, who: str, about: About) -> dict[str, Any]:
    outcome, details = about.get("outcome", "done"), about.get("details") or {}
    if action not in ACTIONS:
        raise UsageError(f"the audit log has no action {action!r}; {did_you_mean(action, ACTIONS)}")
    if outcome not in OUTCOMES:
        raise UsageError(f"an outcome is one of {', '.join(OUTCOMES)}, not {outcome!r}")
    if unknown := sorted(set(details) - ACTIONS[action]):
        raise UsageError(f"the action {action!r} has no detail {unknown[0]!r} in the audit log")
    context = {name: about.get(name) for name in ("team", "token", "dataset", "subject")}
    plain = {"who": who, **context, "details": details}
    return {"action": action, "outcome": outcome, **_plain(plain)}


_UNPAIRED = re.compile("[\ud800-\udfff]")


def _plain(value: Any) -> Any:
    """Return JSON without floats, with text of a bounded length that any database takes."""
    kind = type(value)  # most are of these, and a look for any mapping takes ten times as long
    if kind is str and value.isascii() and len(value) <= _MAX_TEXT:
        return value
    if kind is dict:
        return {_plain(str(name)): _plain(one) for name, one in value.items()}
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(_plain(str(name))): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if not isinstance(value, str):
        raise UsageError("a detail of the audit log is text, a whole number, a list or a mapping")
    plain = _UNPAIRED.sub("\ufffd", value)
    return plain if len(plain) <= _MAX_TEXT else f"{plain[: _MAX_TEXT - 1]}\u2026"


def _digest(stored: str) -> str:
    return hashlib.sha256(stored.encode()).hexdigest()


def _parse(stored: str, digest: str) -> AuditEvent:
    try:
        fields = read_json(stored)
        if fields.pop("format") != _FORMAT:
            raise VerificationError("this audit log was written by a later version of Tacit")
        return AuditEvent(**fields, hash=digest)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise VerificationError(
            "an event of the audit log cannot be read: the store is damaged"
        ) from None


_MAX_BATCH = 100  # events in one transaction: others of the database wait for its end


class BatchWriter:
    """Writes the events of several threads to an audit log in batches."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._write: GroupCommit[tuple[str, str, About], AuditEvent] = GroupCommit(
            lambda acts: self._audit.write_together(acts), _MAX_BATCH
        )

    def acted(self, action: str, caller: Caller, **about: Unpack[About]) -> None:
        """Append an act of a caller; return once it is in the log."""
        self.begin(action, caller, **about).wait()

    def begin(
        self, action: str, caller: Caller, **about: Unpack[About]
    ) -> Pending[tuple[str, str, About], AuditEvent]:
        """Append an act of a caller; who answers for it waits until it is in the log."""
        return self._write.add((action, caller.name, _by(caller, about)))


# Changes of tokens in the audit log: made, narrowed, revoked, signed in and out.


def noted_in(audit: AuditLog) -> Note:
    """Return a function that records changes of tokens in an audit log."""
    # An event is there if and only if the token was changed: one transaction does both.

    def note(
        run: sa.Connection, action: str, who: str, token: Caller, details: Mapping[str, Any]
    ) -> None:
        own = action in ("sign_in", "sign_out")
        audit.write(
            action,
            who,
            team=token.team if own else None,
            token=token.token_id if own else None,
            subject=None if own else token.token_id,
            details=details,
            connection=run,
        )

    return note
