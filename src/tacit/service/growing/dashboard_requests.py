"""Dashboards that somebody else approves before they begin; nothing is charged before.

What is approved is what begins: a request holds the whole count with its price, and its number is
the digest of both, which the dashboard has afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacit.errors import BudgetError, TacitError
from tacit.service.access.caller import Caller
from tacit.service.access.decisions import Decisions, asked_by, asked_columns, asker_of
from tacit.service.growing.dashboard import Counted
from tacit.service.growing.dashboards import Dashboards
from tacit.service.problem import Problem
from tacit.service.seeing.audit_log import AuditLog
from tacit.service.store.database import Database, metadata

__all__ = ["DashboardRequest", "DashboardRequests"]

WAITING, REFUSED, APPROVED = "waiting", "refused", "approved"
_LOCK = "dashboard requests"

_requests = sa.Table(
    "dashboard_request",
    metadata,
    sa.Column("id", sa.String(24), primary_key=True),
    sa.Column("dataset", sa.String(200), nullable=False, index=True),
    sa.Column("counted", sa.Text, nullable=False),
    *asked_columns("who"),
    sa.Column("state", sa.String(10), nullable=False, index=True),
    sa.Column("reason", sa.Text),
)


@dataclass(frozen=True)
class DashboardRequest:
    """A dashboard that somebody asked for.

    Attributes:
        id: its number, and that of the dashboard once it began.
        dataset: the data set.
        counted: what it would count, and its price.
        asked_by: who asked.
        team: theirs, or None.
        token: the public name of the token that they came with.
        asked: seconds since 1970.
        state: ``waiting``, ``refused`` or ``approved``.
        reason: why it was refused.
    """

    id: str
    dataset: str
    counted: Counted
    asked_by: str
    team: str | None
    token: str
    asked: float
    state: str
    reason: str | None


class DashboardRequests:
    """The dashboards of a service that wait for a decision.

    Args:
        database: the store.
        audit: where it is told who asked and who decided.
        dashboards: where they begin.
        decisions: keeps who asked from deciding.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        dashboards: Dashboards,
        decisions: Decisions,
        clock: Callable[[], float],
    ) -> None:
        self._database, self._audit = database, audit
        self._dashboards, self._clock = dashboards, clock
        self.decisions = decisions

    def ask(self, dataset: str, counted: Counted, caller: Caller) -> DashboardRequest:
        """Ask for a dashboard; one that was refused waits anew.

        Raises:
            UsageError: what it asks does not fit the table.
            BudgetError: it costs more than remains; nothing is spent before it is approved.
        """
        expected = self._dashboards.preview(dataset, counted, caller)
        if not expected.affordable:
            raise BudgetError(
                f"the dashboard costs {expected.cost}, and {expected.remaining} is left; nothing "
                "was spent"
            )
        identity = self._dashboards.identity(dataset, counted, caller)
        row = {
            "id": identity,
            "dataset": dataset,
            "counted": json.dumps(counted.to_json(), sort_keys=True),
            **asked_by(caller, self._clock()),
            "state": WAITING,
            "reason": None,
        }
        with self._database.begin(lock=_LOCK) as run:
            standing = run.execute(_one(identity)).first()
            if standing is None or standing.state == REFUSED:
                run.execute(_requests.delete().where(_requests.c.id == identity))
                run.execute(_requests.insert().values(**row))
                self._audit.acted(
                    "release_asked",
                    caller,
                    dataset=dataset,
                    subject=identity,
                    details={"cost": expected.cost.to_json()},
                    connection=run,
                )
        found = self.find(identity)
        assert found is not None
        return found

    def find(self, identity: str) -> DashboardRequest | None:
        """Return a request by its number, or None."""
        with self._database.read() as run:
            row = run.execute(_one(identity)).first()
        return None if row is None else _read(row)

    def undecided(self) -> list[DashboardRequest]:
        """Return what waits or was refused, the latest first."""
        asked = sa.select(_requests).where(_requests.c.state != APPROVED)
        with self._database.read() as run:
            return [_read(row) for row in run.execute(asked.order_by(_requests.c.asked.desc()))]

    def approve(self, found: DashboardRequest, caller: Caller) -> None:
        """Approve exactly this count at this price: it is paid, and begins.

        Raises:
            Problem: the caller asked it themselves, or it is decided already.
            BudgetError: the budget does not cover it any more; nothing was spent.
        """
        self._decide(found, caller, APPROVED, None)
        try:
            self._dashboards.begin(found.dataset, found.counted, asker_of(found))
        except TacitError:
            with self._database.begin(lock=_LOCK) as run:
                _set(run, found.id, APPROVED, state=WAITING)
            raise

    def refuse(self, found: DashboardRequest, caller: Caller, reason: str) -> None:
        """Refuse a dashboard; nothing is spent.

        Raises:
            Problem: the caller asked it themselves, or it is decided already.
        """
        self._decide(found, caller, REFUSED, reason)

    def _decide(
        self, found: DashboardRequest, caller: Caller, state: str, reason: str | None
    ) -> None:
        self.decisions.refuse_own(found, caller, "for a dashboard")
        action = "release_approved" if state == APPROVED else "release_refused"
        with self._database.begin(lock=_LOCK) as run:
            if not _set(run, found.id, WAITING, state=state, reason=reason):
                raise Problem("conflict", "it is decided already")
            details = {} if reason is None else {"reason": reason}
            self._audit.acted(
                action,
                caller,
                dataset=found.dataset,
                subject=found.id,
                details=details,
                connection=run,
            )


def _one(identity: str) -> Any:
    return sa.select(_requests).where(_requests.c.id == identity)


def _set(run: sa.Connection, identity: str, stands: str, **values: Any) -> bool:
    where = sa.and_(_requests.c.id == identity, _requests.c.state == stands)
    return bool(run.execute(_requests.update().where(where).values(**values)).rowcount)


def _read(row: Any) -> DashboardRequest:
    counted = Counted.from_json(json.loads(row.counted))
    return DashboardRequest(
        row.id,
        row.dataset,
        counted,
        row.asked_by,
        row.team,
        row.token,
        row.asked,
        row.state,
        row.reason,
    )
