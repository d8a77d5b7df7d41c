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
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("team", sa.String(100)),
    sa.Column("token", sa.String(32), nullable=False),
    sa.Column("asked", sa.Float, nullable=False),
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
        who: asked.
        team: theirs, or None.
        token: the public name of the token that they came with.
        asked: seconds since 1970.
        state: ``waiting``, ``refused`` or ``approved``.
        reason: why it was refused.
    """

    id: str
    dataset: str
    counted: Counted
    who: str
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
        behind: as :class:`tacit.service.jobs.desk.Desk` takes it.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        dashboards: Dashboards,
        behind: Callable[[str, str], frozenset[str]],
        clock: Callable[[], float],
    ) -> None:
        self._database, self._audit = database, audit
        self._dashboards, self._behind, self._clock = dashboards, behind, clock

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
            "who": caller.name,
            "team": caller.team,
            "token": caller.token_id,
            "asked": self._clock(),
            "state": WAITING,
            "reason": None,
        }
        with self._database.begin(lock=_LOCK) as run:
            standing = run.execute(_one(identity)).first()
            if standing is None or standing.state == REFUSED:
                run.execute(_requests.delete().where(_requests.c.id == identity))
                run.execute(_requests.insert().values(**row))
                cost = expected.cost.to_json()
                self._tell(run, "release_asked", caller, dataset, identity, {"cost": cost})
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

    def is_own(self, found: DashboardRequest, caller: Caller) -> bool:
        """Return whether one person can be behind a request and whoever would decide on it."""
        asked = self._behind(found.token, found.who)
        return not asked.isdisjoint(self._behind(caller.token_id, caller.name))

    def approve(self, found: DashboardRequest, caller: Caller) -> None:
        """Approve exactly this count at this price: it is paid, and begins.

        Raises:
            Problem: the caller asked it themselves, or it is decided already.
            BudgetError: the budget does not cover it any more; nothing was spent.
        """
        self._decide(found, caller, APPROVED, None)
        try:
            who = Caller(found.who, found.team, (), found.token, 0.0)
            self._dashboards.begin(found.dataset, found.counted, who)
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
        if self.is_own(found, caller):
            raise Problem(
                "forbidden",
                "who asked for a dashboard, or made the token that did, does not decide on it",
                "ask a reviewer whose token the operator made, or who comes by the login",
            )
        action = "release_approved" if state == APPROVED else "release_refused"
        with self._database.begin(lock=_LOCK) as run:
            if not _set(run, found.id, WAITING, state=state, reason=reason):
                raise Problem("conflict", "it is decided already")
            details = {} if reason is None else {"reason": reason}
            self._tell(run, action, caller, found.dataset, found.id, details)

    def _tell(
        self,
        run: sa.Connection,
        action: str,
        caller: Caller,
        dataset: str,
        identity: str,
        details: dict[str, Any],
    ) -> None:
        self._audit.write(
            action,
            caller.name,
            team=caller.team,
            token=caller.token_id,
            dataset=dataset,
            subject=identity,
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
        row.who,
        row.team,
        row.token,
        row.asked,
        row.state,
        row.reason,
    )
