"""Requests that another person approves before they start: of dashboards, of schedules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from tacit.accounting.budget import Budget
from tacit.errors import TacitError
from tacit.service.access import (
    Caller,
    Decisions,
    UserRequest,
    decide,
    request_columns,
    request_values,
    requester_of,
)
from tacit.service.audit_log import About, AuditLog
from tacit.service.database import Database, metadata
from tacit.service.jobs.webhook import EVENTS, Webhook
from tacit.service.problem import Problem

# Nothing is charged before the approval.  What is approved is what starts: a request has all of it
# with its price, and its number is the digest of both, which what starts has afterwards.


WAITING, REFUSED, APPROVED = "waiting", "refused", "approved"
_T = TypeVar("_T")


def request_table(name: str, content: str) -> sa.Table:
    """Return the table of the requests of a kind."""
    # content: the column that holds what is requested, as JSON.
    return sa.Table(
        name,
        metadata,
        sa.Column("id", sa.String(24), primary_key=True),
        sa.Column("dataset", sa.String(200), nullable=False, index=True),
        sa.Column(content, sa.Text, key="content", nullable=False),
        *request_columns("who"),
        sa.Column("state", sa.String(10), nullable=False, index=True),
        sa.Column("reason", sa.Text),
        sa.Column("decided_by", sa.String(100)),
        sa.Column("decided", sa.Float),
    )


@dataclass(frozen=True)
class ApprovalRequest(UserRequest, Generic[_T]):
    """A request for something that waits, was refused, or was approved."""

    # Its id is that of what starts with the approval.
    content: _T  # what is requested, and its price
    state: str  # ``waiting``, ``refused`` or ``approved``
    reason: str | None  # why it was refused
    decided_by: str | None
    decided: float | None  # in seconds since 1970


class ApprovalRequests(Generic[_T]):
    """The requests of a kind, decided once each."""

    # kind: names it in messages: ``dashboard`` or ``schedule``.
    # read: what is requested, from its JSON.
    # start: starts what is requested on account of its requester, and pays for it.

    def __init__(
        self,
        table: sa.Table,
        kind: str,
        read: Callable[[Mapping[str, Any]], _T],
        start: Callable[[str, _T, Caller], object],
        database: Database,
        audit: AuditLog,
        decisions: Decisions,
        webhook: Webhook,
        clock: Callable[[], float],
    ) -> None:
        self._table, self._kind = table, kind
        self._content, self._start = read, start
        self._database, self._audit, self._webhook = database, audit, webhook
        self.decisions, self._clock = decisions, clock
        self._lock = f"{table.name.replace('_', ' ')}s"
        self._columns = [one.label(one.key) for one in table.c]

    def add(
        self, identity: str, dataset: str, content: Mapping[str, Any], caller: Caller, cost: Budget
    ) -> ApprovalRequest[_T]:
        """Request something; what was refused waits again."""
        row = {
            "id": identity,
            "dataset": dataset,
            "content": json.dumps(content),
            **request_values(caller, self._clock()),
            "state": WAITING,
            "reason": None,
        }
        table = self._table
        with self._database.begin(lock=self._lock) as run:
            existing = run.execute(self._one(identity)).first()
            if existing is None or existing.state == REFUSED:
                run.execute(table.delete().where(table.c.id == identity))
                run.execute(table.insert().values(**row))
                made = self._read(run.execute(self._one(identity)).mappings().one())
                self._acted("release_asked", caller, made, {"cost": cost.to_json()}, run)
        request = self.find(identity)
        assert request is not None
        return request

    def find(self, identity: str) -> ApprovalRequest[_T] | None:
        rows = self._database.mappings(self._one(identity))
        return self._read(rows[0]) if rows else None

    def every(self) -> list[ApprovalRequest[_T]]:
        """Return all requests, the latest first."""
        query = sa.select(*self._columns).order_by(self._table.c.asked_at.desc())
        return [self._read(row) for row in self._database.mappings(query)]

    def undecided(self) -> list[ApprovalRequest[_T]]:
        """Return the requests that wait or were refused, the latest first."""
        return [one for one in self.every() if one.state != APPROVED]

    def approve(self, request: ApprovalRequest[_T], caller: Caller) -> None:
        """Approve exactly this at this price: it is paid, and starts."""
        self._decide(request, caller, APPROVED, None)
        try:
            self._start(request.dataset, request.content, requester_of(request))
        except TacitError:
            if not self._started(request.id):
                with self._database.begin(lock=self._lock) as run:
                    undone = {"state": WAITING, "decided_by": None, "decided": None}
                    if self._set(run, request.id, APPROVED, **undone):
                        self._webhook.note(run, WAITING, request, kind=self._kind)
            raise

    def _started(self, identity: str) -> bool:
        """Return whether a part of what was approved is paid, after an error."""
        return False

    def decidable(self, identity: str, caller: Caller) -> bool:
        """Return True if a caller may decide on a request: not on one's own."""
        request = self.find(identity)
        return (
            request is not None
            and decide(caller, "approve", request.dataset).allowed
            and not self.decisions.is_own(request, caller)
        )

    def withdraw(self, request: ApprovalRequest[_T], caller: Caller) -> None:
        """Withdraw a request that waits; nothing is spent."""
        waits = sa.and_(self._table.c.id == request.id, self._table.c.state == WAITING)
        with self._database.begin(lock=self._lock) as run:
            if not run.execute(self._table.delete().where(waits)).rowcount:
                raise _decided()
            self._acted("release_cancelled", caller, request, {}, run)

    def refuse(self, request: ApprovalRequest[_T], caller: Caller, reason: str) -> None:
        """Refuse a request; nothing is spent."""
        self._decide(request, caller, REFUSED, reason)

    def _decide(
        self, request: ApprovalRequest[_T], caller: Caller, state: str, reason: str | None
    ) -> None:
        self.decisions.refuse_own(request, caller, f"for a {self._kind}")
        action = "release_approved" if state == APPROVED else "release_refused"
        values = {"decided_by": caller.name, "decided": self._clock()}
        with self._database.begin(lock=self._lock) as run:
            if not self._set(run, request.id, WAITING, state=state, reason=reason, **values):
                raise _decided()
            details = {} if reason is None else {"reason": reason}
            self._acted(action, caller, request, details, run)

    def _acted(
        self,
        action: str,
        caller: Caller,
        request: ApprovalRequest[_T],
        details: dict[str, Any],
        run: sa.Connection,
    ) -> None:
        """Write an act to the audit log and the outbox, in the transaction that does it."""
        event = EVENTS[action]
        decided_by = None if event == WAITING else caller.name
        self._webhook.note(run, event, request, decided_by, self._kind)
        about: About = {
            "dataset": request.dataset,
            "subject": request.id,
            "details": details,
            "connection": run,
        }
        self._audit.acted(action, caller, **about)

    def _one(self, identity: str) -> sa.Select[*tuple[Any, ...]]:
        return sa.select(*self._columns).where(self._table.c.id == identity)

    def _set(self, run: sa.Connection, identity: str, current: str, **values: Any) -> bool:
        where = sa.and_(self._table.c.id == identity, self._table.c.state == current)
        return bool(run.execute(self._table.update().where(where).values(**values)).rowcount)

    def _read(self, row: Mapping[str, Any] | sa.RowMapping) -> ApprovalRequest[_T]:
        fields: dict[str, Any] = {**row}
        content = self._content(json.loads(fields.pop("content")))
        return ApprovalRequest(content=content, **fields)


def _decided() -> Problem:
    return Problem("conflict", "it is decided already")
