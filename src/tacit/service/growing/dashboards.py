"""Dashboards in the store: paid once, updated by the clock, and the same after a restart.

The charge and what was published stand in the ledger (:class:`tacit.tables.TimeCounter`); a row
here says which count it is and how much of it may be seen.

**Time tells nothing.**  An update is due when a period is over, by the clock and the declared
grace: a public time.  What it published becomes visible at a tick after it
(:mod:`tacit.service.jobs.ticks`): ``due + L`` with the data set's latency L, or, where the engine
took longer, ``due + 2 L, 4 L, 8 L, ...``.  (Of periods that
were over when it began: after that moment.)  Until then a dashboard shows the periods before.  So
it shows a reader no more of the engine's time than a power of two.
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
from tacit.service.jobs.ticks import tick_after
from tacit.service.problem import Problem
from tacit.service.seeing.audit_log import AuditLog
from tacit.service.seeing.logs import log
from tacit.service.store.database import Database, metadata
from tacit.tables.live.answer import PeriodAnswer
from tacit.tables.live.counter import CounterPreview, TimeCounter
from tacit.tables.session import Session

__all__ = ["Dashboard", "Dashboards"]

_NEVER = 1e15
_LEASE = 900.0
"""Seconds after which an update that a process began is another's, if it did not end."""

_dashboards = sa.Table(
    "dashboard",
    metadata,
    sa.Column("id", sa.String(24), primary_key=True),
    sa.Column("dataset", sa.String(200), nullable=False, index=True),
    sa.Column("counted", sa.Text, nullable=False),
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("team", sa.String(100)),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("shown", sa.Integer, nullable=False),  # periods that may be seen
    sa.Column("coming", sa.Integer, nullable=False),  # periods that may be seen from coming_at on
    sa.Column("coming_at", sa.Float, nullable=False),
    sa.Column("due", sa.Float, nullable=False),  # when the next period is over
    sa.Column("leased", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class Dashboard:
    """One dashboard.

    Attributes:
        id: its number.
        dataset: the data set.
        counted: what it counts.
        who: began it.
        team: theirs, or None.
        created: seconds since 1970.
        shown: how many periods may be seen now.
    """

    id: str
    dataset: str
    counted: Counted
    who: str
    team: str | None
    created: float
    shown: int


class Dashboards:
    """The dashboards of a service.

    Args:
        database: the store.
        audit: where it is told that one began.
        open_session: returns a session on a table of a data set (the first where none is named),
            whose charges go to the accounts of a caller; the last argument says whether it is for a
            request, which reads no row and waits for no engine of an update.
        latency: returns the declared latency of a data set in seconds.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        database: Database,
        audit: AuditLog,
        open_session: Callable[[str, Caller, str | None, bool], Session],
        latency: Callable[[str], float],
        clock: Callable[[], float],
    ) -> None:
        self._database, self._audit = database, audit
        self._open_session, self._latency = open_session, latency
        self._clock = clock

    def preview(self, dataset: str, counted: Counted, caller: Caller) -> CounterPreview:
        """Return what a dashboard would cost and how exact it would be; reads no row.

        Raises:
            UsageError: what it asks does not fit the table.
        """
        return counted.counter(self._open_session(dataset, caller, counted.table, True)).preview()

    def identity(self, dataset: str, counted: Counted, caller: Caller) -> str:
        """Return the number that a dashboard of a caller has, or would have."""
        session = self._open_session(dataset, caller, counted.table, True)
        return counted.identity(dataset, session.ledger.id)

    def begin(self, dataset: str, counted: Counted, caller: Caller) -> Dashboard:
        """Pay for all periods of a dashboard; where it was begun before, return that one.

        Raises:
            BudgetError: it costs more than remains; nothing was spent.
            UsageError: what it asks does not fit the table.
        """
        session = self._open_session(dataset, caller, counted.table, True)
        counter = counted.counter(session)
        place = session.ledger.id
        cost = counter.cost
        try:
            counter.update(now=counted.first)  # no period is over: pays, and reads no row
        except BudgetError:
            self._told(dataset, caller, None, "refused", cost=cost.to_json())
            raise
        identity = counted.identity(dataset, place)
        with self._database.begin(lock="dashboards") as run:
            asked = sa.select(_dashboards).where(_dashboards.c.id == identity)
            if run.execute(asked).first() is None:
                row = {
                    "id": identity,
                    "dataset": dataset,
                    "counted": json.dumps(counted.to_json(), sort_keys=True),
                    "who": caller.name,
                    "team": caller.team,
                    "created": self._clock(),
                    "shown": 0,
                    "coming": 0,
                    "coming_at": 0.0,
                    "due": counted.due(counter, 1),
                    "leased": 0.0,
                }
                run.execute(_dashboards.insert(), row)
                self._told(dataset, caller, identity, "done", run, cost=cost.to_json())
        return self.find(identity)

    def _told(
        self,
        dataset: str,
        caller: Caller,
        identity: str | None,
        outcome: str,
        run: sa.Connection | None = None,
        **details: Any,
    ) -> None:
        self._audit.acted(
            "dashboard_begun",
            caller,
            outcome=outcome,
            dataset=dataset,
            subject=identity,
            details=details,
            connection=run,
        )

    def find(self, identity: str) -> Dashboard:
        """Return a dashboard.

        Raises:
            Problem: ``not_found``.
        """
        with self._database.read() as run:
            row = run.execute(sa.select(_dashboards).where(_dashboards.c.id == identity)).first()
        if row is None:
            raise Problem("not_found", "there is no such dashboard", "GET /v1/dashboards lists all")
        return self._dashboard(row)

    def all(self, dataset: str | None = None) -> list[Dashboard]:
        """Return all dashboards, or those of a data set, in the order in which they were begun."""
        asked = sa.select(_dashboards).order_by(_dashboards.c.created, _dashboards.c.id)
        if dataset is not None:
            asked = asked.where(_dashboards.c.dataset == dataset)
        with self._database.read() as run:
            return [self._dashboard(row) for row in run.execute(asked).all()]

    def _dashboard(self, row: Any) -> Dashboard:
        shown = row.coming if self._clock() >= row.coming_at else row.shown
        counted = Counted.from_json(json.loads(row.counted))
        return Dashboard(row.id, row.dataset, counted, row.who, row.team, row.created, shown)

    def answer(self, dashboard: Dashboard) -> PeriodAnswer:
        """Return the counts that may be seen; reads no row, and costs nothing."""
        return self._counter(dashboard, on_paper=True).answer(dashboard.shown)

    def _counter(self, dashboard: Dashboard, *, on_paper: bool) -> TimeCounter:
        who = Caller(dashboard.who, dashboard.team, (), "", 0)
        table = dashboard.counted.table
        session = self._open_session(dashboard.dataset, who, table, on_paper)
        return dashboard.counted.counter(session)

    # --- updates, by the clock

    def update_due(self) -> int:
        """Publish the periods that are over, of all dashboards; return how many had any.

        One process does each; another goes on where it died.  What fails is tried again after a
        while.
        """
        now, updated = self._clock(), 0
        with self._database.read() as run:
            rows = run.execute(sa.select(_dashboards).where(_due(now))).all()
        for dashboard in map(self._dashboard, rows):
            try:
                updated += self._update(dashboard, now)
            except TacitError as error:
                # Its kind is about the place of the table, not about a row in it.
                log(
                    "dashboard",
                    dashboard=dashboard.id,
                    dataset=dashboard.dataset,
                    outcome="failed",
                    code=type(error).__name__,
                )
        return updated

    def _update(self, dashboard: Dashboard, now: float) -> bool:
        if not self._lease(dashboard.id, now):
            return False
        counted, counter = dashboard.counted, self._counter(dashboard, on_paper=False)
        closed = counted.closed(counter, now)
        counter.update(now=counted.until(counter, closed))
        # Public both; it may begin long after its periods.
        since = max(counted.due(counter, closed), dashboard.created)
        tick = tick_after(since, self._latency(dashboard.dataset), self._clock())
        later = counted.due(counter, closed + 1) if closed < counted.periods else _NEVER
        self._come(dashboard.id, closed, tick, later)
        return True

    def _lease(self, identity: str, now: float) -> bool:
        """Take an update for this process, where no other process has it."""
        wanted = sa.and_(_dashboards.c.id == identity, _due(now))
        with self._database.begin(lock="dashboards") as run:
            taken = run.execute(_dashboards.update().where(wanted).values(leased=now + _LEASE))
            return bool(taken.rowcount)

    def _come(self, identity: str, periods: int, tick: float, due: float) -> None:
        """Note what may be seen from a tick on; what came before it may be seen by now."""
        own = _dashboards.c.id == identity
        with self._database.begin(lock="dashboards") as run:
            row = run.execute(sa.select(_dashboards).where(own)).one()
            shown = row.coming if self._clock() >= row.coming_at else row.shown
            seen = {
                "shown": shown,
                "coming": max(row.coming, periods),
                "coming_at": tick,
                "due": due,
            }
            run.execute(_dashboards.update().where(own).values(**seen, leased=0.0))


def _due(now: float) -> sa.ColumnElement[bool]:
    """Whether an update is due that no process makes; what comes is seen before the next comes."""
    c = _dashboards.c
    return sa.and_(c.due <= now, c.coming_at <= now, c.leased <= now)
